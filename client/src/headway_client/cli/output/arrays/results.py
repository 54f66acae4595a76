"""Format the members of an array with their hyperparameters and metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from headway.sanitize import strip_control_characters
from headway_client.cli.output import times, values
from headway_client.cli.output.table import NONE, Figure, Table
from headway_client.errors import UsageError
from headway_client.models import ArrayMember
from headway_client.text import shorten

TO_COME = "to come"
"""The state that is shown of a member whose turn has not come."""

_MAX_VALUE_CHARS = 32
"""Characters of a value in a table, unless it is wide."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """Which members are better.

    Attributes:
        metric: the metric that is compared.
        highest: whether a higher value is better.
    """

    metric: str
    highest: bool

    def ranked(self, members: Iterable[ArrayMember]) -> list[ArrayMember]:
        """Return the members, the best first, and those without the metric last."""
        found = list(members)
        known = [each for each in found if self.metric in each.metrics]
        known.sort(key=lambda member: member.metrics[self.metric], reverse=self.highest)
        return known + [each for each in found if self.metric not in each.metrics]

    def note(self, members: Iterable[ArrayMember]) -> str:
        """Return a sentence with the best member."""
        best = self.ranked(members)[0]
        which = "highest" if self.highest else "lowest"
        return f"The {which} {self.metric} is {best.metrics[self.metric]:.6g}, of {best.name}."


def parameter_names(members: Iterable[ArrayMember]) -> list[str]:
    """Return the hyperparameters that members have, in the order of the sweep."""
    return list(dict.fromkeys(name for member in members for name in member.parameters))


def metric_names(members: Iterable[ArrayMember]) -> list[str]:
    """Return the metrics that members have, by name."""
    return sorted({name for member in members for name in member.metrics})


def require_metric(members: Sequence[ArrayMember], metric: str) -> None:
    """Check that a member has a metric.

    Args:
        metric: the name of the metric.

    Raises:
        UsageError: none has it.
    """
    known = metric_names(members)
    if metric not in known:
        there = f"there are {', '.join(known)}" if known else "none has completed with metrics yet"
        raise UsageError(f"No member has the metric {metric!r}; {there}.")


def sorted_members(members: Sequence[ArrayMember], order: str) -> list[ArrayMember]:
    """Return members sorted by a column, those without a value last.

    Args:
        order: ``index``, ``state``, ``time``, a hyperparameter or a metric; a leading minus sorts in descending order.

    Raises:
        UsageError: there is no such column.
    """
    # A name may begin with a minus.
    descending = order.startswith("-") and order not in _names(members)
    key = _key(members, order[1:] if descending else order)
    known = [each for each in members if key(each) is not None]
    unknown = [each for each in members if key(each) is None]
    # Numbers come before text.
    known.sort(key=lambda member: _comparable(key(member)), reverse=descending)
    return known + unknown


def result_rows(members: Sequence[ArrayMember], *, wide: bool = False, note: Sequence[str] = ()) -> Table:
    """Return members as a table in the given order.

    Args:
        wide: also show the training jobs and their times, and values in full.
        note: lines below the table.
    """
    parameters, metrics = parameter_names(members), metric_names(members)
    more = ["Training Job", "Started", "Ended"] if wide else []
    headers = ["Index", "Member", "State", *parameters, *metrics, *more, Figure("Time", "Training Time (s)")]
    rows = [
        [
            str(member.index),
            member.name,
            str(member.state) if member.made else TO_COME,
            *(_value(member.parameters, name, wide=wide) for name in parameters),
            *(_metric(member.metrics, name) for name in metrics),
            *(_training_job(member) if wide else []),
            times.duration(training_s(member)),
        ]
        for member in members
    ]
    return Table(headers=[_header(each, wide=wide) for each in headers], rows=rows, note=note)


def training_s(member: ArrayMember) -> int | None:
    """Return for how long the training job of a member has run; None if it has not started."""
    if member.ended_time is None:
        return times.since(member.started_time)
    return times.between(member.started_time, member.ended_time)


def as_number(text: str) -> float | None:
    """Return the number that a hyperparameter's text is; None if it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    # Names such as "nan" and "infinity" are text.
    return number if abs(number) < float("inf") and text[-1:].isdigit() else None


def _key(members: Sequence[ArrayMember], name: str) -> Callable[[ArrayMember], str | float | None]:
    if name in parameter_names(members):
        return lambda member: member.parameters.get(name)
    if name in metric_names(members):
        return lambda member: member.metrics.get(name)
    match name:
        case "index":
            return lambda member: member.index
        case "state":
            return lambda member: str(member.state) if member.made else TO_COME
        case "time":
            return training_s
        case _:
            raise UsageError(f"There is no column {name!r}; there are {', '.join(_names(members))}.")


def _names(members: Sequence[ArrayMember]) -> list[str]:
    return ["index", "state", "time", *parameter_names(members), *metric_names(members)]


def _comparable(value: str | float | None) -> tuple[bool, float, str]:
    number = as_number(value) if isinstance(value, str) else value
    return (False, number, "") if number is not None else (True, 0, str(value))


def _header(text: str, *, wide: bool) -> str:
    if isinstance(text, Figure):
        return text
    safe = strip_control_characters(text)
    return Figure(safe if wide else shorten(safe, _MAX_VALUE_CHARS), safe)


def _value(parameters: Mapping[str, str], name: str, *, wide: bool) -> str:
    text = parameters.get(name)
    if text is None:
        return NONE
    return Figure(text if wide else shorten(text, _MAX_VALUE_CHARS), text)


def _metric(metrics: Mapping[str, float], name: str) -> str:
    value = metrics.get(name)
    return NONE if value is None else Figure(f"{value:.6g}", value)


def _training_job(member: ArrayMember) -> list[str]:
    return [values.optional(member.attempt), times.local(member.started_time), times.local(member.ended_time)]
