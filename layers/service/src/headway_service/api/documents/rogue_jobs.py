"""Training jobs that did not come through the queue."""

from __future__ import annotations

from headway.api_documents.rogue_jobs import RogueJob
from headway_service.api.documents.jobs import reason_document
from headway_service.api.times import time_text
from headway_service.store.records.capacity.rogue_job import RogueJobRecord


def rogue_document(rogue: RogueJobRecord) -> RogueJob:
    """A rogue training job: one that did not come through the queue."""
    return RogueJob(
        name=rogue.training_job_name,
        status=rogue.training_job_status,
        demand=rogue.demand,
        charged=rogue.charged,
        team=rogue.team or None,
        created_time=time_text(rogue.created_ms),
        seen_time=time_text(rogue.since_ms),
        stop_asked_by=rogue.stop_asked_by or None,
        reason=reason_document(rogue.reason),
    )
