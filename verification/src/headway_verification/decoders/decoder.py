"""What a decoder is to the fuzz."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis.strategies import SearchStrategy

from headway.errors import HeadwayError

INPUTS = 200
"""Inputs of a batch. Each batch has a process of its own."""

CPU_LIMIT_S = 10.0
"""A call that has used so much processor time hangs. Inputs are small: usual calls take milliseconds."""


class Refused(HeadwayError):
    """An input was refused as it should be, by an answer and not by an exception."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoder:
    """A decoder and what it is fed with.

    Attributes:
        name: its name, with the package or the call that it belongs to.
        inputs: what is decoded.
        decode: decodes it; what it returns is ignored.
        refusals: the errors that it may raise; it raises them for no other reason than the input.
        batch: inputs of a batch; fewer where a call takes long.
        cpu_limit_s: see :data:`CPU_LIMIT_S`.
    """

    name: str
    inputs: SearchStrategy[bytes]
    decode: Callable[[bytes], object]
    refusals: tuple[type[BaseException], ...]
    batch: int = INPUTS
    cpu_limit_s: float = CPU_LIMIT_S
