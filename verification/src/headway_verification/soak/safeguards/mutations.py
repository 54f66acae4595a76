"""The safeguards that maintain the invariants, and how to disable each: a soak test has to detect the removal."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from headway.lifecycle import AttemptState
from headway.model import Calendar
from headway.plan import Start
from headway.refusals import Cause, NoInstances
from headway.scheduling.placement import commit
from headway_service.aws import cloudwatch_alarms, sagemaker_training_jobs
from headway_service.errors import NothingToStop, OutcomeUnknown
from headway_service.events import publisher
from headway_service.launching import decision, executor, launcher, proofs, stops
from headway_service.monitoring import utilization_monitor
from headway_service.reuse import twins
from headway_service.scheduling import dependants
from headway_service.store import policy_actions, transitions
from headway_service.store.records.capacity.attempt import NOBODY, AttemptRecord
from headway_service.store.records.capacity.ledger import CalendarRecord
from headway_service.store.records.capacity.training_plan import Block
from headway_service.store.records.job import JobRecord
from headway_service.store.transitions import (
    attempt,
    dependency,
    job,
    ledger,
    request_change,
    reuse,
    rogue_job,
    warm_pool,
)
from headway_service.tracking import attempt_checks, observer, reconciler, rogue_jobs, rogue_scan, warm_pools
from headway_verification.soak import deployment

_MODULES = (attempt, dependency, job, ledger, request_change, reuse, rogue_job, warm_pool)
"""The modules of transitions."""


_BROKEN = (AttributeError, ImportError, NameError, TypeError)
"""How a replacement fails that does not fit the code any more: nothing is learnt from what follows."""


@contextmanager
def _replaced(target: Any, name: str, value: Any) -> Iterator[None]:
    """Replace a name in the code, and raise such errors of the replacement, which the code may have hidden."""
    broken: list[Exception] = []

    def replacement(*args: Any, **kwargs: Any) -> Any:
        try:
            return value(*args, **kwargs)
        except _BROKEN as error:
            broken.append(error)
            raise

    with mock.patch.object(target, name, replacement if inspect.isfunction(value) else value):
        yield
    if broken:
        raise broken[0]


@dataclass(frozen=True)
class Patch:
    """A safeguard that is not a condition of a write: a name in the code, and its replacement.

    Attributes:
        target: the module or class.
        name: the name in it.
        value: its value without the safeguard.
        raises: whether the safeguard matters only if it raises an error.
    """

    target: Any
    name: str
    value: Any
    raises: bool = False

    def removed(self) -> AbstractContextManager[Any]:
        """Return a context with the safeguard disabled.

        Its exit raises what a replacement has raised that does not fit the code any more.
        """
        return _replaced(self.target, self.name, self.value)

    def watched(self, used: Callable[[], None]) -> AbstractContextManager[Any]:
        """Return a context that reports uses of the safeguard: its calls, or always if it is not a function."""
        whole = inspect.getattr_static(self.target, self.name)
        if not inspect.isfunction(whole):
            used()
            return nullcontext()

        def watched(*args: Any, **kwargs: Any) -> Any:
            if not self.raises:
                used()
            try:
                return whole(*args, **kwargs)
            except Exception:
                used()
                raise

        return mock.patch.object(self.target, self.name, watched)


@dataclass(frozen=True)
class Omission(Patch):
    """Writes of a transition helper that one of its callers omits.

    Attributes:
        function: the caller.
    """

    function: str = ""

    def removed(self) -> AbstractContextManager[Any]:
        """See :class:`Patch`."""
        whole = getattr(self.target, self.name)

        def omitted(*args: Any) -> Any:
            return [] if self._is_caller() else whole(*args)

        return mock.patch.object(self.target, self.name, omitted)

    def watched(self, used: Callable[[], None]) -> AbstractContextManager[Any]:
        """See :class:`Patch`."""
        return super().watched(lambda: used() if self._is_caller() else None)

    def _is_caller(self) -> bool:
        frame = inspect.currentframe()
        while frame is not None and frame.f_globals is not vars(self.target):
            frame = frame.f_back
        return frame is not None and frame.f_code.co_name == self.function


def _omissions(name: str, what: str) -> dict[str, Patch]:
    """Return a patch for each transition that calls the helper."""
    return {
        f"{function}: {what}": Omission(module, name, None, function=function)
        for module in _MODULES
        for function, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and name in value.__code__.co_names
    }


def _launch_first(whole: Any = executor.Executor._write) -> Patch:
    """SageMaker is called before the intent is written."""

    def write(self: Any, action: Any, intent: Any) -> None:
        if isinstance(action, Start):
            self._launcher.create(intent.attempt)
        whole(self, action, intent)

    return Patch(executor.Executor, "_write", write)


def _unknown_outcome_is_failed(whole: Any = proofs.Proofs.of_call) -> Patch:
    """A launch without an answer counts as failed."""

    def of_call(self: Any, attempt: Any, launch: Any, now_ms: int) -> Any:
        try:
            return whole(self, attempt, launch, now_ms)
        except OutcomeUnknown:
            failed = NoInstances(cause=Cause.UNANSWERED, launched_ms=attempt.since_ms, known_ms=now_ms)
            return proofs.NotLaunched(launch=failed)

    return Patch(proofs.Proofs, "of_call", of_call)


def _applied_before_settlement() -> Patch:
    """An event or answer is applied before the launch is settled."""
    whole = observer.Observer._attempt

    def attempt(self: Any, name: str) -> Any:
        found = whole(self, name)
        if found is not None and found.attempt_state is AttemptState.LAUNCHING:
            return found.model_copy(update={"attempt_state": AttemptState.LIVE})
        return found

    return Patch(observer.Observer, "_attempt", attempt)


def _retried_in_paused_pool() -> Patch:
    """A launch found in a paused pool is retried, as in any other pool."""
    return Patch(launcher.Launcher, "_is_to_launch", lambda _, attempt: attempt.stop_cause is None)


def _unordered_events() -> Patch:
    """Several events of one job are sent concurrently."""

    def together(news: Sequence[Any]) -> Iterator[list[Any]]:
        for i in range(0, len(news), publisher.MAX_SENT):
            yield list(news[i : i + publisher.MAX_SENT])

    return Patch(publisher, "_together", together)


def _rejected_entries_dropped(whole: Any = publisher.EventPublisher.publish) -> Patch:
    """Rejected entries are not delivered again."""

    def publish(self: Any, records: Any) -> Any:
        return replace(whole(self, records), failed_from=None)

    return Patch(publisher.EventPublisher, "publish", publish)


def _alarm_not_read_again() -> Patch:
    """An alarm message is acted on without reading the alarm, however old it is."""
    whole = utilization_monitor.UtilizationMonitor._judge

    def on_alarm(self: Any, alarm_name: str) -> Any:
        item = self._table.get(AttemptRecord.key(self._alarms.attempt_of(alarm_name)))
        attempt = AttemptRecord.parse(item) if item else None
        if attempt is None or attempt.attempt_state is not AttemptState.LIVE:
            return None
        covered = self._coverage(attempt, self._configuration())
        return whole(self, attempt, covered, {alarm for each in covered for alarm in each.alarms})

    return Patch(utilization_monitor.UtilizationMonitor, "on_alarm", on_alarm)


def _moved_again() -> Patch:
    """A job that already runs on demand is moved to on-demand instances again."""
    whole = policy_actions.on_interruption

    def on_interruption(job: Any, interruptions: int, most: int | None) -> Any:
        return whole(job.model_copy(update={"on_demand": False}), interruptions, most)

    return Patch(policy_actions, "on_interruption", on_interruption)


def _first_call_forgotten(whole: Any = transitions.take_lease) -> Patch:
    """A process that takes over a launch assumes that CreateTrainingJob was not called before."""

    def take_lease(attempt: Any, holder: str, lease_until_ms: int) -> Any:
        return whole(attempt.model_copy(update={"lease_holder": NOBODY}), holder, lease_until_ms)

    return Patch(transitions, "take_lease", take_lease)


def _missing_once_is_ended() -> Patch:
    """A single "not found" answer ends a live attempt."""
    whole = observer.Observer._attempt

    def attempt(self: Any, name: str) -> Any:
        found = whole(self, name)
        return found and found.model_copy(update={"missing_since_ms": 0})

    return Patch(observer.Observer, "_attempt", attempt)


def _refused_stop_counts_as_sent() -> Patch:
    """A refused StopTrainingJob counts as sent."""

    def stop(self: Any, attempt: Any, now_ms: int) -> bool:
        with suppress(NothingToStop):
            self._training_jobs.stop(attempt.attempt_name)
        self._table.write(transitions.stop_sent(attempt, now_ms))
        return True

    return Patch(stops.Stops, "stop", stop)


def _create_retried(whole: Any = sagemaker_training_jobs.SageMakerTrainingJobs.create) -> Patch:
    """A retry hides the result of the first try."""

    def create(self: Any, request: Any) -> None:
        try:
            whole(self, request)
        except OutcomeUnknown:
            whole(self, request)

    return Patch(sagemaker_training_jobs.SageMakerTrainingJobs, "create", create)


def _every_training_job_is_ours() -> Patch:
    """A training job of an attempt's name counts as the attempt."""

    def ask(self: Any, attempt: Any) -> Any:
        status = self._training_jobs.describe(attempt.attempt_name)
        return proofs.Missing() if status is None else proofs.Found(status=status)

    return Patch(proofs.Proofs, "_ask", ask)


