"""A random search: values that are drawn for each member."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from headway.sweeps.distributions import Distribution, parse_distribution
from headway.sweeps.limits import MAX_MEMBERS
from headway.sweeps.parameters import checked_names, shown, text_of
from headway.sweeps.problems import Problem

RANDOM = "random"
COUNT = "count"
SEED = "seed"

_MAX_SEED = 2**32 - 1


@dataclass(frozen=True, slots=True)
class RandomSearch:
    """Members with random values, which are the same again for the same seed.

    A value depends on the seed, the index of the member and the name of the hyperparameter, on nothing else: so a
    member is computed alone, and stays as it is if another hyperparameter is added.
    """

    distributions: tuple[tuple[str, Distribution], ...]
    count: int
    seed: int

    @property
    def names(self) -> tuple[str, ...]:
        """The hyperparameters that differ."""
        return tuple(name for name, _ in self.distributions)

    def values(self, index: int) -> dict[str, str]:
        """The hyperparameters of one member."""
        return {name: text_of(each.value(_draw(self.seed, index, name))) for name, each in self.distributions}

    def document(self) -> dict[str, Any]:
        """The document that it is parsed from."""
        return {
            RANDOM: {name: each.document() for name, each in self.distributions},
            COUNT: self.count,
            SEED: self.seed,
        }


def parse_random(document: Mapping[str, Any], problems: list[Problem]) -> RandomSearch:
    """Return what a document has as its random search; it can be used if no problem is found.

    Args:
        document: the document, with the members ``random``, ``count`` and ``seed``.
        problems: gets what is wrong with it.
    """
    named = checked_names(document[RANDOM], RANDOM, problems)
    parsed = [(name, parse_distribution(each, f"{RANDOM}.{name}", problems)) for name, each in named.items()]
    count = _whole(document, COUNT, 1, MAX_MEMBERS, "the number of members", problems)
    seed = _whole(document, SEED, 0, _MAX_SEED, "so that the same values are drawn again", problems)
    return RandomSearch(tuple((name, each) for name, each in parsed if each is not None), count, seed)


def _whole(document: Mapping[str, Any], name: str, low: int, high: int, purpose: str, problems: list[Problem]) -> int:
    value = document.get(name)
    if type(value) is int and low <= value <= high:
        return value
    asked = f"a whole number of {low} to {high:,}, {purpose}"
    wrong = f"is {shown(value)}; use {asked}" if name in document else f"is missing; add {asked}"
    problems.append(Problem(name, wrong))
    return low


def _draw(seed: int, index: int, name: str) -> Fraction:
    """A fraction of 0 to 1 that is random as far as a hash is."""
    # As JSON, so that no two of them are the same text.
    digest = hashlib.sha256(json.dumps([seed, index, name]).encode()).digest()
    return Fraction(int.from_bytes(digest), 1 << (8 * len(digest)))
