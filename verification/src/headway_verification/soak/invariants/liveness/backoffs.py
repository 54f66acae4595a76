"""A back-off answers an outage: it is over soon after SageMaker answers again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_verification.soak.violations import require

AT_LEAST_S = 60
"""What a pool may idle after the shortest outage."""

SHARE = 0.1
"""What it may idle of the time of a longer one."""

TICK_S = 120
"""A tick comes once a minute, and runs may pass two minutes at once."""


def check_backoffs(
    pools: Mapping[str, Mapping[str, Any]], unlaunched: Mapping[str, int], outage_s: float, since_s: float, now_s: float
) -> None:
    """Check that no pool backs off any more in which there is something to launch.

    Args:
        pools: the pools in the ledger, by name.
        unlaunched: how many instances of each pool jobs demand that could start, and attempts that SageMaker has not.
        outage_s: how long SageMaker did not answer, s.
        since_s: since when it answers again, s.

    Raises:
        Violated: one does.
    """
    allowed_s = max(AT_LEAST_S, SHARE * outage_s) + TICK_S
    if now_s - since_s <= allowed_s:
        return
    for name, pool in pools.items():
        left_s = pool.get("backoffUntilMs", 0) / 1000 - now_s
        require(
            not unlaunched.get(name) or left_s <= 0,
            f"{name} backs off for another {left_s:.0f} s, {now_s - since_s:.0f} s after an outage of {outage_s:.0f} s",
        )