PATCHES: dict[str, Patch] = {
    **_omissions("allocate", "takes instances from the pools"),
    **_omissions("return_instances", "returns instances, or takes those of a rogue job"),
    **_omissions("leave_queue", "removes the job from the queue"),
    "an unfinished launch in a paused pool is not retried": _retried_in_paused_pool(),
    "a held job does not start": Patch(job, "_require_released", lambda _: None, raises=True),
    "a job starts as it was decided": Patch(decision, "_require_unchanged", lambda *_: None, raises=True),
    "a start that is carried out late fits later sizes": Patch(decision, "crosses", lambda *_, **__: False),
    "what exceeds the size of a pool that stops it is stopped": Patch(commit, "excess", lambda *_: ()),
    "the instances of a training plan are not used to its end": Patch(
        Block, "usable_until_ms", property(lambda block: block.end_ms)
    ),
    "what starts fits later sizes": Patch(CalendarRecord, "calendar", lambda *_: Calendar(changes=())),
    "a team is kept for a job that is released": Patch(job, "keep_team", lambda *_: []),
    "a team is kept for a job that enters its queue": Patch(dependency, "keep_team", lambda *_: []),
    "the dependants of a job are notified of its end": Patch(JobRecord, "ended", lambda _: []),
    "outputs are filled in before a job starts": Patch(dependants.DependantNotifier, "_fill_in", lambda *_: None),
    "a job whose dependency cannot be met ends": Patch(dependants, "is_met", lambda *_: True),
    "a job whose inputs were written while it ran answers nobody": Patch(
        twins, "_require_unchanged", lambda *_: None, raises=True
    ),
    "the intent is written before SageMaker is called": _launch_first(),
    "the owner of a name in use is checked: always ours": _every_training_job_is_ours(),
    "the owner of a name in use is checked: never ours": Patch(
        proofs.Proofs, "_shown", lambda *_, **__: proofs.Missing()
    ),
    "a launch that is not visible may become visible": Patch(proofs, "is_proven", lambda *_: True),
    "a launch without an answer is recorded": _first_call_forgotten(),
    "a live attempt that is missing once has not ended": _missing_once_is_ended(),
    "instances that SageMaker keeps warm stay charged": Patch(observer, "left_by", lambda *_, **__: None),
    "a warm pool that is not shown once may exist": Patch(warm_pools, "is_proven", lambda *_: True),
    "a stop is recorded as sent only if it was": _refused_stop_counts_as_sent(),
    "CreateTrainingJob is sent once": _create_retried(),
    "a launch without an answer stays an intent": _unknown_outcome_is_failed(),
    "events before a launch is settled are ignored": _applied_before_settlement(),
    "lost events are recovered by describing training jobs": Patch(
        attempt_checks.AttemptChecks, "describe", lambda *_, **__: None
    ),
    "a training job whose listing differs from the record is described": Patch(
        reconciler, "find_unchanged", lambda attempts, *_, **__: attempts
    ),
    "a lost wake-up is recovered every minute": Patch(deployment, "EVERY_MINUTE", ("patrol", "watch")),
    "an alarm is read again before a job is stopped": _alarm_not_read_again(),
    "an orphaned alarm is deleted": Patch(cloudwatch_alarms.CloudWatchAlarms, "delete", lambda *_: None),
    "a job on on-demand instances is not moved again": _moved_again(),
    "an attempt of the queue is not a rogue job": Patch(rogue_jobs.RogueJobTracker, "_attempt", lambda *_: None),
    "a training job without an event is found in the listing": Patch(rogue_scan, "scan", lambda *_, **__: ()),
    "events of one job are published in order": _unordered_events(),
    "events that could not be published are retried": _rejected_entries_dropped(),
}
"""The safeguards that are not conditions of writes, by what they guarantee."""

