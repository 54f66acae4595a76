"""Instance time as GPU time, by the GPUs of instance types."""

from __future__ import annotations

from collections.abc import Mapping

from headway.instances import spec_of
from headway.pool_names import on_demand_pool


def gpu_seconds(seconds: Mapping[str, int]) -> int | None:
    """Return instances times seconds as GPUs times seconds; None if the instances of a pool are not known.

    Args:
        seconds: by pool.
    """
    total = 0
    for pool, held in seconds.items():
        spec = spec_of(on_demand_pool(pool))
        if spec is None:
            return None
        total += held * spec.gpus
    return total
