"""Transitions of a job at its times."""

from __future__ import annotations

from typing import Any

from headway import reasons
from headway_service.ports.table import Write
from headway_service.store.records.capacity.ledger import TeamRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.transitions.shared import keep_team, leave_queue, note_step, wake_array


def begin(
    job: JobRecord, begin_ms: int, team: TeamRecord | None, now_ms: int, *, machine_ms: int
) -> tuple[JobRecord, list[Write]]:
    """The time has come before which a job was not to start: it enters its queues, if nothing else keeps it back.

    Args:
        begin_ms: that time, ms: its entry time, however late it is noticed.
        team: the team of the job; None if the job has none, or the ledger no longer has it.
        now_ms: the training time, ms.
    """
    accepted: dict[str, Any] = {"accepted_ms": job.accepted_time, "entry_time": max(begin_ms, job.entry_time)}
    reason = reasons.time_came(begin_ms, job.awaited, now_ms)
    moved = note_step(job, job.job_state, reason, now_ms, begin_ms=None, **accepted)
    if job.held:
        # It still waits for the same reason.
        moved = moved.model_copy(update={"reason": job.reason})
    return moved, [
        moved.put(was=job.version),
        *leave_queue(job),
        *(entry.put() for entry in moved.queue_entries()),
        *moved.recheck(),
        *(keep_team(job.team, team, machine_ms) if job.team else []),
        *(wake_array(job) if job.array is not None else []),
    ]
