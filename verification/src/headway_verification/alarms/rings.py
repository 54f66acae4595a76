"""When alarms ring."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from headway_sandbox.cloudwatch.alarm_evaluation import ALARM, OK, Metric, Sample, evaluate, sample, window_ends_s
from headway_verification.alarms.expressions import evaluated
from headway_verification.alarms.template import StackAlarm

_MINUTE_S = 60

Samples = Mapping[Metric, Sequence[Sample]]
"""The samples of each metric, in order of time."""


class Ring(NamedTuple):
    """A time in which an alarm rings; ``until_s`` is None if it still does. Both are s since the epoch."""

    alarm: str
    since_s: float
    until_s: float | None


def rings(name: str, alarm: StackAlarm, samples: Samples, *, begin_s: float, end_s: float) -> Iterator[Ring]:
    """When an alarm rings, evaluated each minute, as CloudWatch does.

    Args:
        begin_s: when it is evaluated for the first time, s since the epoch; it is ``OK`` before.
        end_s: when it is evaluated for the last time.
    """
    state, since_s, now_s = OK, begin_s, begin_s
    values = _Values(alarm, samples)
    while now_s <= end_s:
        found = evaluate(alarm.settings, values.until(now_s), now_s=now_s, state=state).state
        if found == ALARM and state != ALARM:
            since_s = now_s
        if found != ALARM and state == ALARM:
            yield Ring(name, since_s, now_s)
        state = found
        now_s += _MINUTE_S
    if state == ALARM:
        yield Ring(name, since_s, None)


def all_rings(alarms: Mapping[str, StackAlarm], samples: Samples, *, begin_s: float, end_s: float) -> list[Ring]:
    """When any of some alarms rings, the first first. See :func:`rings`.

    Args:
        alarms: the alarms by name.
        begin_s: when they are evaluated for the first time.
        end_s: when they are evaluated for the last time.
    """
    found = [
        ring for name, alarm in alarms.items() for ring in rings(name, alarm, samples, begin_s=begin_s, end_s=end_s)
    ]
    return sorted(found, key=lambda ring: (ring.since_s, ring.alarm))


class _Values:
    """The values of an alarm: one for each period that has one."""

    def __init__(self, alarm: StackAlarm, samples: Samples) -> None:
        self._alarm = alarm
        self._samples = {key: samples.get(each.metric, ()) for key, each in alarm.series.items()}
        self._times = {key: [each.time_s for each in found] for key, found in self._samples.items()}

    def until(self, now_s: float) -> Iterator[Sample]:
        """Those of the evaluation range that ends now. The window slides, so they are others in each minute."""
        period_s = self._alarm.settings.period_s
        first_s = window_ends_s(period_s, now_s) - self._alarm.settings.range_s
        for number in range(self._alarm.settings.range_s // period_s):
            begin_s = first_s + number * period_s
            value = evaluated(self._alarm.expression, self._of_period(begin_s, begin_s + period_s))
            if value is not None:
                yield sample(begin_s + period_s / 2, value)

    def _of_period(self, begin_s: float, end_s: float) -> dict[str, float | None]:
        return {key: each.value(self._between(key, begin_s, end_s)) for key, each in self._alarm.series.items()}

    def _between(self, key: str, begin_s: float, end_s: float) -> Sequence[Sample]:
        times = self._times[key]
        return self._samples[key][bisect_left(times, begin_s) : bisect_left(times, end_s)]
