"""Which ends of a job meet which conditions, and the sentences about them."""

from __future__ import annotations

import pytest

from headway import reasons
from headway.dependencies import Condition, Ending, is_met
from headway.reasons import ReasonCode

OK, ANY, FAILED = Condition


@pytest.mark.parametrize(
    ("ending", "met"),
    [
        (Ending.COMPLETED, {OK, ANY}),
        (Ending.FAILED, {ANY, FAILED}),
        (Ending.TIMED_OUT, {ANY, FAILED}),
        (Ending.STOPPED, {ANY}),
    ],
)
def test_an_end_meets_these_conditions(ending: Ending, met: set[Condition]) -> None:
    assert {condition for condition in Condition if is_met(condition, ending)} == met


def test_a_reason_names_the_jobs_that_are_waited_for() -> None:
    awaited = [("prepare", OK), ("check", ANY), ("train", FAILED)]
    reason = reasons.waits_for_jobs(awaited)
    assert reason.code is ReasonCode.WAITS_FOR_JOBS
    assert reason.jobs == ("prepare", "check", "train")
    assert reason.message == (
        "waits until `prepare` has completed, `check` has ended and `train` has failed; then it enters the queue"
    )
    assert reasons.entered_after({"ml.p5.48xlarge": 2}, awaited[:1]).message == (
        "accepted; enters the queue for 2 ml.p5.48xlarge when `prepare` has completed"
    )


@pytest.mark.parametrize(
    ("ending", "awaited", "said"),
    [
        (Ending.COMPLETED, [], "`prepare` has completed; entered the queue"),
        (Ending.STOPPED, [("check", OK)], "`prepare` was stopped; waits until `check` has completed"),
    ],
)
def test_the_end_of_a_job_says_what_follows(ending: Ending, awaited: list[tuple[str, Condition]], said: str) -> None:
    reason = reasons.dependency_ended("prepare", ending, awaited)
    assert (reason.code, reason.message, reason.jobs) == (ReasonCode.DEPENDENCY_ENDED, said, ("prepare",))


@pytest.mark.parametrize(
    ("condition", "ending", "said"),
    [
        (OK, Ending.FAILED, "has failed, and had to complete first (condition ok)"),
        (OK, Ending.TIMED_OUT, "has reached its time limit, and had to complete first (condition ok)"),
        (FAILED, Ending.COMPLETED, "has completed, and had to fail first (condition failed)"),
        (FAILED, Ending.STOPPED, "was stopped, and had to fail first (condition failed)"),
    ],
)
def test_a_condition_that_can_no_longer_be_met_is_a_reason(condition: Condition, ending: Ending, said: str) -> None:
    reason = reasons.dependency_unmet("prepare", condition, ending)
    assert (reason.code, reason.jobs) == (ReasonCode.DEPENDENCY_UNMET, ("prepare",))
    assert reason.message == f"stopped, as `prepare` {said}"
