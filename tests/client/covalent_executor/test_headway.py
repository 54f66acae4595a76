"""The executor, as Covalent's server calls it, on a queue."""

from __future__ import annotations

import asyncio
import itertools
import json
import pickle
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import covalent as ct
import pytest
from covalent._workflow.transportable_object import TransportableObject

from headway_client.errors import NotReachableError
from headway_client.http import outage
from headway_client.http.api import HeadwayApi
from headway_covalent import headway
from headway_covalent.headway import _EXECUTOR_PLUGIN_DEFAULTS, EXECUTOR_PLUGIN_NAME, HeadwayExecutor
from headway_covalent.run_task import RESULT
from tests.client.covalent_executor.tasks import assembled
from tests.client.covalent_executor.test_storage import archive
from tests.client.fakes.aws_stub import BUCKET, AwsStub
from tests.client.fakes.server import REGION, ContractServer

DISPATCH = "0b1d7b02-6f7c-4d34-9b7e-5ad6ffb6a111"
NAME = f"covalent-{DISPATCH.replace('-', '')}-3"
NODE = {"dispatch_id": DISPATCH, "node_id": 3, "results_dir": "."}
LIMIT_S = 30
SETTINGS: dict[str, Any] = {
    "image": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
    "role_arn": "arn:aws:iam::123456789012:role/training",
    "s3_uri": f"s3://{BUCKET}/covalent",
    "instance_type": "ml.p5.48xlarge",
    "poll_s": 0.01,
}


@pytest.fixture(autouse=True)
def _queue_and_aws(endpoint_set: str, aws: AwsStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)


class Executor(HeadwayExecutor):
    """The executor, without the messages to Covalent's database."""

    cancelled = False
    handle = ""

    async def set_job_handle(self, handle: Any) -> None:
        type(self).handle = handle

    async def get_cancel_requested(self) -> bool:
        return type(self).cancelled


@pytest.fixture(autouse=True)
def _not_cancelled() -> None:
    Executor.cancelled, Executor.handle = False, ""


def execute(
    *call: Any, meanwhile: Callable[[], object] = lambda: None, server: ContractServer, **settings: Any
) -> tuple[Any, str, str, str]:
    """Run a task as Covalent does; `meanwhile` is called when its job is in the queue."""

    async def both() -> tuple[Any, str, str, str]:
        executor = Executor(**SETTINGS | settings)
        executor._init_runtime()
        task = asyncio.create_task(executor.execute(*assembled(*call), DISPATCH, ".", 3))
        while NAME not in server.queue.jobs and not task.done():
            await asyncio.sleep(0.01)
        if not task.done():
            await asyncio.to_thread(meanwhile)
        return await asyncio.wait_for(task, LIMIT_S)

    result, out, err, status = asyncio.run(both())
    return result, out, err, str(status)


def ends(server: ContractServer, state: str, why: str = "It ended.") -> None:
    attempt = {
        "attemptName": f"{NAME}-2", "number": 2, "attemptState": state, "trainingJobStatus": None,
        "secondaryStatus": None, "startedTime": None, "endedTime": None, "failureReason": None, "reason": None,
    }  # fmt: skip
    reason = {"code": "Ended", "message": why}
    first = {**attempt, "attemptName": f"{NAME}-1", "number": 1}
    server.queue.jobs[NAME].update(jobState=state, attempts=[first, attempt], reason=reason)


def test_a_task_is_submitted_and_its_result_is_that_of_the_last_attempt(server: ContractServer, aws: AwsStub):
    def complete() -> None:
        aws.objects[f"{BUCKET}/covalent/{NAME}-2/output/model.tar.gz"] = archive({RESULT: pickle.dumps({"loss": 0.5})})
        ends(server, "completed")

    result, out, err, status = execute(len, "abc", meanwhile=complete, server=server, priority=4)
    assert isinstance(result, TransportableObject)
    assert (result.get_deserialized(), out, err) == ({"loss": 0.5}, f"training job {NAME}: completed\n", "")
    assert status == "COMPLETED"
    assert Executor.handle == NAME
    assert server.queue.jobs[NAME]["priority"] == 4
    sent = json.loads(aws.objects[f"{BUCKET}/covalent/{NAME}/task/task.json"])
    assert len(sent["args"]) == 1