_OUTLIVES = "a pool's ledger entry outlives all its holds; only a manual deletion could reveal the condition"
_INSERTED_ONCE = (
    "The stream's filter and the publisher take insertions of digests only, so a second write of one is not published; "
    "the condition keeps the stored digest the published one."
)
_DELETED = "the job is read after its attempt, and changes of the attempt alone are deleted with it"
_IS_FINAL = "an end is final, regardless of other changes of the attempt since it was read"
_STAYS_PAUSED = "a pause of all pools that ended in the meantime begins again, as requested"
_CHANGES_JOB = "a write of an attempt also changes its job, whose version is a condition of the same write"
_FREES_MORE = "a preemption for more than the preemptor still demands stops a job without need, and breaks no invariant"
_DESCRIBED_AGAIN = "the next run describes the plan again, and stores what has changed"
_MADE_AGAIN = (
    "each tick makes the calendars again before it decides, and a start requires the version of the calendar that "
    "decided it; an older calendar under that version takes three ticks at once, of which trials have two"
)
_MAY_COME_AFTER = "a resume in progress when a pause begins may equally follow it"

_IS_A_BOUND = "a count only lets jobs in, and a limit that is passed until the next count breaks no invariant"
_EITHER_ANSWERS = "the job that computes meanwhile computes the same, so the outputs of either answer equal jobs"

