"""What advice consists of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

PriceOf = Callable[[str], float | None]
"""The price of an instance of a type per hour; None if it is not known."""

HIGH_MINUTES = 60
"""Values of a host, one a minute, from which an average counts as certain."""


class Confidence(StrEnum):
    """How sure advice is."""

    #: It follows from what was measured.
    HIGH = "high"
    #: It follows from a short measurement, or from a model of the job.
    MEDIUM = "medium"
    #: It is worth a try.
    LOW = "low"


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """Other instances for a job.

    Attributes:
        instances: how many of each type.
        speed: estimated, how many times as fast the job would be; None if that is not known.
        cost: estimated, how many times as much the job would cost; None if the speed or a price is not known.
    """

    instances: Mapping[str, int]
    speed: float | None = None
    cost: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """One piece of advice.

    Attributes:
        code: which rule it comes from.
        finding: what is the matter, in a sentence.
        remedy: what to do, in a sentence.
        figures: the figures that it rests on, each with its unit.
        confidence: how sure it is.
        options: other instances, if it is about these.
        saved_s: estimated, what a run of the job would save at most, s; None if that is not known.
    """

    code: str
    finding: str
    remedy: str
    figures: tuple[str, ...]
    confidence: Confidence
    options: tuple[Option, ...] = ()
    saved_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """All advice on a job.

    Attributes:
        advice: what there is, in the order of the rules.
        missing: which figures there are not enough of, so that rules could not say anything.
    """

    advice: tuple[Advice, ...]
    missing: tuple[str, ...]


def by_minutes(minutes: int) -> Confidence:
    """The confidence in averages of so many values."""
    return Confidence.HIGH if minutes >= HIGH_MINUTES else Confidence.MEDIUM


def option(now: Mapping[str, int], instances: Mapping[str, int], speed: float | None, price_of: PriceOf) -> Option:
    """Other instances, with their cost if it is known.

    Args:
        now: the instances that the job has, by type.
        instances: the others.
        speed: how many times as fast the job would be; None if that is not known.
        price_of: the price of an instance per hour.
    """
    before, after = _price(now, price_of), _price(instances, price_of)
    cost = after / before / speed if speed and before and after is not None else None
    return Option(instances=dict(instances), speed=speed, cost=cost)


def _price(instances: Mapping[str, int], price_of: PriceOf) -> float | None:
    total = 0.0
    for instance_type, count in instances.items():
        price = price_of(instance_type)
        if price is None:
            return None
        total += count * price
    return total
