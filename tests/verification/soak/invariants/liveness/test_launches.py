"""What has become of launches: counted as SageMaker answers them, and known once the table shows it."""

from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.sagemaker.training_job import TrainingJob
from headway_verification.soak.invariants.liveness.launches import TOO_LONG_S, LaunchHistory

ATTEMPTS = {"a": {"jobName": "a", "demand": {"p5": 2}, "sinceMs": 0}}


def training_job(**given: Any) -> TrainingJob:
    """The training job of the attempt, without instances."""
    return TrainingJob(**{"name": "a", "arn": "", "request": {}, "tags": {}, "created": 0.0, "script": None, **given})


def refused(times: int, history: LaunchHistory | None = None, code: str = "ResourceLimitExceeded") -> LaunchHistory:
    """A job whose launches SageMaker has refused, one a minute."""
    history = history or LaunchHistory()
    for minute in range(times):
        history.update(ATTEMPTS, (), minute * 60)
        history.answered("a", code, minute * 60)
        history.update({}, (), minute * 60 + 1)
    return history


@pytest.mark.parametrize("times", [1, 2, 5])
def test_refusals_in_a_row_are_counted(times: int) -> None:
    (failed,) = refused(times).failed("a")
    assert (failed.count, failed.pools, failed.demand) == (times, frozenset({"p5"}), {"p5": 2})
    assert (failed.first_s, failed.known_s) == (0, (times - 1) * 60 + 1)


@pytest.mark.parametrize(("by", "count"), [("one", 1), ("another", 0)], ids=["told", "lost with its invocation"])
def test_a_refusal_counts_if_its_invocation_has_written_anything_of_the_attempt_since(by: str, count: int) -> None:
    history, invocations = LaunchHistory(), {"one": object(), "another": object()}
    history.update(ATTEMPTS, (), 0)
    history.answered("a", "AccessDeniedException", 0, by=invocations["one"])
    history.written("a", None, by=invocations[by])
    history.written("a", None, by=invocations["another"])
    history.update({}, (), 1)
    assert len([*history.failed("a")]) == count


def test_an_accepted_launch_is_followed_whoever_writes() -> None:
    history = LaunchHistory()
    history.update(ATTEMPTS, (), 0)
    history.answered("a", "", 0, by=object())
    history.written("a", None, by=object())
    ended = training_job(created=0.0, status="Stopped", modified=TOO_LONG_S)
    history.update({}, [ended], TOO_LONG_S)
    assert len([*history.failed("a")]) == 1


@pytest.mark.parametrize(
    ("delta", "times", "seconds", "lasts"),
    [(3, 1, 300, False), (3, 1, 301, True), (3, 2, 61, True), (2, 2, 300, False), (2, 2, 301, True)],
)
def test_a_refusal_lasts_if_it_is_the_second_one_or_others_have_had_time_to_end(
    delta: int, times: int, seconds: int, lasts: bool
) -> None:
    quota = f"The limit 'x' is 2 Instances, with current utilization of 1 Instances and a request delta of {delta} Inst"
    history = LaunchHistory()
    for minute in range(times):
        history.update(ATTEMPTS, (), minute * 60)
        history.answered("a", "ResourceLimitExceeded", minute * 60, quota)
        history.update({}, (), minute * 60 + 1)
    (failed,) = history.failed("a")
    assert failed.is_lasting(seconds) is lasts


@pytest.mark.parametrize(("code", "lasts"), [("ResourceLimitExceeded", False), ("AccessDeniedException", True)])
def test_a_refusal_that_names_no_quota_may_pass_for_five_minutes(code: str, lasts: bool) -> None:
    (failed,) = refused(2, code=code).failed("a")
    assert failed.is_lasting(300) is lasts
    assert failed.is_lasting(301)


def test_a_refusal_counts_once_the_table_shows_it() -> None:
    history = LaunchHistory()
    history.update(ATTEMPTS, (), 0)
    history.answered("a", "AccessDeniedException", 0)
    history.update(ATTEMPTS, (), 1)
    assert not history.all_failed
    history.update({}, (), 2)
    assert history.all_failed


@pytest.mark.parametrize(("cause", "count"), [("preemption", 0), ("no-instances", 1)])
def test_a_refusal_of_an_attempt_that_is_to_stop_for_another_reason_is_open(cause: str, count: int) -> None:
    history = LaunchHistory()
    history.update(ATTEMPTS, (), 0)
    history.answered("a", "AccessDeniedException", 0)
    history.written("a", cause, by=None)
    history.update({}, (), 1)
    assert len([*history.failed("a")]) == count


def test_an_attempt_that_is_stopped_and_ends_at_one_moment_is_open() -> None:
    history = LaunchHistory()
    history.update(ATTEMPTS, (), 0)
    history.answered("a", "", 0)
    history.written("a", "preemption", by=object())
    history.written("a", None, by=object())
    history.update({}, [training_job(status="Failed", failure_reason="CapacityError: no instances")], 1)
    assert not history.all_failed


