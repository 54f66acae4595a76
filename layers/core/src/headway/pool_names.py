"""How pools are named: by their instance type, and what follows it if they have instances of another kind.

That is ``.spot`` for managed spot instances, and ``.plan.`` with the name of a training plan for the instances of that.
The pool :data:`SERVERLESS` counts serverless jobs, which run on no instances of the account.
"""

from __future__ import annotations

from collections.abc import Collection

SPOT_SUFFIX = ".spot"

PLAN_INFIX = ".plan."

SERVERLESS = "serverless"


def pool_of(instance_type: str, *, spot: bool, pools: Collection[str], plan: str = "") -> str:
    """The pool that instances come from, whether or not it exists.

    Spot and on-demand instances have separate quotas (AWS General Reference, "Amazon SageMaker endpoints and quotas"),
    so they may have separate pools. Without a spot pool of its type, a spot job shares the pool of the others. So does
    a job in a training plan that has no pool.

    Args:
        instance_type: such as ``ml.p5.48xlarge``.
        spot: whether managed spot instances are requested.
        pools: the pools that exist.
        plan: the name of the training plan whose instances are requested; empty for none.
    """
    plan_pool = f"{instance_type}{PLAN_INFIX}{plan}"
    if plan and plan_pool in pools:
        return plan_pool
    spot_pool = instance_type + SPOT_SUFFIX
    return spot_pool if spot and spot_pool in pools else instance_type


def on_demand_pool(pool: str) -> str:
    """The pool of on-demand instances of a pool's type."""
    return pool.partition(PLAN_INFIX)[0].removesuffix(SPOT_SUFFIX)


def billed_pool(pool: str, *, spot: bool) -> str:
    """The pool in which the billed time of an instance is kept: that of spot instances is by itself.

    Args:
        pool: the pool that the instance is charged to.
        spot: whether it is a spot instance.
    """
    return f"{on_demand_pool(pool)}{SPOT_SUFFIX}" if spot else pool


def is_of_plan(pool: str) -> bool:
    """Whether a pool has the instances of a training plan."""
    return PLAN_INFIX in pool


def plan_of(arn: str) -> str:
    """The name of the training plan with an ARN; empty if it is none (API reference, TrainingPlanArn)."""
    return arn.partition(":training-plan/")[2]
