"""What keeps the promises, and how each of it is switched off: a soak that cannot miss it proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from headway.lifecycle import AttemptState
from headway.plan import Start
from headway.reasons import ReasonCode
from headway_sandbox.soak import queue
from headway_service import (
    alarms,
    launching,
    measures,
    observation,
    patrol,
    reconcile,
    rogues,
    telling,
    tick,
    transitions,
    watching,
)
from headway_service.errors import Unclear
from headway_service.ledger import Ledger
from headway_service.memory import MemoryTable
from headway_service.ports import Absent, AllEqual, AtLeast, Check, Equals, Write
from headway_service.records import AttemptRecord

Switch = Callable[[], Any]


def _without(drop: Callable[[Write], bool]) -> Switch:
    """A table that forgets some conditions."""
    whole = MemoryTable.write

    def write(self: MemoryTable, writes: Sequence[Write]) -> None:
        kept = [each for each in writes if not (isinstance(each, Check) and drop(each))]
        whole(self, [each if isinstance(each, Check) or not drop(each) else _bare(each) for each in kept])

    return lambda: mock.patch.object(MemoryTable, "write", write)


def _bare(write: Write) -> Write:
    return replace(write, requires=None)  # type: ignore[arg-type]


def _on(prefix: str, condition: type[object], attribute: str = "") -> Callable[[Write], bool]:
    """Conditions of one kind on items of one kind."""

    def drop(write: Write) -> bool:
        key = write.key
        about = key.sk if key.pk == "ledger" else f"{key.pk.partition('#')[0]}#{key.sk}"
        requires = write.requires
        if not about.startswith(prefix) or not isinstance(requires, condition):
            return False
        return not attribute or getattr(requires, "attribute", "") == attribute

    return drop


def _patch(target: Any, name: str, value: Any) -> Switch:
    return lambda: mock.patch.object(target, name, value)


def _launch_first(whole: Any = tick.Ticker._write) -> Switch:
    """SageMaker is called before the intent is written."""

    def write(self: Any, action: Any, ledger: Any, report: Any) -> Any:
        if isinstance(action, Start):
            job = self._job(action.job)
            attempt = self._attempt(job, self._clock())
            with mock.patch.object(self, "_attempt", return_value=attempt):
                self._launcher._training_jobs.create(self._launcher._request(attempt))
                return whole(self, action, ledger, report)
        return whole(self, action, ledger, report)

    return _patch(tick.Ticker, "_write", write)


def _unclear_is_failed() -> Switch:
    """A launch without an answer counts as not made."""
    whole = launching.Launcher._launch

    def launch(self: Any, attempt: Any, now_ms: int) -> bool:
        try:
            return whole(self, attempt, now_ms)
        except Unclear:
            self._postpone(attempt, ReasonCode.LAUNCH_POSTPONED, "?", now_ms, name_is_free=True)
            return False

    return _patch(launching.Launcher, "_launch", launch)


def _any_lease() -> Switch:
    def pending(_: Any, attempt: Any, __: int) -> bool:
        launch = attempt.attempt_state is AttemptState.LAUNCHING
        return launch or (attempt.attempt_state is AttemptState.STOPPING and attempt.stop_sent_ms is None)

    return _patch(launching.Launcher, "pending", pending)


def _observed_too_early() -> Switch:
    """What is heard of a name counts before the launch is settled."""
    whole = observation.Observer._attempt

    def attempt(self: Any, name: str) -> Any:
        found = whole(self, name)
        if found is not None and found.attempt_state is AttemptState.LAUNCHING:
            return found.model_copy(update={"attempt_state": AttemptState.LIVE})
        return found

    return _patch(observation.Observer, "_attempt", attempt)


def _launched_anyway() -> Switch:
    """A launch that is found in a paused pool is tried again, as in any other."""
    return _patch(launching.Launcher, "_withdraw", lambda self, attempt, now_ms: self._launch(attempt, now_ms))


def _all_at_once() -> Switch:
    """Several changes of one job are sent at once."""

    def together(news: Sequence[Any]) -> Iterator[list[Any]]:
        for i in range(0, len(news), telling.MAX_SENT):
            yield list(news[i : i + telling.MAX_SENT])

    return _patch(telling, "_together", together)


def _told_is_told(whole: Any = telling.Teller.tell) -> Switch:
    """What was not taken does not come again."""

    def tell(self: Any, records: Any) -> Any:
        return replace(whole(self, records), failed_from=None)

    return _patch(telling.Teller, "tell", tell)


def _believed() -> Switch:
    """What a message says of an alarm is believed, however old it is."""
    whole = watching.Watcher._judge

    def heed(self: Any, alarm_name: str) -> bool:
        item = self._table.get(AttemptRecord.key(self._alarms.attempt_of(alarm_name)))
        attempt = AttemptRecord.parse(item) if item else None
        if attempt is None or attempt.attempt_state is not AttemptState.LIVE:
            return False
        covered = self._coverage(attempt, self._configuration())
        return whole(self, attempt, covered, {alarm for each in covered for alarm in each.alarms})

    return _patch(watching.Watcher, "heed", heed)


def _moved_again() -> Switch:
    """Also a job that runs on demand is moved to instances on demand."""
    whole = measures.on_interruption

    def on_interruption(job: Any, interruptions: int, most: int | None) -> Any:
        return whole(job.model_copy(update={"on_demand": False}), interruptions, most)

    return _patch(measures, "on_interruption", on_interruption)


_NOTHING = Ledger(pools=(), attempts=(), reservations=())

SAFEGUARDS: dict[str, Switch] = {
    "a start needs its instances to be free": _without(_on("pool#", AtLeast)),
    "a change of a job needs the version that was read": _without(_on("job#job", Equals, "version")),
    "a change of an attempt needs the version that was read": _without(_on("attempt#", Equals, "version")),
    "a new attempt needs its name to be unused": _without(_on("attempt#", Absent)),
    "a new job needs its name to be unused": _without(_on("job#job", Absent)),
    "a preemption needs its preemptor to stand in line": _without(_on("line#", Equals, "jobName")),
    "what is decided before a pause takes no effect after it": _without(_on("pause#", Absent)),
    "a launch that was left behind in a paused pool is not made": _launched_anyway(),
    "nobody is stopped for a drain that is over": _without(_on("pause#", Equals, "sinceMs")),
    "a held job does not start": _patch(transitions, "_require_released", lambda _: None),
    "a team is kept for a job that is released": _patch(transitions, "_keep_team", lambda *_: []),
    "a grown reservation needs the version that was read": _without(_on("reservation#", Equals, "version")),
    "a first reservation needs that there is none": _without(_on("reservation#", Absent)),
    "a start of a limited team needs that it was the only one": _without(_on("team#", Equals, "starts")),
    "a team is removed only if it has not come back": _without(_on("team#", Equals, "leftMs")),
    "a pool is added only if it is not there": _without(_on("pool#", Absent)),
    "a resize needs the size that was read": _without(_on("pool#", Equals, "size")),
    "pools and teams are changed only for the configuration that is noted": _without(
        _on("config#config", Equals, "version")
    ),
    "a pool is removed only if nothing uses it": _without(_on("pool#", AllEqual)),
    "the intent is written before SageMaker is called": _launch_first(),
    "a name in use is asked whose it is: always ours": _patch(launching.Launcher, "_is_ours", lambda *_: True),
    "a name in use is asked whose it is: never ours": _patch(launching.Launcher, "_is_ours", lambda *_: False),
    "a launch without an answer stays an intent": _unclear_is_failed(),
    "a launch is settled by the holder of its lease only": _any_lease(),
    "what is heard before a launch is settled does not count": _observed_too_early(),
    "lost events are made good by asking": _patch(reconcile, "read_ledger", lambda _: _NOTHING),
    "who is not listed as it is known is described": _patch(
        reconcile, "unchanged", lambda attempts, *_, **__: attempts
    ),
    "a lost wake-up is made good each minute": _patch(queue, "EVERY_MINUTE", ("patrol", "watch")),
    "an alarm is read again before anybody is stopped": _believed(),
    "an alarm that is left over is removed": _patch(alarms.CloudWatchAlarms, "delete", lambda *_: None),
    "who goes on on demand is not moved again": _moved_again(),
    "a rogue job is put down once": _without(_on("rogue#", Absent)),
    "a change of a rogue job needs the version that was read": _without(_on("rogue#", Equals, "version")),
    "an attempt of the queue is no rogue job": _patch(rogues.Rogues, "_is_attempt", lambda *_: False),
    "what no event has told of is found in the list": _patch(patrol, "sweep", lambda *_, **__: ()),
    "what is freed for a job is given back": _patch(transitions, "_give", lambda _: []),
    "instances are taken from the ledger": _patch(transitions, "_take", lambda _: []),
    "who starts leaves the line": _patch(transitions, "_leave_line", lambda _: []),
    "changes of one job are told one after the other": _all_at_once(),
    "changes that could not be told come again": _told_is_told(),
}
"""By what it guarantees. Each gives a context in which it does not hold."""


@contextmanager
def switched_off(name: str) -> Iterator[None]:
    """Without one of them."""
    with SAFEGUARDS[name]():
        yield
