"""Which team is next, by what it uses now and by what it used lately."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model import Snapshot
from headway.past_use.averages import PastUse
from headway.policy import FairShare, Policy, Team
from headway.scheduling.scheduler import schedule
from headway.scheduling.team_turns import TeamTurns
from tests.core.builders import G5, NOW_MS, P5, held, job, preemptions, snapshot, starts

DAY_MS = 86_400_000
WEEK = FairShare(half_life_ms=7 * DAY_MS)
LONG_AGO = NOW_MS - 10_000 * DAY_MS


def used(average: Mapping[str, float] | float = 0.0, *, since_ms: int = LONG_AGO) -> PastUse:
    by_pool = {P5: average} if isinstance(average, float | int) else average
    return PastUse(average=by_pool, since_ms=since_ms)


def rules(fair_share: FairShare | None = WEEK, *, weights: Mapping[str, float] | None = None) -> Policy:
    given_weights = {"a": 1.0, "b": 1.0, **(weights or {})}
    return Policy(fair_share=fair_share, teams={name: Team(weight=weight) for name, weight in given_weights.items()})


def world(past: Mapping[str, PastUse], policy: Policy | None = None, size: int = 4) -> Snapshot:
    return Snapshot(now_ms=NOW_MS, pools={P5: size, G5: 10}, policy=policy or rules(), past_use=past)


CASES: list[tuple[str, Snapshot, Mapping[str, Mapping[str, int]], str]] = [
    ("who used less lately is next", world({"a": used(2.0), "b": used(1.0)}), {}, "b"),
    ("what is held counts as well", world({"a": used(2.0), "b": used(1.0)}), {"b": {P5: 2}}, "a"),
    ("without the rule only what is held does", world({"b": used(4.0)}, rules(None)), {"a": {P5: 1}}, "b"),
    (
        "use is divided by the weight",
        world({"a": used(3.0), "b": used(2.0)}, rules(weights={"a": 2.0})),
        {},
        "a",
    ),
    (
        "the largest part of a pool counts",
        world({"a": used({P5: 1.0, G5: 1.0}), "b": used({G5: 2.0})}),
        {},
        "b",
    ),
    (
        "with charges their sum counts",
        world(
            {"a": used({P5: 1.0}), "b": used({G5: 5.0})},
            rules(FairShare(half_life_ms=DAY_MS, charges={P5: 10.0, G5: 1.0})),
        ),
        {},
        "b",
    ),
    (
        "a pool that is not charged counts nothing",
        world({"a": used({P5: 4.0}), "b": used({G5: 1.0})}, rules(FairShare(half_life_ms=DAY_MS, charges={G5: 1.0}))),
        {},
        "a",
    ),
    (
        "a newcomer comes after who used less than usual",
        world({"a": used(since_ms=NOW_MS), "b": used(1.0), "c": used(3.0)}, rules(weights={"c": 1.0})),
        {},
        "b",
    ),
    (
        "and before who used more",
        world({"a": used(since_ms=NOW_MS), "b": used(2.0), "c": used(1.0)}, rules(weights={"c": 1.0})),
        {},
        "a",
    ),
]


@pytest.mark.parametrize(("snap", "holds", "following"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_next_team(snap: Snapshot, holds: Mapping[str, Mapping[str, int]], following: str) -> None:
    turns = TeamTurns(snap)
    assert min(("a", "b"), key=lambda team: turns.share(team, holds.get(team, {}))) == following


def test_a_newcomer_owes_what_is_usual_and_is_owed_nothing() -> None:
    turns = TeamTurns(world({"a": used(since_ms=NOW_MS), "b": used(1.0), "c": used(3.0)}))
    assert turns.share("a", {}) == pytest.approx((turns.share("b", {}) + turns.share("c", {})) / 2)


def test_a_week_after_it_came_half_of_its_average_is_its_own() -> None:
    week_ago = NOW_MS - 7 * DAY_MS
    # It used nothing, and the other one half of the pool.
    turns = TeamTurns(world({"a": used(since_ms=week_ago), "b": used(2.0)}))
    # Of the teams one used nothing while it was known: 25 % is usual, and half of it is owed.
    assert turns.share("a", {}) == pytest.approx(0.25 / 2 / 2)


def test_where_nobody_is_known_what_is_held_decides() -> None:
    turns = TeamTurns(world({}))
    assert turns.share("a", {P5: 1}) > turns.share("b", {}) == 0


def test_one_decision_shares_out_what_is_free() -> None:
    parts = [job(f"{team}{number}", team=team, entered=number) for team in "ab" for number in range(4)]
    snap = snapshot(*parts, size=4, policy=rules())
    assert sorted(starts(schedule(snap))) == ["a0", "a1", "b0", "b1"]
    behind = replace(snap, past_use={"a": used(2.0), "b": used(0.0)})
    # 2 of 4 more in the past for `a`, so 2 more now for `b`.
    assert sorted(starts(schedule(behind))) == ["a0", "b0", "b1", "b2"]


USES = st.dictionaries(st.sampled_from([P5, G5]), st.floats(0, 8), max_size=2)


@given(mine=USES, others=USES, more=st.floats(0.01, 4), holds=st.integers(0, 4))
def test_who_has_used_more_is_never_earlier(mine: dict[str, float], others: dict[str, float], more: float, holds: int):
    def share(average: Mapping[str, float]) -> float:
        return TeamTurns(world({"a": used(average), "b": used(others)})).share("a", {P5: holds})

    assert share({**mine, P5: mine.get(P5, 0.0) + more}) >= share(mine)


@given(first=USES, second=USES)
def test_past_use_stops_nobody(first: dict[str, float], second: dict[str, float]) -> None:
    parts = (held("x", 1, team="a", count=2), held("y", 0, team="b", count=2), job("w", 1, team="b", count=2))
    stopped = []
    for past in ({}, {"a": used(first), "b": used(second)}):
        snap = snapshot(*parts, size=4, policy=rules())
        stopped.append(preemptions(schedule(replace(snap, past_use=past))))
    assert stopped[0] == stopped[1] == [("y", "w")]
