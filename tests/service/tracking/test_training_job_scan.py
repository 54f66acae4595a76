"""ListTrainingJobs has one rate for the account, which two functions and the account's users share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_sandbox.sagemaker.service_facts import RATES
from headway_sandbox.sagemaker.token_bucket import Rate, Throttle
from headway_service.tracking import reconciler
from headway_service.tracking.training_job_scan import MAX_PAGES
from tests.service.world import World

MINUTE_S = 60
LONG = {"SANDBOX_RUN_SECONDS": "90000"}


def list_times(function: str) -> list[float]:
    """When a run of a function lists, s after its start, in an account with more training jobs than it reads."""
    world = World()
    world.submit("a", Environment=LONG)
    world.tick()
    world.pass_time(1000)
    answered, began_s = world.fleet.call, world.now_s
    found: list[float] = []

    def call(asked: str, request: dict[str, object], *, now: float) -> dict[str, object]:
        if asked != "ListTrainingJobs":
            return answered(asked, request, now=now)
        found.append(now - began_s)
        return {"TrainingJobSummaries": [], "NextToken": "more"}

    world.fleet.call = call  # type: ignore[method-assign, assignment]
    if function == "patrol":
        # The second run of a round begins with the newest page.
        world.patrol()
        found.clear()
        began_s = world.now_s
    with pytest.MonkeyPatch.context() as patch:
        # So many attempts are described already.
        patch.setattr(reconciler, "MAX_DESCRIBED", 0)
        getattr(world, function)()
    assert len(found) >= MAX_PAGES
    return found


@pytest.fixture(scope="module")
def listed() -> list[list[float]]:
    return [list_times("reconcile"), list_times("patrol")]


def seconds(most_s: int) -> st.SearchStrategy[float]:
    """Times whose sums are exact in binary, as the throttle admits a call to the last bit."""
    return st.integers(0, most_s * 1024).map(lambda ticks: ticks / 1024)


@given(offset_s=seconds(MINUTE_S), users_s=seconds(1))
def test_both_functions_leave_half_of_the_rate_to_others_whenever_they_start(
    listed: list[list[float]], offset_s: float, users_s: float
) -> None:
    reconciler, patrol = listed
    both = [
        minute * MINUTE_S + each
        for minute in range(3)
        for each in (*reconciler, *(offset_s + later for later in patrol))
    ]
    others = [second + users_s for second in range(4 * MINUTE_S)]
    # The documented rate and no more at once than one call of each.
    throttle = Throttle({"ListTrainingJobs": Rate(per_s=RATES["ListTrainingJobs"].per_s, burst=3)})
    assert all(throttle.admits("ListTrainingJobs", at_s) for at_s in sorted([*both, *others]))
