"""Writes the digest of a week when it is due. The table's stream has it published."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from headway.days import begin_ms
from headway.lifecycle import TERMINAL
from headway_service.accounting.reader import Step, UsageRow, read_usage, read_usage_until
from headway_service.config.document import Configuration
from headway_service.digest.content import Week, digest_of, loosest, most_lost
from headway_service.errors import Conflict, RetryLater
from headway_service.observability.logging import logger
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table
from headway_service.sagemaker_api.request_change import run_time_s
from headway_service.store.job_filter import JobFilter
from headway_service.store.job_listing import MAX_LISTED, list_ended
from headway_service.store.records.digest import DIGEST_KEPT_S, DigestRecord
from headway_service.store.records.listed_job import ListedJob
from headway_service.store.repository import find_readable_jobs, find_stored_request

MAX_JOBS_READ = 5000
"""Ended jobs of a week, the newest, among which a digest looks for those that lost the most: 5 MB of the listing."""

_DAYS = 7


class WeeklyDigests:
    """Writes digests.

    Args:
        configuration: returns the configuration in effect; None before there is one.
        clocks: training time and machine time.
    """

    def __init__(
        self,
        table: Table,
        configuration: Callable[[], Configuration | None],
        clocks: Clocks,
    ) -> None:
        self._table = table
        self._configuration = configuration
        self._clocks = clocks

    def write_if_due(self) -> bool:
        """Write the digest that is due, if it is not there.

        If the table does not answer, the next call tries again.

        Returns:
            Whether it was written.
        """
        now_ms = self._clocks.training_ms()
        try:
            return self._check(now_ms)
        except RetryLater as error:
            logger.warning("no digest now", extra={"error": str(error)})
            return False

    def _check(self, now_ms: int) -> bool:
        configuration = self._configuration()
        day = configuration.digest.due(now_ms) if configuration and configuration.digest else None
        if configuration is None or day is None or self._table.get(DigestRecord.key(day)) is not None:
            return False
        return self._write(day, configuration, now_ms)

    def _write(self, day: date, configuration: Configuration, now_ms: int) -> bool:
        digest = digest_of(self._week(day, configuration, now_ms), now_ms)
        expires_at = self._clocks.machine_ms() // 1000 + DIGEST_KEPT_S
        record = DigestRecord(day=day.isoformat(), detail=digest.detail(), expires_at=expires_at)
        try:
            self._table.write([record.put()])
        except Conflict:
            logger.info("another run has written the digest", extra={"day": record.day})
            return False
        logger.info("digest written", extra={"day": record.day})
        return True

    def _week(self, day: date, configuration: Configuration, now_ms: int) -> Week:
        first, last = day - timedelta(days=_DAYS), day - timedelta(days=1)
        prices = configuration.dated_prices()
        rows = read_usage_until(
            self._table,
            "team",
            first,
            last,
            Step.TOTAL,
            by_days=prices.changing_months(),
            kept_since=first,
            now_ms=now_ms,
            tags=tuple,
        )
        jobs = self._ended(begin_ms(first), begin_ms(day))
        lost, _ = find_readable_jobs(self._table, [job.job_name for job in most_lost(jobs)])
        return Week(
            day=day,
            first=first,
            last=last,
            rows=rows,
            before=[self._sums_before(first, weeks) for weeks in (2, 1)],
            wasteful=lost,
            loose=[(job, limit_s) for job in loosest(jobs) if (limit_s := self._run_limit_s(job)) is not None],
            prices=prices,
        )

    def _sums_before(self, first: date, weeks: int) -> list[UsageRow]:
        """The sums by team of an earlier week."""
        begin = first - timedelta(days=weeks * _DAYS)
        return read_usage(self._table, "team", begin, begin + timedelta(days=_DAYS - 1), Step.TOTAL)

    def _run_limit_s(self, job: ListedJob) -> int | None:
        """The MaxRuntimeInSeconds of the request that a job ran with; None if the table has forgotten it.

        The limit of the job has other times in it, such as that to wait for spot instances.
        """
        stored = find_stored_request(self._table, job.job_name)
        return None if stored is None else run_time_s(stored.of(job.alternative))

    def _ended(self, since_ms: int, until_ms: int) -> list[ListedJob]:
        found: list[ListedJob] = []
        token: str | None = None
        while len(found) < MAX_JOBS_READ:
            wanted = JobFilter(states=TERMINAL)
            page, token = list_ended(self._table, wanted, since_ms, until_ms, MAX_LISTED, token)
            found += page
            if token is None:
                break
        return found
