"""Paths in the checkout that the sandbox deploys: the template, the environments, the sources."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headway_sandbox.errors import SetupMissing

PYTHON_VARIABLE, SAM_VARIABLE, CALLS_VARIABLE = "HEADWAY_SANDBOX_PYTHON", "HEADWAY_SAM", "HEADWAY_CALLS"
_SOURCES = ("template.yaml", "functions", "layers")
_NOT_SOURCES = {"__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A checkout of Headway's repository."""

    root: Path

    @classmethod
    def here(cls) -> Checkout:
        """Return the checkout of this file."""
        return cls(root=Path(__file__).resolve().parents[4])

    def sandbox_python(self) -> Path:
        """Return the interpreter of the sandbox's environment, for the server and the functions.

        Raises:
            SetupMissing: It does not exist.
        """
        return self._tool(PYTHON_VARIABLE, ".envs/sandbox/bin/python")

    def sam(self) -> Path:
        """Return the path of the `sam` command.

        Raises:
            SetupMissing: It does not exist.
        """
        return self._tool(SAM_VARIABLE, ".envs/sam/bin/sam")

    def template(self) -> Path:
        """Return the path of the template.

        Raises:
            SetupMissing: It does not exist, as Headway was installed without a checkout.
        """
        path = self.root / "template.yaml"
        if not path.is_file():
            raise SetupMissing(
                f"There is no template.yaml in {self.root}: the sandbox runs from a checkout of Headway."
            )
        return path

    def calls_folder(self) -> Path:
        """Return the folder for records of the functions' AWS calls (`headway_sandbox.call_recorder`)."""
        return Path(os.environ.get(CALLS_VARIABLE) or self.root / "build" / "calls").resolve()

    def _tool(self, variable: str, usual: str) -> Path:
        # Not resolved: a virtual environment's python is a link, and finds its environment by the link's path.
        path = Path(os.environ.get(variable) or self.root / usual)
        if not os.access(path, os.X_OK):
            raise SetupMissing(f"{path} is missing: run `make setup` in {self.root}, or set {variable}.")
        return path

    def sources_hash(self) -> str:
        """Return a hash of all inputs of a build, including the interpreter.

        Raises:
            SetupMissing: The interpreter does not exist.
        """
        return hashlib.sha256(f"{self.sandbox_python().resolve()} {self.code_hash()}".encode()).hexdigest()[:16]

    def code_hash(self) -> str:
        """Return a hash of the template and the deployed code."""
        digest = hashlib.sha256()
        for path in sorted(self._source_files()):
            digest.update(f"\0{path.relative_to(self.root)}\0".encode())
            digest.update(path.read_bytes())
        return digest.hexdigest()[:16]

    def _source_files(self) -> Iterator[Path]:
        for name in _SOURCES:
            top = self.root / name
            if top.is_file():
                yield top
            for folder, folders, files in os.walk(top):
                folders[:] = [entry for entry in folders if entry not in _NOT_SOURCES]
                yield from (Path(folder) / entry for entry in files if not entry.endswith(".pyc"))
