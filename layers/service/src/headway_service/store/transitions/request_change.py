"""Transition of a waiting job to another request."""

from __future__ import annotations

from typing import Any

from headway.errors import InvalidTransition
from headway.lifecycle import WAITING
from headway.reasons import Reason
from headway_service.ports.table import Delete, Put, Write
from headway_service.store.records.capacity.ledger import ReservationRecord
from headway_service.store.records.job import JobRecord, request_item
from headway_service.store.transitions.ledger import free
from headway_service.store.transitions.shared import note_launches, note_step


def change_request(
    job: JobRecord,
    request: str,
    reservation: ReservationRecord | None,
    reason: Reason,
    now_ms: int,
    **changes: Any,
) -> tuple[JobRecord, list[Write]]:
    """A waiting job gets another request, and the place in the queue that follows from it.

    Fails if the job was started since it was read, so that an attempt has the request that it was decided with.

    Args:
        request: its CreateTrainingJob request from now on, as JSON.
        reservation: the reservation that the job loses, if it has one.
        reason: why.
        changes: the fields that follow from the request, and from its new place.

    Raises:
        InvalidTransition: the job does not wait.
    """
    if job.job_state not in WAITING:
        raise InvalidTransition(job.job_state, "change")
    if changes.get("team", job.team) != job.team:
        changes["attempts"] = job.charged_attempts()
    moved = note_step(
        job.without_failed(), job.job_state, reason, now_ms, has_own_request=bool(job.member_of), **changes
    )
    if job.held:
        # It still waits for the same reason.
        moved = moved.model_copy(update={"reason": job.reason})
    entries = moved.queue_entries()
    # A transaction writes an item once: an entry that keeps its place is replaced.
    left = {*job.queue_keys()} - {entry.key() for entry in entries}
    return moved, [
        moved.put(was=job.version),
        Put(item=request_item(job.job_name, request, accepted_ms=job.accepted_time if job.member_of else 0)),
        *(Delete(key=key) for key in sorted(left)),
        *(entry.put() for entry in entries),
        *(free(reservation) if reservation else []),
        *note_launches(job, moved),
    ]
