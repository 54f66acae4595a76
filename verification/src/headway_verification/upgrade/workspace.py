"""The folder that an operator deploys from, and the commands."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path

from headway_sandbox.errors import DeployFailed
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.sandbox_info import SandboxInfo
from headway_verification.upgrade import prompt_driver
from headway_verification.upgrade.prompt_driver import PromptDriver

STACK = "headway"
"""The stack name in samconfig.toml for ENV=prod."""

CONFIRM = "Deploy this changeset?"

_SETTINGS = "samconfig.local.toml"
_COPIED = ("Makefile", "samconfig.toml", "deploy", "client/src", "layers/core/src")
# An outer make passes its settings on to child processes.
_OUTER_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")


class Workspace:
    """A checkout without sources: builds are installed there, and deployed to a sandbox with the real Makefile.

    Args:
        folder: an empty folder.
        checkout: provides the Makefile, settings and sam.
        info: the sandbox.
    """

    def __init__(self, folder: Path, *, checkout: Checkout, info: SandboxInfo) -> None:
        self._folder = folder
        self._info = info
        self._sam = checkout.sam()
        inherited = info.environment()
        self._environment = {name: value for name, value in inherited.items() if name not in _OUTER_MAKE}
        for name in _COPIED:
            source = checkout.root / name
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            copy(source, folder / name)
        tools = folder / ".envs/sam"
        tools.mkdir(parents=True)
        (tools / "bin").symlink_to(self._sam.parent, target_is_directory=True)
        (folder / ".aws-sam").mkdir()

    def install(self, built: Path, *, tools: Path | None = None) -> None:
        """Put a build where `sam build` leaves it.

        Args:
            tools: the sources whose Makefile and `deploy` are used from now on; None for the same as before.
        """
        if tools is not None:
            shutil.copy2(tools / "Makefile", self._folder / "Makefile")
            shutil.rmtree(self._folder / "deploy")
            shutil.copytree(tools / "deploy", self._folder / "deploy")
        place = self._folder / ".aws-sam/build"
        place.unlink(missing_ok=True)
        place.symlink_to(built, target_is_directory=True)

    def deploy_guided(self, answers: Mapping[str, str]) -> PromptDriver:
        """Run `make deploy ENV=prod GUIDED=1` with these answers to its questions; all changes are confirmed."""
        return self._make("GUIDED=1", answers=answers)

    def deploy(self) -> PromptDriver:
        """Run `make deploy ENV=prod`; all changes are confirmed."""
        return self._make()

    def deploy_without_make(self) -> PromptDriver:
        """Run `sam deploy` without the Makefile."""
        config = ["--config-file", str(self._folder / _SETTINGS), "--config-env", "prod"]
        return self._type([str(self._sam), "deploy", *config], {CONFIRM: "y"})

    def delete(self) -> PromptDriver:
        """Run `sam delete`."""
        words = [str(self._sam), "delete", "--stack-name", STACK, "--region", self._info.region, "--no-prompts"]
        return self._type(words, {})

    def package(self) -> str:
        """Run `sam package`, which uploads the build; return the template with the uploaded locations."""
        packaged = self._folder / "packaged.yaml"
        where = ["--template-file", ".aws-sam/build/template.yaml", "--output-template-file", str(packaged)]
        said = self._type([str(self._sam), "package", *where, "--resolve-s3", "--region", self._info.region], {})
        if said.status != 0:
            raise DeployFailed(f"`sam package` failed:\n{said.tail()}")
        return packaged.read_text(encoding="utf-8")

    def parameters(self) -> dict[str, str]:
        """Return the template's parameters from the settings."""
        settings = tomllib.loads((self._folder / _SETTINGS).read_text(encoding="utf-8"))
        overrides: str = settings["prod"]["deploy"]["parameters"]["parameter_overrides"]
        return dict(word.split("=", 1) for word in shlex.split(overrides))

    def set_parameter(self, name: str, value: str) -> None:
        """Change a template parameter in the settings written by the guided deployment.

        Args:
            name: the parameter.
            value: its new value.

        Raises:
            DeployFailed: the settings do not contain it.
        """
        settings = self._folder / _SETTINGS
        before, found, rest = settings.read_text(encoding="utf-8").rpartition(f'{name}=\\"')
        if not found:
            raise DeployFailed(f"{settings} has no parameter {name}.")
        settings.write_text(f'{before}{found}{value}\\"{rest.partition(chr(92) + chr(34))[2]}', encoding="utf-8")

    def set_tag(self, name: str, value: str) -> None:
        """Change a tag of the stack in these settings.

        Args:
            name: the tag.
            value: its new value.

        Raises:
            DeployFailed: the settings do not contain it.
        """
        settings = self._folder / _SETTINGS
        text, found = re.subn(rf'({name}=\\?"?)\w+', rf"\g<1>{value}", settings.read_text(encoding="utf-8"))
        if not found:
            raise DeployFailed(f"{settings} has no tag {name}.")
        settings.write_text(text, encoding="utf-8")

    def _make(self, *variables: str, answers: Mapping[str, str] | None = None) -> PromptDriver:
        # -o build: the build exists already.
        words = ["make", "--old-file", "build", "deploy", "ENV=prod", *variables]
        return self._type(words, {CONFIRM: "y", **(answers or {})})

    def _type(self, words: list[str], answers: Mapping[str, str]) -> PromptDriver:
        return prompt_driver.run_command(words, environment=self._environment, folder=self._folder, answers=answers)
