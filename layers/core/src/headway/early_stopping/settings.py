"""What an array says of early stopping, as a JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.early_stopping.median_rule import Goal, MedianRule
from headway.errors import HeadwayError
from headway.sweeps import Problem

MAX_COMPARED = 100
"""Members of an array that are compared with each other: those that run, and those that ended last."""

MAX_METRIC_CHARACTERS = 255
"""Characters of the name of a metric (API reference, MetricDefinition)."""

MAX_TRAINING_S = 2_592_000
"""The longest time before members are compared, s: 30 days, the longest that CreateTrainingJob lets a job train."""

MAX_STEP = 10**15
"""The largest step from which on members are compared; each whole number up to it is a float."""

DEFAULT_MIN_MEMBERS = 5
DEFAULT_MIN_STEPS = 1
DEFAULT_MIN_TRAINING_S = 600

_MEMBERS = ("metric", "goal", "stepMetric", "minMembers", "minSteps", "minTrainingSeconds")


class InvalidEarlyStopping(HeadwayError):
    """The document describes no early stopping.

    Attributes:
        problems: all of them; their paths are members of the document.
    """

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"earlyStopping {each.path} {each.message}" for each in problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlyStopping:
    """When members of an array are stopped early.

    Attributes:
        metric: the name of the metric that is compared, as MetricDefinitions have it.
        goal: which values of it are better.
        step_metric: the name of the metric that counts the steps; empty to compare by training time.
        min_members: how many other members must have reached the step.
        min_step: the first step at which a member is compared; without a step metric a time, s.
    """

    metric: str
    goal: Goal
    step_metric: str = ""
    min_members: int = DEFAULT_MIN_MEMBERS
    min_step: int = DEFAULT_MIN_TRAINING_S

    @classmethod
    def parse(cls, document: object) -> EarlyStopping:
        """Return the settings that a JSON document describes.

        Args:
            document: an object with ``metric`` and ``goal``, and perhaps ``stepMetric``, ``minMembers``, ``minSteps``
                (with a step metric) or ``minTrainingSeconds`` (without one).

        Raises:
            InvalidEarlyStopping: it describes none; the error has all problems.
        """
        if not isinstance(document, Mapping):
            raise InvalidEarlyStopping([Problem("", f"has to be an object with some of {', '.join(_MEMBERS)}")])
        problems = [
            Problem(str(name), f"is not known; members: {', '.join(_MEMBERS)}")
            for name in document
            if name not in _MEMBERS
        ]
        metric = _name(document, "metric", problems)
        step_metric = _name(document, "stepMetric", problems) if "stepMetric" in document else ""
        goal = document.get("goal")
        if goal not in list(Goal):
            problems.append(Problem("goal", f"{_given(document, 'goal')}; write {' or '.join(Goal)}"))
        if metric and metric == step_metric:
            problems.append(Problem("stepMetric", "is the metric that is compared; name the one that counts the steps"))
        min_members = _number(document, "minMembers", DEFAULT_MIN_MEMBERS, (1, MAX_COMPARED), problems)
        by_steps = "stepMetric" in document
        if by_steps and "minTrainingSeconds" in document:
            message = "is for members that are compared by training time: remove it, or stepMetric"
            problems.append(Problem("minTrainingSeconds", message))
        if not by_steps and "minSteps" in document:
            message = "is for members that are compared by steps: add a stepMetric, or remove it"
            problems.append(Problem("minSteps", message))
        min_step = (
            _number(document, "minSteps", DEFAULT_MIN_STEPS, (0, MAX_STEP), problems)
            if by_steps
            else _number(document, "minTrainingSeconds", DEFAULT_MIN_TRAINING_S, (0, MAX_TRAINING_S), problems)
        )
        if problems:
            raise InvalidEarlyStopping(problems)
        return cls(
            metric=metric,
            goal=Goal(str(goal)),
            step_metric=step_metric,
            min_members=min_members,
            min_step=min_step,
        )

    @property
    def rule(self) -> MedianRule:
        """The rule that members are compared by."""
        return MedianRule(goal=self.goal, min_members=self.min_members, min_step=self.min_step)

    def document(self) -> dict[str, Any]:
        """The complete document, with defaults."""
        by_steps = {"stepMetric": self.step_metric, "minSteps": self.min_step}
        return {
            "metric": self.metric,
            "goal": str(self.goal),
            "minMembers": self.min_members,
            **(by_steps if self.step_metric else {"minTrainingSeconds": self.min_step}),
        }


def _name(document: Mapping[str, Any], member: str, problems: list[Problem]) -> str:
    name = document.get(member)
    if isinstance(name, str) and 1 <= len(name) <= MAX_METRIC_CHARACTERS:
        return name
    message = f"{_given(document, member)}; write the name of a metric of MetricDefinitions"
    problems.append(Problem(member, message))
    return ""


def _given(document: Mapping[str, Any], member: str) -> str:
    return f"is {document[member]!r:.40}" if member in document else "is missing"


def _number(
    document: Mapping[str, Any], member: str, default: int, bounds: tuple[int, int], problems: list[Problem]
) -> int:
    if member not in document:
        return default
    number, (least, most) = document[member], bounds
    if isinstance(number, int) and not isinstance(number, bool) and least <= number <= most:
        return number
    problems.append(Problem(member, f"is {number!r:.40}; it is a whole number from {least} to {most}"))
    return default
