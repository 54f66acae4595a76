"""System calls of Linux that Python 3.11 does not have."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

NEW_MOUNTS, NEW_HOSTNAME, NEW_IPC, NEW_PIDS = 0x0002_0000, 0x0400_0000, 0x0800_0000, 0x2000_0000
"""Flags of `unshare`: clone(2)."""

READ_ONLY, NO_SETUID, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8
REMOUNT, BIND, RECURSIVE, PRIVATE = 32, 4096, 16384, 1 << 18
"""Flags of `mount`: mount(2)."""

_DETACH = 2
_DROP_BOUNDING, _SECURE_BITS, _NO_NEW_PRIVILEGES = 24, 28, 38
# SECBIT_NOROOT and SECBIT_NO_SETUID_FIXUP with their locks: a program of user 0 gets no capabilities (capabilities(7)).
_NO_ROOT = 0b1111
_MOST_CAPABILITIES = 64

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Move this process, or its next child, into new namespaces.

    Raises:
        OSError: The system does not allow it.
    """
    _check(_libc.unshare(flags), "unshare")


def mount(source: str, target: Path, kind: str, flags: int, data: str = "") -> None:
    """Mount a file system.

    Args:
        source: What is mounted.
        target: The folder or file.
        kind: Type of the file system; empty for a bind.
        flags: Flags of mount(2).
        data: Options of the file system.

    Raises:
        OSError: It cannot be mounted.
    """
    arguments = (source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode() or None)
    _check(_libc.mount(*arguments), f"mount {target}")


def change_root(folder: Path) -> None:
    """Make a folder the root, and unmount the old one.

    Args:
        folder: A mount point.

    Raises:
        OSError: The folder is no mount point, or the process may not do it.
    """
    os.chdir(folder)
    # The old root is stacked on the new one, and then unmounted: pivot_root(2), "pivot_root(".", ".")".
    _check(_libc.pivot_root(b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _DETACH), "umount the old root")
    os.chdir("/")


def drop_privileges(user: int | None) -> None:
    """Give up all capabilities for good, for this process and all that it starts.

    Args:
        user: The user and group to become; None: the current one, which is user 0 of a user namespace.

    Raises:
        OSError: The process may not do it.
    """
    for capability in range(_MOST_CAPABILITIES):
        if _libc.prctl(_DROP_BOUNDING, capability, 0, 0, 0) != 0:
            break  # EINVAL: beyond the last capability
    if user is None:
        _check(_libc.prctl(_SECURE_BITS, _NO_ROOT, 0, 0, 0), "prctl")
    else:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    _check(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")


def _check(result: int, call: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
