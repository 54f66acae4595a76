"""Which alarms of template.yaml ring, and when, by the metrics that the functions have published."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from headway_sandbox.cloudwatch.alarm_evaluation import ALARM, OK, AlarmSettings, Metric, Sample, evaluate

STACK = "headway"
"""The stack's name: the value of the dimension ``service``."""

NAMESPACES = frozenset({"Headway", "AWS/Lambda"})
"""The namespaces of which a day has metrics: what the functions print, and their invocations and errors."""

FUNCTION = "FunctionName"
"""The dimension of a function's metrics."""

_MINUTE_S = 60


class Ring(NamedTuple):
    """A time in which an alarm rings; ``until_s`` is None if it still does. Both are s since the epoch."""

    alarm: str
    since_s: float
    until_s: float | None


class _Loader(yaml.SafeLoader):
    """Reads the short form of CloudFormation's functions as their arguments: ``!Ref X`` as ``X``."""


def _argument(loader: yaml.SafeLoader, _suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return node.value


_Loader.add_multi_constructor("!", _argument)


def alarms_of(template: Path, functions: Collection[str]) -> dict[str, AlarmSettings]:
    """The alarms of a template on one metric in :data:`NAMESPACES`, by logical id without ``Alarm``.

    Args:
        functions: the functions that run; alarms on the invocations and the errors of others are left out.
    """
    run = {function_id(each) for each in functions}
    document = yaml.load(template.read_text("utf-8"), _Loader)  # noqa: S506 - a SafeLoader
    found: dict[str, AlarmSettings] = {}
    for name, resource in document["Resources"].items():
        if resource["Type"] != "AWS::CloudWatch::Alarm" or resource["Properties"].get("Namespace") not in NAMESPACES:
            continue
        settings = AlarmSettings.of(_named(resource["Properties"]))
        if settings is not None and {value for key, value in settings.metric.dimensions if key == FUNCTION} <= run:
            found[name.removesuffix("Alarm")] = settings
    return found


def function_id(function: str) -> str:
    """The logical id of a function in the template, which stands for its name."""
    return f"{function.title()}Function"


def _named(alarm: Mapping[str, Any]) -> dict[str, Any]:
    dimensions = [
        {**each, "Value": STACK if each["Value"] == "AWS::StackName" else each["Value"]} for each in alarm["Dimensions"]
    ]
    return {**alarm, "Dimensions": dimensions}


def rings(
    name: str, alarm: AlarmSettings, samples: Sequence[Sample], *, begin_s: float, end_s: float
) -> Iterator[Ring]:
    """When an alarm rings, evaluated each minute, as CloudWatch does.

    Args:
        alarm: its settings.
        samples: the samples of its metric, in order of time.
        begin_s: when it is evaluated for the first time, s since the epoch; it is ``OK`` before.
        end_s: when it is evaluated for the last time.
    """
    times = [each.time_s for each in samples]
    state, since_s, now_s = OK, begin_s, begin_s
    while now_s <= end_s:
        first = bisect_left(times, now_s - alarm.range_s - _MINUTE_S)
        seen = samples[first : bisect_right(times, now_s)]
        found = evaluate(alarm, seen, now_s=now_s, state=state).state
        if found == ALARM and state != ALARM:
            since_s = now_s
        if found != ALARM and state == ALARM:
            yield Ring(name, since_s, now_s)
        state = found
        now_s += _MINUTE_S
    if state == ALARM:
        yield Ring(name, since_s, None)


def all_rings(
    alarms: Mapping[str, AlarmSettings],
    samples: Mapping[Metric, Sequence[Sample]],
    *,
    begin_s: float,
    end_s: float,
) -> list[Ring]:
    """When any of some alarms rings, the first first. See :func:`rings`.

    Args:
        alarms: the alarms by name.
        samples: the samples of each metric, in order of time.
        begin_s: when they are evaluated for the first time.
        end_s: when they are evaluated for the last time.
    """
    found = [
        ring
        for name, alarm in alarms.items()
        for ring in rings(name, alarm, samples.get(alarm.metric, ()), begin_s=begin_s, end_s=end_s)
    ]
    return sorted(found, key=lambda ring: (ring.since_s, ring.alarm))
