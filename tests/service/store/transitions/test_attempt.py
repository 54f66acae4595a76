"""Transitions of an attempt: their writes, and the conditions of these."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.lifecycle import JobState
from headway_service.errors import Conflict
from headway_service.store import transitions
from headway_service.store.policy_actions import PolicyAction
from headway_service.store.records.capacity.attempt import NOBODY, AttemptRecord, StopCause
from tests.service.store.builders import LAUNCHING, NOW_MS, REASON, SEEN, WAS, attempt, job, records, waiting


def test_a_lease_has_its_holder_and_expiry() -> None:
    taken, _ = transitions.take_lease(attempt(LAUNCHING), "me", 9)
    assert (taken.lease_holder, taken.lease_until_ms, taken.unanswered_ms) == ("me", 9, 1)
    (put,) = records(transitions.return_lease(taken, 12))
    returned = AttemptRecord.parse(put.item)
    assert (returned.lease_holder, returned.lease_until_ms, returned.unanswered_ms) == (NOBODY, 12, 1)


@pytest.mark.parametrize(("since_ms", "kept_ms"), [(None, NOW_MS), (3, 3)], ids=["it ran", "it was to stop already"])
def test_a_stop_counts_from_its_first_decision(since_ms: int | None, kept_ms: int) -> None:
    stopping, _ = transitions.preempt(job(), attempt(stopping_since_ms=since_ms), waiting("b"), {}, REASON, NOW_MS)
    assert stopping.stopping_since_ms == kept_ms


def test_a_reappearing_training_job_is_recorded_and_no_longer_missing() -> None:
    (put,) = records(transitions.touch(attempt(missing_since_ms=3), NOW_MS))
    noted = AttemptRecord.parse(put.item)
    assert (noted.seen_ms, noted.missing_since_ms) == (NOW_MS, None)


@pytest.mark.parametrize(("watch", "notified"), [("idle", ("before", "idle")), ("", ("before",))])
def test_only_watches_are_recorded_as_notified(watch: str, notified: tuple[str, ...]) -> None:
    action = PolicyAction(reason=REASON, watch=watch)
    _, put = records(transitions.apply_policy_action(job(), attempt(notified=("before",)), action, NOW_MS))
    assert AttemptRecord.parse(put.item).notified == notified


@pytest.mark.parametrize("state", [JobState.PENDING, JobState.PREEMPTED, JobState.RUNNING])
@pytest.mark.parametrize("cause", [None, StopCause.REQUEUE])
def test_a_policy_action_on_an_attempt_that_its_job_no_longer_has_is_a_conflict(
    state: JobState, cause: StopCause | None
) -> None:
    moved_on = job(state, live_attempt="a-r2" if state is JobState.RUNNING else None)
    action = PolicyAction(reason=REASON, cause=cause)
    with pytest.raises(Conflict):
        transitions.apply_policy_action(moved_on, attempt(), action, NOW_MS)


def test_only_recently_accepted_jobs_are_assumed_to_start() -> None:
    known, _ = transitions.confirm(attempt(LAUNCHING, unanswered_ms=1), NOW_MS)
    assert (known.training_job_status, known.seen_ms, known.unanswered_ms) == (None, NOW_MS, None)
    created, _ = transitions.confirm(attempt(LAUNCHING), NOW_MS, created=True)
    assert (created.training_job_status, created.secondary_status) == ("InProgress", "Starting")


def test_a_status_is_recorded_completely() -> None:
    seen = replace(SEEN, interruptions=4, training_since_ms=2)
    before = attempt(interruptions=3, missing_since_ms=3)
    (put,) = records(
        transitions.record_status(
            before,
            seen,
            NOW_MS,
            machine_ms=NOW_MS,
            ruled=True,
            lacks_instances=True,
            unheard=False,
            action=None,
            job=None,
        )
    )
    assert AttemptRecord.parse(put.item) == before.model_copy(
        update={
            "training_job_status": "InProgress",
            "secondary_status": "Training",
            "training_since_ms": 2,
            "interruptions": 4,
            "modified_ms": 1,
            "seen_ms": NOW_MS,
            "missing_since_ms": None,
            "lacks_instances": True,
            "ruled": True,
            "version": WAS + 1,
        }
    )


def test_an_older_status_does_not_revert_an_interruption() -> None:
    (put,) = records(
        transitions.record_status(
            attempt(interruptions=5),
            SEEN,
            NOW_MS,
            machine_ms=NOW_MS,
            ruled=False,
            lacks_instances=False,
            unheard=False,
            action=None,
            job=None,
        )
    )
    assert AttemptRecord.parse(put.item).interruptions == 5
