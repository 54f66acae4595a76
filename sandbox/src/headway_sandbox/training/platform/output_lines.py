"""The lines that a script prints, whatever it prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

MAX_LINE_BYTES = 16_384
"""Longer lines are split."""

MAX_OUTPUT_BYTES = 8 * 2**20
"""How much of the output of a host is kept in its log: the sandbox has its logs in memory."""


def lines(output: BinaryIO, *, most_bytes: int = MAX_OUTPUT_BYTES) -> Iterator[str]:
    """Return the lines of an output until its end; those beyond a limit are read and dropped, so the script goes on.

    Args:
        most_bytes: The limit.
    """
    left = most_bytes
    while raw := output.readline(MAX_LINE_BYTES):
        if left <= 0:
            continue
        left -= len(raw)
        # CloudWatch Logs has text only, and no empty messages.
        text = raw.decode("utf-8", errors="replace").rstrip("\r\n").replace("\0", "\N{REPLACEMENT CHARACTER}")
        yield text or " "
        if left <= 0:
            yield f"The sandbox keeps {most_bytes} bytes of a host's output; the rest is not logged."
