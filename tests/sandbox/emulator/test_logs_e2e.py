"""CloudWatch Logs of training jobs, with real SDK clients: output, reads, permissions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from headway_sandbox.local import aws_account
from headway_sandbox.local.sandbox import Sandbox
from tests.sandbox.fleets import request
from tests.sandbox.waiting import until

pytestmark = pytest.mark.e2e

GROUP = "/aws/sagemaker/TrainingJobs"
LONG = {"Environment": {"SANDBOX_RUN_SECONDS": "86400"}, "StoppingCondition": {"MaxRuntimeInSeconds": 86_400}}
CHECKPOINTS = {"CheckpointConfig": {"S3Uri": "s3://jobs/checkpoints/resumed"}}


@pytest.fixture(scope="module")
def sb() -> Iterator[Sandbox]:
    with Sandbox(speed=600, deploy=False) as sandbox:
        yield sandbox


def streams(sb: Sandbox, job: str) -> list[str]:
    """Return the names of a job's streams; none before the first output of a job in the account."""
    logs = sb.client("logs")
    try:
        pages = logs.get_paginator("describe_log_streams").paginate(logGroupName=GROUP, logStreamNamePrefix=f"{job}/")
        return [stream["logStreamName"] for page in pages for stream in page["logStreams"]]
    except logs.exceptions.ResourceNotFoundException:
        return []


def texts(sb: Sandbox, stream: str) -> list[str]:
    events = sb.client("logs").get_log_events(logGroupName=GROUP, logStreamName=stream, startFromHead=True)["events"]
    return [event["message"] for event in events]


def put(sb: Sandbox, group: str, stream: str, *events: tuple[int, str]) -> None:
    listed = [{"timestamp": time_ms, "message": text} for time_ms, text in events]
    sb.client("logs").put_log_events(logGroupName=group, logStreamName=stream, logEvents=listed)


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(ClientError) as caught:
        call()
    return str(caught.value)


# --------------------------------------------------------------------------------------------------- training jobs


def test_each_host_of_a_job_has_a_stream_with_what_it_printed(sb: Sandbox):
    resources = {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2, "VolumeSizeInGB": 30}
    sb.client("sagemaker").create_training_job(**request("hosts", ResourceConfig=resources))
    first, second = until(lambda: streams(sb, "hosts"))
    assert first.startswith("hosts/algo-1-")
    assert second.startswith("hosts/algo-2-")
    printed = until(lambda: [found for found in [texts(sb, second)] if found[-1] == "exit status 0"])[0]
    assert printed[0] == "training job hosts begins on algo-2 of 2 (ml.p5.48xlarge)"
    assert len(printed) == len(set(printed))

    (described, _other) = sb.client("logs").describe_log_streams(logGroupName=GROUP, logStreamNamePrefix="hosts/")[
        "logStreams"
    ]
    training = sb.client("sagemaker").describe_training_job(TrainingJobName="hosts")["SecondaryStatusTransitions"][3]
    assert described["firstEventTimestamp"] / 1000 == pytest.approx(training["StartTime"].timestamp(), abs=0.002)
    assert described["lastEventTimestamp"] / 1000 == pytest.approx(training["EndTime"].timestamp(), abs=0.002)


def test_a_stopped_job_leaves_a_checkpoint_from_which_another_one_resumes(sb: Sandbox):
    sagemaker = sb.client("sagemaker")
    sagemaker.create_training_job(**request("resumed-1", **LONG, **CHECKPOINTS))
    (stream,) = until(lambda: streams(sb, "resumed-1"))
    sagemaker.stop_training_job(TrainingJobName="resumed-1")
    until(lambda: texts(sb, stream)[-1] == "exit status 143")
    saved = texts(sb, stream)[-2]
    assert saved.startswith("SIGTERM received: saving checkpoint s3://jobs/checkpoints/resumed/step-")

    sagemaker.create_training_job(**request("resumed-2", **LONG, **CHECKPOINTS))
    (stream,) = until(lambda: streams(sb, "resumed-2"))
    assert texts(sb, stream)[1] == f"resumed from checkpoint {saved.rpartition(' ')[2]}"
    sb.finish("resumed-2")


def test_the_logs_of_all_jobs_exist_once_after_a_restart(tmp_path: Path):
    with Sandbox(state_dir=tmp_path / "state", speed=600, deploy=False) as sandbox:
        sagemaker = sandbox.client("sagemaker")
        sagemaker.create_training_job(**request("ended"))
        sagemaker.create_training_job(**request("live", **LONG))
        (ended,) = until(lambda: streams(sandbox, "ended"))
        (live,) = until(lambda: streams(sandbox, "live"))
        until(lambda: texts(sandbox, ended)[-1] == "exit status 0")
        before = {stream: texts(sandbox, stream) for stream in (ended, live)}
        sandbox.restart()
        until(lambda: streams(sandbox, "ended"))
        assert texts(sandbox, ended) == before[ended]
        assert texts(sandbox, live)[: len(before[live])] == before[live]
        until(lambda: len(texts(sandbox, live)) > len(before[live]))
        printed = texts(sandbox, live)
        assert len(set(printed)) == len(printed)


# -------------------------------------------------------------------------------------------------- the service


