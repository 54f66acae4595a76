"""Refused calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from headway.api_documents.codec import ApiDocument, Member


@dataclass(frozen=True, kw_only=True)
class WrongField(ApiDocument):
    """An error in one field."""

    field: Annotated[str, Member("Its path, such as ResourceConfig.InstanceCount.")]
    message: str


@dataclass(frozen=True, kw_only=True)
class Error(ApiDocument):
    """Why a call was refused."""

    code: str
    message: Annotated[str, Member("A sentence with what to change.")]
    fields: tuple[WrongField, ...]


@dataclass(frozen=True, kw_only=True)
class Refusal(ApiDocument):
    """A refusal."""

    error: Error
    request_id: Annotated[str, Member("The queue's log has more under this id.")]


@dataclass(frozen=True, kw_only=True)
class GatewayRefusal(ApiDocument):
    """A refusal of API Gateway itself: no function was called."""

    message: str
