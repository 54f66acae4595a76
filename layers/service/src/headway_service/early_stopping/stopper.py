"""Stops members of arrays that are worse than the median of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway.early_stopping import MAX_COMPARED, EarlyStopping, Verdict, judge
from headway_service.arrays.turn import stops
from headway_service.early_stopping.members import (
    curve,
    ended_members,
    fitting,
    metrics_of,
    period_s,
    running_members,
    trains,
)
from headway_service.errors import Conflict, MetricsRefused, RetryLater, UnreadableRecord
from headway_service.observability.logging import logger
from headway_service.ports.clocks import Clocks
from headway_service.ports.messaging import Wake
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import TrainingJobs
from headway_service.ports.training_metrics import TrainingMetrics
from headway_service.store import policy_actions, transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.array import MemberResultRecord, MembersRecord, OpenArrayRecord
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_attempt, find_job
from headway_service.tracking.training_check import still_trains

MAX_ARRAYS = 20
"""Arrays that one run compares the members of. With more, each run begins with another one."""

MAX_AGE_MS = 15 * 86_400_000
"""How old compared values may be, ms: as long as CloudWatch keeps those of a minute (user guide, metrics retention)."""

_MINUTE_MS = 60_000


class EarlyStopper:
    """Stops members early, of the arrays that ask for it.

    Args:
        metrics: makes the client of CloudWatch's metrics; called only if there is something to compare.
        training_jobs: makes the client of SageMaker; called only if a member is to stop.
        clocks: training time and machine time.
        wake: requests a tick, which stops attempts.
    """

    def __init__(
        self,
        table: Table,
        metrics: Callable[[], TrainingMetrics],
        training_jobs: Callable[[], TrainingJobs],
        *,
        clocks: Clocks,
        wake: Wake,
    ) -> None:
        self._table = table
        self._metrics = metrics
        self._training_jobs = training_jobs
        self._clocks = clocks
        self._wake = wake

    def run(self, ledger: Ledger) -> int:
        """Compare the members of each array, and stop those that are worse than the median of the others.

        Args:
            ledger: the ledger. It may have changed since it was read.

        Returns:
            How many members are to stop.
        """
        wanted = [each for each in ledger.arrays if each.stops_early]
        first = self._clocks.machine_ms() // _MINUTE_MS * MAX_ARRAYS % len(wanted) if len(wanted) > MAX_ARRAYS else 0
        stopped = 0
        for each in [*wanted[first:], *wanted[:first]][:MAX_ARRAYS]:
            try:
                stopped += self._compare(each, ledger.attempts)
            except (Conflict, RetryLater, UnreadableRecord) as error:
                # The next run compares them again.
                logger.warning("members were not compared", extra={"job": each.job_name, "error": str(error)})
            except MetricsRefused as error:
                # Of this array only: others have other metrics.
                logger.error("members cannot be compared", extra={"job": each.job_name, "error": str(error)})
        return stopped

    def _compare(self, open_array: OpenArrayRecord, attempts: Sequence[AttemptRecord]) -> int:
        """Compare the members of an array, and stop some. Returns how many.

        Raises:
            Conflict: a member has changed meanwhile.
            RetryLater: CloudWatch cannot answer now.
            MetricsRefused: CloudWatch does not take the names of the array's metrics.
        """
        now_ms = self._clocks.training_ms()
        running = running_members(open_array.job_name, attempts, now_ms)
        if not running:
            return 0
        array = find_job(self._table, open_array.job_name)
        if array is None or array.array is None or array.array.early_stopping is None or stops(array):
            return 0
        settings = array.array.early_stopping.settings
        members = fitting([*running, *ended_members(array, self._results(array))], settings)
        if len(members) <= settings.min_members:
            return 0
        since_ms = max(array.usage.started_ms or now_ms, now_ms - MAX_AGE_MS)
        until_s = self._clocks.machine_ms() // 1000 + 1
        period = period_s(members)
        series = self._metrics().read(
            metrics_of(members, settings),
            since_s=until_s - 1 - (now_ms - since_ms) // 1000,
            until_s=until_s,
            period_s=period,
        )
        curves = [curve(each, settings, series, period) for each in members]
        stopped = 0
        for at, (member, own) in enumerate(zip(members, curves, strict=True)):
            if member.running is None or own is None:
                continue
            others = [each for other, each in enumerate(curves) if other != at and each is not None]
            verdict = judge(own, others, settings.rule)
            if verdict is not None:
                stopped += self._stop(member.running.attempt_name, settings, verdict)
        return stopped

    def _results(self, array: JobRecord) -> list[MemberResultRecord]:
        """What has been given by those of the last :data:`MAX_COMPARED` members that have ended."""
        before = (array.members or MembersRecord()).next_index - MAX_COMPARED - 1
        key = MemberResultRecord.key(array.job_name, max(0, before))
        after = key.sk if before >= 0 else ""
        items = self._table.query(key.pk, prefix=MemberResultRecord.PREFIX, after=after, limit=MAX_COMPARED)
        return [MemberResultRecord.parse(each) for each in items]

    def _stop(self, name: str, settings: EarlyStopping, verdict: Verdict) -> bool:
        """Stop the attempt of a member, unless it has ended or stops already. Returns whether it was stopped."""
        attempt = find_attempt(self._table, name)
        if attempt is None or not trains(attempt) or not still_trains(self._training_jobs(), name):
            return False
        job = find_job(self._table, attempt.job_name)
        if job is None:
            # The other members, and those of other arrays, are compared all the same.
            logger.warning("a member that trains is not in the table", extra={"attempt": name})
            return False
        action = policy_actions.on_median(settings, verdict)
        self._table.write(transitions.apply_policy_action(job, attempt, action, self._clocks.training_ms()))
        logger.info("a member is stopped early", extra={"job": job.job_name, "attempt": attempt.attempt_name})
        self._wake(f"{attempt.attempt_name} is to stop")
        return True
