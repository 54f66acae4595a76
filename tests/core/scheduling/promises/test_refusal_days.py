"""Days in which SageMaker refuses the same jobs again and again, beside a stream of ordinary ones that want the pool.

What probes keep idle is bounded, each refused job is tried, and each starts once SageMaker has instances for it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from headway.model import STOP_MS, Snapshot
from headway.plan import Plan, Preempt, Start
from headway.policy import Policy
from headway.refusals import Cause, FailedLaunches
from headway.refusals.probing import MAX_GRACE_MS
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from headway.vectors import free
from tests.core.builders import waiting_job
from tests.core.strategies import HOUR_MS, NOW_MS, STEP_MS, World

POOL = "p"
STEP_OF_DAY_MS = 60_000
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
            name: waiting_job(
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
            elif attempt.terms.limit_ms is not None and attempt.since_ms + attempt.terms.limit_ms <= world.now_ms:
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
            self.world.waiting[name] = waiting_job(
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


def drawn(seed: int, percents: tuple[int, ...]) -> Day:
    """A pool of 1 to 4 instances, and 1 to 4 refused jobs."""
    rng = Random(seed)
    size = rng.randint(1, 4)
    causes = (Cause.DENIED, Cause.QUOTA, Cause.CAPACITY, Cause.UNANSWERED)
    refused = {f"u{n}": (rng.randint(1, size), rng.choice(causes)) for n in range(rng.randint(1, 4))}
    return Day(size=size, refused=refused, rng=rng, percent=rng.choice(percents))


@pytest.mark.parametrize("seed", [3, 6, 10, 14, 17])
def test_probes_keep_idle_no_more_than_their_part_of_a_day_and_a_grace_each(seed: int) -> None:
    """The first try of each is paid for afterwards."""
    day = drawn(seed, (1, 5, 20))
    day.play(NOW_MS + DAY_MS)
    assert set(day.tries) == set(day.refused), "each is tried"
    spent_ms = day.world.now_ms - NOW_MS
    holding = sum(count for count, cause in day.refused.values() if cause in {Cause.CAPACITY, Cause.UNANSWERED})
    first_ms = (MAX_GRACE_MS + STOP_MS + STEP_OF_DAY_MS) * holding
    assert day.idle_ms <= day.percent * spent_ms * day.size // 100 + first_ms


@pytest.mark.parametrize("count", [1, 30])
def test_denied_jobs_keep_idle_no_more_than_their_part_however_many_they_are(count: int) -> None:
    day = Day(size=1, refused={f"u{n}": (1, Cause.DENIED) for n in range(count)}, rng=Random(1))
    day.play(NOW_MS + 6 * HOUR_MS)
    assert set(day.tries) == set(day.refused)
    assert day.idle_ms <= day.percent * 6 * HOUR_MS // 100


@pytest.mark.parametrize("seed", [3, 6, 14])
def test_each_refused_job_starts_once_sagemaker_has_instances(seed: int) -> None:
    day = drawn(seed, (5, 20))
    day.play(NOW_MS + 6 * HOUR_MS)
    assert not day.is_over
    day.heals = True
    day.play(day.world.now_ms + 2 * DAY_MS)
    assert day.is_over, {name: each.failed for name, each in day.world.waiting.items() if name in day.refused}
