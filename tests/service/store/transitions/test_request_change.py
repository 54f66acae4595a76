"""The transition of a waiting job to another request."""

from __future__ import annotations

import pytest

from headway.errors import InvalidTransition
from headway.lifecycle import WAITING, JobState
from headway_service.ports.table import Equals, Put
from headway_service.store import transitions
from tests.service.store.builders import NOTED, NOW_MS, REASON, WAS, job
from tests.service.world import P5


@pytest.mark.parametrize("state", sorted(set(JobState) - WAITING))
def test_the_request_of_a_job_that_does_not_wait_cannot_change(state: JobState) -> None:
    with pytest.raises(InvalidTransition, match=f"cannot change while {state}"):
        transitions.change_request(job(state), "{}", None, REASON, NOW_MS, demand={P5: 2})


@pytest.mark.parametrize("state", sorted(WAITING))
def test_the_job_its_request_and_its_entries_are_written_once_if_the_job_is_as_it_was_read(state: JobState) -> None:
    known = job(state, live_attempt=None)
    moved, writes = transitions.change_request(known, "{}", None, REASON, NOW_MS, demand={P5: 2})
    assert (moved.job_state, moved.demand, moved.version) == (state, {P5: 2}, WAS + 1)
    keys = [write.key for write in writes]
    assert len(set(keys)) == len(keys) == 3
    assert [write.requires for write in writes] == [Equals("version", WAS), None, None]
    assert all(isinstance(write, Put) for write in writes)


def _attempts(**teams: str | None) -> list[dict[str, object]]:
    known = {"attempt_name": "a", "since_ms": 0, "ended_ms": 1, "reason": NOTED, "demand": {P5: 1}}
    return [{**known, "number": int(number[1:]), "team": team} for number, team in teams.items()]


@pytest.mark.parametrize(
    ("team", "kept"),
    [("red", ["blue", None]), ("green", ["blue", "red"]), ("", ["blue", "red"])],
    ids=["the same", "another one", "none"],
)
def test_the_attempts_of_a_job_that_goes_to_another_team_stay_with_the_team_that_was_charged(
    team: str, kept: list[str | None]
) -> None:
    known = job(JobState.PREEMPTED, live_attempt=None, team="red", attempts=_attempts(n1="blue", n2=None))
    moved, _ = transitions.change_request(known, "{}", None, REASON, NOW_MS, team=team)
    assert (moved.team, [each.team for each in moved.attempts]) == (team, kept)


def test_a_change_that_does_not_name_a_team_leaves_the_attempts_as_they_are() -> None:
    known = job(JobState.PREEMPTED, live_attempt=None, team="red", attempts=_attempts(n1=None))
    moved, _ = transitions.change_request(known, "{}", None, REASON, NOW_MS, demand={P5: 2})
    assert [each.team for each in moved.attempts] == [None]
