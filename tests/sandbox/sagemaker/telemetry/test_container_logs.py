from __future__ import annotations

import itertools
from typing import Any

import pytest

from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.telemetry import container_logs
from headway_sandbox.sagemaker.telemetry.container_logs import STEPS_MAX, checkpointed_step
from headway_sandbox.sagemaker.training_job import TrainingJob
from tests.sandbox.fleets import on, request, spot

TRAINS_S = 210.0  # when a job begins to train: 180 s until it has instances, 30 s for the image
FOLDER = "s3://jobs/checkpoints/train"
CHECKPOINTS: dict[str, Any] = {"CheckpointConfig": {"S3Uri": f"{FOLDER}/"}}
STREAM = "train-1/algo-1-210000"
LONG = {"SANDBOX_RUN_SECONDS": "86400"}


def found(fleet: FakeSageMaker, name: str = "train-1", *, now: float) -> TrainingJob:
    job = fleet.find(name, now=now)
    assert job is not None
    return job


def printed(job: TrainingJob, *, until_s: float, found_step: int = 0) -> dict[str, list[tuple[float, str]]]:
    """Return the contents of each stream."""
    streams: dict[str, list[tuple[float, str]]] = {}
    for line in container_logs.lines(job, after_s=0.0, until_s=until_s, found_step=found_step):
        streams.setdefault(line.stream, []).append((line.time_s, line.text))
    return streams


def texts(job: TrainingJob, *, until_s: float, found_step: int = 0) -> list[str]:
    """Return all lines of the first host, of any stream."""
    streams = printed(job, until_s=until_s, found_step=found_step)
    return [text for stream, lines in streams.items() if "/algo-1-" in stream for _time_s, text in lines]


def test_a_run_prints_where_it_begins_its_steps_and_its_exit_status():
    fleet = FakeSageMaker()
    fleet.create(request(Environment={"SANDBOX_RUN_SECONDS": "150"}), now=0.0)
    assert printed(found(fleet, now=400.0), until_s=400.0) == {
        STREAM: [
            (TRAINS_S, "training job train-1 begins on algo-1 of 1 (ml.p5.48xlarge)"),
            (TRAINS_S, "no checkpoints: training from step 0"),
            (TRAINS_S + 60, "step 60: loss 3.7736"),
            (TRAINS_S + 120, "step 120: loss 3.5714"),
            (TRAINS_S + 150, "exit status 0"),
        ]
    }


def test_every_host_of_every_instance_group_has_a_separate_stream():
    groups = [
        {"InstanceGroupName": "gpu", "InstanceType": "ml.g5.xlarge", "InstanceCount": 2},
        {"InstanceGroupName": "cpu", "InstanceType": "ml.c5.4xlarge", "InstanceCount": 1},
    ]
    fleet = FakeSageMaker()
    fleet.create(request(ResourceConfig={"InstanceGroups": groups, "VolumeSizeInGB": 30}), now=0.0)
    streams = printed(found(fleet, now=300.0), until_s=300.0)
    assert {stream: lines[0][1] for stream, lines in streams.items()} == {
        "train-1/algo-1-210000": "training job train-1 begins on algo-1 of 3 (ml.g5.xlarge)",
        "train-1/algo-2-210000": "training job train-1 begins on algo-2 of 3 (ml.g5.xlarge)",
        "train-1/algo-3-210000": "training job train-1 begins on algo-3 of 3 (ml.c5.4xlarge)",
    }
    assert len({tuple(lines[1:]) for lines in streams.values()}) == 1


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({}, ["SIGTERM received: ending at step 90", "exit status 143"]),
        (CHECKPOINTS, [f"SIGTERM received: saving checkpoint {FOLDER}/step-90", "exit status 143"]),
    ],
    ids=["without checkpoints", "with checkpoints"],
)
def test_a_stopped_job_receives_sigterm_and_ends_within_its_grace(changes: dict[str, Any], end: list[str]):
    fleet = FakeSageMaker()
    fleet.create(request(Environment={**LONG, "SANDBOX_STOP_SECONDS": "50"}, **changes), now=0.0)
    fleet.stop("train-1", now=TRAINS_S + 90)
    assert texts(found(fleet, now=TRAINS_S + 139), until_s=TRAINS_S + 139)[-1] == end[0]
    lines = printed(found(fleet, now=TRAINS_S + 500), until_s=TRAINS_S + 500)[STREAM]
    assert lines[-2:] == [(TRAINS_S + 90, end[0]), (TRAINS_S + 140, end[1])]


def test_a_job_at_its_limit_also_receives_sigterm():
    fleet = FakeSageMaker()
    fleet.create(request(StoppingCondition={"MaxRuntimeInSeconds": 100}), now=0.0)
    assert texts(found(fleet, now=1000.0), until_s=1000.0)[-2:] == [
        "SIGTERM received: ending at step 70",
        "exit status 143",
    ]


@pytest.mark.parametrize(
    ("reason", "end"),
    [
        ("AlgorithmError: exit code 1", ["AlgorithmError: exit code 1", "exit status 1"]),
        ("InternalServerError: We encountered an internal error.", ["exit status 137"]),
    ],
)
def test_a_failed_job_has_the_known_reason(reason: str, end: list[str]):
    fleet = FakeSageMaker()
    fleet.create(request(Environment={"SANDBOX_RUN_SECONDS": "30", "SANDBOX_OUTCOME": reason}), now=0.0)
    assert texts(found(fleet, now=400.0), until_s=400.0)[2:] == end


