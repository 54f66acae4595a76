"""Builders of the values that the core's tests use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from headway.job_terms import JobTerms, Standing
from headway.model import Allocation, Calendar, Reservation, SizeChange, Snapshot, WaitingJob
from headway.plan import Plan, Preempt, Release, ReleaseWarm, Start, StartWarm
from headway.policy import DEFAULT_POLICY, Policy

P5 = "ml.p5.48xlarge"
G5 = "ml.g5.xlarge"
NOW_MS = 1_000_000


_TERMS = frozenset(each.name for each in fields(JobTerms))
_STANDING = frozenset(each.name for each in fields(Standing))

Job = TypeVar("Job", bound=WaitingJob | Allocation)


def waiting_job(**members: Any) -> WaitingJob:
    """A waiting job from its own members, those of its terms, and those of its standing."""
    return WaitingJob(**_with_terms(None, {"allowance_ms": 0, **members}))


def allocation(**members: Any) -> Allocation:
    """The same for an attempt; without an entry time its job has entered at its start."""
    return Allocation(**_with_terms(None, {"entry_time_ms": members["since_ms"], **members}))


def changed(job: Job, **members: Any) -> Job:
    """A job with other values for some of these members."""
    return replace(job, **_with_terms(job.terms, members))


def _with_terms(terms: JobTerms | None, members: Mapping[str, Any]) -> dict[str, Any]:
    standing = {name: value for name, value in members.items() if name in _STANDING}
    of_terms = {name: value for name, value in members.items() if name in _TERMS}
    if standing:
        of_terms["standing"] = replace(Standing() if terms is None else terms.standing, **standing)
    own = {name: value for name, value in members.items() if name not in standing and name not in of_terms}
    if not of_terms:
        return own
    return {**own, "terms": JobTerms(**of_terms) if terms is None else replace(terms, **of_terms)}


def unusual_terms() -> JobTerms:
    """Terms none of whose fields has its default, nor the value of another one; times are whole seconds."""
    return JobTerms(**_unusual(JobTerms, 1))


def _unusual(of: type[JobTerms | Standing], first: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for number, each in enumerate(fields(of), start=first):
        match each.type:
            case "bool":
                made[each.name] = not each.default
            case "str":
                made[each.name] = each.name
            case "int" | "int | None":
                made[each.name] = 1000 * number
            case "tuple[str, ...]":
                made[each.name] = (each.name,)
            case "Standing":
                made[each.name] = Standing(**_unusual(Standing, 100))
            case other:
                raise AssertionError(
                    f"{each.name} has the type {other}: say here what an unusual value of that type is"
                )
    return made


def job(
    name: str,
    priority: int = 0,
    *,
    entered: int = 0,
    count: int = 1,
    pool: str = P5,
    limit_s: int | None = None,
    team: str = "",
    preempts: bool = True,
    warm_key: str = "",
    keep_ms: int = 0,
    stops_for_size: bool = False,
    **more: int,
) -> WaitingJob:
    """A waiting job; ``more`` adds pools as keywords with ``_`` for ``.``, e.g. ``ml_c5_4xlarge=2``."""
    demand = {pool: count, **{key.replace("_", "."): value for key, value in more.items()}}
    return waiting_job(
        name=name,
        demand=demand,
        priority=priority,
        entry_time_ms=entered,
        team=team,
        limit_ms=None if limit_s is None else limit_s * 1000,
        preempts=preempts,
        warm_key=warm_key,
        keep_ms=keep_ms,
        stops_for_size=stops_for_size,
    )


def warm(
    name: str,
    *,
    count: int = 1,
    pool: str = P5,
    team: str = "",
    ends_in_s: int = 600,
    key: str = "k",
    claimed_by: str = "",
    released: bool = False,
    freed_for: str | None = None,
) -> Allocation:
    """The warm pool that a job has left."""
    return allocation(
        job=name,
        attempt=name,
        demand={pool: count},
        priority=9,
        since_ms=0,
        team=team,
        limit_ms=NOW_MS + ends_in_s * 1000,
        preemptible=False,
        warm=key,
        stopping=bool(claimed_by) or released or freed_for is not None,
        claimed_by=claimed_by,
        freed_for=freed_for,
        freed={pool: count} if freed_for else None,
    )


def held(
    name: str,
    priority: int = 0,
    *,
    count: int = 1,
    pool: str = P5,
    since: int = 0,
    entered: int | None = None,
    team: str = "",
    ends_in_s: int | None = None,
    checkpoints: bool = False,
    every: int | None = None,
    trains_since: int | None = None,
    seen: int | None = None,
    preemptible: bool = True,
    preemptions: int = 0,
    stopping: bool = False,
    freed_for: str | None = None,
    freed: int = 0,
    stops_for_size: bool = False,
) -> Allocation:
    """The allocation of a running job; ``ends_in_s`` is until its limit, ``every`` the ms between its checkpoints."""
    return allocation(
        job=name,
        attempt=name,
        demand={pool: count},
        priority=priority,
        since_ms=since,
        entry_time_ms=since if entered is None else entered,
        team=team,
        limit_ms=None if ends_in_s is None else NOW_MS - since + ends_in_s * 1000,
        checkpoints=checkpoints or every is not None,
        checkpoints_every_ms=every,
        training_since_ms=trains_since,
        checkpoint_seen_ms=seen,
        preemptible=preemptible,
        preemptions=preemptions,
        stopping=stopping or freed_for is not None,
        freed_for=freed_for,
        freed={pool: freed or count} if freed_for else None,
        stops_for_size=stops_for_size,
    )


def reserved(name: str, count: int = 1, pool: str = P5) -> Reservation:
    """Instances reserved for a job."""
    return Reservation(job=name, demand={pool: count})


def snapshot(
    *parts: WaitingJob | Allocation | Reservation,
    size: int = 2,
    now_ms: int = NOW_MS,
    pools: dict[str, int] | None = None,
    policy: Policy = DEFAULT_POLICY,
    sizes: dict[int, int] | None = None,
    stops: bool = False,
    any_job: bool = True,
    about: str = "",
) -> Snapshot:
    """A snapshot of one pool (or of several), with its parts in any order.

    ``sizes`` are the later sizes of the one pool, by the seconds until then.
    """
    changes = tuple(SizeChange(at_ms=now_ms + in_s * 1000, size=count) for in_s, count in (sizes or {}).items())
    return Snapshot(
        now_ms=now_ms,
        pools=pools or {P5: size},
        allocations=tuple(part for part in parts if isinstance(part, Allocation)),
        reservations=tuple(part for part in parts if isinstance(part, Reservation)),
        waiting=tuple(part for part in parts if isinstance(part, WaitingJob)),
        policy=policy,
        calendars={P5: Calendar(changes=changes, stops=stops, any_job=any_job, about=about)}
        if changes or stops
        else {},
    )


def starts(plan: Plan) -> list[str]:
    """The jobs that start, in order."""
    return [action.job for action in plan.actions if isinstance(action, Start)]


def preemptions(plan: Plan) -> list[tuple[str, str]]:
    """The preempted jobs with their preemptors, in order."""
    return [(action.job, action.for_job) for action in plan.actions if isinstance(action, Preempt)]


def starts_warm(plan: Plan) -> list[tuple[str, str]]:
    """The jobs that start in a warm pool, with the attempt that left it, in order."""
    return [(action.job, action.warm) for action in plan.actions if isinstance(action, StartWarm)]


def warm_releases(plan: Plan) -> list[tuple[str, str]]:
    """The attempts whose warm pool is released, with the job that it is released for, in order."""
    return [(action.attempt, action.for_job) for action in plan.actions if isinstance(action, ReleaseWarm)]


def releases(plan: Plan) -> list[str]:
    """The jobs whose reservation is released."""
    return [action.job for action in plan.actions if isinstance(action, Release)]


def reason_of(plan: Plan, name: str) -> str:
    """The message of a waiting job's reason."""
    return next(hold.sentence for hold in plan.waits if hold.job == name)


def code_of(plan: Plan, name: str) -> str:
    """The code of a waiting job's reason."""
    return next(hold.reason.code for hold in plan.waits if hold.job == name)


def started_on(plan: Plan) -> dict[str, dict[str, int]]:
    """What the jobs demand that start, by name."""
    return {action.job: dict(action.demand) for action in plan.actions if isinstance(action, Start)}
