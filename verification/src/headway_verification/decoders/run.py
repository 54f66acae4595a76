"""The fuzz of all decoders: batches in turn until the time is over, and what they found."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from headway_verification.decoders.batch import Crash
from headway_verification.decoders.cut import cut_down
from headway_verification.decoders.decoder import Decoder
from headway_verification.decoders.watch import watched_batch

MAX_HANGS = 3
"""A decoder that hung so often is not fed any more: each hang takes its time."""


@dataclass(kw_only=True)
class Findings:
    """What the fuzz found of one decoder.

    Attributes:
        decoder: the decoder.
        inputs: how many inputs were decoded, those of cutting down included.
        refused: those that were refused.
        accepted: those that were accepted.
        crashes: by their places.
        hangs: the inputs of calls that did not return in time.
    """

    decoder: Decoder
    inputs: int = 0
    refused: int = 0
    accepted: int = 0
    crashes: dict[str, Crash] = field(default_factory=dict)
    hangs: list[bytes] = field(default_factory=list)


def fuzz(
    decoders: Sequence[Decoder],
    *,
    seed: int,
    seconds: float | None = None,
    share: float = 1.0,
    failed: Callable[[Findings], None] = lambda _: None,
) -> list[Findings]:
    """Feed decoders in turn, a batch each.

    Args:
        seed: draws all inputs. The inputs of a batch depend on it, the decoder's name and the number of the batch.
        seconds: until when another round begins, s; None for one round.
        share: the part of a batch that is drawn.
        failed: called with what was found of a decoder after each batch that failed.
    """
    all_found = [Findings(decoder=decoder) for decoder in decoders]
    end_s = time.monotonic() + (seconds or 0.0)
    number = 0
    while number == 0 or (seconds is not None and time.monotonic() < end_s):
        for found in all_found:
            if number and seconds is not None and time.monotonic() >= end_s:
                break
            if len(found.hangs) < MAX_HANGS and _feed(
                found, seed=batch_seed(seed, found.decoder.name, number), share=share
            ):
                failed(found)
        number += 1
    return all_found


def batch_seed(seed: int, name: str, number: int) -> int:
    """The seed of a batch."""
    return zlib.crc32(f"{seed} {name} {number}".encode())


def replay(decoder: Decoder, content: bytes) -> Findings:
    """Feed a decoder with one input, as a batch is fed."""
    found = Findings(decoder=replace(decoder, inputs=st.just(content), batch=1))
    _feed(found, seed=0, share=1.0, cuts=False)
    return found


def _feed(found: Findings, *, seed: int, share: float, cuts: bool = True) -> bool:
    """Feed a decoder with a batch; return whether it failed."""
    decoder = found.decoder
    count = max(1, round(decoder.batch * share))
    result = watched_batch(decoder, seed=seed, count=count, known=found.crashes.keys())
    found.inputs += result.inputs
    found.refused += result.refused
    found.accepted += result.accepted
    if result.crash is not None:
        found.crashes[result.crash.place] = result.crash
    if result.hang is not None:
        # Others are as they came: a decoder that hangs often is shown by one of them.
        cut = cuts and not found.hangs
        found.hangs.append(cut_down(result.hang, _still_hangs(decoder)) if cut else result.hang)
    return result.crash is not None or result.hang is not None


def _still_hangs(decoder: Decoder) -> Callable[[bytes], bool]:
    return lambda content: bool(replay(decoder, content).hangs)
