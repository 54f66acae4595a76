"""Changes the configuration document, one change at a time, so that none is lost.

Parameter Store has no conditional writes. So a change through the API holds a lease in the table, which outlives the
invocation, and compares the version that the document was made from with the newest one. Users who edit the parameter
itself hold no lease: the version of the write shows what they stored in between, and that is stored again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from headway_service.actions.action import Author
from headway_service.config import document as configuration
from headway_service.config.differences import differences
from headway_service.errors import ConfigurationChanged, Conflict, InvalidConfiguration, RetryLater
from headway_service.invocation import Invocation
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import EffectiveConfig, apply_text, find_applied
from headway_service.pools.config_writes import ConfigWrite, intended, read_edits
from headway_service.ports.config_store import ConfigurationStore, ConfigurationText
from headway_service.ports.table import Absent, Delete, Equals, Key, Put, Table
from headway_service.store.repository import pool_not_found
from headway_service.store.schema_version import stamp, upgrade

MAX_TRIES = 3
"""How often a size is changed in a document that is edited in the parameter at the same time."""

MAX_TOLD_CHANGES = 20
"""Differences between two versions that a conflict names."""

_LEASE = Key("config", "lease")


class _Overtaken(Exception):
    """The parameter itself was edited at the same time."""


class ConfigEditor:
    """Changes the document.

    Args:
        store: where the document is.
        region: of the deployment, whose training plans pools may follow; empty if it is not known.
    """

    def __init__(
        self,
        *,
        table: Table,
        store: ConfigurationStore,
        invocation: Invocation,
        region: str = "",
    ) -> None:
        self._table = table
        self._store = store
        self._invocation = invocation
        self._clocks = invocation.clocks
        self._region = region

    def replace(
        self, document: Any, made_from: int | None, account: str = "", author: Author | None = None
    ) -> EffectiveConfig:
        """Check a document, store it and apply it.

        To store the document that is stored already succeeds, whatever it was made from, so that calls can be repeated.

        Args:
            made_from: the version that it was made from; None to replace whatever is stored.
            account: of the deployment; empty if it is not known.
            author: who replaces it; None if that is not known.

        Raises:
            InvalidConfiguration: the document is not valid; nothing was changed.
            ConfigurationChanged: another version is stored than the document was made from.
            RetryLater: another call changes the document now, or it is unknown whether it was stored.
        """
        text = configuration.new_text_to_keep(document, region=self._region, account=account)
        with self._alone():
            if made_from is None:
                return self._overwrite(text, author)
            known = self._read()
            if known.version == made_from:
                with suppress(_Overtaken):
                    return self._write(text, known.version, author)
                known = self._read()
            # A repeated call: RFC 9110, section 13.1.1, lets it succeed.
            if known.text == text:
                return apply_text(self._table, known, self._clocks)
            raise self._changed(made_from, known)

    def resize(self, pool: str, size: int, author: Author | None = None) -> EffectiveConfig:
        """Change the size of one pool in the stored document, and apply it.

        Args:
            pool: the instance type of the pool.
            size: the number of instances.
            author: who resizes it; None if that is not known.

        Raises:
            PoolNotFound: the document has no such pool.
            InvalidConfiguration: the stored document is not valid, or would not be with this size.
            RetryLater: another call changes the document now, or it is unknown whether it was stored.
        """
        with self._alone():
            for _ in range(MAX_TRIES):
                known = self._read()
                pools = configuration.parse(known.text).pools
                if pool not in pools:
                    raise pool_not_found(pool, pools)
                document = json.loads(known.text)
                document["pools"][pool]["size"] = size
                with suppress(_Overtaken):
                    return self._write(configuration.text_to_keep(document), known.version, author)
            raise _somebody_else()

    def _read(self) -> ConfigurationText:
        """The newest known document: a read of the store may return an older one."""
        stored = self._store.read()
        known = find_applied(self._table)
        if known is None or known.is_older_than(stored):
            found = intended(stored, read_edits(self._table), self._store, self._clocks.machine_ms())
            # So that it has a record of its own, and is no change of the caller's.
            with suppress(InvalidConfiguration):
                apply_text(self._table, found, self._clocks)
            return found
        text = configuration.text_of(known.configuration)
        return ConfigurationText(text=text, version=known.version, modified_ms=known.modified_ms)

    def _write(self, text: str, base: int, author: Author | None) -> EffectiveConfig:
        """Store a document on top of the version that it was made from, and apply it.

        Raises:
            _Overtaken: the parameter was edited directly in between; that document is stored again.
            RetryLater: it is unknown whether it was stored, or the replaced document cannot be stored again now.
        """
        edit = self._noted(text, base, author)
        version = self._store.write(text)
        # The replaced document may itself have replaced a newer one, and its writer may have died.
        written = ConfigurationText(text=text, version=version)
        newest = intended(written, read_edits(self._table), self._store, self._clocks.machine_ms())
        if newest.text != text:
            logger.warning(
                "the parameter was edited at the same time; that is stored again", extra={"version": version}
            )
            # Somebody has edited the parameter, and not the author of this.
            self._write(newest.text, version, None)
            edit.forget(self._table)
            raise _Overtaken
        return self._apply(text, version, edit)

    def _overwrite(self, text: str, author: Author | None) -> EffectiveConfig:
        """Store a document, whatever is stored, and apply it."""
        known = find_applied(self._table)
        edit = self._noted(text, known.version if known is not None else 0, author, replaces_any=True)
        version = self._store.write(text)
        if known is None or version > known.version:
            return self._apply(text, version, edit)
        # The parameter was deleted, so its versions begin again.
        written = ConfigurationText(text=text, version=version, modified_ms=known.outdated_from_ms)
        return self._put_in_force(written, edit)

    def _noted(self, text: str, base: int, author: Author | None, *, replaces_any: bool = False) -> ConfigWrite:
        """A write of the document that is recorded before it is made."""
        edit = ConfigWrite.of(
            text,
            base=base,
            holder=self._invocation.holder,
            ends_ms=self._invocation.lease_until_ms,
            author=author,
            replaces_any=replaces_any,
        )
        edit.note(self._table)
        return edit

    def _apply(self, text: str, version: int, edit: ConfigWrite) -> EffectiveConfig:
        """Apply a document that was just stored. It is not read again, as a read may return an older one."""
        return self._put_in_force(
            ConfigurationText(text=text, version=version, modified_ms=self._clocks.machine_ms()), edit
        )

    def _put_in_force(self, written: ConfigurationText, edit: ConfigWrite) -> EffectiveConfig:
        applied = apply_text(self._table, written, self._clocks, edit)
        # If another call has put it in force, or it is in force already.
        edit.forget(self._table)
        return applied

    def _changed(self, made_from: int, known: ConfigurationText) -> ConfigurationChanged:
        before = self._store.read_version(made_from)
        changes = differences(before.text, known.text) if before is not None else []
        told = "; ".join(f"{change.field}: {change.message}" for change in changes[:MAX_TOLD_CHANGES])
        more = f" (and {len(changes) - MAX_TOLD_CHANGES} more)" if len(changes) > MAX_TOLD_CHANGES else ""
        what = f"it changed {told}{more}" if told else "what changed since then is not known"
        return ConfigurationChanged(
            f"the configuration has version {known.version}, and this document was made from version {made_from}: "
            f"{what}. Make your change in the newest document (`headway config show`), or replace that "
            "(`headway config set --force`)",
            changes[:MAX_TOLD_CHANGES],
        )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Holds the lease."""
        item = self._table.get(_LEASE)
        if item is not None and int(upgrade(item)["untilMs"]) >= self._clocks.machine_ms():
            raise _somebody_else()
        mine = self._invocation
        lease = {"pk": _LEASE.pk, "sk": _LEASE.sk, "holder": mine.holder, "untilMs": mine.lease_until_ms}
        requires = Absent() if item is None else Equals("holder", item["holder"])
        try:
            self._table.write([Put(item=stamp(lease), requires=requires)])
        except Conflict:
            raise _somebody_else() from None
        try:
            yield
        finally:
            # If it is not returned, it ends by itself.
            with suppress(Conflict, RetryLater):
                self._table.write([Delete(key=_LEASE, requires=Equals("holder", self._invocation.holder))])


def _somebody_else() -> RetryLater:
    return RetryLater("another call changes the configuration; retry in a moment")
