from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.exceptions import ClientError
from sagemaker.estimator import Estimator
from sagemaker.inputs import TrainingInput
from sagemaker.pytorch import PyTorch
from sagemaker.session import Session

from headway_client import QueueTrainingJobSession
from headway_client.errors import NotReachableError, UsageError
from headway_client.http.api import HeadwayApi
from tests.client.fakes.aws_stub import BUCKET, AwsStub, training_job
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY, ContractServer

ROLE = "arn:aws:iam::123456789012:role/training"


# One for all tests: loading the service models takes seconds, and handlers are attached to clients only.
BOTO_SESSION = boto3.Session(ACCESS_KEY, SECRET_KEY, region_name=REGION)


def session(**options: Any) -> QueueTrainingJobSession:
    settings: dict[str, Any] = {"boto_session": BOTO_SESSION, "default_bucket": BUCKET}
    return QueueTrainingJobSession(**settings | options)


def pytorch(sources: str, sagemaker_session: Session, **options: Any) -> PyTorch:
    settings: dict[str, Any] = {
        "entry_point": "train.py",
        "source_dir": sources,
        "role": ROLE,
        "framework_version": "2.1.0",
        "py_version": "py310",
        "instance_type": "ml.p5.48xlarge",
        "instance_count": 1,
        "sagemaker_session": sagemaker_session,
    }
    return PyTorch(**settings | options)


def test_an_estimator_ends_in_the_queue_with_its_sources_in_s3(server: ContractServer, aws: AwsStub, sources: str):
    estimator = pytorch(sources, session(), hyperparameters={"epochs": 3})

    estimator.fit({"train": TrainingInput("s3://data/train")}, wait=False, job_name="job1")

    request = server.queue.jobs["job1"]["request"]
    assert request["ResourceConfig"]["InstanceType"] == "ml.p5.48xlarge"
    assert request["HyperParameters"]["epochs"] == "3"
    assert request["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"] == "s3://data/train"
    uploaded = urlsplit(request["HyperParameters"]["sagemaker_submit_directory"].strip('"'))
    assert uploaded.netloc == BUCKET
    with tarfile.open(fileobj=io.BytesIO(aws.objects[BUCKET + uploaded.path])) as archive:
        assert sorted(archive.getnames()) == ["model.py", "train.py"]
    assert aws.calls == []


def test_what_became_of_a_submission_is_printed_also_without_waiting(
    server: ContractServer, sources: str, capsys: pytest.CaptureFixture[str]
):
    pytorch(sources, session()).fit(wait=False, job_name="job1")

    assert "headway: job1 waits, place 1 in the queue: " in capsys.readouterr().err


def test_a_script_needs_no_arguments_for_its_session(server: ContractServer, sources: str):
    pytorch(sources, QueueTrainingJobSession()).fit(wait=False)

    assert len(server.queue.jobs) == 1


def test_generated_names_are_accepted(server: ContractServer, sources: str):
    estimator = pytorch(sources, session(), base_job_name="vision")

    estimator.fit(wait=False)

    name = estimator.latest_training_job.name
    assert name.startswith("vision-")
    assert list(server.queue.jobs) == [name]


@pytest.mark.parametrize(
    ("priority", "tags", "expected"),
    [
        (None, None, 0),
        (5, None, 5),
        (5, [{"Key": "priority", "Value": "7"}], 7),
        (None, [{"Key": "headway:priority", "Value": "0"}], 0),
        (5, [{"Key": "team", "Value": "vision"}], 5),
    ],
)
def test_the_priority_is_the_tags_or_else_the_sessions(
    server: ContractServer, sources: str, priority: int | None, tags: list[dict[str, str]] | None, expected: int
):
    pytorch(sources, session(priority=priority), tags=tags).fit(wait=False, job_name="job1")

    assert server.queue.jobs["job1"]["priority"] == expected


