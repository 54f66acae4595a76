"""Whether an alarm fires: CloudWatch's rules as functions of the alarm, of what was measured, and of the time.

Sources: "guide" is the CloudWatch user guide, "Alarm evaluation" and "Configuring how CloudWatch alarms treat missing
data"; "model" is botocore's service model of CloudWatch (PutMetricAlarm); "seen" is what users quote from the service.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

OK, ALARM, INSUFFICIENT_DATA = "OK", "ALARM", "INSUFFICIENT_DATA"
MISSING, IGNORE, BREACHING, NOT_BREACHING = "missing", "ignore", "breaching", "notBreaching"

COMPARISONS: Mapping[str, tuple[str, Callable[[float, float], bool]]] = {
    "GreaterThanOrEqualToThreshold": ("greater than or equal to", operator.ge),
    "GreaterThanThreshold": ("greater than", operator.gt),
    "LessThanThreshold": ("less than", operator.lt),
    "LessThanOrEqualToThreshold": ("less than or equal to", operator.le),
}
_FILLED_WITH = {BREACHING: "Breaching", NOT_BREACHING: "NonBreaching"}
# More periods are looked at than are needed, should some lack data. Guide: 5 for 3; how many it is in general depends
# on period and resolution, and is not told.
_MORE_PERIODS = 2
# A reason has at most 1023 characters (model, StateReason).
_DATAPOINTS_SHOWN = 5


class Sample(NamedTuple):
    """What was measured: one value, or the statistic set of several."""

    time_s: float
    size: float
    total: float
    low: float
    high: float


def sample(time_s: float, value: float) -> Sample:
    """One value, measured at that time (s since the epoch)."""
    return Sample(time_s, 1.0, value, value, value)


_STATISTICS: Mapping[str, Callable[[Sequence[Sample]], float]] = {
    "SampleCount": lambda found: sum(each.size for each in found),
    "Sum": lambda found: sum(each.total for each in found),
    "Average": lambda found: sum(each.total for each in found) / sum(each.size for each in found),
    "Minimum": lambda found: min(each.low for each in found),
    "Maximum": lambda found: max(each.high for each in found),
}


class Metric(NamedTuple):
    """What is measured. Dimensions are part of the name: with others, or fewer, it is another metric (guide)."""

    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class AlarmSettings:
    """The settings of an alarm on one metric with a fixed threshold."""

    metric: Metric
    statistic: str
    period_s: int
    evaluation_periods: int
    datapoints_to_alarm: int
    threshold: float
    comparison: str
    missing_data: str
    unit: str | None
    """Only what was measured in this unit counts (model, Unit)."""

    @classmethod
    def of(cls, alarm: Mapping[str, Any]) -> AlarmSettings | None:
        """Those of a PutMetricAlarm request or a MetricAlarm; None for another kind of alarm, which is not played."""
        if not alarm.get("MetricName") or alarm.get("ExtendedStatistic"):
            return None
        if alarm["ComparisonOperator"] not in COMPARISONS:
            return None
        dimensions = frozenset((each["Name"], each["Value"]) for each in alarm.get("Dimensions") or [])
        periods = int(alarm["EvaluationPeriods"])
        return cls(
            metric=Metric(alarm["Namespace"], alarm["MetricName"], dimensions),
            statistic=alarm["Statistic"],
            period_s=int(alarm["Period"]),
            evaluation_periods=periods,
            datapoints_to_alarm=int(alarm.get("DatapointsToAlarm") or periods),
            threshold=float(alarm["Threshold"]),
            comparison=alarm["ComparisonOperator"],
            missing_data=alarm.get("TreatMissingData") or MISSING,
            unit=alarm.get("Unit") or None,
        )

    @property
    def range_s(self) -> int:
        """How far back it looks from the end of its last period."""
        return (self.evaluation_periods + _MORE_PERIODS) * self.period_s


def window_ends_s(period_s: float, now_s: float) -> float:
    """The end of the last period that is over.

    An alarm is evaluated each minute, with a period below a minute every 10 s (guide), and by then its periods end: the
    window slides (model, EvaluationWindow).
    """
    step_s = 10 if period_s < 60 else 60
    return now_s // step_s * step_s


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What an evaluation comes to. `reason` says why in CloudWatch's words, empty if the state is left as it is."""

    state: str
    reason: str


class _Datapoint(NamedTuple):
    started_s: float
    value: float
    age: int
    """Which of the periods, counted from the latest, which is 1."""


