"""The version of the queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from headway.api_documents.codec import ApiDocument, Member


@dataclass(frozen=True, kw_only=True)
class ServerVersion(ApiDocument):
    """The version of the queue and of its API."""

    version: Annotated[str, Member("Of the queue's code.")]
    api: Annotated[int, Member("Of this API; it changes when clients have to.")]
