"""Requests that `headway submit` accepts and refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway_client.models import JOB_STATES
from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.queue_view import QueueView
from tests.service.world import on

pytestmark = pytest.mark.e2e

SURPLUS = {"HyperParameters": {f"h{i}": "x" * 2_400 for i in range(171)}}
"""Produces a request of about 412 KB; a value may have 2,500 characters, and there may be more than 100 of them."""


@pytest.mark.parametrize("name", ["first", "second", "third"])
def test_two_concurrent_submissions_of_the_same_file_create_one_job(sb: Sandbox, queue: QueueView, name: str):
    file = queue.cli.write("request.json", queue.request(name))
    both = [queue.cli.start("submit", file), queue.cli.start("submit", file)]
    outcomes = [running.outcome() for running in both]

    assert [outcome.code for outcome in outcomes] == [0, 0], outcomes
    late = [outcome for outcome in outcomes if "already has this request" in outcome.err]
    assert len(late) == 1, outcomes
    assert list(queue.jobs()) == [name]
    queue.wait_until_training(name)
    assert len(queue.training_jobs(name)) == 1
    assert queue.history(name) == ["pending", "running"]


def test_a_repeated_submission_is_the_same_job_and_a_different_one_conflicts(queue: QueueView):
    queue.submit("job")
    queue.wait_for(job="running")
    again = queue.cli("submit", "-", stdin=queue.request("job"))
    assert "is running" in again.out
    other = queue.cli("submit", "-", stdin=queue.request("job", 7), expect=5)
    assert "choose a new name" in other.err
    assert [job.priority for job in queue.jobs().values()] == [0]


@pytest.mark.parametrize(
    ("changes", "sentences"),
    [
        ({"TrainingJobName": "n" * 70}, ["TrainingJobName", "70", "63"]),
        ({"RoleArn": None}, ["RoleArn", "required"]),
        ({"ResourceConfig": on(0)}, ["ResourceConfig.InstanceCount", "at least 1"]),
        ({"ResourceConfig": on(3)}, ["has 2 instances, not 3", "up to 2 ml.p5.48xlarge"]),
        (
            {"ResourceConfig": on(1, "ml.g5.xlarge")},
            ["there is no pool ml.g5.xlarge", "a job may have up to 2 ml.p5.48xlarge"],
        ),
        (SURPLUS, ["400000", "move large hyperparameters"]),
        ({"Tags": [{"Key": "priority", "Value": "urgent"}]}, ["Tags[0].Value", "whole number from 0 to 9999"]),
        ({"Colour": "blue"}, ["Colour"]),
    ],
    ids=[
        "a name of 70 characters",
        "no role",
        "no instance",
        "more than the pool has",
        "no such pool",
        "412 KB",
        "a priority that is none",
        "a field that is none",
    ],
)
def test_requests_that_can_never_run_are_refused_with_the_remedy(
    queue: QueueView, changes: dict[str, Any], sentences: list[str]
):
    file = queue.cli.write("request.json", queue.request("refused", **changes))
    before = everybody(queue)
    outcome = queue.cli("submit", file, expect=3)

    assert outcome.out == ""
    assert [sentence for sentence in sentences if sentence not in outcome.err] == [], outcome.err
    assert outcome.err.startswith("headway: ")
    assert "Traceback" not in outcome.err
    assert everybody(queue) == before
    assert queue.training_jobs() == []


def everybody(queue: QueueView) -> set[str]:
    """Return all jobs in the queue, of any test and in any state."""
    return {job.name for job in queue.api.list_jobs(states=JOB_STATES)}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"TrainingJobName": "job",}', "is not JSON: line 1, column 27"),
        ("[]", "contains no object"),
        ('["TrainingJobName"]', "has to contain objects of JSON or YAML, not a string"),
        ("", "is empty"),
        ("TrainingJobName: a\nTrainingJobName: b\n", 'line 2, column 1 has the key "TrainingJobName" again'),
        ('{"TrainingJobName": "a", "TrainingJobName": "b"}', 'the key "TrainingJobName" appears twice'),
    ],
)
def test_a_file_without_an_object_is_not_sent(queue: QueueView, text: str, sentence: str):
    outcome = queue.cli("submit", "-", stdin=text, expect=2)
    assert outcome.err.startswith("headway: standard input")
    assert sentence in outcome.err
    assert queue.jobs() == {}


def test_a_refusal_is_machine_readable(queue: QueueView):
    outcome = queue.cli("submit", "-", "-o", "json", stdin=queue.request("n" * 70, RoleArn=None), expect=3)
    error = json.loads(outcome.err)["error"]
    assert error["code"] == "InvalidRequest"
    assert {field["field"] for field in error["fields"]} == {"RoleArn", "TrainingJobName"}
