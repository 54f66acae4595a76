"""A job of which SageMaker selects one instance type holds its instances of all types until it is known which."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway_sandbox.sagemaker.faults import Faults
from headway_service.admission.policy_view import utilization_coverage
from headway_service.errors import ImpossibleDemand, InvalidRequest
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.repository import find_request
from tests.service.world import P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
LONG: dict[str, Any] = {"Environment": {"SANDBOX_RUN_SECONDS": "36000"}}
LIST = "ResourceConfig.InstancePreferences"


def prefers(*types: tuple[str, int | None], **more: Any) -> dict[str, Any]:
    """A ResourceConfig with preferences."""
    listed = [{"InstanceType": kind, **({} if count is None else {"InstanceCount": count})} for kind, count in types]
    return {"InstancePreferences": listed, "VolumeSizeInGB": 30, **more}


BOTH = prefers((P5, 2), (G5, 1))


def world_of(*, p5: int = 2, g5: int = 2, **faults: Any) -> World:
    world = World(pools={P5: p5, G5: g5})
    world.fleet.faults = Faults(**faults)
    return world


def attempt_of(world: World, name: str) -> AttemptRecord:
    return next(each for each in read_ledger(world.table).attempts if each.job_name == name)


def minute(world: World) -> None:
    world.pass_time(60)
    world.reconcile()
    world.tick()
    world.check()


@pytest.mark.parametrize("hides", [False, True], ids=["events show the selection", "only a description shows it"])
@pytest.mark.parametrize(("capacity", "selected"), [({}, {P5: 2}), ({P5: 0}, {G5: 1})])
def test_an_attempt_holds_all_pools_until_one_is_selected(
    capacity: dict[str, int], selected: dict[str, int], *, hides: bool
) -> None:
    world = world_of(capacity=capacity, event_hides_selection=hides)
    seen = world.submit("a", ResourceConfig=BOTH, **LONG)
    assert (seen.job.demand, seen.job.one_of) == ({P5: 2, G5: 1}, True)
    assert seen.job.history[0].reason.message == f"entered the queue for 1 {G5} or 2 {P5}"
    world.tick()
    world.check()
    assert attempt_of(world, "a").demand == {P5: 2, G5: 1}
    for _ in range(10):
        minute(world)
    held = attempt_of(world, "a")
    assert (held.demand, held.one_of) == (selected, False)
    (pool,) = selected
    codes = [step.reason.code for step in world.seen("a").job.history]
    assert codes == ["Entered", "Started", "Selected"]
    assert world.seen("a").reason.message.startswith(f"runs on {pool}, which SageMaker selected; no longer holds ")
    # It is described no more than once a minute, and no more once the selection is known.
    described = world.called("DescribeTrainingJob")
    minute(world)
    assert world.called("DescribeTrainingJob") == described


def test_what_it_gives_back_is_given_to_waiting_jobs() -> None:
    world = world_of(g5=1)
    world.submit("a", 5, ResourceConfig=BOTH, **LONG)
    world.submit("b", 5, ResourceConfig=on(1, G5))
    world.tick()
    assert world.states("a", "b") == {"a": "running", "b": "pending"}
    world.pass_time(600)
    assert world.states("a", "b") == {"a": "running", "b": "running"}
    world.check()


def test_while_sagemaker_has_none_of_them_it_holds_all() -> None:
    world = world_of(capacity={P5: 0, G5: 0}, capacity_wait_s=100_000.0)
    world.submit("a", ResourceConfig=BOTH)
    world.tick()
    for _ in range(5):
        minute(world)
    assert attempt_of(world, "a").demand == {P5: 2, G5: 1}
    assert len(world.called("DescribeTrainingJob")) == 5


def test_it_is_asked_about_again_if_sagemaker_gave_no_answer() -> None:
    world = world_of(event_hides_selection=True)
    world.submit("a", ResourceConfig=BOTH, **LONG)
    world.tick()
    world.pass_time(300)
    world.fleet.faults = world.fleet.faults.with_changes({"throttle": {"DescribeTrainingJob": 50}})
    world.reconcile()
    assert attempt_of(world, "a").demand == {P5: 2, G5: 1}
    world.fleet.faults = world.fleet.faults.with_changes({"throttle": {}})
    world.reconcile()
    assert attempt_of(world, "a").demand == {P5: 2}
    assert world.wakes


def test_what_was_earmarked_for_a_waiting_job_is_reserved_for_it() -> None:
    world = world_of(event_hides_selection=True, capacity={P5: 0})
    stops = {"Environment": {"SANDBOX_RUN_SECONDS": "36000", "SANDBOX_STOP_SECONDS": "120"}}
    world.submit("a", 1, ResourceConfig=BOTH, **stops)
    world.tick()
    world.pass_time(300)
    world.submit("b", 9, ResourceConfig=on(2), **LONG)
    world.tick()
    assert attempt_of(world, "a").freed == {P5: 2}
    world.reconcile()
    world.check()
    held = attempt_of(world, "a")
    assert (held.demand, held.freed, held.freed_for) == ({G5: 1}, {}, "b")
    assert [each.demand for each in read_ledger(world.table).reservations] == [{P5: 2}]
    # A job of lower rank does not get it meanwhile.
    world.submit("c", 5, ResourceConfig=on(2))
    world.tick()
    assert world.states("b", "c") == {"b": "running", "c": "pending"}
    world.check()
    world.pass_time(1000)
    world.check()


def test_if_the_preemptor_has_left_nothing_is_reserved() -> None:
    world = world_of(event_hides_selection=True, capacity={P5: 0})
    world.submit("a", 1, ResourceConfig=BOTH, **LONG)
    world.tick()
    world.pass_time(300)
    world.submit("b", 9, ResourceConfig=on(2))
    world.tick()
    world.commands.stop("b", ROOT)
    world.reconcile()
    world.check()
    assert not read_ledger(world.table).reservations
    assert attempt_of(world, "a").demand == {G5: 1}


def test_nobody_is_stopped_for_it_in_two_pools() -> None:
    world = world_of(p5=2, g5=1)
    world.submit("x", 1, ResourceConfig=on(2), **LONG)
    world.submit("y", 1, ResourceConfig=on(1, G5), **LONG)
    world.tick()
    world.submit("a", 9, ResourceConfig=BOTH)
    world.tick()
    assert not world.called("StopTrainingJob")
    assert "are stopped for it in one of its pools at most" in world.seen("a").reason.message
    world.commands.stop("y", ROOT)
    world.tick()
    world.pass_time(600)
    assert world.states("x", "a") == {"x": "preempted", "a": "running"}
    world.check()


def test_a_retry_is_charged_in_all_pools_again() -> None:
    world = world_of()
    world.submit("a", 1, ResourceConfig=BOTH, **LONG)
    world.tick()
    world.pass_time(600)
    world.submit("b", 9, ResourceConfig=on(1))
    world.tick()
    world.pass_time(300)
    assert world.seen("a").job.demand == {P5: 2, G5: 1}
    world.pass_time(3000)
    world.check()
    assert len(world.called("CreateTrainingJob")) == 3
    assert attempt_of(world, "a").number == 2
    # What it used is of the selected pool only.
    assert set(world.seen("a").job.usage.instance_ms) == {P5}


def test_an_event_that_shows_the_selection_counts_although_the_job_does_not_train_yet() -> None:
    world = world_of()
    world.submit("a", ResourceConfig=BOTH, **LONG)
    world.tick()
    for detail in world.due_events(5000):
        if detail["SecondaryStatus"] == "Downloading":
            # A tick is due, as instances came free. The same event again changes nothing.
            assert [world.on_event(detail), world.on_event(detail)] == [True, False]
            assert attempt_of(world, "a").demand == {P5: 2}
            return
    raise AssertionError("no event shows it")


def test_its_use_is_of_the_selected_pool_if_that_is_known_only_at_its_end() -> None:
    world = world_of()
    world.submit("a", ResourceConfig=BOTH)
    world.tick()
    events = [*world.due_events(5000)]
    world.on_event(events[-1])
    assert world.states("a") == {"a": "completed"}
    assert set(world.seen("a").job.usage.instance_ms) == {P5}


def test_it_is_launched_as_it_was_submitted() -> None:
    world = world_of()
    world.submit("a", ResourceConfig=BOTH)
    world.tick()
    (launched,) = [each for operation, each in world.calls if operation == "CreateTrainingJob"]
    assert launched["ResourceConfig"] == BOTH


@pytest.mark.parametrize(
    ("resources", "field", "message"),
    [
        (prefers((P5, 1), InstanceType=P5), "ResourceConfig.InstanceType", "cannot be combined"),
        (
            prefers((P5, 1), InstanceGroups=[{"InstanceGroupName": "g", "InstanceType": P5, "InstanceCount": 1}]),
            "ResourceConfig.InstanceGroups",
            "cannot be combined",
        ),
        (prefers((P5, 1), (P5, 2)), LIST, "twice: keep one of the two"),
        (prefers((P5, 1), (G5, 1), InstanceCount=1), "ResourceConfig.InstanceCount", "and within them: keep one"),
        (prefers((P5, 1), (G5, None)), f"{LIST}.InstanceCount", "is required with each preference, or once"),
        (prefers((P5, None)), f"{LIST}.InstanceCount", "is required with each preference, or once"),
        (prefers((P5, 1), (G5, 0)), f"{LIST}[1].InstanceCount", "is 0; a job needs at least 1 instance"),
        (prefers((P5, None), InstanceCount=0), "ResourceConfig.InstanceCount", "is 0; a job needs at least 1"),
        (prefers((P5, 1), SelectedInstanceType=P5), "ResourceConfig.SelectedInstanceType", "part of an answer"),
        ({**on(1), "SelectedInstanceCount": 1}, "ResourceConfig.SelectedInstanceCount", "part of an answer"),
        (prefers(), LIST, "is too short"),
        (prefers(*((f"ml.p{i}.large", 1) for i in range(6))), LIST, "has 6 entries"),
    ],
)
def test_a_request_that_sagemaker_would_refuse_is_refused(resources: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        world_of().submit("a", ResourceConfig=resources)
    assert (found := {each.field: each.message for each in raised.value.fields}), found
    assert message in found[field]


def test_preferences_are_not_for_spot() -> None:
    changes: dict[str, Any] = {"EnableManagedSpotTraining": True, "StoppingCondition": {"MaxWaitTimeInSeconds": 90_000}}
    with pytest.raises(InvalidRequest, match="which are for on-demand instances"):
        world_of().submit("a", ResourceConfig=BOTH, **changes)


def test_training_plans_in_preferences_are_refused() -> None:
    arn = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/p"
    plan = {"InstanceType": P5, "InstanceCount": 1, "TrainingPlanArns": [arn]}
    with pytest.raises(InvalidRequest, match="TrainingPlanArns is not supported by this version"):
        world_of().submit("a", ResourceConfig={"InstancePreferences": [plan], "VolumeSizeInGB": 30})


@pytest.mark.parametrize(
    ("resources", "field", "message"),
    [
        (prefers((P5, 1), ("ml.c5.large", 1)), f"{LIST}[1].InstanceType", "there is no pool ml.c5.large"),
        (prefers((P5, 1), (G5, 3)), f"{LIST}[1].InstanceCount", "the pool ml.g5.xlarge has 2 instances, not 3"),
        (prefers((P5, None), (G5, None), InstanceCount=3), f"{LIST}[0].InstanceCount", "has 2 instances, not 3"),
    ],
)
def test_each_preference_has_to_fit_its_pool(resources: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(ImpossibleDemand) as raised:
        world_of().submit("a", ResourceConfig=resources)
    assert message in {each.field: each.message for each in raised.value.fields}[field]


def test_one_number_of_instances_is_for_all_preferences() -> None:
    seen = world_of().submit("a", ResourceConfig=prefers((P5, None), (G5, None), InstanceCount=2))
    assert seen.job.demand == {P5: 2, G5: 2}


def test_a_warm_pool_is_treated_as_that_of_other_jobs() -> None:
    world = world_of()
    world.submit("a", ResourceConfig={**BOTH, "KeepAlivePeriodInSeconds": 60})
    world.tick()
    (launched,) = [each for operation, each in world.calls if operation == "CreateTrainingJob"]
    assert "KeepAlivePeriodInSeconds" not in launched["ResourceConfig"]


def test_the_number_of_instances_cannot_change_but_the_run_time_can() -> None:
    world = world_of()
    world.submit("a", ResourceConfig=BOTH)
    with pytest.raises(InvalidRequest, match="has instance preferences"):
        world.changes.change("a", RequestChange(instances=1), ROOT)
    changed = world.changes.change("a", RequestChange(max_runtime_s=100), ROOT).job
    assert (changed.demand, changed.one_of) == ({P5: 2, G5: 1}, True)


def test_utilization_is_monitored_on_the_hosts_of_the_selected_type() -> None:
    world = World(pools={P5: 2, G5: 2})
    world.configuration.write(json.dumps({"pools": {P5: {"size": 2}, G5: {"size": 2}}, "watches": {"idle": {}}}))
    world.submit("a", ResourceConfig=BOTH, **LONG)
    world.tick()
    stored = find_request(world.table, "a")
    assert stored is not None
    for hosts in (0, 2):
        (covered,) = utilization_coverage(attempt_of(world, "a"), stored, world.configured())
        assert len(covered.alarms) == hosts
        world.pass_time(900)


def test_a_plain_request_has_no_preferences() -> None:
    assert not world_of().submit("a", ResourceConfig=on(1)).job.one_of
    assert "oneOf" not in world_of().submit("b").job.put().item
    assert request("a")
