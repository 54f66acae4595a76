"""A team that reclaims its guarantee takes from the team that borrows most over its weight."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from headway.model import Allocation, WaitingJob
from headway.policy import Policy, Team
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from headway.scheduling.victims.borrowing import Borrowing
from headway.scheduling.victims.targets import Targets
from tests.core import random_reclaims
from tests.core.builders import G5, P5, held, job, preemptions, snapshot, warm, warm_releases

Parts = tuple[WaitingJob | Allocation, ...]

NOBODY_ELSE = Policy(teams={"a": Team(guaranteed={P5: 4}), "b": Team(), "c": Team()})
HEAVY = Policy(teams={"a": Team(guaranteed={P5: 4}), "b": Team(weight=4), "c": Team()})
B_HAS_2 = Policy(teams={"a": Team(guaranteed={P5: 4}), "b": Team(guaranteed={P5: 2}), "c": Team()})
TWO_POOLS = Policy(teams={"a": Team(guaranteed={P5: 4, G5: 4}), "b": Team(), "c": Team()})


def several(team: str, count: int, priority: int = 0, **more: Any) -> Parts:
    """Attempts of one instance, ``b0`` and so on, of which later ones started later."""
    return tuple(held(f"{team}{number}", priority, team=team, since=number, **more) for number in range(count))


CASES: list[tuple[str, Policy, Parts, list[str]]] = [
    (
        "who borrows 5 loses before who borrows 1, although this one started last",
        NOBODY_ELSE,
        (*several("b", 5), held("c0", team="c", since=99), job("w", team="a")),
        ["b4"],
    ),
    (
        "priorities of other teams play no part",
        NOBODY_ELSE,
        (*several("b", 5, 9), *several("c", 1), job("w", team="a")),
        ["b4"],
    ),
    (
        "what is borrowed is looked up after each victim",
        NOBODY_ELSE,
        (*several("b", 3), *several("c", 2), job("w", team="a", count=3)),
        ["b1", "b2", "c1"],
    ),
    (
        "what a team borrows is divided by its weight",
        HEAVY,
        (*several("b", 5), *several("c", 2), job("w", team="a")),
        ["c1"],
    ),
    (
        "what a team is guaranteed is not borrowed",
        B_HAS_2,
        (*several("b", 4), *several("c", 3), job("w", team="a")),
        ["c2"],
    ),
    (
        "among teams that borrow as much the order of all preemptions decides",
        NOBODY_ELSE,
        (*several("b", 2, 1), *several("c", 2), job("w", team="a")),
        ["c1"],
    ),
    (
        "the own team's attempts are stopped last",
        NOBODY_ELSE,
        (*several("a", 1), *several("b", 1, 9), job("w", 5, team="a", count=2)),
        ["a0", "b0"],
    ),
    (
        "also if they hold much of another pool that is borrowed",
        Policy(teams={"a": Team(guaranteed={P5: 4}), "b": Team(guaranteed={P5: 1})}),
        (held("a0", team="a"), held("a-g5", team="a", count=8, pool=G5), *several("b", 2, 9), job("w", 5, team="a")),
        ["b1"],
    ),
    (
        "and not at all where others' suffice",
        NOBODY_ELSE,
        (*several("a", 1), *several("b", 1, 9), job("w", 5, team="a")),
        ["b0"],
    ),
    (
        "an attempt that may not be stopped is no choice",
        NOBODY_ELSE,
        (*several("b", 5, preemptible=False), *several("c", 1), job("w", team="a")),
        ["c0"],
    ),
    (
        "the largest part of any pool counts",
        TWO_POOLS,
        (*several("b", 1), held("b-g5", team="b", count=8, pool=G5), *several("c", 3), job("w", team="a")),
        ["b0"],
    ),
    (
        "a large attempt that comes last makes no victim of a larger borrower needless if there is another way",
        NOBODY_ELSE,
        (
            held("b0", team="b", count=3),
            held("b1", team="b"),
            held("b2", team="b"),
            held("c0", team="c", count=4),
            job("w", team="a", count=4),
        ),
        ["b0", "b1"],
    ),
]


@pytest.mark.parametrize(("policy", "parts", "stopped"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_who_loses(policy: Policy, parts: Parts, stopped: list[str]) -> None:
    sizes: dict[str, int] = {}
    for each in parts:
        if isinstance(each, Allocation):
            for pool, count in each.demand.items():
                sizes[pool] = sizes.get(pool, 0) + count
    snap = snapshot(*parts, pools=sizes, policy=policy)
    plan = schedule(snap)
    check_plan(snap, plan)
    assert sorted(preemptions(plan)) == [(name, "w") for name in stopped]


def test_a_preemption_by_priority_does_not_ask_who_borrows_most() -> None:
    parts = (*several("b", 5, 1), *several("c", 1), job("w", 9, team="a"))
    policy = Policy(teams={"a": Team(), "b": Team(), "c": Team()})
    assert preemptions(schedule(snapshot(*parts, size=6, policy=policy))) == [("c0", "w")]


def test_what_nobody_uses_goes_first() -> None:
    parts = (*several("b", 5), warm("v", team="c"), job("w", team="a", count=2))
    plan = schedule(snapshot(*parts, size=6, policy=NOBODY_ELSE))
    assert (warm_releases(plan), preemptions(plan)) == ([("v", "w")], [("b4", "w")])


def test_each_reason_says_what_the_team_had_borrowed_until_then() -> None:
    parts = (*several("b", 5, 1), job("w", 9, team="a", count=2))
    reasons = [action.reason for action in schedule(snapshot(*parts, size=5, policy=B_HAS_2)).actions]
    assert {each.code for each in reasons} == {"Reclaimed"}
    for had in (3, 2):
        said = f"for what team `a` is guaranteed and team `b` has borrowed ({had} ml.p5.48xlarge)"
        assert sum(said in each.message for each in reasons) == 1


def test_random_reclaims_take_from_the_largest_borrower(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["random_reclaims", "--count", "1500", "--seed", "1", "--processes", "1"])
    assert random_reclaims.main() == 0, capsys.readouterr().out


BROKEN: dict[str, tuple[type, str, Callable[..., Any]]] = {
    "the order of all preemptions": (Borrowing, "largest_first", lambda _, in_order: iter(in_order)),
    "the smallest borrower first": (Borrowing, "share", lambda _, each: 1.0 / len(each.terms.team)),
    "the first set that suffices": (Targets, "_unfairness", lambda *_: 0.0),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of, member, wrong = BROKEN[name]
    monkeypatch.setattr(of, member, wrong)
    drawn = random_reclaims.draw(1, range(1500))
    assert len(drawn.faults) > random_reclaims.MAX_FAULTS * drawn.reclaims


def test_a_victim_that_a_later_one_makes_needless_is_dropped() -> None:
    parts = (
        held("b0", team="b", count=4),
        held("b1", team="b", since=1),
        held("b2", team="b", since=2),
        job("w", team="a", count=4),
    )
    assert preemptions(schedule(snapshot(*parts, size=6, policy=NOBODY_ELSE))) == [("b0", "w")]
