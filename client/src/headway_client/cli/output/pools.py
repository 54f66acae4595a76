"""Format pools and the use of their instances."""

from __future__ import annotations

from collections.abc import Sequence

from headway.sanitize import strip_control_characters
from headway_client.cli.output import times
from headway_client.cli.output.table import Table
from headway_client.models import BookingOf, Pause, PoolUse


def pool_rows(pools: Sequence[PoolUse], *, wide: bool = False) -> Table:
    """Return the pools and the use of their instances as a table, with a sentence below for each pause.

    Args:
        wide: have a column for the pauses in place of these sentences.
    """
    headers = ["Pool", "Size", "Allocated", "Stopping", "Reserved", "Rogue", "Free", "Waiting"]
    rows = [
        [
            pool.pool,
            *map(str, (pool.size, pool.allocated, pool.stopping, pool.reserved, pool.rogue, pool.free, pool.waiting)),
        ]
        for pool in pools
    ]
    changes = [_next_size(pool) for pool in pools]
    if wide and any(changes):
        headers.append("Next size")
        rows = [[*row, change] for row, change in zip(rows, changes, strict=True)]
    if any(pool.warm for pool in pools):
        headers.append("Warm")
        rows = [[*row, str(pool.warm)] for row, pool in zip(rows, pools, strict=True)]
    if wide and any(pool.plan for pool in pools):
        headers.append("Plan")
        rows = [[*row, pool.plan] for row, pool in zip(rows, pools, strict=True)]
    if wide:
        paused = [_why(pool.pause) if pool.pause else "" for pool in pools]
        return Table(headers=[*headers, "Paused"], rows=[[*row, why] for row, why in zip(rows, paused, strict=True)])
    note = [f"{pool.pool} {_state(pool)}." for pool in pools if pool.pause]
    note += [f"{pool.pool} has {change}." for pool, change in zip(pools, changes, strict=True) if change]
    note += [f"{pool.pool}: {pool.plan}." for pool in pools if pool.plan]
    note += [f"{pool.pool}: {_booking(each)}." for pool in pools for each in pool.bookings]
    return Table(headers=headers, rows=rows, note=note)


def pool_sentence(pool: PoolUse) -> str:
    """Return a sentence about the pause of a pool and the use of its instances."""
    stopping = f", {pool.stopping} of them stopping" if pool.stopping else ""
    use = f"{pool.allocated} of {pool.size} instances in use{stopping}; waiting jobs: {pool.waiting}"
    over = f"\nNothing is stopped, and nothing starts until {-pool.free} of them are free." if pool.free < 0 else ""
    change = f" It has {_next_size(pool)}." if pool.next_change else ""
    plan = f" Its plan: {pool.plan}." if pool.plan else ""
    return strip_control_characters(f"{pool.pool} {_state(pool)}; {use}.{change}{plan}") + over


def _state(pool: PoolUse) -> str:
    if pool.pause is None:
        return "is open"
    return f"{'is paused with everything' if pool.pause.everything else 'is paused'} {_why(pool.pause)}"


def _next_size(pool: PoolUse) -> str:
    change = pool.next_change
    return f"{change.size} from {times.local(change.time)} on" if change else ""


def _booking(booking: BookingOf) -> str:
    named = {"team": booking.team, "owner": booking.owner, "tag": booking.tag}
    whose = ", ".join(f"{kind} {name}" for kind, name in named.items() if name is not None)
    kept = f"{booking.name} keeps {booking.kept} of {booking.instances} for {whose}"
    if booking.begin is None or booking.end is None:
        return kept
    weekly = ", each week" if booking.weekly else ""
    return f"{kept} ({times.local(booking.begin)} to {times.local(booking.end)}{weekly})"


def _why(pause: Pause) -> str:
    return f"since {times.local(pause.since)} by {pause.by}: {pause.reason}"
