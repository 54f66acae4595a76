"""Headway's client: the command line ``headway``, the API, and faces for the clients people already use.

Everything here is imported when it is first used, so that ``import headway_client`` costs nothing and
``headway --help`` needs neither an HTTP library nor an AWS SDK.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway_client.api import HeadwayApi
    from headway_client.documents import (
        BatchResult,
        Capacity,
        Configuration,
        DeadLetters,
        DryRun,
        Explanation,
        Forecast,
        Job,
        JobDetails,
        Redrive,
        ServerVersion,
        Submission,
        WhatIf,
    )
    from headway_client.installation import install, uninstall
    from headway_client.intercept import attach
    from headway_client.profile import resolve_connection
    from headway_client.queued_job import QueuedJob, TrainingQueuedJob
    from headway_client.session import QueueTrainingJobSession
    from headway_client.training_queue import TrainingQueue

__version__ = "0.1.0"

__all__ = [
    "BatchResult",
    "Capacity",
    "Configuration",
    "DeadLetters",
    "DryRun",
    "Explanation",
    "Forecast",
    "HeadwayApi",
    "Job",
    "JobDetails",
    "QueueTrainingJobSession",
    "QueuedJob",
    "Redrive",
    "ServerVersion",
    "Submission",
    "TrainingQueue",
    "TrainingQueuedJob",
    "WhatIf",
    "__version__",
    "attach",
    "install",
    "resolve_connection",
    "uninstall",
]

_HOMES = {
    "BatchResult": "documents",
    "Capacity": "documents",
    "Configuration": "documents",
    "DeadLetters": "documents",
    "DryRun": "documents",
    "Explanation": "documents",
    "Forecast": "documents",
    "HeadwayApi": "api",
    "Job": "documents",
    "JobDetails": "documents",
    "QueueTrainingJobSession": "session",
    "QueuedJob": "queued_job",
    "Redrive": "documents",
    "ServerVersion": "documents",
    "Submission": "documents",
    "TrainingQueue": "training_queue",
    "TrainingQueuedJob": "queued_job",
    "WhatIf": "documents",
    "attach": "intercept",
    "install": "installation",
    "resolve_connection": "profile",
    "uninstall": "installation",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
