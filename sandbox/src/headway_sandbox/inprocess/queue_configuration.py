"""The configuration of a queue, set without the API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headway_service.config import document as configuration
from headway_service.pools.apply_config import EffectiveConfig, apply_configuration, find_applied, put_in_force
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table


class QueueConfiguration:
    """The configuration in force in a table, which tests read and replace whatever its version is.

    Args:
        document: what the queue begins with.

    Attributes:
        first: what the queue begins with, JSON, as in the functions' environment.
    """

    def __init__(self, table: Table, document: Mapping[str, Any], clocks: Clocks) -> None:
        self._table = table
        self._clocks = clocks
        self.first = json.dumps(document)

    @property
    def document(self) -> dict[str, Any]:
        """The document in force, or the first one."""
        known = find_applied(self._table)
        document: dict[str, Any] = json.loads(self.first if known is None else known.text)
        return document

    @property
    def version(self) -> int:
        """The version in force; 1 before there is one."""
        known = find_applied(self._table)
        return 1 if known is None else known.version

    def begin(self) -> EffectiveConfig:
        """The configuration in force; in a new queue the first one is put in force."""
        return apply_configuration(self._table, self.first, self._clocks)

    def write(self, document: Mapping[str, Any]) -> EffectiveConfig:
        """Put a document in force."""
        return put_in_force(self._table, self.begin(), configuration.validate(document), None, self._clocks)
