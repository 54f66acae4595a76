"""Pools and teams."""

from __future__ import annotations

from headway.api_documents.pools import BookingOf, BudgetUse, Capacity, Pause, PoolUse, SizeChange, TeamUse
from headway_service.api.times import time_text
from headway_service.pools import capacity
from headway_service.store.records.capacity.ledger import PauseRecord


def pool_document(use: capacity.PoolUse) -> PoolUse:
    """A pool."""
    return PoolUse(
        pool=use.pool,
        size=use.size,
        allocated=use.allocated,
        stopping=use.stopping,
        reserved=use.reserved,
        rogue=use.rogue,
        free=use.free,
        waiting=use.waiting,
        pause=_pause(use.pause) if use.pause else None,
        next_change=(
            SizeChange(size=use.next_change.size, time=time_text(use.next_change.at_ms)) if use.next_change else None
        ),
        warm=use.warm,
        plan=use.plan,
        bookings=tuple(_booking(each) for each in use.bookings),
    )


def _booking(shown: capacity.BookingShown) -> BookingOf:
    booking, written = shown.booking, shown.written
    begin_ms, end_ms = shown.window or (None, None)
    return BookingOf(
        name=booking.name,
        instances=booking.count,
        kept=shown.kept,
        team=booking.team,
        owner=None if written is None else written.owner,
        tag=booking.tag,
        begin=time_text(begin_ms),
        end=time_text(end_ms),
        weekly=booking.weekly,
    )


def capacity_document(found: capacity.Capacity) -> Capacity:
    """The use of the pools, by pool and by team."""
    return Capacity(
        pools=tuple(pool_document(use) for use in found.pools),
        teams=tuple(
            TeamUse(
                team=use.team,
                weight=use.policy.weight,
                guaranteed=use.policy.guaranteed,
                limit=use.policy.limit,
                used=use.used,
                borrowed=use.borrowed,
                waiting=use.waiting,
                used_lately=None if use.used_lately is None else round(use.used_lately, 4),
            )
            for use in found.teams
        ),
        budgets=tuple(
            BudgetUse(
                name=each.name,
                team=each.written.team,
                owner=each.written.owner,
                tag=None if each.written.tag is None else f"{each.written.tag.key}={each.written.tag.value}",
                period=str(each.written.every) if each.written.every else f"{each.written.days} days",
                amount=each.written.amount,
                granted=each.granted,
                used=round(each.used, 3),
                when_spent=str(each.written.when_spent),
                spent_until=time_text(each.spent_until_ms),
            )
            for each in found.budgets
        ),
    )


def _pause(pause: PauseRecord) -> Pause:
    return Pause(
        everything=pause.pool == PauseRecord.EVERYTHING,
        by=pause.by,
        since=time_text(pause.since_ms),
        reason=pause.reason,
        stops=pause.stops,
    )
