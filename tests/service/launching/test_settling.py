"""What settling one attempt does and answers: :class:`headway_service.launching.launcher.Launcher` by itself."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from headway.lifecycle import AttemptState
from headway.reasons import ReasonCode
from headway.refusals import Cause
from headway.refusals.probing import FIRST_RETRY_MS
from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.faults import Faults
from headway_service.errors import Conflict, OutcomeUnknown, RetryLater
from headway_service.launching.backoff import FIRST_BACK_OFF_S
from headway_service.launching.launcher import Launcher
from headway_service.launching.proofs import ASK_AGAIN_S
from headway_service.pools.operations import PoolOperations
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Delete
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger, read_pools
from headway_service.store.records.capacity.attempt import NOBODY, AttemptRecord, StopCause
from headway_service.store.records.job import JobRecord, request_key
from headway_service.store.repository import get_job
from tests.service.launching.test_launcher import fail_once
from tests.service.world import INVOCATION_S, P5, ROOT, World, on, request

LONGEST_BACK_OFF_S = 120

NO_ANSWER = AwsError("InternalFailure", "?", status=500)


@pytest.fixture
def world() -> World:
    return World()


def attempt(world: World) -> AttemptRecord:
    (only,) = read_ledger(world.table).attempts
    return only


def job(world: World, name: str = "a") -> JobRecord:
    return world.seen(name).job


def intended(world: World, name: str = "a") -> AttemptRecord:
    """The job has an intent to launch, whose lease has expired. No call is known to be unanswered."""
    world.submit(name)
    fail_once(world, "CreateTrainingJob", AwsError("ThrottlingException", "Rate exceeded"))
    world.tick()
    world.now_s += FIRST_BACK_OFF_S + 1
    return attempt(world)


def unanswered(world: World, *, made: bool, **changes: Any) -> AttemptRecord:
    """As :func:`intended`, but CreateTrainingJob got no answer."""
    world.submit("a", **changes)
    fail_once(world, "CreateTrainingJob", NO_ANSWER, after=made)
    world.tick()
    world.now_s += INVOCATION_S + 10
    return attempt(world)


def settle(world: World, launcher: Launcher | None = None) -> bool:
    return (launcher or world.launcher()).reconcile_intent(attempt(world), world.clock())


def with_unrecorded_launch(world: World, monkeypatch: pytest.MonkeyPatch) -> Launcher:
    """A launcher whose launch SageMaker has accepted, while the table took no write."""
    record, launcher = intended(world), world.launcher()
    launcher.lease(record)
    with monkeypatch.context() as patched:
        patched.setattr(world.table, "write", busy)
        with pytest.raises(RetryLater):
            settle(world, launcher)
    return launcher


def pause(world: World) -> None:
    PoolOperations(
        table=world.table, wake=world.wakes.append, clocks=world.clocks, configuration=world.configured
    ).pause(P5, "so it is", "ada")


def busy(writes: Any) -> None:
    raise RetryLater("x")


@pytest.mark.parametrize(
    ("changes", "backs_off", "due"),
    [
        ({"lease_holder": "me", "lease_until_ms": 1001}, False, True),
        ({"lease_until_ms": 999}, False, True),
        ({"lease_until_ms": 1000}, False, False),
        ({"lease_until_ms": 999, "lease_holder": NOBODY}, True, False),
        ({"lease_until_ms": 999}, True, True),
        ({"lease_until_ms": 999, "stop_cause": StopCause.REQUEST}, True, True),
        ({"attempt_state": AttemptState.STOPPING}, True, True),
        ({"attempt_state": AttemptState.STOPPING, "stop_sent_ms": 1}, False, False),
        ({"attempt_state": AttemptState.LIVE}, False, False),
    ],
    ids=[
        "its own launch",
        "the lease has passed",
        "the lease passes now",
        "a pool that backs off",
        "a launch without an answer in a pool that backs off, which is asked about",
        "a launch that has to stop in a pool that backs off",
        "a stop in a pool that backs off",
        "a stop that was sent",
        "nothing to do",
    ],
)
def test_an_attempt_is_due_if_this_invocation_may_act_on_it(
    world: World, changes: dict[str, Any], backs_off: bool, due: bool
) -> None:
    world.submit("a")
    world.tick()
    usual = {"attempt_state": AttemptState.LAUNCHING, "lease_holder": "another"}
    record = attempt(world).model_copy(update={**usual, **changes})
    clocks = Clocks(training_ms=world.clock, machine_ms=lambda: 1000)
    launcher = world.launcher(replace(world.invocation(), clocks=clocks, holder="me"))
    if backs_off:
        launcher.backoff.begin({P5: 1}, OutcomeUnknown("x"), 1000)
    assert launcher.pending(record) is due


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({}, True),
        ({"stop_cause": StopCause.REQUEST}, False),
        ({"attempt_state": AttemptState.STOPPING}, False),
        ({"attempt_state": AttemptState.LIVE}, False),
    ],
    ids=["a launch", "a launch that has to stop", "a stop", "nothing to do"],
)
def test_sagemaker_is_called_only_to_launch(world: World, changes: dict[str, Any], needed: bool) -> None:
    record = intended(world).model_copy(update=changes)
    assert world.launcher().needs_call(record) is needed


def test_a_launch_is_executed_as_decided_and_recorded_at_its_start(world: World) -> None:
    intended(world)
    assert settle(world) is False, "a row is over, so another decision follows"
    found = attempt(world)
    assert (found.attempt_state, found.training_job_status, found.secondary_status) == (
        "live",
        "InProgress",
        "Starting",
    )


def test_an_unrecorded_launch_is_not_repeated_but_described(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    record, invocation = intended(world), world.invocation()
    launcher = world.launcher(invocation)
    held = record.model_copy(update={"lease_holder": invocation.holder})
    with monkeypatch.context() as patched:
        patched.setattr(world.table, "write", busy)
        with pytest.raises(RetryLater):
            launcher.reconcile_intent(held, world.clock())
    assert launcher.reconcile_intent(held, world.clock()) is False, "a row is over, so another decision follows"
    assert [pool.backoff_since_ms for pool in read_ledger(world.table).pools if pool.pool == P5] == [0]
    assert (world.called("CreateTrainingJob"), world.called("DescribeTrainingJob")) == (["a", "a"], ["a"])
    assert attempt(world).training_job_status == "InProgress"


@pytest.mark.parametrize("ended", [False, True])
def test_a_launch_with_a_changed_attempt_is_executed_as_decided_unless_it_has_ended(world: World, ended: bool) -> None:
    intended(world)
    create = world.training_jobs.create

    def create_meanwhile(request: Any) -> None:
        create(request)
        # An event of its name, which only changes the version.
        record = attempt(world)
        world.table.write([record.model_copy(update={"version": record.version + 1}).put(was=record.version)])
        if ended:
            world.fleet.finish("a", now=world.now_s)

    world.training_jobs.create = create_meanwhile  # type: ignore[method-assign]
    assert settle(world) is False
    assert world.states("a") == {"a": "completed" if ended else "running"}


@pytest.mark.parametrize(
    ("stopped", "code", "state", "by"),
    [(True, "Stopped", "stopped", " by root"), (False, "ReturnedToLine", "preempted", "")],
    ids=["its user stopped it", "it was preempted"],
)
def test_an_unmade_launch_that_has_to_stop_is_abandoned(
    world: World, stopped: bool, code: str, state: str, by: str
) -> None:
    world.submit("a", ResourceConfig=on(2))
    fail_once(world, "CreateTrainingJob", NO_ANSWER)
    world.tick()
    world.now_s += FIRST_BACK_OFF_S + 1
    if stopped:
        world.commands.stop("a", ROOT)
    else:
        (pool,) = [each for each in read_pools(world.table) if each.pool == P5]
        world.table.write(transitions.back_off(pool.model_copy(update={"backoff_since_ms": 0})))
        world.submit("b", 5)
        world.tick()
    world.now_s += INVOCATION_S + 10 + VISIBLE_AFTER_S
    assert settle(world) is False
    found = job(world)
    assert (str(found.job_state), found.reason.code, found.reason.message) == (
        state,
        code,
        f"stopped{by} before SageMaker launched it",
    )


def test_an_unmade_launch_that_has_to_stop_is_not_described(world: World) -> None:
    intended(world)
    world.commands.stop("a", ROOT)
    assert settle(world) is False
    assert world.called("DescribeTrainingJob") == []
    assert world.states("a") == {"a": "stopped"}


@pytest.mark.parametrize("made", [False, True])
def test_a_launch_in_a_paused_pool_is_settled_without_a_retry(world: World, made: bool) -> None:
    unanswered(world, made=made)
    pause(world)
    world.now_s += VISIBLE_AFTER_S
    assert settle(world) is False
    assert world.states("a") == {"a": "running" if made else "pending"}
    if not made:
        assert job(world).reason.message == (
            "its pool was paused before SageMaker launched it; waits again in its old place in the queue"
        )
        assert job(world).not_before_ms == 0


@pytest.mark.parametrize(
    ("faults", "shown"),
    [(Faults(describe_lag_s=10_000), "not found"), (Faults(tags_lag_s=10_000), "shown without its tags")],
    ids=["it is not shown", "its tags are not shown"],
)
def test_a_launch_that_may_become_visible_is_described_again_soon(world: World, faults: Faults, shown: str) -> None:
    unanswered(world, made=True)
    world.fleet.faults = faults
    world.commands.stop("a", ROOT)
    with pytest.raises(OutcomeUnknown, match=f"^`a` is {shown}; SageMaker may have launched it$"):
        settle(world)
    record = attempt(world)
    assert (record.lease_holder, record.lease_until_ms) == (NOBODY, world.clock() + ASK_AGAIN_S * 1000)


def test_a_name_in_use_with_an_invisible_training_job_proves_nothing(world: World) -> None:
    intended(world)
    world.fleet.create(request("a"), now=world.now_s)
    world.fleet.faults = Faults(describe_lag_s=10_000)
    with pytest.raises(OutcomeUnknown, match=r"^`a` is not found; SageMaker may have launched it$"):
        settle(world)
    assert world.states("a") == {"a": "running"}


def test_a_lost_launch_that_is_stopping_is_described_again_soon(world: World) -> None:
    record = intended(world)
    tags = [{"Key": JOB_TAG, "Value": "a"}, {"Key": ATTEMPT_TAG, "Value": record.mark}]
    world.fleet.create(request("a", Tags=tags), now=world.now_s)
    world.fleet.advance(world.now_s + 200)
    world.now_s += 200
    world.fleet.stop("a", now=world.now_s)
    with pytest.raises(OutcomeUnknown, match=r"^`a` was launched before, and is stopping$"):
        settle(world)
    found = attempt(world)
    assert (found.lease_holder, found.lease_until_ms) == (NOBODY, world.clock() + ASK_AGAIN_S * 1000)


@pytest.mark.parametrize(
    ("error", "wait_s"),
    [("ResourceInUse", 0), ("ResourceLimitExceeded", FIRST_RETRY_MS // 1000)],
    ids=["name", "quota"],
)
def test_a_requeued_job_has_a_delay_only_if_sagemaker_cannot_launch_it_now(
    world: World, error: str, wait_s: int
) -> None:
    intended(world)
    if wait_s:
        fail_once(world, "CreateTrainingJob", AwsError(error, "x"))
    else:
        world.fleet.create(request("a"), now=world.now_s)
    assert settle(world) is False
    assert job(world).waiting().not_before_ms == (world.clock() + wait_s * 1000 if wait_s else 0)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (None, "launched"),
        (AwsError("ResourceLimitExceeded", "x"), "launch postponed"),
        (AwsError("ValidationException", "x"), "launch refused"),
        (NO_ANSWER, "launch unclear; the intent stays"),
    ],
    ids=["launched", "postponed", "refused", "unclear"],
)
def test_the_outcome_of_a_launch_is_logged_with_its_job_and_attempt(
    world: World, error: AwsError | None, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    intended(world)
    if error is not None:
        fail_once(world, "CreateTrainingJob", error)
    with suppress(OutcomeUnknown):
        settle(world)
    (logged,) = (vars(each) for each in caplog.records if each.message == line)
    assert (logged["job"], logged["attempt"]) == ("a", "a")


def test_an_unrecorded_launch_of_a_job_that_is_stopped_meanwhile_is_stopped_at_sagemaker(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = with_unrecorded_launch(world, monkeypatch)
    world.commands.stop("a", ROOT)
    settle(world, launcher)
    assert (world.called("StopTrainingJob"), world.states("a")) == (["a"], {"a": "stopping"})


def test_an_unrecorded_launch_in_a_pool_that_is_paused_meanwhile_is_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = with_unrecorded_launch(world, monkeypatch)
    pause(world)
    launcher.update(read_ledger(world.table))
    settle(world, launcher)
    assert attempt(world).attempt_state is AttemptState.LIVE


def test_a_refusal_that_could_not_be_recorded_is_recorded_with_the_next_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    unanswered(world, made=False)
    world.now_s += LONGEST_BACK_OFF_S
    launcher = world.launcher()
    launcher.lease(attempt(world))
    fail_once(world, "CreateTrainingJob", AwsError("AccessDeniedException", "no"))
    world.fleet.faults = Faults(describe_lag_s=10_000)
    with monkeypatch.context() as patched:
        patched.setattr(world.table, "write", busy)
        with pytest.raises(RetryLater):
            settle(world, launcher)
    assert attempt(world).refused is None
    fail_once(world, "CreateTrainingJob", AwsError("ThrottlingException", "Rate exceeded"))
    with pytest.raises(OutcomeUnknown):
        settle(world, launcher)
    refused = attempt(world).refused
    assert refused is not None
    assert refused.value().cause is Cause.DENIED


def stopping(world: World) -> AttemptRecord:
    """An attempt trains and has to stop; SageMaker was not called yet."""
    world.submit("a")
    world.tick()
    world.pass_time(300)
    world.commands.stop("a", ROOT)
    return attempt(world)


def test_a_stop_accepted_by_sagemaker_is_executed_as_decided(world: World) -> None:
    stopping(world)
    assert settle(world) is True
    assert attempt(world).stop_sent_ms == world.clock()


def test_a_stop_of_an_ended_attempt_is_not_executed_as_decided(world: World) -> None:
    stopping(world)
    world.fleet.finish("a", now=world.now_s)
    assert settle(world) is False
    assert world.states("a") == {"a": "completed"}


def test_a_stop_of_an_attempt_with_a_processed_end_is_not_executed_as_decided(world: World) -> None:
    record, launcher = stopping(world), world.launcher()
    world.fleet.finish("a", now=world.now_s)
    world.pass_time(1, tick=False)
    assert read_ledger(world.table).attempts == ()
    assert launcher.reconcile_intent(record, world.clock()) is False


def test_a_stop_of_an_invisible_training_job_is_not_recorded(world: World) -> None:
    stopping(world)
    world.fleet.faults = Faults(describe_lag_s=10_000)
    with pytest.raises(OutcomeUnknown, match=r"^StopTrainingJob of `a` was refused: .*not found"):
        settle(world)
    assert attempt(world).stop_sent_ms is None


def test_a_job_whose_request_is_missing_from_the_table_waits_as_if_it_was_refused(world: World) -> None:
    intended(world)
    world.table.write([Delete(key=request_key("a"))])
    settle(world)
    job = get_job(world.table, "a")
    assert (job.job_state, job.reason.code) == ("pending", ReasonCode.LAUNCH_POSTPONED)
    assert "RequestMissing: its request is missing from the table of the queue" in job.reason.message
    assert world.called("CreateTrainingJob") == ["a"], "the one that was throttled"


def test_an_attempt_that_runs_is_found_although_its_request_is_missing(world: World) -> None:
    unanswered(world, made=True)
    world.table.write([Delete(key=request_key("a"))])
    settle(world)
    assert attempt(world).attempt_state == "live"
    assert world.called("CreateTrainingJob") == ["a"]


def test_a_job_changed_during_a_failed_launch_is_a_conflict(world: World) -> None:
    intended(world)
    create = world.training_jobs.create

    def stop_meanwhile(request: Any) -> None:
        world.commands.stop("a", ROOT)
        fail_once(world, "CreateTrainingJob", AwsError("ResourceLimitExceeded", "x"))
        create(request)

    world.training_jobs.create = stop_meanwhile  # type: ignore[method-assign]
    with pytest.raises(Conflict):
        settle(world)
    assert world.states("a") == {"a": "stopping"}
