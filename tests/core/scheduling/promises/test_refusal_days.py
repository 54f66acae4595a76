"""Days in which SageMaker refuses the same jobs again and again, beside a stream of ordinary ones that want the pool.

What probes keep idle is bounded, each refused job is tried, and each starts once SageMaker has instances for it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.model import Snapshot, WaitingJob
from headway.plan import Plan, Preempt, Start
from headway.policy import Policy
from headway.refusals import Cause, FailedLaunches
from headway.refusals.probing import MAX_GRACE_MS
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from headway.vectors import free
from tests.core.strategies import HOUR_MS, NOW_MS, STEP_MS, World

POOL = "p"
STEP_OF_DAY_MS = 30_000
DAY_MS = 24 * HOUR_MS
ANSWER_MS = 2 * STEP_MS
"""A launch without an answer is given up so much later."""


@dataclass
class Day:
    """A pool that ordinary jobs always want, and jobs whose launches get no instances."""

    size: int
    #: Of each refused job: how many instances it demands, and why it gets none.
    refused: dict[str, tuple[int, Cause]]
    rng: Random
    #: The longest limit of ordinary jobs, and their priorities.
    limit_ms: int = 600_000
    priorities: tuple[int, ...] = (0, 1, 5)
    percent: int = 5
    heals: bool = False
    world: World = field(init=False)
    idle_ms: int = 0
    tries: Counter[str] = field(default_factory=Counter)
    gave_way: int = 0
    number: int = 0

    def __post_init__(self) -> None:
        row = FailedLaunches(count=3, since_ms=NOW_MS - HOUR_MS, last_ms=NOW_MS, cause=Cause.DENIED)
        waiting = {
            name: WaitingJob(
                name=name,
                demand={POOL: count},
                priority=2,
                entry_time_ms=NOW_MS - HOUR_MS,
                limit_ms=HOUR_MS,
                failed=replace(row, cause=cause),
            )
            for name, (count, cause) in self.refused.items()
        }
        policy = Policy(probe_percent=self.percent)
        self.world = World(now_ms=NOW_MS, pools={POOL: self.size}, policy=policy, waiting=waiting)

    def play(self, until_ms: int) -> None:
        """Let time pass."""
        while self.world.now_ms < until_ms and not self.is_over:
            self._end()
            self._come()
            self.world.pends()
            self._decide()
            self.idle_ms += STEP_OF_DAY_MS * self._wanted()
            self.world.advance(self.world.now_ms + STEP_OF_DAY_MS)

    @property
    def is_over(self) -> bool:
        """Whether each refused job has got instances."""
        return not any(name in self.world.waiting or name in self.world.pending for name in self.refused)

    def _end(self) -> None:
        world = self.world
        for name, attempt in list(world.held.items()):
            if name in world.pending:
                cause = self.refused[name][1]
                held_ms = world.now_ms - attempt.since_ms
                if self.heals:
                    world.gets_instances(name)
                elif cause is Cause.UNANSWERED and held_ms >= ANSWER_MS:
                    world.fails(name, cause)
                elif attempt.stopping:
                    world.end(name)
            elif attempt.limit_ms is not None and attempt.since_ms + attempt.limit_ms <= world.now_ms:
                world.unwanted.add(name)
                world.end(name)
            elif attempt.stopping:
                world.end(name)

    def _come(self) -> None:
        """As many ordinary jobs wait as could fill the pool."""
        ordinary = [name for name in self.world.waiting if name not in self.refused]
        for _ in range(self.size - len(ordinary)):
            self.number += 1
            name = f"j{self.number}"
            self.world.waiting[name] = WaitingJob(
                name=name,
                demand={POOL: 1},
                priority=self.rng.choice(self.priorities),
                entry_time_ms=self.world.now_ms,
                limit_ms=self.rng.randrange(STEP_MS, self.limit_ms + 1, STEP_MS),
            )

    def _decide(self) -> None:
        world = self.world
        for _ in range(3):
            snapshot = world.snapshot()
            plan = schedule(snapshot, explain=False)
            check_plan(snapshot, plan)
            self._check(snapshot, plan)
            world.apply(plan)
            for action in plan.actions:
                if not isinstance(action, Start):
                    continue
                if action.job not in self.refused or self.heals:
                    world.gets_instances(action.job)
                    continue
                self.tries[action.job] += 1
                cause = self.refused[action.job][1]
                if cause in {Cause.DENIED, Cause.QUOTA}:
                    world.fails(action.job, cause, by_request=cause is Cause.DENIED)
            if not plan.actions:
                return

    def _check(self, snapshot: Snapshot, plan: Plan) -> None:
        lacking = {each.attempt for each in snapshot.allocations if each.lacks_instances}
        for action in plan.actions:
            if isinstance(action, Preempt):
                assert action.for_job not in self.refused, "stopped for a job that gets nothing"
                self.gave_way += action.attempt in lacking

    def _wanted(self) -> int:
        """Instances that are idle, or held by attempts without any, which ordinary jobs could use."""
        ordinary = sum(name not in self.refused for name in self.world.waiting)
        held = sum(
            sum(self.world.held[name].demand.values())
            for name in self.world.pending
            if not self.world.held[name].stopping
        )
        return min(ordinary, max(0, free(self.world.snapshot()).get(POOL, 0)) + held)


@st.composite
def days(draw: st.DrawFn) -> Day:
    """A pool of 1 to 4 instances and 1 to 4 refused jobs."""
    size = draw(st.integers(1, 4))
    causes = st.sampled_from([Cause.DENIED, Cause.QUOTA, Cause.CAPACITY, Cause.CAPACITY, Cause.UNANSWERED])
    count = draw(st.integers(1, 4))
    return Day(
        size=size,
        refused={f"u{n}": (draw(st.integers(1, size)), draw(causes)) for n in range(count)},
        rng=Random(draw(st.integers(0, 10**6))),
        percent=draw(st.sampled_from([1, 5, 20])),
        priorities=draw(st.sampled_from([(0, 1), (0, 1, 5), (5, 9)])),
    )


@settings(max_examples=15)
@given(days())
def test_probes_keep_idle_no_more_than_their_part_of_a_day_and_one_grace(day: Day) -> None:
    day.play(NOW_MS + DAY_MS)
    spent_ms = day.world.now_ms - NOW_MS
    grace_ms = (MAX_GRACE_MS + ANSWER_MS) * max(count for count, _ in day.refused.values())
    assert day.idle_ms <= day.percent * spent_ms * day.size // 100 + grace_ms, day.idle_ms / spent_ms / day.size


@settings(max_examples=8)
@given(days())
def test_each_refused_job_is_tried_and_starts_once_sagemaker_has_instances(day: Day) -> None:
    day.play(NOW_MS + 6 * HOUR_MS)
    day.heals = True
    day.play(NOW_MS + 20 * DAY_MS)
    assert day.is_over, {name: each.failed for name, each in day.world.waiting.items() if name in day.refused}


@pytest.mark.parametrize("cause", [Cause.DENIED, Cause.QUOTA, Cause.CAPACITY, Cause.UNANSWERED])
def test_of_several_refused_jobs_each_is_tried_in_a_busy_pool(cause: Cause) -> None:
    day = Day(size=2, refused={f"u{n}": (1 + n % 2, cause) for n in range(4)}, rng=Random(1))
    day.play(NOW_MS + 3 * DAY_MS)
    assert set(day.tries) == set(day.refused)
