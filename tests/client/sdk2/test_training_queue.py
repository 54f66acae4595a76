from __future__ import annotations

import io
import re
import tarfile
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from sagemaker.estimator import Estimator
from sagemaker.inputs import TrainingInput
from sagemaker.session import Session
from sagemaker.workflow.pipeline_context import PipelineSession

from headway_client import TrainingQueue, install, uninstall
from headway_client.errors import BatchRefusedError, NoTrainingJobError, RefusedError, UsageError
from headway_client.http.api import HeadwayApi
from tests.client.fakes.aws_stub import BUCKET, AwsStub, training_job
from tests.client.fakes.server import ContractServer
from tests.client.pages import example
from tests.client.sdk2.test_session import BOTO_SESSION, ROLE, pytorch, session

IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1"


@pytest.fixture
def queue(api: HeadwayApi) -> TrainingQueue:
    return TrainingQueue(api=api)


@pytest.fixture(autouse=True)
def _nothing_installed() -> Iterator[None]:
    yield
    uninstall()


def plain_session() -> Session:
    return Session(boto_session=BOTO_SESSION, default_bucket=BUCKET)


def estimator(**options: Any) -> Estimator:
    settings: dict[str, Any] = {
        "image_uri": IMAGE,
        "role": ROLE,
        "instance_type": "ml.p5.48xlarge",
        "instance_count": 1,
    }
    return Estimator(**{"sagemaker_session": plain_session(), **settings, **options})


def test_an_estimator_of_any_session_is_queued_with_its_sources_in_s3(
    queue: TrainingQueue, server: ContractServer, aws: AwsStub, sources: str
):
    trained = pytorch(sources, plain_session(), hyperparameters={"epochs": 3})

    job = queue.submit(trained, {"train": TrainingInput("s3://data/train")}, "job1", priority=5)

    assert job.job_name == "job1"
    request = server.queue.jobs["job1"]["request"]
    assert server.queue.jobs["job1"]["priority"] == 5
    assert request["HyperParameters"]["epochs"] == "3"
    assert request["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"] == "s3://data/train"
    uploaded = urlsplit(request["HyperParameters"]["sagemaker_submit_directory"].strip('"'))
    with tarfile.open(fileobj=io.BytesIO(aws.objects[BUCKET + uploaded.path])) as archive:
        assert sorted(archive.getnames()) == ["model.py", "train.py"]
    assert aws.calls == []


def test_the_request_is_the_one_that_fit_sends(queue: TrainingQueue, server: ContractServer, sources: str):
    settings: dict[str, Any] = {
        "use_spot_instances": True,
        "max_run": 3600,
        "max_wait": 7200,
        "checkpoint_s3_uri": "s3://bucket/checkpoints",
        "environment": {"DEBUG": "1"},
        "tags": [{"Key": "priority", "Value": "3"}],
        "hyperparameters": {"epochs": 3},
        "max_retry_attempts": 2,
    }
    pytorch(sources, session(), **settings).fit({"train": "s3://data/train"}, wait=False, job_name="job1")
    sent = server.queue.jobs.pop("job1")["request"]

    queue.submit(pytorch(sources, plain_session(), **settings), {"train": "s3://data/train"}, "job1")

    assert server.queue.jobs["job1"]["request"] == sent


@pytest.mark.parametrize(
    ("of_the_estimator", "given", "expected"),
    [(None, None, 7), ([{"Key": "priority", "Value": "3"}], None, 3), (None, 0, 0)],
    ids=["the session's", "the estimator's", "that of the call"],
)
def test_a_job_of_a_session_has_its_priority_however_it_is_submitted(
    queue: TrainingQueue,
    server: ContractServer,
    of_the_estimator: list[dict[str, str]] | None,
    given: int | None,
    expected: int,
):
    queue.submit(estimator(sagemaker_session=session(priority=7), tags=of_the_estimator), job_name="a", priority=given)
    queue.map(
        estimator(sagemaker_session=session(priority=7), tags=of_the_estimator), [None], job_names=["b"], priority=given
    )

    assert {name: job["priority"] for name, job in server.queue.jobs.items()} == {"a": expected, "b": expected}


def test_a_job_has_the_priority_of_an_installation(api: HeadwayApi, queue: TrainingQueue, server: ContractServer):
    install(api, priority=4)
    queue.submit(estimator(sagemaker_session=plain_session()), job_name="a")

    assert server.queue.jobs["a"]["priority"] == 4


def test_an_estimator_knows_its_generated_name(queue: TrainingQueue, server: ContractServer, sources: str):
    trained = pytorch(sources, plain_session(), base_job_name="vision")

    name = queue.submit(trained).job_name

    assert name.startswith("vision-")
    assert server.queue.jobs[name]["request"]["HyperParameters"]["sagemaker_job_name"] == f'"{name}"'


