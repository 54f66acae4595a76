"""When alarms are evaluated, and what changes by it: the same for the emulator and in memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from headway_sandbox.cloudwatch.alarm_evaluation import AlarmSettings, Evaluation, Sample, evaluate, window_ends_s

K = TypeVar("K", bound=Hashable)
Alarm = Mapping[str, Any]
"""A MetricAlarm, as DescribeAlarms shows it."""


class EvaluationSchedule(Generic[K]):
    """Evaluates alarms whenever another of their periods is over, and at once those that are new or changed.

    A changed alarm is told from what it was by its document, which is then another object.
    """

    def __init__(self) -> None:
        self._seen: dict[K, tuple[Alarm, float]] = {}

    def due(self, alarms: Iterable[tuple[K, Alarm]], now_s: float) -> list[K]:
        """Which of all the alarms that there are have to be evaluated now. Those that are gone are forgotten."""
        before, self._seen, due = self._seen, {}, []
        for key, alarm in alarms:
            ends_s = window_ends_s(alarm["Period"], now_s)
            self._seen[key] = (alarm, ends_s)
            seen = before.get(key)
            if seen is None or seen[0] is not alarm or seen[1] != ends_s:
                due.append(key)
        return due


def change(
    alarm: Alarm, measured: Callable[[AlarmSettings, float], Iterable[Sample]], now_s: float
) -> Evaluation | None:
    """What an evaluation changes of an alarm's state; None if nothing, as actions follow on a change only.

    Args:
        alarm: its document.
        measured: what was measured of its metric, given its settings and from when on (s).
        now_s: the time, s since the epoch.
    """
    settings = AlarmSettings.of(alarm)
    if settings is None:
        return None
    since_s = window_ends_s(settings.period_s, now_s) - settings.range_s
    found = evaluate(settings, measured(settings, since_s), now_s=now_s, state=alarm["StateValue"])
    return found if found.state != alarm["StateValue"] else None
