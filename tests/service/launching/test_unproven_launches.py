"""What a launch, a stop or a missing answer proves, whichever of its possible answers SageMaker gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from headway.refusals.probing import MAX_SOON_MS
from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.faults import Faults
from headway_service.errors import RetryLater
from headway_service.launching.backoff import FIRST_BACK_OFF_S, PoolBackoff
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.attempt import GivenUpRecord
from tests.service.launching.test_launcher import fail_once
from tests.service.world import INVOCATION_S, P5, ROOT, World, on
from tests.service.world import request as request_of

LOST = {"CreateTrainingJob": 1}
LONGEST_LAG_S = 60.0

UNKIND: dict[str, Faults] = {
    "as soon as it can": Faults(),
    "the quota before the name": Faults(quota_before_name=True, quotas={P5: 1}),
    "a denial for a name in use": Faults(repeated_create="AccessDeniedException"),
    "a refusal for a name in use": Faults(repeated_create="ValidationException"),
    "Describe and Stop late": Faults(describe_lag_s=LONGEST_LAG_S),
    "tags late": Faults(tags_lag_s=LONGEST_LAG_S),
    "Describe late and tags later": Faults(describe_lag_s=20, tags_lag_s=LONGEST_LAG_S),
    "all of it": Faults(
        quota_before_name=True,
        quotas={P5: 1},
        describe_lag_s=30,
        list_lag_s=LONGEST_LAG_S,
        tags_lag_s=LONGEST_LAG_S,
        repeated_create="ValidationException",
    ),
}


@pytest.fixture(params=list(UNKIND.values()), ids=list(UNKIND))
def world(request: pytest.FixtureRequest) -> World:
    """A queue whose SageMaker responds in one of the ways that AWS does not rule out."""
    world = World()
    world.fleet.faults = request.param
    return world


def minutes(world: World, count: int) -> None:
    """Time passes, and each minute the scheduled functions run. Promises hold all the while."""
    for _ in range(count):
        world.pass_time(30)
        world.tick()
        world.check()
        world.pass_time(30)
        world.reconcile()
        world.patrol()
        world.tick()
        world.check()


def lose_the_next_answer(world: World) -> None:
    world.fleet.faults = world.fleet.faults.with_changes({"lose_answer": LOST})


def test_a_launch_with_a_lost_answer_runs_once_and_keeps_its_instances(world: World) -> None:
    lose_the_next_answer(world)
    world.submit("a")
    world.tick()
    world.check()
    minutes(world, 20)
    assert world.states("a") == {"a": "completed"}
    assert [job.name for job in world.fleet.jobs(now=world.now_s)] == ["a"]
    assert read_ledger(world.table).rogues == ()


@pytest.mark.parametrize("after_s", [0, 1, 40])
def test_a_job_that_is_stopped_after_its_launch_lost_its_answer_is_stopped_at_sagemaker(
    world: World, after_s: int
) -> None:
    lose_the_next_answer(world)
    world.submit("a")
    world.tick()
    world.now_s += after_s
    world.commands.stop("a", ROOT)
    minutes(world, 8)
    assert world.states("a") == {"a": "stopped"}
    (job,) = world.fleet.jobs(now=world.now_s)
    assert job.status == "Stopped"


def test_a_stop_between_intent_and_answer_of_a_launch_stops_the_training_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.submit("a")
    create = world.training_jobs.create

    def stop_meanwhile(asked: Mapping[str, Any]) -> None:
        create(asked)
        world.commands.stop("a", ROOT)

    monkeypatch.setattr(world.training_jobs, "create", stop_meanwhile)
    world.tick()
    world.check()
    (attempt,) = read_ledger(world.table).attempts
    assert attempt.attempt_state == "stopping", "what SageMaker accepted is written down at once"
    minutes(world, 8)
    assert world.states("a") == {"a": "stopped"}
    (job,) = world.fleet.jobs(now=world.now_s)
    assert job.status == "Stopped"


@pytest.mark.parametrize("after_s", [0, 5, 45])
def test_a_job_that_is_stopped_right_after_its_launch_is_stopped_at_sagemaker(world: World, after_s: int) -> None:
    world.submit("a")
    world.tick()
    world.now_s += after_s
    world.commands.stop("a", ROOT)
    world.tick()
    world.check()
    minutes(world, 8)
    assert world.states("a") == {"a": "stopped"}
    (job,) = world.fleet.jobs(now=world.now_s)
    assert job.status == "Stopped"


def test_a_refusal_of_the_first_and_only_call_is_final(world: World) -> None:
    world.fleet.faults = world.fleet.faults.with_changes({"quotas": {P5: 0}})
    world.submit("a")
    world.tick()
    assert world.states("a") == {"a": "pending"}
    assert read_ledger(world.table).attempts == ()
    assert world.called("DescribeTrainingJob") == []
    assert world.table.get(GivenUpRecord.key("a")) is None
    assert world.seen("a").job.attempt_count == 0, "the name is free"


@pytest.mark.parametrize("code", ["AccessDeniedException", "ResourceLimitExceeded", "ValidationException"])
@pytest.mark.parametrize("lag_s", [0.0, LONGEST_LAG_S])
def test_a_name_in_use_by_another_job_is_passed_whatever_the_refusal_is(code: str, lag_s: float) -> None:
    world = World()
    world.fleet.faults = Faults(repeated_create=code, describe_lag_s=lag_s)
    world.fleet.create(request_of("a", ResourceConfig=on(1, "ml.g5.xlarge")), now=world.now_s)
    if code == "ValidationException":
        # It ends a job at once, so it is only looked at after SageMaker shows what has the name.
        world.now_s += lag_s
    world.submit("a")
    world.tick()
    minutes(world, 20)
    assert world.states("a") == {"a": "completed"}
    assert "NameTaken" in {step.reason.code for step in world.seen("a").job.history}
    others = {job.name: job.status for job in world.fleet.jobs(now=world.now_s)}
    others.pop("a")
    assert list(others.values()) == ["Completed"]


def test_only_a_launch_that_is_refused_again_is_asked_about() -> None:
    world = World()
    world.fleet.faults = Faults(quotas={P5: 0})
    world.submit("a")
    world.tick()
    assert world.called("DescribeTrainingJob") == []
    for _ in range(3):
        world.now_s += MAX_SOON_MS / 1000
        world.tick()
        world.check()
    assert world.called("CreateTrainingJob") == ["a"] * 4
    assert world.called("DescribeTrainingJob") == ["a"] * 3
    assert world.seen("a").job.attempt_count == 0, "that SageMaker shows none proves nothing, and the name may be free"


def test_a_launch_that_is_refused_again_waits_although_sagemaker_does_not_say_who_has_its_name() -> None:
    world = World()
    world.fleet.faults = Faults(quotas={P5: 0})
    world.submit("a")
    world.tick()
    real = world.fleet.call

    def silent(operation: str, asked: Mapping[str, Any], *, now: float) -> Any:
        if operation == "DescribeTrainingJob":
            raise AwsError("InternalFailure", "?", status=500)
        return real(operation, asked, now=now)

    world.fleet.call = silent  # type: ignore[method-assign,assignment]
    world.now_s += MAX_SOON_MS / 1000
    world.tick()
    world.check()
    ledger = read_ledger(world.table)
    assert ledger.attempts == (), "no instances are held for it"
    assert {pool.backoff_until_ms for pool in ledger.pools} == {0}, "the launch itself was answered"
    failed = world.seen("a").job.failed
    assert failed is not None
    assert failed.count == 2


def test_a_launch_whose_outcome_stays_unknown_ends_and_its_name_is_not_reused() -> None:
    world = World()
    world.fleet.faults = Faults(describe_lag_s=100_000, quotas={P5: 1}, quota_before_name=True, lose_answer=LOST)
    world.submit("a")
    world.tick()
    for _ in range(2):
        world.now_s += VISIBLE_AFTER_S
        world.tick()
    assert read_ledger(world.table).attempts == ()
    given_up = world.table.get(GivenUpRecord.key("a"))
    assert given_up is not None
    assert GivenUpRecord.parse(given_up).job_name == "a"
    assert world.seen("a").job.attempt_count == 1


def test_a_launch_without_an_answer_that_its_own_tick_preempts_is_not_taken_for_never_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(pools={P5: 1})
    world.submit("low", 1)
    world.fleet.faults = world.fleet.faults.with_changes({"lose_answer": LOST})

    def meanwhile(*given: Any) -> None:
        """An important job comes while the tick is slow."""
        world.submit("high", 9)

    monkeypatch.setattr(PoolBackoff, "unanswered", meanwhile)
    report = world.tick()
    assert (report.started, report.preempted) == (["low"], ["low"])
    assert [each.job_name for each in read_ledger(world.table).attempts] == ["low"], "SageMaker runs it"
    world.check()
    monkeypatch.undo()
    world.now_s += INVOCATION_S + VISIBLE_AFTER_S
    world.tick()
    world.pass_time(600)
    assert world.states("high") == {"high": "running"}
    world.check()


def test_a_launch_without_an_answer_is_not_called_again_by_its_tick_when_the_back_off_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    world.submit("a")
    fail_once(world, "CreateTrainingJob", AwsError("ThrottlingException", "Rate exceeded"))
    world.tick()
    world.now_s += FIRST_BACK_OFF_S + 1
    # A second call would be refused, as the first one uses up the quota.
    world.fleet.faults = Faults(quota_before_name=True, quotas={P5: 1}, lose_answer=LOST)

    def busy(*given: Any) -> None:
        raise RetryLater("x")

    with monkeypatch.context() as patched:
        patched.setattr(PoolBackoff, "unanswered", busy)
        world.tick()
    assert world.called("CreateTrainingJob") == ["a", "a"], "one was throttled"
    world.check()
    world.now_s += INVOCATION_S + VISIBLE_AFTER_S
    world.tick()
    world.pass_time(600)
    assert world.states("a") == {"a": "running"}
    world.check()
