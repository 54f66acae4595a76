"""Jobs that SageMaker refuses again and again, or has no instances for, on virtual time through real ticks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from headway.refusals import Cause
from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.faults import Faults
from headway_service.admission.submission import Submission
from headway_service.store.ledger import read_ledger
from tests.service.world import P5, ROOT, World, request

GIVE_UP_S = 3600
DENIED = AwsError("AccessDeniedException", "User: x is not authorized to perform: kms:CreateGrant on resource: y")
LONG: dict[str, Any] = {"Environment": {"SANDBOX_RUN_SECONDS": "36000"}}


def world_of(size: int = 1, **launches: int) -> World:
    world = World()
    world.configuration.write({"pools": {P5: {"size": size}}, "launches": launches})
    return world


def deny(world: World, name: str) -> None:
    """SageMaker denies each launch of a job."""
    real: Callable[..., Any] = world.fleet.call

    def call(operation: str, asked: Mapping[str, Any], *, now: float) -> Any:
        if operation == "CreateTrainingJob" and str(asked["TrainingJobName"]).partition("-")[0] == name:
            raise DENIED
        return real(operation, asked, now=now)

    world.fleet.call = call  # type: ignore[method-assign,assignment]


def minutes(world: World, count: int) -> None:
    for _ in range(count):
        world.pass_time(60)
        world.reconcile()
        world.tick()
        world.check()


def test_a_denied_job_ends_after_its_time_with_the_sentence_of_aws_and_so_do_its_dependants() -> None:
    world = world_of(giveUpSeconds=GIVE_UP_S)
    deny(world, "a")
    world.submit("a", 9)
    world.submitter.submit(Submission(request=request("after"), depends_on=[{"job": "a"}]), ROOT)
    world.submit("other", 0)
    world.tick()
    minutes(world, 59)
    assert world.seen("a").reason.code == "Unlaunchable"
    assert "kms:CreateGrant" in world.seen("a").reason.message
    minutes(world, 2)
    assert world.states("a", "after", "other") == {"a": "failed", "after": "stopped", "other": "completed"}
    step = world.seen("a").job.history[-1]
    assert step.reason.code == "LaunchRefused"
    assert "kms:CreateGrant" in step.reason.message
    calls = world.called("CreateTrainingJob")
    minutes(world, 20)
    assert world.called("CreateTrainingJob") == calls, "it is not tried any more"


def test_at_no_time_is_a_refused_job_said_to_start_without_the_sentence_of_aws() -> None:
    world = world_of(giveUpSeconds=GIVE_UP_S)
    deny(world, "a")
    world.submit("a", 9)
    world.tick()
    codes = set()
    for _ in range(50):
        # Between two ticks, so that its next try is due at some of these times.
        world.pass_time(60, tick=False)
        reason = world.seen("a").reason
        assert "kms:CreateGrant" in reason.message
        codes.add(str(reason.code))
        world.tick()
    assert {"StartsNow", "Unlaunchable"} <= codes


@pytest.mark.parametrize("minute", [6, 8])
def test_an_attempt_without_instances_gives_way_after_its_time_and_counts_as_a_launch_without_any(minute: int) -> None:
    world = world_of()
    world.fleet.faults = Faults(capacity={P5: 0}, capacity_wait_s=36_000)
    world.submit("big", 9, **LONG)
    world.tick()
    world.submit("small", 0, **LONG)
    minutes(world, minute)
    if minute < 7:
        assert world.states("big", "small") == {"big": "running", "small": "pending"}
        return
    minutes(world, 4)
    big = world.seen("big")
    assert (big.job.job_state, big.reason.code) == ("pending", "Unlaunchable")
    assert big.job.failed is not None
    assert (big.job.failed.cause, big.job.failed.count) == (Cause.CAPACITY, 1)
    # Until it gave way, and while it stopped, others could not use them.
    assert 7 * 60_000 <= big.job.failed.idled_ms <= 9 * 60_000
    assert [step.reason.code for step in big.job.history if step.reason.code == "NoInstances"]


def test_the_time_of_an_attempt_without_instances_begins_when_sagemaker_has_accepted_it() -> None:
    world = world_of()
    world.fleet.faults = Faults(capacity={P5: 0}, capacity_wait_s=36_000)
    world.submit("big", 9, **LONG)
    world.tick()
    world.submit("small", 0, **LONG)
    (training_job,) = world.fleet.jobs(now=world.now_s)
    training_job.created += 300
    minutes(world, 9)
    assert world.states("big", "small") == {"big": "running", "small": "pending"}
    minutes(world, 7)
    big = world.seen("big")
    assert (big.job.job_state, big.reason.code) == ("pending", "Unlaunchable")
    assert big.job.failed is not None
    assert big.job.failed.text == "none in 7 min 30 s"


def test_a_refused_job_is_tried_at_once_when_its_pool_has_another_size_and_only_then() -> None:
    world = world_of()
    deny(world, "a")
    world.submit("a", 9, **LONG)
    world.tick()
    minutes(world, 12)
    assert world.seen("a").reason.code == "Unlaunchable"
    calls = len(world.called("CreateTrainingJob"))
    world.tick()
    assert len(world.called("CreateTrainingJob")) == calls
    world.configuration.write({"pools": {P5: {"size": 2}}})
    world.tick()
    assert len(world.called("CreateTrainingJob")) == calls + 1


def test_an_outage_does_not_make_a_refused_job_one_that_others_are_preempted_for() -> None:
    world = world_of()
    deny(world, "a")
    world.submit("a", 9, **LONG)
    world.tick()
    minutes(world, 12)
    before = world.seen("a").job.failed
    assert before is not None
    denying = world.fleet.call

    def silent(operation: str, asked: Mapping[str, Any], *, now: float) -> Any:
        if operation == "CreateTrainingJob":
            raise AwsError("ServiceUnavailable", "", status=503)
        return denying(operation, asked, now=now)

    world.fleet.call = silent  # type: ignore[method-assign,assignment]
    # SageMaker has answered nothing since it was sent, so it may not be about the job.
    minutes(world, 15)
    told = [step.reason.message for step in world.seen("a").job.history]
    assert [message for message in told if "it gave no clear answer, and shows no training job" in message]
    world.fleet.call = denying  # type: ignore[method-assign]
    world.submit("other", 0, **LONG)
    minutes(world, 5)
    seen = world.seen("a")
    assert world.states("a", "other") == {"a": "pending", "other": "running"}
    assert seen.job.failed is not None
    assert (seen.job.failed.cause, seen.job.failed.count) == (Cause.DENIED, before.count)
    assert seen.reason.code == "Unlaunchable"
    assert "kms:CreateGrant" in seen.reason.message


@pytest.mark.parametrize("code", ["AccessDeniedException", "ResourceLimitExceeded"])
def test_a_refusal_is_known_although_the_answers_before_and_after_it_are_missing(code: str) -> None:
    world = world_of()
    real: Callable[..., Any] = world.fleet.call
    silent = AwsError("InternalFailure", "", status=500)
    answers = iter((silent, AwsError(code, "as an administrator wants it"), silent))

    def call(operation: str, asked: Mapping[str, Any], *, now: float) -> Any:
        error = next(answers, silent) if operation == "CreateTrainingJob" else None
        if error is not None:
            raise error
        return real(operation, asked, now=now)

    world.fleet.call = call  # type: ignore[method-assign,assignment]
    world.submit("a", 9, **LONG)
    world.tick()
    for _ in range(6):
        minutes(world, 1)
        if not read_ledger(world.table).attempts:
            break
    assert world.called("CreateTrainingJob") == ["a"] * 3
    failed = world.seen("a").job.failed
    assert failed is not None
    assert (failed.count, failed.code, failed.text) == (1, code, "as an administrator wants it")
    assert "as an administrator wants it" in world.seen("a").job.history[-1].reason.message


def test_launches_that_were_refused_do_not_make_an_attempt_without_instances_wait_longer() -> None:
    world = world_of()
    world.fleet.faults = Faults(quotas={P5: 0})
    world.submit("big", 9, **LONG)
    for _ in range(40):
        minutes(world, 1)
    failed = world.seen("big").job.failed
    assert failed is not None
    assert failed.count >= 3
    world.fleet.faults = Faults(capacity={P5: 0}, capacity_wait_s=36_000)
    while world.states("big") == {"big": "pending"}:
        minutes(world, 1)
    world.submit("small", 0, **LONG)
    minutes(world, 10)
    assert world.states("big") == {"big": "pending"}
