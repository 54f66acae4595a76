"""Keeps the sums of idle time, from what the passes of the scheduler leave idle while jobs wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date

from headway.accounting.idle import Idle, IdleSpan, accrue, idle_after
from headway.days import Period, month_of
from headway.model import Snapshot
from headway.plan import Plan
from headway_service.accounting.names import Names
from headway_service.accounting.records import IDLE, IDLE_RESERVED, add_figures
from headway_service.errors import Conflict, RetryLater
from headway_service.observability.logging import logger
from headway_service.ports.table import Put, Table, Write
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.idle import CLOSED_KEPT_S, IdleRecord

_NOTHING = Idle(count=0)


class IdleTime:
    """Counts for how long instances were idle while jobs waited.

    What a pass has left idle is an item of the ledger. A later pass that finds something else, or the same for some
    minutes, replaces it and adds the time to the sums, in one transaction. Of two passes at once the first one does.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._names = Names(table)

    def note(self, ledger: Ledger, snapshot: Snapshot, plan: Plan, machine_ms: int) -> None:
        """Note what a pass leaves idle. Nothing is written while nothing is idle.

        A conflict, or a table that does not answer, is not an error: the next pass counts what this one has not.

        Args:
            ledger: the ledger that the pass was made from.
            snapshot: the state that it was made from.
            plan: the plan, all of which was carried out.
            machine_ms: the machine time of the pass, ms.
        """
        idle = idle_after(snapshot, plan)
        known = {each.pool: each for each in ledger.idle}
        for pool in sorted(known.keys() | idle.keys()):
            change = accrue(_span(known.get(pool)), idle.get(pool), snapshot.now_ms, machine_ms)
            if change is None:
                continue
            following = change.following or IdleSpan(idle=_NOTHING, since_ms=snapshot.now_ms, noted_ms=machine_ms)
            try:
                self._write(pool, known.get(pool), change.counted, following)
            except Conflict:
                # Another pass was first, or the names of the month have changed.
                continue
            except RetryLater as error:
                logger.warning("idle instances are not noted", extra={"pool": pool, "error": str(error)})
                return

    def _write(self, pool: str, known: IdleRecord | None, counted: Mapping[date, Idle], following: IdleSpan) -> None:
        new = self._names.open()
        sums: dict[Period, Counter[str]] = {}
        for day, idle in counted.items():
            for period in (Period(month=month_of(day), day=day), Period(month=month_of(day))):
                sums.setdefault(period, Counter()).update(_figures(pool, idle))
        writes: list[Write] = [_replace(pool, known, following)]
        writes += [
            add_figures("pool", each, new.of("pool", each.month, pool), figures) for each, figures in sums.items()
        ]
        self._table.write([*writes, *new.writes()])
        self._names.keep(new)


def _span(record: IdleRecord | None) -> IdleSpan | None:
    if record is None or not record.count:
        return None
    idle = Idle(count=record.count, reserved=record.reserved)
    return IdleSpan(idle=idle, since_ms=record.since_ms, noted_ms=record.noted_ms)


def _figures(pool: str, idle: Idle) -> Mapping[str, int]:
    figures = {f"{IDLE}{pool}": idle.count, f"{IDLE_RESERVED}{pool}": idle.reserved}
    return {name: value for name, value in figures.items() if value}


def _replace(pool: str, known: IdleRecord | None, following: IdleSpan) -> Put:
    """The write of the item. It is never removed at once: its version must not begin again while passes run."""
    record = IdleRecord(
        pool=pool,
        count=following.idle.count,
        reserved=following.idle.reserved,
        since_ms=following.since_ms,
        noted_ms=following.noted_ms,
        version=1 if known is None else known.version + 1,
        expires_at=None if following.idle.count else following.noted_ms // 1000 + CLOSED_KEPT_S,
    )
    return record.put(was=None if known is None else known.version)
