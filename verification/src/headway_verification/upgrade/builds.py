"""Versions to update to: variants of a build of the current sources."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from pathlib import Path

from headway_sandbox.errors import DeployFailed
from headway_sandbox.local import deployment
from headway_sandbox.local.checkout import Checkout

STRAY_TABLE = "somebody-elses"
"""An existing table whose name a version's template also uses."""

_CORE = "CoreLayer/python/headway/__init__.py"
_STRAY = f"""\
  StrayTable:
    Type: AWS::DynamoDB::Table
    DependsOn: [ApiFunction, ScheduleFunction, ObserveFunction, ReconcileFunction]
    Properties:
      TableName: {STRAY_TABLE}
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{{ AttributeName: pk, AttributeType: S }}]
      KeySchema: [{{ AttributeName: pk, KeyType: HASH }}]
"""


def of_commit(checkout: Checkout, commit: str, *, folder: Path, region: str) -> Path:
    """Build the sources of a commit.

    Args:
        checkout: the checkout with the commit.
        folder: the folder for the sources.
        region: the region for sam.

    Returns:
        The folder of the build.

    Raises:
        DeployFailed: the commit does not exist, or the build failed.
    """
    try:
        archive = subprocess.run(
            ["git", "archive", commit, "template.yaml", "functions", "layers", "Makefile", "deploy"],
            cwd=checkout.root, capture_output=True, check=True,
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        raise DeployFailed(f"git can't read the commit {commit}: {error.stderr.decode().strip()}") from error
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    tools = folder / ".envs"
    tools.symlink_to(checkout.root / ".envs", target_is_directory=True)
    return deployment.build(Checkout(root=folder), region=region)


def changed(built: Path, folder: Path) -> Path:
    """Return a version with different code in a layer that all functions use."""
    return _with_core_code(built, folder, "\nRELEASE = 'the next one'\n")


def broken(built: Path, folder: Path) -> Path:
    """Return a version whose functions cannot be imported."""
    return _with_core_code(built, folder, "\nraise ImportError('this version was never tried')\n")


def refused(built: Path, folder: Path) -> Path:
    """Return a version whose update fails halfway: it creates a table whose name is in use."""
    version = _with_core_code(built, folder, "\nRELEASE = 'one that never comes'\n")
    template = version / "template.yaml"
    before, resources, rest = template.read_text(encoding="utf-8").partition("\nResources:\n")
    template.write_text(before + resources + _STRAY + rest, encoding="utf-8")
    return version


def rekeyed(built: Path, folder: Path) -> Path:
    """Return a version whose table has another sort key, which requires a replacement."""
    version = Path(shutil.copytree(built, folder))
    template = version / "template.yaml"
    text = template.read_text(encoding="utf-8")
    other = text.replace("- AttributeName: sk\n", "- AttributeName: sortKey\n")
    if other == text:
        raise DeployFailed("The template written by sam has no attribute sk.")
    template.write_text(other, encoding="utf-8")
    return version


def _with_core_code(built: Path, folder: Path, code: str) -> Path:
    version = Path(shutil.copytree(built, folder))
    with (version / _CORE).open("a", encoding="utf-8") as module:
        module.write(code)
    return version
