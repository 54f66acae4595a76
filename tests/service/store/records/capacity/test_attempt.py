"""The record of an attempt, as decisions and forecasts see it."""

from __future__ import annotations

import pytest

from headway.lifecycle import AttemptState
from headway_service.store.records.capacity.attempt import StopCause
from tests.service.store.builders import attempt


@pytest.mark.parametrize(
    ("cause", "returns"),
    [
        (None, False),
        (StopCause.REQUEST, False),
        (StopCause.POLICY, False),
        (StopCause.PREEMPTION, True),
        (StopCause.REQUEUE, True),
        (StopCause.ON_DEMAND, True),
        (StopCause.NO_INSTANCES, True),
    ],
)
def test_a_job_waits_again_after_some_stops(cause: StopCause | None, returns: bool) -> None:
    state = AttemptState.LIVE if cause is None else AttemptState.STOPPING
    seen = attempt(state, stop_cause=cause).allocation()
    assert (seen.stopping, seen.returns) == (cause is not None, returns)
