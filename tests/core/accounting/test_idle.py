"""Idle while a job waits: which instances are, and for how long they count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.accounting.idle import COUNTED_EACH_S, MAX_GAP_S, Accrual, Idle, IdleSpan, accrue, idle_after
from headway.model import Alternative, Pause, Snapshot
from headway.policy import Policy, Team
from headway.scheduling.scheduler import schedule
from headway.vectors import total
from tests.core.builders import G5, P5, held, job, reserved, snapshot, starts, warm
from tests.core.strategies import snapshots

OF_TEAM = Policy(teams={"red": Team(limit={P5: 1})})
EITHER = replace(job("j", pool=G5, count=3), alternatives=(Alternative(demand={P5: 9}), Alternative(demand={P5: 4})))
PAUSE = Pause(by="user/ada", since_ms=0, reason="repair")


@pytest.mark.parametrize(
    ("state", "idle"),
    [
        pytest.param(snapshot(job("j", count=4), size=4), {}, id="the plan starts the job"),
        pytest.param(snapshot(job("j", count=2), size=4), {}, id="the plan starts the only job"),
        pytest.param(snapshot(held("a", count=4), job("j"), size=4), {}, id="all are in use"),
        pytest.param(snapshot(held("a"), size=4), {}, id="no job waits"),
        pytest.param(snapshot(held("a"), job("j", count=4), size=4), {P5: Idle(count=3)}, id="the job needs more"),
        pytest.param(
            snapshot(held("a"), job("j", count=4), job("k", entered=1), size=4),
            {P5: Idle(count=3)},
            id="the instances are kept for a blocked job",
        ),
        pytest.param(
            snapshot(held("a", ends_in_s=99), job("j", count=4), job("k", entered=1, limit_s=1), size=4),
            {P5: Idle(count=2)},
            id="a job passes the blocked one",
        ),
        pytest.param(snapshot(held("a"), job("j", count=5), size=4), {}, id="the job does not fit the pool"),
        pytest.param(
            snapshot(held("a"), job("j", count=4, ml_g5_xlarge=3), pools={P5: 4, G5: 2}),
            {},
            id="the job does not fit one of its pools",
        ),
        pytest.param(
            snapshot(held("a"), held("b", count=2, pool=G5), job("j", count=3, ml_g5_xlarge=1), pools={P5: 4, G5: 2}),
            {P5: Idle(count=3)},
            id="the job waits for its other pool",
        ),
        pytest.param(snapshot(job("k", count=3), reserved("k", 3), size=4), {}, id="the reserved job starts"),
        pytest.param(
            snapshot(job("k", 9, count=3), reserved("k", 3), job("j", count=4), size=4),
            {P5: Idle(count=1)},
            id="a started job has no reservation",
        ),
        pytest.param(
            snapshot(held("a", 9, count=2), job("k", count=4), reserved("k", 3), size=4),
            {P5: Idle(count=2, reserved=2)},
            id="more is reserved than is left since the pool was shrunk",
        ),
        pytest.param(
            snapshot(held("a", freed_for="k"), job("k", count=4), reserved("k", 2), size=4),
            {P5: Idle(count=3, reserved=2)},
            id="two of three are reserved",
        ),
        pytest.param(
            snapshot(held("a", 9), job("j", count=4), reserved("gone", 2), size=4),
            {P5: Idle(count=3)},
            id="a reservation that is released",
        ),
        pytest.param(
            snapshot(warm("w", count=1), held("a", 9), job("j", count=4), size=4),
            {P5: Idle(count=2)},
            id="a warm pool is not idle",
        ),
        pytest.param(
            replace(snapshot(held("a"), job("j", count=4), size=4), pauses={P5: PAUSE}), {}, id="a paused pool"
        ),
        pytest.param(
            snapshot(held("a", team="red"), job("j", team="red"), size=4, policy=OF_TEAM),
            {P5: Idle(count=3)},
            id="the team is at its limit",
        ),
        pytest.param(snapshot(held("a"), EITHER, pools={P5: 4, G5: 2}), {P5: Idle(count=3)}, id="an alternative fits"),
        pytest.param(snapshot(held("a", count=6), job("j"), size=4), {}, id="a pool below its use"),
    ],
)
def test_what_a_plan_leaves_idle_while_a_job_waits(state: Snapshot, idle: Mapping[str, Idle]) -> None:
    assert idle_after(state, schedule(state, explain=False)) == idle


@given(snapshots())
def test_idle_instances_are_at_most_those_that_nobody_holds(state: Snapshot) -> None:
    plan = schedule(state, explain=False)
    held_now = total(each.demand for each in state.allocations)
    for pool, idle in idle_after(state, plan).items():
        assert 0 <= idle.reserved <= idle.count
        assert 0 < idle.count <= state.pools[pool] - held_now.get(pool, 0)
        assert {each.name for each in state.waiting} - set(starts(plan))


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


NOON_MS = at("2026-11-25T12:00")
DAY, NEXT = date(2026, 11, 25), date(2026, 11, 26)
THREE = Idle(count=3, reserved=1)
SOON_MS, LATE_MS, GAP_MS = 1000, COUNTED_EACH_S * 1000, MAX_GAP_S * 1000


def span(idle: Idle = THREE, since_ms: int = NOON_MS, noted_ms: int = 0) -> IdleSpan:
    return IdleSpan(idle=idle, since_ms=since_ms, noted_ms=noted_ms)


@pytest.mark.parametrize(
    ("known", "idle", "passed_ms", "counted", "follows"),
    [
        pytest.param(None, None, SOON_MS, None, False, id="nothing was idle, and nothing is"),
        pytest.param(None, THREE, SOON_MS, {}, True, id="something is idle now"),
        pytest.param(span(), THREE, LATE_MS - 1, None, True, id="the same is idle for a short time"),
        pytest.param(span(), THREE, LATE_MS, {DAY: (3 * LATE_MS, LATE_MS)}, True, id="the same for some minutes"),
        pytest.param(span(), Idle(count=3), SOON_MS, {DAY: (3000, 1000)}, True, id="it is no longer reserved"),
        pytest.param(span(), None, SOON_MS, {DAY: (3000, 1000)}, False, id="nothing is idle any more"),
        pytest.param(span(), THREE, GAP_MS, {DAY: (3 * GAP_MS, GAP_MS)}, True, id="the longest time without a pass"),
        pytest.param(span(), THREE, GAP_MS + 1, {}, True, id="a longer one is not counted"),
        pytest.param(span(), None, GAP_MS + 1, {}, False, id="nor if nothing is idle after it"),
        pytest.param(span(), None, -5, {}, False, id="the other pass had a later clock"),
        pytest.param(
            span(since_ms=at("2026-11-26T00:00") - 400),
            *(None, SOON_MS, {DAY: (1200, 400), NEXT: (1800, 600)}, False),
            id="time is split at midnight",
        ),
    ],
)
def test_what_was_idle_is_counted_when_it_changes_or_after_some_minutes(
    known: IdleSpan | None,
    idle: Idle | None,
    passed_ms: int,
    counted: Mapping[date, tuple[int, int]] | None,
    follows: bool,
) -> None:
    now_ms = (known.since_ms if known else NOON_MS) + passed_ms
    found = accrue(known, idle, now_ms, passed_ms)
    if counted is None:
        assert found is None
        return
    following = IdleSpan(idle=idle, since_ms=now_ms, noted_ms=passed_ms) if idle and follows else None
    sums = {day: Idle(count=count, reserved=reserved_) for day, (count, reserved_) in counted.items()}
    assert found == Accrual(counted=sums, following=following)


def test_a_gap_is_measured_in_machine_time_and_idle_time_in_training_time() -> None:
    found = accrue(span(), None, NOON_MS + 60 * GAP_MS, GAP_MS)
    assert found is not None
    assert sum(each.count for each in found.counted.values()) == 3 * 60 * GAP_MS


@given(
    st.lists(st.tuples(st.integers(0, GAP_MS - LATE_MS), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)
)
def test_all_time_is_counted_once_whatever_passes_find(passes: list[tuple[int, int, int]]) -> None:
    known: IdleSpan | None = None
    now_ms, idle, expected, counted = NOON_MS, Idle(count=0), Counter[str](), Counter[str]()
    for passed_ms, count, reserved_ in [*passes, (0, 0, 0)]:
        now_ms += passed_ms
        expected.update(count=idle.count * passed_ms, reserved=idle.reserved * passed_ms)
        idle = Idle(count=count, reserved=min(count, reserved_))
        change = accrue(known, idle if idle.count else None, now_ms, now_ms)
        if change is not None:
            known = change.following
            for each in change.counted.values():
                counted.update(count=each.count, reserved=each.reserved)
    # What became idle, and was the same at all passes for less than some minutes, is counted by the last one.
    assert counted == expected
