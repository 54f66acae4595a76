"""Headway's client: the command line ``headway``, the API client, and adapters for boto3 and the SageMaker SDKs.

Names are imported on first use, so that ``import headway_client`` is fast and ``headway --help`` loads neither an HTTP
library nor an AWS SDK.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from headway_client.version import __version__

if TYPE_CHECKING:
    from headway_client.botocore_hooks.attach import attach
    from headway_client.botocore_hooks.install import install, uninstall
    from headway_client.config.profile import resolve_connection
    from headway_client.http.api import HeadwayApi
    from headway_client.models import (
        ArrayMember,
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
    from headway_client.sagemaker_sdk.queued_job import QueuedJob, TrainingQueuedJob
    from headway_client.sagemaker_sdk.session import QueueTrainingJobSession
    from headway_client.sagemaker_sdk.training_queue import TrainingQueue
    from headway_client.sagemaker_sdk.tune import tune

__all__ = [
    "ArrayMember",
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
    "tune",
    "uninstall",
]

_HOMES = {
    "ArrayMember": "models",
    "BatchResult": "models",
    "Capacity": "models",
    "Configuration": "models",
    "DeadLetters": "models",
    "DryRun": "models",
    "Explanation": "models",
    "Forecast": "models",
    "HeadwayApi": "http.api",
    "Job": "models",
    "JobDetails": "models",
    "QueueTrainingJobSession": "sagemaker_sdk.session",
    "QueuedJob": "sagemaker_sdk.queued_job",
    "Redrive": "models",
    "ServerVersion": "models",
    "Submission": "models",
    "TrainingQueue": "sagemaker_sdk.training_queue",
    "TrainingQueuedJob": "sagemaker_sdk.queued_job",
    "WhatIf": "models",
    "attach": "botocore_hooks.attach",
    "install": "botocore_hooks.install",
    "resolve_connection": "config.profile",
    "tune": "sagemaker_sdk.tune",
    "uninstall": "botocore_hooks.install",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
