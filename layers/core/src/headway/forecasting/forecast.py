"""When waiting jobs are expected to start, and what a change would do to that: the decisions, run forward."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from headway.errors import HeadwayError
from headway.forecasting.members import ArrayToCome, MembersToCome, with_members
from headway.forecasting.simulation import Arrival, Delays, Event, EventKind, RunTime, Simulation
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

    #: By job, ms; None if it does not start within the simulated time, or waits for jobs without a limit. Of members of
    #: arrays those that are jobs, and of an array without any the start of its first one.
    starts: Mapping[str, int | None]
    #: How far it was looked ahead, ms; None if to the end.
    until_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Submit:
    """A job enters the queue."""

    job: WaitingJob


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmitArray:
    """An array is accepted, and its members enter the queue in turn."""

    array: ArrayToCome


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


Edit = Submit | SubmitArray | Cancel | Reprioritize | Resize


@dataclass(frozen=True, kw_only=True, slots=True)
class WhatIf:
    """What changes would do."""

    #: What the scheduler would do at once.
    plan: Plan
    before: Forecast
    after: Forecast
    #: By member of an array that would enter the queue before that, its array; and the arrays after that.
    entering: Mapping[str, str]
    arrays: tuple[ArrayToCome, ...]

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
    arrays: Sequence[ArrayToCome] = (),
    stop_ms: int = STOP_MS,
    steps: int = MAX_FORECAST_STEPS,
    awaited: Collection[str] | None = None,
) -> Forecast:
    """When each waiting job is expected to start. Of those that are unlaunchable, this is not known.

    Args:
        snapshot: the queue as it is.
        run_time: known run times, e.g. from history, ms; for a running job the remaining time. By default the
            limits.
        arrays: those whose members enter the queue as others end.
        stop_ms: what a preempted attempt takes to end, ms.
        steps: simulated steps, at most :data:`MAX_FORECAST_STEPS`.
        awaited: the simulation ends when these have started; by default all.
    """
    starts: dict[str, int | None] = dict.fromkeys((job.name for job in snapshot.waiting), None)
    starts |= dict.fromkeys(array.name for array in arrays if array.is_new)
    starts |= dict.fromkeys(job.name for array in arrays for job in array.set_aside)
    snapshot = launchable(snapshot)
    members = MembersToCome(arrays, snapshot)

    def note(event: Event) -> None:
        array = members.array_of.get(event.job)
        if array is not None and event.job not in starts:
            if event.kind is EventKind.STARTED and starts.get(array, event.time_ms) is None:
                starts[array] = event.time_ms
        elif event.kind is EventKind.PREEMPTED_ENDED:
            starts.setdefault(event.job, None)
        elif event.kind is EventKind.STARTED and starts.get(event.job) is None:
            starts[event.job] = event.time_ms

    course = course_of(
        snapshot,
        members if arrays else None,
        partial(schedule, explain=False),
        run_time or by_limits(snapshot),
        stop_ms=stop_ms,
        record=note,
    )
    course.decide_until_done()
    for _ in range(min(steps, MAX_FORECAST_STEPS)):
        if not _lacks(starts, awaited) or not course.step():
            break
    more = _lacks(starts, awaited) and course.next_ms is not None
    return Forecast(starts=starts, until_ms=course.now_ms if more else None)


def course_of(
    snapshot: Snapshot,
    members: MembersToCome | None,
    decide: Callable[[Snapshot], Plan],
    run_time: RunTime,
    *,
    stop_ms: int = STOP_MS,
    record: Callable[[Event], None] | None = None,
) -> Simulation:
    """The course of a queue that no other job enters than the members of its arrays.

    Args:
        members: of the arrays that make further ones; None for no array.
        decide: makes a decision.
        run_time: as in :func:`forecast`.
        stop_ms: as in :func:`forecast`.
        record: called with each event.
    """

    def follow(present: Collection[str]) -> list[Arrival]:
        entering = [] if members is None else members.enter(present)
        return [Arrival(time_ms=course.now_ms, job=job, run_ms=run_time(job)) for job in entering]

    course = Simulation(
        snapshot,
        decide,
        run_time,
        delays=Delays(stop_ms=stop_ms),
        follow=None if members is None else follow,
        record=record,
    )
    return course


def _lacks(starts: Mapping[str, int | None], awaited: Collection[str] | None) -> bool:
    """Whether the start of a job that is awaited is not known yet."""
    return None in starts.values() if awaited is None else any(starts.get(name) is None for name in awaited)


def what_if(
    snapshot: Snapshot,
    changes: Iterable[Edit],
    run_time: RunTime | None = None,
    *,
    arrays: Sequence[ArrayToCome] = (),
    stop_ms: int = STOP_MS,
    steps: int = MAX_FORECAST_STEPS,
) -> WhatIf:
    """The effect of changes: jobs that start, jobs that are preempted, and changed waits. Nothing is changed.

    Args:
        snapshot: the queue as it is.
        changes: applied in order.
        run_time: as in :func:`forecast`.
        arrays: as in :func:`forecast`.
        stop_ms: as in :func:`forecast`.
        steps: as in :func:`forecast`.

    Raises:
        UnknownEdit: a change names a job that does not wait or run, or submits one whose name is in use.
    """
    changes = list(changes)
    changed, changed_arrays = with_edits(snapshot, changes, arrays)
    decided, entered_arrays, entering = with_members(changed, changed_arrays)
    return WhatIf(
        plan=schedule(decided),
        before=forecast(snapshot, run_time, arrays=arrays, stop_ms=stop_ms, steps=steps),
        after=forecast(changed, run_time, arrays=changed_arrays, stop_ms=stop_ms, steps=steps),
        entering=entering,
        arrays=entered_arrays,
    )


def with_edits(
    snapshot: Snapshot, changes: Iterable[Edit], arrays: Sequence[ArrayToCome] = ()
) -> tuple[Snapshot, tuple[ArrayToCome, ...]]:
    """The queue, and the arrays, as they would be after changes, applied in order.

    Raises:
        UnknownEdit: as :func:`what_if`.
    """
    found = {each.name: each for each in arrays}
    for index, change in enumerate(changes):
        try:
            if isinstance(change, Submit | SubmitArray):
                _require_new(change.job.name if isinstance(change, Submit) else change.array.name, snapshot, found)
            if isinstance(change, SubmitArray):
                found[change.array.name] = change.array
            else:
                snapshot = _apply(snapshot, change)
        except UnknownEdit as error:
            error.index = index
            raise
    return snapshot, tuple(found.values())


def _require_new(name: str, snapshot: Snapshot, arrays: Container[str]) -> None:
    names = {job.name for job in snapshot.waiting} | {each.job for each in snapshot.allocations}
    if name in names or name in arrays:
        raise UnknownEdit(f"there is a job `{name}` already: choose another name")


def _apply(snapshot: Snapshot, change: Submit | Cancel | Reprioritize | Resize) -> Snapshot:
    waiting = {job.name: job for job in snapshot.waiting}
    holding = {allocation.job for allocation in snapshot.allocations}
    match change:
        case Submit():
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
