"""Writes of the configuration document that are not known to have succeeded.

Parameter Store writes without conditions, so a write replaces whatever is stored at that moment. This may be newer than
the document that the write is based on: the parameter itself was edited, or the write took effect late. The versions of
the store show that afterwards. So that such a document does not count as the newest one, each write is
recorded in the table first, with the version that it was made from. The record is removed when that proves to be the
version before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, replace

from headway_service.errors import RetryLater
from headway_service.observability.logging import logger
from headway_service.ports.config_store import ConfigurationStore, ConfigurationText
from headway_service.ports.table import Delete, Key, Put, Table
from headway_service.store.schema_version import stamp, upgrade

LATE_MS = 60_000
"""A write that takes effect later than this after its invocation has ended counts as an edit of the parameter."""

MAX_EDITS = 100
"""Records that are read at most."""

_PK = "config"
_PREFIX = "edit#"
_KEPT_S = 86_400


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigWrite:
    """A write of the document that has begun.

    Attributes:
        name: no other has it.
        base: the version that the document was made from.
        digest: the digest of its text.
        until_ms: it takes effect no later.
    """

    name: str
    base: int
    digest: str
    until_ms: int

    @classmethod
    def of(cls, text: str, *, base: int, holder: str, ends_ms: int) -> ConfigWrite:
        """The write of a text.

        Args:
            base: the version that it was made from.
            holder: the invocation that writes.
            ends_ms: when that invocation ends at the latest.
        """
        return cls(name=f"{holder}#{base}", base=base, digest=_digest(text), until_ms=ends_ms + LATE_MS)

    @property
    def _key(self) -> Key:
        return Key(_PK, f"{_PREFIX}{self.name}")

    def note(self, table: Table) -> None:
        """Record the write, before it is made."""
        said = {"base": self.base, "digest": self.digest, "untilMs": self.until_ms}
        kept = {"expiresAt": self.until_ms // 1000 + _KEPT_S}
        table.write([Put(item=stamp({"pk": self._key.pk, "sk": self._key.sk, **said, **kept}))])

    def forget(self, table: Table) -> None:
        """Remove the record: the document was written on top of the version that it was made from."""
        table.write([Delete(key=self._key)])

    def may_have_replaced(self, found: ConfigurationText) -> bool:
        """Whether a stored document is this one, and may have replaced a newer one than it was made from."""
        return (
            found.version > self.base + 1 and found.modified_ms <= self.until_ms and _digest(found.text) == self.digest
        )


def read_edits(table: Table) -> list[ConfigWrite]:
    """The writes that are not known to have succeeded."""
    items = [upgrade(item) for item in table.query(_PK, prefix=_PREFIX, limit=MAX_EDITS)]
    return [
        ConfigWrite(
            name=item["sk"].removeprefix(_PREFIX),
            base=int(item["base"]),
            digest=item["digest"],
            until_ms=int(item["untilMs"]),
        )
        for item in items
    ]


def intended(
    stored: ConfigurationText, edits: Collection[ConfigWrite], store: ConfigurationStore, now_ms: int
) -> ConfigurationText:
    """The newest document that did not replace a newer one than it was made from, under the version that is stored.

    Args:
        stored: the stored document.
        edits: the recorded writes.
        store: where the document is.

    Raises:
        RetryLater: the store does not return the replaced version now.
    """
    found = stored
    while suspects := [edit for edit in edits if edit.may_have_replaced(found)]:
        before = store.read_version(found.version - 1)
        if before is None:
            if now_ms <= max(edit.until_ms for edit in suspects):
                raise RetryLater("what the configuration was before is not to be read now; try again in a moment")
            # Waiting does not bring it back.
            logger.error("a version of the configuration is lost", extra={"version": found.version - 1})
            break
        found = before
    return replace(found, version=stored.version, modified_ms=stored.modified_ms)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
