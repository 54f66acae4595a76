"""Scripts that run as they would on SageMaker: their input, their output, and how they end."""

from __future__ import annotations

import json

import pytest

from tests.docs.test_docs import blocks
from tests.sandbox.fleets import on
from tests.sandbox.training.conftest import DISK_BYTES
from tests.sandbox.training.jobs import Jobs, checkpoints
from tests.sandbox.training.step_scripts import lost_steps, steps
from tests.sandbox.waiting import until

pytestmark = pytest.mark.e2e


def test_a_script_finds_its_input_where_sagemaker_places_it(jobs: Jobs):
    script = """
import json, os, pathlib
config = pathlib.Path("/opt/ml/input/config")
read = lambda name: json.loads((config / f"{name}.json").read_text())
print(json.dumps([read("hyperparameters"), read("inputdataconfig"), read("resourceconfig"), os.environ["MINE"]]))
print(os.environ["TRAINING_JOB_NAME"], os.getcwd(), os.getpid())
"""
    described = jobs.run("input", script, HyperParameters={"lr": "0.1"}, Environment={"MINE": "x"})
    assert described["TrainingJobStatus"] == "Completed"
    first, second = jobs.log("input")
    hyperparameters, channels, resources, variable = json.loads(first)
    assert (hyperparameters, variable) == ({"lr": "0.1"}, "x")
    assert channels == {
        "code": {"TrainingInputMode": "File", "S3DistributionType": "FullyReplicated", "RecordWrapperType": "None"}
    }
    assert (resources["current_host"], resources["hosts"]) == ("algo-1", ["algo-1"])
    assert second == "input /opt/ml 1"


def test_the_model_and_the_output_are_uploaded_as_archives(jobs: Jobs):
    script = """
import pathlib
pathlib.Path("/opt/ml/model/deep/er").mkdir(parents=True)
pathlib.Path("/opt/ml/model/deep/er/weights").write_bytes(b"w")
pathlib.Path("/opt/ml/output/data/plot").write_bytes(b"p")
"""
    described = jobs.run("artifacts", script)
    assert described["ModelArtifacts"]["S3ModelArtifacts"].endswith("output/artifacts/output/model.tar.gz")
    assert jobs.archive("artifacts") == {"deep/er/weights": b"w"}
    assert jobs.archive("artifacts", "output") == {"plot": b"p"}


def test_a_script_that_writes_no_model_completes_and_leaves_no_archive(jobs: Jobs):
    assert jobs.run("no-model", "print('done')")["TrainingJobStatus"] == "Completed"
    assert jobs.keys("output/no-model/") == []


def test_metrics_that_a_script_prints_are_in_its_description_and_in_cloudwatch(jobs: Jobs):
    algorithm = {
        "TrainingImage": "train",
        "TrainingInputMode": "File",
        "ContainerEntrypoint": ["python", "/opt/ml/input/data/code/train.py"],
        "MetricDefinitions": [{"Name": "loss", "Regex": r"loss=([0-9.]+)"}, {"Name": "wrong", "Regex": "("}],
    }
    described = jobs.run("metrics", "print('loss=2.5'); print('loss=0.5')", AlgorithmSpecification=algorithm)
    assert [(entry["MetricName"], entry["Value"]) for entry in described["FinalMetricDataList"]] == [("loss", 0.5)]
    metrics = jobs.sb.client("cloudwatch").list_metrics(
        Namespace="/aws/sagemaker/TrainingJobs", MetricName="loss", Dimensions=[{"Name": "TrainingJobName"}]
    )["Metrics"]
    assert [metric["Dimensions"] for metric in metrics] == [[{"Name": "TrainingJobName", "Value": "metrics"}]]


def test_a_stopped_job_continues_in_the_next_one_from_its_checkpoint(jobs: Jobs):
    last, every = 200, 4
    script = steps(last=last, every=every)
    jobs.start("periodic-1", script, **checkpoints(jobs.sb, "periodic"))
    jobs.wait_for_line("periodic-1", "step 10")
    jobs.stop("periodic-1")
    assert jobs.end("periodic-1")["TrainingJobStatus"] == "Stopped"
    assert jobs.run("periodic-2", script, **checkpoints(jobs.sb, "periodic"))["TrainingJobStatus"] == "Completed"
    (lost,) = lost_steps([*jobs.log("periodic-1"), *jobs.log("periodic-2")])
    assert 0 <= lost <= every
    assert jobs.archive("periodic-2") == {"steps": b"200"}


def test_a_script_that_handles_sigterm_loses_no_step(jobs: Jobs):
    script = steps(last=200, every=1000, handles_sigterm=True)
    jobs.start("handled-1", script, **checkpoints(jobs.sb, "handled"))
    jobs.wait_for_line("handled-1", "step 5")
    jobs.stop("handled-1")
    jobs.end("handled-1")
    saved = jobs.log("handled-1")[-1].removeprefix("saved ")
    jobs.run("handled-2", script, **checkpoints(jobs.sb, "handled"))
    assert jobs.log("handled-2")[0] == f"begins at {saved}"


