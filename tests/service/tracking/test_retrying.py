"""A failed attempt is retried by the policy, from the stored request, in the job's place in the queue."""

from __future__ import annotations

from typing import Any

import pytest

from headway.jobpolicy.failure_kinds import FailureKind
from headway.jobpolicy.retry import Retry
from headway_service.config.document import validate
from headway_service.errors import InvalidConfiguration
from headway_service.store.ledger import read_ledger
from tests.service.world import P5, ROOT, World

INTERNAL = "InternalServerError: We encountered an internal error. Please try again."
LONG = {"SANDBOX_RUN_SECONDS": "90000"}
CODE = "AlgorithmError: ExecuteUserScriptError: exit code 1"


def world_of(**retries: Any) -> World:
    world = World()
    if retries:
        world.configuration.write({**world.configuration.document, "retries": retries})
    return world


def fail(world: World, name: str, reason: str, after_s: float = 300) -> None:
    """The job's attempt fails after some time, and its event is delivered."""
    world.tick()
    attempt = world.seen(name).job.live_attempt
    assert attempt is not None
    world.pass_time(after_s)
    world.fleet.fail(attempt, reason, now=world.now_s)
    world.pass_time(1)
    world.check()


def test_a_job_failed_by_sagemaker_is_retried_with_its_tags_checkpoints_and_place() -> None:
    world = World(pools={P5: 1})
    checkpoints = {"CheckpointConfig": {"S3Uri": "s3://jobs/checkpoints/a"}}
    world.submit("a", 5, **checkpoints)
    entered = world.seen("a").job.entry_time
    world.now_s += 1
    world.submit("b", 5)
    fail(world, "a", INTERNAL)
    seen = world.seen("a")
    assert (seen.job.job_state, seen.place, seen.job.entry_time) == ("pending", 1, entered)
    assert seen.reason.message == "its last attempt failed (service); next try in 59 s, the place in the queue is kept"
    assert [step.reason.code for step in seen.job.history][-1] == "Retried"
    assert f"failed: {INTERNAL}; retried in 1 min (retry 1 of 3)" in seen.job.history[-1].reason.message
    assert world.states("b") == {"b": "pending"}, "nobody overtakes it meanwhile"

    world.now_s += 60
    world.tick()
    world.check()
    first, second = [request for name, request in world.calls if name == "CreateTrainingJob"]
    assert second["TrainingJobName"] != first["TrainingJobName"]
    same = ("CheckpointConfig", "ResourceConfig", "StoppingCondition", "Environment", "RoleArn")
    assert [second[key] for key in same] == [first[key] for key in same]
    marks = [{tag["Key"] for tag in request["Tags"]} for request in (first, second)]
    assert marks[0] == marks[1]
    world.pass_time(3000)
    assert world.states("a") == {"a": "completed"}
    assert [each.failure_reason for each in world.seen("a").job.attempts] == [INTERNAL, None]


@pytest.mark.parametrize("reason", [CODE, "ClientError: Data download failed", "Something else", ""])
def test_a_users_own_failure_is_not_retried(reason: str) -> None:
    world = world_of()
    world.submit("a", Environment=LONG)
    fail(world, "a", reason, after_s=7200)
    assert world.states("a") == {"a": "failed"}
    assert "is not retried" in world.seen("a").reason.message
    assert not read_ledger(world.table).attempts


def test_retries_are_counted_by_kind_and_bounded() -> None:
    world = world_of(service={"maxPerJob": 2, "backoffSeconds": 10})
    world.submit("a")
    for waits_s in (10, 20):
        fail(world, "a", INTERNAL)
        assert world.states("a") == {"a": "pending"}
        world.now_s += waits_s
    fail(world, "a", INTERNAL)
    seen = world.seen("a")
    assert (seen.job.job_state, seen.job.retried) == ("failed", {"service": 2})
    assert "is retried 2 times at most" in seen.reason.message


def test_a_request_may_allow_fewer_retries() -> None:
    world = world_of(service={"maxPerJob": 2, "backoffSeconds": 10})
    world.submit("a", Tags=[{"Key": "headway:max-retries", "Value": "1"}])
    fail(world, "a", INTERNAL)
    assert world.states("a") == {"a": "pending"}
    world.now_s += 10
    fail(world, "a", INTERNAL)
    assert world.states("a") == {"a": "failed"}
    assert "is retried once at most, as its request says" in world.seen("a").reason.message


