from __future__ import annotations

import json
from typing import Any

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.telemetry.utilization import figures, figures_of
from headway_sandbox.sagemaker.training_job import TrainingJob
from tests.sandbox.fleets import on, request, spot

TRAINS_S = 210.0  # when a job begins to train: 180 s until it has instances, 30 s for the image
BASE = ["CPUUtilization", "MemoryUtilization", "DiskUtilization"]
GPU = ["GPUUtilization", "GPUMemoryUtilization"]


def environment(gpu: str | None = None, cpu: str | None = None, run_s: int = 3600) -> dict[str, str]:
    values = {"SANDBOX_GPU_UTILIZATION": gpu, "SANDBOX_CPU_UTILIZATION": cpu, "SANDBOX_RUN_SECONDS": str(run_s)}
    return {name: value for name, value in values.items() if value is not None}


def trained(until_s: float, **changes: Any) -> TrainingJob:
    """Return a job created at 0, as of that time."""
    fleet = FakeSageMaker()
    fleet.create(request(**{"Environment": environment(), **changes}), now=0.0)
    job = fleet.find("train-1", now=until_s)
    assert job is not None
    return job


def shown(job: TrainingJob, metric: str, *, host: int = 1, after_s: float = 0.0, until_s: float) -> list[float]:
    found = figures(job, after_s=after_s, until_s=until_s)
    return [each.percent for each in found if (each.metric, each.host) == (metric, f"train-1/algo-{host}")]


# ----------------------------------------------------------------------------------------------------------- metrics


@pytest.mark.parametrize(
    ("instance_type", "metrics"),
    [
        ("ml.p5.48xlarge", BASE + GPU),
        ("ml.g5.xlarge", BASE + GPU),
        ("ml.trn1.32xlarge", BASE),
        ("ml.m5.large", BASE),
    ],
)
def test_a_host_has_the_metrics_of_its_instance_type(instance_type, metrics):
    job = trained(TRAINS_S, ResourceConfig=on(instance_type))
    found = [each.metric for each in figures(job, after_s=0.0, until_s=TRAINS_S)]
    assert found == metrics


def test_hosts_are_numbered_over_all_instance_groups_in_order():
    groups = [
        {"InstanceGroupName": "gpu", "InstanceType": "ml.g5.12xlarge", "InstanceCount": 2},
        {"InstanceGroupName": "cpu", "InstanceType": "ml.c5.4xlarge", "InstanceCount": 1},
    ]
    job = trained(TRAINS_S, ResourceConfig={"InstanceGroups": groups, "VolumeSizeInGB": 30})
    found = list(figures(job, after_s=0.0, until_s=TRAINS_S))
    busy = [(each.host, each.percent) for each in found if each.metric == "GPUUtilization"]
    assert busy == [("train-1/algo-1", 360.0), ("train-1/algo-2", 360.0)]
    assert {each.host for each in found} == {"train-1/algo-1", "train-1/algo-2", "train-1/algo-3"}


def test_only_training_jobs_have_metrics():
    job = trained(10_000.0)
    found = {each.time_s for each in figures(job, after_s=0.0, until_s=10_000.0)}
    assert (min(found), max(found), len(found)) == (TRAINS_S, TRAINS_S + 3540, 60)
    assert not list(figures(trained(200.0), after_s=0.0, until_s=200.0))


@pytest.mark.parametrize("cut_s", [TRAINS_S - 1, TRAINS_S, TRAINS_S + 0.5, TRAINS_S + 60, TRAINS_S + 119.9])
def test_each_sample_appears_once_for_any_division_of_time(cut_s):
    job = trained(600.0)
    whole = list(figures(job, after_s=0.0, until_s=600.0))
    parts = [
        *figures(job, after_s=0.0, until_s=cut_s),
        *figures(job, after_s=cut_s, until_s=600.0),
    ]
    assert sorted(parts) == sorted(whole)


@pytest.mark.parametrize("interval_s", [60.0, 600.0])
def test_samples_are_an_interval_apart(interval_s):
    fleet = FakeSageMaker()
    fleet.create(request(Environment=environment(run_s=36_000)), now=0.0)
    job = fleet.find("train-1", now=20_000.0)
    assert job is not None
    found = figures_of(job, metric="CPUUtilization", number=1, after_s=0.0, until_s=20_000.0, interval_s=interval_s)
    times = [time_s for time_s, _percent in found]
    assert times[0] == TRAINS_S
    assert times[5] - times[4] == pytest.approx(interval_s)


