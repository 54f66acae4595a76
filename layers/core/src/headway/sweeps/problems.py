"""What is wrong with the document of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.errors import HeadwayError


@dataclass(frozen=True, slots=True)
class Problem:
    """An error at one place of the document."""

    #: Such as ``grid.lr[2]``; empty for the whole document.
    path: str
    #: What to change; it reads on after the path.
    message: str

    def __str__(self) -> str:
        return f"{self.path or 'the sweep'} {self.message}"


class InvalidSweep(HeadwayError):
    """The document describes no sweep.

    Attributes:
        problems: all of them, in the order of the document.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)
