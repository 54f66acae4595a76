"""Launching and stopping when SageMaker, the network or the function itself fails in between."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from headway_sandbox.errors import AwsError
from headway_service.errors import OutcomeUnknown
from headway_service.launching.backoff import FIRST_BACK_OFF_S
from headway_service.launching.proofs import CLOCKS_MS
from headway_service.ports.table import Write
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger, read_pools
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord
from headway_service.tracking.observer import StatusOutcome
from tests.service.world import INVOCATION_S, P5, ROOT, World, on, request


@pytest.fixture
def world() -> World:
    return World()


class Crash(BaseException):
    """The function process is gone."""


def fail_once(world: World, operation: str, error: AwsError, *, after: bool = False) -> None:
    """Let the next call of an operation fail, before or after it had its effect."""
    real: Callable[..., Any] = world.fleet.call

    def call(name: str, body: Mapping[str, Any], *, now: float) -> Any:
        if name != operation:
            return real(name, body, now=now)
        world.fleet.call = real  # type: ignore[method-assign]
        if after:
            real(name, body, now=now)
        raise error

    world.fleet.call = call  # type: ignore[method-assign,assignment]


def next_invocation(world: World) -> None:
    """Let the lease of a dead invocation pass, and tick again."""
    world.now_s += INVOCATION_S + 10
    world.tick()
    world.check()


def attempt(world: World) -> AttemptRecord:
    (only,) = read_ledger(world.table).attempts
    return only


def test_an_exhausted_quota_postpones_the_job_and_keeps_its_place_and_name(world: World) -> None:
    world.submit("a")
    fail_once(world, "CreateTrainingJob", AwsError("ResourceLimitExceeded", "the account-level limit is 0"))
    world.tick()
    world.check()
    seen = world.seen("a")
    assert (str(seen.job.job_state), seen.place, str(seen.reason.code)) == ("pending", 1, "BacksOff")
    assert "account-level limit" in seen.job.reason.message
    world.now_s += 61
    world.tick()
    assert world.called("CreateTrainingJob") == ["a", "a"]
    assert world.states("a") == {"a": "running"}


def test_a_request_refused_by_sagemaker_fails_with_its_message(world: World) -> None:
    world.submit("a")
    fail_once(world, "CreateTrainingJob", AwsError("ValidationException", "no such bucket"))
    world.tick()
    world.check()
    seen = world.seen("a")
    assert str(seen.job.job_state) == "failed"
    assert "no such bucket" in seen.reason.message


def test_a_role_that_the_queue_may_not_pass_fails_the_job(world: World) -> None:
    world.submit("a")
    denied = AwsError("AccessDeniedException", "not authorized to perform: iam:PassRole on resource: x")
    fail_once(world, "CreateTrainingJob", denied)
    world.tick()
    assert world.states("a") == {"a": "failed"}


def test_a_missing_permission_of_the_queue_fails_no_job(world: World) -> None:
    world.submit("a")
    denied = AwsError("AccessDeniedException", "not authorized to perform: sagemaker:CreateTrainingJob")
    fail_once(world, "CreateTrainingJob", denied)
    world.tick()
    assert world.states("a") == {"a": "pending"}


def test_a_throttled_launch_is_retried_by_the_next_tick(world: World) -> None:
    world.submit("a")
    fail_once(world, "CreateTrainingJob", AwsError("ThrottlingException", "Rate exceeded"))
    report = world.tick()
    assert report.unclear == 1
    world.check()
    world.now_s += FIRST_BACK_OFF_S + 1
    world.tick()
    assert attempt(world).attempt_state == "live"


@pytest.mark.parametrize("after", [False, True], ids=["before it had an effect", "after it had its effect"])
def test_a_launch_without_an_answer_is_settled_by_a_later_tick_and_happens_once(world: World, after: bool) -> None:
    world.submit("a")
    fail_once(world, "CreateTrainingJob", AwsError("InternalFailure", "?", status=500), after=after)
    world.tick()
    world.check()
    assert attempt(world).attempt_state == "launching"
    world.now_s += 1
    world.tick()
    assert world.called("CreateTrainingJob") == ["a"], "nobody may touch a launch while its lease runs"
    next_invocation(world)
    assert attempt(world).attempt_state == "live"
    assert len(world.fleet.jobs(now=world.now_s)) == 1


def test_a_launch_after_one_without_an_answer_ignores_the_late_end_of_the_training_job_of_that(world: World) -> None:
    world.submit("a")
    fail_once(world, "CreateTrainingJob", AwsError("InternalFailure", "?", status=500), after=True)
    world.tick()
    world.fleet.finish("a", now=world.now_s)
    late = list(world.due_events(60))[-1]
    assert late["TrainingJobStatus"] == "Completed"
    world.fleet.delete("a", now=world.now_s)
    next_invocation(world)
    assert world.called("CreateTrainingJob") == ["a", "a"]
    world.on_event(late)
    assert world.states("a") == {"a": "running"}
    world.check()


@pytest.mark.parametrize("stops", [False, True], ids=["without a change meanwhile", "stopped meanwhile"])
def test_an_accepted_launch_records_when_its_training_job_was_created_at_the_earliest(
    world: World, monkeypatch: pytest.MonkeyPatch, stops: bool
) -> None:
    world.submit("a")
    began_ms = world.clock()
    create = world.training_jobs.create

    def create_late(asked: Mapping[str, Any]) -> None:
        create(asked)
        world.now_s += 3
        if stops:
            world.commands.stop("a", ROOT)

    monkeypatch.setattr(world.training_jobs, "create", create_late)
    world.tick()
    assert attempt(world).created_from_ms == began_ms - CLOCKS_MS


def test_a_launch_by_an_earlier_call_may_have_been_created_at_any_time(world: World) -> None:
    world.submit("a")
    fail_once(world, "CreateTrainingJob", AwsError("InternalFailure", "?", status=500), after=True)
    world.tick()
    next_invocation(world)
    assert (attempt(world).attempt_state, attempt(world).created_from_ms) == ("live", 0)


def test_a_launch_that_ended_before_its_start_was_observed_is_found_ended(world: World) -> None:
    world.submit("a")
    fail_once(world, "CreateTrainingJob", AwsError("InternalFailure", "?", status=500), after=True)
    world.tick()
    world.fleet.finish("a", now=world.now_s)
    world.pass_time(60)
    assert world.states("a") == {"a": "running"}, "an event may be somebody else's while the launch is not settled"
    world.tick()
    assert world.states("a") == {"a": "completed"}
    world.check()


def test_a_name_in_use_by_another_job_makes_the_next_attempt_use_another(world: World) -> None:
    world.fleet.create(request("a"), now=world.now_s)
    world.submit("a")
    world.tick()
    world.tick()
    assert world.states("a") == {"a": "running"}
    assert attempt(world).attempt_name.startswith("a-")
    assert "NameTaken" in {str(step.reason.code) for step in world.seen("a").job.history}
    world.fleet.finish("a", now=world.now_s)
    world.pass_time(1)
    assert world.states("a") == {"a": "running"}, "the end of somebody else's job is not ours"


def test_a_job_stopped_before_its_launch_was_settled_never_runs(world: World) -> None:
    world.submit("a")
    fail_once(world, "CreateTrainingJob", AwsError("InternalFailure", "?", status=500))
    world.tick()
    world.commands.stop("a", ROOT)
    next_invocation(world)
    assert world.states("a") == {"a": "stopping"}, "SageMaker may have launched it, and not show it yet"
    world.now_s += VISIBLE_AFTER_S
    next_invocation(world)
    assert world.states("a") == {"a": "stopped"}
    assert world.fleet.jobs(now=world.now_s) == []


def test_a_job_stopped_after_a_launch_without_an_answer_is_stopped_in_sagemaker_too(world: World) -> None:
    world.submit("a")
    fail_once(world, "CreateTrainingJob", AwsError("InternalFailure", "?", status=500), after=True)
    world.tick()
    world.commands.stop("a", ROOT)
    next_invocation(world)
    assert world.called("StopTrainingJob") == ["a"]
    world.pass_time(130)
    assert world.states("a") == {"a": "stopped"}
    world.check()


def test_a_job_preempted_before_its_launch_was_settled_is_requeued(world: World) -> None:
    world.submit("a", 1, ResourceConfig=on(2))
    fail_once(world, "CreateTrainingJob", AwsError("InternalFailure", "?", status=500))
    world.tick()
    (pool,) = [each for each in read_pools(world.table) if each.pool == P5]
    world.table.write(transitions.back_off(pool.model_copy(update={"backoff_since_ms": 0})))
    world.now_s += FIRST_BACK_OFF_S + 1
    world.submit("b", 5, ResourceConfig=on(2))
    world.tick()
    assert world.states("a") == {"a": "stopping"}
    world.now_s += VISIBLE_AFTER_S
    next_invocation(world)
    assert world.states("a", "b") == {"a": "preempted", "b": "running"}
    assert world.called("CreateTrainingJob") == ["a", "b"]


def test_a_stop_without_an_answer_is_sent_again(world: World) -> None:
    world.submit("a", 1, ResourceConfig=on(2))
    world.tick()
    world.pass_time(300)
    world.submit("b", 5)
    fail_once(world, "StopTrainingJob", AwsError("ServiceUnavailable", "?", status=503))
    assert world.tick().unclear == 1
    world.tick()
    world.pass_time(130)
    world.check()
    assert world.states("a", "b") == {"a": "preempted", "b": "running"}


def test_a_job_that_ended_just_before_the_stop_is_found_ended(world: World) -> None:
    world.submit("a", 1, ResourceConfig=on(2))
    world.tick()
    world.fleet.finish("a", now=world.now_s)
    world.submit("b", 5)
    world.tick()
    world.tick()
    world.check()
    assert world.states("a", "b") == {"a": "completed", "b": "running"}


def test_a_job_that_is_already_stopping_is_awaited(world: World) -> None:
    world.submit("a", 1, ResourceConfig=on(2))
    world.tick()
    world.pass_time(300)
    world.fleet.stop("a", now=world.now_s)
    world.submit("b", 5)
    world.tick()
    world.tick()
    assert world.called("StopTrainingJob") == ["a"], "asked once by the queue, and refused"
    world.pass_time(130)
    world.check()
    assert world.states("a", "b") == {"a": "preempted", "b": "running"}


def test_every_launch_has_the_request_the_job_and_a_unique_mark(world: World) -> None:
    world.submit("a", 4, Environment={"X": "y", "SANDBOX_RUN_SECONDS": "60"})
    world.tick()
    _, sent = next(call for call in world.calls if call[0] == "CreateTrainingJob")
    tags = {tag["Key"]: tag["Value"] for tag in sent["Tags"]}
    assert tags == {"priority": "4", "headway:job": "a", "headway:attempt": attempt(world).mark}
    assert sent["Environment"]["X"] == "y"


def test_a_job_is_launched_without_its_requested_warm_pool_and_reports_it(world: World) -> None:
    asked = {**on(1), "KeepAlivePeriodInSeconds": 600}
    world.submit("a", ResourceConfig=asked)
    seen, _, shown, *_ = world.queries.show("a", ROOT)
    assert shown.request["ResourceConfig"] == asked, "the request stays as it was submitted"
    assert seen.job.history[0].reason.message == (
        "entered the queue for 1 ml.p5.48xlarge; runs without the warm pool that it asks for (KeepAlivePeriodInSeconds)"
    )
    world.tick()
    _, sent = next(call for call in world.calls if call[0] == "CreateTrainingJob")
    assert sent["ResourceConfig"] == on(1)


@pytest.mark.parametrize(("operation", "method"), [("DescribeTrainingJob", "describe"), ("StopTrainingJob", "stop")])
def test_a_throttled_read_is_unclear(world: World, operation: str, method: str) -> None:
    fail_once(world, operation, AwsError("ThrottlingException", "Rate exceeded"))
    with pytest.raises(OutcomeUnknown):
        getattr(world.training_jobs, method)("a")


def test_a_missing_training_job_is_none(world: World) -> None:
    assert world.training_jobs.describe("a") is None


# ----------------------------------------------------------------------------------------------- crash points


class CrashingTable:
    """A table whose n-th write kills the process, just before or just after it happens."""

    def __init__(self, table: Any, at: int, *, after: bool) -> None:
        self._table = table
        self._left = at
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def write(self, writes: list[Write]) -> None:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Crash
        self._table.write(writes)
        if self._left == 0:
            raise Crash


def play(world: World) -> None:
    """The preemption story with enough time for everything to end."""
    world.submit("low", 1, ResourceConfig=on(2))
    world.tick()
    world.pass_time(300)
    world.submit("high", 5)
    world.tick()
    world.submit("more", 1)
    world.commands.stop("more", ROOT)
    world.pass_time(130)


def count_writes() -> int:
    world = World()
    counted = CrashingTable(world.table, at=0, after=False)
    install(world, counted)
    play(world)
    return -counted._left


def install(world: World, table: Any) -> None:
    world.table = table
    world.observer._table = table
    world.submitter._table = table
    world.commands._table = table
    world.queries._table = table


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, count_writes() + 1))
def test_a_crash_at_any_write_neither_loses_nor_duplicates_a_job(at: int, after: bool) -> None:
    world = World()
    healthy = world.table
    install(world, CrashingTable(healthy, at, after=after))
    with contextlib.suppress(Crash):
        play(world)
    accepted = {name for name in ("low", "high", "more") if healthy.get(JobRecord.key(name)) is not None}
    install(world, healthy)
    # Time passes: the reconciler runs once a minute, the scheduler after it.
    for _ in range(60):
        world.now_s += 60
        world.pass_time(0)
        world.reconcile(after_s=120)
        world.tick()
        world.check()
    states = world.states(*accepted)
    assert all(state in {"completed", "stopped"} for state in states.values()), states
    assert not read_ledger(world.table).attempts
    launched = world.called("CreateTrainingJob")
    created = [job.name for job in world.fleet.jobs(now=world.now_s)]
    assert len(created) == len(set(created))
    assert set(created) <= set(launched)


def test_an_end_event_before_the_settlement_of_its_launch_is_found_by_the_same_tick(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.submit("a")
    create = world.training_jobs.create

    def create_and_end(asked: Mapping[str, Any]) -> None:
        create(asked)
        world.fleet.finish("a", now=world.now_s)
        world.pass_time(5, tick=False)

    monkeypatch.setattr(world.training_jobs, "create", create_and_end)
    world.tick()
    assert world.states("a") == {"a": "completed"}
    assert len(world.fleet.jobs(now=world.now_s)) == 1
    world.check()


def test_an_end_event_during_the_settlement_of_its_launch_is_processed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.submit("a")
    world.tick()
    live = attempt(world)
    launching = live.model_copy(update={"attempt_state": "launching", "version": live.version - 1})
    shown = iter([launching])
    look = world.observer._attempt
    monkeypatch.setattr(world.observer, "_attempt", lambda name: next(shown, None) or look(name))
    ended = TrainingJobStatus(attempt="a", status="Completed", secondary_status="Completed", modified_ms=world.clock())
    assert world.observer.apply_status(ended, world.clock()) is StatusOutcome.TICK_DUE
    assert world.states("a") == {"a": "completed"}


def test_a_status_during_a_launch_is_left_to_its_settlement(world: World) -> None:
    world.submit("a")
    fail_once(world, "CreateTrainingJob", AwsError("InternalFailure", "?", status=500))
    world.tick()
    strange = TrainingJobStatus(
        attempt="a", status="Completed", secondary_status="Completed", modified_ms=world.clock()
    )
    assert world.observer.apply_status(strange, world.clock()) is StatusOutcome.NOT_OURS
    assert world.states("a") == {"a": "running"}
