"""The configuration document without AWS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headway_service.ports import ConfigurationText


class MemoryConfiguration:
    """A :class:`headway_service.ports.ConfigurationStore` in memory; its text and version can be looked at, and set."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.text = json.dumps(document)
        self.version = 1

    def read(self) -> ConfigurationText:
        return ConfigurationText(text=self.text, version=self.version)

    def write(self, text: str) -> int:
        self.text, self.version = text, self.version + 1
        return self.version
