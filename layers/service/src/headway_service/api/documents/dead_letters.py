"""Dead letters, and what a redrive did."""

from __future__ import annotations

from headway.api_documents.dead_letters import DeadLetter, Redrive, RedriveFailure
from headway_service.api.times import time_text
from headway_service.dead_letters import redrive
from headway_service.dead_letters.parser import Illegible, Lost


def letter_document(read: redrive.ReadLetter) -> DeadLetter:
    """A dead letter."""
    content = read.content
    return DeadLetter(
        id=read.letter.message_id,
        queue=read.queue,
        sent_time=time_text(read.letter.sent_ms),
        receive_count=read.letter.receive_count,
        about=content.about,
        error_type=content.error_type,
        error_message=content.error_message,
        problem=content.remedy.problem if isinstance(content.remedy, Illegible | Lost) else None,
    )


def redrive_document(done: redrive.Redrive) -> Redrive:
    """What a redrive did."""
    return Redrive(
        redriven=done.redriven,
        dropped=done.dropped,
        failed=len(done.failures),
        left=done.left,
        failures=tuple(
            RedriveFailure(
                id=failure.read.letter.message_id,
                queue=failure.read.queue,
                about=failure.read.content.about,
                problem=failure.problem,
            )
            for failure in done.failures
        ),
    )