@pytest.mark.parametrize("code", ["ValidationException", "ThrottlingException", "ResourceInUse"])
def test_other_errors_are_no_refusals(code: str) -> None:
    assert not refused(2, code=code).all_failed


def test_a_refusal_of_a_launch_that_was_accepted_before_is_none() -> None:
    history = LaunchHistory()
    history.update(ATTEMPTS, (), 0)
    history.answered("a", "ResourceLimitExceeded", 60)
    history.update({}, [training_job(allocated_at=30.0)], 61)
    assert not history.all_failed


@pytest.mark.parametrize(("after_s", "first_s"), [(60, 0), (61, 500)], ids=["its own", "of another job"])
def test_a_training_job_that_had_the_name_before_is_no_launch_of_the_attempt(after_s: int, first_s: int) -> None:
    history = LaunchHistory()
    since = {"a": {**ATTEMPTS["a"], "sinceMs": after_s * 1000}}
    history.update(since, (), after_s)
    history.answered("a", "AccessDeniedException", 500)
    history.update(since, [training_job(secondary="Pending")], 501)
    history.update({}, [training_job(status="Failed", failure_reason="CapacityError: no instances")], 2000)
    (failed,) = history.all_failed
    assert failed.first_s == first_s


def test_a_launch_that_was_accepted_is_followed_although_the_same_one_is_refused_later() -> None:
    history = LaunchHistory()
    history.update(ATTEMPTS, (), 0)
    history.answered("a", "", 0)
    history.answered("a", "AccessDeniedException", 60)
    history.update(ATTEMPTS, [training_job(secondary="Pending")], 61)
    history.update({}, [training_job(status="Failed", failure_reason="CapacityError: no instances")], 2000)
    (failed,) = history.all_failed
    assert failed.count == 1


@pytest.mark.parametrize(
    "got", [{"allocated_at": 500.0}, {"held_s": 5.0, "status": "Stopped"}, {"training_started": 500.0}]
)
def test_a_launch_that_got_instances_ends_the_row(got: dict[str, Any]) -> None:
    history = refused(3)
    history.update(ATTEMPTS, (), 400)
    history.answered("a", "", 400)
    history.update(ATTEMPTS, [training_job(created=400.0, **got)], 600)
    assert not history.all_failed


@pytest.mark.parametrize(
    ("ended", "counts"),
    [
        ({"modified": TOO_LONG_S}, True),
        ({"modified": TOO_LONG_S - 1}, False),
        ({"modified": 10.0, "failure_reason": "CapacityError: no instances"}, True),
    ],
)
def test_an_accepted_launch_counts_if_it_had_no_instances_for_long(ended: dict[str, Any], counts: bool) -> None:
    history = LaunchHistory()
    history.update(ATTEMPTS, (), 0)
    history.answered("a", "", 0)
    history.update({}, [training_job(status="Stopped", **ended)], 2000)
    assert bool(history.all_failed) is counts


def test_a_launch_that_the_queue_has_given_up_before_it_was_shown_tells_nothing() -> None:
    history = LaunchHistory({"a"}.__contains__)
    history.update(ATTEMPTS, (), 0)
    history.answered("a", "", 0)
    history.update({}, [training_job(status="Stopped", modified=TOO_LONG_S)], 2000)
    assert not history.all_failed


@pytest.mark.parametrize(("now_s", "found"), [(TOO_LONG_S - 1, set()), (TOO_LONG_S, {"a"})])
def test_an_attempt_without_instances_is_seen_after_ten_minutes(now_s: int, found: set[str]) -> None:
    history = LaunchHistory()
    history.update(ATTEMPTS, (), 0)
    history.answered("a", "", 0)
    assert history.without_instances(ATTEMPTS, [training_job(secondary="Pending")], now_s) == found


def test_one_of_a_job_that_was_refused_before_is_seen_at_once() -> None:
    history = refused(1)
    history.update(ATTEMPTS, (), 100)
    history.answered("a", "", 100)
    pending = training_job(created=100.0, secondary="Pending")
    assert history.without_instances(ATTEMPTS, [pending], 101) == {"a"}


@pytest.mark.parametrize(("job", "is_left"), [("a", False), ("b", True)])
def test_a_job_that_begins_again_has_no_failed_launches(job: str, is_left: bool) -> None:
    history = refused(2)
    history.begin_again(job)
    assert bool(history.all_failed) is is_left


@pytest.mark.parametrize(("pool", "count"), [("ml.p5.48xlarge", 1), ("ml.p5.48xlarge.plan.spring", 0)])
def test_a_launch_that_was_accepted_before_its_plan_lost_instances_is_open(pool: str, count: int) -> None:
    history = LaunchHistory()
    history.resized({pool: 2})
    history.update({"a": {**ATTEMPTS["a"], "demand": {pool: 1}}}, (), 0)
    history.answered("a", "", 0)
    history.resized({pool: 0})
    history.update({}, [training_job(status="Failed", failure_reason="CapacityError: no instances")], 1)
    assert len([*history.failed("a")]) == count
