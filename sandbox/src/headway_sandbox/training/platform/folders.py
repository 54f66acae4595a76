"""Folders that a script may have changed in any way: their files are found and removed without following links."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple


class FoundFile(NamedTuple):
    """A regular file of a folder, which is open. It is closed when the next one is asked for."""

    path: PurePosixPath
    """Its path in the folder."""
    content: BinaryIO
    status: os.stat_result


def files(folder: Path) -> Iterator[FoundFile]:
    """Return the regular files of a folder, in order of their paths; links, sockets and devices are left out.

    Each folder is opened before its files, so a script that puts a link in its place cannot lead out of it.

    Args:
        folder: The folder. It may not exist.
    """
    for path, _folders, names, descriptor in os.fwalk(folder, follow_symlinks=False):
        _folders.sort()
        for name in sorted(names):
            try:
                # Without O_NONBLOCK a FIFO would wait for a writer.
                opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=descriptor)
            except OSError:
                continue  # a link, a socket, or gone
            with open(opened, "rb") as content:  # noqa: PTH123  it is a descriptor
                status = os.fstat(opened)
                if stat.S_ISREG(status.st_mode):
                    yield FoundFile(PurePosixPath(path).relative_to(folder) / name, content, status)


def read_start(folder: Path, name: str, size: int) -> bytes:
    """Return the begin of one file of a folder; nothing if it is missing, or no regular file.

    Args:
        folder: The folder.
        name: Name of the file.
        size: How much is read, bytes.
    """
    for found in files(folder):
        if str(found.path) == name:
            return found.content.read(size)
    return b""


def size_of(folder: Path) -> int:
    """Return the disk space of all files in a folder, bytes."""
    used = 0
    for _path, _folders, names, descriptor in os.fwalk(folder, follow_symlinks=False):
        for name in names:
            try:
                used += os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_blocks * 512
            except OSError:
                continue  # gone
    return used


def give(folder: Path, user: int | None) -> None:
    """Make a user the owner of a folder and all in it; None: they stay as they are."""
    if user is None:
        return
    for _path, _folders, names, descriptor in os.fwalk(folder, follow_symlinks=False):
        os.fchown(descriptor, user, user)
        for name in names:
            os.chown(name, user, user, dir_fd=descriptor, follow_symlinks=False)


def remove(folder: Path) -> None:
    """Remove a folder and all in it, also subfolders that their owner has made inaccessible."""

    def open_up(retry: Callable[..., Any], path: str, _error: Any) -> None:
        for each in (Path(path).parent, Path(path)):
            if each.is_dir() and not each.is_symlink():
                each.chmod(0o700)
        retry(path)

    if folder.exists():
        shutil.rmtree(folder, onerror=open_up)
