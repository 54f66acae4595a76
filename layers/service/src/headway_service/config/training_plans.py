"""Pools that follow a SageMaker training plan, in the configuration document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headway.pool_names import PLAN_INFIX, is_of_plan, plan_of
from headway_service.config.pool import Pool

MAX_PLAN_POOLS = 10
"""Pools that follow a plan: each costs a reconcile run one DescribeTrainingPlan, which is throttled per account."""


def problems(pools: Mapping[str, Pool]) -> Iterator[tuple[str, str]]:
    """What is wrong with the pools of training plans: the field, and what to change.

    Args:
        pools: all pools of the document, by name.
    """
    for name, pool in pools.items():
        if pool.plan is None:
            if is_of_plan(name):
                yield f"{name}.plan", "is required: add the ARN of the training plan that the pool is named after"
            elif "size" not in pool.model_fields_set:
                yield f"{name}.size", "is required: add it"
            continue
        plan = plan_of(pool.plan)
        if name.partition(PLAN_INFIX)[2] != plan:
            kind = name.partition(PLAN_INFIX)[0]
            yield (
                f"{name}.plan",
                f"is the plan {plan}, whose pool has the name {kind}{PLAN_INFIX}{plan}: rename the pool",
            )
        if pool.schedule:
            yield f"{name}.schedule", "cannot be combined with plan, which gives the sizes: keep one of the two"
    found = sum(pool.plan is not None for pool in pools.values())
    if found > MAX_PLAN_POOLS:
        yield "", f"has {found} pools that follow a training plan; at most {MAX_PLAN_POOLS} are possible"


def elsewhere(pools: Mapping[str, Pool], *, region: str, account: str) -> Iterator[tuple[str, str]]:
    """The plans that the deployment cannot use: the field, and what to change.

    Args:
        pools: all pools of the document, by name.
        region: the region of the deployment; empty if it is not known.
        account: its account; empty if it is not known.
    """
    for name, pool in pools.items():
        its_region, its_account = pool.plan.split(":")[3:5] if pool.plan else (region, account)
        if region and its_region != region:
            yield (
                f"{name}.plan",
                f"is in the region {its_region}, and this queue is in {region}: use a plan of {region}",
            )
        elif account and its_account != account:
            yield f"{name}.plan", f"is in the account {its_account}, and this queue is in {account}: use a plan of it"