REASONS: dict[tuple[str, str, str], str] = {
    ("note_outputs", "reuse", "has the jobName that was read"): _EITHER_ANSWERS,
    ("QueueCounts._write", "count", "has the countedMs that was read"): _IS_A_BOUND,
    **dict.fromkeys(
        [
            (function, "pool", "exists")
            for function in (
                *("back_off", "defer_launch", "free", "end", "update_rogue", "forget_rogue"),
                *("start", "end_warm_pool", "swap_warm_pools", "adopt_rogue", "begin_to_count_pauses"),
            )
        ],
        _OUTLIVES,
    ),
    ("WeeklyDigests._write", "digest", "does not exist"): _INSERTED_ONCE,
    ("end", "attempt", "has the version that was read"): _IS_FINAL,
    ("defer_launch", "attempt", "has the version that was read"): _DELETED,
    ("change_pause", "pause of all", "has the sinceMs that was read"): _STAYS_PAUSED,
    ("adopt", "attempt", "does not exist"): _CHANGES_JOB,
    ("preempt", "line", "has the demand that was read"): _FREES_MORE,
    ("set_plan", "plan", "does not exist"): _DESCRIBED_AGAIN,
    ("set_plan", "plan", "has the version that was read"): _DESCRIBED_AGAIN,
    ("set_calendar", "calendar", "does not exist"): _MADE_AGAIN,
    ("set_calendar", "calendar", "has the version that was read"): _MADE_AGAIN,
    ("remove_calendar", "calendar", "has the version that was read"): _MADE_AGAIN,
    ("resume", "pause", "has the sinceMs that was read"): _MAY_COME_AFTER,
    ("resume", "pause of all", "has the sinceMs that was read"): _MAY_COME_AFTER,
}
"""Conditions whose removal cannot be detected, by function, item and condition of their places, and why."""