@pytest.mark.parametrize("interception", ["none", "session", "installed", "both"])
def test_a_job_is_submitted_once_however_many_adapters_are_attached(
    api: HeadwayApi, queue: TrainingQueue, server: ContractServer, aws: AwsStub, interception: str
):
    if interception in {"installed", "both"}:
        install(api)
    with_session = session(api=api) if interception in {"session", "both"} else plain_session()

    queue.submit(estimator(sagemaker_session=with_session), job_name="job1", priority=0)

    assert [(received.method, received.target) for received in server.received] == [("POST", "/v1/jobs")]
    assert aws.calls == []


def test_fit_still_works_after_a_submission(queue: TrainingQueue, server: ContractServer):
    trained = estimator(sagemaker_session=session())
    queue.submit(trained, job_name="job1")

    trained.fit(wait=False, job_name="job2")

    assert list(server.queue.jobs) == ["job1", "job2"]


def test_options_replace_those_of_the_estimator(queue: TrainingQueue, server: ContractServer):
    spot = estimator(
        use_spot_instances=True,
        max_run=60,
        max_wait=90,
        tags=[{"Key": "priority", "Value": "3"}, {"Key": "team", "Value": "vision"}],
    )

    queue.submit(
        spot,
        job_name="job1",
        priority=0,
        share_identifier="research",
        timeout={"attemptDurationSeconds": 7200},
        tags={"cost": "1"},
        experiment_config={"ExperimentName": "e", "TrialName": "t"},
    )

    request = server.queue.jobs["job1"]["request"]
    assert {tag["Key"]: tag["Value"] for tag in request["Tags"]} == {"priority": "0", "team": "research", "cost": "1"}
    assert request["StoppingCondition"] == {"MaxRuntimeInSeconds": 7200, "MaxWaitTimeInSeconds": 7200}
    assert request["ExperimentConfig"] == {"ExperimentName": "e", "TrialName": "t"}


def test_the_trainer_of_this_sdk_is_queued_too(queue: TrainingQueue, server: ContractServer, aws: AwsStub):
    modules = pytest.importorskip("sagemaker.modules.train.model_trainer", reason="this SDK is older than trainers")
    compute = modules.Compute(instance_type="ml.p5.48xlarge", instance_count=1)
    with_session = modules.Session(boto_session=BOTO_SESSION, default_bucket=BUCKET)
    trainer = modules.ModelTrainer(
        training_image=IMAGE, role=ROLE, compute=compute, base_job_name="vision", sagemaker_session=with_session
    )

    name = queue.submit(trainer, priority=5).job_name

    assert re.fullmatch(r"vision-\d{14}-[0-9a-f]{8}", name)
    assert server.queue.jobs[name]["priority"] == 5
    assert not [call for call in aws.calls if "TrainingJob" in call]


def test_a_map_is_one_call_with_a_job_for_each_input(
    queue: TrainingQueue, server: ContractServer, aws: AwsStub, sources: str
):
    inputs = [{"train": f"s3://data/{i}"} for i in range(3)]

    jobs = queue.map(pytorch(sources, plain_session()), inputs, priority=1)

    names = [job.job_name for job in jobs]
    assert [received.target for received in server.received] == ["/v1/job-batches"]
    assert [
        server.queue.jobs[name]["request"]["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"]
        for name in names
    ] == [f"s3://data/{i}" for i in range(3)]
    assert aws.calls == []


def test_a_map_reports_refused_jobs(queue: TrainingQueue, server: ContractServer):
    server.queue.add("b")

    with pytest.raises(BatchRefusedError, match="1 of 3 jobs were refused, and 2 are in the queue"):
        queue.map(estimator(), [None, None, None], ["a", "b", "c"])
    assert list(server.queue.jobs) == ["b", "a", "c"]


def test_a_refusal_names_every_field(queue: TrainingQueue):
    with pytest.raises(RefusedError, match=r"ResourceConfig\.InstanceCount: ask for at most 2"):
        queue.submit(estimator(instance_count=3))


def test_a_step_of_a_pipeline_is_not_queued(queue: TrainingQueue, server: ContractServer):
    pipeline = PipelineSession(boto_session=BOTO_SESSION, default_bucket=BUCKET)

    with pytest.raises(UsageError, match="use an ordinary session"):
        queue.submit(estimator(sagemaker_session=pipeline))
    assert server.received == []


def test_training_on_this_machine_is_not_queued(queue: TrainingQueue, server: ContractServer):
    local = plain_session()
    local.local_mode = True

    with pytest.raises(UsageError, match="local mode"):
        queue.submit(estimator(sagemaker_session=local))
    assert server.received == []


# ------------------------------------------------------------------------------------------------------- get_estimator


