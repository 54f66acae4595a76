"""The median rule: a member stops if its best value is worse than the median of the others' averages at its step.

Source: Golovin et al., "Google Vizier: A Service for Black-Box Optimization" (KDD 2017), section 3.1. SageMaker's tuner
uses it for its early stopping (SageMaker guide, "Stop Training Jobs Early").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from headway.early_stopping.curve import Curve


class Goal(StrEnum):
    """Which values of a metric are better."""

    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"


@dataclass(frozen=True, kw_only=True, slots=True)
class MedianRule:
    """When a member is compared.

    Attributes:
        goal: which values are better.
        min_members: how many others must have reached the step.
        min_step: the first step at which a member is compared, in the unit of the curves' steps.
    """

    goal: Goal
    min_members: int
    min_step: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """A member is worse than the median of the others.

    Attributes:
        step: the step at which they were compared.
        best: the best value of the member so far.
        median: the median of the averages of the others up to that step.
        compared: how many others there are.
    """

    step: float
    best: float
    median: float
    compared: int


def judge(curve: Curve, others: Sequence[Curve], rule: MedianRule) -> Verdict | None:
    """Return why a member should stop; None if it may go on, or cannot be compared yet.

    It is compared at its last step that so many others as the rule demands have reached. So among members that advance
    together, the first is compared as well. Its values after that step count in its favor.

    Args:
        curve: the values of the member.
        others: those of other members of its array.
        rule: when members are compared.
    """
    reached = sorted((each.last for each in others), reverse=True)
    if len(reached) < rule.min_members:
        return None
    step = curve.last_until(reached[rule.min_members - 1])
    if step is None or step < rule.min_step:
        return None
    found = [each.average_until(step) for each in others if each.last >= step]
    averages = [each for each in found if each is not None]
    if len(averages) < rule.min_members:
        return None
    middle = median(averages)
    minimizes = rule.goal is Goal.MINIMIZE
    best = min(curve.values) if minimizes else max(curve.values)
    is_worse = best > middle if minimizes else best < middle
    return Verdict(step=step, best=best, median=middle, compared=len(averages)) if is_worse else None
