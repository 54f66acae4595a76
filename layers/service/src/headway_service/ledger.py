"""Reads what a decision depends on: the ledger of all pools, and the heads of the lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headway.capacity import shortfall
from headway.lifecycle import WAITING
from headway.model import Snapshot, WaitingJob
from headway.ordering import rank
from headway_service.ports import Table
from headway_service.records import LEDGER, AttemptRecord, JobRecord, LineEntry, PoolRecord, ReservationRecord

MAX_LEDGER_ITEMS = 50_000
"""Attempts, reservations and pools that one read of the ledger takes in: more than all pools may hold."""

MAX_LINE_READS = 1000
"""Entries of one line that a decision looks at, at most; jobs behind them wait for a later one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ledger:
    """All that holds capacity, as read at one moment."""

    pools: tuple[PoolRecord, ...]
    attempts: tuple[AttemptRecord, ...]
    reservations: tuple[ReservationRecord, ...]

    def reservation_of(self, job: str) -> ReservationRecord | None:
        """What is reserved for a job."""
        return next((each for each in self.reservations if each.job_name == job), None)

    def attempt_of(self, job: str) -> AttemptRecord | None:
        """The attempt of a job."""
        return next((each for each in self.attempts if each.job_name == job), None)


def read_ledger(table: Table) -> Ledger:
    """The ledger, strongly consistent, in one query."""
    pools: list[PoolRecord] = []
    attempts: list[AttemptRecord] = []
    reservations: list[ReservationRecord] = []
    for item in table.query(LEDGER, limit=MAX_LEDGER_ITEMS):
        kind = item["sk"].partition("#")[0]
        if kind == "pool":
            pools.append(PoolRecord.parse(item))
        elif kind == "attempt":
            attempts.append(AttemptRecord.parse(item))
        elif kind == "reservation":
            reservations.append(ReservationRecord.parse(item))
    return Ledger(pools=tuple(pools), attempts=tuple(attempts), reservations=tuple(reservations))


def read_snapshot(
    table: Table, ledger: Ledger, now_ms: int, *, also: Iterable[JobRecord] = (), heads: int = 0
) -> Snapshot:
    """The snapshot that a decision is made from.

    Args:
        table: the table.
        ledger: what :func:`read_ledger` gave.
        now_ms: the moment of the decision.
        also: jobs to include if they wait, however far back they stand.
        heads: how many heads of each line to read at least; as many as could start in any case.
    """
    sizes = {pool.pool: pool.size for pool in ledger.pools}
    waiting: dict[str, WaitingJob] = {}
    for pool, size in sizes.items():
        # A job that starts or preempts takes at least one instance, so no decision reaches further than this.
        for job in _heads(table, pool, sizes, wanted=max(size + 1, heads)):
            waiting[job.name] = job
    for record in also:
        if record.job_state in WAITING:
            waiting.setdefault(record.job_name, record.waiting())
    # What is reserved stays with its job wherever that stands, so the job has to be seen.
    owed = {each.job_name for each in ledger.reservations} | {
        each.freed_for for each in ledger.attempts if each.freed_for
    }
    for name in sorted(owed - waiting.keys()):
        item = table.get(JobRecord.key(name))
        if item is not None and (owner := JobRecord.parse(item)).job_state in WAITING:
            waiting[name] = owner.waiting()
    # Ledger and lines are read one after the other: who moved from one to the other in between shows in both. What
    # holds instances counts; as a waiting job it is seen by the next decision.
    for attempt in ledger.attempts:
        waiting.pop(attempt.job_name, None)
    return Snapshot(
        now_ms=now_ms,
        pools=sizes,
        allocations=tuple(attempt.allocation() for attempt in ledger.attempts),
        reservations=tuple(reservation.reservation() for reservation in ledger.reservations),
        waiting=tuple(sorted(waiting.values(), key=rank)),
    )


def _heads(table: Table, pool: str, sizes: dict[str, int], *, wanted: int) -> list[WaitingJob]:
    """The first jobs of a line, ``wanted`` of which could run in pools of these sizes.

    Jobs that demand more than a pool holds (since it was made smaller) stand in the line without a chance; they
    must not hide the jobs behind them.
    """
    found: list[WaitingJob] = []
    after, read, fitting = "", 0, 0
    while fitting < wanted and read < MAX_LINE_READS:
        limit = min(wanted - fitting, MAX_LINE_READS - read)
        page = table.query(LineEntry.partition(pool), after=after, limit=limit)
        entries = [LineEntry.parse(item) for item in page]
        found += [entry.waiting() for entry in entries]
        fitting += sum(not shortfall(entry.demand, sizes) for entry in entries)
        read += len(entries)
        if len(entries) < limit:
            break
        after = entries[-1].key().sk
    return found