@pytest.fixture
def finished(queue: TrainingQueue, server: ContractServer, aws: AwsStub, monkeypatch: pytest.MonkeyPatch) -> str:
    """Add a completed job with two attempts to both the queue and SageMaker."""
    job = server.queue.add(
        "job1",
        jobState="completed",
        endedTime="2026-01-02T04:00:00.000Z",
        attempts=[_attempt("job1", 1, "Stopped"), _attempt("job1-r2", 2, "Completed")],
    )
    said = {
        name: job["request"][name]
        for name in ("AlgorithmSpecification", "ResourceConfig", "StoppingCondition", "RoleArn")
    }
    said["OutputDataConfig"] = {"S3OutputPath": "s3://bucket/out", "KmsKeyId": ""}
    said["LastModifiedTime"] = 1767323046.5
    for name, status in (("job1", "Stopped"), ("job1-r2", "Completed")):
        model = {"S3ModelArtifacts": f"s3://bucket/out/{name}/output/model.tar.gz"}
        aws.training_jobs[name] = training_job(name, status, status, ModelArtifacts=model, **said)
    answer = aws.sagemaker

    def with_tags(operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if operation == "ListTags":
            keys = ["project", "headway:job", "headway:attempt", "aws:tag"]
            aws.calls.append(f"ListTags {request['ResourceArn'].rpartition('/')[2]}")
            return 200, {"Tags": [{"Key": key, "Value": "v"} for key in keys]}
        return answer(operation, request)

    monkeypatch.setattr(aws, "sagemaker", with_tags)
    # Attaching describes the job twice, seconds apart.
    monkeypatch.setattr("sagemaker.session.time", SimpleNamespace(sleep=lambda _: None, time=time.time))
    return "job1"


def _attempt(name: str, number: int, status: str) -> dict[str, Any]:
    return {
        "attemptName": name,
        "number": number,
        "attemptState": "ended",
        "trainingJobStatus": status,
        "secondaryStatus": status,
        "startedTime": "2026-01-02T03:04:05.678Z",
        "endedTime": "2026-01-02T03:14:05.678Z",
        "failureReason": None,
        "reason": None,
    }


def test_an_estimator_is_attached_to_the_attempt_that_made_the_model(queue: TrainingQueue, aws: AwsStub, finished: str):
    attached = queue.get_job(finished).get_estimator(BOTO_SESSION)

    assert attached.latest_training_job.name == "job1"
    assert attached.model_data == "s3://bucket/out/job1-r2/output/model.tar.gz"
    assert "ListTags job1-r2" in aws.calls


def test_the_tags_of_an_attached_estimator_can_be_submitted_again(queue: TrainingQueue, finished: str):
    assert queue.get_job(finished).get_estimator(BOTO_SESSION).tags == [{"Key": "project", "Value": "v"}]


def test_the_next_training_of_an_attached_estimator_is_queued(
    queue: TrainingQueue, server: ContractServer, finished: str
):
    queue.get_job(finished).get_estimator(BOTO_SESSION).fit(wait=False, job_name="job2")

    assert server.queue.jobs["job2"]["jobState"] == "pending"


def test_there_is_no_estimator_of_a_job_that_waits_for_its_first_start(queue: TrainingQueue, server: ContractServer):
    server.queue.add("job1")

    with pytest.raises(NoTrainingJobError, match="it is pending"):
        queue.get_job("job1").get_estimator(BOTO_SESSION)


def test_a_trainer_needs_the_other_sdk(queue: TrainingQueue, finished: str):
    with pytest.raises(UsageError, match=r"needs the SageMaker Python SDK 3: pip install .*\[sdk3\]'"):
        queue.get_job(finished).get_model_trainer()


# -------------------------------------------------------------------------------------------------------- the examples

PAGE = "docs/how-to/clients/training-queue.md"


def test_the_example_of_an_estimator(server: ContractServer, sources: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", BOTO_SESSION)
    settings = {
        "entry_point": "train.py",
        "source_dir": sources,
        "role": ROLE,
        "framework_version": "2.1.0",
        "py_version": "py310",
        "instance_type": "ml.p5.48xlarge",
        "instance_count": 1,
    }

    exec(example(PAGE, "An estimator of SDK 2"), {"settings": settings})

    (job,) = server.queue.jobs.values()
    assert job["priority"] == 5


def test_the_example_of_using_the_model(
    server: ContractServer, finished: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", BOTO_SESSION)
    server.queue.jobs["bert-large"] = {**server.queue.jobs[finished], "jobName": "bert-large"}

    exec(example(PAGE, "Use the model"), {})

    assert capsys.readouterr().out.splitlines()[-1] == "s3://bucket/out/job1-r2/output/model.tar.gz"
