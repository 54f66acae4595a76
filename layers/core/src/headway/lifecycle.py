"""The life of a job and of an attempt, as transition tables. No other transition is possible.

``docs/reference/semantics.md`` draws its diagrams from these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from headway.errors import InvalidTransition


class JobState(StrEnum):
    """``jobState``. The last three are terminal."""

    PENDING = "pending"
    RUNNING = "running"
    STOPPING = "stopping"
    PREEMPTED = "preempted"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"


WAITING = frozenset({JobState.PENDING, JobState.PREEMPTED})
"""States of a waiting job."""

ACTIVE = frozenset({JobState.RUNNING, JobState.STOPPING})
"""States of a job that has an attempt, and with it instances."""

TERMINAL = frozenset({JobState.COMPLETED, JobState.FAILED, JobState.STOPPED})
"""States that a job never leaves."""


class JobTrigger(StrEnum):
    """What can happen to a job."""

    START = "start"
    #: SageMaker could not launch the attempt now; the job returns to its place in the queue.
    LAUNCH_DEFERRED = "postpone"
    PREEMPT = "preempt"
    #: A caller requested the stop of the job.
    STOP = "stop"
    #: The attempt ended because it was preempted.
    PREEMPTED_ENDED = "yield"
    COMPLETE = "complete"
    #: An equal job has completed, and this one gets its outputs.
    REUSE = "reuse"
    FAIL = "fail"
    #: Only its own request has kept the waiting job from starting, for too long, or it was to start by a time.
    GIVE_UP = "give up"
    #: The attempt ended, and the policy starts another one.
    RETRY = "retry"
    #: The attempt ended as stopped, on request or outside the queue.
    END_STOPPED = "end as stopped"


JOB_TRANSITIONS: Mapping[tuple[JobState, JobTrigger], JobState] = {
    (JobState.PENDING, JobTrigger.START): JobState.RUNNING,
    (JobState.PENDING, JobTrigger.STOP): JobState.STOPPED,
    (JobState.PENDING, JobTrigger.REUSE): JobState.COMPLETED,
    (JobState.PENDING, JobTrigger.GIVE_UP): JobState.FAILED,
    (JobState.RUNNING, JobTrigger.LAUNCH_DEFERRED): JobState.PENDING,
    (JobState.RUNNING, JobTrigger.PREEMPT): JobState.STOPPING,
    (JobState.RUNNING, JobTrigger.STOP): JobState.STOPPING,
    (JobState.RUNNING, JobTrigger.COMPLETE): JobState.COMPLETED,
    (JobState.RUNNING, JobTrigger.FAIL): JobState.FAILED,
    (JobState.RUNNING, JobTrigger.RETRY): JobState.PENDING,
    (JobState.RUNNING, JobTrigger.END_STOPPED): JobState.STOPPED,
    (JobState.STOPPING, JobTrigger.STOP): JobState.STOPPING,
    (JobState.STOPPING, JobTrigger.PREEMPTED_ENDED): JobState.PREEMPTED,
    (JobState.STOPPING, JobTrigger.RETRY): JobState.PENDING,
    (JobState.STOPPING, JobTrigger.COMPLETE): JobState.COMPLETED,
    (JobState.STOPPING, JobTrigger.FAIL): JobState.FAILED,
    (JobState.STOPPING, JobTrigger.END_STOPPED): JobState.STOPPED,
    (JobState.PREEMPTED, JobTrigger.START): JobState.RUNNING,
    (JobState.PREEMPTED, JobTrigger.STOP): JobState.STOPPED,
    (JobState.PREEMPTED, JobTrigger.GIVE_UP): JobState.FAILED,
}


class AttemptState(StrEnum):
    """The state of an attempt."""

    #: The intent is written; CreateTrainingJob may or may not have been called.
    LAUNCHING = "launching"
    #: SageMaker has accepted it.
    LIVE = "live"
    #: Its stop was requested; SageMaker has not ended it yet.
    STOPPING = "stopping"
    #: SageMaker has ended it, or it was never launched.
    ENDED = "ended"


class AttemptTrigger(StrEnum):
    """What can happen to an attempt."""

    CONFIRM = "confirm"
    STOP = "stop"
    END = "end"


ATTEMPT_TRANSITIONS: Mapping[tuple[AttemptState, AttemptTrigger], AttemptState] = {
    (AttemptState.LAUNCHING, AttemptTrigger.CONFIRM): AttemptState.LIVE,
    # Stopping an attempt that may or may not have been launched leaves it launching, with a stop cause:
    # the reconciliation of the launch handles the stop too.
    (AttemptState.LAUNCHING, AttemptTrigger.STOP): AttemptState.LAUNCHING,
    (AttemptState.LAUNCHING, AttemptTrigger.END): AttemptState.ENDED,
    (AttemptState.LIVE, AttemptTrigger.STOP): AttemptState.STOPPING,
    (AttemptState.LIVE, AttemptTrigger.END): AttemptState.ENDED,
    (AttemptState.STOPPING, AttemptTrigger.STOP): AttemptState.STOPPING,
    (AttemptState.STOPPING, AttemptTrigger.END): AttemptState.ENDED,
}


def next_job_state(state: JobState, trigger: JobTrigger) -> JobState:
    """The state that follows.

    Args:
        state: the current state.

    Raises:
        InvalidTransition: the table has no such step.
    """
    try:
        return JOB_TRANSITIONS[state, trigger]
    except KeyError:
        raise InvalidTransition(state, trigger) from None


def next_attempt_state(state: AttemptState, trigger: AttemptTrigger) -> AttemptState:
    """The state that follows.

    Args:
        state: the current state.

    Raises:
        InvalidTransition: the table has no such step.
    """
    try:
        return ATTEMPT_TRANSITIONS[state, trigger]
    except KeyError:
        raise InvalidTransition(state, trigger) from None
