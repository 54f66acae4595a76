"""Why a job waits although its pools have instances: a limit of its team or its owner, or what is kept for others."""

from __future__ import annotations

from collections.abc import Sequence

from headway.bookings.booking import Booking
from headway.model import Allocation, Limit, SizeChange, WaitingJob
from headway.policy import Policy
from headway.reasons.clauses import clock_time, with_shorter_limit
from headway.reasons.codes import Reason, ReasonCode
from headway.reasons.holders import ProtectedFrom, first_to_end, held_by, named
from headway.vectors import describe


def waits_for_limit(
    job: WaitingJob,
    lacking: Sequence[tuple[Limit, int]],
    holders: tuple[Allocation, ...],
    protected: ProtectedFrom,
    now_ms: int,
    policy: Policy,
) -> Reason:
    """Limits of the job have too little left.

    Args:
        lacking: each of these limits, and how many instances it lacks.
        holders: the attempts that use them.
        protected: why one of them is not stopped for it.
    """
    first = first_to_end(holders)
    alike: dict[tuple[str, str, tuple[Booking, ...]], list[tuple[Limit, int]]] = {}
    for limit, count in lacking:
        alike.setdefault((limit.team, limit.owner, limit.bookings), []).append((limit, count))
    message = " and ".join(_lack(of, now_ms) for of in alike.values())
    if first:
        message += held_by(job, first, holders, protected, now_ms, policy)
    else:
        message += f", which jobs{_of(lacking)} ahead of it get"
    return Reason(code=ReasonCode.WAITS_FOR_LIMIT, message=f"waits for {message}", jobs=named(first))


def exceeds_limit(job: WaitingJob, limit: Limit) -> Reason:
    """The job demands more than it may ever use, since the limit was lowered.

    Args:
        limit: the largest that it will be.
    """
    if limit.bookings:
        so = f"{_titles(limit)} leaves others {_most(limit)}"
        remedy = "change the booking or the guarantee (`headway config set`)"
    else:
        so = f"{_whose(limit)} may use {_most(limit)}"
        remedy = "raise the limit (`headway config set`)"
    message = f"demands {describe(job.demand)} but {so}; {remedy} or stop the job and submit a smaller one"
    return Reason(code=ReasonCode.EXCEEDS_LIMIT, message=message)


def outlasts_limit(limit: Limit, change: SizeChange, now_ms: int, *, shorter_s: int | None = None) -> Reason:
    """The job would still run when instances that it uses are kept for others.

    Args:
        limit: what is left beside these.
        change: its change of size.
        shorter_s: the longest run time with which it would start now, s; None if it would with none.
    """
    message = (
        f"would still run when {_titles(limit)} leaves others only {describe({limit.pool: change.size})} "
        f"({clock_time(change.at_ms, now_ms)}){with_shorter_limit(shorter_s)}"
    )
    return Reason(code=ReasonCode.WAITS_FOR_SIZE, message=message)


def _lack(alike: Sequence[tuple[Limit, int]], now_ms: int) -> str:
    """What limits of the same jobs, each of another pool, lack."""
    first, _ = alike[0]
    lacking = describe({limit.pool: count for limit, count in alike})
    most = describe({limit.pool: limit.size for limit, _ in alike})
    if not first.bookings:
        who = "who" if first.owner else "which"
        return f"{lacking} within the limit of {_whose(first)}, {who} may use {most}"
    until = next((f" until {clock_time(each.at_ms, now_ms)}" for each in first.changes if each.size > first.size), "")
    return f"{lacking} beside {_titles(first)}, which leaves others {most}{until}"


def _of(lacking: Sequence[tuple[Limit, int]]) -> str:
    """Whose jobs get what a limit has left."""
    if any(limit.bookings for limit, _ in lacking):
        return ""
    return " of its owner" if any(limit.owner for limit, _ in lacking) else " of the team"


def _whose(limit: Limit) -> str:
    if not limit.owner:
        return f"team `{limit.team}`"
    return f"its owner in team `{limit.team}`" if limit.team else "its owner"


def _titles(limit: Limit) -> str:
    return " with ".join(each.about for each in limit.bookings)


def _most(limit: Limit) -> str:
    return describe({limit.pool: limit.size})
