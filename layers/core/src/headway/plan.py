"""What a decision says to do: typed actions and holds, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from headway.model import Demand
from headway.reasons import Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """Give back what is reserved for a job."""

    job: str
    demand: Demand
    reason: Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """Start a waiting job on all that it demands."""

    job: str
    demand: Demand
    reason: Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Preempt:
    """Stop an attempt so that a waiting job fits."""

    #: The job whose attempt is stopped.
    job: str
    attempt: str
    #: The waiting job that it is stopped for ...
    for_job: str
    #: ... and the instances that stay earmarked for that job.
    freed: Demand
    reason: Reason


Action = Release | Start | Preempt


@dataclass(frozen=True, kw_only=True, slots=True)
class Hold:
    """A job goes on waiting."""

    job: str
    reason: Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A decision. Actions are in the order to apply them, holds in rank order."""

    actions: tuple[Action, ...]
    holds: tuple[Hold, ...]
