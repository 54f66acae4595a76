"""The answers of the queue's API as values.

Each value keeps the document it was read from (`document`), so that what a newer server adds is not lost
on a caller who prints JSON.
"""

from __future__ import annotations

from headway_client.job_states import ENDED_STATES, JOB_STATES, LIVE_STATES
from headway_client.models.dead_letters import DeadLetter, DeadLetters, Redrive, RedriveFailure
from headway_client.models.forecast import Ahead, DryRun, Explanation, Forecast, ForecastEntry, Shift, WhatIf
from headway_client.models.job import Attempt, HistoryEntry, Job, JobDetails, WatchOf
from headway_client.models.pools import Capacity, Configuration, Pause, PoolUse
from headway_client.models.reason import Reason
from headway_client.models.submission import BatchResult, Submission
from headway_client.models.unmanaged_jobs import RogueJob, RogueJobs
from headway_client.models.version import ServerVersion

__all__ = [
    "ENDED_STATES",
    "JOB_STATES",
    "LIVE_STATES",
    "Ahead",
    "Attempt",
    "BatchResult",
    "Capacity",
    "Configuration",
    "DeadLetter",
    "DeadLetters",
    "DryRun",
    "Explanation",
    "Forecast",
    "ForecastEntry",
    "HistoryEntry",
    "Job",
    "JobDetails",
    "Pause",
    "PoolUse",
    "Reason",
    "Redrive",
    "RedriveFailure",
    "RogueJob",
    "RogueJobs",
    "ServerVersion",
    "Shift",
    "Submission",
    "WatchOf",
    "WhatIf",
]
