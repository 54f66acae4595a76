"""A batch of inputs of one decoder: drawn from a seed, and cut down by Hypothesis where one crashes it."""

from __future__ import annotations

import traceback
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Flaky

from headway_verification.decoders.decoder import Decoder
from headway_verification.decoders.notes import Notes

MAX_TOLD_CHARS = 6000
"""Characters of a traceback that are kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Crash:
    """What a decoder raised that it may not.

    Attributes:
        place: the kind of error and where it was raised: two crashes with one place are one finding.
        error: its traceback.
        content: the smallest input found that raises it.
    """

    place: str
    error: str
    content: bytes


def run_batch(decoder: Decoder, *, seed: int, count: int, known: Collection[str], notes: Notes) -> Crash | None:
    """Feed a decoder; return the first crash whose place is not known.

    Args:
        seed: draws the inputs.
        count: how many of them.
        known: places of crashes that were found before; they are not looked for again.
        notes: gets each input before its call.
    """
    found: list[Crash] = []

    def feed(content: bytes) -> None:
        notes.begin(content)
        try:
            decoder.decode(content)
        except decoder.refusals:
            notes.end(refused=True)
        except Exception as error:
            notes.end()
            if place_of(error) in known:
                return
            found.append(Crash(place=place_of(error), error=_told(error), content=content))
            raise
        else:
            notes.end(accepted=True)

    try:
        hypothesis.seed(seed)(
            settings(
                max_examples=count,
                database=None,
                deadline=None,
                derandomize=False,
                phases=(Phase.generate, Phase.shrink),
                suppress_health_check=tuple(HealthCheck),
                report_multiple_bugs=False,
                print_blob=False,
            )(given(decoder.inputs)(feed))
        )()
    except Exception as error:
        if not found:
            raise
        # Hypothesis plays the smallest one last. Where it did not crash again, the input that did is kept as it is.
        return found[0 if isinstance(error, Flaky) else -1]
    return None


def place_of(error: BaseException) -> str:
    """The kind of an error and the innermost place in Headway where it was raised."""
    # Without the frame of this module.
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [frame for frame in frames if "headway" in Path(frame.filename).parts[-3:] or "headway_" in frame.filename]
    frame = (own or frames)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.name}"


def _told(error: BaseException) -> str:
    lines = "".join(traceback.format_exception(error, limit=-12, chain=False))
    return lines[-MAX_TOLD_CHARS:]