def evaluate(alarm: AlarmSettings, samples: Iterable[Sample], *, now_s: float, state: str) -> Evaluation:
    """Evaluate an alarm.

    Args:
        alarm: its settings.
        samples: what was measured of its metric; what lies outside of its range, or in a period that is not over, is
            left out.
        now_s: the time, s since the epoch.
        state: the state that it is in.
    """
    wanted, needed = alarm.evaluation_periods, alarm.datapoints_to_alarm
    # Guide: the most recent that there are, be it from farther back; what lacks then is filled in.
    found = _datapoints(alarm, samples, window_ends_s(alarm.period_s, now_s))[:wanted]
    lacking = wanted - len(found)
    crosses = COMPARISONS[alarm.comparison][1]
    breaching = [each for each in found if crosses(each.value, alarm.threshold)]
    filled = lacking if alarm.missing_data == BREACHING else 0
    if len(breaching) + filled >= needed:
        return Evaluation(state=ALARM, reason=_crossed(alarm, ALARM, found, breaching))
    if len(breaching) < len(found) or lacking == 0 or alarm.missing_data in _FILLED_WITH:
        fine = [each for each in found if each not in breaching]
        return Evaluation(state=OK, reason=_crossed(alarm, OK, found, fine))
    if alarm.missing_data == IGNORE:
        return Evaluation(state=state, reason="")
    # Guide, "Avoiding premature transitions": too few datapoints do fire if they are all breaching, and the oldest has
    # been there for as many periods as are needed. Before that it is not told what happens; an earlier edition of the
    # guide (2018) has INSUFFICIENT_DATA in its table.
    if breaching and breaching[-1].age >= needed:
        return Evaluation(state=ALARM, reason=_crossed(alarm, ALARM, found, breaching))
    were = "datapoint was" if lacking == 1 else "datapoints were"  # seen word for word
    return Evaluation(state=INSUFFICIENT_DATA, reason=f"Insufficient Data: {lacking} {were} unknown.")


def _datapoints(alarm: AlarmSettings, samples: Iterable[Sample], ends_s: float) -> list[_Datapoint]:
    """The statistic of each period in range that has any data, latest first."""
    periods: dict[int, list[Sample]] = defaultdict(list)
    for each in samples:
        age = math.ceil((ends_s - each.time_s) / alarm.period_s)
        if 1 <= age <= alarm.evaluation_periods + _MORE_PERIODS and each.size > 0:
            periods[age].append(each)
    statistic = _STATISTICS[alarm.statistic]
    return [_Datapoint(ends_s - age * alarm.period_s, statistic(periods[age]), age) for age in sorted(periods)]


def _crossed(alarm: AlarmSettings, state: str, found: Sequence[_Datapoint], shown: Sequence[_Datapoint]) -> str:
    """Why it is in ALARM or OK: the datapoints that speak for it, latest first. The forms are seen word for word."""
    wanted, needed = alarm.evaluation_periods, alarm.datapoints_to_alarm
    lacking = wanted - len(found)
    treated = ""
    if lacking and alarm.missing_data in _FILLED_WITH:
        were = "datapoint was" if lacking == 1 else "datapoints were"
        treated = f" and {lacking} missing {were} treated as [{_FILLED_WITH[alarm.missing_data]}]"
    if not shown:
        how_many = {0: "no datapoints were", 1: "1 datapoint was"}.get(len(found), f"{len(found)} datapoints were")
        periods = "1 period" if wanted == 1 else f"{wanted} periods"
        return f"Threshold Crossed: {how_many} received for {periods}{treated}."
    least, change = (needed, "OK -> ALARM") if state == ALARM else (wanted - needed + 1, "ALARM -> OK")
    values = ", ".join(f"{each.value} ({_day_and_time(each.started_s)})" for each in shown[:_DATAPOINTS_SHOWN])
    did = "was" if len(shown) == 1 else "were"
    did = did if state == ALARM else f"{did} not"
    return (
        f"Threshold Crossed: {len(shown)} out of the last {wanted} datapoints [{values}] {did} "
        f"{COMPARISONS[alarm.comparison][0]} the threshold ({alarm.threshold}){treated} "
        f"(minimum {least} datapoint{'' if least == 1 else 's'} for {change} transition)."
    )


def _day_and_time(moment_s: float) -> str:
    return datetime.fromtimestamp(moment_s, UTC).strftime("%d/%m/%y %H:%M:%S")
