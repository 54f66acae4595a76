"""The file that a running sandbox leaves in its checkout, so that the commands typed there find it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from headway_client.errors import ProfileError

STATE_FILE = Path(".sandbox") / "sandbox.json"
_MAX_FILE_BYTES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class SandboxState:
    """Where a sandbox listens, for the queue and for AWS, and the dummy credentials it takes."""

    path: Path
    endpoint: str
    region: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    aws_endpoint: str | None = None


def find(folder: Path, *, own_only: bool = False) -> SandboxState | None:
    """Look for a sandbox in a folder and those above it.

    Args:
        folder: where to begin.
        own_only: pass over files of other users. Who has not asked for a sandbox must not be led to one that
            somebody else has put above them, such as in /tmp.

    Raises:
        ProfileError: the file found can't be read.
    """
    for candidate in (folder, *folder.parents):
        path = candidate / STATE_FILE
        if path.is_file() and not (own_only and not _is_own(path)):
            return _read(path)
    return None


def _is_own(path: Path) -> bool:
    # Windows has no user ids, nor a folder above one's own that others write to.
    return sys.platform == "win32" or path.stat().st_uid == os.geteuid()


def _read(path: Path) -> SandboxState:
    try:
        with path.open("rb") as file:
            document = json.loads(file.read(_MAX_FILE_BYTES))
        if not document["endpoint"]:
            raise ProfileError(f"The sandbox of {path} has no queue yet. Run `headway sandbox up`.")
        return SandboxState(
            path=path,
            endpoint=str(document["endpoint"]),
            region=str(document["region"]),
            access_key_id=str(document["access_key"]),
            secret_access_key=str(document["secret_key"]),
            aws_endpoint=str(document["aws_endpoint"]) if document.get("aws_endpoint") else None,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProfileError(
            f"{path} can't be read ({type(error).__name__}). Run `headway sandbox down`, then `up`."
        ) from error
