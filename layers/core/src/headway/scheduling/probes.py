"""Which unlaunchable jobs a decision tries again, and what others may lose by that.

An unlaunchable job is tried on instances that no other job can use now. That alone could keep a large job waiting for
ever in a busy pool, so one job of each pool, of those that can use it the one that was not tried for the longest time,
has its place in the queue as well: it may take free instances before others, and gets a reserved start. What that keeps
idle, and what the last try has kept, is at most a small part of the time since then, and the same holds for all tries
since the first. All unlaunchable jobs of the pool share that part.

One whose last try has kept too much has no place until then. In a pool that nobody else waits for it costs nobody
anything, so there it has its turn before those with a place that were tried later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from math import inf

from headway.model import LATE_MS, Allocation, Snapshot, WaitingJob
from headway.refusals import PROBES_APART_MS, Cause, FailedLaunches, is_unlaunchable, retry_ms
from headway.scheduling.alternatives import choices
from headway.scheduling.capacity_state import paused_pool
from headway.scheduling.limits import Limits
from headway.scheduling.warm_pools import may_claim
from headway.vectors import shortfall

_NEVER_MS = -(1 << 62)


class Probes:
    """The unlaunchable jobs of one decision.

    Args:
        snapshot: the state that is decided on.
        limits: what limits its jobs beside the sizes of pools.
        is_eligible: whether a job on one alternative could start if all instances were free, now or later.
        can_start: whether the decision, as far as it is made, can start an unlaunchable job on one alternative.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        limits: Limits,
        *,
        is_eligible: Callable[[WaitingJob], bool],
        can_start: Callable[[WaitingJob], bool],
    ) -> None:
        self._is_eligible = is_eligible
        self._can_start = can_start
        self._now_ms = snapshot.now_ms
        self._sizes = snapshot.pools
        self._percent = snapshot.policy.probe_percent
        self._snapshot = snapshot
        self._limits = limits
        #: Pools in which this decision tries one.
        self._taken: set[str] = set()

    @cached_property
    def _tried(self) -> list[tuple[FailedLaunches, WaitingJob]]:
        """The unlaunchable jobs on their alternatives. Most decisions meet none, and do not look at all jobs for it."""
        return [
            (each.failed, each)
            for job in self._snapshot.waiting
            if _has_failed(job)
            for each in choices(job)
            if each.failed is not None and self.is_barred(each)
        ]

    @cached_property
    def _counts(self) -> Counter[str]:
        """How many jobs are unlaunchable, by pool."""
        return Counter(pool for _, each in self._tried for pool in each.demand)

    @cached_property
    def _last_ms(self) -> dict[str, int]:
        """When the last launch of one of them failed, ms, by pool."""
        found: dict[str, int] = {}
        for failed, each in self._tried:
            for pool in each.demand:
                found[pool] = max(failed.last_ms, found.get(pool, _NEVER_MS))
        return found

    @cached_property
    def _first(self) -> dict[str, str]:
        """The job that has its place in the queue, by pool."""
        found: dict[str, str] = {}
        for _, name, demand in sorted(
            (failed.last_ms, each.name, tuple(each.demand))
            for failed, each in self._tried
            if self._is_due(failed) and self._can_use_place(each)
        ):
            for pool in demand:
                found.setdefault(pool, name)
        last_ms = {(each.name, pool): failed.last_ms for failed, each in self._tried for pool in each.demand}
        for failed, each in self._tried:
            is_later = any(last_ms[found[pool], pool] > failed.last_ms for pool in each.demand if pool in found)
            if is_later and each.name in self._barred_everywhere and self._has_turn_on_leftovers(each):
                found = {pool: name for pool, name in found.items() if pool not in each.demand}
        return found

    @cached_property
    def _barred_everywhere(self) -> set[str]:
        """The jobs that are unlaunchable on all their alternatives: only those are tried on leftovers."""
        return {
            job.name
            for job in self._snapshot.waiting
            if _has_failed(job) and all(self.is_barred(each) for each in choices(job))
        }

    @cached_property
    def _wanted(self) -> set[str]:
        """The pools that jobs wait for which are not unlaunchable there, and could start in their present sizes."""
        return {
            pool
            for job in self._snapshot.waiting
            for each in choices(job)
            if not self.is_barred(each) and not shortfall(each.demand, self._sizes) and self._is_eligible(each)
            for pool in each.demand
        }

    def is_barred(self, job: WaitingJob) -> bool:
        """Whether a job is unlaunchable, of one with alternatives on its first preference."""
        return is_unlaunchable(job.failed, self._now_ms)

    def is_last(self, job: WaitingJob) -> bool:
        """Whether a job comes after all others: unlaunchable on all its alternatives, with its place on none."""
        if not self.is_barred(job):
            return False
        return all(self.is_barred(each) and not self.has_place(each) for each in choices(job))

    def has_place(self, job: WaitingJob) -> bool:
        """Whether an unlaunchable job is the one of its pools that has its place in the queue."""
        return all(self._first.get(pool) == job.name for pool in job.demand)

    def may_start(self, job: WaitingJob) -> bool:
        """Whether an unlaunchable job may be tried now, if there are instances for it."""
        if self.next_ms(job) > self._now_ms or not self._taken.isdisjoint(job.demand):
            return False
        # A launch without an answer holds its instances until it is known, and cannot give way to others meanwhile.
        keeps = job.failed is not None and job.failed.cause is Cause.UNANSWERED and job.failed.count > 1
        return not keeps or self._budget_ms(job) >= 0

    def next_ms(self, job: WaitingJob) -> int:
        """When an unlaunchable job may be tried next at the earliest, ms."""
        assert job.failed is not None  # noqa: S101 - an unlaunchable job has failed launches
        return max(
            retry_ms(job.failed), job.not_before_ms, *(self._last_ms[pool] + PROBES_APART_MS for pool in job.demand)
        )

    def start(self, job: WaitingJob) -> None:
        """An unlaunchable job is tried now: no other one is tried in its pools."""
        self._taken.update(job.demand)

    def may_reserve(self, job: WaitingJob, start_ms: int | None) -> bool:
        """Whether an unlaunchable job gets a reserved start, which keeps instances idle until then.

        Args:
            job: the job, which has its place in the queue.
            start_ms: the start, ms; None if it is not known.
        """
        if start_ms is None or not self._taken.isdisjoint(job.demand):
            return False
        next_ms = self.next_ms(job)
        if next_ms > self._now_ms:
            # What is free is kept for it until then, and until the decision that tries it.
            start_ms = max(start_ms, next_ms + LATE_MS)
        return start_ms - self._now_ms <= self._budget_ms(job)

    def _can_use_place(self, job: WaitingJob) -> bool:
        """Whether a job could start or get a reserved start with its place. If not, others must not wait for it."""
        budget_ms = self._budget_ms(job)
        if paused_pool(job, self._snapshot) is not None:
            return False
        charged = self._limits.charged(job.demand, job.terms)
        return all(self._free_in_ms(job, pool, count) <= budget_ms for pool, count in charged.items())

    def _has_turn_on_leftovers(self, job: WaitingJob) -> bool:
        """Whether a job can be tried now on instances that nobody else waits for."""
        return self._wanted.isdisjoint(job.demand) and self.may_start(job) and self._can_start(job)

    def _free_in_ms(self, job: WaitingJob, pool: str, count: int) -> float:
        """In what time so many instances can be free for a job at the earliest, ms, as far as limits of run times tell.

        Args:
            pool: the pool, or a limit of the job.
            count: the instances.
        """
        size, growth = self._limits.sizes.get(pool, 0), self._limits.calendars.get(pool)
        times_ms: list[float] = []
        if growth is not None:
            times_ms += [each.at_ms for each in growth.changes if each.size >= count and each.at_ms >= self._now_ms]
        held = [
            (each, part)
            for each in self._snapshot.allocations
            if (part := self._limits.charged(each.demand, each.terms).get(pool, 0))
            and not (each.warm and may_claim(job, each, self._now_ms, self._snapshot.policy))
        ]
        free = size - sum(part for _, part in held)
        if size >= count:
            ends_ms = sorted((self._gone_ms(each, job), part) for each, part in held)
            for end_ms, freed in [(self._now_ms, 0), *ends_ms]:
                free += freed
                if free >= count:
                    times_ms.append(end_ms)
                    break
        return max(0, min(times_ms) - self._now_ms) if times_ms else inf

    def _gone_ms(self, attempt: Allocation, job: WaitingJob) -> float:
        """When a job can use what an attempt holds at the latest, ms: it may leave a warm pool, of use to some only."""
        is_useful = attempt.terms.warm_key == job.terms.warm_key
        return self._end_ms(attempt) + (0 if attempt.warm or is_useful else attempt.terms.keep_ms)

    def _end_ms(self, attempt: Allocation) -> float:
        """When an attempt ends at the latest, ms; infinite if that is not known, as of one that is beyond its limit."""
        if attempt.stopping:
            return self._now_ms
        end_ms = inf if attempt.terms.limit_ms is None else attempt.since_ms + attempt.terms.limit_ms
        return end_ms if end_ms >= self._now_ms else inf

    def _is_due(self, failed: FailedLaunches) -> bool:
        return retry_ms(failed) <= self._now_ms

    def _budget_ms(self, job: WaitingJob) -> int:
        """How long all its pools may still be kept idle for a job, ms; negative if the last try took more than that."""
        failed, demand = job.failed, job.demand
        assert failed is not None  # noqa: S101 - an unlaunchable job has failed launches
        sharing = max(self._counts[pool] for pool in demand)
        part = max(count / max(1, self._sizes.get(pool, 0), count) for pool, count in demand.items())

        def left_ms(since_ms: int, idled_ms: int) -> int:
            earned_ms = (self._now_ms - since_ms) * self._percent // (100 * sharing)
            return earned_ms - int(idled_ms * part)

        # A last try that cost nothing, such as one on leftovers, pays for none before it.
        in_row_ms = (
            left_ms(failed.since_ms, failed.idled_before_ms + failed.idled_ms) if failed.idled_before_ms else inf
        )
        return int(min(left_ms(failed.last_ms, failed.idled_ms), in_row_ms))


