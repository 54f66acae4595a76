"""Reads what a decision depends on: the ledger of all pools, and the heads of the lines."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from headway.lifecycle import AttemptState
from headway.model import Allocation, Snapshot, WaitingJob
from headway.policy import DEFAULT_POLICY, Policy
from headway.scheduling.ordering import (
    MAX_PRIORITY,
    effective_priority,
    given_priority,
    held_priority,
    priority_prefix,
    rank,
)
from headway_service.ports.table import Table
from headway_service.store.records.attempt import AttemptRecord
from headway_service.store.records.base import LEDGER
from headway_service.store.records.job import JobRecord
from headway_service.store.records.ledger import PauseRecord, PoolRecord, ReservationRecord, TeamRecord
from headway_service.store.records.queue_entry import LineEntry
from headway_service.store.records.unmanaged_job import RogueRecord

MAX_LEDGER_ITEMS = 50_000
"""Attempts, reservations, rogue jobs, pools and teams that one read of the ledger takes in: more than ever are."""

MAX_LINE_READS = 1000
"""Entries of one line that a decision looks at, at most; jobs behind them wait for a later one."""

_PAGE = 8
"""Entries that one query of a line reads at least."""

_WIDE_PAGE = 100
"""Entries that one query reads while only jobs are looked for that their team's guarantee covers."""

_AGED_PAGE = 10
"""Entries that one query reads while ageing is on. Each priority costs at least one query then."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ledger:
    """All that holds capacity, as read at one moment."""

    pools: tuple[PoolRecord, ...]
    attempts: tuple[AttemptRecord, ...]
    reservations: tuple[ReservationRecord, ...]
    teams: tuple[TeamRecord, ...] = ()
    rogues: tuple[RogueRecord, ...] = ()
    pauses: tuple[PauseRecord, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The teams that have lines, beginning with that of the jobs without a team."""
        return ("", *(team.team for team in self.teams))

    def pause_of(self, pool: str) -> PauseRecord | None:
        """Why nothing starts in a pool: its own pause, or else that of everything. None if it is not paused."""
        by_pool = {each.pool: each for each in self.pauses}
        return by_pool.get(pool) or by_pool.get(PauseRecord.EVERYTHING)

    @property
    def restored(self) -> PauseRecord | None:
        """The pause of everything since the table was restored, until the patrol has gone round."""
        return next((each for each in self.pauses if each.restored_ms is not None), None)

    def drained(self, attempt: AttemptRecord) -> PauseRecord | None:
        """The pause of one of its pools for which an attempt has yet to be stopped; None if it may go on.

        An attempt that is launching is settled first.
        """
        if attempt.attempt_state is not AttemptState.LIVE:
            return None
        return next((each for each in self.pauses if each.stops and each.pool in attempt.demand), None)

    def reservation_of(self, job: str) -> ReservationRecord | None:
        """What is reserved for a job."""
        return next((each for each in self.reservations if each.job_name == job), None)

    def without_reservation(self, job: str) -> Ledger:
        """The ledger after what is reserved for a job was given back."""
        return replace(self, reservations=tuple(each for each in self.reservations if each.job_name != job))

    def attempt_of(self, job: str) -> AttemptRecord | None:
        """The attempt of a job."""
        return next((each for each in self.attempts if each.job_name == job), None)


def read_ledger(table: Table) -> Ledger:
    """The ledger to decide by, strongly consistent.

    The teams are read before the attempts: a start in between is then seen as a conflict by the next one of its team.
    """
    teams = _teams(table)
    return replace(look_at_ledger(table), teams=teams)


def look_at_ledger(table: Table) -> Ledger:
    """The ledger to tell people of, strongly consistent. By it nobody may be started."""
    teams: list[TeamRecord] = []
    pools: list[PoolRecord] = []
    attempts: list[AttemptRecord] = []
    reservations: list[ReservationRecord] = []
    rogues: list[RogueRecord] = []
    pauses: list[PauseRecord] = []
    for item in table.query(LEDGER, limit=MAX_LEDGER_ITEMS):
        kind = item["sk"].partition("#")[0]
        if kind == "pool":
            pools.append(PoolRecord.parse(item))
        elif kind == "attempt":
            attempts.append(AttemptRecord.parse(item))
        elif kind == "reservation":
            reservations.append(ReservationRecord.parse(item))
        elif kind == "rogue":
            rogues.append(RogueRecord.parse(item))
        elif kind == "pause":
            pauses.append(PauseRecord.parse(item))
        elif kind == "team":
            teams.append(TeamRecord.parse(item))
    return Ledger(
        pools=tuple(pools),
        attempts=tuple(attempts),
        reservations=tuple(reservations),
        teams=tuple(teams),
        rogues=tuple(rogues),
        pauses=tuple(pauses),
    )


