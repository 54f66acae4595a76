"""Reads the snapshot that a decision is made from: the ledger, and of each queue the jobs that could start."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice

from headway.model import Allocation, Alternative, Demand, Snapshot, WaitingJob
from headway.policy import DEFAULT_POLICY, Policy
from headway.scheduling.alternatives import pools_of
from headway.scheduling.equals.current import current_turn_ms
from headway.scheduling.equals.victims import least_measure, may_give_way, measure, takes_part
from headway.scheduling.ordering import (
    capped_priority,
    rank,
    running_priority,
)
from headway_service.errors import UnreadableRecord
from headway_service.ports.table import Item, Key, Table
from headway_service.store.known_failures import afresh
from headway_service.store.ledger import Ledger
from headway_service.store.queue_bounds import CutQueue, QueueBounds
from headway_service.store.queue_scan import PAGE, WIDE_PAGE, QueueScan
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

    There is one queue per team and pool. Of each queue, jobs are read from the front until together they demand more
    than jobs of their priority could get. They cannot all start or preempt, so a decision without backfill looks no
    further. For backfill, each queue of a pool that is not full adds its share of the window, which all queues share;
    in a full pool no job can pass those ahead of it.

    A team that holds less of a pool than its guarantee gets the rest for jobs that the guarantee covers, and these pass
    larger jobs of their own team. So in such a queue the scan also searches for covered jobs further back.

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
    calendars = {each.pool: each for each in ledger.calendars}
    sizes = ledger.sizes_at(now_ms)
    waiting: dict[str, WaitingJob] = {}
    cut: list[CutQueue] = []
    share = -(-policy.backfill_window // (len(sizes) * len(ledger.queue_teams))) if policy.backfill and sizes else 0
    allocations = (
        *(attempt.allocation() for attempt in ledger.attempts),
        *(rogue.allocation() for rogue in ledger.rogues if rogue.charged),
        *(pool.allocation() for pool in ledger.warm_pools),
        *ledger.unreadable_allocations(now_ms),
    )
    unused = {team: _unused_guarantee(team, allocations, policy) for team in ledger.queue_teams}
    pauses = {pool: pause.pause() for pool in sizes if (pause := ledger.pause_of(pool)) is not None}
    # A job that demands a paused pool cannot start, in whichever other queues it is.
    largest = {
        pool: max(size, *(later for _, later in calendars[pool].sizes)) if pool in calendars else size
        for pool, size in sizes.items()
    }
    startable = {pool: 0 if pool in pauses else size for pool, size in largest.items()}
    for pool, size in sizes.items():
        reachable = _Reachable(pool, size, allocations, now_ms, policy)
        # Jobs further back may start in warm pools.
        held = sum(each.demand.get(pool, 0) for each in allocations if not each.warm)
        passed = held < size and (passing is None or pool in passing)
        behind = share if passed else policy.reserved_heads - 1
        for team in ledger.queue_teams:
            queue = QueueScan(table, pool, team, now_ms, policy, passed_over, note_unreadable)
            limit = policy.team(team).limit
            most = {each: min(count, limit.get(each, count)) for each, count in startable.items()}
            bounds = QueueBounds(pool=pool, team=team, now_ms=now_ms, most=most, unused=unused[team])
            reach = min(size, startable[pool])
            found, rest = _candidates(queue, bounds, reach, reachable, share=behind, heads=heads)
            if rest is not None:
                cut.append(rest)
                behind_them = queue.entries(_behind(table, ledger.unread_of(pool, team)))
                found += filter(rest.may_start, (entry.waiting() for entry in behind_them))
            waiting |= {job.name: job for job in found}
    for record in also:
        if record.is_queued and record.job_name not in waiting:
            waiting[record.job_name] = record.waiting()
    # A reservation stays with its job wherever that is in the queue, so the snapshot needs the job.
    owed = {each.job_name for each in ledger.reservations} | {each.freed_for for each in allocations if each.freed_for}
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
    snapshot = Snapshot(
        now_ms=now_ms,
        pools=sizes,
        allocations=allocations,
        reservations=tuple(reservation.reservation() for reservation in ledger.reservations),
        waiting=tuple(sorted(_held_back(afresh(waiting.values(), ledger, sizes), ledger.pools, now_ms), key=rank)),
        pauses=pauses,
        policy=policy,
        calendars={pool: calendar.calendar(now_ms) for pool, calendar in calendars.items() if pool in sizes},
        spot_scores=dict(ledger.spot_scores.fresh(now_ms)) if ledger.spot_scores is not None else {},
    )
    return QueuesRead(snapshot=snapshot, cut=tuple(cut))


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


_LAST_TURN_MS = 1 << 62


class _Reachable:
    """Most instances of a pool that waiting jobs could get: all but those of attempts that they cannot preempt."""

    def __init__(self, pool: str, size: int, allocations: Iterable[Allocation], now_ms: int, policy: Policy) -> None:
        self._pool = pool
        self._size = size
        self._policy = policy
        #: Allocated instances by the priority that protects them.
        self._held: Counter[int] = Counter()
        self._known: dict[tuple[int, str], int] = {}
        equals: defaultdict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        #: By priority, and by team where there are teams: the largest measure of attempts that may give way to equals.
        self._largest: Counter[tuple[int, str]] = Counter()
        for each in allocations:
            if not each.stopping and pool in each.demand:
                protection = running_priority(each, policy)
                self._held[protection] += each.demand[pool]
                if may_give_way(each, now_ms, policy):
                    peers = (protection, self._peers(each.terms.team))
                    self._largest[peers] = max(self._largest[peers], measure(each, now_ms, policy))
                    equals[peers].append((current_turn_ms(each, now_ms), each.demand[pool]))
        #: Of the attempts that may give way to equals, by priority, and by team where there are teams: their turns, the
        #: last one first and negated, and what those up to each hold together.
        self._equals = {
            peers: ([-turn_ms for turn_ms, _ in last_first], [*accumulate(count for _, count in last_first)])
            for peers, them in equals.items()
            if (last_first := sorted(them, reverse=True))
        }

    def of(self, priority: int, team: str, turn_ms: int = 0) -> int:
        """How many instances jobs of this given priority from a turn on, or of lower priorities, could get together.

        This includes reserved instances and those being freed, as a job may leave the queue or be overtaken. It also
        includes everything that the team is guaranteed, and attempts that may give way to equals with this turn.
        """
        known = self._known.get((priority, team))
        if known is None:
            known = self._known[priority, team] = self._count(priority, team)
        if not self._equals or not self._policy.preemption:
            return known
        mine = capped_priority(priority, team, self._policy)
        turns, held = self._equals.get((mine, self._peers(team)), ((), ()))
        later = bisect_left(turns, -turn_ms)
        return known + (held[later - 1] if later else 0)

    def may_fill(self, job: WaitingJob) -> bool:
        """Whether a job could get some of these instances. If not, it leaves them to jobs behind it.

        A job of which too much is left, or whose level is too high, preempts no equals, and neither does one that
        entered in another order.
        """
        if not self._equals or self.of(job.terms.priority, job.terms.team, _LAST_TURN_MS) > 0:
            return True
        mine = capped_priority(job.terms.priority, job.terms.team, self._policy)
        largest = self._largest[mine, self._peers(job.terms.team)]
        return takes_part(job, self._policy) and least_measure(job, self._policy) <= largest

    def _peers(self, team: str) -> str:
        """What jobs that preempt each other as equals have in common beside their priority."""
        return team if self._policy.teams else ""

    def _count(self, priority: int, team: str) -> int:
        if not self._policy.preemption:
            return self._size - self._held.total()
        mine = capped_priority(priority, team, self._policy)
        kept = sum(count for held, count in self._held.items() if held >= mine)
        return min(self._size, self._size - kept + self._policy.team(team).guaranteed.get(self._pool, 0))


def _unused_guarantee(team: str, allocations: Iterable[Allocation], policy: Policy) -> dict[str, int]:
    """What a team is guaranteed and does not hold, per pool; attempts that are stopping do not count as held."""
    held = Counter[str]()
    for each in allocations:
        if each.terms.team == team and not each.stopping and not each.warm:
            held.update(each.demand)
    return {pool: count - held[pool] for pool, count in policy.team(team).guaranteed.items()}


def _candidates(
    queue: QueueScan,
    bounds: QueueBounds,
    reach: int,
    reachable: _Reachable,
    *,
    share: int,
    heads: int,
) -> tuple[list[WaitingJob], CutQueue | None]:
    """The first jobs of a queue: all that could get instances, the next one, and ``share`` more; at least ``heads``.

    Some jobs cannot start: those that demand more than the size of a pool or than the limit of their team (since that
    was reduced), or a paused pool. They must not hide the jobs behind them. Jobs that would borrow must not hide those
    that fit into the part of the guarantee that the team does not hold: of these the queue gives as many as could get
    all of it, and one more.

    Args:
        bounds: what its jobs may demand.
        reach: the instances of the queue's pool that jobs could get now.
        reachable: the part of them that jobs of a priority could get.
        share: jobs to read behind those that could get instances.
        heads: the fewest jobs to read.

    Returns:
        The jobs, and the queue if these came to the limit of what is read before they were all of that.
    """
    pool, team, unused = bounds.pool, bounds.team, bounds.unused
    found: list[WaitingJob] = []
    fitting = filled = beyond = covered = 0
    left = dict(unused)
    # One query is usually enough, and a queue of large jobs is not read to its end.
    page = max(heads, share + min(reach + 1, PAGE), (reachable.of(0, team) + 1 + share) // 4)
    queue.set_page_size(page)
    if not reach:
        # No job can start, so only the requested number is read.
        return list(islice(queue.jobs(), heads)), None
    enough = False
    for job in queue.jobs():
        demand = bounds.here(job).demand
        fits, is_covered = bounds.fits(job), bounds.covers(job)
        if is_covered:
            covered += demand[pool]
            if all(count <= left[each] for each, count in demand.items()):
                left = {each: count - demand.get(each, 0) for each, count in left.items()}
        if is_covered or not enough:
            found.append(job)
        if fits:
            # With ageing, a job that could get fewer instances may come first: after it, others pass only within the
            # share.
            reach = min(reach, reachable.of(job.terms.priority, team, job.terms.turn_ms))
            beyond += filled > reach
            fitting += 1
            # A job that preempts nobody leaves what it lacks to jobs behind it. One with alternatives may start
            # elsewhere.
            fills = job.preempts and not job.alternatives and reachable.may_fill(job)
            filled += demand[pool] if fills else 0
            if filled > reach and beyond >= share and fitting >= heads:
                if unused.get(pool, 0) <= 0 or (left[pool] <= 0 and covered > unused[pool]):
                    return found, None
                if not enough:
                    enough = True
                    queue.set_page_size(WIDE_PAGE)
    return found, CutQueue(bounds=bounds, after=queue.last, only_covered=enough) if queue.is_cut else None
