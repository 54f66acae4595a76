"""The pins of the deployed packages, and the distributions in a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

LAYER_PINS = Path("layers/dependencies/requirements.txt")
_PIN = re.compile(r"^([a-z0-9-]+)==(\S+)[^\n]*((?:\n +--hash=sha256:[0-9a-f]{64}(?: \\)?)+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Pin:
    """One line of hashed requirements: one version, of which any of these files may be installed."""

    name: str
    version: str
    sha256: tuple[str, ...]


def read_pins(path: Path) -> list[Pin]:
    """The pins in a file that `make lock` has written."""
    found = _PIN.finditer(path.read_text(encoding="utf-8"))
    return [Pin(name, version, tuple(_HASH.findall(hashes))) for name, version, hashes in (m.groups() for m in found)]


def installed_in(site: Path) -> Iterator[tuple[str, Distribution]]:
    """The distributions in a folder of packages, each with its normalised name."""
    for distribution in distributions(path=[str(site)]):
        yield normalised(distribution.name), distribution


def normalised(name: str) -> str:
    """A distribution's name as pins have it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
