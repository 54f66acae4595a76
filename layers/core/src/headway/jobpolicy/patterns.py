"""Patterns of rules.

They are globs, not regular expressions: ``*`` matches any text, ``?`` one character, ``[ab]`` one of these. So no
pattern takes long to match.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

_MAX_NAMED = 10


def matches(text: str, patterns: Iterable[str]) -> bool:
    """Whether a text matches one of the patterns, case-sensitively."""
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def one_of(patterns: Sequence[str]) -> str:
    """Patterns in words: the pattern itself, or the first of several."""
    return f"one of {either(patterns, ', ')}" if len(patterns) > 1 else patterns[0]


def either(choices: Sequence[str], separator: str) -> str:
    """The first of some choices in words, and how many more there are."""
    named = separator.join(choices[:_MAX_NAMED])
    rest = len(choices) - _MAX_NAMED
    return f"{named} and {rest} more" if rest > 0 else named
