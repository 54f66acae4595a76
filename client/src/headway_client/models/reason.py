"""Why something is as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway_client.models.reading import mapping, text


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why something is as it is.

    Attributes:
        code: a short name for programs.
        message: a sentence for people.
    """

    code: str
    message: str

    @classmethod
    def from_document(cls, document: object) -> Reason:
        """Read a reason; raises `ServerFaultError` on anything else."""
        reason = mapping(document)
        return cls(code=text(reason, "code"), message=text(reason, "message"))

    @classmethod
    def under(cls, document: Mapping[str, Any], key: str) -> Reason | None:
        """Read the reason under a key, if there is one."""
        reason = document.get(key)
        return None if reason is None else cls.from_document(reason)
