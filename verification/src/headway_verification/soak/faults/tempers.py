"""SageMaker's behavior where AWS does not document it: each variant has to be safe."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S

LONGEST_LAG_S = 60.0
"""The longest visibility delay of a training job that the queue guarantees to tolerate."""

TOO_LATE_S = VISIBLE_AFTER_S + 300.0
"""Longer than the queue waits: it gives a launch up before the training job is visible."""

Temper = Mapping[str, Any]
"""Switches of :class:`headway_sandbox.sagemaker.faults.Faults`."""

LATE: Temper = {"describe_lag_s": LONGEST_LAG_S, "list_lag_s": LONGEST_LAG_S, "tags_lag_s": LONGEST_LAG_S}

ADVERSE: Mapping[str, Temper] = {
    "a repeated create meets the quota": {"repeated_create": "ResourceLimitExceeded"},
    "a repeated create is denied": {"repeated_create": "AccessDeniedException"},
    "a repeated create is refused": {"repeated_create": "ValidationException"},
    "training jobs are visible late": LATE,
    "tags are visible late": {"tags_lag_s": LONGEST_LAG_S},
    "all are late, and a repeated create is refused": {**LATE, "repeated_create": "ValidationException"},
}
"""Each of them in every situation that calls SageMaker."""

TOO_LATE: Temper = {"describe_lag_s": TOO_LATE_S, "list_lag_s": TOO_LATE_S, "tags_lag_s": TOO_LATE_S}
"""Launches are given up before their training jobs are visible."""


def draw(random: Random) -> Temper:
    """Draw SageMaker's behavior in one run."""
    if random.random() < 0.1:
        return TOO_LATE
    lags = {name: random.choice([0.0, 0.0, 5.0, LONGEST_LAG_S]) for name in LATE}
    return {
        **lags,
        "quota_before_name": random.random() < 0.5,
        "repeated_create": random.choice(["", "", "ResourceLimitExceeded", "AccessDeniedException"]),
        "plan_end": random.choice(["Stopped", "Failed"]),
        "plan_counts_to_quota": random.random() < 0.2,
        "plan_counts_while_scheduled": random.random() < 0.5,
    }
