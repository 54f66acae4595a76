"""Write the files that options name."""

from __future__ import annotations

from pathlib import Path

from headway_client.errors import UsageError


def write_text(path: str | Path, text: str) -> None:
    """Write a file in UTF-8, in place of what it had.

    Args:
        path: the file.
        text: its content.

    Raises:
        UsageError: it can't be written; the message has the path and the reason.
    """
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror or error}. Choose another file.") from error
