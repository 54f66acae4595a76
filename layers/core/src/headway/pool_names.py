"""How pools are named: by their instance type, with ``.spot`` behind it for a pool of managed spot instances.

The pool :data:`SERVERLESS` counts serverless jobs, which run on no instances of the account.
"""

from __future__ import annotations

from collections.abc import Collection

SPOT_SUFFIX = ".spot"

SERVERLESS = "serverless"


def pool_of(instance_type: str, *, spot: bool, pools: Collection[str]) -> str:
    """The pool that instances come from, whether or not it exists.

    Spot and on-demand instances have separate quotas (AWS General Reference, "Amazon SageMaker endpoints and quotas"),
    so they may have separate pools. Without a spot pool of its type, a spot job shares the pool of the others.

    Args:
        instance_type: such as ``ml.p5.48xlarge``.
        spot: whether managed spot instances are requested.
        pools: the pools that exist.
    """
    spot_pool = instance_type + SPOT_SUFFIX
    return spot_pool if spot and spot_pool in pools else instance_type


def on_demand_pool(pool: str) -> str:
    """The pool of on-demand instances of a pool's type."""
    return pool.removesuffix(SPOT_SUFFIX)
