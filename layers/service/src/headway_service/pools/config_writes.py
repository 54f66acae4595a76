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
from typing import Any

from headway_service.actions.action import Author
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
        author: who makes it; None to store again what somebody has edited in the parameter.
        replaces_any: whether it is to replace whatever is stored.
    """

    name: str
    base: int
    digest: str
    until_ms: int
    author: Author | None = None
    replaces_any: bool = False

    @classmethod
    def of(
        cls,
        text: str,
        *,
        base: int,
        holder: str,
        ends_ms: int,
        author: Author | None = None,
        replaces_any: bool = False,
    ) -> ConfigWrite:
        """The write of a text.

        Args:
            base: the version that it was made from.
            holder: the invocation that writes.
            ends_ms: when that invocation ends at the latest.
            author: see the attribute, as for ``replaces_any``.
        """
        return cls(
            name=f"{holder}#{base}",
            base=base,
            digest=_digest(text),
            until_ms=ends_ms + LATE_MS,
            author=author,
            replaces_any=replaces_any,
        )

    @property
    def _key(self) -> Key:
        return Key(_PK, f"{_PREFIX}{self.name}")

    def note(self, table: Table) -> None:
        """Record the write, before it is made."""
        said: dict[str, Any] = {"base": self.base, "digest": self.digest, "untilMs": self.until_ms}
        if self.author is not None:
            said["author"] = {"name": self.author.name, "address": self.author.address, "reason": self.author.reason}
        if self.replaces_any:
            said["replacesAny"] = True
        kept = {"expiresAt": self.until_ms // 1000 + _KEPT_S}
        table.write([Put(item=stamp({"pk": self._key.pk, "sk": self._key.sk, **said, **kept}))])

    @property
    def deletion(self) -> Delete:
        """The write that removes the record: the document is in force, or was replaced."""
        return Delete(key=self._key)

    def forget(self, table: Table) -> None:
        """Remove the record."""
        table.write([self.deletion])

    def made(self, found: ConfigurationText) -> bool:
        """Whether a stored document comes from this write, which replaced what it was made from."""
        return (self.replaces_any or found.version == self.base + 1) and self.may_be(found)

    def may_be(self, found: ConfigurationText) -> bool:
        """Whether a stored document may come from this write."""
        return found.modified_ms <= self.until_ms and _digest(found.text) == self.digest

    def may_have_replaced(self, found: ConfigurationText) -> bool:
        """Whether a stored document is this one, and may have replaced a newer one than it was made from."""
        return not self.replaces_any and found.version > self.base + 1 and self.may_be(found)


def read_edits(table: Table) -> list[ConfigWrite]:
    """The writes that are not known to have succeeded."""
    items = [upgrade(item) for item in table.query(_PK, prefix=_PREFIX, limit=MAX_EDITS)]
    return [
        ConfigWrite(
            name=item["sk"].removeprefix(_PREFIX),
            base=int(item["base"]),
            digest=item["digest"],
            until_ms=int(item["untilMs"]),
            author=Author(**item["author"]) if "author" in item else None,
            replaces_any=bool(item.get("replacesAny", False)),
        )
        for item in items
    ]


def write_of(found: ConfigurationText, edits: Collection[ConfigWrite]) -> ConfigWrite | None:
    """The write that a stored document comes from, the latest of several; None if the parameter itself was edited.

    Args:
        edits: the recorded writes.
    """
    return max((edit for edit in edits if edit.made(found)), key=lambda edit: edit.until_ms, default=None)


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
