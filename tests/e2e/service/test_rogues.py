"""A rogue training job: shown, charged, blocking others, and stopped if the policy requires it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headway_client.models import RogueJob
from headway_sandbox.local.sandbox import Sandbox
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from tests.e2e.conftest import DOCUMENT
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import USUAL_S, eventually
from tests.service.world import P5, on

pytestmark = pytest.mark.e2e


@pytest.fixture
def past(sb: Sandbox, queue: QueueView) -> Iterator[str]:
    """A rogue training job on one of the two instances, created with boto3."""
    # A newly deployed queue has no pools before its first request.
    assert queue.api.capacity().pools
    request = queue.request("past")
    sb.client("sagemaker").create_training_job(**request)
    name = str(request["TrainingJobName"])
    yield name
    if any(job["TrainingJobName"] == name and job["TrainingJobStatus"] == "InProgress" for job in sb.jobs()):
        sb.finish(name)
    eventually(lambda: not queue.api.rogue_jobs().jobs, "no rogue job is left", meanwhile=lambda: sb.invoke("Patrol"))


def rogue(queue: QueueView, name: str) -> RogueJob | None:
    return next((each for each in queue.api.rogue_jobs().jobs if each.name == name), None)


def status(sb: Sandbox, name: str) -> str:
    return next(str(job["TrainingJobStatus"]) for job in sb.jobs() if job["TrainingJobName"] == name)


def test_a_rogue_job_is_shown_and_charged_and_blocks_a_job_until_it_ends(sb: Sandbox, queue: QueueView, past: str):
    eventually(lambda: rogue(queue, past), "the queue hears of it")
    (row,) = [line for line in queue.cli("queue", "--all").out.splitlines() if line.startswith(past)]
    assert row.split()[1:3] == ["rogue", "-"]
    assert row.endswith("did not come through the queue; uses 1 ml.p5.48xlarge of its pools")
    assert past not in queue.cli("queue").out
    assert queue.cli("capacity").out.splitlines()[2].split() == [P5, "2", "0", "0", "0", "1", "1", "0"]

    queue.submit("large", ResourceConfig=on(2))
    reason = queue.job("large").reason
    assert reason.code == "WaitsForCapacity"
    assert f"needs 1 more ml.p5.48xlarge, held by `{past}` (outside the queue, until " in reason.message

    sb.finish(past)
    queue.wait_for(large="running")
    assert queue.cli("capacity").out.splitlines()[2].split() == [P5, "2", "2", "0", "0", "0", "0", "0"]


def test_the_policy_stops_the_rogue_job_and_no_job_of_the_queue(sb: Sandbox, queue: QueueView, past: str):
    eventually(lambda: rogue(queue, past), "the queue hears of it")
    queue.submit("own")
    queue.wait_until_training("own")
    try:
        queue.api.put_config({**DOCUMENT, "rogues": {"action": "stop"}}, force=True)
        eventually(
            lambda: status(sb, past) in {"Stopping", "Stopped"},
            "the patrol stops it",
            meanwhile=lambda: sb.invoke("Patrol"),
            timeout_s=VISIBLE_AFTER_S + USUAL_S,
        )
        sb.invoke("Patrol")
        assert queue.states() == {"own": "running"}
    finally:
        queue.api.put_config(DOCUMENT, force=True)
