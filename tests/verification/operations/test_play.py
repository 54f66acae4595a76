"""The states of `make test-operations`: each alarm has one, and a wrong one is reported."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway_verification.operations.healthy import HEALTHY
from headway_verification.operations.play import play, play_healthy, stack_alarms
from headway_verification.operations.states import STATES, crash, disable

ALARMS = stack_alarms()
BY_WHAT = {state.what: state for state in STATES}
NIGHT = replace(HEALTHY[0], hours=0.5)


def test_each_alarm_of_the_template_has_a_state_in_which_it_rings() -> None:
    assert {state.alarm for state in STATES} == ALARMS.keys()


def test_each_state_is_told_by_a_text_of_its_own() -> None:
    told = [(state.alarm, state.what) for state in STATES]
    assert len(told) == len(set(told))
    assert all(state.also <= ALARMS.keys() for state in STATES)


@pytest.mark.parametrize(
    "what",
    [
        "an event cannot be handled",
        "an ended job is damaged before it was added to the sums",
        "the event bus takes nothing",
        "newer code has written a record of the ledger",
        "the scheduler is throttled while a job could start",
        "the table takes 6 s for each call of the API",
        "DynamoDB throttles the table",
        "a watch on 99 % without a warm-up stops what runs",
        "the rule for SageMaker's events is disabled under jobs of 100 h",
    ],
)
def test_an_alarm_rings_in_its_state_in_time_and_with_no_others(what: str) -> None:
    outcome = play(BY_WHAT[what], ALARMS)
    assert outcome.faults == ()
    assert BY_WHAT[what].alarm in outcome.rang


def test_an_alarm_that_is_silent_late_or_not_alone_is_reported() -> None:
    state = BY_WHAT["the patrol's rule is disabled"]
    assert play(replace(state, alarm="Untold"), ALARMS).faults == ("PatrolMissing rings, too", "Untold is silent")
    (late,) = play(replace(state, within_min=5), ALARMS).faults
    assert late == "PatrolMissing rings after 8 min, not within 5"
    (other,) = play(replace(state, break_=disable("patrol", "watch")), ALARMS).faults
    assert other == "WatchMissing rings, too"


def test_in_a_night_no_alarm_rings() -> None:
    assert play_healthy(NIGHT, ALARMS).faults == ()


def test_an_alarm_that_rings_in_a_healthy_state_is_reported_and_so_is_a_state_without_its_jobs() -> None:
    crashes = replace(NIGHT, begin=crash("patrol"), runs=2)
    rings, dead, jobs = play_healthy(crashes, ALARMS).faults
    assert rings == "EventDeadLetters rings after 2 min"
    assert dead == "PatrolFunctionErrors rings after 4 min"
    assert jobs == "0 jobs run or have completed, not 2"
