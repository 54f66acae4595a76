"""How a job enters the queue that may be answered by an equal one: at its acceptance, and after those it depends on."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from headway import reasons
from headway.dependencies import Ending
from headway.reasons import Reason
from headway_service.config.authorization import Access, Caller
from headway_service.errors import FieldError, InvalidRequest, UnreadableRecord
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table, Write
from headway_service.reuse.fingerprint import KnownInputs
from headway_service.reuse.request import account_in
from headway_service.reuse.twins import Answered, Awaits, Computes, Found, Twins
from headway_service.store import transitions
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.ledger import TeamRecord
from headway_service.store.records.dependency import DependencyRecord, EndedJobRecord
from headway_service.store.records.job import JobRecord, Step, StoredRequest
from headway_service.store.repository import find_stored_request


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A new job as it is accepted, and the writes that accept it."""

    job: JobRecord
    writes: tuple[Write, ...]


class ReuseEntry:
    """Has jobs answered by equal ones.

    Args:
        twins: finds equal jobs.
        clocks: training time and machine time.
        retention_s: how long an ended job is kept, s.
    """

    def __init__(
        self,
        table: Table,
        twins: Twins,
        *,
        clocks: Clocks,
        retention_s: int,
    ) -> None:
        self._table = table
        self._twins = twins
        self._clocks = clocks
        self._retention_s = retention_s

    def require_enabled(self) -> None:
        """Check that jobs may be answered by others at all.

        Raises:
            InvalidRequest: the deployment has no buckets for it.
        """
        if not self._twins.enabled:
            message = (
                "is not possible, as the queue may read no bucket: set the deployment's parameter ReuseBucketArns to "
                "the buckets of inputs, sources and outputs, or leave reuse out"
            )
            raise InvalidRequest(f"reuse {message}", [FieldError(field="reuse", message=message)])

    def accept(self, job: JobRecord, request: str, alternatives: str, caller: Caller, access: Access) -> Entry:
        """Accept a job that waits for no other one.

        Args:
            job: the job, as it would enter its queues.
            request: its CreateTrainingJob request, as JSON.
            alternatives: see :func:`headway_service.store.records.job.request_item`.
            access: the rules on callers.

        Raises:
            Conflict: see :meth:`headway_service.reuse.twins.Twins.find`.
        """
        found = self._twins.find(job, request, alternatives, caller, access)
        if isinstance(found, Answered):
            reason = reasons.reused(found.reuse.job_name)
            moved, writes = transitions.accept_reused(
                job, request, alternatives, found.reuse, reason, self._clocks.training_ms(), self._expires_at()
            )
            return Entry(job=moved, writes=tuple(writes))
        if isinstance(found, Awaits):
            twin = found.twin
            noted = ReasonRecord.of(reasons.entered_behind_twin(twin.job_name))
            step = job.history[0].model_copy(update={"reason": noted})
            depends_on = (*job.depends_on, DependencyRecord.on_twin(twin.job_name))
            waits = job.model_copy(update={"depends_on": depends_on, "reason": noted, "history": (step,)})
            return Entry(job=waits, writes=tuple(transitions.enqueue(waits, request, alternatives, [twin])))
        enters = found.computing(job).model_copy(update=_noted(job, found.why))
        return Entry(job=enters, writes=(*transitions.enqueue(enters, request, alternatives), *found.claim))

    def resume(
        self,
        job: JobRecord,
        ended: EndedJobRecord,
        team: TeamRecord | None,
        access: Access,
        *,
        request: str | None,
    ) -> list[Write]:
        """The writes by which a job goes on when the last job that it waited for has ended as required.

        Args:
            ended: the job that has ended.
            team: see :func:`headway_service.store.transitions.dependency.meet_dependency`.
            access: the rules on callers.
            request: its request with the outputs of that job, as JSON; None if it has none of them.

        Raises:
            Conflict: see :meth:`headway_service.reuse.twins.Twins.find`.
        """
        now_ms = self._clocks.training_ms()
        stored = find_stored_request(self._table, job.job_name)
        if stored is None:
            raise UnreadableRecord(f"the request of `{job.job_name}` is missing")
        if request is not None:
            stored = replace(stored, first=json.loads(request))
        found = self.find(job, stored, access)
        if isinstance(found, Answered):
            reason = reasons.reused(found.reuse.job_name)
            return transitions.reuse(job, ended, found.reuse, reason, now_ms, self._expires_at(), request=request)
        if isinstance(found, Awaits):
            reason = reasons.goes_on_behind_twin(ended.job_name, ended.ending, found.twin.job_name)
            return transitions.follow_twin(job, ended, found.twin, reason, now_ms, request=request)
        if job.is_set_aside:
            # When its array takes it in, it looks again, and computes only then.
            reason = reasons.twin_ended(ended.job_name, ended.ending, job.member_of)
            return transitions.stop_following(job, ended, reason, now_ms)
        unused = job.twin == ended.job_name and ended.ending is Ending.COMPLETED
        why = found.why or (_CHANGED if unused else "")
        because: Reason | None = reasons.not_reused_after(ended.job_name, ended.ending, why) if why else None
        enters = transitions.meet_dependency(
            found.computing(job),
            ended,
            team,
            now_ms,
            machine_ms=self._clocks.machine_ms(),
            request=request,
            because=because,
        )
        return [*enters, *found.claim]

    def go_before(self, job: JobRecord, team: TeamRecord | None, access: Access) -> list[Write]:
        """The writes by which a job computes that waits for an equal one, if it can start before that; none otherwise.

        Args:
            job: the job, which waits for nothing else.
            team: see :func:`headway_service.store.transitions.reuse.go_before_twin`.
            access: the rules on callers.

        Raises:
            Conflict: see :meth:`headway_service.reuse.twins.Twins.find`.
        """
        stored = find_stored_request(self._table, job.job_name)
        found = self.find(job, stored, access) if stored is not None else None
        if not isinstance(found, Computes) or not found.claim:
            return []
        reason = reasons.not_reused(found.why or f"`{job.twin}` cannot start before it")
        enters = transitions.go_before_twin(
            found.computing(job), team, reason, self._clocks.training_ms(), machine_ms=self._clocks.machine_ms()
        )
        return [*enters, *found.claim]

    def find(self, job: JobRecord, stored: StoredRequest, access: Access, inputs: KnownInputs | None = None) -> Found:
        """What a job that was accepted before does instead of entering its queues now.

        Args:
            stored: its request.
            access: the rules on callers.
            inputs: see :meth:`headway_service.reuse.twins.Twins.find`.

        Raises:
            Conflict: see :meth:`headway_service.reuse.twins.Twins.find`.
        """
        request, alternatives = stored.texts()
        owner = Caller(arn=job.owner or "", account=account_in(stored.first))
        return self._twins.find(job, request, alternatives, owner, access, inputs)

    def note_outputs(self, ended: EndedJobRecord, inputs: KnownInputs | None = None) -> None:
        """See :meth:`headway_service.reuse.twins.Twins.note_outputs`."""
        self._twins.note_outputs(ended, inputs)

    def _expires_at(self) -> int:
        return self._clocks.machine_ms() // 1000 + self._retention_s


_CHANGED = "its outputs cannot be used, or inputs have changed meanwhile"


def _noted(job: JobRecord, why: str) -> dict[str, Any]:
    """The fields of a new job that computes by itself although it may be answered by another one."""
    if not why:
        entered = ReasonRecord.of(reasons.entered_without_twin(job.reason.reason()))
        return {"reason": entered, "history": (job.history[0].model_copy(update={"reason": entered}),)}
    reason = ReasonRecord.of(reasons.not_reused(why))
    step = Step(time_ms=job.entry_time, job_state=job.job_state, reason=reason)
    return {"reason": reason, "history": (*job.history, step)}