def in_order_of_tries(jobs: Iterable[WaitingJob]) -> list[WaitingJob]:
    """Unlaunchable jobs, first the one that was not tried for the longest time."""

    def last_try(job: WaitingJob) -> tuple[int, str]:
        return min(each.failed.last_ms for each in choices(job) if each.failed is not None), job.name

    return sorted(jobs, key=last_try)


def launchable(snapshot: Snapshot) -> Snapshot:
    """The snapshot without what SageMaker does not launch: forecasts assume that it stays so.

    A job stays with the alternatives on which it is not unlaunchable, if there are any.
    """
    now_ms = snapshot.now_ms
    if not any(_has_failed(job) and _is_barred_somewhere(job, now_ms) for job in snapshot.waiting):
        return snapshot
    left = (_without_barred(job, now_ms) if _has_failed(job) else job for job in snapshot.waiting)
    return replace(snapshot, waiting=tuple(job for job in left if job is not None))


def _has_failed(job: WaitingJob) -> bool:
    """Whether the last launch on any of its alternatives got no instances."""
    return job.failed is not None or (bool(job.alternatives) and any(each.failed for each in job.alternatives))


def _is_barred_somewhere(job: WaitingJob, now_ms: int) -> bool:
    if is_unlaunchable(job.failed, now_ms):
        return True
    return any(is_unlaunchable(each.failed, now_ms) for each in job.alternatives)


def _without_barred(job: WaitingJob, now_ms: int) -> WaitingJob | None:
    alternatives = tuple(each for each in job.alternatives if not is_unlaunchable(each.failed, now_ms))
    if not is_unlaunchable(job.failed, now_ms):
        return job if len(alternatives) == len(job.alternatives) else replace(job, alternatives=alternatives)
    open_ones = [each for each in choices(job) if not is_unlaunchable(each.failed, now_ms)]
    if not open_ones:
        return None
    return replace(open_ones[0], alternatives=alternatives[1:])
