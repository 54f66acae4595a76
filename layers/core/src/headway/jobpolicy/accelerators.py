"""Which instance types have accelerators, as far as the API tells them apart."""

from __future__ import annotations

import re

_ACCELERATED = re.compile(r"ml\.(?:p|g|trn)\d")


def is_accelerated(instance_type: str) -> bool:
    """Whether MaxPendingTimeInSeconds has an effect on jobs on this type (API reference, StoppingCondition)."""
    return _ACCELERATED.match(instance_type) is not None
