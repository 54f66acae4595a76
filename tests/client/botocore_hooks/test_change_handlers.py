"""AddTags, DeleteTags, UpdateTrainingJob and DeleteTrainingJob of an attached client."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from headway_client.errors import BusyError
from tests.client.botocore_hooks.test_handlers import attempt
from tests.client.fakes.aws_stub import AwsStub, training_job
from tests.client.fakes.server import REGION, ContractServer, Fault

TAG = {"Key": "project", "Value": "search"}


def arn(name: str) -> str:
    return f"arn:aws:sagemaker:{REGION}:123456789012:training-job/{name}"


CHANGES: dict[str, Callable[[Any, str], Any]] = {
    "AddTags": lambda client, name: client.add_tags(ResourceArn=arn(name), Tags=[TAG]),
    "DeleteTags": lambda client, name: client.delete_tags(ResourceArn=arn(name), TagKeys=["project"]),
    "UpdateTrainingJob": lambda client, name: client.update_training_job(
        TrainingJobName=name, ResourceConfig={"KeepAlivePeriodInSeconds": 0}
    ),
    "DeleteTrainingJob": lambda client, name: client.delete_training_job(TrainingJobName=name),
}


@pytest.mark.parametrize("operation", CHANGES)
def test_a_running_job_is_changed_under_the_name_of_its_attempt(
    client: Any, server: ContractServer, aws: AwsStub, operation: str
) -> None:
    server.queue.add("job1", jobState="running", liveAttempt="job1-r2", attempts=[attempt("job1-r2", 2, "InProgress")])
    aws.training_jobs["job1-r2"] = training_job("job1-r2", "InProgress", "Training")

    CHANGES[operation](client, "job1")

    assert aws.calls == [f"{operation} job1-r2"]


def test_the_listed_tags_are_those_that_are_changed(client: Any, server: ContractServer, aws: AwsStub) -> None:
    attempts = [attempt("job1", 1, "Stopped", "ended"), attempt("job1-r2", 2, "InProgress")]
    server.queue.add("job1", jobState="running", liveAttempt="job1-r2", attempts=attempts)

    CHANGES["AddTags"](client, "job1")
    client.list_tags(ResourceArn=arn("job1"))

    assert aws.calls == ["AddTags job1-r2", "ListTags job1-r2"]


@pytest.mark.parametrize("operation", CHANGES)
def test_nothing_is_changed_by_the_last_known_state_of_a_queue_that_does_not_respond(
    client: Any, server: ContractServer, aws: AwsStub, operation: str
) -> None:
    server.queue.add("job1", jobState="running", liveAttempt="job1", attempts=[attempt("job1", 1, "InProgress")])
    aws.training_jobs["job1"] = training_job("job1", "InProgress", "Training")
    client.describe_training_job(TrainingJobName="job1")
    aws.calls.clear()
    server.fail(*[Fault(status=503)] * 4)

    with pytest.raises(BusyError):
        CHANGES[operation](client, "job1")
    assert aws.calls == []


@pytest.mark.parametrize(
    ("operation", "state", "message"),
    [
        ("UpdateTrainingJob", "pending", "job1 waits in the queue"),
        ("DeleteTrainingJob", "pending", "job1 waits in the queue"),
        *((operation, "stopped", "job1 ended in the queue") for operation in CHANGES),
    ],
)
def test_a_job_without_a_training_job_is_not_changed(
    client: Any, server: ContractServer, aws: AwsStub, operation: str, state: str, message: str
) -> None:
    server.queue.add("job1", jobState=state)

    with pytest.raises(ClientError, match=message) as caught:
        CHANGES[operation](client, "job1")

    assert caught.value.response["Error"]["Code"] == "ValidationException"
    assert aws.calls == []


def test_tags_of_a_waiting_job_are_changed_in_the_queue(client: Any, server: ContractServer, aws: AwsStub) -> None:
    server.queue.add("job1")
    client.list_tags(ResourceArn=arn("job1"))

    added = client.add_tags(ResourceArn=arn("job1"), Tags=[TAG, {"Key": "cost", "Value": "7"}])["Tags"]

    assert added[-2:] == [TAG, {"Key": "cost", "Value": "7"}]
    assert client.list_tags(ResourceArn=arn("job1"))["Tags"] == added
    assert set(client.delete_tags(ResourceArn=arn("job1"), TagKeys=["project", "unknown"])) == {"ResponseMetadata"}
    assert client.list_tags(ResourceArn=arn("job1"))["Tags"] == [tag for tag in added if tag != TAG]
    assert aws.calls == []


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (409, "NotWaiting", "ValidationException"),
        (422, "RuleViolation", "ValidationException"),
        (403, "NotAllowed", "AccessDeniedException"),
    ],
)
def test_a_refused_change_of_tags_is_an_error_of_sagemaker(
    client: Any, server: ContractServer, aws: AwsStub, status: int, code: str, expected: str
) -> None:
    server.queue.add("job1")
    refusal = {"error": {"code": code, "message": "Not with this tag.", "fields": []}}
    server.fail(None, Fault(status=status, body=json.dumps(refusal).encode()))

    with pytest.raises(ClientError, match="Not with this tag") as caught:
        client.add_tags(ResourceArn=arn("job1"), Tags=[TAG])

    assert caught.value.response["Error"]["Code"] == expected
    assert aws.calls == []


@pytest.mark.parametrize("operation", CHANGES)
def test_training_jobs_outside_of_the_queue_are_sagemakers(client: Any, aws: AwsStub, operation: str) -> None:
    aws.training_jobs["other"] = training_job("other", "InProgress", "Training")

    CHANGES[operation](client, "other")

    assert aws.calls == [f"{operation} other"]


@pytest.mark.parametrize("operation", CHANGES)
def test_a_caller_without_access_is_denied(client: Any, server: ContractServer, aws: AwsStub, operation: str) -> None:
    server.fail(Fault(status=403, body=b'{"message": "Forbidden"}'))

    with pytest.raises(ClientError) as caught:
        CHANGES[operation](client, "job1")

    assert caught.value.response["Error"]["Code"] == "AccessDeniedException"
    assert aws.calls == []


@pytest.mark.parametrize("key", ["headway:job", "headway:attempt"])
def test_tags_by_which_the_queue_identifies_training_jobs_are_protected(client: Any, aws: AwsStub, key: str) -> None:
    with pytest.raises(ClientError, match=f"by the tag {key}"):
        client.add_tags(ResourceArn=arn("job1-r2"), Tags=[TAG, {"Key": key, "Value": "x"}])
    with pytest.raises(ClientError, match=f"by the tag {key}"):
        client.delete_tags(ResourceArn=arn("job1-r2"), TagKeys=["project", key])

    assert aws.calls == []


def test_other_resources_and_invalid_calls_are_left_to_botocore(client: Any, aws: AwsStub) -> None:
    client.add_tags(ResourceArn=f"arn:aws:sagemaker:{REGION}:123456789012:model/headway", Tags=[TAG])
    with pytest.raises(ParamValidationError):
        client.delete_training_job(TrainingJobName=5)
    with pytest.raises(ParamValidationError):
        client.add_tags(ResourceArn=arn("job1"), Tags=["project"])
    with pytest.raises(ParamValidationError):
        client.delete_tags(ResourceArn=arn("job1"), TagKeys=None)

    assert aws.calls == ["AddTags"]
