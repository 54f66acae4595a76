"""The root folder of a host: what a script can see of this machine.

It has the system's programs and the interpreter, read-only, and `/opt/ml` and `/tmp` of its own. It has none of this
machine's homes, nor the sandbox's state.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from headway_sandbox.training.container import linux

ML = PurePosixPath("/opt/ml")
_SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc")
# Settings of the kernel, which its user 0 could change without a capability.
_KERNEL = ("bus", "fs", "irq", "sys", "sysrq-trigger")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
_HARMLESS = linux.NO_SETUID | linux.NO_DEVICES
# In a user namespace, a mount keeps these options of its origin (mount_namespaces(7), "Restrictions").
_KEPT = linux.READ_ONLY | linux.NO_SETUID | linux.NO_DEVICES | linux.NO_PROGRAMS | os.ST_NOATIME | os.ST_NODIRATIME


def enter(folder: Path, *, programs: Sequence[str], hosts: str) -> None:
    """Make the root folder of a host and enter it. The process has mount and PID namespaces of its own.

    Args:
        folder: The host's folder, with `ml` and `tmp`.
        programs: Folders with the interpreter.
        hosts: Contents of /etc/hosts.

    Raises:
        OSError: The system does not allow it.
    """
    linux.mount("none", Path("/"), "", linux.RECURSIVE | linux.PRIVATE)
    root = folder / "root"
    root.mkdir()
    linux.mount("tmpfs", root, "tmpfs", _HARMLESS, "size=16m,mode=755")
    _bind_system(root)
    _bind(folder / "ml", root / ML.relative_to("/"))
    _bind(folder / "tmp", root / "tmp")
    for program in programs:  # they may be below the folders before
        _bind(Path(program), root / program.lstrip("/"), read_only=True)
    (folder / "hosts").write_text(hosts, encoding="utf-8")
    _bind(folder / "hosts", root / "etc/hosts", read_only=True)
    _make_devices(root / "dev")
    (root / "proc").mkdir()
    linux.mount("proc", root / "proc", "proc", _HARMLESS | linux.NO_PROGRAMS)
    for path in (root / "proc" / name for name in _KERNEL):
        if path.exists():  # kernels differ
            _bind(path, path, read_only=True)
    linux.change_root(root)
    linux.mount("none", Path("/"), "", linux.REMOUNT | linux.BIND | linux.READ_ONLY | _HARMLESS)


def _bind_system(root: Path) -> None:
    for name in _SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            (root / name).symlink_to(path.readlink())
        elif path.is_dir():
            _bind(path, root / name, read_only=True)


def _make_devices(folder: Path) -> None:
    folder.mkdir()
    for name in _DEVICES:
        _bind(Path("/dev", name), folder / name)
    for name, target in _DEVICE_LINKS.items():
        (folder / name).symlink_to(target)
    (folder / "shm").mkdir()
    linux.mount("tmpfs", folder / "shm", "tmpfs", _HARMLESS, "mode=1777,size=1g")


def _bind(source: Path, target: Path, *, read_only: bool = False) -> None:
    if target.exists():
        if source != target and target.samefile(source):
            return  # a part of a folder that is bound already
    elif source.is_dir():
        target.mkdir(parents=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    linux.mount(str(source), target, "", linux.BIND | linux.RECURSIVE)
    if read_only:
        kept = os.statvfs(target).f_flag & _KEPT
        linux.mount("none", target, "", linux.REMOUNT | linux.BIND | linux.READ_ONLY | kept)
