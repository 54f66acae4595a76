"""Monitors the utilization of running jobs: maintains their alarms, and applies the policy when these fire.

Decisions depend on the alarms and the ledger only. Each run reconciles the alarms with the attempts that train now,
so an alarm is missing or left over for a minute at most. The state of an alarm is read again before the policy is
applied, so a message that arrives late, twice or not at all does no harm.

While no running job is to be monitored and there are no alarms, the monitor does not list alarms for a while, as each
call is billed. It keeps no other state; another instance may make an alarm meanwhile, so it lists them again later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from headway.jobpolicy.utilization import Alarm, Coverage, UtilizationRule
from headway.lifecycle import AttemptState
from headway_service.admission.policy_view import utilization_coverage
from headway_service.config.document import Configuration
from headway_service.errors import AlarmRefused, Conflict, RetryLater, UnreadableRecord
from headway_service.observability.logging import logger
from headway_service.ports.alarms import Alarms
from headway_service.ports.clocks import Clocks
from headway_service.ports.messaging import Wake
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import TrainingJobs
from headway_service.store import policy_actions, transitions
from headway_service.store.ledger import Ledger
from headway_service.store.policy_actions import PolicyAction
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.repository import find_attempt, find_job, find_request_of, retry_on_conflict
from headway_service.tracking.training_check import still_trains

MAX_PUTS = 60
"""Alarms that one run makes; the next one continues. PutMetricAlarm is throttled at three a second (service quota)."""

MAX_ALARMS = 4000
"""Alarms of one queue: an account has 5000 in a region (service quota)."""

REST_MS = 3_600_000
"""How long alarms are not listed after there were none, while none is wanted."""

_MAX_NAMED = 10
"""Attempts without their alarms that one log entry names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MonitorReport:
    """What a run did.

    Attributes:
        made: alarms made or changed.
        removed: alarms removed.
        missing: alarms that are wanted and not there yet, or that CloudWatch refuses.
        measures: what the policy did about attempts.
    """

    made: int
    removed: int
    missing: int
    measures: Sequence[PolicyAction]