def test_a_token_at_the_end_returns_itself_and_later_finds_new_events(sb: Sandbox):
    logs = sb.client("logs")
    logs.create_log_group(logGroupName="tokens")
    logs.create_log_stream(logGroupName="tokens", logStreamName="s")
    now_ms = int(time.time() * 1000)
    put(sb, "tokens", "s", *[(now_ms + number // 2, f"line {number}") for number in range(5)])

    def read(**more: Any) -> tuple[list[str], str]:
        page = logs.get_log_events(logGroupName="tokens", logStreamName="s", startFromHead=True, **more)
        return [event["message"] for event in page["events"]], page["nextForwardToken"]

    page, token = read(limit=3)
    assert page == ["line 0", "line 1", "line 2"]
    page, token = read(limit=3, nextToken=token)
    assert page == ["line 3", "line 4"]
    assert read(nextToken=token) == ([], token)
    put(sb, "tokens", "s", (now_ms + 2, "late, of the same millisecond"), (now_ms + 9, "line 6"))
    page, other = read(nextToken=token)
    assert page == ["late, of the same millisecond", "line 6"]
    assert other != token
    # From a time, inclusive, to another, exclusive.
    assert read(startTime=now_ms + 1, endTime=now_ms + 2)[0] == ["line 2", "line 3"]


def test_streams_are_sorted_by_name_and_paged(sb: Sandbox):
    logs = sb.client("logs")
    logs.create_log_group(logGroupName="pages")
    names = [f"job/algo-{number}-1" for number in (10, 1, 2)]
    for name in [*names, "job-2/algo-1-1"]:
        logs.create_log_stream(logGroupName="pages", logStreamName=name)
    first = logs.describe_log_streams(logGroupName="pages", logStreamNamePrefix="job/", limit=2)
    rest = logs.describe_log_streams(
        logGroupName="pages", logStreamNamePrefix="job/", limit=2, nextToken=first["nextToken"]
    )
    shown = [stream["logStreamName"] for page in (first, rest) for stream in page["logStreams"]]
    assert shown == sorted(names)
    assert "nextToken" not in rest


def test_missing_and_forbidden_resources_are_refused_with_aws_wording(sb: Sandbox):
    logs = sb.client("logs")
    logs.create_log_group(logGroupName="strict")
    logs.create_log_stream(logGroupName="strict", logStreamName="s")
    assert "ResourceNotFoundException" in refusal(lambda: logs.describe_log_streams(logGroupName="nobody"))
    assert "ResourceNotFoundException" in refusal(
        lambda: logs.get_log_events(logGroupName="strict", logStreamName="nobody")
    )
    assert "ResourceAlreadyExistsException" in refusal(
        lambda: logs.create_log_stream(logGroupName="strict", logStreamName="s")
    )
    assert "nextToken is invalid" in refusal(lambda: logs.describe_log_streams(logGroupName="strict", nextToken="x"))
    assert "nextToken is invalid" in refusal(
        lambda: logs.get_log_events(logGroupName="strict", logStreamName="s", nextToken="x")
    )
    assert "Cannot order by LastEventTime" in refusal(
        lambda: logs.describe_log_streams(logGroupName="strict", logStreamNamePrefix="a", orderBy="LastEventTime")
    )
    assert "chronological order" in refusal(lambda: put(sb, "strict", "s", (2, "b"), (1, "a")))


def test_too_frequent_calls_get_a_clear_error(sb: Sandbox):
    client: Any = aws_account.session(sb.info)
    impatient = client.client(
        "logs", endpoint_url=sb.info.aws_endpoint, config=Config(retries={"total_max_attempts": 1})
    )
    impatient.create_log_group(logGroupName="often")

    def told(_number: int) -> str:
        try:
            impatient.describe_log_streams(logGroupName="often")
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return ""

    with ThreadPoolExecutor(max_workers=8) as threads:
        assert set(threads.map(told, range(200))) == {"", "ThrottlingException"}


def test_logs_can_be_read_with_a_policy_on_their_streams(sb: Sandbox):
    sb.client("sagemaker").create_training_job(**request("policy"))
    (stream,) = until(lambda: streams(sb, "policy"))
    calls = ["logs:DescribeLogStreams", "logs:GetLogEvents"]
    arn = f"arn:aws:logs:{sb.info.region}:{sb.info.account}:log-group:{GROUP}"

    def tried(user: str, resource: str) -> list[str]:
        statement = {"Effect": "Allow", "Action": calls, "Resource": resource}
        keys = sb.make_user(user, {"Version": "2012-10-17", "Statement": [statement]})
        logs = sb.client("logs", access_key=keys[0], secret_key=keys[1])
        told = []
        for call in (
            lambda: logs.describe_log_streams(logGroupName=GROUP),
            lambda: logs.get_log_events(logGroupName=GROUP, logStreamName=stream),
        ):
            try:
                call()
                told.append("allowed")
            except ClientError as error:
                told.append(str(error.response["Error"]["Code"]))
        return told

    assert tried("all-streams", f"{arn}:*") == ["allowed", "allowed"]
    assert tried("one-stream", f"{arn}:log-stream:policy/*") == ["AccessDeniedException", "allowed"]
    assert tried("the-group", arn) == ["AccessDeniedException", "AccessDeniedException"]
