"""The answers of the queue's API as values.

Each value keeps the document it was read from (`document`), so that what a newer server adds is not lost
on a caller who prints JSON.
"""

from __future__ import annotations

from headway.api_documents.dead_letters import DeadLetter, DeadLetters, Redrive, RedriveFailure
from headway.api_documents.forecast import Ahead, DryRun, Explanation, Forecast, ForecastEntry, Shift, WhatIf
from headway.api_documents.jobs import Attempt, HistoryEntry, Job, JobDetails, Reason, WatchOf
from headway.api_documents.pools import Capacity, Configuration, Pause, PoolUse
from headway.api_documents.unmanaged_jobs import RogueJob, RogueJobs
from headway.api_documents.version import ServerVersion
from headway_client.job_states import ENDED_STATES, JOB_STATES, LIVE_STATES
from headway_client.models.submission import BatchResult, Submission

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