class UtilizationMonitor:
    """Monitors all attempts.

    Args:
        training_jobs: makes the client of SageMaker; called only if the policy has an action.
        configuration: the configuration in effect.
        clocks: training time and machine time.
        wake: requests a tick, which stops attempts.
    """

    def __init__(
        self,
        *,
        table: Table,
        alarms: Alarms,
        training_jobs: Callable[[], TrainingJobs],
        configuration: Callable[[], Configuration],
        clocks: Clocks,
        wake: Wake,
    ) -> None:
        self._table = table
        self._alarms = alarms
        self._training_jobs = training_jobs
        self._configuration = configuration
        self._clocks = clocks
        self._wake = wake
        #: When there was no alarm and none was wanted, machine time, ms; None if the last run found otherwise.
        self._none_there_ms: int | None = None

    def run(self, ledger: Ledger) -> MonitorReport:
        """Reconcile the alarms, and apply the policy where they fire.

        Args:
            ledger: the ledger. It may have changed since it was read.

        Raises:
            RetryLater: the table or CloudWatch is unavailable; the next run does the same.
        """
        training = [attempt for attempt in ledger.attempts if _trains(attempt)]
        # Before the first decision there is no configuration yet, nor anything that trains.
        configuration = self._configuration() if training else None
        covered = {each.attempt_name: self._coverage(each, configuration) for each in training if configuration}
        wanted: dict[Alarm, None] = {}
        for attempt in sorted(training, key=lambda each: (each.since_ms, each.attempt_name)):
            wanted |= {alarm: None for each in covered[attempt.attempt_name] for alarm in each.alarms}
        if not wanted and self._is_idle():
            return MonitorReport(made=0, removed=0, missing=0, measures=())
        # Until this run has found that there are none: it may be interrupted after it has made some.
        self._none_there_ms = None
        there = self._alarms.seen()
        if not wanted and not there:
            self._none_there_ms = self._clocks.machine_ms()
        # First, whatever becomes of the rest of this run: an alarm is reported once, and a lost report is not repeated.
        firing = {each.alarm for each in there if each.firing and each.alarm is not None}
        judged = [self._judge(attempt, covered[attempt.attempt_name], firing) for attempt in training]
        taken = [action for action in judged if action is not None]
        left_over = [each.name for each in there if each.alarm not in wanted]
        self._alarms.delete(left_over)
        known = {each.alarm for each in there}
        missing = [alarm for alarm in wanted if alarm not in known]
        room = max(0, MAX_ALARMS - (len(wanted) - len(missing)))
        left = self._make(missing, min(room, MAX_PUTS))
        made = len(missing) - len(left)
        report = MonitorReport(made=made, removed=len(left_over), missing=len(left), measures=taken)
        lacking = sorted({alarm.attempt for alarm in left})[:_MAX_NAMED]
        logger.info(
            "watched", extra={"made": made, "removed": len(left_over), "measures": len(taken), "lacking": lacking}
        )
        return report

    def on_alarm(self, alarm_name: str) -> PolicyAction | None:
        """Apply the policy to the attempt of an alarm that is reported to fire. Returns what it did, if anything.

        Raises:
            RetryLater: the table or CloudWatch is unavailable; the call may be repeated.
        """
        name = self._alarms.attempt_of(alarm_name)
        attempt = find_attempt(self._table, name) if name else None
        if attempt is None or not _trains(attempt):
            logger.info("an alarm on an attempt that does not train", extra={"alarm": alarm_name})
            return None
        firing = {each.alarm for each in self._alarms.seen(attempt.attempt_name) if each.firing and each.alarm}
        return self._judge(attempt, self._coverage(attempt, self._configuration()), firing)

    def _is_idle(self) -> bool:
        """Whether alarms need not be listed if none is wanted."""
        return self._none_there_ms is not None and self._clocks.machine_ms() - self._none_there_ms < REST_MS

    def _make(self, missing: Sequence[Alarm], most: int) -> list[Alarm]:
        """Make up to ``most`` of some alarms. Returns those that are not made."""
        left: list[Alarm] = []
        refused: set[str] = set()
        for number, alarm in enumerate(missing):
            if number - len(left) == most:
                return left + list(missing[number:])
            if alarm.watch in refused:
                left.append(alarm)
                continue
            try:
                self._alarms.put(alarm)
            except RetryLater as error:
                # Alarms that already fire do not wait for it.
                logger.warning("an alarm could not be made now", extra={"attempt": alarm.attempt, "error": str(error)})
                return left + list(missing[number:])
            except AlarmRefused as error:
                # The alarms of a watch differ in their hosts only, so one call tells that of all.
                refused.add(alarm.watch)
                left.append(alarm)
                told = {"watch": alarm.watch, "namespace": alarm.namespace, "metric": alarm.metric}
                logger.error("the alarms of a watch are refused", extra={**told, "error": str(error)})
        return left

    def _judge(
        self, attempt: AttemptRecord, covered: Iterable[Coverage], firing: Collection[Alarm]
    ) -> PolicyAction | None:
        """Apply the policy to an attempt whose alarms fire. Returns what it did, if anything."""
        underused = [each.watch for each in covered if each.is_underused(firing)]
        if not underused:
            return None

        def act() -> PolicyAction | None:
            found = find_attempt(self._table, attempt.attempt_name)
            return self._act(found, underused) if found is not None and _trains(found) else None

        try:
            # The reconciler, which runs once a minute too, may change the attempt at the same time in each minute.
            return retry_on_conflict(act, otherwise=Conflict.stale())
        except (Conflict, UnreadableRecord) as error:
            # The next run checks it again.
            logger.warning("not judged now", extra={"attempt": attempt.attempt_name, "error": str(error)})
            return None

    def _act(self, attempt: AttemptRecord, underused: Iterable[UtilizationRule]) -> PolicyAction | None:
        """Apply the first of some watches that has an action left. Returns it, if there was one.

        Args:
            attempt: an attempt that trains.
            underused: the watches whose alarms report low utilization of it.

        Raises:
            Conflict: the attempt or its job has changed since it was read.
        """
        now_ms = self._clocks.training_ms()
        since_ms = attempt.training_since_ms or now_ms
        for watch in underused:
            if not watch.is_warm(since_ms, now_ms):
                continue
            job = find_job(self._table, attempt.job_name)
            if job is None or job.live_attempt != attempt.attempt_name:
                return None
            action = policy_actions.on_underuse(job, attempt, watch)
            if action is None:
                continue
            if not still_trains(self._training_jobs(), attempt.attempt_name):
                return None
            self._table.write(transitions.apply_policy_action(job, attempt, action, now_ms))
            logger.info(
                "a measure was taken",
                extra={"job": job.job_name, "attempt": attempt.attempt_name, "cause": action.cause},
            )
            if action.cause is not None:
                self._wake(f"{attempt.attempt_name} is to stop")
            return action
        return None

    def _coverage(self, attempt: AttemptRecord, configuration: Configuration) -> tuple[Coverage, ...]:
        try:
            request = find_request_of(self._table, attempt)
        except UnreadableRecord as error:
            # No other attempt may be without its alarms for that.
            logger.warning("not watched now", extra={"attempt": attempt.attempt_name, "error": str(error)})
            return ()
        return utilization_coverage(attempt, request, configuration) if request is not None else ()


def _trains(attempt: AttemptRecord) -> bool:
    """Whether it trains, and no stop was requested."""
    return attempt.attempt_state is AttemptState.LIVE and attempt.training_since_ms is not None
