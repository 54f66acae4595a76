"""Models of the documents of the queue's API.

Each model keeps the document from which it was decoded (`document`), so that JSON output includes the members that a
newer server adds.
"""

from __future__ import annotations

from headway.api_documents.actions import OperatorAction, OperatorActions
from headway.api_documents.arrays import ArrayMember, ArrayProgress, MedianStopping, MemberPage
from headway.api_documents.config_history import ConfigurationChange, ConfigurationHistory, ConfigurationVersion
from headway.api_documents.dead_letters import DeadLetter, DeadLetters, Redrive, RedriveFailure
from headway.api_documents.effects import ConfigurationEffect, ConfigurationEffects
from headway.api_documents.events import EventPage, FeedEvent
from headway.api_documents.forecast import Ahead, Explanation, Forecast, ForecastEntry, PredictedTime, WhatIf
from headway.api_documents.forget import ForgottenOwner
from headway.api_documents.jobs import (
    Attempt,
    Dependency,
    DryRun,
    ExpectedRun,
    HistoryEntry,
    Job,
    JobDetails,
    Reason,
    Shift,
    WatchOf,
)
from headway.api_documents.pools import BookingOf, BudgetUse, Capacity, Configuration, Pause, PoolUse, TeamUse
from headway.api_documents.rogue_jobs import RogueJob, RogueJobs
from headway.api_documents.summary import (
    JobCounts,
    PoolSummary,
    RecentEvent,
    RecentlyEnded,
    RunningJob,
    Summary,
    WaitingHead,
)
from headway.api_documents.usage import (
    Durations,
    EndedJob,
    HistoryPage,
    PredictionQuality,
    Recount,
    ScannedJob,
    Usage,
    UsageComparison,
    UsageRepair,
    UsageSum,
)
from headway.api_documents.version import ServerVersion
from headway_client.job_states import ENDED_STATES, JOB_STATES, LIVE_STATES
from headway_client.models.submission import BatchResult, Submission

__all__ = [
    "ENDED_STATES",
    "JOB_STATES",
    "LIVE_STATES",
    "Ahead",
    "ArrayMember",
    "ArrayProgress",
    "Attempt",
    "BatchResult",
    "BookingOf",
    "BudgetUse",
    "Capacity",
    "Configuration",
    "ConfigurationChange",
    "ConfigurationEffect",
    "ConfigurationEffects",
    "ConfigurationHistory",
    "ConfigurationVersion",
    "DeadLetter",
    "DeadLetters",
    "Dependency",
    "DryRun",
    "Durations",
    "EndedJob",
    "EventPage",
    "ExpectedRun",
    "Explanation",
    "FeedEvent",
    "Forecast",
    "ForecastEntry",
    "ForgottenOwner",
    "HistoryEntry",
    "HistoryPage",
    "Job",
    "JobCounts",
    "JobDetails",
    "MedianStopping",
    "MemberPage",
    "OperatorAction",
    "OperatorActions",
    "Pause",
    "PoolSummary",
    "PoolUse",
    "PredictedTime",
    "PredictionQuality",
    "Reason",
    "RecentEvent",
    "RecentlyEnded",
    "Recount",
    "Redrive",
    "RedriveFailure",
    "RogueJob",
    "RogueJobs",
    "RunningJob",
    "ScannedJob",
    "ServerVersion",
    "Shift",
    "Submission",
    "Summary",
    "TeamUse",
    "Usage",
    "UsageComparison",
    "UsageRepair",
    "UsageSum",
    "WaitingHead",
    "WatchOf",
    "WhatIf",
]
