"""How the pools are used, by pool and by team."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from headway.bookings.booking import Booking
from headway.model import SizeChange, Snapshot
from headway.policy import Policy, Team
from headway.scheduling.fair_share import borrowed
from headway.scheduling.limits import Limits
from headway.scheduling.team_turns import TeamTurns
from headway.vectors import total
from headway_service.config import bookings as config
from headway_service.config.budgets import Budget
from headway_service.config.document import Configuration
from headway_service.ports.table import Table
from headway_service.store.ledger import Ledger, read_ledger_for_display
from headway_service.store.queue_tail import MAX_PLACE
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.records.queue_entry import QueueEntry


@dataclass(frozen=True, kw_only=True, slots=True)
class BookingShown:
    """A booking, and how many instances it keeps now.

    Attributes:
        booking: the booking.
        written: how it is written; None for a guarantee that is not lent.
        kept: how many are kept now.
        window: the begin and the end of the window that is open, or of the next one, ms; None for always, or none.
    """

    booking: Booking
    written: config.Booking | None
    kept: int
    window: tuple[int, int] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolUse:
    """How a pool is used, in instances; ``waiting`` in jobs.

    Attributes:
        pool: the pool.
        size: its size.
        allocated: held by attempts.
        stopping: the part of ``allocated`` whose attempts are stopping.
        reserved: reserved for waiting jobs.
        rogue: taken by training jobs that did not come through the queue.
        warm: kept by warm pools of ended attempts. One that an attempt was started in counts in ``allocated`` as well.
        free: the rest.
        waiting: how many jobs wait for it.
        pause: its pause, or the pause of all pools.
        next_change: its next size, if it has a schedule or a plan.
        plan: what is known of the training plan that it follows; empty if it follows none.
        bookings: what is kept for some jobs.
    """

    pool: str
    size: int
    allocated: int
    stopping: int
    reserved: int
    rogue: int
    free: int
    waiting: int
    pause: PauseRecord | None = None
    next_change: SizeChange | None = None
    warm: int = 0
    plan: str = ""
    bookings: tuple[BookingShown, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TeamUse:
    """What a team may use and uses, in instances per pool; ``waiting`` in jobs per pool.

    Attributes:
        team: the team; empty for jobs without one.
        policy: its guarantee, its limit and its weight.
        used: held by its attempts.
        borrowed: the part of ``used`` beyond its guarantee.
        waiting: how many of its jobs wait.
        used_lately: the part that it used of what all teams used lately; None where past use does not count.
    """

    team: str
    policy: Team
    used: Mapping[str, int]
    borrowed: Mapping[str, int]
    waiting: Mapping[str, int]
    used_lately: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetShown:
    """A budget as the configuration has it, and what was used of it.

    Attributes:
        name: its name.
        written: how it is written.
        granted: what is granted beyond its amount now.
        used: in its period until now.
        spent_until_ms: until when nothing is left; None if something is.
    """

    name: str
    written: Budget
    granted: float
    used: float
    spent_until_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacity:
    """How the pools are used, by pool and by team."""

    pools: list[PoolUse]
    teams: list[TeamUse]
    budgets: list[BudgetShown]


def read_capacity(table: Table, configuration: Callable[[], Configuration], now_ms: int) -> Capacity:
    """How the pools are used now, strongly consistent except for the numbers of waiting jobs.

    Args:
        configuration: the configuration in effect.
        now_ms: the training time, ms.
    """
    # Before the first tick or submission, this puts the configured pools into the ledger.
    known = configuration()
    return capacity_of(table, read_ledger_for_display(table), known, now_ms)


def read_pool_uses(table: Table, pools: Collection[str], waiting: Mapping[str, int]) -> list[PoolUse]:
    """How some pools are used now, strongly consistent except for the numbers of waiting jobs.

    Args:
        waiting: the numbers of waiting jobs, where they are known.
    """
    ledger = read_ledger_for_display(table)
    of_interest = replace(ledger, pools=tuple(pool for pool in ledger.pools if pool.pool in pools))
    counts = {
        pool.pool: {"": waiting[pool.pool]} if pool.pool in waiting else _waiting(table, pool.pool, ledger)
        for pool in of_interest.pools
    }
    return _pools(of_interest, counts)


def capacity_of(table: Table, ledger: Ledger, configuration: Configuration, now_ms: int) -> Capacity:
    """How the pools of a ledger are used; the numbers of waiting jobs are eventually consistent.

    Args:
        ledger: the ledger as just read.
        configuration: the configuration in effect.
        now_ms: the training time, ms.
    """
    policy = configuration.policy()
    waiting = {pool.pool: _waiting(table, pool.pool, ledger) for pool in ledger.pools}
    return Capacity(
        pools=_with_bookings(_pools(ledger, waiting), ledger, configuration, policy, now_ms),
        teams=_teams(ledger, policy, waiting, now_ms),
        budgets=_budgets(ledger, configuration, policy, now_ms),
    )


def _pools(ledger: Ledger, waiting: Mapping[str, Mapping[str, int]]) -> list[PoolUse]:
    allocated = total(attempt.demand for attempt in ledger.attempts)
    stopping = total(attempt.demand for attempt in ledger.attempts if attempt.stop_cause)
    reserved = total(reservation.demand for reservation in ledger.reservations)
    rogue = total(rogue.charged for rogue in ledger.rogues)
    warm = total(each.demand for each in ledger.warm_pools)
    return [
        PoolUse(
            pool=pool.pool,
            size=pool.size,
            allocated=allocated.get(pool.pool, 0),
            stopping=stopping.get(pool.pool, 0),
            reserved=reserved.get(pool.pool, 0),
            rogue=rogue.get(pool.pool, 0),
            free=pool.size - sum(used.get(pool.pool, 0) for used in (allocated, reserved, rogue, warm)),
            waiting=sum(waiting[pool.pool].values()),
            pause=ledger.pause_of(pool.pool),
            next_change=calendar.next_change if (calendar := ledger.calendar_of(pool.pool)) else None,
            warm=warm.get(pool.pool, 0),
            plan=calendar.about if calendar else "",
        )
        for pool in ledger.pools
    ]


def _with_bookings(
    pools: list[PoolUse], ledger: Ledger, configuration: Configuration, policy: Policy, now_ms: int
) -> list[PoolUse]:
    """The pools with what is kept of them. Of the jobs that wait none is read, so what they get back is not kept."""
    if not policy.bookings:
        return pools
    allocations = tuple(each.allocation() for each in ledger.attempts)
    seen = Snapshot(now_ms=now_ms, pools=ledger.sizes_at(now_ms), allocations=allocations, policy=policy)
    limits = Limits(seen)
    found: dict[str, list[BookingShown]] = {}
    for each in policy.bookings:
        shown = BookingShown(
            booking=each,
            written=configuration.bookings.get(each.name),
            kept=limits.kept(each),
            window=each.window(now_ms) or each.next_window(now_ms),
        )
        found.setdefault(each.pool, []).append(shown)
    return [replace(each, bookings=tuple(found.get(each.pool, ()))) for each in pools]


def _teams(ledger: Ledger, policy: Policy, waiting: Mapping[str, Mapping[str, int]], now_ms: int) -> list[TeamUse]:
    """The configured teams, those that still have jobs, and the jobs without a team if there are any."""
    if not policy.teams:
        return []
    used = {
        team: total(each.demand for each in ledger.attempts if each.team == team)
        for team in {each.team for each in ledger.attempts}
    }
    waits = {
        team: {pool: counts[team] for pool, counts in waiting.items() if counts.get(team)}
        for team in ledger.queue_teams
    }
    turns = TeamTurns(
        Snapshot(now_ms=now_ms, pools=ledger.sizes_at(now_ms), policy=policy, past_use=ledger.past_use_until(now_ms))
    )
    busy = {team for found in (used, waits) for team, counts in found.items() if counts}
    return [
        TeamUse(
            team=team,
            policy=policy.team(team),
            used=used.get(team, {}),
            borrowed=borrowed(used.get(team, {}), policy.team(team).guaranteed),
            waiting=waits.get(team, {}),
            used_lately=lately.used if (lately := turns.lately(team)) is not None else None,
        )
        for team in sorted({*policy.teams, *busy})
    ]


def _budgets(ledger: Ledger, configuration: Configuration, policy: Policy, now_ms: int) -> list[BudgetShown]:
    use = ledger.budget_use_until(now_ms, policy.budgets)
    return [
        BudgetShown(
            name=each.name,
            written=configuration.budgets[each.name],
            granted=each.amount_at(now_ms) - each.amount,
            used=use[each.name].used(each, now_ms),
            spent_until_ms=use[each.name].spent_until_ms(each, now_ms),
        )
        for each in policy.budgets
    ]


def _waiting(table: Table, pool: str, ledger: Ledger) -> dict[str, int]:
    """How many jobs of each team wait for a pool, counted until there are :data:`MAX_PLACE` of all teams."""
    found: dict[str, int] = {}
    for team in ledger.queue_teams:
        left = MAX_PLACE - sum(found.values())
        if left > 0:
            found[team] = table.count_before(QueueEntry.partition(pool, team), "~", limit=left)
    return found
