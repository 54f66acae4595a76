"""Compiles what `sam build` has built, for the Python that runs it, so that no cold start has to.

    python -m deploy.bytecode .aws-sam/build PYTHON     (exit 0 without one, too: the build then stays as sources)

A layer is read-only on Lambda, so an interpreter that finds no bytecode there compiles each module again at every cold
start and can keep nothing. Only an interpreter of the same version can write it ahead. What it writes depends on the
sources alone: it names no time, and files by where they are unpacked, not by where they were built.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

LAMBDA = "cpython-313"
"""What Lambda's python3.13 calls its bytecode (PEP 3147)."""

LAYER_AT, FUNCTION_AT = "/opt/python", "/var/task"
"""Where Lambda unpacks layers, of which Python sees one folder, and functions (Lambda developer guide)."""


def main() -> int:
    """Compile the build in the folder that the first argument names; the second names the Python to do it with."""
    build, wanted = Path(sys.argv[1]), sys.argv[2]
    python = fitting((wanted, sys.executable), LAMBDA)
    if python is None:
        print(
            f"WITHOUT BYTECODE: neither {wanted} nor the tools' Python is {LAMBDA}, which Lambda runs. Each cold start "
            "will compile all modules, for a second or more. Name one: make build BYTECODE_PYTHON=/path/to/python3.13"
        )
        return 0
    compile_build(build, python)
    number = len(list(build.rglob("*.pyc")))
    print(f"bytecode: {number} modules, for {LAMBDA}")
    return 0


def fitting(pythons: Iterable[str], tag: str) -> str | None:
    """The first existing interpreter whose bytecode has this tag."""
    for python in pythons:
        try:
            # The interpreter is the builder's to name.
            told = subprocess.run(  # noqa: S603
                [python, "-I", "-S", "-c", "import sys; print(sys.implementation.cache_tag)"],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:
            continue
        if told.stdout.strip() == tag:
            return python
    return None


def compile_build(build: Path, python: str) -> None:
    """Compile the parts of a build, but those that have bytecode already."""
    for part in sorted(path for path in build.iterdir() if path.is_dir()):
        if not any(part.rglob("*.pyc")):
            layer = part / "python"
            if layer.is_dir():
                compile_folder(layer, python, at=LAYER_AT)
            else:
                compile_folder(part, python, at=FUNCTION_AT)


def compile_folder(folder: Path, python: str, *, at: str) -> None:
    """Write the bytecode of the modules in a folder, beside them.

    It is taken without a look at the source's time or content (``unchecked-hash``), as times change on the way through
    an archive.

    Args:
        folder: where the modules are.
        python: the interpreter that will run them, or one of its version.
        at: where they will be, which tracebacks name.

    Raises:
        subprocess.CalledProcessError: a module is not valid Python of that version; its output names it.
    """
    # Without user settings and the current folder, and with a fixed hash seed, by which sets are laid
    # out. -P: the folder that this runs in is not searched.
    command = [python, "-s", "-S", "-P", "-W", "ignore", "-m", "compileall", "-q"]
    where = ["-s", str(folder.resolve()), "-p", at, str(folder.resolve())]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run(  # noqa: S603
        [*command, "--invalidation-mode", "unchecked-hash", *where], env={**kept, "PYTHONHASHSEED": "0"}, check=True
    )


if __name__ == "__main__":
    sys.exit(main())
