"""SageMaker's possible responses where AWS does not document them: each of these has to be safe."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S

LONGEST_LAG_S = 60.0
"""The longest time for which the queue is promised to cope with a training job that is not shown."""

TOO_LATE_S = VISIBLE_AFTER_S + 300.0
"""Longer than the queue waits: it gives a launch up, and its training job shows after that."""

Temper = Mapping[str, Any]
"""Switches of :class:`headway_sandbox.sagemaker.faults.Faults`."""

LATE: Temper = {"describe_lag_s": LONGEST_LAG_S, "list_lag_s": LONGEST_LAG_S, "tags_lag_s": LONGEST_LAG_S}

UNKIND: Mapping[str, Temper] = {
    "a repeated create meets the quota": {"repeated_create": "ResourceLimitExceeded"},
    "a repeated create is denied": {"repeated_create": "AccessDeniedException"},
    "a repeated create is refused": {"repeated_create": "ValidationException"},
    "training jobs are shown late": LATE,
    "tags are shown late": {"tags_lag_s": LONGEST_LAG_S},
    "all are late, and a repeated create is refused": {**LATE, "repeated_create": "ValidationException"},
}
"""Each of them in every situation that calls SageMaker."""

TOO_LATE: Temper = {"describe_lag_s": TOO_LATE_S, "list_lag_s": TOO_LATE_S, "tags_lag_s": TOO_LATE_S}
"""Launches are given up, and their training jobs show after that."""


def draw(random: Random) -> Temper:
    """The temper of SageMaker in one life."""
    if random.random() < 0.1:
        return TOO_LATE
    lags = {name: random.choice([0.0, 0.0, 5.0, LONGEST_LAG_S]) for name in LATE}
    return {
        **lags,
        "quota_before_name": random.random() < 0.5,
        "repeated_create": random.choice(["", "", "ResourceLimitExceeded", "AccessDeniedException"]),
    }