def test_a_script_that_ignores_sigterm_is_killed_after_the_grace_period(jobs: Jobs):
    jobs.start("deaf", "import time; print('runs', flush=True); time.sleep(600)")
    jobs.wait_for_line("deaf", "runs")
    jobs.stop("deaf")
    described = jobs.end("deaf")
    assert (described["TrainingJobStatus"], described.get("FailureReason")) == ("Stopped", None)


def test_a_stop_does_not_wait_for_the_upload_of_checkpoints_which_is_done_in_the_end(jobs: Jobs):
    number = 500
    script = f"""
import pathlib, signal, sys, time
def on_sigterm(*_):
    print("stops")
    time.sleep(1)
    sys.exit(0)
signal.signal(signal.SIGTERM, on_sigterm)
for number in range({number}):
    pathlib.Path(f"/opt/ml/checkpoints/{{number:05}}").write_text("weights")
print("saved")
time.sleep(600)
"""
    jobs.start("many", script, **checkpoints(jobs.sb, "many"))
    jobs.wait_for_line("many", "saved")
    until(lambda: jobs.keys("checkpoints/many/00000"))
    jobs.stop("many")
    jobs.wait_for_line("many", "stops")
    last = f"checkpoints/many/{number - 1:05}"
    assert jobs.keys(last) == []
    assert jobs.end("many")["TrainingJobStatus"] == "Stopped"
    assert jobs.keys(last) == [last]


def test_the_run_time_limit_stops_a_script(jobs: Jobs):
    limit = {"StoppingCondition": {"MaxRuntimeInSeconds": 1}}
    described = jobs.run("too-long", "import time; time.sleep(600)", **limit)
    assert (described["TrainingJobStatus"], described["SecondaryStatus"]) == ("Stopped", "MaxRuntimeExceeded")


def test_an_interrupted_spot_job_begins_again_from_its_checkpoint(jobs: Jobs):
    spot = {
        "EnableManagedSpotTraining": True,
        "StoppingCondition": {"MaxRuntimeInSeconds": 600, "MaxWaitTimeInSeconds": 1200},
    }
    script = steps(last=200, every=1, handles_sigterm=True)
    jobs.start("spot", script, **spot, **checkpoints(jobs.sb, "spot"))
    jobs.wait_for_line("spot", "step 5")
    jobs.sb.interrupt("spot")
    described = jobs.end("spot")
    assert described["TrainingJobStatus"] == "Completed"
    statuses = [entry["Status"] for entry in described["SecondaryStatusTransitions"]]
    assert statuses.count("Training") == 2
    lines = jobs.log("spot")
    (saved,) = [line.removeprefix("saved ") for line in lines if line.startswith("saved ")]
    assert f"begins at {saved}" in lines


def test_an_interrupted_job_that_ends_late_begins_again_only_then(jobs: Jobs):
    script = """
import pathlib, time
begun = pathlib.Path("/opt/ml/checkpoints/begun")
print("again" if begun.exists() else "first")
if not begun.exists():
    begun.touch()
    time.sleep(600)
"""
    spot = {
        "EnableManagedSpotTraining": True,
        "StoppingCondition": {"MaxRuntimeInSeconds": 600, "MaxWaitTimeInSeconds": 1200},
    }
    jobs.start("late", script, **spot, **checkpoints(jobs.sb, "late"))
    jobs.wait_for_line("late", "first")
    jobs.sb.interrupt("late")
    assert jobs.end("late")["TrainingJobStatus"] == "Completed"
    assert jobs.log("late") == ["first", "again"]


def test_the_hosts_of_a_job_reach_each_other_by_name(jobs: Jobs):
    script = """
import json, socket, time
me = json.load(open("/opt/ml/input/config/resourceconfig.json"))
print(socket.gethostname(), me["current_group_name"], me["current_instance_type"])
if me["current_host"] == "algo-1":
    with socket.create_server(("algo-1", 5000)) as server:
        for _ in me["hosts"][1:]:
            connection, _address = server.accept()
            print(connection.recv(99).decode())
else:
    while True:
        try:
            connection = socket.create_connection(("algo-1", 5000))
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    connection.sendall(b"from " + me["current_host"].encode())
"""
    groups = [
        {"InstanceGroupName": "gpu", "InstanceType": "ml.g5.xlarge", "InstanceCount": 1},
        {"InstanceGroupName": "cpu", "InstanceType": "ml.c5.xlarge", "InstanceCount": 2},
    ]
    resources = {"InstanceGroups": groups, "VolumeSizeInGB": 30}
    assert jobs.run("hosts", script, ResourceConfig=resources)["TrainingJobStatus"] == "Completed"
    assert jobs.log("hosts", 1)[0] == "algo-1 gpu ml.g5.xlarge"
    assert sorted(jobs.log("hosts", 1)[1:]) == ["from algo-2", "from algo-3"]
    assert jobs.log("hosts", 3) == ["algo-3 cpu ml.c5.xlarge"]


