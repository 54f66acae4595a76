"""What operators have done, as documents."""

from __future__ import annotations

from headway.api_documents.actions import OperatorAction, OperatorActions
from headway_service.actions.action import ActionRecord
from headway_service.actions.history import ActionPage
from headway_service.api.times import time_text


def actions_document(page: ActionPage) -> OperatorActions:
    """A page of actions."""
    return OperatorActions(actions=tuple(map(_action, page.actions)), next=page.next)


def _action(record: ActionRecord) -> OperatorAction:
    return OperatorAction(
        time=time_text(record.time_ms),
        action=record.kind,
        target=record.target,
        by=record.by,
        address=record.address,
        reason=record.reason,
        message=record.message,
    )
