"""The key of a sandbox's administrator: random, and in a file that only the sandbox's user can read.

The file is in the format of AWS's shared credentials, so that other tools find it by AWS_SHARED_CREDENTIALS_FILE. A
sandbox keeps its key as long as its state.
"""

from __future__ import annotations

import hmac
import os
import secrets
from configparser import ConfigParser, Error
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

CONTROLS = "/_headway/"
"""Prefix of the paths of the sandbox's own controls, which are the administrator's."""
SERVICE = "headway-sandbox"
"""Service in the signatures of requests to them."""
PROOF = "x-headway-proof"
"""Header of their responses: `proof`."""
FILE = "credentials"
"""Name of the file in the state directory."""
_SECTION, _KEY, _SECRET = "default", "aws_access_key_id", "aws_secret_access_key"
_KEY_BYTES, _SECRET_BYTES = 8, 20
_OTHERS = 0o077


@dataclass(frozen=True, kw_only=True)
class Administrator:
    """The key of the account's root."""

    access_key: str
    secret_key: str = field(repr=False)


def proof(secret_key: str, signature: str) -> str:
    """Return what only the sandbox that was asked can answer: another program may listen on its port.

    Args:
        secret_key: The administrator's secret key.
        signature: The signature of the request.
    """
    return hmac.new(secret_key.encode(), f"{PROOF} {signature}".encode(), "sha256").hexdigest()


def find(state_dir: Path) -> Administrator | None:
    """Return the key of a sandbox; None if it has none, or other users could have read it.

    Args:
        state_dir: Its state directory.
    """
    path = state_dir / FILE
    read = ConfigParser(interpolation=None)
    try:
        if path.stat().st_mode & _OTHERS:
            return None
        read.read_string(path.read_text(encoding="ascii"))
        return Administrator(access_key=read[_SECTION][_KEY], secret_key=read[_SECTION][_SECRET])
    except (OSError, ValueError, Error, KeyError):
        return None


def find_or_make(state_dir: Path) -> Administrator:
    """Return the key of a sandbox, which gets one if it has none.

    Args:
        state_dir: Its state directory, which no other user can enter.
    """
    found = find(state_dir)
    if found is not None:
        return found
    made = Administrator(
        access_key=f"AKIA{secrets.token_hex(_KEY_BYTES).upper()}", secret_key=secrets.token_hex(_SECRET_BYTES)
    )
    with suppress(FileNotFoundError):
        (state_dir / FILE).unlink()
    # Never a file of somebody else, nor a link to one.
    descriptor = os.open(state_dir / FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"[{_SECTION}]\n{_KEY} = {made.access_key}\n{_SECRET} = {made.secret_key}\n")
    return made