def read_lines(table: Table) -> tuple[str, ...]:
    """The teams that have lines, beginning with that of the jobs without a team."""
    return ("", *(team.team for team in _teams(table)))


def _teams(table: Table) -> tuple[TeamRecord, ...]:
    return tuple(TeamRecord.parse(item) for item in table.query(LEDGER, prefix="team#", limit=MAX_LEDGER_ITEMS))


def read_snapshot(
    table: Table,
    ledger: Ledger,
    now_ms: int,
    *,
    policy: Policy = DEFAULT_POLICY,
    also: Iterable[JobRecord] = (),
    heads: int = 0,
    passing: Collection[str] | None = None,
) -> Snapshot:
    """The snapshot that a decision is made from.

    Of each line, that is of each team in each pool, it takes in heads until together they demand more than jobs of
    their priority could get: so many cannot all start or preempt, so no decision without backfill reaches further.
    For backfill each line of a pool that is not full adds its share of the window, which all lines have together:
    in a full pool nobody can pass those ahead.
    A team that holds less of a pool than it is guaranteed gets the rest for jobs that the guarantee covers, and these
    pass larger ones of their own team. So in such a line the covered jobs are looked for behind the heads too.
    So what is read depends on pools, teams and the window, not on how many jobs wait.

    Args:
        table: the table.
        ledger: what :func:`read_ledger` gave, or :func:`look_at_ledger` where nothing is done by the decision.
        now_ms: the moment of the decision.
        policy: the rules to decide under.
        also: jobs to include if they stand in line, however far back.
        heads: how many heads of each line to read at least.
        passing: pools in which jobs may pass those ahead of them, so that the window is read; None for all that are
            not full.
    """
    sizes = {pool.pool: pool.size for pool in ledger.pools}
    waiting: dict[str, WaitingJob] = {}
    share = -(-policy.backfill_window // (len(sizes) * len(ledger.lines))) if policy.backfill and sizes else 0
    allocations = (
        *(attempt.allocation() for attempt in ledger.attempts),
        *(rogue.allocation() for rogue in ledger.rogues if rogue.charged),
    )
    rooms = {team: _room(team, allocations, policy) for team in ledger.lines}
    pauses = {pool: pause.pause() for pool in sizes if (pause := ledger.pause_of(pool)) is not None}
    # Nobody who demands a pool that is paused can start, wherever else that job stands in line.
    startable = {pool: 0 if pool in pauses else size for pool, size in sizes.items()}
    for pool, size in sizes.items():
        within_reach = _WithinReach(pool, size, allocations, policy)
        held = sum(each.demand.get(pool, 0) for each in allocations)
        passed = held < size and (passing is None or pool in passing)
        behind = share if passed else policy.reserved_heads - 1
        for team in ledger.lines:
            line = _Line(table, pool, team, now_ms, policy)
            for job in _heads(line, startable, within_reach, rooms[team], share=behind, heads=heads):
                waiting[job.name] = job
    for record in also:
        if record.in_line and record.job_name not in waiting:
            waiting[record.job_name] = record.waiting()
    # What is reserved stays with its job wherever that stands, so the job has to be seen.
    owed = {each.job_name for each in ledger.reservations} | {
        each.freed_for for each in ledger.attempts if each.freed_for
    }
    for name in sorted(owed - waiting.keys()):
        item = table.get(JobRecord.key(name))
        if item is not None and (owner := JobRecord.parse(item)).in_line:
            waiting[name] = owner.waiting()
    # Ledger and lines are read one after the other: who moved from one to the other in between shows in both. What
    # holds instances counts; as a waiting job it is seen by the next decision.
    for attempt in ledger.attempts:
        waiting.pop(attempt.job_name, None)
    return Snapshot(
        now_ms=now_ms,
        pools=sizes,
        allocations=allocations,
        reservations=tuple(reservation.reservation() for reservation in ledger.reservations),
        waiting=tuple(sorted(_held_back(waiting.values(), ledger.pools, now_ms), key=rank)),
        pauses=pauses,
        policy=policy,
    )


def _held_back(waiting: Iterable[WaitingJob], pools: Iterable[PoolRecord], now_ms: int) -> Iterator[WaitingJob]:
    """The jobs, those that demand anything in a pool that backs off not before that is over."""
    backing_off = {pool.pool: pool for pool in pools if pool.backs_off_until_ms > now_ms}
    if not backing_off:
        yield from waiting
        return
    for job in waiting:
        last = max(
            (backing_off[pool] for pool in job.demand if pool in backing_off),
            key=lambda pool: pool.backs_off_until_ms,
            default=None,
        )
        if last is None or last.backs_off_until_ms <= job.not_before_ms:
            yield job
        else:
            yield replace(job, not_before_ms=last.backs_off_until_ms, held_by=last.back_off_cause)


class _WithinReach:
    """How many instances of a pool waiting jobs could get at most: what no attempt holds that they do not outrank."""

    def __init__(self, pool: str, size: int, allocations: Iterable[Allocation], policy: Policy) -> None:
        self._pool = pool
        self._size = size
        self._policy = policy
        #: Instances that run, by the priority that protects them.
        self._held: Counter[int] = Counter()
        self._known: dict[tuple[int, str], int] = {}
        for each in allocations:
            if not each.stopping and pool in each.demand:
                self._held[held_priority(each, policy)] += each.demand[pool]

    def of(self, priority: int, team: str) -> int:
        """What jobs of this given priority, or of lower ones, could get together.

        What is reserved or being freed counts, for somebody may leave or be overtaken. So does all that the team is
        guaranteed.
        """
        known = self._known.get((priority, team))
        if known is None:
            known = self._known[priority, team] = self._work_out(priority, team)
        return known

    def _work_out(self, priority: int, team: str) -> int:
        if not self._policy.preemption:
            return self._size - self._held.total()
        mine = given_priority(priority, team, self._policy)
        kept = sum(count for held, count in self._held.items() if held >= mine)
        return min(self._size, self._size - kept + self._policy.team(team).guaranteed.get(self._pool, 0))


def _room(team: str, allocations: Iterable[Allocation], policy: Policy) -> dict[str, int]:
    """What a team is guaranteed and does not hold, per pool; what is stopping counts as given back."""
    held = Counter[str]()
    for each in allocations:
        if each.team == team and not each.stopping:
            held.update(each.demand)
    return {pool: count - held[pool] for pool, count in policy.team(team).guaranteed.items()}


def _heads(
    line: _Line,
    sizes: Mapping[str, int],
    within_reach: _WithinReach,
    room: Mapping[str, int],
    *,
    share: int,
    heads: int,
) -> list[WaitingJob]:
    """The first jobs of a line: all that could get instances, the next, and ``share`` more; at least ``heads``.

    Jobs that demand more than a pool holds or than their team may have (since that was made smaller), or a pool that
    is paused, stand in the line without a chance; they must not hide the jobs behind them. Nor do jobs that would
    borrow hide those that fit into ``room``, what the team is guaranteed and does not hold: of these the line gives as
    many as could get all of it, and one more.
    """
    pool, team = line.pool, line.team
    limit = line.policy.team(team).limit
    most = {each: min(size, limit.get(each, size)) for each, size in sizes.items()}
    found: list[WaitingJob] = []
    fitting = filled = beyond = covered = 0
    reach = sizes[pool]
    left = dict(room)
    # Mostly one query is enough, and a line of large jobs is not read to its end.
    page = max(heads, share + min(reach + 1, _PAGE), (within_reach.of(0, team) + 1 + share) // 4)
    line.read_in_pages_of(page)
    if not reach:
        # Nobody can start, so no more is read than is to be told.
        return list(islice(line.jobs(), heads))
    enough = False
    for job in line.jobs():
        fits = all(count <= most.get(each, 0) for each, count in job.demand.items())
        is_covered = fits and all(count <= room.get(each, 0) for each, count in job.demand.items())
        if is_covered:
            covered += job.demand[pool]
            if all(count <= left[each] for each, count in job.demand.items()):
                left = {each: count - job.demand.get(each, 0) for each, count in left.items()}
        if is_covered or not enough:
            found.append(job)
        if fits:
            # With ageing a job that reaches less far may come first: from it on others pass only within the share.
            reach = min(reach, within_reach.of(job.priority, team))
            beyond += filled > reach
            fitting += 1
            filled += job.demand[pool]
            if filled > reach and beyond >= share and fitting >= heads:
                if room.get(pool, 0) <= 0 or (left[pool] <= 0 and covered > room[pool]):
                    break
                if not enough:
                    enough = True
                    line.read_in_pages_of(_WIDE_PAGE)
    return found


class _Line:
    """One line in the order of effective priority, read only as far as it is gone through.

    A line is kept in the order of the priorities that were given. Ageing, or a highest priority that the team was
    given since, changes that order between jobs of different priorities but not among those of one, so the line is
    merged from its priorities. The next lower priority is looked for only when a job of it could be the next.
    """

    def __init__(self, table: Table, pool: str, team: str, now_ms: int, policy: Policy) -> None:
        self.pool = pool
        self.team = team
        self.policy = policy
        self._table = table
        self._partition = LineEntry.partition(pool, team)
        self._now_ms = now_ms
        self._cap = policy.ageing.cap if policy.ageing is not None else 0
        self._page = _PAGE
        self._left = MAX_LINE_READS
        #: What was read and not yet gone through, by given priority, and the first of each priority by rank.
        self._read: dict[int, deque[WaitingJob]] = {}
        self._first: list[tuple[int, int, str, int]] = []
        #: How far the priorities were read that may have more jobs.
        self._cut: dict[int, str] = {}
        #: Where the next lower priority is looked for, and the highest that it can be; None if there is none.
        self._after = ""
        self._lower: int | None = MAX_PRIORITY

    def read_in_pages_of(self, entries: int) -> None:
        """How many entries each further query reads."""
        self._page = min(entries, _AGED_PAGE) if self._cap and entries != _WIDE_PAGE else entries

    def jobs(self) -> Iterator[WaitingJob]:
        """The jobs, the next one first."""
        if not self._cap and self.policy.team(self.team).max_priority is None:
            yield from self._as_kept()
            return
        while True:
            for priority in [each for each in self._cut if not self._read[each]]:
                self._read_on(priority)
            while self._lower is not None and self._may_be_next(self._lower):
                self._look_lower()
            if not self._first:
                return
            *_, priority = heapq.heappop(self._first)
            job = self._read[priority].popleft()
            self._rank_first(priority)
            yield job

    def _as_kept(self) -> Iterator[WaitingJob]:
        """Where every priority counts as it was given, the order in which the line is kept is the order of rank."""
        after, ended = "", False
        while not ended:
            entries, ended = self._query(after=after)
            for entry in entries:
                yield entry.waiting()
            if entries:
                after = entries[-1].key().sk

    def _may_be_next(self, priority: int) -> bool:
        """Whether a job of this given priority, or a lower one, could rank before all that was read."""
        highest = given_priority(priority, self.team, self.policy) + self._cap
        return not self._first or -self._first[0][0] <= highest

    def _look_lower(self) -> None:
        """Read on behind the priorities known so far."""
        entries, ended = self._query(after=self._after)
        for entry in entries:
            self._add(entry)
        if ended:
            self._lower = None
            return
        last = entries[-1]
        # The page may have cut this priority off; the rest of it is read when it is needed.
        self._cut[last.priority] = last.key().sk
        self._after = behind_priority(last.priority)
        self._lower = last.priority - 1 if last.priority else None

    def _read_on(self, priority: int) -> None:
        """Read more jobs of one priority."""
        entries, ended = self._query(prefix=priority_prefix(priority), after=self._cut[priority])
        for entry in entries:
            self._add(entry)
        if ended:
            del self._cut[priority]
        else:
            self._cut[priority] = entries[-1].key().sk

    def _add(self, entry: LineEntry) -> None:
        jobs = self._read.setdefault(entry.priority, deque())
        jobs.append(entry.waiting())
        if len(jobs) == 1:
            self._rank_first(entry.priority)

    def _rank_first(self, priority: int) -> None:
        if jobs := self._read[priority]:
            job = jobs[0]
            effective = effective_priority(job, self._now_ms, self.policy)
            heapq.heappush(self._first, (-effective, job.turn_ms, job.name, priority))

    def _query(self, *, prefix: str = "", after: str) -> tuple[list[LineEntry], bool]:
        """The next entries, and whether there are no more of them, or no more may be read."""
        limit = min(self._page, self._left)
        if not limit:
            return [], True
        items = self._table.query(self._partition, prefix=prefix, after=after, limit=limit)
        self._left -= len(items)
        return [LineEntry.parse(item) for item in items], len(items) < limit


def behind_priority(priority: int) -> str:
    """A sort key behind those of all jobs of one given priority, and before those of the next lower one."""
    return f"{priority_prefix(priority)}~"
