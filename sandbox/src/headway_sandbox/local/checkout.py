"""Where things lie in the checkout that the sandbox serves: the template, the environments, the sources."""

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
    root: Path

    @classmethod
    def here(cls) -> Checkout:
        """The checkout that this file is part of."""
        return cls(root=Path(__file__).resolve().parents[4])

    def sandbox_python(self) -> Path:
        """The interpreter of the sandbox's environment, on which the server and the functions run.

        Raises:
            SetupMissing: it isn't there.
        """
        return self._tool(PYTHON_VARIABLE, ".envs/sandbox/bin/python")

    def sam(self) -> Path:
        """The `sam` command.

        Raises:
            SetupMissing: it isn't there.
        """
        return self._tool(SAM_VARIABLE, ".envs/sam/bin/sam")

    def template(self) -> Path:
        """The template that is deployed.

        Raises:
            SetupMissing: this is no checkout: Headway was installed without it.
        """
        path = self.root / "template.yaml"
        if not path.is_file():
            raise SetupMissing(
                f"There is no template.yaml in {self.root}: the sandbox runs from a checkout of Headway."
            )
        return path

    def calls_folder(self) -> Path:
        """Where runs leave what functions asked of AWS (`headway_sandbox.call_recorder`)."""
        return Path(os.environ.get(CALLS_VARIABLE) or self.root / "build" / "calls").resolve()

    def _tool(self, variable: str, usual: str) -> Path:
        # Not resolved: a virtual environment's python is a link, and only as such knows its environment.
        path = Path(os.environ.get(variable) or self.root / usual)
        if not os.access(path, os.X_OK):
            raise SetupMissing(f"{path} is missing: run `make setup` in {self.root}, or name another by {variable}.")
        return path

    def sources_hash(self) -> str:
        """A digest of all that a build depends on, the interpreter that it is built for included.

        Raises:
            SetupMissing: that isn't there.
        """
        return hashlib.sha256(f"{self.sandbox_python().resolve()} {self.code_hash()}".encode()).hexdigest()[:16]

    def code_hash(self) -> str:
        """A digest of the template and of what runs on it."""
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
