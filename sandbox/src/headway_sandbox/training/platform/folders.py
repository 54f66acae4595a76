"""Folders that a script may have changed in any way: their files are found and removed without following links."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

_REMOVAL_TRIES, _REMOVAL_PAUSE_S = 50, 0.1
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a FIFO would wait for a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FoundFile(NamedTuple):
    """A regular file of a folder, which is open. It is closed when the next one is asked for."""

    path: PurePosixPath
    """Its path in the folder."""
    content: BinaryIO
    status: os.stat_result


def files(root: Path, below: PurePosixPath) -> Iterator[FoundFile]:
    """Return the regular files of a folder, in order of their paths; links, sockets and devices are left out.

    Each folder is opened before what is in it, so a script that puts a link in its place cannot lead out of the root.

    Args:
        root: A folder that the script cannot replace.
        below: The folder, relative to the root. If it is missing, or a link, it has no files.
    """
    try:
        top = _open_folder(root, below)
    except OSError:
        return
    try:
        for path, subfolders, names, descriptor in os.fwalk(".", dir_fd=top, follow_symlinks=False):
            subfolders.sort()
            for name in sorted(names):
                yield from _open_file(PurePosixPath(path) / name, descriptor)
    finally:
        os.close(top)


def _open_folder(root: Path, below: PurePosixPath) -> int:
    """Open a folder below a root and return its descriptor.

    Raises:
        OSError: A part of its path is missing, or a link.
    """
    found = os.open(root, _FOLDER)
    for part in below.parts:
        parent = found
        try:
            found = os.open(part, _FOLDER, dir_fd=parent)
        finally:
            os.close(parent)
    return found


def _open_file(path: PurePosixPath, folder: int) -> Iterator[FoundFile]:
    try:
        opened = os.open(path.name, _FILE, dir_fd=folder)
    except OSError:
        return  # a link, a socket, or gone
    with os.fdopen(opened, "rb") as content:
        status = os.fstat(opened)
        if stat.S_ISREG(status.st_mode):
            yield FoundFile(path, content, status)


def read_start(root: Path, path: PurePosixPath, size: int) -> bytes:
    """Return the begin of a file; nothing if it is missing, or no regular file.

    Args:
        root: A folder that the script cannot replace.
        path: The file, relative to the root.
        size: How much is read, bytes.
    """
    try:
        folder = _open_folder(root, path.parent)
    except OSError:
        return b""
    try:
        return next((found.content.read(size) for found in _open_file(path, folder)), b"")
    finally:
        os.close(folder)


def size_of(folder: Path) -> int:
    """Return the disk space of all files in a folder, which exists, bytes."""
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
    """Remove a folder, if it exists, and all in it, also subfolders that their owner has made inaccessible.

    Its supervisor and a new server may remove it at the same time, while its last processes end.

    Raises:
        OSError: It cannot be removed.
    """
    for tries_left in reversed(range(_REMOVAL_TRIES)):
        try:
            _open_up(folder)
            shutil.rmtree(folder)
        except OSError:
            if not folder.exists():
                return
            if not tries_left:
                raise
            time.sleep(_REMOVAL_PAUSE_S)
        else:
            return


def _open_up(folder: Path) -> None:
    """Make all subfolders accessible. Root needs no permission, and must not change what a link may lead to."""
    if os.geteuid() == 0:
        return
    for path, names, _files in os.walk(folder):
        for subfolder in (Path(path, name) for name in names):
            if not subfolder.is_symlink():
                subfolder.chmod(0o700)
