"""Dead letters: messages that no function could handle."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Request

from headway.api_documents.dead_letters import DeadLetters, Redrive
from headway_service.actions.action import ActionKind
from headway_service.api.documents.dead_letters import letter_document, redrive_document
from headway_service.api.request_context import author, caller, container
from headway_service.api.router import DocumentedRouter
from headway_service.errors import NotAllowed
from headway_service.observability.logging import logger

router = DocumentedRouter("Dead letters")


@router.call("GET /dead-letters", {HTTPStatus.OK: "Up to 50 events and up to 10 wake-ups."})
def list_dead_letters(request: Request) -> DeadLetters:
    """Show the messages that no function could handle."""
    letters, more = container(request).dead_letters.show()
    return DeadLetters(letters=tuple(letter_document(letter) for letter in letters), more=more)


@router.call("POST /dead-letters/redrive", {HTTPStatus.OK: "The redriven letters, and those that stay."}, NotAllowed)
def redrive_dead_letters(request: Request) -> Redrive:
    """Send dead letters to their functions again."""
    given, who = container(request), caller(request)
    given.note_action(ActionKind.REDRIVE, "dead letters", author(request, None))
    done = given.dead_letters.redrive()
    logger.info("dead letters redriven", extra={"caller": who.arn, "redriven": done.redriven, "left": done.left})
    return redrive_document(done)
