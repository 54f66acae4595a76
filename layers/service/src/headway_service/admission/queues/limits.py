"""Limits how many jobs wait in a queue, per team and per owner."""

from __future__ import annotations

from collections.abc import Callable

from headway.job_terms import owner_hash
from headway_service.admission.queues.counts import QueueCounts
from headway_service.admission.queues.open_arrays import MAX_OPEN_ARRAYS, OpenArrays, read_open_arrays
from headway_service.config.document import Limits
from headway_service.errors import QueueFull
from headway_service.ports.table import Table
from headway_service.store.queue_tail import QueueTail, read_queue_tail
from headway_service.store.records.job import JobRecord
from headway_service.store.records.queue_count import MAX_COUNTED_EACH_TIME
from headway_service.store.records.queue_entry import QueueEntry


class QueueLimits:
    """The limits of queues, and of arrays, for the jobs of one owner in one call.

    Each queue, and the arrays of each team, are read once, before the first job enters, and later jobs of the call are
    added to that. A long queue is not counted if its stored count (:class:`QueueCounts`) shows that it has room; a
    refusal always rests on a count of the queue. Simultaneous calls may together exceed a limit by the number of their
    jobs.

    Args:
        limits: the limits in force.
        owner: ARN of the owner; None checks the limits of teams only.
        machine_clock: the machine time, ms.
        jobs: the most jobs that enter a queue in this call.

    Attributes:
        tails: the queues that were read, by partition.
    """

    def __init__(
        self, table: Table, limits: Limits, owner: str | None, machine_clock: Callable[[], int], *, jobs: int = 1
    ) -> None:
        self._table = table
        self._limits = limits
        self._mark = owner_hash(owner)
        self._jobs = jobs
        self._counts = QueueCounts(table, self._mark, machine_clock)
        self._roomy: set[str] = set()
        self._arrays: dict[str, OpenArrays] = {}
        self.tails: dict[str, QueueTail] = {}

    def require(self, job: JobRecord) -> None:
        """Check that a job may enter its queues.

        An array enters with its members that are no jobs yet. Those that are set aside are counted with the queues.

        Raises:
            QueueFull: a queue is at its limit, there are as many arrays as may be, or they cannot be counted.
        """
        limits, entering = self._limits, job.array.unmade if job.array is not None else 1
        to_come = self._arrays_beside(job).unmade(self._mark, beside=job.job_name) if job.array is not None else {}
        whose = f" of the team {job.team}" if job.team else ""
        for pool in job.pools:
            # A job that is kept back enters the queue by itself later, so it has to fit in beside all that do. For
            # other jobs these are not read: most queues have none, and a submission would take another query.
            if not job.is_kept_back and job.array is None:
                queue = QueueEntry.partition(pool, job.team)
                if self._has_room(queue):
                    continue
                tails = [self._counted(queue)]
                self._counts.counted(queue, tails[0])
            else:
                kinds = (False, True)
                tails = [self._counted(QueueEntry.partition(pool, job.team, waits_for_jobs=each)) for each in kinds]
            unmade, of_owner = to_come.get(pool, (0, 0))
            items = sum(each.items for each in tails) + unmade
            matching = sum(each.matching for each in tails) + of_owner
            if items + entering > limits.waiting_per_team:
                raise _full(f"{items} jobs{whose}", pool, limits.waiting_per_team, "waitingPerTeam", entering)
            if self._mark and matching + entering > limits.waiting_per_owner:
                who = f"{matching} of your jobs{whose}"
                raise _full(who, pool, limits.waiting_per_owner, "waitingPerOwner", entering)

    def _arrays_beside(self, array: JobRecord) -> OpenArrays:
        """The arrays of the team of an array, beside which it has to fit in if it is a new one.

        Raises:
            QueueFull: it does not, or they cannot be counted.
        """
        if array.team not in self._arrays:
            self._arrays[array.team] = read_open_arrays(self._table, array.team)
        arrays, limits = self._arrays[array.team], self._limits
        is_new = array.job_name not in arrays
        if arrays.of_all_teams > MAX_OPEN_ARRAYS - is_new:
            raise QueueFull(
                f"{MAX_OPEN_ARRAYS} arrays of all teams have members left, the most that are counted: try again when "
                "some have ended, or stop some that are not needed"
            )
        whose = f" of the team {array.team}" if array.team else ""
        if is_new and arrays.count() >= limits.arrays_per_team:
            raise _many_arrays(f"{arrays.count()} arrays{whose}", limits.arrays_per_team, "arraysPerTeam")
        if is_new and self._mark and arrays.count(self._mark) >= limits.arrays_per_owner:
            who = f"{arrays.count(self._mark)} of your arrays{whose}"
            raise _many_arrays(who, limits.arrays_per_owner, "arraysPerOwner")
        return arrays

    def record(self, job: JobRecord) -> None:
        """Count a job that has entered its queues, or waits to enter them, or an array that was submitted."""
        if job.array is not None and job.team in self._arrays:
            self._arrays[job.team].join(job)
        for key in job.queue_keys():
            self._tail(key.pk).join(key.sk)
            self._counts.entered(key.pk)

    def forget(self, job: JobRecord) -> None:
        """Take back :meth:`record` for a job that has not entered."""
        for key in job.queue_keys():
            self._tail(key.pk).leave(key.sk)
            self._counts.left(key.pk)

    def store_counts(self) -> None:
        """Store the counts of long queues, after jobs have entered them."""
        self._counts.store()

    def _has_room(self, partition: str) -> bool:
        """Whether a queue has room for all jobs of this call, as it is known to without counting it."""
        if partition not in self.tails:
            tail = self._tail(partition)
            if not tail.is_counted and self._counts.has_room(partition, self._jobs, self._limits):
                self._roomy.add(partition)
        return partition in self._roomy

    def _counted(self, partition: str) -> QueueTail:
        """A queue of which the number of jobs is known, up to the limit."""
        tail = self._tail(partition)
        if not tail.is_counted and tail.items < self._limits.waiting_per_team:
            self._roomy.discard(partition)
            limit = self._limits.waiting_per_team
            tail = self.tails[partition] = tail.recounted(self._table, partition, self._mark, limit=limit)
        return tail

    def _tail(self, partition: str) -> QueueTail:
        if partition not in self.tails:
            limit = min(self._limits.waiting_per_team, MAX_COUNTED_EACH_TIME)
            self.tails[partition] = read_queue_tail(self._table, partition, self._mark, limit=limit)
        return self.tails[partition]


def _full(who: str, pool: str, limit: int, rule: str, entering: int) -> QueueFull:
    more = f", so {entering} more do not fit" if entering > 1 else ""
    return QueueFull(
        f"{who} wait for {pool}, and {limit} may (limits.{rule}){more}: try again when some have started, stop some "
        "that are not needed, or have the limit raised"
    )


def _many_arrays(who: str, limit: int, rule: str) -> QueueFull:
    return QueueFull(
        f"{who} have members left, and {limit} may (limits.{rule}): try again when some have ended, stop some that are "
        "not needed, or have the limit raised"
    )
