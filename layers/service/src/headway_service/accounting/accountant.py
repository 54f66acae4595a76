"""Adds what ended attempts and jobs have used to the sums, each once in effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from headway.days import Period, month_of
from headway.jobpolicy.training_job import tags_in
from headway.prediction.run_times import RunTimes
from headway_service.accounting.contributions import Contribution, contributions, kind_of
from headway_service.accounting.names import Names
from headway_service.accounting.records import KIND, MARK_KEPT_S, MarkRecord, add_figures
from headway_service.accounting.run_times import figures_of
from headway_service.errors import Conflict, RetryLater
from headway_service.ports.table import MAX_TRANSACTION_WRITES, AtLeast, Table, Write
from headway_service.store import transitions
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_request, retry_on_conflict

MAX_TOGETHER = 100
"""Jobs whose contributions are added in one transaction."""

FORGOTTEN_SOON_S = 3600
"""A job that the table may forget this soon, s, may have been replaced by another one of its name when its request is
written: that stays as it is."""


class Accountant:
    """Keeps the sums, and lets the table forget the requests of jobs that are in them to their ends.

    Args:
        tags: the keys of the tags by which the policy wants sums.
        machine_clock: the machine time, ms.
        run_times: returns the run times of the jobs that have completed; by default of none.
    """

    def __init__(
        self,
        table: Table,
        tags: Callable[[], Sequence[str]],
        machine_clock: Callable[[], int],
        run_times: Callable[[], RunTimes] = lambda: RunTimes(0),
    ) -> None:
        self._table = table
        self._tags = tags
        self._machine_clock = machine_clock
        self._run_times = run_times
        self._names = Names(table)

    def account(self, jobs: Iterable[JobRecord]) -> int:
        """Add what the sums lack of jobs.

        Args:
            jobs: the jobs as they were at any time, in any order; a job may come more than once.

        Returns:
            Of how many jobs they lacked something.

        Raises:
            RetryLater: the table is; some may have been added. The same jobs may be accounted for again.
        """
        newest = _newest(jobs)
        changed = 0
        for begin in range(0, len(newest), MAX_TOGETHER):
            together = newest[begin : begin + MAX_TOGETHER]
            try:
                changed += self._add(together)
            except Conflict:
                # Another invocation has some of the jobs, or adds the same names.
                changed += sum(self._add_alone(job) for job in together)
        return changed

    def _add_alone(self, job: JobRecord) -> int:
        busy = RetryLater(f"the sums of `{job.job_name}` keep changing; take the record again")
        return retry_on_conflict(lambda: self._add([job]), otherwise=busy)

    def _add(self, jobs: Sequence[JobRecord]) -> int:
        marked = [(job, self._missing(job)) for job in jobs]
        lacking = [(job, missing) for job, missing in marked if missing]
        if not lacking:
            return 0
        # Before the marks, which say that it is done.
        for job, missing in lacking:
            if missing[-1].mark.ended:
                self._expire_request(job)
        tags = tuple(self._tags())
        adding = _Adding(self._table, self._names, self._run_times)
        for job, missing in lacking:
            dimensions = self._dimensions(job, tags)
            for each in missing:
                adding.add(job, each, dimensions)
        adding.write()
        return len(lacking)

    def _expire_request(self, job: JobRecord) -> None:
        """Let the table forget the request of a job together with the job, in a write that is not in a transaction."""
        if job.expires_at is None or job.expires_at - self._machine_clock() // 1000 <= FORGOTTEN_SOON_S:
            return
        # A request that was deleted, as its owner is forgotten, must not come back as an item of its expiry alone.
        for write in transitions.expire_request(job, job.expires_at):
            with suppress(Conflict):
                self._table.write([replace(write, requires=AtLeast("schemaVersion", 0))])

    def _missing(self, job: JobRecord) -> list[Contribution]:
        item = self._table.get(MarkRecord.key(job.job_name))
        return contributions(job, None if item is None else MarkRecord.parse(item))

    def _dimensions(self, job: JobRecord, tags: Sequence[str]) -> list[tuple[str, str]]:
        """The dimensions other than pools and teams, and the name of the job in each."""
        request = (find_request(self._table, job.job_name, job.accepted_time) or {}) if tags else {}
        values = tags_in(request.get("Tags")) if tags else {}
        return [
            ("owner", job.owner or ""),
            *((f"tag:{key}", values.get(key, "")) for key in tags),
        ]


class _Adding:
    """Transactions that add contributions; each has the marks of the jobs whose contributions it has.

    Args:
        names: the names that have sums of their own.
        run_times: returns the run times of the jobs that have completed.
    """

    def __init__(self, table: Table, names: Names, run_times: Callable[[], RunTimes]) -> None:
        self._table = table
        self._names = names
        self._run_times = run_times
        self._versions: dict[str, int] = {}
        self._reset()

    def _reset(self) -> None:
        self._sums: dict[tuple[str, Period, str], Counter[str]] = {}
        self._marks: dict[str, MarkRecord] = {}
        self._new = self._names.open()

    def add(self, job: JobRecord, part: Contribution, dimensions: Sequence[tuple[str, str]]) -> None:
        """Add a contribution of a job; what was added before is written first if this has no room beside it.

        Args:
            part: the contribution.
            dimensions: the dimensions other than pools and teams, and the name of the job in each.
        """
        month = month_of(part.day)
        periods = (Period(month=month, day=part.day), Period(month=month))
        every = Counter(part.shared)
        for figures in part.pools.values():
            every.update(figures)
        added = [(dimension, name, every) for dimension, name in (("team", part.team), *dimensions)]
        added += [("pool", pool, Counter(part.shared) + Counter(figures)) for pool, figures in part.pools.items()]
        # A name may need a sum, a mark and a count of names beside those that are there. So may the kind of the job.
        if self._size + (len(periods) + 1) * len(added) + 3 > MAX_TRANSACTION_WRITES:
            self.write()
        for dimension, name, figures in added:
            kept = self._new.of(dimension, month, name)
            for period in periods:
                self._sums.setdefault((dimension, period, kept), Counter()).update(figures)
        if part.run_ms is not None:
            kind = kind_of(job)
            figures = figures_of(self._run_times(), kind, part.run_ms, job.limit_ms)
            kept = self._new.of(KIND, month, kind.text)
            self._sums.setdefault((KIND, Period(month=month), kept), Counter()).update(figures)
        expires = None if job.expires_at is None else job.expires_at + MARK_KEPT_S
        version = self._versions.get(job.job_name, part.mark.version)
        self._marks[job.job_name] = part.mark.model_copy(update={"version": version, "expires_at": expires})

    def write(self) -> None:
        """Write what was added.

        Raises:
            Conflict: a mark or the names of a dimension have changed; none of it was written.
        """
        if not self._marks:
            return
        writes: list[Write] = [mark.put() for mark in self._marks.values()]
        writes += [add_figures(*kept, figures) for kept, figures in self._sums.items()]
        writes += self._new.writes()
        self._table.write(writes)
        self._names.keep(self._new)
        self._versions |= {name: mark.version + 1 for name, mark in self._marks.items()}
        self._reset()

    @property
    def _size(self) -> int:
        return len(self._marks) + len(self._sums) + len(self._new.writes())


def _newest(jobs: Iterable[JobRecord]) -> list[JobRecord]:
    """The newest record of each job."""
    found: dict[str, JobRecord] = {}
    for job in jobs:
        known = found.get(job.job_name)
        if known is None or (known.accepted_time, known.version) < (job.accepted_time, job.version):
            found[job.job_name] = job
    return list(found.values())
