"""What keeps the promises, and how each of it is switched off: a soak that cannot miss it proves nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from headway.lifecycle import AttemptState
from headway.plan import Start
from headway.reasons import Reason, ReasonCode
from headway_service.aws import cloudwatch_alarms, sagemaker_training_jobs
from headway_service.errors import Conflict, NothingToStop, OutcomeUnknown
from headway_service.events import publisher
from headway_service.monitoring import utilization_monitor
from headway_service.scheduling import executor, launcher
from headway_service.store import policy_actions, transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.attempt import NOBODY, AttemptRecord
from headway_service.store.transitions import attempt, job, ledger, unmanaged_job
from headway_service.tracking import observer, reconciler, unmanaged_jobs, unmanaged_scan
from headway_verification.soak import deployment

_MODULES = (attempt, job, ledger, unmanaged_job)
"""Of transitions."""


@dataclass(frozen=True)
class Patch:
    """A safeguard that is not a condition of a write: a name in the code, and its replacement.

    Attributes:
        target: the module or class.
        name: in it.
        value: its value without the safeguard.
        raises: whether it matters only where it raises an error.
    """

    target: Any
    name: str
    value: Any
    raises: bool = False

    def removed(self) -> AbstractContextManager[Any]:
        """The code without it."""
        return mock.patch.object(self.target, self.name, self.value)

    def watched(self, used: Callable[[], None]) -> AbstractContextManager[Any]:
        """The original code: a removed function matters when it is called; other values may always matter."""
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
    """Writes of a helper of transitions that one of the functions leaves out.

    Attributes:
        function: that leaves them out.
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
    """One for each transition that calls a helper."""
    return {
        f"{function}: {what}": Omission(module, name, None, function=function)
        for module in _MODULES
        for function, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and name in value.__code__.co_names
    }


def _launch_first(whole: Any = executor.Executor._write) -> Patch:
    """SageMaker is called before the intent is written."""

    def write(self: Any, action: Any, decision: Any) -> Any:
        if isinstance(action, Start):
            job = self._job(action.job)
            attempt = self._attempt(job, self._clock())
            with mock.patch.object(self, "_attempt", return_value=attempt):
                self._launcher._training_jobs.create(self._launcher._request(attempt))
                return whole(self, action, decision)
        return whole(self, action, decision)

    return Patch(executor.Executor, "_write", write)


def _unclear_is_failed() -> Patch:
    """A launch without an answer counts as not made."""
    whole = launcher.Launcher._launch

    def launch(self: Any, attempt: Any, now_ms: int) -> bool:
        try:
            return whole(self, attempt, now_ms)
        except OutcomeUnknown:
            reason = Reason(code=ReasonCode.LAUNCH_POSTPONED, message="?")
            self._postpone(attempt, reason, now_ms, name_is_free=True)
            return False

    return Patch(launcher.Launcher, "_launch", launch)


def _observed_too_early() -> Patch:
    """A status counts before the launch is reconciled."""
    whole = observer.Observer._attempt

    def attempt(self: Any, name: str) -> Any:
        found = whole(self, name)
        if found is not None and found.attempt_state is AttemptState.LAUNCHING:
            return found.model_copy(update={"attempt_state": AttemptState.LIVE})
        return found

    return Patch(observer.Observer, "_attempt", attempt)


def _launched_anyway() -> Patch:
    """A launch that is found in a paused pool is tried again, as in any other."""
    return Patch(launcher.Launcher, "_cancel_for_pause", lambda self, attempt, now_ms: self._launch(attempt, now_ms))


def _all_at_once() -> Patch:
    """Several changes of one job are sent at once."""

    def together(news: Sequence[Any]) -> Iterator[list[Any]]:
        for i in range(0, len(news), publisher.MAX_SENT):
            yield list(news[i : i + publisher.MAX_SENT])

    return Patch(publisher, "_together", together)


def _told_is_told(whole: Any = publisher.EventPublisher.publish) -> Patch:
    """Rejected events are not sent again."""

    def publish(self: Any, records: Any) -> Any:
        return replace(whole(self, records), failed_from=None)

    return Patch(publisher.EventPublisher, "publish", publish)


def _believed() -> Patch:
    """The state of an alarm in a message is used, however old it is."""
    whole = utilization_monitor.UtilizationMonitor._judge

    def on_alarm(self: Any, alarm_name: str) -> bool:
        item = self._table.get(AttemptRecord.key(self._alarms.attempt_of(alarm_name)))
        attempt = AttemptRecord.parse(item) if item else None
        if attempt is None or attempt.attempt_state is not AttemptState.LIVE:
            return False
        covered = self._coverage(attempt, self._configuration())
        return whole(self, attempt, covered, {alarm for each in covered for alarm in each.alarms})

    return Patch(utilization_monitor.UtilizationMonitor, "on_alarm", on_alarm)


def _moved_again() -> Patch:
    """Also a job that runs on demand is moved to instances on demand."""
    whole = policy_actions.on_interruption

    def on_interruption(job: Any, interruptions: int, most: int | None) -> Any:
        return whole(job.model_copy(update={"on_demand": False}), interruptions, most)

    return Patch(policy_actions, "on_interruption", on_interruption)


def _answered(whole: Any = transitions.take_lease) -> Patch:
    """An invocation that takes over a launch assumes that CreateTrainingJob was not called before."""

    def take_lease(attempt: Any, holder: str, lease_until_ms: int) -> Any:
        return whole(attempt.model_copy(update={"lease_holder": NOBODY}), holder, lease_until_ms)

    return Patch(transitions, "take_lease", take_lease)


