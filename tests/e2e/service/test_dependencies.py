"""Jobs that depend on others, through the deployed functions: they wait, get outputs, start, or end with them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headway_client.dependencies import with_dependencies
from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.queue_view import QueueView

pytestmark = pytest.mark.e2e

SHORT = {"SANDBOX_RUN_SECONDS": "60"}


def submit_after(queue: QueueView, name: str, *after: str, **changes: Any) -> str:
    """Submit a short job through the command line.

    Args:
        queue: the queue.
        name: the name of the job, without the prefix.
        after: what it depends on, as `--after` takes it, without the prefix.
        changes: further members of the request.

    Returns:
        What the command prints.
    """
    given = [part for each in after for part in ("--after", queue.prefix + each)]
    return queue.cli("submit", "-", *given, stdin=queue.request(name, **{"Environment": SHORT, **changes})).out


def channel(uri: str) -> dict[str, Any]:
    return {"ChannelName": "data", "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri}}}


def test_jobs_start_after_the_ends_that_they_require_and_end_after_others(queue: QueueView, sb: Sandbox):
    queue.submit("good")
    queue.submit("bad")
    queue.wait_until_training("good", "bad")
    for other in ("good", "bad"):
        submit_after(queue, f"{other}-ok", other)
        submit_after(queue, f"{other}-any", f"{other}:any")
        submit_after(queue, f"{other}-failed", f"{other}:failed")
    submit_after(queue, "both", "good", "bad:failed")
    submit_after(queue, "after-unmet", "bad-ok")
    assert queue.waiting() == []

    queue.finish("good")
    ends: dict[str, Any] = {"good-ok": "completed", "good-any": "completed", "good-failed": "stopped"}
    queue.wait_for(**ends)
    assert queue.states() | {"both": "pending", "bad-ok": "pending", "bad-any": "pending"} == queue.states()

    sb.fail(queue.job("bad").live_attempt or "")
    ends = {"bad": "failed", "bad-any": "completed", "bad-failed": "completed", "both": "completed"}
    ends |= {"bad-ok": "stopped", "after-unmet": "stopped"}
    queue.wait_for(**ends)
    for unmet, other in (("good-failed", "good"), ("bad-ok", "bad"), ("after-unmet", "bad-ok")):
        reason = queue.job(unmet).reason
        assert reason.code == "DependencyUnmet"
        assert f"`{queue.prefix}{other}`" in reason.message
        assert queue.training_jobs(unmet) == []


def test_the_outputs_of_a_job_are_filled_into_the_request_that_is_launched(queue: QueueView, sb: Sandbox):
    queue.submit("prepare")
    uris = [f"{{{{ jobs.{queue.prefix}prepare.{output} }}}}" for output in ("model", "output")]
    submit_after(queue, "train", "prepare", InputDataConfig=[channel(uris[0])])
    submit_after(queue, "evaluate", "train:any", "prepare", InputDataConfig=[channel(f"{uris[1]}/test")])

    shown = queue.cli("show", f"{queue.prefix}train").out
    before, after = shown.partition("Depends On\n")[2].split("Dependants\n")
    assert [line.split()[:2] for line in before.splitlines() if "prepare" in line] == [[f"{queue.prefix}prepare", "ok"]]
    assert f"{queue.prefix}evaluate" in after

    queue.wait_until_training("prepare")
    queue.finish("prepare")
    queue.wait_for(train="completed", evaluate="completed")
    output = f"s3://jobs/output/{queue.attempts('prepare')[0]}/output"
    sagemaker = sb.client("sagemaker")
    for name, uri in (("train", f"{output}/model.tar.gz"), ("evaluate", f"{output}/test")):
        launched = sagemaker.describe_training_job(TrainingJobName=queue.attempts(name)[0])
        assert launched["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"] == uri


def test_a_job_that_ends_while_others_are_accepted_after_it_starts_them_all(queue: QueueView):
    queue.submit("prepare")
    queue.wait_until_training("prepare")
    uri = f"{{{{ jobs.{queue.prefix}prepare.model }}}}"
    names = [f"train{number}" for number in range(8)]

    def submit(name: str) -> None:
        request = queue.request(name, Environment=SHORT, InputDataConfig=[channel(uri)])
        queue.api.submit(with_dependencies(request, f"{queue.prefix}prepare"))

    with ThreadPoolExecutor(3) as people:
        ending = people.submit(queue.finish, "prepare")
        accepted = [people.submit(submit, name) for name in names]
    for each in (ending, *accepted):
        each.result()
    ends: dict[str, Any] = dict.fromkeys(names, "completed")
    queue.wait_for(**ends)
    queue.check_records(size=2)
