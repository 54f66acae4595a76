"""Paths in the checkout that the sandbox deploys: the template, the environments, the sources."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from headway_sandbox.errors import SetupMissing
from headway_sandbox.local.source_files import hash_of, hash_with_interpreter

PYTHON_VARIABLE, SAM_VARIABLE, CALLS_VARIABLE = "HEADWAY_SANDBOX_PYTHON", "HEADWAY_SAM", "HEADWAY_CALLS"
_SOURCES = ("template.yaml", "functions", "layers")


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A checkout of Headway's repository.

    Attributes:
        root: its folder.
        code_name: what the record of the functions' calls names the deployed code; empty for the hash of it.
    """

    root: Path
    code_name: str = ""

    @classmethod
    def here(cls) -> Checkout:
        """Return the checkout of this file."""
        return cls(root=Path(__file__).resolve().parents[4])

    def check(self) -> None:
        """Check that it can be deployed, before a server starts.

        Raises:
            SetupMissing: sam, the interpreter or the template does not exist.
        """
        self.sandbox_python()
        self.sam()
        self.template()

    def home(self) -> Path:
        """Return the folder of a new sandbox."""
        return self.root

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
                f"There is no template.yaml in {self.root}: it is neither a checkout of Headway nor an installed wheel."
            )
        return path

    def calls_folder(self) -> Path:
        """Return the folder for records of the functions' AWS calls (`headway_sandbox.call_recorder`)."""
        return Path(os.environ.get(CALLS_VARIABLE) or self.root / "build" / "calls").resolve()

    def _tool(self, variable: str, usual: str) -> Path:
        # Not resolved: a virtual environment's python is a link, and finds its environment by the link's path.
        path = Path(os.environ.get(variable) or self.root / usual)
        if not os.access(path, os.X_OK):
            raise SetupMissing(f"{path} is missing: run `make setup-sandbox` in {self.root}, or set {variable}.")
        return path

    def sources_hash(self) -> str:
        """Return a hash of all inputs of a build, including the interpreter.

        Raises:
            SetupMissing: The interpreter does not exist.
        """
        return hash_with_interpreter(self.code_hash(), self.sandbox_python())

    def code_hash(self) -> str:
        """Return a hash of the template and the deployed code, or the name that it has."""
        return self.code_name or hash_of({name: self.root / name for name in _SOURCES})
