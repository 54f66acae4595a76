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
        Capacity,
        Configuration,
        DeadLetters,
        Job,
        JobDetails,
        Redrive,
        Submission,
    )
    from headway_client.intercept import attach
    from headway_client.profile import resolve_connection
    from headway_client.session import QueueTrainingJobSession

__version__ = "0.1.0"

__all__ = [
    "Capacity",
    "Configuration",
    "DeadLetters",
    "HeadwayApi",
    "Job",
    "JobDetails",
    "QueueTrainingJobSession",
    "Redrive",
    "Submission",
    "__version__",
    "attach",
    "resolve_connection",
]

_HOMES = {
    "Capacity": "documents",
    "Configuration": "documents",
    "DeadLetters": "documents",
    "HeadwayApi": "api",
    "Job": "documents",
    "JobDetails": "documents",
    "QueueTrainingJobSession": "session",
    "Redrive": "documents",
    "Submission": "documents",
    "attach": "intercept",
    "resolve_connection": "profile",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