def _conflict(*_: Any) -> Any:
    raise Conflict([0])


def _missing_is_gone() -> Patch:
    """One answer that there is no such training job ends a live attempt."""
    whole = observer.Observer._attempt

    def attempt(self: Any, name: str) -> Any:
        found = whole(self, name)
        return found and found.model_copy(update={"missing_since_ms": 0})

    return Patch(observer.Observer, "_attempt", attempt)


def _stop_believed() -> Patch:
    """A refused StopTrainingJob counts as sent."""

    def stop(self: Any, attempt: Any, now_ms: int) -> bool:
        with suppress(NothingToStop):
            self._training_jobs.stop(attempt.attempt_name)
        self._table.write(transitions.stop_sent(attempt, now_ms))
        return True

    return Patch(launcher.Launcher, "_stop", stop)


def _sent_again(whole: Any = sagemaker_training_jobs.SageMakerTrainingJobs.create) -> Patch:
    """A retry hides what became of the first try."""

    def create(self: Any, request: Any) -> None:
        try:
            whole(self, request)
        except OutcomeUnknown:
            whole(self, request)

    return Patch(sagemaker_training_jobs.SageMakerTrainingJobs, "create", create)


_NOTHING = Ledger(pools=(), attempts=(), reservations=())

PATCHES: dict[str, Patch] = {
    **_omissions("take_instances", "takes instances from the pools"),
    **_omissions("return_instances", "gives instances back, or takes what a rogue job holds"),
    **_omissions("_leave_queue", "takes the job out of the lines"),
    "a launch that was left behind in a paused pool is not made": _launched_anyway(),
    "a held job does not start": Patch(job, "_require_released", lambda _: None, raises=True),
    "a team is kept for a job that is released": Patch(job, "_keep_team", lambda *_: []),
    "the intent is written before SageMaker is called": _launch_first(),
    "a name in use is asked whose it is: always ours": Patch(launcher.Launcher, "_find", lambda *_, **__: True),
    "a name in use is asked whose it is: never ours": Patch(launcher.Launcher, "_find", lambda *_, **__: False),
    "a launch that is not shown may be shown later": Patch(launcher, "is_proven", lambda *_: True),
    "a launch whose answer nobody knows is noted": _answered(),
    "what SageMaker has accepted is noted though its job has changed": Patch(
        launcher.Launcher, "_confirm_changed", _conflict
    ),
    "a live attempt that is missing once has not ended": _missing_is_gone(),
    "a stop is noted as sent only if it was": _stop_believed(),
    "CreateTrainingJob is sent once": _sent_again(),
    "a launch without an answer stays an intent": _unclear_is_failed(),
    "what is heard before a launch is settled does not count": _observed_too_early(),
    "lost events are made good by asking": Patch(reconciler, "read_ledger", lambda _: _NOTHING),
    "who is not listed as it is known is described": Patch(
        reconciler, "find_unchanged", lambda attempts, *_, **__: attempts
    ),
    "a lost wake-up is made good each minute": Patch(deployment, "EVERY_MINUTE", ("patrol", "watch")),
    "an alarm is read again before anybody is stopped": _believed(),
    "an alarm that is left over is removed": Patch(cloudwatch_alarms.CloudWatchAlarms, "delete", lambda *_: None),
    "who goes on on demand is not moved again": _moved_again(),
    "an attempt of the queue is no rogue job": Patch(unmanaged_jobs.UnmanagedJobs, "_attempt", lambda *_: None),
    "what no event has told of is found in the list": Patch(unmanaged_scan, "scan", lambda *_, **__: ()),
    "changes of one job are told one after the other": _all_at_once(),
    "changes that could not be told come again": _told_is_told(),
}
"""The safeguards that are not conditions of writes, by what they guarantee."""

_OUTLIVES = "the ledger of a pool outlives all that is held there; without it, only a deletion by hand would show"
_SAVES_CALLS = "the lease saves calls: each write compares the version that it was made from"
_DELETED = "the job is read after its attempt, and whatever has changed of the attempt alone goes with it"
_IS_FINAL = "an end is final, whatever others have noted of the attempt alone since it was read"
_STAYS_PAUSED = "the pause of everything that ended meanwhile begins again, which is what was asked for"
_CHANGES_JOB = "whoever writes an attempt of a job changes the job, whose version is asked for in the same write"
_MAY_COME_AFTER = "a resume that is under way when a pause begins may as well come after it"

REASONS: dict[tuple[str, str, str], str] = {
    **dict.fromkeys(
        [
            (function, "pool", "exists")
            for function in ("back_off", "defer_launch", "free", "end", "update_unmanaged", "forget_unmanaged")
        ],
        _OUTLIVES,
    ),
    ("ConfigEditor._alone", "lease", "does not exist"): _SAVES_CALLS,
    ("ConfigEditor._alone", "lease", "has the holder that was read"): _SAVES_CALLS,
    ("end", "attempt", "has the version that was read"): _IS_FINAL,
    ("defer_launch", "attempt", "has the version that was read"): _DELETED,
    ("change_pause", "pause of all", "has the sinceMs that was read"): _STAYS_PAUSED,
    ("adopt", "attempt", "does not exist"): _CHANGES_JOB,
    ("resume", "pause", "has the sinceMs that was read"): _MAY_COME_AFTER,
    ("resume", "pause of all", "has the sinceMs that was read"): _MAY_COME_AFTER,
}
"""Conditions that nothing can notice, by function, item and condition of their places, and why."""
