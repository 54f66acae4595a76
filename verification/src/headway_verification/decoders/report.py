"""Shows and keeps what the fuzz found."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tabulate import tabulate

from headway_verification.decoders.run import Findings

_SHOWN_BYTES = 600


def has_failed(all_found: Sequence[Findings]) -> bool:
    """Whether a decoder crashed or hung."""
    return any(found.crashes or found.hangs for found in all_found)


def summary(all_found: Sequence[Findings]) -> str:
    """A line for each decoder, and one for all of them."""
    rows: list[tuple[str, int, int, int, int, int]] = [
        (found.decoder.name, found.inputs, found.refused, found.accepted, len(found.crashes), len(found.hangs))
        for found in all_found
    ]
    total = [sum(column) for column in zip(*([*row[1:]] for row in rows), strict=True)]
    return tabulate(
        [*rows, ("all", *total)], headers=("decoder", "inputs", "refused", "accepted", "crashes", "hangs"), intfmt=","
    )


def progress(found: Findings) -> str:
    """A line that says what a decoder did as soon as it did: a run may be ended before its summary."""
    crashes = ", ".join(found.crashes) or "none"
    return f"{found.decoder.name} fails: {len(found.hangs)} hangs, crashes: {crashes}"


def failures(all_found: Sequence[Findings], folder: Path) -> Iterator[str]:
    """Save the inputs that crashed a decoder or made it hang; yield a text for each.

    Args:
        all_found: the findings.
        folder: where they are saved.
    """
    for found in all_found:
        told = [(crash.content, f"crashes: {place}", crash.error) for place, crash in found.crashes.items()]
        told += [(content, "hangs", "") for content in found.hangs]
        for content, what, error in told:
            path = _saved(content, found.decoder.name, folder)
            shown = repr(content) if len(content) <= _SHOWN_BYTES else f"{content[:_SHOWN_BYTES]!r}…"
            again = f"python -m headway_verification.decoders --only '{found.decoder.name}' --replay {path}"
            yield f"{found.decoder.name} {what}\n{error}input ({len(content):,} bytes): {shown}\nagain: {again}\n"


def _saved(content: bytes, name: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    safe = "".join(letter if letter.isalnum() else "-" for letter in name)
    path = folder / f"{safe}-{hashlib.sha256(content).hexdigest()[:12]}"
    path.write_bytes(content)
    return path