def test_a_job_runs_until_all_of_its_hosts_have_ended(jobs: Jobs):
    script = """
import socket, sys, time
if socket.gethostname() == "algo-1":
    sys.exit(7)
time.sleep(1)
print("done")
"""
    described = jobs.run("one-fails", script, ResourceConfig=on("ml.m5.xlarge", 2))
    assert described["FailureReason"].endswith("exit code: 7")
    assert jobs.log("one-fails", 2) == ["done"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "import sys; open('/opt/ml/output/failure', 'w').write('out of ideas'); sys.exit(3)",
            "out of ideas, exit code: 3",
        ),
        ("import nonesuch", "ModuleNotFoundError: No module named 'nonesuch', exit code: 1"),
        ("for", "SyntaxError: invalid syntax, exit code: 1"),
        ("import os; os.kill(os.fork() or os.getpid(), 9)\nimport sys; sys.exit(137)", ", exit code: 137"),
    ],
    ids=["failure file", "missing module", "syntax error", "killed"],
)
def test_a_script_that_fails_has_a_reason_that_helps(
    jobs: Jobs, request: pytest.FixtureRequest, script: str, reason: str
):
    described = jobs.run(f"fails-{request.node.callspec.indices['script']}", script)
    assert described["TrainingJobStatus"] == "Failed"
    assert described["FailureReason"].startswith("AlgorithmError: ")
    assert described["FailureReason"].endswith(reason)


def test_a_missing_program_and_a_missing_input_fail_with_what_is_missing(jobs: Jobs):
    algorithm = {"TrainingImage": "t", "TrainingInputMode": "File", "ContainerEntrypoint": ["nonesuch"]}
    reason = jobs.run("no-program", "pass", AlgorithmSpecification=algorithm)["FailureReason"]
    assert "cannot run nonesuch" in reason
    assert reason.endswith("exit code: 127")
    reason = jobs.run("no-input")["FailureReason"]
    assert reason.startswith("ClientError: Data download failed: No S3 objects found under S3 URL")


def test_a_missing_script_fails_with_its_path(jobs: Jobs):
    path = "/opt/ml/input/data/code/other.py"
    algorithm = {"TrainingImage": "t", "TrainingInputMode": "File", "ContainerEntrypoint": ["python", path]}
    reason = jobs.run("no-script", "pass", AlgorithmSpecification=algorithm)["FailureReason"]
    assert f"can't open file '{path}'" in reason
    assert reason.endswith("exit code: 2")


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ({"data": b"1", "data/part": b"1"}, "/data/part cannot be stored as a file: "),
        ({"n" * 300: b"1"}, "cannot be stored as a file: File name too long"),
        ({"a/../../../x": b"1"}, "has a part '..', which is not a name of a file"),
        (
            {"one": b"x" * (DISK_BYTES // 2), "two": b"x" * (DISK_BYTES // 2 + 1)},
            "No space left on device: the input of",
        ),
    ],
    ids=["a folder and a file of one name", "a long name", "a name that leads out", "more than the disk space"],
)
def test_objects_that_cannot_be_placed_fail_the_job(
    jobs: Jobs, request: pytest.FixtureRequest, objects: dict[str, bytes], message: str
):
    name = f"objects-{request.node.callspec.indices['objects']}"
    for key, body in objects.items():
        jobs.sb.client("s3").put_object(Bucket=jobs.sb.info.bucket, Key=f"code/{name}/{key}", Body=body)
    reason = jobs.run(name, "pass")["FailureReason"]
    assert reason.startswith("ClientError: Data download failed: ")
    assert message in reason


def test_the_disk_space_is_that_of_each_host(jobs: Jobs):
    """Three hosts together get more than one has room for."""
    jobs.sb.client("s3").put_object(
        Bucket=jobs.sb.info.bucket, Key="code/each-host/data", Body=b"x" * (DISK_BYTES // 2)
    )
    described = jobs.run("each-host", "print('trained')", ResourceConfig=on("ml.m5.xlarge", 3))
    assert described["TrainingJobStatus"] == "Completed"


def test_a_job_that_asks_for_it_is_a_timer_and_its_log_says_so(jobs: Jobs):
    jobs.start("timer", "print('never')", Environment={"SANDBOX_TRAIN": "false", "SANDBOX_RUN_SECONDS": "1"})
    until(lambda: any("it is a timer and runs no script: SANDBOX_TRAIN is false" in line for line in jobs.log("timer")))
    assert "never" not in jobs.log("timer")


def test_the_script_of_the_documentation_loses_at_most_the_steps_since_its_checkpoint(jobs: Jobs):
    script = blocks("docs/how-to/training-in-the-sandbox.md", "python")[0]
    jobs.start("documented-1", script, **checkpoints(jobs.sb, "documented"))
    jobs.wait_for_line("documented-1", "step 15")
    jobs.stop("documented-1")
    jobs.end("documented-1")
    assert jobs.run("documented-2", script, **checkpoints(jobs.sb, "documented"))["TrainingJobStatus"] == "Completed"
    (lost,) = lost_steps([*jobs.log("documented-1"), *jobs.log("documented-2")])
    assert 0 <= lost <= 10