@pytest.mark.parametrize("stopped_s", [10.0, 100.0, 200.0])
def test_a_job_that_never_trains_prints_nothing(stopped_s: float):
    fleet = FakeSageMaker()
    fleet.create(request(), now=0.0)
    fleet.stop("train-1", now=stopped_s)
    assert printed(found(fleet, now=1000.0), until_s=1000.0) == {}


def test_a_job_finished_by_a_test_still_prints_begin_and_end():
    fleet = FakeSageMaker()
    fleet.create(request(), now=0.0)
    fleet.finish("train-1", now=5.0)
    assert [text for _time_s, text in printed(found(fleet, now=6.0), until_s=6.0)["train-1/algo-1-5000"]][-1] == (
        "exit status 0"
    )


# --------------------------------------------------------------------------------------------------- checkpoints


@pytest.mark.parametrize(
    ("changes", "origin", "step"),
    [
        (CHECKPOINTS, f"resumed from checkpoint {FOLDER}/step-60", "step 120: loss 3.5714"),
        ({}, "no checkpoints: training from step 0", "step 60: loss 3.7736"),
    ],
    ids=["with checkpoints", "without checkpoints"],
)
def test_a_restarted_spot_job_prints_to_a_new_stream(changes: dict[str, Any], origin: str, step: str):
    fleet = FakeSageMaker()
    fleet.create(spot(Environment=LONG, **changes), now=0.0)
    fleet.interrupt("train-1", now=TRAINS_S + 60)
    again_s = next(
        each.start for each in found(fleet, now=1500.0).transitions if each.status == "Training" and each.start > 300
    )
    streams = printed(found(fleet, now=again_s + 60), until_s=again_s + 60)
    first, second = streams.values()
    assert list(streams) == [STREAM, f"train-1/algo-1-{int(again_s * 1000)}"]
    assert [text for _time_s, text in first][-1] == "exit status 143"
    assert [text for _time_s, text in second][1:] == [origin, step]


def test_a_job_finds_the_checkpoints_of_earlier_jobs_in_its_folder():
    fleet = FakeSageMaker()
    for name, stopped_s in (("train-1", 300.0), ("train-2", 1300.0), ("elsewhere", 1300.0), ("train-3", 2300.0)):
        folder = f"{FOLDER}-2" if name == "elsewhere" else FOLDER
        changes = {"Environment": LONG, "CheckpointConfig": {"S3Uri": folder}}
        fleet.create(request(name, **changes), now=stopped_s - 300.0)
        fleet.stop(name, now=stopped_s)
    jobs = fleet.jobs(now=5000.0)
    steps = {job.name: checkpointed_step(job, jobs) for job in jobs}
    # Each trained for 90 s. The one with another folder began beside the second one.
    assert steps == {"train-1": 0, "train-2": 90, "elsewhere": 0, "train-3": 180}
    assert texts(jobs[0], until_s=5000.0)[1] == f"no checkpoint in {FOLDER} yet: training from step 0"
    shown = texts(jobs[-1], until_s=5000.0, found_step=180)
    assert shown[1] == f"resumed from checkpoint {FOLDER}/step-180"
    assert shown[-2] == f"SIGTERM received: saving checkpoint {FOLDER}/step-270"


def test_a_job_without_checkpoints_finds_none():
    fleet = FakeSageMaker()
    for number in (1, 2):
        fleet.create(request(f"train-{number}", Environment={"SANDBOX_RUN_SECONDS": "60"}), now=number * 1000.0)
    jobs = fleet.jobs(now=5000.0)
    assert [checkpointed_step(job, jobs) for job in jobs] == [0, 0]


# ------------------------------------------------------------------------------------------------------ rate limits


@pytest.mark.parametrize("interval_s", [60.0, 600.0])
def test_steps_are_printed_an_interval_apart(interval_s: float):
    fleet = FakeSageMaker()
    fleet.create(request(Environment=LONG, StoppingCondition={"MaxRuntimeInSeconds": 86_400}), now=0.0)
    until_s = TRAINS_S + 10.5 * interval_s
    job = found(fleet, now=until_s)
    found_lines = container_logs.lines(job, after_s=0.0, until_s=until_s, interval_s=interval_s)
    times = [line.time_s for line in found_lines if line.text.startswith("step ")]
    assert [round(time_s - TRAINS_S, 6) for time_s in times] == [number * interval_s for number in range(1, 11)]


def test_the_steps_of_a_host_are_limited():
    fleet = FakeSageMaker()
    condition = {"MaxRuntimeInSeconds": 864_000}
    environment = {"SANDBOX_RUN_SECONDS": "432000"}
    fleet.create(request(Environment=environment, StoppingCondition=condition, ResourceConfig=on("ml.m5.large")), now=0)
    shown = texts(found(fleet, now=500_000.0), until_s=500_000.0)
    assert len(shown) == 2 + STEPS_MAX + 1
    assert shown[-1] == "exit status 0"


@pytest.mark.parametrize("width_s", [0.7, 1.0, 13.0, 60.0, 61.0])
def test_each_line_appears_once_for_any_division_of_time(width_s: float):
    fleet = FakeSageMaker()
    fleet.create(spot(Environment={"SANDBOX_RUN_SECONDS": "300"}, **CHECKPOINTS), now=0.0)
    fleet.interrupt("train-1", now=TRAINS_S + 100)
    job = found(fleet, now=3000.0)
    whole = list(container_logs.lines(job, after_s=0.0, until_s=3000.0))
    cuts = [number * width_s for number in range(int(3000.0 / width_s) + 2)]
    parts = [
        line
        for after_s, until_s in itertools.pairwise(cuts)
        for line in container_logs.lines(job, after_s=after_s, until_s=until_s)
    ]
    assert parts == whole
