"""The queue for a whole process: `headway_client.install` and `python -m headway_client`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import boto3
import botocore.session
import pytest

import headway_client
from headway_client.__main__ import main
from headway_client.botocore_hooks.interrupt import MAX_PRINTED_JOBS, print_unfinished_jobs
from headway_client.botocore_hooks.job_cache import QueueJobs
from headway_client.cli.exit_codes import EXIT_INTERRUPTED, EXIT_USAGE
from headway_client.errors import UsageError
from headway_client.http.api import HeadwayApi
from headway_client.job_sentences import unfinished_sentence
from tests.client.fakes.aws_stub import AwsStub, training_job
from tests.client.fakes.contract import request
from tests.client.fakes.server import REGION, ContractServer, Fault
from tests.client.logs.test_reader import attempt


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsStub]:
    with AwsStub().running() as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
        monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
        yield running


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    create_client, at_ctrl_c = botocore.session.Session.create_client, signal.getsignal(signal.SIGINT)
    yield
    headway_client.uninstall()
    assert botocore.session.Session.create_client is create_client
    assert signal.getsignal(signal.SIGINT) is at_ctrl_c


def client(service: Literal["sagemaker", "logs"] = "sagemaker") -> Any:
    return boto3.Session().client(service)


def test_every_client_that_is_created_afterwards_goes_to_the_queue(
    api: HeadwayApi, server: ContractServer, aws: AwsStub
):
    older_session, older_client = boto3.Session(), client()
    headway_client.install(api, priority=4)

    client().create_training_job(**request("job1"))
    older_session.client("sagemaker").create_training_job(**request("job2"))
    with pytest.raises(older_client.exceptions.ResourceNotFound):
        older_client.describe_training_job(TrainingJobName="job1")

    assert [job["priority"] for job in server.queue.jobs.values()] == [4, 4]
    assert aws.calls == ["DescribeTrainingJob job1"]


def test_logs_are_under_the_jobs_name(api: HeadwayApi, server: ContractServer, aws: AwsStub):
    headway_client.install(api)
    server.queue.add("job1", attempts=[attempt(1, "job1")])
    aws.logs.write("job1/algo-1-170", 1, "line")

    page = client("logs").get_log_events(logGroupName="/aws/sagemaker/TrainingJobs", logStreamName="job1/algo-1")

    assert [event["message"] for event in page["events"]] == ["line"]


def test_an_attached_session_keeps_its_own_queue(api: HeadwayApi, server: ContractServer, aws: AwsStub):
    with ContractServer().running() as other:
        keys = api._transport._credentials
        headway_client.install(HeadwayApi(other.endpoint, region=REGION, credentials=keys))
        session = boto3.Session()
        headway_client.attach(session, api)
        server.queue.add("job1", attempts=[attempt(1, "job1")])
        aws.logs.write("job1/algo-1-170", 1, "line")

        session.client("logs").get_log_events(logGroupName="/aws/sagemaker/TrainingJobs", logStreamName="job1/algo-1")
        session.client("sagemaker").stop_training_job(TrainingJobName="job1")

        assert other.received == []
        assert server.queue.jobs["job1"]["jobState"] == "stopped"


def test_the_queue_is_found_as_the_command_line_finds_it(endpoint_set: str, server: ContractServer, aws: AwsStub):
    headway_client.install()

    client().create_training_job(**request("job1"))

    assert list(server.queue.jobs) == ["job1"]


def test_nothing_is_installed_without_an_endpoint(aws: AwsStub, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir("/")

    with pytest.raises(UsageError, match="HEADWAY_ENDPOINT"):
        headway_client.install()
    with pytest.raises(UsageError, match="HEADWAY_ENDPOINT"):
        headway_client.attach(boto3.Session())


def test_installing_again_replaces_and_uninstalling_ends_it(api: HeadwayApi, server: ContractServer, aws: AwsStub):
    headway_client.install(api, priority=1)
    headway_client.install(api, priority=2)
    client().create_training_job(**request("job1"))
    headway_client.uninstall()
    headway_client.uninstall()

    with pytest.raises(Exception, match="not found"):
        client().describe_training_job(TrainingJobName="job1")
    assert server.queue.jobs["job1"]["priority"] == 2
    assert len(server.received) == 1


def test_each_change_of_a_job_is_reported_once(api: HeadwayApi, server: ContractServer, aws: AwsStub):
    told: list[str] = []
    headway_client.install(api, tell=told.append)
    sagemaker = client()
    server.queue.add("first")
    sagemaker.create_training_job(**request("job1"))
    job = server.queue.jobs["job1"]
    aws.training_jobs["job1-r2"] = training_job("job1-r2", "InProgress", "Training")

    for change in (
        {},
        {},
        {"reason": {"code": "PoolFull", "message": "Waits until 14:05."}},
        {"jobState": "running", "liveAttempt": "job1", "reason": {"code": "Started", "message": "started"}},
        {},
        {"jobState": "preempted", "liveAttempt": None, "reason": {"code": "Waits", "message": "waits for \x1b[31mx"}},
        {"held": True, "reason": {"code": "Held", "message": "held by ada"}},
        {
            "held": False,
            "jobState": "running",
            "liveAttempt": "job1-r2",
            "attempts": [attempt(2, "job1-r2")],
            "reason": {"code": "Started", "message": "started"},
        },
        {"jobState": "completed", "liveAttempt": None, "endedTime": "2026-01-02T04:00:00.000Z"},
        {},
    ):
        job.update(change)
        sagemaker.describe_training_job(TrainingJobName="job1")

    assert told == [
        "job1 waits, place 2 in the queue: Waits for 1 ml.p5.48xlarge.",
        "job1 runs as job1: started",
        "job1 is preempted and waits for its next turn, place 2 in the queue: waits for \x1b[31mx",
        "job1 is held by ada",
        "job1 runs as job1-r2: started",
        "job1 has completed",
    ]


def test_clients_repeat_no_sentence_of_each_other(api: HeadwayApi, server: ContractServer, aws: AwsStub):
    sentences: list[str] = []
    headway_client.install(api, tell=sentences.append)
    client().create_training_job(**request("job1"))
    server.queue.jobs["job1"]["jobState"] = "completed"

    for _ in range(2):
        boto3.Session().client("sagemaker").describe_training_job(TrainingJobName="job1")

    assert sentences == ["job1 waits, place 1 in the queue: Waits for 1 ml.p5.48xlarge.", "job1 has completed"]


def test_jobs_of_others_that_are_described_or_listed_are_not_reported(
    api: HeadwayApi, server: ContractServer, aws: AwsStub
):
    sentences: list[str] = []
    headway_client.install(api, tell=sentences.append)
    other = server.queue.add("others")
    for state in ("pending", "running", "completed"):
        other["jobState"] = state
        # SDK 3 lists in this way: each job that the list has is described.
        for summary in client().list_training_jobs()["TrainingJobSummaries"]:
            client().describe_training_job(TrainingJobName=summary["TrainingJobName"])

    assert sentences == []


def test_a_job_that_is_stopped_is_reported(api: HeadwayApi, server: ContractServer, aws: AwsStub):
    sentences: list[str] = []
    headway_client.install(api, tell=sentences.append)
    server.queue.add("job1")

    client().stop_training_job(TrainingJobName="job1")

    assert [each.partition(":")[0] for each in sentences] == ["job1 was stopped"]


def test_notifications_go_to_standard_error_without_control_characters(
    api: HeadwayApi, server: ContractServer, aws: AwsStub, capsys: pytest.CaptureFixture[str]
):
    headway_client.install(api)
    client().create_training_job(**request("job1"))
    capsys.readouterr()
    server.queue.jobs["job1"].update(held=True, reason={"code": "Held", "message": "held for \x1b[31mx"})

    client().describe_training_job(TrainingJobName="job1")

    assert capsys.readouterr() == ("", "headway: job1 is held for \\x1b[31mx\n")


def test_unfinished_jobs_are_printed_with_the_command_to_stop_them(api: HeadwayApi, server: ContractServer):
    jobs, told = QueueJobs(api), list[str]()
    for name in ("waits", "runs", "preempted", "stopped", "done", "described"):
        jobs.submit(request(name))
    server.queue.add("somebody-elses")
    server.queue.jobs["runs"]["jobState"] = "running"
    server.queue.jobs["done"]["jobState"] = server.queue.jobs["described"]["jobState"] = "completed"
    jobs.find("described")
    server.queue.jobs["preempted"]["jobState"] = "stopping"
    jobs.find("preempted")
    jobs.stop("stopped")

    print_unfinished_jobs(jobs, told.append)
    print_unfinished_jobs(jobs, told.append)

    assert told == [unfinished_sentence(name) for name in ("waits", "runs", "preempted")]


@pytest.mark.parametrize("others", [[], ["mine"]], ids=["of-others", "of-the-caller"])
def test_an_unfinished_job_behind_those_that_are_listed_is_printed(
    api: HeadwayApi, server: ContractServer, monkeypatch: pytest.MonkeyPatch, others: list[str]
):
    monkeypatch.setattr("headway_client.botocore_hooks.job_cache.MAX_LISTED_JOBS", 1)
    server.queue.add("first", **({} if others else {"owner": "arn:aws:iam::123456789012:user/else"}))
    jobs, told = QueueJobs(api), list[str]()
    jobs.submit(request("second"))

    print_unfinished_jobs(jobs, told.append)

    assert told == [unfinished_sentence("second")]


def test_an_ended_job_is_not_printed_because_others_have_as_many_as_are_listed(
    api: HeadwayApi, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("headway_client.botocore_hooks.job_cache.MAX_LISTED_JOBS", 1)
    server.queue.add("first", owner="arn:aws:iam::123456789012:user/else")
    jobs, told = QueueJobs(api), list[str]()
    jobs.submit(request("second"))
    server.queue.jobs["second"]["jobState"] = "completed"

    print_unfinished_jobs(jobs, told.append)

    assert told == []


def test_unfinished_jobs_are_printed_even_if_the_queue_does_not_respond(api: HeadwayApi, server: ContractServer):
    jobs, told = QueueJobs(api), list[str]()
    for number in range(MAX_PRINTED_JOBS + 2):
        jobs.submit(request(f"job{number}"))
    server.fail(*[Fault(status=500)] * 4)

    print_unfinished_jobs(jobs, told.append)

    assert len(told) == MAX_PRINTED_JOBS + 1
    assert told[-1] == "so do 2 more; `headway queue` shows them"


# ------------------------------------------------------------------------------------------- python -m headway_client


SCRIPT = f"""
import boto3, os, signal, sys, helper
request = {request("job1")!r}
sagemaker = boto3.client("sagemaker")
sagemaker.create_training_job(**request)
print(__name__, sys.argv[1:], helper.WORD)
if "--interrupt" in sys.argv:
    os.kill(os.getpid(), signal.SIGINT)
    sagemaker.get_waiter("training_job_completed_or_stopped").wait(TrainingJobName="job1")
