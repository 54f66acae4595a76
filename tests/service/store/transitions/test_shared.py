"""What all transitions share: versions, conditions and the history of a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from headway_service.ports.table import Equals, Write
from headway_service.store import transitions
from headway_service.store.policy_actions import PolicyAction
from headway_service.store.records.capacity.attempt import StopCause
from headway_service.store.records.job import MAX_HISTORY, JobRecord, Step
from tests.service.store.builders import (
    LAUNCHING,
    NOTED,
    NOW_MS,
    REASON,
    SEEN,
    WAITS,
    WAS,
    attempt,
    end,
    job,
    records,
    rogue,
    waiting,
)

TELLS = PolicyAction(reason=REASON, watch="idle")
STOPS = PolicyAction(reason=REASON, cause=StopCause.REQUEUE, ends="x")
HELD = {"held": True}
CHANGES: dict[str, Callable[[], Sequence[Write]]] = {
    "start": lambda: transitions.start(job(WAITS), attempt(LAUNCHING), None, REASON, NOW_MS)[:1],
    "take lease": lambda: transitions.take_lease(attempt(LAUNCHING), "me", 9)[1],
    "return lease": lambda: transitions.return_lease(attempt(LAUNCHING), 9),
    "confirm": lambda: transitions.confirm(attempt(LAUNCHING), NOW_MS)[1],
    "postpone": lambda: transitions.defer_launch(
        job(), attempt(LAUNCHING), REASON, NOW_MS, failed=None, name_is_free=True, machine_ms=NOW_MS
    ),
    "preempt": lambda: transitions.preempt(job(), attempt(), waiting("b"), {}, REASON, NOW_MS)[1],
    "hold": lambda: transitions.hold(job(WAITS), None, REASON, NOW_MS)[1],
    "release": lambda: transitions.release(job(WAITS, **HELD), None, REASON, NOW_MS, machine_ms=NOW_MS)[1],
    "stop waiting": lambda: transitions.stop_waiting(job(WAITS), None, REASON, NOW_MS, 1),
    "stop active": lambda: transitions.stop_active(job(), attempt(), REASON, NOW_MS),
    "stop sent": lambda: transitions.stop_sent(attempt(), NOW_MS),
    "sighted": lambda: transitions.record_status(
        attempt(),
        SEEN,
        NOW_MS,
        machine_ms=NOW_MS,
        ruled=True,
        lacks_instances=False,
        unheard=False,
        action=None,
        job=None,
    ),
    "still": lambda: transitions.touch(attempt(), NOW_MS),
    "miss": lambda: transitions.note_missing(attempt(), NOW_MS),
    "a measure that tells": lambda: transitions.apply_policy_action(job(), attempt(), TELLS, NOW_MS),
    "a measure that stops": lambda: transitions.apply_policy_action(job(), attempt(), STOPS, NOW_MS),
    "change priority while it waits": lambda: transitions.change_priority(job(WAITS), None, 5, REASON, NOW_MS)[1],
    "change priority while it runs": lambda: transitions.change_priority(job(), attempt(), 5, REASON, NOW_MS)[1],
    "change rogue": lambda: transitions.update_rogue(rogue(), stop=True)[1],
    "reserve more": lambda: end(preemptor=job(WAITS, job_name="b"), reserved=1),
}
"""By what happens."""


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_write_stores_the_next_version_conditional_on_the_read_one(
    change: Callable[[], Sequence[Write]],
) -> None:
    stored = records(change())
    assert stored
    assert [(each.item["version"], each.requires) for each in stored] == [(WAS + 1, Equals("version", WAS))] * len(
        stored
    )


@pytest.mark.parametrize(
    "change",
    ["postpone", "preempt", "stop active", "a measure that tells", "a measure that stops", "reserve more"],
)
def test_a_step_of_a_job_with_an_attempt_names_the_attempt(change: str) -> None:
    (moved,) = (JobRecord.parse(each.item) for each in records(CHANGES[change]()) if each.item["sk"] == "job")
    assert moved.history[-1].attempt_name == "a"


@pytest.mark.parametrize("steps", [MAX_HISTORY - 2, MAX_HISTORY - 1, MAX_HISTORY, MAX_HISTORY + 1])
def test_a_history_keeps_its_first_and_its_last_steps(steps: int) -> None:
    before = job(history=tuple(Step(time_ms=time_ms, job_state=WAITS, reason=NOTED) for time_ms in range(steps)))
    moved = JobRecord.parse(records(transitions.stop_active(before, attempt(), REASON, NOW_MS))[0].item)
    times_ms = [*range(steps), NOW_MS]
    kept_ms = times_ms if len(times_ms) <= MAX_HISTORY else [0, *times_ms[-(MAX_HISTORY - 1) :]]
    assert [step.time_ms for step in moved.history] == kept_ms
