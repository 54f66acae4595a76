"""Jobs that an earlier version kept with their instance preferences hold the instances of all types until they end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway_service.admission.policy_view import utilization_coverage
from headway_service.errors import InvalidRequest
from headway_service.ports.table import Put
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import request_item
from headway_service.store.repository import find_request
from tests.service.world import P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
BOTH = {P5: 2, G5: 1}
PREFERENCES = {
    "InstancePreferences": [{"InstanceType": kind, "InstanceCount": count} for kind, count in BOTH.items()],
    "VolumeSizeInGB": 30,
}
LONG: dict[str, Any] = {"Environment": {"SANDBOX_RUN_SECONDS": "36000"}}
SELECTED = {"timeMs": 1, "jobState": "running", "reason": {"code": "Selected", "message": f"runs on {P5}"}}


def keep_preferences(world: World, name: str, resources: dict[str, Any], **changes: Any) -> None:
    """A waiting job, as an earlier version has stored it with its preferences.

    Args:
        world: the queue.
        name: the name of the job.
        resources: its ResourceConfig, with preferences that have their numbers of instances.
        changes: other members of its request.
    """
    groups = [{"InstanceGroupName": f"g{i}", **each} for i, each in enumerate(resources["InstancePreferences"])]
    job = world.submit(name, ResourceConfig={"InstanceGroups": groups, "VolumeSizeInGB": 30}, **changes).job
    kept = request_item(name, json.dumps(request(name, ResourceConfig=resources, **changes)))
    item = job.put().item
    step = {**SELECTED, "timeMs": job.entry_time}
    world.table.write([Put(item=kept), Put(item={**item, "oneOf": True, "history": [*item["history"], step]})])


def attempt_of(world: World, name: str) -> AttemptRecord:
    return next(each for each in read_ledger(world.table).attempts if each.job_name == name)


def world_of(**changes: Any) -> World:
    """A queue in which `a` runs, and its attempt is stored as by an earlier version."""
    world = World(pools={P5: 2, G5: 2})
    document = {"pools": {P5: {"size": 2}, G5: {"size": 2}}, "watches": {"idle": {}}}
    world.configuration.write(document)
    keep_preferences(world, "a", PREFERENCES, **changes)
    world.tick()
    item = attempt_of(world, "a").put().item
    world.table.write([Put(item={**item, "oneOf": True})])
    return world


def test_a_job_that_waits_with_them_is_launched_with_them_once_all_types_are_free() -> None:
    world = world_of(**LONG)
    (launched,) = [each for operation, each in world.calls if operation == "CreateTrainingJob"]
    assert launched["ResourceConfig"] == PREFERENCES
    assert attempt_of(world, "a").demand == BOTH
    assert [step.reason.code for step in world.seen("a").job.history] == ["Entered", "Selected", "Started"]


def test_an_attempt_keeps_the_instances_of_all_types_until_it_ends() -> None:
    world = world_of()
    world.submit("b", ResourceConfig=on(2, G5), **LONG)
    world.reconcile()
    world.tick()
    world.check()
    assert world.states("a", "b") == {"a": "running", "b": "pending"}
    world.pass_time(3000)
    world.check()
    assert world.states("a", "b") == {"a": "completed", "b": "running"}
    assert set(world.seen("a").job.usage.instance_ms) == set(BOTH)


def test_its_utilization_is_not_monitored_as_its_hosts_are_not_known() -> None:
    world = world_of(**LONG)
    world.pass_time(900)
    stored = find_request(world.table, "a")
    assert stored is not None
    (covered,) = utilization_coverage(attempt_of(world, "a"), stored, world.configured())
    assert not covered.alarms


def test_the_request_of_a_job_that_waits_with_them_cannot_change() -> None:
    world = World(pools={P5: 2, G5: 2})
    keep_preferences(world, "a", PREFERENCES)
    with pytest.raises(InvalidRequest, match="as the job has alternatives"):
        world.changes.change("a", RequestChange(max_runtime_s=100), ROOT)
