"""Which requests may use a training plan (TrainingPlanArn)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from headway.pool_names import is_of_plan
from headway_service.admission.checks.draft import Draft
from headway_service.config.document import Configuration
from headway_service.errors import FieldError, ImpossibleDemand, InvalidRequest
from headway_service.store.records.capacity.training_plan import PlanRecord

_FIELD = "ResourceConfig.TrainingPlanArn"


def errors(draft: Draft) -> Iterator[FieldError]:
    """What is wrong with the training plan of a request, whatever that is now."""
    arn, pools = draft.request.plan_arn, draft.configuration.pools
    if arn and draft.request.spot:
        # AWS does not document the two together; the instances of a plan are not spot instances.
        message = "cannot be combined with TrainingPlanArn, whose instances are not spot instances: keep one of the two"
        yield FieldError(field="EnableManagedSpotTraining", message=message)
    for pool in draft.request.demand(pools, spot=draft.request.spot):
        followed = pools[pool].plan if pool in pools else None
        if followed is not None and followed != arn:
            message = f"is not the plan of the pool {pool}, which is {followed}: name that one"
            yield FieldError(field=_FIELD, message=message)


def plan_pools(demand: Collection[str]) -> list[str]:
    """The pools of training plans among those that a job demands."""
    return sorted(pool for pool in demand if is_of_plan(pool))


def require_usable(
    demand: Mapping[str, int],
    find: Callable[[Sequence[str]], Iterable[PlanRecord]],
    configuration: Configuration,
    now_ms: int,
) -> None:
    """Refuse a demand that training plans, as SageMaker described them last, can never satisfy again.

    Args:
        demand: the instances per pool.
        find: reads the plans of pools, as far as they are known. One that is not described yet may satisfy it.
        configuration: the configuration in force.
        now_ms: the training time, ms.

    Raises:
        InvalidRequest: a plan has ended, or the queue cannot use it.
        ImpossibleDemand: a plan never has so many instances.
    """
    for plan in find(plan_pools(demand)):
        if plan.is_over:
            message = f"cannot be used, as {plan.clause}: name another plan, or none"
            raise InvalidRequest(f"{_FIELD} {message}", [FieldError(field=_FIELD, message=message)])
        most = max(size for _, size in plan.sizes(configuration.pools[plan.pool].size, now_ms))
        if plan.blocks and demand[plan.pool] > most:
            message = (
                f"the pool {plan.pool} has {most} instances at most from now on, not {demand[plan.pool]}: {plan.clause}"
            )
            raise ImpossibleDemand(message, [FieldError(field="ResourceConfig.InstanceCount", message=message)])
