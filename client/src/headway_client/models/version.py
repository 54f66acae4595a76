"""Which version answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway_client.models.reading import mapping, text, whole


@dataclass(frozen=True, kw_only=True)
class ServerVersion:
    """The server's version, and that of the API it speaks.

    Attributes:
        version: the server's package version, such as ``0.1.0``.
        api: counts up with every change of the API that breaks its clients.
        document: the whole answer as it came.
    """

    version: str
    api: int
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> ServerVersion:
        """Read the versions; raises `ServerFaultError` on anything else."""
        answer = mapping(document)
        return cls(version=text(answer, "version"), api=whole(answer, "api"), document=answer)
