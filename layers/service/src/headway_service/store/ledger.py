"""Everything that holds capacity, as read at one moment."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from headway.budgets.budget import Budget, BudgetUse
from headway.lifecycle import AttemptState
from headway.model import Allocation
from headway.past_use.averages import PastUse
from headway.vectors import positive, total
from headway_service.errors import UnreadableRecord
from headway_service.ports.table import Item, Table
from headway_service.store.records.array import OpenArrayRecord, UnlaunchableMemberRecord
from headway_service.store.records.base import LEDGER, Record
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.budgets import BudgetUseRecord
from headway_service.store.records.capacity.idle import IdleRecord
from headway_service.store.records.capacity.ledger import (
    CalendarRecord,
    PauseRecord,
    PoolRecord,
    ReservationRecord,
    TeamRecord,
)
from headway_service.store.records.capacity.past_use import PastUseRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.store.records.capacity.spot_scores import SpotScoresRecord
from headway_service.store.records.capacity.start_count import StartCountRecord
from headway_service.store.records.capacity.training_plan import PlanRecord
from headway_service.store.records.capacity.unread_jobs import UnreadJobsRecord
from headway_service.store.records.capacity.used import UsedRecord
from headway_service.store.records.capacity.warm_pool import WarmPoolRecord
from headway_service.store.records.dependency import EndedJobRecord, RecheckRecord
from headway_service.store.records.turn import TurnRecord
from headway_service.store.unreadable import UNREADABLE_PAUSE, UnreadableItem, unreadable_allocations

_R = TypeVar("_R", bound=Record)

MAX_LEDGER_ITEMS = 50_000
"""Most items that one read of the ledger returns: more than there ever are."""


_KINDS: Mapping[str, tuple[str, type[Record]]] = {
    "array": ("arrays", OpenArrayRecord),
    "attempt": ("attempts", AttemptRecord),
    "budgets": ("budget_uses", BudgetUseRecord),
    "calendar": ("calendars", CalendarRecord),
    "starts": ("start_counts", StartCountRecord),
    "ended": ("ended", EndedJobRecord),
    "idle": ("idle", IdleRecord),
    "past": ("past_uses", PastUseRecord),
    "pause": ("pauses", PauseRecord),
    "plan": ("plans", PlanRecord),
    "pool": ("pools", PoolRecord),
    "recheck": ("rechecks", RecheckRecord),
    "reservation": ("reservations", ReservationRecord),
    "rogue": ("rogues", RogueJobRecord),
    "scores": ("all_spot_scores", SpotScoresRecord),
    "team": ("teams", TeamRecord),
    "turn": ("turns", TurnRecord),
    "unlaunchable": ("unlaunchable", UnlaunchableMemberRecord),
    "unread": ("unread", UnreadJobsRecord),
    "used": ("used", UsedRecord),
    "warm": ("warm_pools", WarmPoolRecord),
}
"""The kinds of items of the ledger, by the begin of their keys: the member of :class:`Ledger`, and the record."""


_PAUSING = frozenset({"calendar", "pause", "plan"})
"""The kinds of items without which it is not known whether a job may start in a pool."""


_BEFORE_POOLS = PoolRecord.key("").sk
"""The sort key before those of pools. Those of teams are behind them, with few others in between."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entries:
    """What the ledger has of a job, and a warm pool, each None if it has none."""

    attempt: AttemptRecord | None
    reservation: ReservationRecord | None
    warm_pool: WarmPoolRecord | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ledger:
    """All that holds capacity, as read at one moment."""

    pools: tuple[PoolRecord, ...]
    attempts: tuple[AttemptRecord, ...]
    reservations: tuple[ReservationRecord, ...]
    teams: tuple[TeamRecord, ...] = ()
    rogues: tuple[RogueJobRecord, ...] = ()
    pauses: tuple[PauseRecord, ...] = ()
    calendars: tuple[CalendarRecord, ...] = ()
    #: How many jobs were started in pools whose instances are booked, or limited by owner.
    start_counts: tuple[StartCountRecord, ...] = ()
    plans: tuple[PlanRecord, ...] = ()
    warm_pools: tuple[WarmPoolRecord, ...] = ()
    #: Jobs that have ended, and whose dependants, or array, do not know.
    ended: tuple[EndedJobRecord, ...] = ()
    #: Jobs that are to be compared with equal ones again.
    rechecks: tuple[RecheckRecord, ...] = ()
    #: Arrays that have members left.
    arrays: tuple[OpenArrayRecord, ...] = ()
    #: Members of arrays that SageMaker has not launched.
    unlaunchable: tuple[UnlaunchableMemberRecord, ...] = ()
    #: Instances that are idle while jobs wait, as far as that is not counted.
    idle: tuple[IdleRecord, ...] = ()
    #: One item at most.
    all_spot_scores: tuple[SpotScoresRecord, ...] = ()
    #: One item at most: what teams used until a moment, where past use counts.
    past_uses: tuple[PastUseRecord, ...] = ()
    #: One item at most: what was used of budgets.
    budget_uses: tuple[BudgetUseRecord, ...] = ()
    #: Attempts that have ended and are not in these two yet.
    used: tuple[UsedRecord, ...] = ()
    #: What is known of jobs behind the part of their queues that each decision reads.
    unread: tuple[UnreadJobsRecord, ...] = ()
    #: Where work has stopped that earlier ticks had not enough time for.
    turns: tuple[TurnRecord, ...] = ()
    #: Items that this code cannot read. They are left alone, and what they hold stays held.
    unreadable: tuple[UnreadableItem, ...] = ()

    @property
    def spot_scores(self) -> SpotScoresRecord | None:
        """The spot placement scores that EC2 gave last; None if it was not asked."""
        return next(iter(self.all_spot_scores), None)

    @property
    def past_use(self) -> PastUseRecord | None:
        """What teams used until a moment; None if past use does not count, or not yet."""
        return next(iter(self.past_uses), None)

    def past_use_until(self, now_ms: int) -> dict[str, PastUse]:
        """What each team used until a moment, ms, with what its attempts hold; empty if past use does not count."""
        if self.past_use is None:
            return {}
        return self.past_use.until(now_ms, [each.span() for each in self._used_until(now_ms)])

    @property
    def budget_use(self) -> BudgetUseRecord:
        """What was used of budgets by attempts that were added to it."""
        return next(iter(self.budget_uses), BudgetUseRecord())

    def budget_use_until(self, now_ms: int, budgets: Iterable[Budget]) -> dict[str, BudgetUse]:
        """What was used of each budget until a moment, ms, with what attempts hold."""
        held = [each.held() for each in self._used_until(now_ms)] if budgets else []
        return {each.name: self.budget_use.use(each, held, now_ms) for each in budgets}

    def _used_until(self, now_ms: int) -> list[UsedRecord]:
        """What is in no average and no budget yet: of ended attempts, and of those that run."""
        return [*self.used, *self.running_until(now_ms)]

    def running_until(self, now_ms: int) -> list[UsedRecord]:
        """What attempts that run have used until a moment, ms.

        A launch that SageMaker has provided no instances for has used nothing. An attempt that ended while the ledger
        was read may be in it twice: as one that has ended, it counts.
        """
        ended = {each.attempt_name for each in self.used}
        running = [each for each in self.attempts if each.has_had_instances and each.attempt_name not in ended]
        return [each.used(now_ms) for each in running]

    @property
    def queue_teams(self) -> tuple[str, ...]:
        """The teams that have queues, beginning with the empty name for jobs without a team."""
        return ("", *(team.team for team in self.teams))

    def sizes_at(self, now_ms: int) -> dict[str, int]:
        """The size of each pool. One that is due and not applied yet counts if it is the smaller one."""
        calendars = {each.pool: each for each in self.calendars}
        return {
            pool.pool: min(pool.size, calendars[pool.pool].size_at(now_ms)) if pool.pool in calendars else pool.size
            for pool in self.pools
        }

    def calendar_of(self, pool: str) -> CalendarRecord | None:
        """The calendar of a pool; None if it has neither a schedule nor a plan."""
        return next((each for each in self.calendars if each.pool == pool), None)

    def plan_of(self, pool: str) -> PlanRecord | None:
        """The training plan of a pool, as SageMaker described it last; None if it has not."""
        return next((each for each in self.plans if each.pool == pool), None)

    def names_of_unreadable(self, kind: str) -> frozenset[str]:
        """What unreadable items of a kind are about: attempts, jobs or pools."""
        return frozenset(each.name for each in self.unreadable if each.kind == kind)

    def unreadable_allocations(self, now_ms: int) -> tuple[Allocation, ...]:
        """What unreadable items hold, as the scheduler sees it.

        Args:
            now_ms: the training time, ms.
        """
        if not any(each.holds for each in self.unreadable):
            return ()
        held = total(
            (
                *(each.demand for each in self.attempts),
                *(each.demand for each in self.reservations),
                *(each.charged for each in self.rogues),
                *(each.demand for each in self.warm_pools),
            )
        )
        unexplained = positive({each.pool: each.size - each.free - held.get(each.pool, 0) for each in self.pools})
        return tuple(unreadable_allocations(self.unreadable, unexplained, now_ms))

    def pause_of(self, pool: str) -> PauseRecord | None:
        """The pause of a pool: its own, or else the pause of all pools. None if it is not paused.

        A pool with a pause that cannot be read is paused. So is one whose later sizes are not known for that reason.
        """
        by_pool = {each.pool: each for each in self.pauses}
        return by_pool.get(pool) or by_pool.get(PauseRecord.EVERYTHING) or self._unreadable_pause(pool)

    def _unreadable_pause(self, pool: str) -> PauseRecord | None:
        about = {each.name for each in self.unreadable if each.kind in _PAUSING}
        if about.isdisjoint({pool, PauseRecord.EVERYTHING}):
            return None
        return PauseRecord(pool=pool, by="the queue", reason=UNREADABLE_PAUSE, since_ms=0)

    def pauses_counted(self, pools: Collection[str], machine_ms: int) -> dict[str, int]:
        """How often pools were paused, for those in which that is a condition of starts."""
        counts = {pool.pool: pool.pauses_at(machine_ms) for pool in self.pools if pool.pool in pools}
        return {pool: count for pool, count in counts.items() if count is not None}

    @property
    def restored(self) -> PauseRecord | None:
        """The pause of all pools since the table was restored, until all training jobs have been scanned."""
        return next((each for each in self.pauses if each.restored_ms is not None), None)

    def drained(self, attempt: AttemptRecord) -> PauseRecord | None:
        """The draining pause of one of its pools, for which an attempt has to be stopped; None if it may continue.

        None also for an attempt that is launching: its launch is settled first.
        """
        if attempt.attempt_state is not AttemptState.LIVE:
            return None
        return next((each for each in self.pauses if each.stops and each.pool in attempt.demand), None)

    def unread_of(self, pool: str, team: str) -> UnreadJobsRecord | None:
        """What is known of the jobs behind the part of a queue that each decision reads; None for nothing.

        Args:
            pool: the pool of the queue.
            team: its team; empty for jobs without a team.
        """
        return next((each for each in self.unread if (each.pool, each.team) == (pool, team)), None)

    def calendars_of(self, pools: Collection[str]) -> list[CalendarRecord]:
        """The calendars of those pools that have one."""
        return [each for each in self.calendars if each.pool in pools]

    def entries_of(self, job: str, *, warm: str = "") -> Entries:
        """What the ledger has of a job.

        Args:
            warm: an attempt whose warm pool is looked for, of whatever job; empty for none.
        """
        return Entries(
            attempt=self.attempt_of(job), reservation=self.reservation_of(job), warm_pool=self.warm_pool_of(warm)
        )

    def reservation_of(self, job: str) -> ReservationRecord | None:
        """The reservation of a job."""
        return next((each for each in self.reservations if each.job_name == job), None)

    def after_start(self, attempt: AttemptRecord) -> Ledger:
        """The ledger for further starts after one that was written: it is counted for its team and its pools.

        Args:
            attempt: what was started.
        """
        teams = (
            each.model_copy(update={"starts": each.starts + 1}) if each.team == attempt.team else each
            for each in self.teams
        )
        calendars = (
            each.model_copy(update={"version": each.version + 1}) if each.pool in attempt.demand else each
            for each in self.calendars
        )
        counts = {each.pool: each for each in self.start_counts}
        for pool in attempt.demand:
            known = self.start_count_of(pool)
            counts[pool] = known.model_copy(update={"starts": known.starts + 1})
        return replace(self, teams=tuple(teams), calendars=tuple(calendars), start_counts=tuple(counts.values()))

    def start_count_of(self, pool: str) -> StartCountRecord:
        """How many jobs were started in a pool, as far as that is counted."""
        return next((each for each in self.start_counts if each.pool == pool), StartCountRecord(pool=pool))

    def without_reservation(self, job: str) -> Ledger:
        """The ledger without the reservation of a job."""
        return replace(self, reservations=tuple(each for each in self.reservations if each.job_name != job))

    def in_training_time(self, now_ms: int, machine_ms: int) -> Ledger:
        """The ledger with the ends of back-offs, and the times of spot placement scores, in training time.

        Decisions are made by it, and times are shown in it.

        Args:
            now_ms: the training time, ms.
            machine_ms: the machine time at the same moment, ms.
        """
        ahead_ms = now_ms - machine_ms
        if not ahead_ms:
            return self
        pools = (
            pool.model_copy(
                update={
                    "backoff_until_ms": pool.backoff_until_ms + ahead_ms,
                    "answered_ms": pool.answered_ms + ahead_ms,
                }
            )
            for pool in self.pools
        )
        scores = tuple(each.later(ahead_ms) for each in self.all_spot_scores)
        return replace(self, pools=tuple(pools), all_spot_scores=scores)

    def warm_pool_of(self, attempt: str) -> WarmPoolRecord | None:
        """The warm pool that an attempt has left."""
        return next((each for each in self.warm_pools if each.attempt_name == attempt), None)

    def attempt_of(self, job: str) -> AttemptRecord | None:
        """The attempt of a job."""
        return next((each for each in self.attempts if each.job_name == job), None)