if "--leave" in sys.argv:
    sys.exit(7)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("WORD = 'helped'\n")
    return tmp_path


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headway_client", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("way", [["train.py"], ["-m", "train"]], ids=" ".join)
def test_an_unchanged_program_runs_with_its_jobs_in_the_queue(
    way: list[str], folder: Path, server: ContractServer, aws: AwsStub
):
    done = run(
        "--endpoint", server.endpoint, "--region", REGION, "--priority", "6", *way, "--priority", "1", folder=folder
    )

    assert (done.returncode, done.stdout) == (0, "__main__ ['--priority', '1'] helped\n")
    assert done.stderr == "headway: job1 waits, place 1 in the queue: Waits for 1 ml.p5.48xlarge.\n"
    assert server.queue.jobs["job1"]["priority"] == 6


def test_the_exit_code_of_the_program_is_returned(folder: Path, endpoint_set: str, aws: AwsStub):
    done = run("--quiet", "train.py", "--leave", folder=folder)

    assert (done.returncode, done.stderr) == (7, "")


def test_ctrl_c_leaves_the_job_in_the_queue_and_prints_how_to_stop_it(folder: Path, endpoint_set: str, aws: AwsStub):
    done = run("train.py", "--interrupt", folder=folder)

    assert done.returncode == EXIT_INTERRUPTED
    assert f"headway: {unfinished_sentence('job1')}" in done.stderr.splitlines()


def test_ctrl_c_prints_the_same_in_a_program_that_calls_install(folder: Path, endpoint_set: str, aws: AwsStub):
    script = textwrap.dedent("import headway_client\nheadway_client.install(tell=None)\n") + SCRIPT
    (folder / "train.py").write_text(script)

    done = subprocess.run(
        [sys.executable, "train.py", "--interrupt"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == -signal.SIGINT
    assert done.stderr.count(f"headway: {unfinished_sentence('job1')}") == 1
    assert "KeyboardInterrupt" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name the script to run"),
        (["train.py"], "export HEADWAY_ENDPOINT"),
        (["--endpoint", "ftp://x", "train.py"], "it has to be a URL"),
    ],
)
def test_wrong_usage_says_what_to_change(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir("/")

    assert main(arguments) == EXIT_USAGE
    assert words in capsys.readouterr().err