@pytest.mark.parametrize(
    ("state", "why"), [("failed", "AlgorithmError: ValueError: there is no data.csv"), ("stopped", "Ada stopped it.")]
)
def test_a_job_that_does_not_complete_fails_the_task_with_its_reason(server: ContractServer, state: str, why: str):
    result, _, err, status = execute(len, "abc", meanwhile=lambda: ends(server, state, why), server=server)
    assert (result, status) == (None, "FAILED")
    assert err == f"training job {NAME} {state}: {why}\n"


def test_a_completed_job_without_a_result_fails_the_task(server: ContractServer):
    _, _, err, status = execute(len, "abc", meanwhile=lambda: ends(server, "completed"), server=server)
    assert status == "FAILED"
    assert "the result of the job, cannot be read" in err


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"image": ""}, "The executor has no image"),
        ({"s3_uri": "here"}, "s3_uri is 'here'"),
        ({"request": {"RoleArn": "x"}}, "The executor sets RoleArn itself"),
        ({"profile": "nowhere"}, "nowhere"),
        ({"instance_type": "ml.none"}, "can never be had"),
    ],
)
def test_what_the_queue_or_the_executor_refuses_fails_the_task_with_a_sentence(
    server: ContractServer, settings: dict[str, Any], words: str
):
    _, _, err, status = execute(len, "abc", server=server, **settings)
    assert status == "FAILED"
    assert words in err
    assert NAME not in server.queue.jobs


def test_a_task_that_is_cancelled_before_its_submission_is_not_submitted(server: ContractServer):
    Executor.cancelled = True
    assert execute(len, "abc", server=server)[3] == "CANCELLED"
    assert server.queue.jobs == {}


def test_a_task_that_is_cancelled_later_stops_its_job_even_if_nobody_else_does(server: ContractServer):
    def cancel() -> None:
        Executor.cancelled = True

    assert execute(len, "abc", meanwhile=cancel, server=server)[3] == "CANCELLED"
    assert server.queue.jobs[NAME]["jobState"] == "stopped"


def test_a_job_that_fails_while_its_task_is_cancelled_has_failed(server: ContractServer):
    def fail_and_cancel() -> None:
        ends(server, "failed", "It failed.")
        Executor.cancelled = True

    _, _, err, status = execute(len, "abc", meanwhile=fail_and_cancel, server=server)
    assert (status, err) == ("FAILED", f"training job {NAME} failed: It failed.\n")


@pytest.mark.parametrize(("state", "expected"), [("completed", "COMPLETED"), ("failed", "FAILED")])
def test_a_job_that_ends_between_the_read_and_the_stop_of_a_cancelled_task_ends_as_it_did(
    server: ContractServer, aws: AwsStub, monkeypatch: pytest.MonkeyPatch, state: str, expected: str
):
    aws.objects[f"{BUCKET}/covalent/{NAME}-2/output/model.tar.gz"] = archive({RESULT: pickle.dumps({"loss": 0.5})})
    read, stop, stopped = HeadwayApi.get_job, HeadwayApi.stop_job, []

    def read_before_the_end(api: HeadwayApi, name: str) -> Any:
        details = read(api, name)
        if not details.has_ended:
            ends(server, state)
            Executor.cancelled = True
        return details

    def count_stop(api: HeadwayApi, name: str) -> Any:
        stopped.append(name)
        return stop(api, name)

    monkeypatch.setattr(HeadwayApi, "get_job", read_before_the_end)
    monkeypatch.setattr(HeadwayApi, "stop_job", count_stop)
    _, _, err, status = execute(len, "abc", server=server)
    assert (status, stopped) == (expected, [NAME])
    assert "already" not in err


def test_a_job_that_has_ended_is_not_cancelled(server: ContractServer):
    server.queue.add(NAME, jobState="completed")
    assert asyncio.run(HeadwayExecutor(**SETTINGS).cancel(NODE, NAME)) is False


