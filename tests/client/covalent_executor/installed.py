"""The metadata of an installed Headway, by which Covalent finds the executor: the sources are on the path only."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]


def metadata_in(folder: Path) -> Path:
    """Write the metadata, with the entry points of pyproject.toml; return the folder to import from."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = folder / "site" / f"headway-{project['version']}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: headway\nVersion: {project['version']}\n")
    lines = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return metadata.parent
