"""Who has changed the configuration, when, from where and why: a record of each document that came into force.

A record is written in the transaction that puts its document in force (decision 115), so none is of a document that
never was in force. One that has no record gets it with the next change. The table forgets records after :data:`KEPT_S`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headway_service.actions.action import Author
from headway_service.config.differences import differences
from headway_service.errors import FieldError, InvalidRequest, VersionNotFound
from headway_service.ports.table import Key, Put, Table
from headway_service.store.records.base import Record
from headway_service.validation_messages import explained

KEPT_S = 63_072_000
"""Two years."""

MAX_REASON_CHARS = 200
"""Length of the reason for a change."""

_PK = "config"
_PREFIX = "history#"
_VERSIONS = 10**12
_LIVES = 10_000
NEXT_PATTERN = explained(
    r"^([0-9]{1,4})\.([0-9]{1,12})$", "the `next` of an answer before: take it from there, or leave it out"
)
"""The pattern of the token of a page."""


class ConfigRecord(Record):
    """A document that came into force."""

    version: int
    #: How often versions have begun again, from 1 on. They did while the document was a parameter.
    life: int = 1
    #: When it came into force, training time, ms.
    changed_ms: int
    #: The author. The name is empty if it is not known, as of an edit of the parameter that the document once was.
    by: str = ""
    address: str = ""
    reason: str = ""
    document: str
    expires_at: int

    @staticmethod
    def key(life: int, version: int) -> Key:
        """Where it is kept: the newest one first."""
        return Key(_PK, f"{_PREFIX}{_LIVES - life:04d}#{_VERSIONS - version:012d}")

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key(self.life, self.version)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})


def record_of(
    document: str, *, version: int, life: int, author: Author | None, changed_ms: int, machine_ms: int
) -> ConfigRecord:
    """The record of a document that comes into force.

    Args:
        document: its text.
        author: who has changed it; None if that is not known.
        changed_ms: when it comes into force, training time, ms.
        machine_ms: the same in machine time.
    """
    author = author or Author(name="")
    return ConfigRecord(
        version=version,
        life=life,
        changed_ms=changed_ms,
        by=author.name,
        address=author.address,
        reason=author.reason,
        document=document,
        expires_at=machine_ms // 1000 + KEPT_S,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryPage:
    """A part of the history, the newest document first, each with the one before it."""

    records: Sequence[tuple[ConfigRecord, ConfigRecord | None]]
    #: The token of the next page; None if this is the last one.
    next: str | None


def read_history(table: Table, limit: int, after: str | None = None) -> HistoryPage:
    """A page of the documents that were in force.

    Args:
        limit: the largest number.
        after: the token of the page before.

    Raises:
        InvalidRequest: the token is none.
    """
    begin = "" if after is None else _parse(after).sk
    found = [ConfigRecord.parse(item) for item in table.query(_PK, prefix=_PREFIX, after=begin, limit=limit + 1)]
    pairs = list(zip(found, [*found[1:], None][: len(found)], strict=True))[:limit]
    last = found[limit - 1] if len(found) > limit else None
    return HistoryPage(records=pairs, next=None if last is None else f"{last.life}.{last.version}")


def get_record(table: Table, life: int, version: int) -> ConfigRecord:
    """The record of a version.

    Args:
        life: that of the configuration in force.

    Raises:
        VersionNotFound: there is none, or not any more.
    """
    record = find_record(table, life, version)
    if record is None:
        raise VersionNotFound(
            f"no version {version} of the configuration is kept: `headway config history` lists those that are"
        )
    return record


def find_record(table: Table, life: int, version: int) -> ConfigRecord | None:
    """The record of a version; None if there is none."""
    item = table.get(ConfigRecord.key(life, version)) if version < _VERSIONS else None
    return None if item is None else ConfigRecord.parse(item)


def record_before(table: Table, record: ConfigRecord) -> ConfigRecord | None:
    """The document that was in force before; None if that is not known."""
    items = table.query(_PK, prefix=_PREFIX, after=ConfigRecord.key(record.life, record.version).sk, limit=1)
    return ConfigRecord.parse(items[0]) if items else None


def changes_since(before: ConfigRecord | None, record: ConfigRecord) -> list[FieldError]:
    """Each path at which a document differs from another one; none if the other one is not known."""
    return [] if before is None else differences(before.document, record.document)


def _parse(token: str) -> Key:
    found = re.fullmatch(NEXT_PATTERN, token)
    if found is None:
        message = "is no `next` of an answer"
        raise InvalidRequest(f"after {message}", [FieldError(field="after", message=message)])
    return ConfigRecord.key(int(found[1]), int(found[2]))
