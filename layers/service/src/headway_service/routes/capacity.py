"""How the pools are used, by whom ever."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Request

from headway_service import answers
from headway_service.documents import pool_document, rogue_document
from headway_service.routes.calls import Calls
from headway_service.routes.given import desk

router = Calls("Capacity")


@router.call("GET /capacity", {HTTPStatus.OK: "Each pool."})
def show_capacity(asked: Request) -> answers.Capacity:
    """Show how the pools are used."""
    return {"pools": [pool_document(use) for use in desk(asked).capacity()]}


@router.call("GET /rogue-jobs", {HTTPStatus.OK: "The first 100 by name."})
def list_rogue_jobs(asked: Request) -> answers.RogueJobs:
    """List training jobs that did not come through the queue."""
    rogues, more = desk(asked).rogue_jobs()
    return {"rogueJobs": [rogue_document(rogue) for rogue in rogues], "more": more}
