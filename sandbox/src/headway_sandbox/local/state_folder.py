"""Which folder has a sandbox's state, and its removal."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from headway_sandbox import administrator
from headway_sandbox.errors import StateDirUnusable
from headway_sandbox.journal import journal

FILE = "sandbox.json"
"""Name of the file in the state directory that says where the server is."""
LOCK = "lock"
"""Name of the file that a start or a removal locks."""


def has_state(folder: Path) -> bool:
    """Return whether a folder has the state of a sandbox: another one of this name is not Headway's to remove."""
    has_journal = administrator.find(folder) is not None and (folder / journal.FILE).is_file()
    return has_journal or _names_server(folder / FILE)


def _names_server(path: Path) -> bool:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and all(isinstance(document.get(name), int) for name in ("port", "pid"))


def check_removable(folder: Path) -> None:
    """Raise an error if a state directory cannot be removed, before its sandbox is stopped.

    Args:
        folder: The state directory.

    Raises:
        StateDirUnusable: It is a link, or the user may not write to it or to its folder.
    """
    if folder.is_symlink():
        raise StateDirUnusable(
            f"{folder} is a link to {folder.resolve()}, and a reset removes nothing behind a link: nothing was "
            f"changed. Run `headway sandbox down`, then remove both."
        )
    for each in (folder.parent, folder):
        if not os.access(each, os.W_OK | os.X_OK):
            raise StateDirUnusable(
                f"{folder} cannot be removed, as you may not write to {each}: nothing was changed. Change its "
                f"permissions, then reset again."
            )


def remove(folder: Path) -> None:
    """Remove the state directory of a sandbox that has stopped.

    Args:
        folder: The state directory.

    Raises:
        StateDirUnusable: Some of it cannot be removed.
    """
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise StateDirUnusable(
            f"The sandbox has stopped, but {error.filename or folder} cannot be removed ({error.strerror}). Remove "
            f"{folder} yourself."
        ) from error
