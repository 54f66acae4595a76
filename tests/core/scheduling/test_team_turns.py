"""Which team is next, by what it uses now and by what it used lately."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import log2
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.forecasting.simulation import Arrival, EventKind, Simulation
from headway.model import Snapshot
from headway.past_use.averages import PastUse
from headway.policy import FairShare, Policy, Team
from headway.scheduling.scheduler import schedule
from headway.scheduling.team_turns import TeamTurns
from tests.core.builders import G5, NOW_MS, P5, held, job, preemptions, snapshot, starts

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
WEEK = FairShare(half_life_ms=7 * DAY_MS)


def used(average: Mapping[str, float] | float = 0.0, *, unknown: float = 0.0) -> PastUse:
    by_pool = {P5: average} if isinstance(average, float | int) else average
    return PastUse(average=by_pool, since_ms=0, unknown=unknown)


NEW = used(unknown=1.0)


def rules(fair_share: FairShare | None = WEEK, *, weights: Mapping[str, float] | None = None) -> Policy:
    given_weights = {"a": 1.0, "b": 1.0, **(weights or {})}
    return Policy(fair_share=fair_share, teams={name: Team(weight=weight) for name, weight in given_weights.items()})


def world(past: Mapping[str, PastUse], policy: Policy | None = None, size: int = 4) -> Snapshot:
    return Snapshot(now_ms=NOW_MS, pools={P5: size, G5: 10}, policy=policy or rules(), past_use=past)


CASES: list[tuple[str, Snapshot, Mapping[str, Mapping[str, int]], str]] = [
    ("who used less lately is next", world({"a": used(2.0), "b": used(1.0)}), {}, "b"),
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
        world({"a": NEW, "b": used(1.0), "c": used(3.0)}, rules(weights={"c": 1.0})),
        {},
        "b",
    ),
    (
        "and before who used more",
        world({"a": NEW, "b": used(2.0), "c": used(1.0)}, rules(weights={"c": 1.0})),
        {},
        "a",
    ),
]


@pytest.mark.parametrize(("snap", "holds", "following"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_next_team(snap: Snapshot, holds: Mapping[str, Mapping[str, int]], following: str) -> None:
    turns = TeamTurns(snap)
    assert min(("a", "b"), key=lambda team: turns.share(team, holds.get(team, {}))) == following


def test_a_newcomer_owes_what_is_usual_and_is_owed_nothing() -> None:
    turns = TeamTurns(world({"a": NEW, "b": used(1.0), "c": used(3.0), "": used()}, rules(weights={"c": 1.0})))
    assert turns.share("a", {}) == pytest.approx((turns.share("b", {}) + turns.share("c", {})) / 2)


def test_what_is_usual_is_over_the_weights_of_those_who_used_it() -> None:
    # All was used by one of a tenth of the weight: who comes is before who holds all of it from now on.
    small = rules(weights={"b": 0.1, "c": 1.0})
    turns = TeamTurns(world({"a": NEW, "b": used(4.0), "c": used(0.0)}, small))
    assert turns.share("a", {}) == pytest.approx(1 / 1.1)


def test_jobs_without_a_team_count_if_there_were_any() -> None:
    with_some = TeamTurns(world({"a": NEW, "b": used(2.0), "": used(1.0)}))
    assert with_some.share("a", {}) == pytest.approx((2 + 1) / 4 / 2)


def test_of_a_team_that_is_half_known_the_known_half_tells_what_is_usual() -> None:
    turns = TeamTurns(world({"a": NEW, "b": used(1.0, unknown=0.5)}))
    assert turns.share("a", {}) == pytest.approx(2 / 4)


def test_where_nobody_is_known_what_this_decision_gives_decides() -> None:
    turns = TeamTurns(world({}))
    assert turns.share("a", {P5: 1}) > turns.share("b", {}) == 0


def test_what_a_team_held_before_the_decision_plays_no_part() -> None:
    turns = TeamTurns(world({"a": used(1.0), "b": used(1.0)}), lambda team: {P5: 3} if team == "a" else {})
    assert turns.share("a", {P5: 3}) == turns.share("b", {})
    assert turns.share("a", {P5: 4}) > turns.share("b", {})
    assert turns.share("a", {P5: 1}) == turns.share("b", {})


def test_a_pool_that_became_smaller_leaves_the_parts_of_teams_as_they_were() -> None:
    turns = TeamTurns(world({"a": used(6.0), "b": used(2.0)}, size=2))
    assert [turns.share("a", {}), turns.share("b", {})] == pytest.approx([6 / 8, 2 / 8])


def test_one_decision_shares_out_what_is_free() -> None:
    parts = [job(f"{team}{number}", team=team, entered=number) for team in "ab" for number in range(4)]
    snap = replace(snapshot(*parts, size=4, policy=rules()), past_use={"a": used(0.0), "b": used(0.0)})
    assert sorted(starts(schedule(snap))) == ["a0", "a1", "b0", "b1"]
    behind = replace(snap, past_use={"a": used(1.0), "b": used(0.0)})
    # Two that are given now count as one that was used on average.
    assert sorted(starts(schedule(behind))) == ["a0", "b0", "b1", "b2"]


def test_lately_is_of_configured_teams_and_of_jobs_without_one_if_there_were_any() -> None:
    turns = TeamTurns(world({"a": used(3.0), "b": used(1.0), "": used(), "gone": used()}))
    mine = turns.lately("a")
    assert mine is not None
    assert [mine.used, mine.weight, mine.unknown] == pytest.approx([0.75, 0.5, 0.0])
    assert turns.lately("gone") is None
    assert turns.lately("nobody") is None
    assert TeamTurns(world({"a": used(3.0)}, rules(None))).lately("a") is None


DAYS = 40


@pytest.mark.parametrize("past", [(4.5, 3.5), (6.0, 2.0), (4.0, 4.0)])
@pytest.mark.parametrize("seed", range(3))
def test_a_large_job_keeps_its_turn_while_the_pool_drains_for_it(past: tuple[float, float], seed: int) -> None:
    """The other team always has small jobs; it uses less and less of the pool while this is kept for the large one."""
    random = Random(seed)
    first = snapshot(job("large", team="a", count=8, entered=NOW_MS), size=8, policy=rules())
    first = replace(first, past_use={"a": used(past[0]), "b": used(past[1])})
    small = [
        Arrival(
            time_ms=NOW_MS + number * HOUR_MS,
            job=job(f"b{number}", team="b", entered=NOW_MS + number * HOUR_MS, limit_s=24 * 3600),
            run_ms=random.randint(1, 24) * HOUR_MS,
        )
        for number in range(-20, DAYS * 24)
    ]
    began: list[int] = []
    course = Simulation(
        first,
        schedule,
        lambda _: HOUR_MS,
        arrivals=small,
        record=lambda event: began.append(1) if (event.kind, event.job) == (EventKind.STARTED, "large") else None,
    )
    while not began and (now_ms := course.next_ms) is not None and now_ms < NOW_MS + DAYS * DAY_MS:
        course.step()
    # A day drains the pool; before that it is the turn of the one that used less.
    turn_days = 7 * max(0.0, log2(past[0] / past[1]))
    assert began
    assert course.now_ms - NOW_MS <= (turn_days + 1.5) * DAY_MS


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
