"""Jobs with alternatives in a sandbox: they run on what is free first, and stay there."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from headway_sandbox.sagemaker.request_builder import G5
from tests.e2e.conftest import DOCUMENT
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import eventually
from tests.service.world import P5, on

pytestmark = pytest.mark.e2e

POOLS = {"pools": {P5: {"size": 1}, G5: {"size": 2}}}
OTHER = {"ResourceConfig": on(2, G5)}


@pytest.fixture
def full(queue: QueueView) -> Iterator[QueueView]:
    """A queue in which the pool that jobs prefer is in use."""
    queue.api.put_config(POOLS, force=True)
    queue.submit("full", StoppingCondition={"MaxRuntimeInSeconds": 3600})
    queue.wait_for(full="running")
    yield queue
    queue.empty()

    def only_the_usual_pool_is_left() -> bool:
        # A pool is removed once nothing is reserved in it.
        queue.api.put_config(DOCUMENT, force=True)
        return [each.pool for each in queue.api.capacity().pools] == [P5]

    eventually(only_the_usual_pool_is_left, "the other pool is removed")


def submit(queue: QueueView, name: str, *options: str, priority: int | None = None) -> None:
    queue.cli("submit", "-", "--alternative", json.dumps(OTHER), *options, stdin=queue.request(name, priority))


def test_a_job_takes_its_second_alternative_while_its_first_pool_is_full(full: QueueView) -> None:
    submit(full, "a")
    full.wait_until_training("a")
    assert full.job("a").demand == {G5: 2}
    (made,) = full.training_jobs("a")
    assert made["Instances"] == {G5: 2}


def test_a_job_waits_for_a_better_alternative_only_if_its_start_is_proven_in_time(full: QueueView) -> None:
    # The job that is in the way has an hour.
    submit(full, "a", "--wait-at-most", "20m")
    submit(full, "b", "--wait-at-most", "1d")
    full.wait_for(a="running", b="pending")
    assert full.job("a").demand == {G5: 2}
    full.finish("full")
    full.wait_for(full="completed", b="running")
    assert full.job("b").demand == {P5: 1}


def test_a_preempted_job_resumes_on_its_alternative(full: QueueView) -> None:
    submit(full, "a")
    full.wait_until_training("a")
    full.submit("urgent", 9, ResourceConfig=on(2, G5))
    full.wait_for(a="preempted", urgent="running")
    full.finish("full")
    full.wait_for(full="completed")
    # What it preferred is free, and it has run on something else.
    assert full.states()["a"] == "preempted"
    full.finish("urgent")
    full.wait_for(a="running")
    eventually(lambda: len(full.training_jobs("a")) == 2, "the second attempt is launched")
    assert [made["Instances"] for made in full.training_jobs("a")] == [{G5: 2}, {G5: 2}]
