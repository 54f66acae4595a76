"""The files that a sandbox writes into its checkout or folder, where the client and `headway sandbox` find them.

The sandbox is that of the nearest folder from the current one up, or else that of the checkout whose headway runs.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from configparser import ConfigParser, Error
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway_client import json_text
from headway_client.config.loopback import is_loopback
from headway_client.errors import ProfileError

STATE_FILE = Path(".sandbox") / "sandbox.json"
CREDENTIALS = "credentials"
"""Name of the file beside it with the administrator's key, in the format of AWS's shared credentials."""
CHECKOUT = Path(__file__).resolve().parents[4]
"""The checkout that this file is part of; of an installed wheel, a folder without a sandbox."""
_MAX_FILE_BYTES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class SandboxState:
    """A sandbox's endpoints for the queue and for AWS, and its administrator's key."""

    path: Path
    endpoint: str
    region: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    aws_endpoint: str | None = None


def find(folder: Path, *, own_only: bool = False) -> SandboxState | None:
    """Search for a sandbox, and read its state file.

    Args:
        folder: the first folder.
        own_only: see `locate`.

    Raises:
        ProfileError: the file can't be read, another user can have written it, or it names another machine.
    """
    found = locate(folder, own_only=own_only)
    return _read(found[0]) if found else None


def locate(folder: Path, *, own_only: bool = False) -> list[Path]:
    """Return the paths of the state files of sandboxes; the first is that of the sandbox to use.

    Args:
        folder: the first folder that is searched, before its parents and the checkout.
        own_only: ignore files of other users. A user who did not name the sandbox must not be sent to one that
            another user has placed in a parent folder, such as /tmp.
    """
    folders = dict.fromkeys((folder, *folder.parents, CHECKOUT))
    files = [each / STATE_FILE for each in folders]
    return [path for path in files if path.is_file() and not (own_only and not _is_own(path))]


def state_dir(default: Path) -> Path:
    """Return the state directory of the user's sandbox that is found from the working directory.

    Args:
        default: the folder of a new one, if there is none.
    """
    found = locate(Path.cwd(), own_only=True)
    return found[0].parent if found else default / STATE_FILE.parent


def _is_own(path: Path) -> bool:
    return _belongs_to_caller(path.stat())


def _belongs_to_caller(found: os.stat_result) -> bool:
    # Windows has no user ids, and parent folders are not writable for other users.
    return sys.platform == "win32" or found.st_uid == os.geteuid()


def _read(path: Path) -> SandboxState:
    try:
        with path.open("rb") as file:
            # Of the open file: the path may be another one's by now.
            _require_trusted(path, os.fstat(file.fileno()))
            document = json_text.decode(file.read(_MAX_FILE_BYTES))
        if not document["endpoint"]:
            raise ProfileError(f"The sandbox of {path} has no queue yet. Run `headway sandbox up`.")
        credentials = ConfigParser(interpolation=None)
        credentials.read_string(path.with_name(CREDENTIALS).read_text(encoding="ascii"))
        key = credentials["default"]
        return SandboxState(
            path=path,
            endpoint=_local(path, document, "endpoint"),
            region=str(document["region"]),
            access_key_id=key["aws_access_key_id"],
            secret_access_key=key["aws_secret_access_key"],
            aws_endpoint=_local(path, document, "aws_endpoint") if document.get("aws_endpoint") else None,
        )
    except (OSError, ValueError, Error, KeyError, TypeError) as error:
        raise ProfileError(
            f"{path}, or the file {CREDENTIALS} beside it, can't be read ({type(error).__name__}). "
            "Run `headway sandbox down`, then `up`."
        ) from error


def _require_trusted(path: Path, found: os.stat_result) -> None:
    """Refuse a file that another user has written, or can: calls with their data would go where that user wants."""
    if not _belongs_to_caller(found):
        raise ProfileError(f"{path} belongs to another user. Start a sandbox of your own with `headway sandbox up`.")
    if sys.platform != "win32" and found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ProfileError(f"{path} can be changed by other users. If none has, run `chmod go-w {path}`.")


def _local(path: Path, document: Mapping[str, Any], key: str) -> str:
    url = str(document[key])
    if not is_loopback(url):
        raise ProfileError(
            f"{path}: `{key}` is {url}, but a sandbox is on this machine. Run `headway sandbox down`, then `up`; for "
            "another endpoint use a profile or HEADWAY_ENDPOINT."
        )
    return url
