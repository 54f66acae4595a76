"""The state file that a running sandbox writes into its checkout or folder, where the client finds it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from headway_client.errors import ProfileError
from headway_client.text import from_json

STATE_FILE = Path(".sandbox") / "sandbox.json"
_MAX_FILE_BYTES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class SandboxState:
    """A sandbox's endpoints for the queue and for AWS, and its dummy credentials."""

    path: Path
    endpoint: str
    region: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    aws_endpoint: str | None = None


def find(folder: Path, *, own_only: bool = False) -> SandboxState | None:
    """Search for a sandbox's state file in a folder and its parents, and read it.

    Args:
        folder: the first folder.
        own_only: see `locate`.

    Raises:
        ProfileError: the file can't be read.
    """
    path = locate(folder, own_only=own_only)
    return _read(path) if path else None


def locate(folder: Path, *, own_only: bool = False) -> Path | None:
    """Search for a sandbox's state file in a folder and its parents, and return its path.

    Args:
        folder: the first folder.
        own_only: ignore files of other users. A user who did not name the sandbox must not be sent to one that
            another user has placed in a parent folder, such as /tmp.
    """
    for candidate in (folder, *folder.parents):
        path = candidate / STATE_FILE
        if path.is_file() and not (own_only and not _is_own(path)):
            return path
    return None


def _is_own(path: Path) -> bool:
    # Windows has no user ids, and parent folders are not writable for other users.
    return sys.platform == "win32" or path.stat().st_uid == os.geteuid()


def _read(path: Path) -> SandboxState:
    try:
        with path.open("rb") as file:
            document = from_json(file.read(_MAX_FILE_BYTES))
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
