"""When waiting jobs are expected to start, and what a change would do to that: the decisions, run forward."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from headway.errors import HeadwayError
from headway.forecasting.simulation import Event, EventKind, RunTime, Simulation
from headway.model import STOP_MS, Allocation, Snapshot, WaitingJob
from headway.plan import Plan, Preempt, ReleaseWarm, Start
from headway.scheduling.probes import launchable
from headway.scheduling.scheduler import schedule

MAX_FORECAST_STEPS = 2000
"""Simulated steps of a forecast; a job that starts later has no expected start."""


class UnknownEdit(HeadwayError):
    """A change names a job or a pool that the snapshot does not hold.

    Attributes:
        index: which of the changes, from 0 on.
    """

    index = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """When waiting jobs start if no other job is submitted and all run as long as expected."""

    #: By job, ms; None if it does not start within the simulated time, or waits for jobs without a limit.
    starts: Mapping[str, int | None]
    #: How far it was looked ahead, ms; None if to the end.
    until_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Submit:
    """A job enters the queue."""

    job: WaitingJob


@dataclass(frozen=True, kw_only=True, slots=True)
class Cancel:
    """A waiting job leaves the queue."""

    job: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reprioritize:
    """A job, waiting or running, gets another priority."""

    job: str
    priority: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Resize:
    """A pool, perhaps a new one, gets another size."""

    pool: str
    size: int


Edit = Submit | Cancel | Reprioritize | Resize


@dataclass(frozen=True, kw_only=True, slots=True)
class WhatIf:
    """What changes would do."""

    #: What the scheduler would do at once.
    plan: Plan
    before: Forecast
    after: Forecast

    @property
    def starts(self) -> tuple[str, ...]:
        """The jobs that would start at once."""
        return tuple(action.job for action in self.plan.actions if isinstance(action, Start))

    @property
    def preempts(self) -> tuple[str, ...]:
        """The jobs that would be preempted at once."""
        return tuple(action.job for action in self.plan.actions if isinstance(action, Preempt))

    @property
    def releases(self) -> tuple[str, ...]:
        """The jobs whose warm pools would be released at once."""
        return tuple(action.job for action in self.plan.actions if isinstance(action, ReleaseWarm))

    @property
    def moved(self) -> Mapping[str, tuple[int | None, int | None]]:
        """Jobs whose expected start would change: before and after, ms. None if unknown, or not waiting."""
        names = sorted({*self.before.starts, *self.after.starts})
        pairs = {name: (self.before.starts.get(name), self.after.starts.get(name)) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def by_limits(snapshot: Snapshot) -> RunTime:
    """Run times for a forecast: each job runs as long as its limit lets it."""

    def left_ms(job: Allocation | WaitingJob) -> int | None:
        limit_ms = job.terms.limit_ms
        if limit_ms is None or isinstance(job, WaitingJob):
            return limit_ms
        return max(0, job.since_ms + limit_ms - snapshot.now_ms)

    return left_ms


def forecast(
    snapshot: Snapshot,
    run_time: RunTime | None = None,
    *,
    stop_ms: int = STOP_MS,
    steps: int = MAX_FORECAST_STEPS,
    awaited: Collection[str] | None = None,
) -> Forecast:
    """When each waiting job is expected to start. Of those that are unlaunchable, this is not known.

    Args:
        snapshot: the queue as it is.
        run_time: known run times, e.g. from history, ms; for a running job the remaining time. By default the
            limits.
        stop_ms: what a preempted attempt takes to end, ms.
        steps: simulated steps, at most :data:`MAX_FORECAST_STEPS`.
        awaited: the simulation ends when these have started; by default all.
    """
    starts: dict[str, int | None] = dict.fromkeys((job.name for job in snapshot.waiting), None)
    snapshot = launchable(snapshot)

    def note(event: Event) -> None:
        if event.kind is EventKind.PREEMPTED_ENDED:
            starts.setdefault(event.job, None)
        elif event.kind is EventKind.STARTED and starts.get(event.job) is None:
            starts[event.job] = event.time_ms

    course = Simulation(
        snapshot, partial(schedule, explain=False), run_time or by_limits(snapshot), stop_ms=stop_ms, record=note
    )
    course.settle()
    for _ in range(min(steps, MAX_FORECAST_STEPS)):
        if not _lacks(starts, awaited) or not course.step():
            break
    more = _lacks(starts, awaited) and course.next_ms is not None
    return Forecast(starts=starts, until_ms=course.now_ms if more else None)


def _lacks(starts: Mapping[str, int | None], awaited: Collection[str] | None) -> bool:
    """Whether the start of a job that is awaited is not known yet."""
    return None in starts.values() if awaited is None else any(starts.get(name) is None for name in awaited)


def what_if(
    snapshot: Snapshot,
    changes: Iterable[Edit],
    run_time: RunTime | None = None,
    *,
    stop_ms: int = STOP_MS,
    steps: int = MAX_FORECAST_STEPS,
) -> WhatIf:
    """The effect of changes: jobs that start, jobs that are preempted, and changed waits. Nothing is changed.

    Args:
        snapshot: the queue as it is.
        changes: applied in order.
        run_time: as in :func:`forecast`.
        stop_ms: as in :func:`forecast`.
        steps: as in :func:`forecast`.

    Raises:
        UnknownEdit: a change names a job that does not wait or run, or submits one whose name is in use.
    """
    changed = with_edits(snapshot, changes)
    return WhatIf(
        plan=schedule(changed),
        before=forecast(snapshot, run_time, stop_ms=stop_ms, steps=steps),
        after=forecast(changed, run_time, stop_ms=stop_ms, steps=steps),
    )


def with_edits(snapshot: Snapshot, changes: Iterable[Edit]) -> Snapshot:
    """The queue as it would be after changes, applied in order.

    Args:
        snapshot: the snapshot.
        changes: the changes.

    Raises:
        UnknownEdit: as :func:`what_if`.
    """
    for index, change in enumerate(changes):
        try:
            snapshot = _apply(snapshot, change)
        except UnknownEdit as error:
            error.index = index
            raise
    return snapshot


def _apply(snapshot: Snapshot, change: Edit) -> Snapshot:
    waiting = {job.name: job for job in snapshot.waiting}
    holding = {allocation.job for allocation in snapshot.allocations}
    match change:
        case Submit():
            if change.job.name in waiting or change.job.name in holding:
                raise UnknownEdit(f"there is a job `{change.job.name}` already: choose another name")
            return replace(snapshot, waiting=(*snapshot.waiting, change.job))
        case Cancel():
            if change.job not in waiting:
                raise UnknownEdit(f"no job `{change.job}` waits: check the name")
            return replace(snapshot, waiting=tuple(job for job in snapshot.waiting if job.name != change.job))
        case Reprioritize():
            if change.job not in waiting and change.job not in holding:
                raise UnknownEdit(f"no job `{change.job}` waits or runs: check the name")
            return replace(
                snapshot,
                waiting=tuple(
                    replace(job, terms=replace(job.terms, priority=change.priority)) if job.name == change.job else job
                    for job in snapshot.waiting
                ),
                allocations=tuple(
                    replace(each, terms=replace(each.terms, priority=change.priority))
                    if each.job == change.job
                    else each
                    for each in snapshot.allocations
                ),
            )
        case Resize():
            if change.size < 0:
                raise UnknownEdit(f"a pool cannot have {change.size} instances")
            # From then on it has that size.
            calendars = {pool: known for pool, known in snapshot.calendars.items() if pool != change.pool}
            return replace(snapshot, pools={**snapshot.pools, change.pool: change.size}, calendars=calendars)
