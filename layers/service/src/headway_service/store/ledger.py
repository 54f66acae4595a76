"""Everything that holds capacity, as read at one moment."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headway.lifecycle import AttemptState
from headway_service.ports.table import Table
from headway_service.store.records.attempt import AttemptRecord
from headway_service.store.records.base import LEDGER
from headway_service.store.records.ledger import (
    CalendarRecord,
    PauseRecord,
    PoolRecord,
    ReservationRecord,
    TeamRecord,
)
from headway_service.store.records.unmanaged_job import UnmanagedJobRecord
from headway_service.store.records.warm_pool import WarmPoolRecord

MAX_LEDGER_ITEMS = 50_000
"""Most items that one read of the ledger returns: more than there ever are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ledger:
    """All that holds capacity, as read at one moment."""

    pools: tuple[PoolRecord, ...]
    attempts: tuple[AttemptRecord, ...]
    reservations: tuple[ReservationRecord, ...]
    teams: tuple[TeamRecord, ...] = ()
    rogues: tuple[UnmanagedJobRecord, ...] = ()
    pauses: tuple[PauseRecord, ...] = ()
    calendars: tuple[CalendarRecord, ...] = ()
    warm_pools: tuple[WarmPoolRecord, ...] = ()

    @property
    def queue_teams(self) -> tuple[str, ...]:
        """The teams that have queues, beginning with the empty name for jobs without a team."""
        return ("", *(team.team for team in self.teams))

    def calendar_of(self, pool: str) -> CalendarRecord | None:
        """The calendar of a pool; None if it has no schedule."""
        return next((each for each in self.calendars if each.pool == pool), None)

    def pause_of(self, pool: str) -> PauseRecord | None:
        """The pause of a pool: its own, or else the pause of all pools. None if it is not paused."""
        by_pool = {each.pool: each for each in self.pauses}
        return by_pool.get(pool) or by_pool.get(PauseRecord.EVERYTHING)

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

    def reservation_of(self, job: str) -> ReservationRecord | None:
        """The reservation of a job."""
        return next((each for each in self.reservations if each.job_name == job), None)

    def without_reservation(self, job: str) -> Ledger:
        """The ledger without the reservation of a job."""
        return replace(self, reservations=tuple(each for each in self.reservations if each.job_name != job))

    def in_training_time(self, now_ms: int, machine_ms: int) -> Ledger:
        """The ledger with the ends of back-offs in training time, by which decisions are made and times are shown.

        Args:
            now_ms: the training time, ms.
            machine_ms: the machine time at the same moment, ms.
        """
        ahead_ms = now_ms - machine_ms
        if not ahead_ms:
            return self
        pools = (pool.model_copy(update={"backoff_until_ms": pool.backoff_until_ms + ahead_ms}) for pool in self.pools)
        return replace(self, pools=tuple(pools))

    def warm_pool_of(self, attempt: str) -> WarmPoolRecord | None:
        """The warm pool that an attempt has left."""
        return next((each for each in self.warm_pools if each.attempt_name == attempt), None)

    def attempt_of(self, job: str) -> AttemptRecord | None:
        """The attempt of a job."""
        return next((each for each in self.attempts if each.job_name == job), None)


def read_ledger(table: Table) -> Ledger:
    """Read the ledger to decide by, strongly consistent.

    The teams are read before the attempts, so that a start in between is a conflict for the next start of its team. So
    are calendars: a ledger with calendars is read again.
    """
    teams = _teams(table)
    ledger = replace(read_ledger_for_display(table), teams=teams)
    if ledger.calendars:
        return replace(read_ledger_for_display(table), teams=teams, calendars=ledger.calendars)
    return ledger


def read_ledger_for_display(table: Table) -> Ledger:
    """Read the ledger for display, strongly consistent, in one query. No job may be started by it."""
    teams: list[TeamRecord] = []
    pools: list[PoolRecord] = []
    attempts: list[AttemptRecord] = []
    reservations: list[ReservationRecord] = []
    rogues: list[UnmanagedJobRecord] = []
    pauses: list[PauseRecord] = []
    calendars: list[CalendarRecord] = []
    warm_pools: list[WarmPoolRecord] = []
    for item in table.query(LEDGER, limit=MAX_LEDGER_ITEMS):
        kind = item["sk"].partition("#")[0]
        if kind == "pool":
            pools.append(PoolRecord.parse(item))
        elif kind == "attempt":
            attempts.append(AttemptRecord.parse(item))
        elif kind == "reservation":
            reservations.append(ReservationRecord.parse(item))
        elif kind == "rogue":
            rogues.append(UnmanagedJobRecord.parse(item))
        elif kind == "pause":
            pauses.append(PauseRecord.parse(item))
        elif kind == "calendar":
            calendars.append(CalendarRecord.parse(item))
        elif kind == "team":
            teams.append(TeamRecord.parse(item))
        elif kind == "warm":
            warm_pools.append(WarmPoolRecord.parse(item))
    return Ledger(
        pools=tuple(pools),
        attempts=tuple(attempts),
        reservations=tuple(reservations),
        teams=tuple(teams),
        rogues=tuple(rogues),
        pauses=tuple(pauses),
        calendars=tuple(calendars),
        warm_pools=tuple(warm_pools),
    )


def read_team_names(table: Table) -> tuple[str, ...]:
    """Read the teams that have queues, beginning with the empty name for jobs without a team."""
    return ("", *(team.team for team in _teams(table)))


def _teams(table: Table) -> tuple[TeamRecord, ...]:
    return tuple(TeamRecord.parse(item) for item in table.query(LEDGER, prefix="team#", limit=MAX_LEDGER_ITEMS))
