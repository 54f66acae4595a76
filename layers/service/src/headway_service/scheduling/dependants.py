"""Notifies jobs of the end of a job that they depend on: they get its outputs and enter the queue, or end too.

The end of a job leaves a record in the ledger that names its dependants (``store.records.dependency``). Each tick reads
the ledger, so whatever was interrupted, the next tick finishes it. To notify a job again changes nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from headway import reasons
from headway.dependencies import is_met
from headway.reasons import Reason
from headway_service.config.authorization import Access
from headway_service.errors import Conflict
from headway_service.observability.isolation import Isolation, Outcome
from headway_service.observability.logging import logger
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table, Write
from headway_service.reuse.entry import ReuseEntry
from headway_service.sagemaker_api.outputs import has_templates
from headway_service.store import transitions
from headway_service.store.records.dependency import DependencyRecord, EndedJobRecord, RecheckRecord
from headway_service.store.records.job import JobRecord, request_key
from headway_service.store.repository import find_job, find_team, retry_on_conflict
from headway_service.tracking.outputs import OutputsUnusable, fill_in_outputs


class DependantNotifier:
    """Notifies the dependants of jobs that have ended.

    Args:
        clocks: training time and machine time.
        retention_s: how long an ended job is kept, s.
        reuse: has jobs answered by equal ones.
        access: the rules on callers in effect.
        isolation: does the work on each dependant by itself.
    """

    def __init__(
        self,
        table: Table,
        *,
        clocks: Clocks,
        retention_s: int,
        reuse: ReuseEntry,
        access: Callable[[], Access],
        isolation: Isolation,
    ) -> None:
        self._table = table
        self._clocks = clocks
        self._retention_s = retention_s
        self._reuse = reuse
        self._access = access
        self._isolation = isolation

    def notify(self, ended: EndedJobRecord, has_time: Callable[[], bool]) -> bool:
        """Notify all dependants of a job of its end, each by itself, and the dependants of those that end by that.

        The record of an end stays for the next tick with those that are not. Those that could be come first then.

        Args:
            ended: the job.
            has_time: whether there is time for another one.

        Returns:
            Whether anything has changed.
        """
        changed, following = False, deque([ended])
        while following and has_time():
            changed |= self._notify_all(following.popleft(), following, has_time)
        return changed

    def _notify_all(
        self, ended: EndedJobRecord, following: deque[EndedJobRecord], has_time: Callable[[], bool]
    ) -> bool:
        """Notify the dependants of one job. Those that end by that join ``following``. Returns whether any changed."""
        outputs = self._isolation.do("the outputs of a job", ended.job_name, partial(self._settle, ended))
        if outputs is Outcome.CONFLICT:
            return True
        done: set[str] = set()
        failed: list[str] = []
        changed = False
        for name in ended.dependants:
            if not has_time():
                break
            outcome = self._isolation.do("a dependant", name, partial(self._notify_one, name, ended, following))
            changed |= outcome.reads_again
            if outcome.is_done:
                done.add(name)
            else:
                failed.append(name)
        left = (*(name for name in ended.dependants if name not in {*done, *failed}), *failed)
        if left == ended.dependants and left:
            return changed
        # Of a member, its array has to know, too.
        stays = ended.model_copy(update={"dependants": left})
        self._table.write([stays.put() if left or ended.member_of else ended.forget()])
        return True

    def compare_again(self, recheck: RecheckRecord) -> bool:
        """Have a job compute that waits for an equal one and can start before that, since one of them was changed.

        Args:
            recheck: the job that was changed.

        Returns:
            Whether the ledger has to be read again.

        Raises:
            Conflict: a job keeps changing; the record stays for the next tick.
        """
        retry_on_conflict(partial(self._compare_again, recheck), otherwise=Conflict.stale())
        self._table.write([recheck.forget()])
        return True

    def _compare_again(self, recheck: RecheckRecord) -> None:
        job = find_job(self._table, recheck.job_name)
        if job is None or job.ending is not None:
            return
        names = [job.job_name] if job.twin else job.dependants
        for waits in filter(None, (find_job(self._table, name) for name in names)):
            if waits.held or waits.is_set_aside or [other for other, _ in waits.awaited] != [waits.twin]:
                continue
            team = find_team(self._table, waits.team) if waits.team else None
            if writes := self._reuse.go_before(waits, team, self._access()):
                self._table.write(writes)
                logger.info("a job computes before an equal one", extra={"job": waits.job_name, "twin": waits.twin})
                return

    def _settle(self, ended: EndedJobRecord) -> bool:
        self._reuse.note_outputs(ended)
        return False

    def _notify_one(self, name: str, ended: EndedJobRecord, following: deque[EndedJobRecord]) -> bool:
        """Notify one dependant. Returns whether it has changed, so not if it was notified before.

        Raises:
            Conflict: it keeps changing.
        """
        return retry_on_conflict(partial(self._try_to_notify, name, ended, following), otherwise=Conflict.stale())

    def _try_to_notify(self, name: str, ended: EndedJobRecord, following: deque[EndedJobRecord]) -> bool:
        job = find_job(self._table, name)
        if job is None or job.ending is not None:
            return False
        dependency = next(
            (each for each in job.depends_on if each.job_name == ended.job_name and each.ended is None), None
        )
        if dependency is None:
            # Notified before, by a tick that was interrupted.
            return False
        writes = self._continue(job, dependency, ended)
        self._table.write(writes)
        following.extend(EndedJobRecord.written_by(writes))
        logger.info("a dependency ended", extra={"job": name, "dependency": ended.job_name, "ending": ended.ending})
        return True

    def _continue(self, job: JobRecord, dependency: DependencyRecord, ended: EndedJobRecord) -> list[Write]:
        now_ms, machine_ms = self._clocks.training_ms(), self._clocks.machine_ms()
        if not is_met(dependency.condition, ended.ending):
            return self._end(job, ended, reasons.dependency_unmet(ended.job_name, dependency.condition, ended.ending))
        try:
            request = self._fill_in(job, ended)
        except OutputsUnusable as error:
            return self._end(job, ended, reasons.outputs_unusable(ended.job_name, str(error)))
        team = find_team(self._table, job.team) if job.team else None
        compared = job.reuse is not None and job.array is None
        if compared and [other for other, _ in job.awaited] == [ended.job_name]:
            return self._reuse.resume(job, ended, team, self._access(), request=request)
        return transitions.meet_dependency(job, ended, team, now_ms, machine_ms=machine_ms, request=request)

    def _end(self, job: JobRecord, ended: EndedJobRecord, reason: Reason) -> list[Write]:
        """The writes that end a job that can no longer start."""
        expires_at = self._clocks.machine_ms() // 1000 + self._retention_s
        closed = transitions.closed(job, ended)
        return transitions.stop_waiting(job, None, reason, self._clocks.training_ms(), expires_at, depends_on=closed)

    def _fill_in(self, job: JobRecord, ended: EndedJobRecord) -> str | None:
        """The request of a job with the outputs of another one; None if it has no template of that."""
        item = self._table.get(request_key(job.job_name))
        if item is None or not has_templates(item["jobDetails"]):
            return None
        other = find_job(self._table, ended.job_name)
        if other is None:
            raise OutputsUnusable("the queue no longer has it")
        beside_bytes = len(item.get("alternatives", "").encode())
        filled = fill_in_outputs(self._table, item["jobDetails"], other, beside_bytes=beside_bytes)
        return None if filled == item["jobDetails"] else filled
