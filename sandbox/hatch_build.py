"""Adds to the wheel what a sandbox deploys besides packages: the template and the files that it refers to.

A hook and no `force-include`: that would also copy the files beside an editable install, whose sandbox deploys the
checkout itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# `headway_sandbox.local.installed_package` reads them there, in the folders that the template names.
BUNDLE = "headway_sandbox/_bundle"
FILES = ("template.yaml", "functions/*/app.py", "layers/dependencies/requirements.txt")


class BundleHook(BuildHookInterface[Any]):
    """Includes the files in a wheel, but not in an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files.

        Args:
            version: `standard` or `editable`.
            build_data: The build's data, which hatch reads afterwards.
        """
        if version != "standard":
            return
        root = Path(self.root)
        for pattern in FILES:
            for path in sorted(root.glob(pattern)):
                build_data["force_include"][str(path)] = f"{BUNDLE}/{path.relative_to(root).as_posix()}"
