"""The files of a source folder, and their hash."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

_NOT_SOURCES = {"__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}


def source_files(top: Path) -> Iterator[tuple[str, Path]]:
    """Return the files below a folder, by name, without what interpreters and tools have written.

    Args:
        top: The folder, or one file.

    Returns:
        Each file with its path in the folder; a single file has its own name.
    """
    if top.is_file():
        yield top.name, top
        return
    found = []
    for folder, folders, files in os.walk(top):
        folders[:] = [entry for entry in folders if entry not in _NOT_SOURCES]
        found += [Path(folder) / entry for entry in files if not entry.endswith(".pyc")]
    yield from sorted((path.relative_to(top).as_posix(), path) for path in found)


def hash_of(tops: Mapping[str, Path]) -> str:
    """Return a hash of the names and contents of files.

    Args:
        tops: Folders and files, by the name that stands for each.
    """
    digest = hashlib.sha256()
    for top in sorted(tops):
        for name, path in source_files(tops[top]):
            digest.update(f"\0{top}/{name}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def hash_with_interpreter(code_hash: str, python: Path) -> str:
    """Return a hash of code and the interpreter that runs it.

    Args:
        python: The interpreter.
    """
    return hashlib.sha256(f"{python.resolve()} {code_hash}".encode()).hexdigest()[:16]
