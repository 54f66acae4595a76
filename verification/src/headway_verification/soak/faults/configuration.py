"""The configuration parameter called through a fault injector."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from headway_service.ports.config_store import ConfigurationText
from headway_service.testing.memory_config import MemoryConfiguration
from headway_verification.soak.faults.injection import FaultInjector, busy_error


class FaultyConfiguration:
    """The configuration document, changed by users and read by invocations.

    Args:
        document: the first version.
        edge: the fault injector.
        clock_s: the virtual time, s.

    Attributes:
        lag_s: the age from which reads return a version, s: AWS does not document consistent reads.
    """

    def __init__(self, document: Mapping[str, Any], edge: FaultInjector, clock_s: Callable[[], float]) -> None:
        self._store = MemoryConfiguration(document)
        self._edge = edge
        self._clock_s = clock_s
        self._written_s = clock_s()
        self.lag_s = 0.0

    @property
    def document(self) -> dict[str, Any]:
        """The current document."""
        document: dict[str, Any] = json.loads(self._store.text)
        return document

    @property
    def version(self) -> int:
        """The newest version."""
        return self._store.version

    def document_of(self, version: int) -> dict[str, Any] | None:
        """Return the document of a version, or None if it does not exist."""
        found = self._store.read_version(version)
        document: dict[str, Any] | None = json.loads(found.text) if found else None
        return document

    def edit(self, document: Mapping[str, Any]) -> None:
        """Edit the parameter directly, as in the AWS console."""
        self._write(json.dumps(document))

    def read(self) -> ConfigurationText:
        """See :class:`headway_service.ports.config_store.ConfigurationStore`. May return an older version."""

        def work() -> ConfigurationText:
            self._store.lag = int(self._clock_s() < self._written_s + self.lag_s)
            return self._store.read()

        return self._edge.call("GetParameter", work, refused=busy_error)

    def read_version(self, version: int) -> ConfigurationText | None:
        """See :class:`headway_service.ports.config_store.ConfigurationStore`."""
        return self._edge.call("GetParameter", lambda: self._store.read_version(version), refused=busy_error)

    def write(self, text: str) -> int:
        """See :class:`headway_service.ports.config_store.ConfigurationStore`.

        Raises:
            Violated: the replaced document is newer than the one that the caller read.
        """

        def work() -> int:
            return self._write(text)

        return self._edge.call("PutParameter", work, refused=busy_error, again=work)

    def _write(self, text: str) -> int:
        self._written_s = self._clock_s()
        return self._store.write(text)
