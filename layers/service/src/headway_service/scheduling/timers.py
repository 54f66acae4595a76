"""Acts on jobs whose time has come: they enter their queues, or have failed as they have not started by then.

A timer only makes a tick look at a job. What happens follows from the job as it is then, so a timer that comes late,
twice or for a job that has changed does no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headway import reasons
from headway.lifecycle import ACTIVE, AttemptState
from headway.reasons import Reason
from headway_service.observability.isolation import Isolation
from headway_service.observability.logging import logger
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table, Write
from headway_service.store import transitions
from headway_service.store.records.job import JobRecord
from headway_service.store.records.timer import (
    TIMERS,
    due_before,
    expires_ms,
    forget_timer,
    job_of,
    put_timer,
    set_timer,
)
from headway_service.store.repository import find_job, find_live_attempt, find_reservation, find_team
from headway_service.store.turns import Turns

MAX_DUE = 200
"""Timers that one tick reads. With more, those behind them come with the next ticks."""

LAUNCH_MS = 60_000
"""After this, a tick looks again at a job whose launch may yet come back without instances, ms."""


class Timers:
    """Acts on the timers that are due, those of one tick at most once.

    Args:
        clocks: training time and machine time.
        retention_s: how long an ended job is kept, s.
        why: tells why a job that waits has not started.
        turns: gives each timer its turn.
        isolation: does the work on each job by itself.
    """

    def __init__(
        self,
        table: Table,
        *,
        clocks: Clocks,
        retention_s: int,
        why: Callable[[JobRecord], Reason],
        turns: Turns,
        isolation: Isolation,
    ) -> None:
        self._table = table
        self._clocks = clocks
        self._retention_s = retention_s
        self._why = why
        self._turns = turns
        self._isolation = isolation
        self._is_done = False

    def run(self) -> bool:
        """Act on the timers that are due, while there is time. Returns whether anything has changed."""
        if self._is_done:
            return False
        self._is_done, changed = True, False
        due = self._table.keys_before(TIMERS, due_before(self._clocks.training_ms()), limit=MAX_DUE)
        for timer in self._turns.in_turn("timers", due, lambda each: each):
            act = partial(self._act, timer)
            changed |= self._isolation.do("a job whose time has come", job_of(timer), act).reads_again
        return changed

    def _act(self, timer: str) -> bool:
        """Act on one timer. Returns whether its job has changed.

        Raises:
            Conflict: the job was changed meanwhile; the timer stays.
        """
        job = find_job(self._table, job_of(timer))
        writes = [] if job is None else self._writes(job)
        self._table.write([forget_timer(timer), *writes])
        return bool(writes)

    def _writes(self, job: JobRecord) -> list[Write]:
        now_ms = self._clocks.training_ms()
        if job.begin_ms is not None and job.begin_ms <= now_ms:
            team = find_team(self._table, job.team) if job.team else None
            moved, writes = transitions.begin(job, job.begin_ms, team, now_ms, machine_ms=self._clocks.machine_ms())
            logger.info("the time of a job has come", extra={"job": job.job_name})
            return [*writes, *set_timer(moved, now_ms)]
        until_ms = expires_ms(job)
        if until_ms is not None and until_ms <= now_ms:
            return self._expire(job, now_ms)
        if job.job_state in ACTIVE and self._is_launching(job):
            return [put_timer(job.job_name, now_ms + LAUNCH_MS)]
        return [*set_timer(job, now_ms)]

    def _expire(self, job: JobRecord, now_ms: int) -> list[Write]:
        why = self._why(job)
        if job.start_by_ms is not None and job.start_by_ms <= now_ms:
            reason = reasons.start_too_late(job.start_by_ms, why, now_ms)
        else:
            reason = reasons.waited_too_long(job.team, (job.max_wait_s or 0) * 1000, why)
        logger.warning("a job has not started in time", extra={"job": job.job_name})
        reservation = find_reservation(self._table, job.job_name)
        expires_at = self._clocks.machine_ms() // 1000 + self._retention_s
        return transitions.give_up(job, reservation, reason, now_ms, expires_at)

    def _is_launching(self, job: JobRecord) -> bool:
        """Whether its attempt may yet come back without having been launched."""
        attempt = find_live_attempt(self._table, job)
        return attempt is None or attempt.attempt_state is AttemptState.LAUNCHING
