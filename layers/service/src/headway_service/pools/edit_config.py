"""Changes the configuration document, one change at a time, so that none is lost."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from headway_service.actions.action import Author
from headway_service.config import document as configuration
from headway_service.config.differences import differences
from headway_service.errors import ConfigurationChanged, Conflict, RetryLater
from headway_service.pools.apply_config import EffectiveConfig, apply_configuration, put_in_force
from headway_service.pools.config_history import find_record
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table
from headway_service.store.repository import pool_not_found

MAX_TRIES = 3
"""How often a change is tried again that others come before."""

MAX_TOLD_CHANGES = 20
"""Differences between two versions that a conflict names."""


class ConfigEditor:
    """Changes the document.

    Args:
        first: the document that the deployment begins with.
        region: of the deployment, whose training plans pools may follow; empty if it is not known.
    """

    def __init__(self, *, table: Table, first: str, clocks: Clocks, region: str = "") -> None:
        self._table = table
        self._first = first
        self._clocks = clocks
        self._region = region

    def replace(
        self, document: Any, made_from: int | None, account: str = "", author: Author | None = None
    ) -> EffectiveConfig:
        """Check a document, and put it in force.

        A document that equals the one in force succeeds and changes nothing, whatever it was made from, so that calls
        can be repeated (RFC 9110, section 13.1.1).

        Args:
            made_from: the version that it was made from; None to replace any version.
            account: of the deployment; empty if it is not known.
            author: who replaces it; None if that is not known.

        Raises:
            InvalidConfiguration: the document is not valid; nothing was changed.
            ConfigurationChanged: another version is in force than the document was made from.
            RetryLater: others keep changing the configuration.
        """
        text = configuration.new_text_to_keep(document, region=self._region, account=account)
        for _ in range(MAX_TRIES):
            known = self._read()
            if known.text == text:
                return known
            if made_from not in {None, known.version}:
                raise self._changed(made_from, known)
            with suppress(Conflict):
                return self._write(text, known, author)
        raise _others()

    def resize(self, pool: str, size: int, author: Author | None = None) -> EffectiveConfig:
        """Change the size of one pool in the document in force.

        Args:
            pool: the instance type of the pool.
            size: the number of instances.
            author: who resizes it; None if that is not known.

        Raises:
            PoolNotFound: the document has no such pool.
            InvalidConfiguration: it would not be valid with this size.
            RetryLater: others keep changing the configuration.
        """
        for _ in range(MAX_TRIES):
            known = self._read()
            pools = known.configuration.pools
            if pool not in pools:
                raise pool_not_found(pool, pools)
            document = json.loads(known.text)
            document["pools"][pool]["size"] = size
            text = configuration.text_to_keep(document)
            if known.text == text:
                return known
            with suppress(Conflict):
                return self._write(text, known, author)
        raise _others()

    def _read(self) -> EffectiveConfig:
        return apply_configuration(self._table, self._first, self._clocks)

    def _write(self, text: str, known: EffectiveConfig, author: Author | None) -> EffectiveConfig:
        if known.queue_teams is None:
            # Jobs may already wait in queues of teams that only this document names.
            raise Conflict.stale()
        return put_in_force(self._table, known, configuration.parse(text), author, self._clocks)

    def _changed(self, made_from: int | None, known: EffectiveConfig) -> ConfigurationChanged:
        before = None if made_from is None else find_record(self._table, known.life, made_from)
        changes = differences(before.document, known.text) if before is not None else []
        told = "; ".join(f"{change.field}: {change.message}" for change in changes[:MAX_TOLD_CHANGES])
        more = f" (and {len(changes) - MAX_TOLD_CHANGES} more)" if len(changes) > MAX_TOLD_CHANGES else ""
        what = f"it changed {told}{more}" if told else "what changed since then is not known"
        return ConfigurationChanged(
            f"the configuration has version {known.version}, and this document was made from version {made_from}: "
            f"{what}. Make your change in the newest document (`headway config show`), or replace that "
            "(`headway config set --force`)",
            changes[:MAX_TOLD_CHANGES],
        )


def _others() -> RetryLater:
    return RetryLater("others keep changing the configuration; retry in a moment")
