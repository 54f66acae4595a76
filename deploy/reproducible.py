"""Builds the deployed archives again in another environment, and compares their bytes.

    python -m deploy.reproducible     (after `make build`; exit 1 where an archive differs)

The second build runs in a copy of the checkout in another folder, from files with other times that were written in
another order, with another umask, time zone, locale and seed of hashes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from deploy.archives import SUMS

BUILD = Path(".aws-sam/build")
_OTHER_TIME_S = 1_000_000_000
_OTHER_WORLD = {"TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONHASHSEED": "8"}


def main() -> int:
    """Compare the build in this checkout with one in a copy."""
    here = Path.cwd()
    first = (BUILD / SUMS).read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory(prefix="headway another place ") as folder:
        copy = Path(folder) / "of another name"
        copy_checkout(here, copy)
        second = build(copy, here / ".envs" / "sam" / "bin")
    differing = sorted({line.split()[1] for line in {*first} ^ {*second}})
    for name in differing:
        print(f"{name} differs between two builds of the same checkout", file=sys.stderr)
    if not differing:
        print(f"{len(first)} archives, the same bytes twice")
    return 1 if differing else 0


def copy_checkout(source: Path, target: Path) -> None:
    """Copy what git knows or does not ignore: last file first, with another time."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    # Here as below: git and make, with arguments of our own.
    listed = subprocess.run(  # noqa: S603
        command, cwd=source, capture_output=True, text=True, check=True
    ).stdout
    for name in sorted(filter(None, listed.split("\0")), reverse=True):
        if (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / name, target / name)
            os.utime(target / name, (_OTHER_TIME_S, _OTHER_TIME_S))


def build(checkout: Path, sam: Path) -> list[str]:
    """Run `make build` there with the tools of here; the lines of its archives' sums."""
    # --old-file: the tools are there, so their environment is not made again in the copy.
    command = ["make", "--silent", "--old-file=.envs/sam/.made", "build", f"SAM={sam}"]
    done = subprocess.run(  # noqa: S603
        command,
        cwd=checkout,
        env={**os.environ, **_OTHER_WORLD, "MAKEFLAGS": ""},
        umask=0o077,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"the second build failed:\n{done.stderr[-2000:]}")
    return (checkout / BUILD / SUMS).read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    sys.exit(main())
