"""Pools: paused, resumed, drained and resized while jobs wait and run."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Body, Path
from pydantic import BaseModel, ConfigDict, Field

from headway.api_documents.pools import Capacity, PoolUse
from headway_service.api.documents.pools import capacity_document, pool_document
from headway_service.api.request_context import author, caller, container
from headway_service.api.router import DocumentedRouter
from headway_service.api.visible_text import VISIBLE_LINE
from headway_service.config.pool import MAX_POOL_SIZE, POOL_PATTERN
from headway_service.errors import (
    InvalidConfiguration,
    InvalidRequest,
    NotAllowed,
    PoolNotFound,
    RestoreUnfinished,
    UnsupportedMediaType,
)
from headway_service.observability.logging import logger
from headway_service.pools.operations import MAX_REASON_CHARS
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.repository import pool_not_found

router = DocumentedRouter("Pools")

PoolName = Annotated[
    str,
    Path(
        description=(
            "The pool: its instance type, followed by .spot for a pool of spot instances, or by .plan. and the name of "
            "a training plan; or serverless."
        ),
        pattern=POOL_PATTERN,
    ),
]
"""The pool that a call is about."""


class Why(BaseModel):
    """The reason for a pause."""

    model_config = ConfigDict(extra="forbid", strict=True)
    reason: Annotated[
        str,
        Field(
            description="The reason, in one line; shown to the owners of waiting jobs.",
            max_length=MAX_REASON_CHARS,
            pattern=VISIBLE_LINE,
        ),
    ]


class Drain(Why):
    """The way and the reason of a drain."""

    stop: Annotated[bool, Field(description="Whether running jobs are stopped and requeued.")] = False


class Resize(BaseModel):
    """The new size of a pool."""

    model_config = ConfigDict(extra="forbid", strict=True)
    size: Annotated[int, Field(ge=0, le=MAX_POOL_SIZE, description="Instances.")]
    reason: Annotated[
        str | None,
        Field(description="The reason, for the history.", max_length=MAX_REASON_CHARS, pattern=VISIBLE_LINE),
    ] = None


_PAUSING = (InvalidRequest, UnsupportedMediaType, NotAllowed)


@router.call("POST /pools/<pool>/pause", {HTTPStatus.OK: "The pool, paused."}, *_PAUSING, PoolNotFound)
def pause_pool(pool: PoolName, why: Annotated[Why, Body()], request: Request) -> PoolUse:
    """Pause a pool.

    Nothing starts there, and nothing is preempted for it, until it is resumed. Running jobs continue.
    """
    _pause(request, pool, why.reason)
    return _show(request, pool)


@router.call("POST /pools/<pool>/drain", {HTTPStatus.OK: "The pool, paused."}, *_PAUSING, PoolNotFound)
def drain_pool(pool: PoolName, drain: Annotated[Drain, Body()], request: Request) -> PoolUse:
    """Pause a pool to drain it.

    Running jobs continue to their end, or are stopped and requeued.
    """
    _pause(request, pool, drain.reason, stops=drain.stop)
    return _show(request, pool)


@router.call("POST /pools/<pool>/resume", {HTTPStatus.OK: "The pool."}, InvalidRequest, NotAllowed, PoolNotFound)
def resume_pool(pool: PoolName, request: Request) -> PoolUse:
    """Resume a paused pool."""
    _resume(request, pool)
    return _show(request, pool)


@router.call("PATCH /pools/<pool>", {HTTPStatus.OK: "The pool."}, *_PAUSING, InvalidConfiguration, PoolNotFound)
def resize_pool(pool: PoolName, change: Annotated[Resize, Body()], request: Request) -> PoolUse:
    """Change the size of a pool.

    The rest of the configuration document does not change. Running jobs continue, even if they exceed the size.
    """
    given = container(request)
    applied = given.config_editor.resize(pool, change.size, author(request, change.reason))
    told = {"caller": caller(request).arn, "pool": pool, "size": change.size, "version": applied.version}
    logger.info("pool resized", extra=told)
    given.wake("a pool was resized")
    return _show(request, pool)


@router.call("POST /pause", {HTTPStatus.OK: "Each pool."}, *_PAUSING)
def pause_everything(why: Annotated[Why, Body()], request: Request) -> Capacity:
    """Pause all pools, including pools that are added later."""
    _pause(request, PauseRecord.EVERYTHING, why.reason)
    return _show_all(request)


@router.call("POST /resume", {HTTPStatus.OK: "Each pool."}, NotAllowed, RestoreUnfinished)
def resume_everything(request: Request) -> Capacity:
    """Resume all pools, except those that were paused separately."""
    _resume(request, PauseRecord.EVERYTHING)
    return _show_all(request)


def _pause(request: Request, pool: str, reason: str, *, stops: bool = False) -> None:
    by = author(request, reason)
    container(request).pool_operations.pause(pool, by.name, reason, stops=stops, address=by.address)


def _resume(request: Request, pool: str) -> None:
    by = author(request, None)
    container(request).pool_operations.resume(pool, by.name, address=by.address)


def _show(request: Request, pool: str) -> PoolUse:
    """How a pool is used now.

    Raises:
        PoolNotFound: it was removed meanwhile.
    """
    uses = {use.pool: use for use in container(request).capacity().pools}
    if pool not in uses:
        raise pool_not_found(pool, uses)
    return pool_document(uses[pool])


def _show_all(request: Request) -> Capacity:
    return capacity_document(container(request).capacity())