def read_ledger(table: Table) -> Ledger:
    """Read the ledger to decide by, strongly consistent.

    The teams are read before the attempts, so that a start in between is a conflict for the next start of its team. So
    are calendars: a ledger with calendars is read again. How often a pool was paused is read before the pauses, so that
    a pause in between is a conflict for the next start in the pool.
    """
    before = _read(table, after=_BEFORE_POOLS)
    ledger = _after(before, read_ledger_for_display(table))
    if ledger.calendars:
        return replace(_after(before, read_ledger_for_display(table)), calendars=ledger.calendars)
    return ledger


def read_ledger_for_display(table: Table) -> Ledger:
    """Read the ledger for display, strongly consistent, in one query. No job may be started by it."""
    return _read(table)


def _read(table: Table, after: str = "") -> Ledger:
    found: dict[str, list[Any]] = {part: [] for part, _ in _KINDS.values()}
    unreadable: list[UnreadableItem] = []
    for item in table.query(LEDGER, after=after, limit=MAX_LEDGER_ITEMS):
        known = _KINDS.get(item["sk"].partition("#")[0])
        if known is not None:
            part, record = known
            try:
                found[part].append(record.parse(item))
            except UnreadableRecord as error:
                unreadable.append(UnreadableItem.of(item, str(error)))
    return Ledger(**{part: tuple(records) for part, records in found.items()}, unreadable=tuple(unreadable))


