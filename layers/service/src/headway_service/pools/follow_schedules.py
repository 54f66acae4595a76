"""Gives pools with a schedule or a training plan the sizes of the time, and stores their later sizes in the ledger.

Decisions read them there. A plan is in the ledger as SageMaker described it last (:mod:`headway_service.tracking`).
"""

from __future__ import annotations

import json
from functools import partial

from headway_service.config.pool import Pool
from headway_service.config.schedule import AtShrink
from headway_service.observability.isolation import Isolation
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import EffectiveConfig, require_in_force
from headway_service.ports.table import Check, Table
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.ledger import CalendarRecord, PoolRecord
from headway_service.store.records.capacity.training_plan import PlanRecord

RENEW_AFTER_MS = 86_400_000
"""A calendar is computed again this long after it was written, so that it covers a week from any time on."""


def follow_schedules(
    table: Table, in_force: EffectiveConfig, ledger: Ledger, now_ms: int, isolation: Isolation
) -> bool:
    """Update the calendars and the sizes of pools by their schedules and plans.

    Each change is conditional on the configuration and on what it replaces, so it is safe beside another tick, a
    resize, and an invocation with another clock. A decision takes the smaller size until a change is applied. What the
    ledger has of a pool and cannot be read is not replaced: nothing starts there meanwhile.

    Args:
        in_force: the configuration in effect.
        now_ms: the training time, ms.
        isolation: does the work on each pool by itself.

    Returns:
        Whether anything was changed, by this or by others, so that the ledger has to be read again.
    """
    scheduled = {name: pool for name, pool in in_force.configuration.pools.items() if pool.follows}
    still = require_in_force(in_force.version)
    known = {each.pool: each for each in ledger.calendars}
    unreadable = ledger.names_of_unreadable("calendar") | ledger.names_of_unreadable("plan")

    def remove(name: str) -> bool:
        table.write([*transitions.remove_calendar(known[name]), still])
        return True

    def follow(name: str) -> bool:
        calendar = new_calendar(name, scheduled[name], known.get(name), ledger.plan_of(name), now_ms)
        if calendar is not None:
            table.write([*transitions.set_calendar(known.get(name), calendar), still])
        return calendar is not None

    outcomes = [
        *(
            isolation.do("the calendar of a pool", name, partial(remove, name))
            for name in sorted(known.keys() - scheduled.keys())
        ),
        *(
            isolation.do("the calendar of a pool", name, partial(follow, name))
            for name in sorted(scheduled.keys() - unreadable)
        ),
    ]
    if not any(each.reads_again for each in outcomes):
        # By the calendars that are stored: those that have just changed are read again first.
        resize = partial(_resize, table, ledger, now_ms, still)
        outcomes = [isolation.do("the size of a pool", each.pool, partial(resize, each)) for each in ledger.pools]
    return any(each.reads_again for each in outcomes)


def new_calendar(
    name: str, pool: Pool, known: CalendarRecord | None, plan: PlanRecord | None, now_ms: int
) -> CalendarRecord | None:
    """The new calendar of a pool with a schedule or a plan; None if the known one still holds.

    Args:
        known: its stored calendar, if it has one.
        plan: its training plan, as SageMaker described it last.
        now_ms: the training time, ms.
    """
    made_from = json.dumps(pool.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    if pool.plan is not None:
        # Until SageMaker has described it.
        plan = plan if plan is not None and plan.arn == pool.plan else PlanRecord(pool=name, arn=pool.plan)
        made_from += plan.digest
    if known is not None and known.made_from == made_from:
        changes_ms = [from_ms for from_ms, _ in known.sizes[1:]]
        # With a clock that is behind, the known one still holds.
        if now_ms < min([known.sizes[0][0] + RENEW_AFTER_MS, *changes_ms]):
            return None
    if pool.plan is not None and plan is not None:
        return CalendarRecord(
            pool=name,
            sizes=plan.sizes(pool.size, now_ms),
            # That SageMaker does not find a plan does not prove that it takes the instances of what runs there.
            stops=bool(plan.status) and not plan.problem,
            any_job=False,
            about=plan.clause,
            known=bool(plan.status) or bool(plan.problem),
            made_from=made_from,
        )
    stops = pool.at_shrink is AtShrink.STOP
    return CalendarRecord(pool=name, sizes=pool.sizes.sizes(now_ms), stops=stops, made_from=made_from)


def _resize(table: Table, ledger: Ledger, now_ms: int, still: Check, pool: PoolRecord) -> bool:
    """Give a pool the size of the time. Returns whether it had another one."""
    calendar = ledger.calendar_of(pool.pool)
    size = pool.size if calendar is None else calendar.size_at(now_ms)
    if size == pool.size:
        return False
    table.write([*transitions.resize_pool(pool, size), still])
    logger.info("a pool has another size by its calendar", extra={"pool": pool.pool, "size": size})
    return True