def test_a_refusal_reaches_the_user_of_fit_with_every_field(sources: str):
    with pytest.raises(ClientError) as caught:
        pytorch(sources, session(), instance_count=3).fit(wait=False, job_name="job1")

    assert caught.value.response["Error"]["Code"] == "ValidationException"
    assert "ResourceConfig.InstanceCount: ask for at most 2." in str(caught.value)


def test_an_unreachable_queue_says_what_to_check(sources: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("headway_client.http.transport.Transport._backoff_s", lambda *_: 0.0)
    unreachable = session(endpoint="http://127.0.0.1:9/v1")

    with pytest.raises(NotReachableError, match="Check that the endpoint is correct"):
        pytorch(sources, unreachable).fit(wait=False, job_name="job1")


def test_a_missing_endpoint_is_reported_before_an_upload(aws: AwsStub, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HEADWAY_ENDPOINT")

    with pytest.raises(UsageError, match="export HEADWAY_ENDPOINT"):
        session()
    assert aws.objects == {}


def test_the_queue_may_come_from_a_profile_with_its_own_credentials(
    server: ContractServer, sources: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("HEADWAY_ENDPOINT")
    monkeypatch.delenv("HEADWAY_REGION")
    path = tmp_path / "profiles.toml"
    path.write_text(f'[profiles.team]\nendpoint = "{server.endpoint}"\naws_profile = "queue"\n')
    monkeypatch.setenv("HEADWAY_CONFIG_FILE", str(path))
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(
        "[queue]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\n"
    )
    elsewhere = boto3.Session("OTHER", "other", region_name="eu-west-1")

    pytorch(sources, session(boto_session=elsewhere, profile="team")).fit(wait=False, job_name="job1")

    assert list(server.queue.jobs) == ["job1"]


def test_an_api_client_may_be_passed(api: HeadwayApi, server: ContractServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HEADWAY_ENDPOINT")
    estimator = Estimator(
        image_uri="123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
        role=ROLE,
        instance_type="ml.p5.48xlarge",
        instance_count=2,
        sagemaker_session=session(api=api),
    )

    estimator.fit(wait=False, job_name="job1")

    assert server.queue.jobs["job1"]["demand"] == {"ml.p5.48xlarge": 2}


def test_another_session_of_the_same_boto_session_still_goes_to_sagemaker(server: ContractServer, aws: AwsStub):
    session()
    aws.training_jobs["job1"] = training_job("job1", "InProgress", "Training")

    Session(boto_session=BOTO_SESSION, default_bucket=BUCKET).describe_training_job("job1")

    assert aws.calls == ["DescribeTrainingJob job1"]
    assert server.received == []


def test_a_queued_job_is_described_and_stopped_through_the_session(server: ContractServer, sources: str):
    queue = session()
    pytorch(sources, queue).fit(wait=False, job_name="job1")

    described = queue.describe_training_job("job1")
    assert (described["TrainingJobStatus"], described["SecondaryStatus"]) == ("InProgress", "Pending")

    queue.stop_training_job("job1")
    assert server.queue.jobs["job1"]["jobState"] == "stopped"
    assert queue.describe_training_job("job1")["TrainingJobStatus"] == "Stopped"


def test_waiting_prints_the_place_and_ends_with_the_job(
    server: ContractServer, aws: AwsStub, sources: str, capsys: pytest.CaptureFixture[str]
):
    queue = session()
    server.queue.add("first")
    pytorch(sources, queue).fit(wait=False, job_name="job1")
    describe = queue.sagemaker_client.describe_training_job

    def then_completed(**arguments: Any) -> Any:
        answer = describe(**arguments)
        server.queue.jobs["job1"].update(jobState="completed", endedTime="2026-01-02T04:00:00.000Z")
        return answer

    queue.sagemaker_client.describe_training_job = then_completed
    queue.wait_for_job("job1", poll=0)

    assert "Headway (place 2 in the queue): Waits for 1 ml.p5.48xlarge." in capsys.readouterr().out
