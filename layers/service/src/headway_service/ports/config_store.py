"""Where the configuration document is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigurationText:
    """The configuration document as it is stored, perhaps invalid."""

    text: str
    #: The number of writes of the document, by any caller.
    version: int
    #: When it was written, by the store's clock, ms; 0 if unknown.
    modified_ms: int = 0


class ConfigurationStore(Protocol):
    """Where operators keep the configuration document.

    Every method may raise :class:`headway_service.errors.RetryLater` when the store cannot answer now.
    """

    def read(self) -> ConfigurationText:
        """The stored document. It may be older than the newest: AWS does not document consistent reads."""

    def read_version(self, version: int) -> ConfigurationText | None:
        """The document of one version; None if the store does not have it, or does not show it."""

    def write(self, text: str) -> int:
        """Store a document, whatever is stored, and return its version. After RetryLater it may be stored or not."""
