"""When waiting jobs are likely to start, and running ones to end.

Starts are those of the decisions, run forward with predicted run times.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from headway.forecasting.forecast import MAX_FORECAST_STEPS, by_limits, forecast
from headway.forecasting.members import ArrayToCome
from headway.forecasting.simulation import RunTime
from headway.model import Allocation, Snapshot, WaitingJob
from headway.prediction.kinds import RunKind
from headway.prediction.run_times import Prediction, RunTimes
from headway.sweeps import parse_member

FORECASTS = 3
"""The forecasts that a prediction of starts takes."""

_RUN_TIMES = ("low_ms", "median_ms", "high_ms")


@dataclass(frozen=True, kw_only=True, slots=True)
class LikelyTime:
    """When a job is likely to start or to end, ms.

    Attributes:
        from_ms: if the jobs that this depends on run as short as one of ten like them does.
        about_ms: if they run as long as half of those like them do.
        until_ms: if they run as long as one of ten does.
    """

    from_ms: int
    about_ms: int
    until_ms: int


def predict_starts(
    snapshot: Snapshot,
    run_times: RunTimes,
    *,
    arrays: Sequence[ArrayToCome] = (),
    steps: int = MAX_FORECAST_STEPS,
    awaited: Collection[str] | None = None,
) -> dict[str, LikelyTime]:
    """When jobs are likely to start. Jobs of which too little is known to predict them run as long as their limits.

    Args:
        snapshot: the queue as it is.
        run_times: how long jobs have run.
        arrays: those whose members enter the queue as others end.
        steps: simulated steps of each of the :data:`FORECASTS`.
        awaited: the jobs of interest; by default all.

    Returns:
        The jobs whose start can be predicted; none if no run time can.
    """
    predicted = _predicted(snapshot, run_times)
    # The name of a member but for its index, which the prediction leaves out.
    of_members = {each.name: _of_waiting(each.member, run_times) for each in arrays}
    if not predicted and not any(of_members.values()):
        return {}

    def of_job(name: str) -> Prediction | None:
        array = parse_member(name)
        return predicted.get(name) or (of_members.get(array[0]) if array is not None else None)

    courses = [
        forecast(snapshot, _run_time(snapshot, of_job, part), arrays=arrays, steps=steps, awaited=awaited).starts
        for part in _RUN_TIMES
    ]
    found: dict[str, LikelyTime] = {}
    for job in snapshot.waiting:
        times = [start_ms for course in courses if (start_ms := course.get(job.name)) is not None]
        if len(times) == FORECASTS:
            # A job may start later although others end sooner, as these let another one pass.
            from_ms, about_ms, until_ms = sorted(times)
            found[job.name] = LikelyTime(from_ms=from_ms, about_ms=about_ms, until_ms=until_ms)
    return found


def predict_end(attempt: Allocation, run_times: RunTimes, now_ms: int) -> LikelyTime | None:
    """When a running attempt is likely to end; None if that cannot be predicted.

    Args:
        run_times: how long jobs have run.
        now_ms: the present, ms.
    """
    found = _of_running(attempt, run_times, now_ms)
    if found is None:
        return None
    from_ms, about_ms, until_ms = (attempt.since_ms + each for each in (found.low_ms, found.median_ms, found.high_ms))
    return LikelyTime(from_ms=from_ms, about_ms=about_ms, until_ms=until_ms)


def _predicted(snapshot: Snapshot, run_times: RunTimes) -> Mapping[str, Prediction]:
    """The jobs whose run time can be predicted."""
    found: dict[str, Prediction | None] = {}
    for job in snapshot.waiting:
        found[job.name] = _of_waiting(job, run_times)
    for each in snapshot.allocations:
        # The job of a warm pool may wait again, or run.
        if not each.warm:
            found[each.job] = _of_running(each, run_times, snapshot.now_ms)
    return {name: prediction for name, prediction in found.items() if prediction is not None}


def _of_waiting(job: WaitingJob, run_times: RunTimes) -> Prediction | None:
    return run_times.predict(_kind(job, job.name), limit_ms=job.terms.limit_ms) if job.terms.source else None


def _of_running(attempt: Allocation, run_times: RunTimes, now_ms: int) -> Prediction | None:
    """The run time of an attempt. Training jobs outside the queue, and warm pools, are of no kind."""
    if not attempt.terms.source or attempt.warm:
        return None
    ran_ms = max(0, now_ms - attempt.since_ms)
    return run_times.predict(_kind(attempt, attempt.job), ran_ms=ran_ms, limit_ms=attempt.terms.limit_ms)


def _kind(job: WaitingJob | Allocation, name: str) -> RunKind:
    return RunKind.of(owner=job.terms.owner, source=job.terms.source, demand=job.demand, name=name)


def _run_time(snapshot: Snapshot, predicted: Callable[[str], Prediction | None], part: str) -> RunTime:
    """Run times for a forecast: predicted ones, and limits where nothing is predicted."""
    of_part, by_limit = attrgetter(part), by_limits(snapshot)

    def left_ms(job: Allocation | WaitingJob) -> int | None:
        found = predicted(job.name if isinstance(job, WaitingJob) else job.job)
        if found is None:
            return by_limit(job)
        if isinstance(job, WaitingJob):
            return int(of_part(found))
        return max(0, int(of_part(found)) - max(0, snapshot.now_ms - job.since_ms))

    return left_ms
