"""Builds wheels of the current sources."""

from __future__ import annotations

from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parents[1]


def build_wheel(folder: Path, version: str = "standard") -> Path:
    """Build a wheel.

    Args:
        folder: the folder for it.
        version: `standard`, or `editable` for that of an editable install.
    """
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=[version])
    return Path(path)