def test_covalent_cancels_a_task_by_the_name_of_its_job(server: ContractServer):
    server.queue.add(NAME)
    executor = HeadwayExecutor(**SETTINGS)
    assert asyncio.run(executor.cancel(NODE, NAME)) is True
    assert server.queue.jobs[NAME]["jobState"] == "stopped"
    assert asyncio.run(executor.cancel(NODE, "covalent-none-1")) is False


@pytest.mark.parametrize("call", ["get_job", "submit"])
@pytest.mark.parametrize(("limit_s", "status"), [(30.0, "COMPLETED"), (-1.0, "FAILED")])
def test_a_queue_whose_answers_are_lost_for_a_while_fails_no_task(
    server: ContractServer, aws: AwsStub, monkeypatch: pytest.MonkeyPatch, limit_s: float, status: str, call: str
):
    monkeypatch.setattr(outage, "MAX_OUTAGE_S", limit_s)
    answer, faults = getattr(HeadwayApi, call), 2

    def sometimes(self: HeadwayApi, given: Any) -> Any:
        nonlocal faults
        answered = answer(self, given)
        faults -= 1
        if faults >= 0:
            raise NotReachableError("The queue does not answer.")
        return answered

    monkeypatch.setattr(HeadwayApi, call, sometimes)

    def complete() -> None:
        aws.objects[f"{BUCKET}/covalent/{NAME}-2/output/model.tar.gz"] = archive({RESULT: pickle.dumps(1)})
        ends(server, "completed")

    assert execute(len, "abc", meanwhile=complete, server=server)[3] == status
    assert list(server.queue.jobs) == [NAME]


def test_the_time_without_answers_begins_with_the_first_call_without_one(
    server: ContractServer, aws: AwsStub, monkeypatch: pytest.MonkeyPatch
):
    answer, seconds = HeadwayApi.get_job, itertools.count(0, 600)
    times = [next(seconds)]

    def sometimes(self: HeadwayApi, name: str) -> Any:
        times.append(next(seconds))
        if len(times) == 4:
            aws.objects[f"{BUCKET}/covalent/{NAME}-2/output/model.tar.gz"] = archive({RESULT: pickle.dumps(1)})
            ends(server, "completed")
            raise NotReachableError("The queue does not answer.")
        return answer(self, name)

    monkeypatch.setattr(HeadwayApi, "get_job", sometimes)
    monkeypatch.setattr(headway, "time", SimpleNamespace(monotonic=lambda: times[-1]))
    assert execute(len, "abc", server=server)[3] == "COMPLETED"


def test_a_database_of_covalent_that_does_not_answer_for_a_while_fails_no_task(
    server: ContractServer, aws: AwsStub, monkeypatch: pytest.MonkeyPatch
):
    answers = iter([False, TimeoutError(), TimeoutError()])
    asked = threading.Event()

    async def sometimes(_: Executor) -> bool:
        answer = next(answers, None)
        if isinstance(answer, TimeoutError):
            raise answer
        if answer is None:
            asked.set()
        return False

    monkeypatch.setattr(Executor, "get_cancel_requested", sometimes)

    def complete() -> None:
        assert asked.wait(LIMIT_S)
        aws.objects[f"{BUCKET}/covalent/{NAME}-2/output/model.tar.gz"] = archive({RESULT: pickle.dumps(1)})
        ends(server, "completed")

    assert execute(len, "abc", meanwhile=complete, server=server)[3] == "COMPLETED"


def test_covalent_makes_the_executor_again_from_its_attributes():
    made = HeadwayExecutor(
        **SETTINGS, priority=3, tags={"a": "b"}, request={"RetryStrategy": {"MaximumRetryAttempts": 1}}
    )
    document = json.loads(json.dumps(made.to_dict()))
    assert document["short_name"] == "headway"
    assert vars(HeadwayExecutor().from_dict(document)) == vars(made)


def test_covalent_finds_the_plugin_and_may_configure_its_defaults():
    assert HeadwayExecutor.__name__ == EXECUTOR_PLUGIN_NAME
    defaults: dict[str, Any] = _EXECUTOR_PLUGIN_DEFAULTS
    assert vars(HeadwayExecutor(**defaults)) == vars(HeadwayExecutor())
    assert ct.executor.HeadwayExecutor is HeadwayExecutor
    assert "headway" in ct.executor._executor_manager.executor_plugins_map
