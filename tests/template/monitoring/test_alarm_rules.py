"""The alarms fire when they should: their settings are evaluated minute by minute, by CloudWatch's rules."""

from __future__ import annotations

import pytest

from headway_sandbox.cloudwatch.alarm_evaluation import ALARM, INSUFFICIENT_DATA, OK, AlarmSettings, evaluate, sample
from tests.template.monitoring.test_alarms import ALARMS, HEARTBEATS

NOW_S = 1_800_000_000.0

#: Values of the minutes up to now, and whether the alarm fires; None is a minute without data.
STORIES = [
    # A job can usually start within a moment, but not for ten minutes. Zeros are not published.
    ("QueueStalledAlarm", [3] * 9, False),
    ("QueueStalledAlarm", [3] * 10, True),
    ("QueueStalledAlarm", [3] * 10 + [None] * 3, False),
    ("QueueStalledAlarm", [3, None] * 15, False),
    # The reconciler may skip a minute while the queue is stalled.
    ("QueueStalledAlarm", [3] * 6 + [None] + [3] * 6, True),
    ("UnlaunchableJobsAlarm", [1] * 4, False),
    ("UnlaunchableJobsAlarm", [1] * 5, True),
    ("UnlaunchableJobsAlarm", [1] * 5 + [None] * 3, False),
    ("StuckAttemptsAlarm", [1] * 4, False),
    ("StuckAttemptsAlarm", [1] * 5, True),
    ("StuckAttemptsAlarm", [1] * 5 + [None] * 3, False),
    ("CapacityDriftAlarm", [2] * 9, False),
    ("CapacityDriftAlarm", [2] * 10, True),
    ("CapacityDriftAlarm", [2] * 10 + [None] * 3, False),
    ("TickFailedAlarm", [1, 1], False),
    ("TickFailedAlarm", [1, 1, 1], True),
    ("TickFailedAlarm", [1, 1, 1, None, None, None], False),
    # A single lost event is routine for the reconciler.
    ("EventsLostAlarm", [None] * 100 + [2] + [None] * 100, False),
    ("EventsLostAlarm", [1] * 180, True),
    # Of a burst of calls some are answered 503, and repeated.
    ("ApiServerErrorsAlarm", [9] * 4, False),
    ("ApiServerErrorsAlarm", [1] * 10, True),
    ("ApiServerErrorsAlarm", [0, 1, 1, 1, 1] * 2, False),
    ("UnexpectedErrorsAlarm", [1], True),
    # A watch that stops idle jobs now and then does what it is for.
    ("WatchStopsAlarm", [4] + [None] * 14, False),
    ("WatchStopsAlarm", [1] * 5, True),
    # One bad event is tried three times.
    ("ObserveFunctionErrorsAlarm", [1, 1, None, 1], False),
    ("ObserveFunctionErrorsAlarm", [1] * 5, True),
    ("GaugesMissingAlarm", [1] * 5 + [None] * 4, False),
    ("GaugesMissingAlarm", [1] * 5 + [None] * 8, True),
    ("PatrolMissingAlarm", [None] * 30 + [1], False),
    ("WatchMissingAlarm", [1] * 10, False),
    ("WakeQueueAgeAlarm", [0, 45, 90], False),
    ("WakeQueueAgeAlarm", [301, 361], True),
    ("WakeDeadLettersAlarm", [0, 1], True),
    ("WakeDeadLettersAlarm", [1, 0], False),
]


def settings_of(alarm) -> AlarmSettings:
    """Return the settings, without references of the template."""
    settings = AlarmSettings.of({**alarm, "Dimensions": []})
    assert settings is not None
    return settings


def state_after(alarm, figures, state: str = OK) -> str:
    first_s = NOW_S - 60 * len(figures) + 30
    samples = [sample(first_s + 60 * minute, value) for minute, value in enumerate(figures) if value is not None]
    return evaluate(settings_of(alarm), samples, now_s=NOW_S, state=state).state


@pytest.mark.parametrize(("name", "figures", "rings"), STORIES)
def test_an_alarm_fires_when_it_should_and_no_sooner(of_type, name, figures, rings):
    assert state_after(of_type("AWS::CloudWatch::Alarm")[name], figures) == (ALARM if rings else OK)


@pytest.mark.parametrize("name", sorted(ALARMS.keys() - HEARTBEATS - {"ApiSlowAlarm"}))
def test_no_alarm_fires_for_an_idle_stack_that_publishes_zeros_or_nothing(of_type, name):
    alarm = of_type("AWS::CloudWatch::Alarm")[name]
    for figures in ([], [0] * 240):
        assert {state_after(alarm, figures, state) for state in (OK, ALARM, INSUFFICIENT_DATA)} == {OK}


@pytest.mark.parametrize("name", sorted(HEARTBEATS))
def test_the_alarm_on_missing_runs_fires_for_a_function_that_never_ran(of_type, name):
    assert state_after(of_type("AWS::CloudWatch::Alarm")[name], [], INSUFFICIENT_DATA) == ALARM
