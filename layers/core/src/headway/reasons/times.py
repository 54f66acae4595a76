"""What the times of a job mean for it: it enters the queue not before one, and has to start by another one."""

from __future__ import annotations

from headway.durations import in_words
from headway.model import Demand
from headway.reasons.clauses import clock_time
from headway.reasons.codes import Reason, ReasonCode
from headway.reasons.dependencies import Awaited, awaited_names, ends_of
from headway.vectors import describe


def entered_until(demand: Demand, begin_ms: int, awaited: Awaited, now_ms: int) -> Reason:
    """The job is accepted, and enters the queue at a time.

    Args:
        demand: instances per pool.
        begin_ms: that time, ms.
        awaited: the jobs that it waits for as well; may be empty.
    """
    message = f"accepted; enters the queue for {describe(demand)} {_when(begin_ms, awaited, now_ms)}"
    return Reason(code=ReasonCode.ENTERED, message=message, jobs=awaited_names(awaited))


def waits_for_time(begin_ms: int, awaited: Awaited, now_ms: int) -> Reason:
    """The job is in no queue, as its time has not come.

    Args:
        begin_ms: when it comes, ms.
        awaited: the jobs that it waits for as well; may be empty.
    """
    message = f"enters the queue {_when(begin_ms, awaited, now_ms)} (headway:not-before)"
    return Reason(code=ReasonCode.WAITS_FOR_TIME, message=message, jobs=awaited_names(awaited))


def time_came(begin_ms: int, awaited: Awaited, now_ms: int) -> Reason:
    """The time has come before which a job was not to start.

    Args:
        begin_ms: that time, ms.
        awaited: the jobs that it still waits for; may be empty.
    """
    then = f"waits until {ends_of(awaited)}" if awaited else "entered the queue"
    message = f"{clock_time(begin_ms, now_ms)} has come; {then}"
    return Reason(code=ReasonCode.TIME_CAME, message=message, jobs=awaited_names(awaited))


def start_too_late(start_by_ms: int, why: Reason, now_ms: int) -> Reason:
    """A job that was to start by a time has failed, as it has not.

    Args:
        start_by_ms: that time, ms.
        why: what kept it from starting.
    """
    message = f"did not start by {clock_time(start_by_ms, now_ms)} (headway:start-by): {why.message}"
    return Reason(code=ReasonCode.EXPIRED, message=message, jobs=why.jobs)


def waited_too_long(team: str, max_wait_ms: int, why: Reason) -> Reason:
    """A job has failed, as its team lets none wait for so long.

    Args:
        team: the team whose limit it is.
        max_wait_ms: for how long, ms.
        why: what kept it from starting.
    """
    limit = f"the most for team {team} (teams.{team}.maxWaitSeconds)"
    message = f"has waited in the queue for {in_words(max_wait_ms)}, {limit}: {why.message}"
    return Reason(code=ReasonCode.EXPIRED, message=message, jobs=why.jobs)


def _when(begin_ms: int, awaited: Awaited, now_ms: int) -> str:
    at = clock_time(begin_ms, now_ms)
    return f"when {ends_of(awaited)}, and not before {at}" if awaited else f"at {at}"
