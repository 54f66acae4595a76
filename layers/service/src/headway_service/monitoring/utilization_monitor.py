"""Watches the use of running jobs: keeps their alarms, and takes measures where these fire.

What is decided goes by what the alarms and the ledger say. Each run brings the alarms in line with the attempts that
train now, so whatever was lost in between, an alarm that is missing or left over is so for a minute. What fires is read
afresh before a measure is taken, so a message that comes late, twice or not at all does no harm.

While nothing that trains is to be watched, a watcher that has found no alarm does not ask again for a while, as each
question is billed. That is all it remembers; another one may make an alarm meanwhile, so it does ask again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from headway.jobpolicy.utilization import Alarm, Coverage
from headway.lifecycle import AttemptState
from headway_service.admission.coverage import coverage_of
from headway_service.config.document import Configuration
from headway_service.errors import Busy, Conflict
from headway_service.observability.logging import logger
from headway_service.ports.alarms import Alarms
from headway_service.ports.messaging import Wake
from headway_service.ports.table import Table
from headway_service.store import policy_actions as measures
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger
from headway_service.store.records.attempt import AttemptRecord
from headway_service.store.repository import find_attempt, find_job, find_request

MAX_PUTS = 60
"""Alarms that one run makes; the next one goes on. PutMetricAlarm is throttled at three a second (service quota)."""

MAX_ALARMS = 4000
"""Alarms of one queue: an account has 5000 in a region (service quota)."""

REST_MS = 3_600_000
"""For so long nobody asks for alarms after none was there, while none is wanted."""

_MAX_NAMED = 10
"""Attempts that lack alarms which one line of the log names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchReport:
    """What a run did.

    Attributes:
        made: alarms made or changed.
        removed: alarms removed.
        missing: alarms that are wanted and not there yet.
        measures: attempts that a measure was taken on.
    """

    made: int
    removed: int
    missing: int
    measures: int


class Watcher:
    """Watches all attempts.

    Args:
        table: the table.
        alarms: the alarms.
        configuration: what is watched, and what is done.
        clock: now, ms since the epoch.
        wake: asks for a tick, which stops what is to stop.
    """

    def __init__(
        self,
        *,
        table: Table,
        alarms: Alarms,
        configuration: Callable[[], Configuration],
        clock: Callable[[], int],
        wake: Wake,
    ) -> None:
        self._table = table
        self._alarms = alarms
        self._configuration = configuration
        self._clock = clock
        self._wake = wake
        #: When no alarm was there and none was wanted, ms; None if that is not how it was found last.
        self._none_there_ms: int | None = None

    def run(self) -> WatchReport:
        """Bring the alarms in line, and look at all that fire.

        Raises:
            Busy: the table or CloudWatch is; the next run does the same.
        """
        training = [attempt for attempt in read_ledger(self._table).attempts if _trains(attempt)]
        # Before the first decision there is no configuration yet, nor anything that trains.
        configuration = self._configuration() if training else None
        covered = {each.attempt_name: self._coverage(each, configuration) for each in training if configuration}
        wanted: dict[Alarm, None] = {}
        for attempt in sorted(training, key=lambda each: (each.since_ms, each.attempt_name)):
            wanted |= {alarm: None for each in covered[attempt.attempt_name] for alarm in each.alarms}
        if not wanted and self._rests():
            return WatchReport(made=0, removed=0, missing=0, measures=0)
        # Until this run has seen the contrary: it may be cut off when it has made some.
        self._none_there_ms = None
        there = self._alarms.seen()
        if not wanted and not there:
            self._none_there_ms = self._clock()
        left_over = [each.name for each in there if each.alarm not in wanted]
        self._alarms.delete(left_over)
        known = {each.alarm for each in there}
        missing = [alarm for alarm in wanted if alarm not in known]
        room = max(0, MAX_ALARMS - (len(wanted) - len(missing)))
        made = self._make(missing[: min(room, MAX_PUTS)])
        firing = {each.alarm for each in there if each.firing and each.alarm is not None}
        taken = sum(self._judge(attempt, covered[attempt.attempt_name], firing) for attempt in training)
        report = WatchReport(made=made, removed=len(left_over), missing=len(missing) - made, measures=taken)
        lacking = sorted({alarm.attempt for alarm in missing[made:]})[:_MAX_NAMED]
        logger.info("watched", extra={"made": made, "removed": len(left_over), "measures": taken, "lacking": lacking})
        return report

    def heed(self, alarm_name: str) -> bool:
        """An alarm is said to fire: look at those of its attempt. Returns whether a measure was taken.

        Raises:
            Busy: the table or CloudWatch is; the same may be heeded again.
        """
        name = self._alarms.attempt_of(alarm_name)
        attempt = find_attempt(self._table, name) if name else None
        if attempt is None or not _trains(attempt):
            logger.info("an alarm on an attempt that does not train", extra={"alarm": alarm_name})
            return False
        firing = {each.alarm for each in self._alarms.seen(attempt.attempt_name) if each.firing and each.alarm}
        return self._judge(attempt, self._coverage(attempt, self._configuration()), firing)

    def _rests(self) -> bool:
        """Whether there is no need to ask for alarms, if none is wanted."""
        return self._none_there_ms is not None and self._clock() - self._none_there_ms < REST_MS

    def _make(self, missing: Iterable[Alarm]) -> int:
        made = 0
        for alarm in missing:
            try:
                self._alarms.put(alarm)
            except Busy as error:
                # What fires already must not wait for it.
                logger.warning("an alarm could not be made now", extra={"attempt": alarm.attempt, "error": str(error)})
                break
            made += 1
        return made

    def _judge(self, attempt: AttemptRecord, covered: Iterable[Coverage], firing: Collection[Alarm]) -> bool:
        """Take the measure that the firing alarms of an attempt call for. Returns whether there was any to take."""
        now_ms = self._clock()
        since_ms = attempt.training_since_ms or now_ms
        for each in covered:
            if not (each.says_too_little(firing) and each.watch.is_warm(since_ms, now_ms)):
                continue
            job = find_job(self._table, attempt.job_name)
            if job is None or job.live_attempt != attempt.attempt_name:
                return False
            measure = measures.on_underuse(job, attempt, each.watch)
            if measure is None:
                continue
            try:
                self._table.write(transitions.take_measure(job, attempt, measure, now_ms))
            except Conflict:
                # It has changed since it was read, perhaps it has ended: the next run looks again.
                return False
            logger.info(
                "a measure was taken",
                extra={"job": job.job_name, "attempt": attempt.attempt_name, "cause": measure.cause},
            )
            if measure.cause is not None:
                self._wake(f"{attempt.attempt_name} is to stop")
            return True
        return False

    def _coverage(self, attempt: AttemptRecord, configuration: Configuration) -> tuple[Coverage, ...]:
        request = find_request(self._table, attempt.job_name)
        return coverage_of(attempt, request, configuration) if request is not None else ()


def _trains(attempt: AttemptRecord) -> bool:
    """Whether it trains, and nobody has asked it to stop."""
    return attempt.attempt_state is AttemptState.LIVE and attempt.training_since_ms is not None
