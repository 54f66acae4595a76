"""When alarms are evaluated, for both the emulator and the in-memory CloudWatch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from headway_sandbox.cloudwatch.alarm_evaluation import AlarmSettings, Evaluation, Sample, evaluate, window_ends_s

K = TypeVar("K", bound=Hashable)
Alarm = Mapping[str, Any]
"""A MetricAlarm of DescribeAlarms."""


class EvaluationSchedule(Generic[K]):
    """Evaluates an alarm after each of its periods, and at once if it is new or changed.

    A changed alarm has another document object.
    """

    def __init__(self) -> None:
        self._seen: dict[K, tuple[Alarm, float]] = {}

    def due(self, alarms: Iterable[tuple[K, Alarm]], now_s: float) -> list[K]:
        """Return the keys of the alarms that are due for evaluation.

        Args:
            alarms: All existing alarms by key. State of other alarms is dropped.
            now_s: The time, s since the epoch.
        """
        before, self._seen, due = self._seen, {}, []
        for key, alarm in alarms:
            ends_s = window_ends_s(alarm["Period"], now_s)
            self._seen[key] = (alarm, ends_s)
            seen = before.get(key)
            if seen is None or seen[0] is not alarm or seen[1] != ends_s:
                due.append(key)
        return due


def state_change(
    alarm: Alarm, measured: Callable[[AlarmSettings, float], Iterable[Sample]], now_s: float
) -> Evaluation | None:
    """Evaluate an alarm; None if its state does not change, as only changes trigger actions.

    Args:
        alarm: Its document.
        measured: Returns the samples of its metric for its settings and a start time (s).
        now_s: The time, s since the epoch.
    """
    settings = AlarmSettings.of(alarm)
    if settings is None:
        return None
    since_s = window_ends_s(settings.period_s, now_s) - settings.range_s
    found = evaluate(settings, measured(settings, since_s), now_s=now_s, state=alarm["StateValue"])
    return found if found.state != alarm["StateValue"] else None
