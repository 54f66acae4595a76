"""Launches that got no instances: what a job keeps of them, and what follows for it.

SageMaker may refuse a launch (a quota, a denial), have no instances for it, or give no answer. For some minutes the job
is treated as any other, as the cause is often gone by then. After that it is *unlaunchable*: it keeps its place, but
nobody waits for it, and it is tried again now and then (decision 106).
"""

from __future__ import annotations

from headway.refusals.failed_launches import Cause, FailedLaunches, NoInstances, add, add_of_outage
from headway.refusals.giving_up import gives_up
from headway.refusals.probing import (
    PROBES_APART_MS,
    UNLAUNCHABLE_AFTER,
    UNLAUNCHABLE_AFTER_MS,
    grace_ms,
    is_unlaunchable,
    retry_ms,
    unlaunchable_from_ms,
)

__all__ = [
    "PROBES_APART_MS",
    "UNLAUNCHABLE_AFTER",
    "UNLAUNCHABLE_AFTER_MS",
    "Cause",
    "FailedLaunches",
    "NoInstances",
    "add",
    "add_of_outage",
    "gives_up",
    "grace_ms",
    "is_unlaunchable",
    "retry_ms",
    "unlaunchable_from_ms",
]
