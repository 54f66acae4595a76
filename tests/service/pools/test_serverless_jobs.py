"""Serverless jobs run on no instances of the account: a pool counts the jobs."""

from __future__ import annotations

from typing import Any

import pytest

from headway.pool_names import SERVERLESS
from headway_service.errors import ImpossibleDemand, InvalidRequest
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store.ledger import read_ledger
from tests.service.world import DAY_S, P5, ROOT, World, request

CONFIG = {
    "BaseModelArn": "arn:aws:sagemaker:eu-west-1:aws:hub-content/SageMakerPublicHub/Model/m/1.0.0",
    "JobType": "FineTuning",
}
# SDK 3 sends neither of the two.
JOB: dict[str, Any] = {"ResourceConfig": None, "AlgorithmSpecification": None, "ServerlessJobConfig": CONFIG}


def test_serverless_jobs_run_beside_full_pools_as_many_as_their_pool_allows() -> None:
    world = World(pools={P5: 1, SERVERLESS: 2})
    world.submit("plain", 9)
    for name in ("a", "b", "c"):
        world.submit(name, 1, **JOB)
    world.tick()
    world.check()
    assert world.states("plain", "a", "b", "c") == {"plain": "running", "a": "running", "b": "running", "c": "pending"}
    assert world.seen("c").reason.message.startswith("needs 1 more serverless, held by `a`")
    launched = [request for operation, request in world.calls if operation == "CreateTrainingJob"]
    assert [each.get("ResourceConfig") for each in launched if "ServerlessJobConfig" in each] == [None, None]
    world.pass_time(5000)
    world.check()
    assert set(world.states("a", "b", "c").values()) == {"completed"}


def test_a_serverless_job_is_refused_unless_the_policy_has_a_pool_for_it() -> None:
    with pytest.raises(ImpossibleDemand) as raised:
        World().submit("a", **JOB)
    (problem,) = raised.value.fields
    assert (problem.field, problem.message) == (
        "ServerlessJobConfig",
        f"there is no pool serverless, so this queue runs no serverless jobs; a job may have up to 2 {P5}",
    )


def test_a_serverless_job_waits_for_no_instances() -> None:
    world = World()
    world.configuration.write({"pools": {SERVERLESS: {"size": 1}}, "maxPendingSeconds": 600})
    job = world.submit("a", **JOB).job
    assert (job.pending_limit_s, job.limit_ms) == (None, (DAY_S + 1800) * 1000)


def test_a_serverless_pool_of_size_0_starts_nothing_and_accepts_nothing() -> None:
    with pytest.raises(ImpossibleDemand, match="the pool serverless has 0 instances, not 1"):
        World(pools={P5: 1, SERVERLESS: 0}).submit("a", **JOB)


def test_the_instances_of_a_serverless_job_cannot_change_but_its_limit_can() -> None:
    world = World(pools={P5: 1, SERVERLESS: 1})
    world.submit("runs", 9, **JOB)
    world.submit("a", 5, **JOB)
    world.tick()
    with pytest.raises(InvalidRequest, match="cannot change, as the job is serverless"):
        world.changes.change("a", RequestChange(instances=2), ROOT)
    seen = world.changes.change("a", RequestChange(max_runtime_s=3600), ROOT)
    assert seen.job.demand == {SERVERLESS: 1}


def test_a_serverless_job_outside_the_queue_is_charged_to_the_pool() -> None:
    world = World(pools={P5: 1, SERVERLESS: 2})
    world.tick()
    document = {name: value for name, value in request("rogue", **JOB).items() if value is not None}
    world.fleet.create(document, now=world.now_s)
    world.pass_time(1)
    (rogue,) = read_ledger(world.table).rogues
    assert (rogue.demand, rogue.charged) == ({SERVERLESS: 1}, {SERVERLESS: 1})
