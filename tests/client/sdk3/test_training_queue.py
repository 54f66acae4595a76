from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from sagemaker.core.config.config_manager import SageMakerConfig
from sagemaker.core.helper.session_helper import Session
from sagemaker.core.shapes import CheckpointConfig, StoppingCondition, Tag
from sagemaker.core.training.configs import Compute, InputData, SourceCode
from sagemaker.core.workflow.pipeline_context import PipelineSession
from sagemaker.train import ModelTrainer
from sagemaker.train.model_trainer import Mode

from headway_client import TrainingQueue, install, uninstall
from headway_client.errors import NoTrainingJobError, RefusedError, UsageError
from headway_client.http.api import HeadwayApi
from headway_client.sagemaker_sdk.build_request import MAX_NAME_CHARS
from tests.client.fakes.aws_stub import BUCKET, AwsStub, training_job
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY, ContractServer
from tests.client.pages import example

ROLE = "arn:aws:iam::123456789012:role/training"
# The SDK leaves its copy of the sources to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")

IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1"
TRAIN = [InputData(channel_name="train", data_source="s3://data/train")]


@pytest.fixture
def queue(api: HeadwayApi) -> TrainingQueue:
    return TrainingQueue(api=api)


@pytest.fixture(autouse=True)
def _nothing_installed(_installed: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    uninstall()
    # The SDK validates its configuration for each of about ten settings of a trainer, 0.5 s each time.
    monkeypatch.setattr(SageMakerConfig, "validate_sagemaker_config", lambda *_: None)
    yield
    uninstall()


def boto_session() -> boto3.Session:
    return boto3.Session(ACCESS_KEY, SECRET_KEY, region_name=REGION)


def trainer(**options: Any) -> ModelTrainer:
    settings: dict[str, Any] = {
        "training_image": IMAGE,
        "role": ROLE,
        "compute": Compute(instance_type="ml.p5.48xlarge", instance_count=1),
    }
    if "sagemaker_session" not in options:
        settings["sagemaker_session"] = Session(boto_session=boto_session(), default_bucket=BUCKET)
    return ModelTrainer(**settings | options)


def test_a_trainer_is_queued_with_its_sources_in_s3(
    queue: TrainingQueue, server: ContractServer, aws: AwsStub, sources: str
):
    trained = trainer(
        source_code=SourceCode(source_dir=sources, entry_script="train.py"), hyperparameters={"epochs": 3}
    )

    job = queue.submit(trained, TRAIN, "job1", priority=5)

    assert job.job_name == "job1"
    request = server.queue.jobs["job1"]["request"]
    assert server.queue.jobs["job1"]["priority"] == 5
    assert request["HyperParameters"] == {"epochs": "3"}
    channels = {each["ChannelName"]: each["DataSource"]["S3DataSource"]["S3Uri"] for each in request["InputDataConfig"]}
    assert channels["train"] == "s3://data/train"
    assert f"{channels['code'].removeprefix('s3://').rstrip('/')}/train.py" in aws.objects
    assert channels["sm_drivers"].startswith(f"s3://{BUCKET}/")
    assert not [call for call in aws.calls if "TrainingJob" in call]


def test_the_request_is_the_one_that_train_sends(
    api: HeadwayApi, queue: TrainingQueue, server: ContractServer, aws: AwsStub
):
    settings: dict[str, Any] = {
        "compute": Compute(instance_type="ml.p5.48xlarge", instance_count=2, enable_managed_spot_training=True),
        "stopping_condition": StoppingCondition(max_runtime_in_seconds=3600, max_wait_time_in_seconds=7200),
        "checkpoint_config": CheckpointConfig(s3_uri="s3://bucket/checkpoints"),
        "environment": {"DEBUG": "1"},
        "tags": [Tag(key="priority", value="3")],
        "hyperparameters": {"epochs": 3},
    }
    install(api, tell=None)
    trainer(**settings).train(TRAIN, wait=False)
    (sent,) = (job["request"] for job in server.queue.jobs.values())

    name = queue.submit(trainer(**settings), TRAIN).job_name

    made = server.queue.jobs[name]["request"]
    assert made.keys() == sent.keys()
    assert {key: made[key] for key in made if key != "TrainingJobName"} == {
        key: sent[key] for key in sent if key != "TrainingJobName"
    }


@pytest.mark.parametrize("base", ["vision", "v" * 60])
def test_names_generated_by_the_sdk_are_made_unique(queue: TrainingQueue, server: ContractServer, base: str):
    trained = trainer(base_job_name=base)

    names = [queue.submit(trained).job_name for _ in range(2)]

    assert len({*names, *server.queue.jobs}) == 2
    for name in names:
        assert len(name) <= MAX_NAME_CHARS
        assert re.fullmatch(rf"{base[:54]}(-\d{{14}})?-[0-9a-f]{{8}}", name)


def test_a_map_is_one_call_with_a_job_for_each_input(queue: TrainingQueue, server: ContractServer):
    inputs = [[InputData(channel_name="train", data_source=f"s3://data/{i}")] for i in range(3)]

    jobs = queue.map(trainer(), inputs, priority=0)

    assert [received.target for received in server.received] == ["/v1/job-batches"]
    requests = [server.queue.jobs[job.job_name]["request"] for job in jobs]
    assert [each["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"] for each in requests] == [
        f"s3://data/{i}" for i in range(3)
    ]
    assert len({job.job_name for job in jobs}) == 3


def test_options_replace_those_of_the_trainer(queue: TrainingQueue, server: ContractServer):
    trained = trainer(
        tags=[Tag(key="headway:priority", value="3"), Tag(key="team", value="vision")],
        stopping_condition=StoppingCondition(max_runtime_in_seconds=60, max_wait_time_in_seconds=90),
    )

    queue.submit(
        trained,
        job_name="job1",
        priority=0,
        share_identifier="research",
        timeout={"attemptDurationSeconds": 7200},
        tags={"cost": "1"},
    )

    request = server.queue.jobs["job1"]["request"]
    assert {tag["Key"]: tag["Value"] for tag in request["Tags"]} == {"priority": "0", "team": "research", "cost": "1"}
    assert request["StoppingCondition"] == {"MaxRuntimeInSeconds": 7200, "MaxWaitTimeInSeconds": 7200}


def test_a_job_is_submitted_once_where_handlers_are_installed(
    api: HeadwayApi, queue: TrainingQueue, server: ContractServer, aws: AwsStub
):
    install(api, tell=None)

    queue.submit(trainer(), job_name="job1")

    assert [(received.method, received.target) for received in server.received] == [("POST", "/v1/jobs")]
    assert not [call for call in aws.calls if "TrainingJob" in call]


def test_a_refusal_names_every_field(queue: TrainingQueue):
    with pytest.raises(RefusedError, match=r"ResourceConfig\.InstanceCount: ask for at most 2"):
        queue.submit(trainer(compute=Compute(instance_type="ml.p5.48xlarge", instance_count=3)))


def test_training_on_this_machine_is_not_queued(queue: TrainingQueue, server: ContractServer):
    with pytest.raises(UsageError, match=r"Mode\.SAGEMAKER_TRAINING_JOB"):
        queue.submit(trainer(training_mode=Mode.LOCAL_CONTAINER))
    assert server.received == []


def test_a_step_of_a_pipeline_is_not_queued(queue: TrainingQueue, server: ContractServer):
    pipeline = PipelineSession(boto_session=boto_session(), default_bucket=BUCKET)

    with pytest.raises(UsageError, match="use an ordinary session"):
        queue.submit(trainer(sagemaker_session=pipeline))
    assert server.received == []


def test_an_experiment_is_for_estimators(queue: TrainingQueue):
    with pytest.raises(UsageError, match="experiment_config is for estimators"):
        queue.submit(trainer(), experiment_config={"TrialName": "t"})


# --------------------------------------------------------------------------------------------------- get_model_trainer


def finish(server: ContractServer, aws: AwsStub, **changes: Any) -> None:
    """Complete job1 in its second attempt, in both the queue and SageMaker."""
    job = server.queue.jobs["job1"]
    job.update(
        jobState="completed",
        endedTime="2026-01-02T04:00:00.000Z",
        attempts=[_attempt("job1", 1, "Stopped"), _attempt("job1-r2", 2, "Completed")],
    )
    said = {name: value for name, value in job["request"].items() if name not in {"TrainingJobName", "Tags"}}
    for name, status in (("job1", "Stopped"), ("job1-r2", "Completed")):
        model = {"S3ModelArtifacts": f"s3://bucket/out/{name}/output/model.tar.gz"}
        aws.training_jobs[name] = training_job(name, status, status, **{**said, "ModelArtifacts": model, **changes})


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


def test_a_trainer_is_attached_to_the_attempt_that_made_the_model(
    queue: TrainingQueue, server: ContractServer, aws: AwsStub
):
    queue.submit(trainer(), job_name="job1")
    finish(server, aws)

    attached = queue.get_job("job1").get_model_trainer(boto_session())

    latest = attached._latest_training_job
    assert latest.training_job_name == "job1"
    assert latest.model_artifacts.s3_model_artifacts == "s3://bucket/out/job1-r2/output/model.tar.gz"
    latest.refresh()
    assert latest.training_job_status == "Completed"
    assert latest.model_artifacts.s3_model_artifacts == "s3://bucket/out/job1-r2/output/model.tar.gz"


def test_an_attached_trainer_has_the_settings_of_its_job(
    queue: TrainingQueue, server: ContractServer, aws: AwsStub, sources: str
):
    settings: dict[str, Any] = {
        "compute": Compute(
            instance_type="ml.p5.48xlarge", instance_count=2, volume_size_in_gb=99, enable_managed_spot_training=True
        ),
        "stopping_condition": StoppingCondition(max_runtime_in_seconds=3600, max_wait_time_in_seconds=7200),
        "checkpoint_config": CheckpointConfig(s3_uri="s3://bucket/checkpoints"),
        "environment": {"DEBUG": "1"},
        "hyperparameters": {"epochs": "3"},
        "tags": [Tag(key="project", value="x"), Tag(key="priority", value="3")],
    }
    queue.submit(
        trainer(**settings, source_code=SourceCode(source_dir=sources, entry_script="train.py")), TRAIN, "job1"
    )
    finish(server, aws, VpcConfig={"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]}, EnableNetworkIsolation=True)

    attached = queue.get_job("job1").get_model_trainer(boto_session())
    name = queue.submit(attached).job_name

    first, again = (server.queue.jobs[each]["request"] for each in ("job1", name))
    assert name.startswith("job1-")
    assert again["ResourceConfig"] == first["ResourceConfig"]
    for part in ("StoppingCondition", "CheckpointConfig", "Environment", "HyperParameters", "Tags", "RoleArn"):
        assert again[part] == first[part], part
    assert [each["ChannelName"] for each in again["InputDataConfig"]] == ["train"]
    assert again["VpcConfig"] == {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]}
    assert again["EnableNetworkIsolation"] is True
    assert again["EnableManagedSpotTraining"] is True


def test_the_next_training_of_an_attached_trainer_is_queued(queue: TrainingQueue, server: ContractServer, aws: AwsStub):
    queue.submit(trainer(), job_name="job1")
    finish(server, aws)

    queue.get_job("job1").get_model_trainer(boto_session()).train(wait=False)

    assert len(server.queue.jobs) == 2
    assert not [call for call in aws.calls if "CreateTrainingJob" in call]


def test_a_generated_name_does_not_grow(queue: TrainingQueue, server: ContractServer, aws: AwsStub):
    name = queue.submit(trainer(base_job_name="vision")).job_name
    server.queue.jobs["job1"] = {**server.queue.jobs.pop(name), "jobName": "job1"}
    server.queue.jobs["job1"]["request"]["TrainingJobName"] = "job1"
    finish(server, aws)
    server.queue.jobs[name] = {**server.queue.jobs.pop("job1"), "jobName": name}

    assert queue.get_job(name).get_model_trainer(boto_session()).base_job_name == "vision"


def test_there_is_no_trainer_of_a_job_that_waits_for_its_first_start(queue: TrainingQueue, server: ContractServer):
    server.queue.add("job1")

    with pytest.raises(NoTrainingJobError, match="it is pending"):
        queue.get_job("job1").get_model_trainer()


def test_an_estimator_needs_the_other_sdk(queue: TrainingQueue, server: ContractServer, aws: AwsStub):
    queue.submit(trainer(), job_name="job1")
    finish(server, aws)

    with pytest.raises(UsageError, match=r"needs the SageMaker Python SDK 2: pip install .*\[sdk2\]'"):
        queue.get_job("job1").get_estimator()


# --------------------------------------------------------------------------------------------------------- the example


def test_the_example_of_a_trainer(server: ContractServer):
    settings = {
        "training_image": IMAGE,
        "role": ROLE,
        "compute": Compute(instance_type="ml.p5.48xlarge", instance_count=1),
        "base_job_name": "vision",
    }

    exec(example("docs/how-to/clients/training-queue.md", "A ModelTrainer of SDK 3"), {"settings": settings})

    (job,) = server.queue.jobs.values()
    assert job["priority"] == 5
    assert job["request"]["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"] == "s3://data/train"


def test_a_job_has_the_priority_of_an_installation(api: HeadwayApi, queue: TrainingQueue, server: ContractServer):
    install(api, priority=4)
    queue.submit(trainer(), job_name="a")

    assert server.queue.jobs["a"]["priority"] == 4
