"""Pairs of rules that no job can satisfy, as far as the rules alone prove it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product

from headway.jobpolicy.patterns import matches
from headway.jobpolicy.requirements import Allowed, OnlyTagged, Requirement, Tagged, Untagged
from headway.jobpolicy.rules import Rule, When

_GLOB = frozenset("*?[")


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleConflict:
    """Two rules that a job for which both are breaks in any case."""

    #: Names of the rules; twice the same, if a rule contradicts itself.
    rules: tuple[str, str]
    #: The requirement in which they conflict.
    subject: str


def find_conflicts(rules: Sequence[Rule]) -> Iterator[RuleConflict]:
    """Each pair of rules that contradict each other and are for the same job, unless their conditions part them."""
    for one, other in combinations_with_replacement(rules, 2):
        if _parted(one.when, other.when):
            continue
        within, between = combinations(one.requirements, 2), product(one.requirements, other.requirements)
        for first, second in within if one is other else between:
            subject = _clash(first, second) or _clash(second, first)
            if subject is not None:
                yield RuleConflict(rules=(one.name, other.name), subject=subject)


def disjoint(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether no text can match patterns of both lists. False if both have wildcards, as that is not decided.

    Args:
        some: patterns.
        others: other patterns.
    """
    for exact, patterns in ((some, others), (others, some)):
        if not any(_GLOB & set(text) for text in exact):
            return not any(matches(text, patterns) for text in exact)
    return False


def _parted(one: When, other: When) -> bool:
    """Whether no job is one that both conditions hold for; but for jobs on several instance types, which are rare."""
    return (
        (bool(one.teams) and bool(other.teams) and not set(one.teams) & set(other.teams))
        or (one.spot is not None and other.spot is not None and one.spot is not other.spot)
        or (one.preemptible is not None and other.preemptible is not None and one.preemptible is not other.preemptible)
        or (
            bool(one.instance_types)
            and bool(other.instance_types)
            and disjoint(one.instance_types, other.instance_types)
        )
        or any(disjoint(one.tags[key], other.tags[key]) for key in one.tags.keys() & other.tags.keys())
    )


def _clash(first: Requirement, second: Requirement) -> str | None:
    """What two requirements contradict each other about; None if they don't."""
    match first, second:
        case Allowed(), Allowed() if first.path == second.path and disjoint(first.patterns, second.patterns):
            return first.path
        case Tagged(), Tagged() if first.key == second.key and disjoint(first.patterns, second.patterns):
            return f"the tag {first.key!r}"
        case Tagged(), Untagged() if matches(first.key, second.patterns):
            return f"the tag {first.key!r}"
        case Tagged(), OnlyTagged() if not matches(first.key, second.patterns):
            return f"the tag {first.key!r}"
        case _:
            return None
