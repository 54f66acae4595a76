"""Finds the file that is being written in a checkpoint folder, by inotify(7).

A small file is complete before anything can be done about it. The kernel reports each step in order, so the first
report names the file as it was written, also if it was renamed since.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from headway_sandbox.training.platform import folders

MAX_READ_BYTES = 64 * 2**20
"""Of a longer file, half of its begin is kept."""

# <sys/inotify.h>
_MODIFY, _MOVED_FROM, _MOVED_TO, _CREATE = 0x2, 0x40, 0x80, 0x100
_IS_FOLDER, _ONLY_FOLDERS, _NO_LINKS = 0x40000000, 0x01000000, 0x02000000
_WATCHED = _MODIFY | _MOVED_FROM | _MOVED_TO | _CREATE | _ONLY_FOLDERS | _NO_LINKS
_EVENT = struct.Struct("iIII")
_READ_BYTES = 65_536
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, kw_only=True)
class Written:
    """A file that is being written."""

    path: PurePosixPath
    """Its path when the write began, in its root."""
    half: bytes | None
    """The first half of what it had when it was found; None if it was complete when it came to the folder."""


class _Event(NamedTuple):
    root: Path
    path: PurePosixPath
    kind: int
    cookie: int
    """The same for both parts of a rename."""

    @property
    def is_folder(self) -> bool:
        return bool(self.kind & _IS_FOLDER)


class Writes:
    """The writes below some folders, as a context manager. Its file descriptor can be waited for.

    Args:
        roots: The folders, which exist. Scripts may change what is in them in any way.

    Raises:
        OSError: The system has no inotify instance left.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self._descriptor: int = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self._folders: dict[int, tuple[Path, PurePosixPath]] = {}
        self._renamed: dict[int, PurePosixPath] = {}
        self._begun: set[PurePosixPath] = set()
        """Files that were empty, or folders that were gone, when they were looked at."""
        for root in roots:
            self._watch(root, PurePosixPath())

    def __enter__(self) -> Writes:
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self._descriptor)

    def fileno(self) -> int:
        """Return its file descriptor."""
        return self._descriptor

    def read(self) -> Iterator[Written]:
        """Yield the writes that the kernel has reported since the last call."""
        for event in self._events():
            if event.kind & _MOVED_FROM:
                self._renamed[event.cookie] = event.path
            elif event.kind & _MOVED_TO:
                yield from self._moved(event)
            elif event.is_folder:
                yield from self._entered(event.root, event.path, named=event.path)
            elif event.kind & _MODIFY:
                yield from self._modified(event.root, event.path, named=event.path)

    def _events(self) -> Iterator[_Event]:
        try:
            received = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        position = 0
        while position < len(received):
            watch, kind, cookie, length = _EVENT.unpack_from(received, position)
            position += _EVENT.size + length
            name = os.fsdecode(received[position - length : position].rstrip(b"\0"))
            if watch in self._folders:
                root, folder = self._folders[watch]
                yield _Event(root, folder / name, kind, cookie)

    def _moved(self, event: _Event) -> Iterator[Written]:
        origin = self._renamed.pop(event.cookie, None)
        if origin is None:
            self._watch(event.root, event.path)
            yield Written(path=event.path, half=None)
        elif event.is_folder:
            # If it was renamed before it was watched, what was written there is here now.
            named = origin if origin in self._begun else None
            yield from self._entered(event.root, event.path, named=named)
        elif origin in self._begun:
            yield from self._modified(event.root, event.path, named=origin)

    def _entered(self, root: Path, path: PurePosixPath, *, named: PurePosixPath | None) -> Iterator[Written]:
        """Watch a folder, and yield the files that were written there before, below its name at that time."""
        if not self._watch(root, path):
            self._begun.add(path)
        elif named is not None:
            for found in folders.files(root, path):
                if content := found.content.read(MAX_READ_BYTES):
                    yield Written(path=named / found.path, half=content[: len(content) // 2])

    def _watch(self, root: Path, path: PurePosixPath) -> bool:
        """Watch a folder and its subfolders, and return whether it exists."""
        exists = False
        for folder, _subfolders, _files in os.walk(root / path):
            watch = _libc.inotify_add_watch(self._descriptor, os.fsencode(folder), _WATCHED)
            if watch >= 0:
                self._folders[watch] = (root, PurePosixPath(folder).relative_to(root))
                exists = True
        return exists

    def _modified(self, root: Path, path: PurePosixPath, *, named: PurePosixPath) -> Iterator[Written]:
        content = folders.read_start(root, path, MAX_READ_BYTES)
        if content:
            yield Written(path=named, half=content[: len(content) // 2])
        else:  # it was truncated, or renamed since: there is another event
            self._begun.add(path)
