"""What one sighting of an attempt does and answers: :class:`headway_service.tracking.observer.Observer` by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway.lifecycle import AttemptState, JobState, JobTrigger
from headway.reasons import Reason, ReasonCode
from headway_service.config.document import DEFAULT_TEAM
from headway_service.errors import Conflict, RetryLater
from headway_service.ports.table import Delete, Put
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store.records.capacity.attempt import AttemptRecord, GivenUpRecord, StopCause
from headway_service.store.records.capacity.ledger import ReservationRecord
from headway_service.store.records.job import EndedAttempt, JobRecord, request_item, request_key
from headway_service.store.records.listed_job import Usage
from headway_service.store.repository import MAX_TRIES
from headway_service.tracking.ends import End
from headway_service.tracking.observer import StatusOutcome
from tests.service.world import DAY_S, P5, World, on, request

INTERNAL = "InternalServerError: We encountered an internal error."
CODE = "AlgorithmError: exit code 1"
TRAINS = {"secondary_status": "Training", "training_since_ms": 5}
STARTED = {"training_job_status": "InProgress", "secondary_status": "Starting"}


@pytest.fixture
def world() -> World:
    """Job ``a`` has an attempt that starts; there was no event, and a minute has passed."""
    world = World()
    world.submit("a")
    world.tick()
    world.now_s += 60
    return world


def found(world: World) -> AttemptRecord:
    item = world.table.get(AttemptRecord.key("a"))
    assert item is not None
    return AttemptRecord.parse(item)


def job(world: World) -> JobRecord:
    return world.seen("a").job


def change(world: World, **changes: Any) -> AttemptRecord:
    """The attempt as it is stored with these changes. If it has a cause to stop, its job is stopping."""
    record = found(world)
    changed = record.model_copy(update=changes)
    world.table.write([Put(item=changed.put().item)])
    if changed.stop_cause is not None:
        world.table.write([Put(item=job(world).model_copy(update={"job_state": JobState.STOPPING}).put().item)])
    return changed


def change_job(world: World, **changes: Any) -> None:
    world.table.write([Put(item=job(world).model_copy(update=changes).put().item)])


def seen(
    world: World, status: str = "InProgress", secondary_status: str = "Training", **more: Any
) -> TrainingJobStatus:
    more = {"modified_ms": world.clock(), **more}
    return TrainingJobStatus(attempt="a", status=status, secondary_status=secondary_status, **more)


IGNORED, RECORDED = StatusOutcome.IGNORED, StatusOutcome.RECORDED
TICK_DUE, NOT_OURS = StatusOutcome.TICK_DUE, StatusOutcome.NOT_OURS


def take(world: World, sighting: TrainingJobStatus, *, asked: bool = False) -> StatusOutcome:
    return world.observer.apply_status(sighting, world.clock(), asked=asked)


def configure(world: World, **more: Any) -> None:
    world.configuration.write({"pools": {P5: {"size": 2}}, **more})
    world.tick()


def test_a_training_job_without_an_attempt_is_unknown(world: World) -> None:
    stranger = TrainingJobStatus(attempt="b", status="Completed", secondary_status="", modified_ms=1)
    assert take(world, stranger) is NOT_OURS


@pytest.mark.parametrize(("status", "noted"), [("InProgress", False), ("Completed", True)])
def test_only_the_ended_name_of_a_launch_is_recorded(world: World, status: str, noted: bool) -> None:
    before = change(world, attempt_state=AttemptState.LAUNCHING, seen_ms=1)
    assert take(world, seen(world, status)) is NOT_OURS
    after = found(world)
    assert after.attempt_state is AttemptState.LAUNCHING
    assert (after.version, after.seen_ms) == ((before.version + 1, world.clock()) if noted else (before.version, 1))


def test_a_launch_settled_while_its_end_is_recorded_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    launching = change(world, attempt_state=AttemptState.LAUNCHING)
    write = world.table.write

    def settle_first(writes: Any) -> None:
        monkeypatch.undo()
        live = {"attempt_state": AttemptState.LIVE, "version": launching.version + 1}
        write([launching.model_copy(update=live).put(was=launching.version)])
        write(writes)

    monkeypatch.setattr(world.table, "write", settle_first)
    assert take(world, seen(world, "Completed")) is TICK_DUE
    assert world.states("a") == {"a": "completed"}


@pytest.mark.parametrize("asked", [False, True], ids=["in an event", "in a response"])
@pytest.mark.parametrize(
    ("created_ms", "outcome"),
    [(99, IGNORED), (100, TICK_DUE), (None, TICK_DUE)],
    ids=["of a deleted one", "of this one", "of one that does not show it"],
)
def test_the_end_of_an_earlier_training_job_with_the_name_of_an_attempt_changes_nothing(
    world: World, created_ms: int | None, outcome: StatusOutcome, asked: bool
) -> None:
    change(world, created_from_ms=100)
    assert take(world, seen(world, "Stopped", created_ms=created_ms), asked=asked) is outcome


@pytest.mark.parametrize(("asked", "noted"), [(False, False), (True, True)])
def test_an_unchanged_status_is_recorded_only_if_it_was_requested(world: World, asked: bool, noted: bool) -> None:
    before = change(world, ruled=True, modified_ms=world.clock(), **STARTED)
    assert take(world, seen(world, secondary_status="Starting"), asked=asked) is (RECORDED if noted else IGNORED)
    assert (found(world).seen_ms == world.clock()) is noted
    assert found(world).version == before.version + noted


@pytest.mark.parametrize(
    ("known", "said", "news"),
    [
        ({}, {"modified_ms": 10}, False),
        ({}, {"modified_ms": 11}, False),
        ({}, {"modified_ms": 11, "secondary_status": "Downloading"}, False),
        ({}, {"modified_ms": 11, "secondary_status": "Training"}, True),
        ({}, {"modified_ms": 10, "secondary_status": "Training"}, False),
        ({}, {"modified_ms": 11, "status": "Stopping"}, True),
        ({}, {"modified_ms": 11, "training_since_ms": 5}, True),
        ({}, {"modified_ms": 11, "interruptions": 1}, True),
        ({"interruptions": 1}, {"modified_ms": 11, "interruptions": 1}, False),
        (TRAINS, {"modified_ms": 11, "secondary_status": "Interrupted"}, True),
        ({"ruled": False}, {"modified_ms": 11}, True),
        ({"ruled": False, "stop_cause": StopCause.REQUEST}, {"modified_ms": 11}, False),
    ],
    ids=[
        "the same",
        "the same, later",
        "another step of its start",
        "it trains",
        "it trains, but that is older",
        "another status",
        "since when it trains",
        "it was interrupted",
        "it was interrupted before",
        "it does not train any more",
        "the rules were not looked at",
        "the rules were not looked at, and it stops anyway",
    ],
)
def test_only_changes_are_written(world: World, known: dict[str, Any], said: dict[str, Any], news: bool) -> None:
    before = change(world, **{"ruled": True, "modified_ms": 10, **STARTED, **known})
    assert take(world, seen(world, **{"secondary_status": "Starting", **said})) is (RECORDED if news else IGNORED)
    assert found(world).version == before.version + news


@pytest.mark.parametrize("conflicts", [MAX_TRIES - 1, MAX_TRIES])
def test_a_conflicting_change_has_a_limited_number_of_retries(
    world: World, monkeypatch: pytest.MonkeyPatch, conflicts: int
) -> None:
    write, left = world.table.write, [None] * conflicts

    def meet(writes: Any) -> None:
        if left:
            left.pop()
            raise Conflict([0])
        write(writes)

    monkeypatch.setattr(world.table, "write", meet)
    if conflicts < MAX_TRIES:
        assert take(world, seen(world, "Completed")) is TICK_DUE
    else:
        with pytest.raises(RetryLater, match=r"^`a` keeps changing; take the event again$"):
            take(world, seen(world, "Completed"))


@pytest.mark.parametrize(("status", "due"), [("InProgress", False), ("Completed", True)])
def test_an_answer_of_sagemaker_is_accepted_and_recorded(world: World, status: str, due: bool) -> None:
    change(world, ruled=True, seen_ms=1, modified_ms=world.clock() * 2, **STARTED)
    if due:
        world.fleet.finish("a", now=world.now_s)
    outcome = world.observer.refresh("a", world.training_jobs, world.clock())
    assert outcome is (TICK_DUE if due else RECORDED)
    if not due:
        assert found(world).seen_ms == world.clock()


@pytest.mark.parametrize("launching", [False, True])
def test_a_missing_training_job_without_an_attempt_changes_nothing(world: World, launching: bool) -> None:
    world.fleet.finish("a", now=world.now_s)
    world.fleet.delete("a", now=world.now_s)
    name = "a" if launching else "b"
    if launching:
        change(world, attempt_state=AttemptState.LAUNCHING, missing_since_ms=1)
    assert world.observer.refresh(name, world.training_jobs, world.clock()) is NOT_OURS
    assert world.states("a") == {"a": "running"}
    assert world.table.get(AttemptRecord.key("a")) is not None


def test_an_attempt_that_is_not_found_has_vanished_once_that_is_proven(world: World) -> None:
    world.fleet.finish("a", now=world.now_s)
    world.fleet.delete("a", now=world.now_s)
    first_ms = world.clock()
    assert world.observer.refresh("a", world.training_jobs, world.clock()) is RECORDED
    assert found(world).missing_since_ms == first_ms
    world.now_s += VISIBLE_AFTER_S - 1
    assert world.observer.refresh("a", world.training_jobs, world.clock()) is IGNORED
    assert found(world).missing_since_ms == first_ms
    world.now_s += 1
    assert world.observer.refresh("a", world.training_jobs, world.clock()) is TICK_DUE
    ended = job(world)
    assert (str(ended.job_state), ended.reason.code, ended.reason.message) == (
        "failed",
        "Vanished",
        "the training job `a` was deleted outside the queue, so how it ended is not known",
    )
    (last,) = ended.attempts
    assert (last.training_job_status, last.secondary_status, last.failure_reason) == ("Deleting", "", None)
    assert world.table.get(AttemptRecord.key("a")) is None
    assert world.table.get(GivenUpRecord.key("a")) is not None, "should SageMaker show it after all, it is known"


@pytest.mark.parametrize(
    ("attempt", "said", "state", "code", "message"),
    [
        ({}, {"status": "Completed"}, "completed", "Completed", "completed"),
        ({}, {"status": "Completed", "secondary_status": "MaxRuntimeExceeded"}, "completed", "Completed", "completed"),
        (
            {"stop_cause": StopCause.POLICY, "stop_reason": "so it is"},
            {"status": "Stopped"},
            "stopped",
            "StoppedByPolicy",
            "so it is",
        ),
        (
            {"stop_cause": StopCause.REQUEUE, "stop_reason": "so it is"},
            {"status": "Failed", "secondary_status": "MaxRuntimeExceeded", "failure_reason": INTERNAL},
            "pending",
            "Requeued",
            "so it is",
        ),
        (
            {"stop_cause": StopCause.ON_DEMAND, "stop_reason": "so it is"},
            {"status": "Stopped"},
            "pending",
            "OnDemand",
            "so it is",
        ),
        (
            {"stop_cause": StopCause.PREEMPTION, "freed_for": "b"},
            {"status": "Stopped"},
            "preempted",
            "ReturnedToLine",
            "was preempted for `b` and waits again in its old place in the queue",
        ),
        (
            {"stop_cause": StopCause.PREEMPTION, "freed_for": "b"},
            {"status": "Stopped", "secondary_status": "MaxRuntimeExceeded"},
            "stopped",
            "Stopped",
            "SageMaker stopped it at its MaxRuntimeInSeconds; submit it again with a higher limit if it needs more",
        ),
        ({"stop_cause": StopCause.REQUEST}, {"status": "Stopped"}, "stopped", "Stopped", "stopped on request"),
        (
            {"stop_cause": StopCause.REQUEST},
            {"status": "Failed", "failure_reason": INTERNAL},
            "failed",
            "Failed",
            f"failed: {INTERNAL}",
        ),
        (
            {},
            {"status": "Stopped"},
            "stopped",
            "StoppedOutsideTheQueue",
            "stopped outside the queue (status Stopped)",
        ),
        (
            {},
            {"status": "Deleting", "failure_reason": "it is so"},
            "stopped",
            "StoppedOutsideTheQueue",
            "stopped outside the queue (status Deleting): it is so",
        ),
        (
            {},
            {"status": "Failed"},
            "failed",
            "Failed",
            "failed; a failure of the kind `unknown` is not retried",
        ),
        (
            {},
            {"status": "Failed", "failure_reason": INTERNAL},
            "pending",
            "Retried",
            f"failed: {INTERNAL}; retried in 1 min (retry 1 of 3)",
        ),
        (
            {},
            {"status": "Stopped", "secondary_status": "MaxRuntimeExceeded"},
            "stopped",
            "Stopped",
            (
                "SageMaker stopped it at its MaxRuntimeInSeconds; submit it again with a higher limit if it needs "
                "more; a failure of the kind `time` is not retried"
            ),
        ),
        (
            {},
            {"status": "Stopped", "secondary_status": "MaxWaitTimeExceeded"},
            "pending",
            "OnDemand",
            "it waited for spot instances without getting any; it continues on on-demand instances",
        ),
    ],
    ids=[
        "completed",
        "completed at its limit",
        "stopped by the policy",
        "requeued by the policy, and failed at its limit",
        "stopped to go on on demand",
        "preempted",
        "preempted, but stopped at its limit",
        "stopped on request",
        "stopped on request, but failed",
        "stopped outside",
        "deleted outside, with a reason",
        "failed without a reason",
        "failed by SageMaker's fault",
        "stopped at its limit",
        "waited for spot instances in vain",
    ],
)
def test_a_final_status_maps_to_the_jobs_outcome(
    world: World, attempt: dict[str, Any], said: dict[str, Any], state: str, code: str, message: str
) -> None:
    change(world, **attempt)
    assert take(world, seen(world, **{"secondary_status": "x", **said})) is TICK_DUE
    step = job(world).history[-1]
    assert (str(step.job_state), str(step.reason.code), step.reason.message) == (state, code, message)
    assert step.reason.jobs == (("b",) if code == "ReturnedToLine" else ())
    (last,) = job(world).attempts
    assert last.training_job_status == said["status"]
    assert world.table.get(AttemptRecord.key("a")) is None


@pytest.mark.parametrize(
    ("cause", "on_demand", "priority"),
    [(StopCause.REQUEUE, False, 3), (StopCause.ON_DEMAND, True, None)],
    ids=["it used too little", "spot interrupted it too often"],
)
def test_a_job_stopped_by_the_policy_continues_according_to_it(
    world: World, cause: StopCause, on_demand: bool, priority: int | None
) -> None:
    change_job(world, priority=7)
    change(world, stop_cause=cause, requeue_priority=priority)
    take(world, seen(world, "Stopped"))
    after = job(world)
    assert (after.on_demand, after.priority) == (on_demand, priority or 7)


def test_a_job_that_got_no_spot_instances_continues_on_demand(world: World) -> None:
    take(world, seen(world, "Stopped", "MaxWaitTimeExceeded"))
    assert (job(world).on_demand, job(world).retried) == (True, {})


def test_a_failure_is_counted_by_its_kind_and_its_job_waits(world: World) -> None:
    change_job(world, retried={"service": 1})
    take(world, seen(world, "Failed", failure_reason=INTERNAL))
    after = job(world)
    assert (after.retried, after.not_before_ms) == ({"service": 2}, world.clock() + 120_000)
    assert after.history[-1].reason.message.endswith("(retry 2 of 3)")


@pytest.mark.parametrize(
    ("trained_ms", "since_s", "retried"),
    [(60_000, 0, True), (59_999, 1000, False), (None, 60, True), (None, 59, False)],
    ids=[
        "it trained for long enough",
        "it trained too briefly",
        "it was held for long enough",
        "it was held too briefly",
    ],
)
def test_the_run_time_is_sagemakers_or_the_time_held(
    world: World, trained_ms: int | None, since_s: int, retried: bool
) -> None:
    configure(world, retries={"code": {"maxPerJob": 1, "minRunTimeSeconds": 60}})
    change(world, since_ms=world.clock() - since_s * 1000)
    take(world, seen(world, "Failed", failure_reason=CODE, trained_ms=trained_ms))
    assert world.states("a") == {"a": "pending" if retried else "failed"}


@pytest.mark.parametrize(
    ("before", "state"),
    [
        ((), "pending"),
        ((None,), "pending"),
        (("AlgorithmError: 2",), "pending"),
        ((CODE,), "failed"),
        (("AlgorithmError: 2", CODE), "failed"),
        ((CODE, "AlgorithmError: 2"), "pending"),
    ],
)
def test_a_failure_with_the_message_of_the_previous_attempt_is_not_retried(
    world: World, before: tuple[str | None, ...], state: str
) -> None:
    configure(world, retries={"code": {"maxPerJob": 9}})
    usual: dict[str, Any] = {
        "attempt_name": "a",
        "number": 1,
        "since_ms": 0,
        "ended_ms": 0,
        "reason": job(world).reason,
    }
    change_job(world, attempts=tuple(EndedAttempt(**usual, failure_reason=reason) for reason in before))
    take(world, seen(world, "Failed", failure_reason=CODE))
    assert world.states("a") == {"a": state}


def test_an_end_is_stored_as_long_as_ended_jobs(world: World) -> None:
    take(world, seen(world, "Completed"))
    ended = job(world)
    assert world.table.get(GivenUpRecord.key("a")) is None, "it was not given up"
    assert (ended.ended_ms, ended.expires_at) == (world.clock(), int(world.now_s) + 30 * DAY_S)


def test_an_end_is_logged_and_counted(
    world: World, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    take(world, seen(world, "Completed"))
    (line,) = (vars(each) for each in caplog.records if each.message == "attempt ended")
    assert (line["job"], line["attempt"], line["trigger"], line["reason"]) == ("a", "a", "complete", "Completed")
    assert '"outcome":"completed"' in capsys.readouterr().out


END = End(trigger=JobTrigger.COMPLETE, reason=Reason(code=ReasonCode.COMPLETED, message="x"))


def test_an_attempt_whose_job_is_gone_or_has_another_attempt_is_a_conflict(world: World) -> None:
    record = found(world)
    change_job(world, live_attempt="a.2")
    with pytest.raises(Conflict):
        world.observer.end(record, END, None, world.clock())
    world.table.write([Delete(key=JobRecord.key("a"))])
    with pytest.raises(Conflict):
        world.observer.end(record, END, None, world.clock())
    assert world.table.get(AttemptRecord.key("a")) is not None


@pytest.mark.parametrize("known", [False, True], ids=["nothing is reserved yet", "something is reserved already"])
@pytest.mark.parametrize("waits", [False, True], ids=["it has left the line", "it waits"])
def test_freed_instances_are_reserved_for_a_waiting_preemptor(world: World, waits: bool, known: bool) -> None:
    world.submit("b", ResourceConfig=on(2))
    item = world.table.get(JobRecord.key("b"))
    assert item is not None
    if not waits:
        world.table.write([Put(item=JobRecord.parse(item).model_copy(update={"held": True}).put().item)])
    reserved = ReservationRecord(job_name="b", demand={P5: 1})
    if known:
        world.table.write([reserved.put(was=None)])
    change(world, stop_cause=StopCause.PREEMPTION, freed_for="b", freed={P5: 1})
    take(world, seen(world, "Stopped"))
    stored = world.table.get(ReservationRecord.key("b"))
    held = ReservationRecord.parse(stored).demand[P5] if stored else 0
    assert held == known + waits


def test_an_attempt_stopped_for_a_removed_job_ends(world: World) -> None:
    change(world, stop_cause=StopCause.PREEMPTION, freed_for="b", freed={P5: 1})
    assert take(world, seen(world, "Stopped")) is TICK_DUE
    assert world.states("a") == {"a": "preempted"}


@pytest.mark.parametrize("on_start", ["report", "stop"])
def test_a_rule_is_evaluated_once_when_an_attempt_runs(
    world: World, on_start: str, caplog: pytest.LogCaptureFixture
) -> None:
    configure(world, rules={"tagged": {"require": {"tags": {"project": ["*"]}}, "onStart": on_start}})
    change(world, ruled=False)
    assert take(world, seen(world)) is (TICK_DUE if on_start == "stop" else RECORDED)
    assert found(world).ruled
    assert job(world).history[-1].reason.code == "BreaksRules"
    assert world.states("a") == {"a": "stopping" if on_start == "stop" else "running"}
    (line,) = (vars(each) for each in caplog.records if each.message == "a measure was taken")
    assert (line["job"], line["attempt"], line["reason"]) == ("a", "a", "BreaksRules")
    assert line["cause"] == (StopCause.POLICY if on_start == "stop" else None)
    history = len(job(world).history)
    world.now_s += 1
    assert take(world, seen(world, interruptions=1)) is RECORDED
    assert len(job(world).history) == history


@pytest.mark.parametrize(
    ("tags", "team", "keeps"),
    [
        ([], "", False),
        ([{"Key": "project", "Value": "x"}], "", True),
        ([], "red", True),
    ],
    ids=["without the tag", "with the tag", "of a team that the rule is not for"],
)
def test_a_rule_is_evaluated_with_the_request_and_the_team(
    world: World, tags: list[dict[str, str]], team: str, keeps: bool
) -> None:
    rule = {"require": {"tags": {"project": ["*"]}}, "when": {"teams": [DEFAULT_TEAM]}, "onStart": "stop"}
    configure(world, rules={"tagged": rule}, teams={DEFAULT_TEAM: {}, "red": {}})
    world.table.write([Put(item=request_item("a", json.dumps(request("a", Tags=tags))))])
    change_job(world, team=team)
    change(world, ruled=False)
    assert take(world, seen(world)) is (RECORDED if keeps else TICK_DUE)


def test_an_attempt_with_a_missing_request_continues(world: World) -> None:
    configure(world, rules={"tagged": {"require": {"tags": {"project": ["*"]}}, "onStart": "stop"}})
    world.table.write([Delete(key=request_key("a"))])
    change(world, ruled=False)
    assert take(world, seen(world)) is RECORDED
    assert found(world).ruled


@pytest.mark.parametrize(
    ("attempt", "interruptions", "stops"),
    [
        ({"ruled": True}, 2, True),
        ({"ruled": True}, 1, False),
        ({"ruled": False}, 2, True),
        ({"ruled": True, "interruptions": 2}, 2, False),
        ({"ruled": True, "stop_cause": StopCause.REQUEST}, 2, False),
    ],
    ids=["too often", "as often as is borne", "too often at once", "it is known already", "it stops anyway"],
)
def test_an_attempt_that_spot_interrupts_too_often_has_to_stop(
    world: World, attempt: dict[str, Any], interruptions: int, stops: bool
) -> None:
    configure(world, spot={"maxInterruptions": 1})
    change(world, **attempt)
    assert take(world, seen(world, interruptions=interruptions)) is (TICK_DUE if stops else RECORDED)
    assert (found(world).stop_cause is StopCause.ON_DEMAND) is stops
    assert found(world).interruptions == interruptions


def test_an_attempt_without_a_job_blocks_others_and_changes_nothing(world: World) -> None:
    change(world, ruled=False)
    world.table.write([Delete(key=JobRecord.key("a"))])
    before = found(world)
    with pytest.raises(RetryLater):
        take(world, seen(world))
    assert found(world) == before


def test_an_attempts_instances_are_charged_until_its_end(world: World) -> None:
    take(world, seen(world, "Completed"))
    held = {P5: 60_000}
    assert job(world).usage == Usage(started_ms=world.clock() - 60_000, instance_ms=held, billed_ms=held)
