"""The members of an array that are compared, and the metrics of their attempts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from headway.early_stopping import MAX_COMPARED, Curve, EarlyStopping
from headway.lifecycle import AttemptState, JobState
from headway.sweeps import member_name, parse_member
from headway_service.ports.training_metrics import MAX_METRICS, JobMetric, Series
from headway_service.sagemaker_api.names import attempt_name
from headway_service.store.records.array import MemberResultRecord
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord

MAX_ATTEMPTS = 5
"""Attempts of a member whose metrics are read: the last ones."""

MAX_VALUES = 200
"""Values of a metric of a member, about: longer trainings have longer periods."""

PERIOD_S = 60
"""The shortest time of which a value is the average, s; CloudWatch keeps such values for 15 days (user guide)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedMember:
    """A member that is compared.

    Attributes:
        attempts: the names of its last attempts, in their order.
        trained_ms: for how long it has trained, about, ms.
        running: its attempt, if it trains now and may be stopped.
    """

    attempts: tuple[str, ...]
    trained_ms: int
    running: AttemptRecord | None = None


def running_members(array: str, attempts: Iterable[AttemptRecord], now_ms: int) -> list[ComparedMember]:
    """The members of an array that train, up to :data:`MAX_COMPARED`, by index.

    Args:
        array: the name of the array.
        attempts: all attempts that hold instances.
        now_ms: the training time, ms.
    """
    found = []
    for attempt in attempts:
        member = parse_member(attempt.job_name)
        if member is not None and member[0] == array and trains(attempt):
            found.append((member[1], attempt))
    return [
        ComparedMember(
            attempts=_attempts(attempt.job_name, attempt.number),
            trained_ms=now_ms - attempt.since_ms,
            running=attempt,
        )
        for _, attempt in sorted(found, key=lambda each: each[0])[:MAX_COMPARED]
    ]


def trains(attempt: AttemptRecord) -> bool:
    """Whether an attempt trains, and no stop was requested."""
    return attempt.attempt_state is AttemptState.LIVE and attempt.training_since_ms is not None


def ended_members(array: JobRecord, results: Iterable[MemberResultRecord]) -> list[ComparedMember]:
    """The members of an array that completed, or were stopped early; the last ones first.

    Others ended for reasons of their own, so their values may be wrong.

    Args:
        results: what its members have given.
    """
    count = array.array.count if array.array is not None else 0
    return [
        ComparedMember(
            attempts=_attempts_until(member_name(array.job_name, each.index, count), each.attempt_name),
            trained_ms=(each.ended_ms or 0) - (each.started_ms or each.ended_ms or 0),
        )
        for each in sorted(results, key=lambda each: each.index, reverse=True)
        # An array of that name may have been there before.
        if each.accepted_ms == array.accepted_time
        and each.attempt_name is not None
        and (each.job_state is JobState.COMPLETED or each.stopped_early)
    ]


def fitting(members: Sequence[ComparedMember], settings: EarlyStopping) -> list[ComparedMember]:
    """The first members, as many as may be compared with one call of CloudWatch."""
    found: list[ComparedMember] = []
    room = MAX_METRICS
    for each in members[:MAX_COMPARED]:
        room -= len(each.attempts) * (2 if settings.step_metric else 1)
        if room < 0:
            break
        found.append(each)
    return found


def metrics_of(members: Iterable[ComparedMember], settings: EarlyStopping) -> list[JobMetric]:
    """The metrics that are read."""
    names = [settings.metric, *([settings.step_metric] if settings.step_metric else [])]
    return [JobMetric(attempt, name) for each in members for attempt in each.attempts for name in names]


def period_s(members: Iterable[ComparedMember]) -> int:
    """The time of which a value is the average, s, so that a member has about :data:`MAX_VALUES` at most."""
    longest_s = max((each.trained_ms for each in members), default=0) / 1000
    return PERIOD_S * max(1, ceil(longest_s / PERIOD_S / MAX_VALUES))


def curve(
    member: ComparedMember, settings: EarlyStopping, series: Mapping[JobMetric, Series], period_s: int
) -> Curve | None:
    """The values of a member over its steps; None if it has none, or not all of them are known.

    Without a step metric a step is a second of training: from the first value of each attempt to its last, so that
    waits between attempts do not count.

    Args:
        settings: what its array says of early stopping.
        series: the metrics that were read.
        period_s: the time of which a value is the average, s.
    """
    runs: list[list[tuple[float, float]]] = []
    trained_s = 0
    for attempt in member.attempts:
        values = series.get(JobMetric(attempt, settings.metric))
        if values is None:
            return None
        if settings.step_metric:
            steps = series.get(JobMetric(attempt, settings.step_metric))
            if steps is None:
                return None
            at = dict(steps)
            runs.append([(at[time_s], value) for time_s, value in values if time_s in at])
        elif values:
            start_s = values[0][0]
            runs.append([(trained_s + time_s - start_s + period_s, value) for time_s, value in values])
            trained_s += values[-1][0] - start_s + period_s
    return Curve.of_runs(runs)


def _attempts(job: str, last: int) -> tuple[str, ...]:
    return tuple(attempt_name(job, number) for number in range(max(1, last - MAX_ATTEMPTS + 1), last + 1))


def _attempts_until(member: str, last: str) -> tuple[str, ...]:
    """The last attempts of a member; the one of another job, if the member was answered by that."""
    number = last.rpartition("-")[2]
    is_own = number.isdigit() and attempt_name(member, int(number)) == last
    return _attempts(member, int(number)) if is_own else (last,)
