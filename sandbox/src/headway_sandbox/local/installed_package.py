"""What the sandbox deploys without a checkout: the packages and the files of an installed wheel."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import headway
import headway_sandbox
import headway_service
from headway_client.install_hint import install_command
from headway_sandbox.errors import SetupMissing
from headway_sandbox.local.checkout import CALLS_VARIABLE, PYTHON_VARIABLE
from headway_sandbox.local.source_files import hash_of, hash_with_interpreter

# The modules that the extra `sandbox` brings.
_EXTRA = ("ministack", "samtranslator", "aws_lambda_powertools", "pydantic")


@dataclass(frozen=True, kw_only=True)
class InstalledPackage:
    """Headway as it was installed from a wheel, with the functions' packages beside it."""

    bundle: Path
    """The folder with the template and the files that it refers to (`sandbox/hatch_build.py`)."""
    packages: Mapping[str, Path]
    """The packages of layers, by the folder that the template names."""

    @classmethod
    def here(cls) -> InstalledPackage:
        """Return the package of this file. In a checkout it has no bundle (`is_installed`)."""
        return cls(
            bundle=Path(headway_sandbox.__path__[0]) / "_bundle",
            packages={
                "layers/core/src": Path(headway.__path__[0]),
                "layers/service/src": Path(headway_service.__path__[0]),
            },
        )

    def is_installed(self) -> bool:
        """Return whether this was installed from a wheel: only a wheel has the bundle."""
        return self.bundle.is_dir()

    def check(self) -> None:
        """Check that it can be deployed, before a server starts.

        Raises:
            SetupMissing: The packages of the extra `sandbox` are not installed.
        """
        missing = [name for name in _EXTRA if find_spec(name) is None]
        if missing:
            raise SetupMissing(
                f"The sandbox needs packages that are not installed ({', '.join(missing)}): "
                f"run `{install_command('sandbox')}`."
            )

    def home(self) -> Path:
        """Return the folder of a new sandbox."""
        return Path.cwd()

    def sandbox_python(self) -> Path:
        """Return the interpreter for the server and the functions; default: this one."""
        return Path(os.environ.get(PYTHON_VARIABLE) or sys.executable)

    def template(self) -> Path:
        """Return the path of the template."""
        return self.bundle / "template.yaml"

    def calls_folder(self) -> Path | None:
        """Return the folder for records of the functions' AWS calls; None: they are not recorded."""
        folder = os.environ.get(CALLS_VARIABLE)
        return Path(folder).resolve() if folder else None

    def sources_hash(self) -> str:
        """Return a hash of all that is deployed, including the interpreter."""
        return hash_with_interpreter(self.code_hash(), self.sandbox_python())

    def code_hash(self) -> str:
        """Return a hash of the template and the deployed code."""
        return hash_of({"": self.bundle, **self.packages})
