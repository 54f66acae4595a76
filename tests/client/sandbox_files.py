"""The files by which the client finds a sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path


def write_sandbox(folder: Path, document: Mapping[str, object], *, key: str, secret: str) -> Path:
    """Write the files of a sandbox in a folder, and return the path of its state file.

    Args:
        folder: the folder.
        document: the state.
        key: the administrator's access key.
        secret: his secret key.
    """
    state = folder / ".sandbox"
    state.mkdir(parents=True)
    (state / "sandbox.json").write_text(json.dumps(document))
    (state / "credentials").write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n")
    return state / "sandbox.json"
