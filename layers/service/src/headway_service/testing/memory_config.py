"""The configuration document without AWS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headway_service.ports.config_store import ConfigurationText


class MemoryConfiguration:
    """A :class:`headway_service.ports.config_store.ConfigurationStore` in memory. Tests may set its text and version.

    Attributes:
        text: the newest document.
        version: its version.
        lag: the number of newest versions that reads do not show yet, as with eventually consistent reads.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.text = json.dumps(document)
        self.version = 1
        self.lag = 0
        self._before: dict[int, str] = {}

    def read(self) -> ConfigurationText:
        """The newest version that is shown."""
        version = self.version - self.lag
        return self.read_version(version) or ConfigurationText(text=self.text, version=self.version)

    def read_version(self, version: int) -> ConfigurationText | None:
        """The document in a version; None if there is none."""
        if version == self.version:
            return ConfigurationText(text=self.text, version=version)
        return ConfigurationText(text=self._before[version], version=version) if version in self._before else None

    def write(self, text: str) -> int:
        """Store a document. Returns its version."""
        self._before[self.version] = self.text
        self.text, self.version = text, self.version + 1
        return self.version
