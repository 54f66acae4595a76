"""A check, and what it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headway_verification.acceptance.evidence import Evidence, Missing


class Verdict(StrEnum):
    """Whether an assumption is true."""

    HOLDS = "holds"
    FALSE = "does not hold"
    UNCHECKED = "could not be checked"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a check made of the evidence."""

    verdict: Verdict
    answer: str
    """What AWS answered; of what could not be checked, why."""


def holds(answer: str) -> Finding:
    """Return that the assumption is true."""
    return Finding(verdict=Verdict.HOLDS, answer=answer)


def is_false(answer: str) -> Finding:
    """Return that the assumption is false."""
    return Finding(verdict=Verdict.FALSE, answer=answer)


def unchecked(why: str) -> Finding:
    """Return that the evidence shows neither."""
    return Finding(verdict=Verdict.UNCHECKED, answer=why)


def decided(answer: str, *, true: bool) -> Finding:
    """Return a finding that is one of the two."""
    return holds(answer) if true else is_false(answer)


@dataclass(frozen=True, kw_only=True)
class Check:
    """One assumption on AWS that a deployment can show."""

    name: str
    service: str
    assumes: str
    asks: str
    """What is asked of AWS."""
    evidence: Callable[[Evidence], Any | Missing]
    judges: Callable[[Any], Finding]
    if_false: str
    """What it means, and what to change."""
    sandbox: str = ""
    """Why the sandbox cannot show it; empty if it can run there."""

    def run(self, gathered: Evidence) -> Finding:
        """Judge the evidence of this check."""
        found = self.evidence(gathered)
        return unchecked(found.why) if isinstance(found, Missing) else self.judges(found)