def _after(before: Ledger, ledger: Ledger) -> Ledger:
    """A ledger with the teams, and the numbers of pauses, that were read before it."""
    pauses = {pool.pool: pool.pauses for pool in before.pools}
    pools = tuple(pool.model_copy(update={"pauses": pauses.get(pool.pool)}) for pool in ledger.pools)
    return replace(ledger, teams=before.teams, pools=pools)


def read_attempts(table: Table) -> tuple[AttemptRecord, ...]:
    """Read the attempts that hold instances, strongly consistent."""
    return _readable(AttemptRecord, table.query(LEDGER, prefix="attempt#", limit=MAX_LEDGER_ITEMS))


def read_attempts_for_display(table: Table) -> tuple[AttemptRecord, ...]:
    """Read the attempts that hold instances, eventually consistent."""
    return _readable(AttemptRecord, table.query_for_display(LEDGER, prefix="attempt#", limit=MAX_LEDGER_ITEMS))


def read_pools(table: Table) -> tuple[PoolRecord, ...]:
    """Read the pools, strongly consistent."""
    return _readable(PoolRecord, table.query(LEDGER, prefix=_BEFORE_POOLS, limit=MAX_LEDGER_ITEMS))


def read_team_names(table: Table) -> tuple[str, ...]:
    """Read the teams that have queues, beginning with the empty name for jobs without a team."""
    teams = _readable(TeamRecord, table.query(LEDGER, prefix="team#", limit=MAX_LEDGER_ITEMS))
    return ("", *(team.team for team in teams))


def _readable(kind: type[_R], items: Iterable[Item]) -> tuple[_R, ...]:
    """The records in items, without those that cannot be read."""
    found: list[_R] = []
    for item in items:
        with suppress(UnreadableRecord):
            found.append(kind.parse(item))
    return tuple(found)