# ---------------------------------------------------------------------------------------------------------- profiles


def test_a_profile_counts_training_time():
    job = trained(600.0, Environment=environment("0:760,120:0,240:5.5"))
    assert shown(job, "GPUUtilization", until_s=TRAINS_S + 300) == [760.0, 760.0, 0.0, 0.0, 5.5, 5.5]


def test_hosts_may_differ_and_the_last_profile_applies_to_all_further_hosts():
    config = on("ml.p5.48xlarge", 3)
    job = trained(TRAINS_S, ResourceConfig=config, Environment=environment("0:800;0:0", "0:4000"))
    assert [shown(job, "GPUUtilization", host=host, until_s=TRAINS_S) for host in (1, 2, 3)] == [[800.0], [0.0], [0.0]]
    assert shown(job, "CPUUtilization", host=3, until_s=TRAINS_S) == [4000.0]


@pytest.mark.parametrize(("checkpoint", "later"), [({"S3Uri": "s3://jobs/checkpoints"}, 0.0), (None, 760.0)])
def test_an_interrupted_job_resumes_only_with_a_checkpoint(checkpoint, later):
    fleet = FakeSageMaker()
    changes = {"CheckpointConfig": checkpoint, "Environment": environment("0:760,100:0")}
    fleet.create(spot(**changes), now=0.0)
    fleet.interrupt("train-1", now=TRAINS_S + 90)
    job = fleet.find("train-1", now=2000.0)
    assert job is not None
    again_s = [each.start for each in job.transitions if each.status == "Training"][1]
    assert shown(job, "GPUUtilization", until_s=again_s) == [760.0, 760.0, 760.0]
    assert shown(job, "GPUUtilization", after_s=again_s, until_s=again_s + 60) == [later]


@pytest.mark.parametrize(
    ("metric", "number"), [("GPUUtilization", 2), ("GPUUtilization", 0), ("NeuronCoreUtilization", 1)]
)
def test_missing_metrics_and_hosts_have_no_samples(metric, number):
    job = trained(600.0)
    assert figures_of(job, metric=metric, number=number, after_s=0.0, until_s=600.0) == []


def test_a_saved_job_has_the_same_metrics():
    job = trained(600.0, Environment=environment("0:760,120:0;0:1"))
    again = TrainingJob.from_document(json.loads(json.dumps(job.to_document())))
    found = [list(figures(each, after_s=0.0, until_s=600.0)) for each in (job, again)]
    assert found[0] == found[1] != []


# ------------------------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    "text",
    ["", "760", "0:760,", "10:760", "0:760,0:0", "0:760,600:0,300:1", "0:-1", "0:1e9", "0:nan", "0:many", "0:1;"],
)
@pytest.mark.parametrize("name", ["SANDBOX_GPU_UTILIZATION", "SANDBOX_CPU_UTILIZATION"])
def test_an_invalid_profile_is_refused(name, text):
    with pytest.raises(AwsError, match=f"Sandbox: {name} must be like"):
        FakeSageMaker().create(request(Environment={name: text}), now=0.0)


@pytest.mark.parametrize(
    ("instance_type", "gpu", "most"), [("ml.p5.48xlarge", "0:801", 800), ("ml.g5.xlarge", "0:90,60:101", 100)]
)
def test_no_host_is_busier_than_its_gpus(instance_type, gpu, most):
    with pytest.raises(AwsError, match=f"at most {most} for {instance_type}"):
        FakeSageMaker().create(request(ResourceConfig=on(instance_type), Environment=environment(gpu)), now=0.0)


def test_an_unknown_variable_of_the_sandbox_is_refused():
    with pytest.raises(AwsError, match=r"unknown SANDBOX_GPU_UTILISATION\. Known: SANDBOX_RUN_SECONDS"):
        FakeSageMaker().create(request(Environment={"SANDBOX_GPU_UTILISATION": "0:0"}), now=0.0)
    FakeSageMaker().create(request(Environment={"EPOCHS": "3"}), now=0.0)
