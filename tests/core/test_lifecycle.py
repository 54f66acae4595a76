"""The transition tables are the state machines; these tests check them against the documented transitions."""

from __future__ import annotations

import pytest

from headway.errors import HeadwayError, InvalidTransition
from headway.lifecycle import (
    ACTIVE,
    ATTEMPT_TRANSITIONS,
    JOB_TRANSITIONS,
    TERMINAL,
    WAITING,
    AttemptState,
    AttemptTrigger,
    JobState,
    JobTrigger,
    next_attempt_state,
    next_job_state,
)


def test_every_state_waits_or_holds_or_has_ended() -> None:
    assert set(JobState) == WAITING | ACTIVE | TERMINAL
    assert not WAITING & ACTIVE
    assert not (WAITING | ACTIVE) & TERMINAL


def test_nothing_leaves_a_terminal_state() -> None:
    assert not [state for state, _ in JOB_TRANSITIONS if state in TERMINAL]


def test_every_state_can_reach_a_terminal_one() -> None:
    reaches = set(TERMINAL)
    for _ in JobState:
        reaches |= {state for (state, _), following in JOB_TRANSITIONS.items() if following in reaches}
    assert reaches == set(JobState)


def test_every_state_is_reached_from_pending() -> None:
    reached = {JobState.PENDING}
    for _ in JobState:
        reached |= {following for (state, _), following in JOB_TRANSITIONS.items() if state in reached}
    assert reached == set(JobState)


def test_only_a_job_that_waits_can_start() -> None:
    assert {state for state, trigger in JOB_TRANSITIONS if trigger is JobTrigger.START} == WAITING


@pytest.mark.parametrize("state", sorted(WAITING | ACTIVE))
def test_a_job_that_has_not_ended_can_be_stopped(state: JobState) -> None:
    assert next_job_state(state, JobTrigger.STOP) in {JobState.STOPPING, JobState.STOPPED}


def test_an_attempt_can_end_from_every_state_but_ended() -> None:
    states = {state for state, trigger in ATTEMPT_TRANSITIONS if trigger is AttemptTrigger.END}
    assert states == set(AttemptState) - {AttemptState.ENDED}


def test_a_launch_that_has_to_stop_stays_a_launch_until_it_is_settled() -> None:
    assert next_attempt_state(AttemptState.LAUNCHING, AttemptTrigger.STOP) is AttemptState.LAUNCHING


def test_an_undefined_transition_names_the_trigger_and_the_state() -> None:
    with pytest.raises(InvalidTransition, match="cannot start while completed") as raised:
        next_job_state(JobState.COMPLETED, JobTrigger.START)
    assert (raised.value.state, raised.value.trigger) == ("completed", "start")
    assert isinstance(raised.value, HeadwayError)
    with pytest.raises(InvalidTransition, match="cannot confirm while ended"):
        next_attempt_state(AttemptState.ENDED, AttemptTrigger.CONFIRM)