def test_the_articles_rule_retries_failures_after_two_hours_but_no_error_twice() -> None:
    world = world_of(code={"maxPerJob": 5, "minRunTimeSeconds": 7200, "backoffSeconds": 0})
    world.submit("early", Environment=LONG)
    fail(world, "early", CODE, after_s=3600)
    assert world.states("early") == {"early": "failed"}
    assert "only if the attempt ran for 7200 s" in world.seen("early").reason.message

    world.submit("late", Environment=LONG)
    fail(world, "late", CODE, after_s=7800)
    assert world.states("late") == {"late": "running"}, "without a back-off it is tried again at once"
    fail(world, "late", CODE, after_s=7800)
    assert world.states("late") == {"late": "failed"}
    assert "it failed in the same way before" in world.seen("late").reason.message


def test_a_job_that_has_to_stop_is_not_retried_after_a_failure() -> None:
    world = world_of()
    world.submit("a")
    world.tick()
    world.commands.stop("a", ROOT)
    world.fleet.fail("a", INTERNAL, now=world.now_s)
    world.pass_time(1)
    assert world.states("a") == {"a": "failed"}
    world.check()


def test_a_waiting_retry_can_be_stopped() -> None:
    world = world_of()
    world.submit("a")
    fail(world, "a", INTERNAL)
    world.commands.stop("a", ROOT)
    assert world.states("a") == {"a": "stopped"}
    world.check()


def test_a_repeated_failure_event_counts_once() -> None:
    world = world_of()
    world.submit("a")
    world.tick()
    world.pass_time(300)
    world.fleet.fail("a", INTERNAL, now=world.now_s)
    world.pass_time(1, deliver=False)
    for _ in range(2):
        world.observer.refresh("a", world.training_jobs, world.clock())
    assert world.seen("a").job.retried == {"service": 1}
    world.check()


def test_a_setting_of_a_kind_replaces_only_the_default_of_that_kind() -> None:
    document = {"pools": {P5: {"size": 1}}}
    default = validate(document).retry_rules()
    assert default == {
        FailureKind.SERVICE: Retry(max_per_job=3, backoff_ms=60_000),
        FailureKind.CAPACITY: Retry(max_per_job=None, backoff_ms=300_000),
    }
    said = {"capacity": {"maxPerJob": 0}, "code": {"maxPerJob": 1, "minRunTimeSeconds": 7200, "backoffSeconds": 5}}
    assert validate({**document, "retries": said}).retry_rules() == {
        **default,
        FailureKind.CAPACITY: Retry(max_per_job=0, backoff_ms=60_000),
        FailureKind.CODE: Retry(max_per_job=1, backoff_ms=5000, min_run_ms=7_200_000),
    }


@pytest.mark.parametrize(
    ("retries", "field"),
    [
        ({"bad luck": {"maxPerJob": 1}}, "retries.bad luck"),
        ({"service": {}}, "retries.service.maxPerJob"),
        ({"service": {"maxPerJob": 101}}, "retries.service.maxPerJob"),
        ({"service": {"maxPerJob": 1, "backoffSeconds": 601}}, "retries.service.backoffSeconds"),
        ({"service": {"maxPerJob": 1, "forEver": True}}, "retries.service.forEver"),
    ],
)
def test_invalid_retry_rules_are_refused_with_their_field(retries: Any, field: str) -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        validate({"pools": {P5: {"size": 1}}, "retries": retries})
    assert [each.field for each in refused.value.fields] == [field]


def test_a_job_that_reached_its_limit_is_stopped_unless_the_policy_retries_it() -> None:
    short: dict[str, Any] = {"StoppingCondition": {"MaxRuntimeInSeconds": 1800}, "Environment": LONG}
    for retries, state in (({}, "stopped"), ({"time": {"maxPerJob": 1}}, "pending")):
        world = world_of(**retries)
        world.submit("a", **short)
        world.tick()
        world.pass_time(3000)
        world.check()
        assert world.states("a") == {"a": state}
        assert "SageMaker stopped it at its MaxRuntimeInSeconds" in world.seen("a").job.history[-1].reason.message
