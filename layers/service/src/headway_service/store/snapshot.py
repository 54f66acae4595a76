"""Reads the snapshot that a decision is made from: the ledger, and of each queue the jobs that could start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from headway.model import Alternative, Demand, Snapshot, WaitingJob
from headway.policy import DEFAULT_POLICY, Policy
from headway.scheduling.alternatives import pools_of
from headway.scheduling.ordering import rank
from headway.scheduling.reach.front import Front, fronts
from headway_service.errors import UnreadableRecord
from headway_service.ports.table import Item, Key, Table
from headway_service.store.cut_queue import CutQueue
from headway_service.store.known_failures import afresh
from headway_service.store.ledger import Ledger
from headway_service.store.queue_scan import WIDE_PAGE, QueueScan
from headway_service.store.records.capacity.ledger import PoolRecord
from headway_service.store.records.capacity.unread_jobs import UnreadJobsRecord
from headway_service.store.records.listed_job import ListedJob
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.repository import find_job


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuesRead:
    """The snapshot that a decision is made from, and the queues that hold more than it shows."""

    snapshot: Snapshot
    cut: tuple[CutQueue, ...]


def read_snapshot(
    table: Table,
    ledger: Ledger,
    now_ms: int,
    *,
    policy: Policy = DEFAULT_POLICY,
    also: Iterable[ListedJob] = (),
    heads: int = 0,
    passing: Collection[str] | None = None,
) -> Snapshot:
    """Read the snapshot of :func:`read_queues`.

    Args:
        table: see :func:`read_queues`, as all others.
        now_ms: the time of the decision.
        policy: the rules to decide by.
        also: jobs to include.
        heads: the fewest jobs of each queue.
        passing: pools in which jobs may pass others.
    """
    return read_queues(table, ledger, now_ms, policy=policy, also=also, heads=heads, passing=passing).snapshot


def read_queues(
    table: Table,
    ledger: Ledger,
    now_ms: int,
    *,
    policy: Policy = DEFAULT_POLICY,
    also: Iterable[ListedJob] = (),
    heads: int = 0,
    passing: Collection[str] | None = None,
    passed_over: Collection[str] = (),
    note_unreadable: Callable[[UnreadableRecord], None] = lambda _: None,
) -> QueuesRead:
    """Read the snapshot that a decision is made from.

    Of each queue, the first jobs are read (:mod:`headway.scheduling.reach.front`).

    The number of reads depends on pools, teams and the window, not on the number of waiting jobs. If jobs that cannot
    start fill all that is read of a queue, the snapshot has the jobs that were found behind them
    (:mod:`headway_service.scheduling.unread_jobs`).

    Args:
        ledger: from :func:`read_ledger`, or from :func:`read_ledger_for_display` if the decision is not executed.
        now_ms: the time of the decision.
        policy: the rules to decide by.
        also: jobs to include if they are queued, however far back.
        heads: the fewest jobs to read from the front of each queue.
        passing: pools in which jobs may pass those ahead of them, so that the window is read; None for all pools that
            are not full.
        passed_over: jobs that are not considered.
        note_unreadable: called with the error of each job whose record cannot be read. Such a job is left out.
    """
    sizes = ledger.sizes_at(now_ms)
    snapshot = Snapshot(
        now_ms=now_ms,
        pools=sizes,
        allocations=(
            *(attempt.allocation() for attempt in ledger.attempts),
            *(rogue.allocation() for rogue in ledger.rogues if rogue.charged),
            *(pool.allocation() for pool in ledger.warm_pools),
            *ledger.unreadable_allocations(now_ms),
        ),
        reservations=tuple(reservation.reservation() for reservation in ledger.reservations),
        pauses={pool: pause.pause() for pool in sizes if (pause := ledger.pause_of(pool)) is not None},
        policy=policy,
        calendars={each.pool: each.calendar(now_ms) for each in ledger.calendars if each.pool in sizes},
        spot_scores=dict(ledger.spot_scores.fresh(now_ms)) if ledger.spot_scores is not None else {},
        past_use=ledger.past_use_until(now_ms) if policy.fair_share is not None else {},
        budget_use=ledger.budget_use_until(now_ms, policy.budgets),
    )
    waiting: dict[str, WaitingJob] = {}
    cut: list[CutQueue] = []
    for front in fronts(snapshot, ledger.queue_teams, heads=heads, passing=passing):
        pool, team = front.bounds.pool, front.bounds.team
        queue = QueueScan(table, pool, team, now_ms, policy, passed_over, note_unreadable)
        rest = _read_front(queue, front)
        waiting |= {job.name: job for job in front.jobs}
        if rest is not None:
            cut.append(rest)
            behind_it = queue.entries(_behind(table, ledger.unread_of(pool, team)))
            waiting |= {entry.job_name: job for entry in behind_it if rest.may_start(job := entry.waiting())}
    for record in also:
        if record.is_queued and record.job_name not in waiting:
            waiting[record.job_name] = record.waiting()
    # A reservation stays with its job wherever that is in the queue, so the snapshot needs the job.
    owed = {each.job_name for each in ledger.reservations}
    owed |= {each.freed_for for each in snapshot.allocations if each.freed_for}
    for name in sorted(owed - waiting.keys() - set(passed_over)):
        try:
            owner = find_job(table, name)
        except UnreadableRecord as error:
            note_unreadable(error)
            continue
        if owner is not None and owner.is_queued:
            waiting[name] = owner.waiting()
    # The ledger is read before the queues: a job that moves from one to the other in between is in both. It counts as
    # running; if it waits again, the next decision includes it.
    for attempt in ledger.attempts:
        waiting.pop(attempt.job_name, None)
    in_order = sorted(_held_back(afresh(waiting.values(), ledger, sizes), ledger.pools, now_ms), key=rank)
    return QueuesRead(snapshot=replace(snapshot, waiting=tuple(in_order)), cut=tuple(cut))


def _behind(table: Table, unread: UnreadJobsRecord | None) -> Sequence[Item]:
    """The entries of jobs that were found behind the first ones of a queue, and are still there."""
    if unread is None or not unread.found:
        return []
    partition = QueueEntry.partition(unread.pool, unread.team)
    return table.get_all([Key(partition, each) for each in unread.found])


def _held_back(waiting: Iterable[WaitingJob], pools: Iterable[PoolRecord], now_ms: int) -> Iterator[WaitingJob]:
    """The jobs; those that demand a backed-off pool may not start before the back-off is over.

    Nor is anything stopped for a launch that may have no clear answer, as those before it.
    """
    doubted = {pool.pool for pool in pools if pool.has_unclear_row(now_ms)}
    backing_off = {pool.pool: pool for pool in pools if pool.backoff_until_ms > now_ms}
    if not doubted and not backing_off:
        yield from waiting
        return
    for job in waiting:
        alternatives = tuple(_held_alternative(job, each, backing_off) for each in job.alternatives)
        held = replace(_held(job, job.demand, backing_off), alternatives=alternatives)
        yield held if doubted.isdisjoint(pools_of(job)) else replace(held, preempts=False)


def _held(job: WaitingJob, demand: Demand, backing_off: Mapping[str, PoolRecord]) -> WaitingJob:
    """A job that may not start on these instances before the back-off of their pools is over."""
    last = max(
        (backing_off[pool] for pool in demand if pool in backing_off),
        key=lambda pool: pool.backoff_until_ms,
        default=None,
    )
    if last is None or last.backoff_until_ms <= job.not_before_ms:
        return job
    return replace(job, not_before_ms=last.backoff_until_ms, held_by=last.backoff_cause)


def _held_alternative(job: WaitingJob, alternative: Alternative, backing_off: Mapping[str, PoolRecord]) -> Alternative:
    """An alternative of a job, which the back-offs of other pools do not hold back."""
    if alternative.not_before_ms is not None:
        job = replace(job, not_before_ms=alternative.not_before_ms, held_by=alternative.held_by)
    held = _held(job, alternative.demand, backing_off)
    return replace(alternative, not_before_ms=held.not_before_ms, held_by=held.held_by)


def _read_front(queue: QueueScan, front: Front) -> CutQueue | None:
    """Read the front of a queue.

    Returns:
        The queue, if what may be read of it at once is not its whole front.
    """
    if front.is_closed:
        front.jobs.extend(islice(queue.jobs(), front.heads))
        return None
    # One query is usually enough.
    queue.set_page_size(front.expected)
    for job in queue.jobs():
        front.add(job)
        if front.is_complete:
            return None
        if front.only_covered:
            queue.set_page_size(WIDE_PAGE)
    return CutQueue(bounds=front.bounds, after=queue.last, only_covered=front.only_covered) if queue.is_cut else None
