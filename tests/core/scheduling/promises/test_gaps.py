"""Gaps before reserved starts are filled, and no start is later for that (decision 119).

A queue is played to its end on virtual time: what it says of its first blocked job at each decision has to come true.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.forecasting.simulation import Delays, Event, EventKind, Simulation
from headway.model import STOP_MS, Allocation, Snapshot, WaitingJob
from headway.plan import Plan, Preempt, Start
from headway.policy import Fill, Order, Policy, Team
from headway.scheduling.invariants import check_plan
from headway.scheduling.ordering import handicap_ms, returning_rank, waiting_rank
from headway.scheduling.scheduler import schedule
from tests.core.builders import allocation, waiting_job

POOL = "ml.p5.48xlarge"
NOW_MS = 1_800_000_000_000
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS

hours = st.sampled_from([1, 2, 3, 5, 8])


@st.composite
def queues_with_gaps(draw: st.DrawFn) -> Snapshot:
    """Attempts with limits of hours on one pool, and equal jobs that wait; most of them write checkpoints."""
    size = draw(st.integers(2, 8))
    running: list[Allocation] = []
    for number in range(draw(st.integers(1, 3))):
        room = size - sum(each.demand[POOL] for each in running)
        if room:
            since_ms = NOW_MS - draw(st.sampled_from([0, 40, 100])) * MINUTE_MS
            running.append(
                allocation(
                    job=f"r{number}",
                    attempt=f"r{number}-1",
                    demand={POOL: draw(st.integers(1, room))},
                    entry_time_ms=since_ms - HOUR_MS,
                    since_ms=since_ms,
                    limit_ms=NOW_MS - since_ms + draw(hours) * HOUR_MS,
                    priority=draw(st.sampled_from([5, 5, 5, 4])),
                    checkpoints=draw(st.booleans()),
                )
            )
    waiting = [
        waiting_job(
            name=f"w{number}",
            demand={POOL: draw(st.integers(1, size))},
            entry_time_ms=NOW_MS - (20 - number) * MINUTE_MS,
            limit_ms=draw(hours) * HOUR_MS + draw(st.sampled_from([0, 20])) * MINUTE_MS,
            priority=5,
            checkpoints=draw(st.sampled_from([True, True, False])),
        )
        for number in range(draw(st.integers(2, 6)))
    ]
    policy = Policy(
        fill=Fill.CHECKPOINTING,
        reserved_heads=draw(st.sampled_from([1, 1, 2])),
        min_run_time_ms=draw(st.sampled_from([0, 45])) * MINUTE_MS,
        max_preemptions=draw(st.sampled_from([10, 1])),
    )
    return Snapshot(
        now_ms=NOW_MS, pools={POOL: size}, allocations=tuple(running), waiting=tuple(waiting), policy=policy
    )


@dataclass
class Played:
    """What became of a queue.

    Attributes:
        told: by job, the earliest moment by which it was told to start while it was the first of all that wait.
        late: the starts that came later.
        filled: how many jobs have started in a gap.
        stopped: how many attempts in a gap were stopped for a job ahead.
        done: the jobs that have ended.
    """

    snapshot: Snapshot
    told: dict[str, int] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)
    filled: int = 0
    stopped: int = 0
    done: set[str] = field(default_factory=set)

    def play(self, part: float) -> Played:
        """Play it to its end.

        Args:
            part: for how much of its limit each job runs.
        """

        def run_ms(job: Allocation | WaitingJob) -> int:
            assert job.terms.limit_ms is not None
            since_ms = job.since_ms if isinstance(job, Allocation) else self.snapshot.now_ms
            return max(1, int(part * job.terms.limit_ms) - (self.snapshot.now_ms - since_ms))

        Simulation(self.snapshot, self.decide, run_ms, delays=Delays(stop_ms=STOP_MS), record=self.record).run()
        return self

    def decide(self, snapshot: Snapshot) -> Plan:
        """Decide, and note what is said of the first job."""
        plan = schedule(snapshot)
        check_plan(snapshot, plan)
        waiting = {job.name: job for job in snapshot.waiting}
        held = {each.attempt: each for each in snapshot.allocations}
        for action in plan.actions:
            if isinstance(action, Start) and action.opportunistic:
                assert waiting[action.job].terms.checkpoints
                self.filled += 1
            if isinstance(action, Preempt) and held[action.attempt].opportunistic:
                self.stopped += 1
        first = plan.waits[0] if plan.waits else None
        if first is not None and first.start_by_ms is not None and self._is_first(waiting[first.job], snapshot):
            # What a preemption frees at that time is there when it has stopped.
            outranks = any(each.terms.priority < 5 and not each.opportunistic for each in snapshot.allocations)
            by_ms = first.start_by_ms + (STOP_MS if outranks else 0)
            self.told[first.job] = min(by_ms, self.told.get(first.job, by_ms))
        return plan

    def _is_first(self, job: WaitingJob, snapshot: Snapshot) -> bool:
        """Whether no job that may wait again ranks before it."""
        return all(_ranks_before(job, each, snapshot) for each in snapshot.allocations if each.opportunistic)

    def record(self, event: Event) -> None:
        """Compare a start with what was said of it."""
        if event.kind is EventKind.STARTED:
            late_ms = event.time_ms - self.told.pop(event.job, event.time_ms)
            if late_ms > 0:
                self.late.append(f"{event.job} starts {late_ms / MINUTE_MS} minutes late")
        if event.kind in (EventKind.COMPLETED, EventKind.TIMED_OUT):
            self.done.add(event.job)


def _ranks_before(job: WaitingJob, attempt: Allocation, snapshot: Snapshot) -> bool:
    now_ms, policy = snapshot.now_ms, snapshot.policy
    return waiting_rank(job, now_ms, policy) < returning_rank(attempt, now_ms, policy)


@given(queues_with_gaps(), st.sampled_from([1.0, 1.0, 0.8, 0.3]))
def test_no_first_job_starts_later_than_it_was_told_as_gaps_are_filled(snapshot: Snapshot, part: float) -> None:
    played = Played(snapshot).play(part)
    assert not played.late
    assert played.done == {each.job for each in snapshot.allocations} | {each.name for each in snapshot.waiting}


def runs(name: str, demand: dict[str, int], limit: int, **more: Any) -> Allocation:
    """An attempt that has just started, with a limit in minutes."""
    at = {"since_ms": NOW_MS, "entry_time_ms": NOW_MS - HOUR_MS, "limit_ms": limit * MINUTE_MS}
    return allocation(job=name, attempt=f"{name}-1", demand=demand, **{"priority": 5, **at, **more})


def waits(name: str, demand: dict[str, int], entered: int, limit: int, **more: Any) -> WaitingJob:
    """A job that entered some minutes ago, with a limit in minutes."""
    at = {"entry_time_ms": NOW_MS - entered * MINUTE_MS, "limit_ms": limit * MINUTE_MS}
    return waiting_job(name=name, demand=demand, **{"priority": 5, **at, **more})


def starts_in(snapshot: Snapshot, **parts: float) -> tuple[dict[str, float], list[str]]:
    """When each job starts first, in minutes, and who is stopped for whom."""
    started: dict[str, float] = {}
    stopped: list[str] = []

    def record(event: Event) -> None:
        if event.kind is EventKind.STARTED:
            started.setdefault(event.job, (event.time_ms - NOW_MS) / MINUTE_MS)

    def decide(now: Snapshot) -> Plan:
        plan = schedule(now)
        stopped.extend(f"{each.job} for {each.for_job}" for each in plan.actions if isinstance(each, Preempt))
        return plan

    def run_ms(job: Allocation | WaitingJob) -> int:
        assert job.terms.limit_ms is not None
        name = job.job if isinstance(job, Allocation) else job.name
        return int(job.terms.limit_ms * parts.get(name, 1))

    Simulation(snapshot, decide, run_ms, delays=Delays(stop_ms=STOP_MS), record=record).run()
    return started, stopped


@pytest.mark.parametrize(("part", "starts_at"), [(1.0, 300), (1 / 6, 52)], ids=["at its time", "sooner"])
def test_what_fills_a_gap_is_not_its_teams_by_right(part: float, starts_at: float) -> None:
    """When `other` has ended, the team would have less than it is guaranteed without the filler, but it has too much
    with it."""
    policy = Policy(fill=Fill.CHECKPOINTING, teams={"a": Team(guaranteed={POOL: 1}), "b": Team()})
    snapshot = Snapshot(
        now_ms=NOW_MS,
        pools={POOL: 4},
        allocations=(runs("other", {POOL: 1}, 300, team="a"),),
        waiting=(
            waits("head", {POOL: 4}, 20, 60, priority=6, team="b"),
            waits("filler", {POOL: 3}, 19, 500, team="a", checkpoints=True),
        ),
        policy=policy,
    )
    started, stopped = starts_in(snapshot, other=part)
    assert started == {"filler": 0, "head": starts_at}
    assert stopped == ["filler for head"]


def test_a_job_comes_before_nobody_by_what_it_did_in_a_gap() -> None:
    """In the order `shortest-remaining` it would take back what was freed for the job ahead."""
    policy = Policy(fill=Fill.CHECKPOINTING, order=Order.SHORTEST_REMAINING)

    def left(minutes: int, demand: dict[str, int]) -> dict[str, Any]:
        left_ms = minutes * MINUTE_MS
        return {"left_ms": left_ms, "handicap_ms": handicap_ms(left_ms, demand, policy), "checkpoints": True}

    one, two = {POOL: 1}, {POOL: 2}
    snapshot = Snapshot(
        now_ms=NOW_MS,
        pools={POOL: 2},
        allocations=(runs("long", one, 300, left_ms=300 * MINUTE_MS),),
        waiting=(
            waits("head", two, 19, 200, **left(200, two)),
            waits("filler", one, 20, 600, **left(600, one)),
        ),
        policy=policy,
    )
    assert starts_in(snapshot) == ({"filler": 0, "head": 300}, ["filler for head"])


def test_a_job_keeps_the_start_that_is_reserved_for_it() -> None:
    """It is the first one of its pools, so `behind` waits for it. In a gap it would give way to that."""
    other = "ml.g5.xlarge"
    snapshot = Snapshot(
        now_ms=NOW_MS,
        pools={POOL: 4, other: 1},
        allocations=(runs("x", {other: 1}, 60),),
        waiting=(
            waits("both", {POOL: 1, other: 1}, 20, 60),
            waits("wide", {POOL: 4}, 19, 480, checkpoints=True),
            waits("behind", {POOL: 1}, 18, 480),
        ),
        policy=Policy(fill=Fill.CHECKPOINTING),
    )
    assert starts_in(snapshot) == ({"both": 60, "wide": 120, "behind": 600}, [])


def test_a_gap_is_cleared_together_with_other_attempts_once_the_job_fits() -> None:
    snapshot = Snapshot(
        now_ms=NOW_MS,
        pools={POOL: 3},
        allocations=(runs("long", {POOL: 1}, 300), runs("low", {POOL: 1}, 900, priority=1)),
        waiting=(waits("head", {POOL: 3}, 20, 60), waits("filler", {POOL: 1}, 19, 600, checkpoints=True)),
        policy=Policy(fill=Fill.CHECKPOINTING),
    )
    started, stopped = starts_in(snapshot)
    assert started["head"] == 302
    assert sorted(stopped) == ["filler for head", "low for head"]
