"""The alarms of a template."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Any

import yaml

from headway_sandbox.cloudwatch.alarm_evaluation import AlarmSettings, Metric, Sample, statistic_of

STACK = "headway"
"""The stack's name: the value of the dimension ``service``."""

FUNCTION = "FunctionName"
"""The dimension of a function's metrics."""

_VALUE = "value"
"""The id of the only metric of an alarm without an expression."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """A metric as an alarm evaluates it: a statistic of each period."""

    metric: Metric
    statistic: str

    def value(self, samples: Sequence[Sample]) -> float | None:
        """The value of a period with these samples; None without any."""
        if not samples:
            return None
        if not self.statistic.startswith("p"):
            return statistic_of(self.statistic, samples)
        values = sorted(each.total / each.size for each in samples)
        return quantiles(values, n=100, method="inclusive")[int(self.statistic[1:]) - 1] if values[1:] else values[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class StackAlarm:
    """An alarm.

    Attributes:
        settings: when its values make it ring; one value a period.
        series: what it evaluates, by the ids in the expression.
        expression: how a value is computed; see :mod:`headway_verification.alarms.expressions`.
    """

    settings: AlarmSettings
    series: Mapping[str, Series]
    expression: str

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> StackAlarm:
        """The alarm of a resource's properties.

        Raises:
            ValueError: an alarm of this kind is not supported.
        """
        expression = _VALUE
        parts: list[dict[str, Any]] = [{"Id": _VALUE, "MetricStat": _single(properties)}]
        if "Metrics" in properties:
            (expression,) = (each["Expression"] for each in properties["Metrics"] if each.get("ReturnData", True))
            parts = [each for each in properties["Metrics"] if "MetricStat" in each]
        (period_s,) = {each["MetricStat"]["Period"] for each in parts}
        settings = AlarmSettings.of(
            {
                **{name: value for name, value in properties.items() if name not in {"Metrics", "ExtendedStatistic"}},
                "Namespace": "",
                "MetricName": "values",
                "Dimensions": [],
                "Statistic": "Sum",
                "Period": period_s,
            }
        )
        if settings is None:
            raise ValueError(f"not supported: {properties}")
        series = {each["Id"]: _series(each["MetricStat"]) for each in parts}
        return cls(settings=settings, series=series, expression=expression)

    @property
    def functions(self) -> set[str]:
        """The logical ids of the functions whose invocations, errors or throttles it evaluates."""
        return {value for each in self.series.values() for key, value in each.metric.dimensions if key == FUNCTION}

    @property
    def namespaces(self) -> set[str]:
        """The namespaces of what it evaluates."""
        return {each.metric.namespace for each in self.series.values()}


def _single(properties: Mapping[str, Any]) -> dict[str, Any]:
    stat = properties.get("ExtendedStatistic") or properties.get("Statistic")
    return {"Metric": properties, "Stat": stat, "Period": properties.get("Period")}


def _series(stat: Mapping[str, Any]) -> Series:
    metric = stat["Metric"]
    dimensions = frozenset(
        (each["Name"], STACK if each["Value"] == "AWS::StackName" else each["Value"]) for each in metric["Dimensions"]
    )
    return Series(metric=Metric(metric["Namespace"], metric["MetricName"], dimensions), statistic=stat["Stat"])


class _Loader(yaml.SafeLoader):
    """Reads the short form of CloudFormation's functions as their arguments: ``!Ref X`` as ``X``."""


def _argument(loader: yaml.SafeLoader, _suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return node.value


_Loader.add_multi_constructor("!", _argument)


def resources_of(template: Path) -> Mapping[str, Any]:
    """The resources of a template, with the arguments of CloudFormation's functions in place of their values."""
    document = yaml.load(template.read_text("utf-8"), _Loader)  # noqa: S506 - a SafeLoader
    return dict(document["Resources"])


def alarms_of(
    template: Path, *, namespaces: Collection[str] | None = None, functions: Collection[str] | None = None
) -> dict[str, StackAlarm]:
    """The alarms of a template, by logical id without ``Alarm``.

    Args:
        namespaces: alarms on metrics of others are left out; None for no others.
        functions: the functions that run; alarms on metrics of others are left out; None if all run.
    """
    run = None if functions is None else {function_id(each) for each in functions}
    found = {
        name.removesuffix("Alarm"): StackAlarm.of(resource["Properties"])
        for name, resource in resources_of(template).items()
        if resource["Type"] == "AWS::CloudWatch::Alarm"
    }
    return {
        name: alarm
        for name, alarm in found.items()
        if (namespaces is None or alarm.namespaces <= set(namespaces)) and (run is None or alarm.functions <= run)
    }


def function_id(function: str) -> str:
    """The logical id of a function in the template, which stands for its name."""
    return f"{function.title()}Function"
