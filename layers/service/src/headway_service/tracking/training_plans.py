"""Describes the training plans that pools follow, and stores what changed in the ledger, from which ticks take it."""

from __future__ import annotations

from collections.abc import Callable

from headway.pool_names import is_of_plan, plan_of
from headway_service.errors import Conflict, OutcomeUnknown, RetryLater
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import find_applied
from headway_service.ports.table import Table
from headway_service.ports.training_plans import TrainingPlans
from headway_service.sagemaker_api.visibility import is_proven
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.training_plan import PlanRecord
from headway_service.tracking.turns import in_turn


def refresh_plans(
    table: Table,
    plans: TrainingPlans,
    ledger: Ledger,
    machine_clock: Callable[[], int],
    *,
    has_time: Callable[[], bool],
) -> bool:
    """Describe the plan of each pool that follows one. AWS sends no events on plans.

    While SageMaker does not answer, the known plan holds. That a plan is not found counts only if it is still not found
    when SageMaker has had time to show it.

    Args:
        plans: SageMaker.
        ledger: what :func:`headway_service.store.ledger.read_ledger` gave.
        machine_clock: the machine time, ms.
        has_time: whether a further plan may be described. Each minute another one is the first.

    Returns:
        Whether one has changed, so that a decision is due.
    """
    changed = False
    if not ledger.plans and not any(is_of_plan(each.pool) for each in ledger.pools):
        return changed
    in_force = find_applied(table)
    configured = in_force.configuration.pools if in_force is not None else {}
    followed = {name: pool.plan for name, pool in sorted(configured.items()) if pool.plan is not None}
    for record in ledger.plans:
        if record.pool not in followed:
            changed |= _write(table, record, None)
    for pool in in_turn(list(followed), machine_clock()):
        if not has_time():
            logger.warning("the other training plans are described by later runs", extra={"pool": pool})
            break
        arn, known = followed[pool], ledger.plan_of(pool)
        try:
            plan = plans.describe(plan_of(arn))
        except OutcomeUnknown as error:
            logger.warning("a training plan is not described now", extra={"pool": pool, "error": str(error)})
            continue
        now_ms = machine_clock()
        found = _not_found(known, pool, arn, now_ms) if plan is None else PlanRecord.of(pool, arn, plan)
        if known is None or found != known.model_copy(update={"version": found.version}):
            changed |= _write(table, known, found)
    return changed


def _not_found(known: PlanRecord | None, pool: str, arn: str, machine_ms: int) -> PlanRecord:
    """The record of a plan that SageMaker has just not found."""
    if known is None or known.arn != arn:
        return PlanRecord(pool=pool, arn=arn, missing_since_ms=machine_ms)
    if known.missing_since_ms is None:
        return known.model_copy(update={"missing_since_ms": machine_ms})
    return known.as_missing() if is_proven(known.missing_since_ms, machine_ms) else known


def _write(table: Table, known: PlanRecord | None, found: PlanRecord | None) -> bool:
    """Store what has changed; the next run does it if another one is faster, or the table is throttled."""
    changed = found or known
    try:
        table.write(transitions.set_plan(known, found))
    except (Conflict, RetryLater) as error:
        logger.warning("a training plan is not noted now", extra={"error": str(error)})
        return False
    logger.info(
        "a training plan has changed",
        extra={
            "pool": changed and changed.pool,
            "status": found and found.status,
            "problem": found and found.problem,
        },
    )
    return True
