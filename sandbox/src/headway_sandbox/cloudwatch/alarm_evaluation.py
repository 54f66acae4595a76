"""CloudWatch's alarm evaluation as pure functions of the alarm, its samples and the time.

Sources: "guide" is the CloudWatch user guide, "Alarm evaluation" and "Configuring how CloudWatch alarms treat missing
data"; "model" is botocore's service model of CloudWatch (PutMetricAlarm); "seen" marks texts that users quote from the
service.
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
# The evaluation range has more periods than needed, in case some have no data. Guide: 5 for 3; the number in general
# depends on period and resolution, and is not documented.
_MORE_PERIODS = 2
# A reason has at most 1023 characters (model, StateReason).
_DATAPOINTS_SHOWN = 5


class Sample(NamedTuple):
    """One measured value, or the statistic set of several."""

    time_s: float
    size: float
    total: float
    low: float
    high: float


def sample(time_s: float, value: float) -> Sample:
    """Return the sample of one value.

    Args:
        time_s: When it was measured, s since the epoch.
    """
    return Sample(time_s, 1.0, value, value, value)


_STATISTICS: Mapping[str, Callable[[Sequence[Sample]], float]] = {
    "SampleCount": lambda found: sum(each.size for each in found),
    "Sum": lambda found: sum(each.total for each in found),
    "Average": lambda found: sum(each.total for each in found) / sum(each.size for each in found),
    "Minimum": lambda found: min(each.low for each in found),
    "Maximum": lambda found: max(each.high for each in found),
}


STATISTICS = frozenset(_STATISTICS)


def statistic_of(statistic: str, samples: Sequence[Sample]) -> float:
    """Return a statistic of samples.

    Args:
        statistic: One of `STATISTICS`.
        samples: One or more.
    """
    return _STATISTICS[statistic](samples)


class Metric(NamedTuple):
    """A metric. Dimensions are part of its identity: a metric with other or fewer dimensions is another (guide)."""

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
    """Only samples in this unit count (model, Unit)."""

    @classmethod
    def of(cls, alarm: Mapping[str, Any]) -> AlarmSettings | None:
        """Read a PutMetricAlarm request or a MetricAlarm; None for other kinds of alarms, which are not supported."""
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
        """Length of the evaluation range before the end of the last period."""
        return (self.evaluation_periods + _MORE_PERIODS) * self.period_s


def window_ends_s(period_s: float, now_s: float) -> float:
    """Return the end of the last complete period, s since the epoch.

    An alarm is evaluated every minute, or every 10 s if its period is below a minute (guide). Its periods end at the
    time of evaluation: the window slides (model, EvaluationWindow).

    Args:
        period_s: The alarm's period.
        now_s: The time, s since the epoch.
    """
    step_s = 10 if period_s < 60 else 60
    return now_s // step_s * step_s


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Result of an evaluation. `reason` is CloudWatch's text, empty if the state is kept."""

    state: str
    reason: str


class _Datapoint(NamedTuple):
    started_s: float
    value: float
    age: int
    """Number of the period, counted back from the latest, which is 1."""


def evaluate(alarm: AlarmSettings, samples: Iterable[Sample], *, now_s: float, state: str) -> Evaluation:
    """Evaluate an alarm.

    Args:
        alarm: Its settings.
        samples: Samples of its metric. Those outside the evaluation range or in an incomplete period are ignored.
        now_s: The time, s since the epoch.
        state: The alarm's current state.
    """
    wanted, needed = alarm.evaluation_periods, alarm.datapoints_to_alarm
    # Guide: the most recent datapoints of the evaluation range; missing ones are then filled in.
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
    # Guide, "Avoiding premature transitions": too few datapoints change the state to ALARM if all of them breach and
    # the oldest is at least DatapointsToAlarm periods old. The case before that is not documented; an earlier edition
    # of the guide (2018) has INSUFFICIENT_DATA in its table.
    if breaching and breaching[-1].age >= needed:
        return Evaluation(state=ALARM, reason=_crossed(alarm, ALARM, found, breaching))
    were = "datapoint was" if lacking == 1 else "datapoints were"  # seen verbatim
    return Evaluation(state=INSUFFICIENT_DATA, reason=f"Insufficient Data: {lacking} {were} unknown.")


def _datapoints(alarm: AlarmSettings, samples: Iterable[Sample], ends_s: float) -> list[_Datapoint]:
    """Return the statistic of each period in range that has data, latest first."""
    periods: dict[int, list[Sample]] = defaultdict(list)
    for each in samples:
        age = math.ceil((ends_s - each.time_s) / alarm.period_s)
        if 1 <= age <= alarm.evaluation_periods + _MORE_PERIODS and each.size > 0:
            periods[age].append(each)
    statistic = _STATISTICS[alarm.statistic]
    return [_Datapoint(ends_s - age * alarm.period_s, statistic(periods[age]), age) for age in sorted(periods)]


def _crossed(alarm: AlarmSettings, state: str, found: Sequence[_Datapoint], shown: Sequence[_Datapoint]) -> str:
    """Return the reason for ALARM or OK with the datapoints that caused it, latest first. Wording: seen verbatim."""
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
