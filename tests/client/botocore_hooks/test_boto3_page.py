"""The examples of docs/how-to/clients/boto3.md run unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

import headway_client
from headway_client.http.api import HeadwayApi
from tests.client.fakes.aws_stub import AwsStub
from tests.client.fakes.contract import request
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY, ContractServer
from tests.client.logs.test_reader import attempt
from tests.client.pages import example, headings

PAGE = "docs/how-to/clients/boto3.md"


@pytest.fixture(autouse=True)
def aws(endpoint_set: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsStub]:
    with AwsStub().running() as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
        monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", boto3.Session(ACCESS_KEY, SECRET_KEY, region_name=REGION))
        yield running
        headway_client.uninstall()


def run(heading: str, **names: Any) -> None:
    exec(example(PAGE, heading), names)


def test_every_example_of_the_page_is_run():
    assert headings(PAGE) == ["A whole process", "One session or one client", "Logs", "Unit tests"]


def test_a_whole_process(server: ContractServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def ends(_: float) -> None:
        server.queue.jobs["job1"].update(jobState="completed", endedTime="2026-01-02T04:00:00.000Z")

    monkeypatch.setattr("botocore.waiter.time.sleep", ends)

    run("A whole process", request=request("job1"))

    assert server.queue.jobs["job1"]["priority"] == 5
    assert capsys.readouterr().err.splitlines() == [
        "headway: job1 waits, place 1 in the queue: Waits for 1 ml.p5.48xlarge.",
        "headway: job1 has completed",
    ]


def test_one_session_or_one_client(server: ContractServer, capsys: pytest.CaptureFixture[str]):
    run("One session or one client", request=request("job1"))

    assert list(server.queue.jobs) == ["job1"]
    assert capsys.readouterr().out == "job1 waits, place 1 in the queue: Waits for 1 ml.p5.48xlarge.\n"


def test_logs(server: ContractServer, aws: AwsStub, capsys: pytest.CaptureFixture[str]):
    server.queue.add("job1", attempts=[attempt(1, "job1")])
    aws.logs.write("job1/algo-1-170", 1, "line")

    run("Logs", job_name="job1")

    assert capsys.readouterr().out == "line\n"


def test_unit_tests(server: ContractServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL")

    run("Unit tests", request=request("job1"))

    assert server.received == []


def test_a_stubber_answers_before_the_queue_which_only_reads_may_reach(
    api: HeadwayApi, server: ContractServer, aws: AwsStub
):
    headway_client.install(api, tell=None)
    sagemaker = boto3.client("sagemaker")
    server.queue.add("queued")
    arn = "arn:aws:sagemaker:eu-west-1:123456789012:training-job/stubbed"
    with Stubber(sagemaker) as stub:
        stub.add_response("create_training_job", {"TrainingJobArn": arn}, request("job1"))
        stub.add_response("stop_training_job", {}, {"TrainingJobName": "queued"})
        stub.add_response("list_training_jobs", {"TrainingJobSummaries": []}, {})
        assert sagemaker.create_training_job(**request("job1"))["TrainingJobArn"] == arn
        sagemaker.stop_training_job(TrainingJobName="queued")
        assert {each.method for each in server.received} == set()
        sagemaker.list_training_jobs()
        stub.assert_no_pending_responses()

    assert {each.method for each in server.received} == {"GET"}
    assert [(name, job["jobState"]) for name, job in server.queue.jobs.items()] == [("queued", "pending")]
    assert aws.calls == []
