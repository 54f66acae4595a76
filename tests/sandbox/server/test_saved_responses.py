"""No response is sent before its effect is saved."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headway_sandbox.call_recorder import RunRecorder
from headway_sandbox.emulator import service_state
from headway_sandbox.errors import JournalFull
from headway_sandbox.journal.journal import Journal
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.server.http_proxy import AwsProxy
from headway_sandbox.server.training_runs import TrainingRuns
from tests.sandbox.fleets import request

SIGNED = "AWS4-HMAC-SHA256 Credential=test/20260101/eu-west-1/{}/aws4_request, SignedHeaders=host, Signature=0"


class Proxy:
    """The HTTP proxy before a service that changes a document."""

    def __init__(self, folder: Path) -> None:
        self.journal = Journal(folder / "journal.db")
        self.fleet = FakeSageMaker()
        self.messages: list[dict[str, Any]] = []
        self.at_response: dict[str, Any] = {}
        self._calls = 0
        self._proxy = AwsProxy(
            fleet=self.fleet,
            state_dir=folder,
            record=cast(RunRecorder, SimpleNamespace(calls=None)),
            journal=self.journal,
            behind=self._change,
            runs=cast(TrainingRuns, SimpleNamespace(enabled=False)),
            on_shutdown=lambda: None,
        )

    async def _change(self, _scope: Any, _receive: Any, send: Any) -> None:
        self._calls += 1
        self.journal.put("items", "calls", self._calls)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    def call(self, service: str, operation: str = "", *, method: str = "POST", path: str = "/") -> list[dict[str, Any]]:
        """Send a request, and return the messages of the response."""
        self.messages = []
        headers = {"authorization": SIGNED.format(service), "x-amz-target": f"Service.{operation}"}
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": method, "path": path, "headers": encoded}

        async def receive() -> Any:
            return {"type": "http.request", "body": b""}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.at_response = self.journal.read("items")
            self.messages.append(message)

        asyncio.run(self._proxy(scope, receive, send))
        return self.messages


@pytest.fixture
def proxy(tmp_path: Path) -> Proxy:
    return Proxy(tmp_path)


def test_a_change_is_saved_before_its_response(proxy: Proxy):
    assert [message.get("status") for message in proxy.call("dynamodb", "PutItem")] == [200, None]
    assert proxy.at_response == {"calls": 1}


def test_the_server_counts_as_running_from_its_first_response(proxy: Proxy):
    assert proxy.journal.read("server") == {"state": "stopped"}
    proxy.call("dynamodb", "GetItem")
    assert proxy.journal.read("server") == {"state": "running"}


def test_a_change_that_cannot_be_saved_is_answered_by_an_internal_error(proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    def fail() -> None:
        raise JournalFull("no space")

    with monkeypatch.context() as patched:
        patched.setattr(proxy.journal, "commit", fail)
        start, body = proxy.call("dynamodb", "PutItem")
    assert start["status"] == 500
    assert json.loads(body["body"]) == {"__type": "InternalFailure", "message": "no space"}
    assert proxy.journal.read("items") == {}


API = "/_aws/execute-api/abc/v1/jobs"


def test_a_call_of_the_api_whose_change_cannot_be_saved_is_answered_in_the_apis_shape(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
):
    def fail() -> None:
        raise JournalFull("no space")

    monkeypatch.setattr(proxy.journal, "commit", fail)
    start, body = proxy.call("execute-api", path=API)
    assert start["status"] == 507
    assert json.loads(body["body"]) == {"error": {"code": "SandboxCannotSave", "message": "no space"}}


def test_what_is_there_can_be_read_while_nothing_can_be_saved(proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    def fail() -> None:
        raise JournalFull("no space")

    monkeypatch.setattr(proxy.journal, "commit", fail)
    assert [message.get("status") for message in proxy.call("execute-api", method="GET", path=API)] == [200, None]


def test_no_function_is_called_when_the_disk_is_as_good_as_full(proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=4_096))
    start, body = proxy.call("execute-api", path=API)
    assert start["status"] == 507
    assert "4,096 bytes are left): free space on its disk" in json.loads(body["body"])["error"]["message"]
    assert proxy.journal.read("items") == {}
    assert proxy.call("dynamodb")[0]["status"] == 200


def test_training_jobs_and_faults_are_saved_before_the_response(proxy: Proxy):
    now = 1_000.0
    proxy.fleet.create(request("a"), now=now)
    proxy.fleet.create(request("b"), now=now)
    proxy.fleet.faults = proxy.fleet.faults.with_changes({"list_lag_s": 5})
    proxy.call("dynamodb")
    assert sorted(proxy.journal.read("training jobs")) == ["a", "b"]
    assert proxy.journal.read("fleet")["state"]["faults"]["list_lag_s"] == 5


def test_each_change_of_a_training_job_is_saved(proxy: Proxy):
    now = 1_000.0
    arn = proxy.fleet.arn("a")

    def saved_tags() -> dict[str, Any]:
        proxy.call("dynamodb")
        return {name: job["tags"] for name, job in proxy.journal.read("training jobs").items()}

    proxy.fleet.create(request("a"), now=now)
    before = saved_tags()["a"]
    proxy.fleet.add_tags(arn, {"cost": "7"}, now=now)
    assert saved_tags() == {"a": {**before, "cost": "7"}}
    proxy.fleet.call("DeleteTags", {"ResourceArn": arn, "TagKeys": ["cost"]}, now=now)
    assert saved_tags() == {"a": before}
    proxy.fleet.finish("a", now=now)
    assert saved_tags() == {"a": before}
    proxy.fleet.delete("a", now=now)
    assert saved_tags() == {}


@pytest.mark.parametrize(
    ("service", "operation", "method", "path", "changes"),
    [
        ("ssm", "PutParameter", "POST", "/", True),
        ("ssm", "GetParameters", "POST", "/", False),
        ("ssm", "DescribeParameters", "POST", "/", False),
        ("dynamodb", "CreateTable", "POST", "/", True),
        ("dynamodb", "UpdateTimeToLive", "POST", "/", True),
        ("dynamodb", "UpdateItem", "POST", "/", False),
        ("dynamodb", "TransactWriteItems", "POST", "/", False),
        ("dynamodb", "BatchWriteItem", "POST", "/", False),
        ("dynamodb", "Query", "POST", "/", False),
        ("cloudformation", "", "POST", "/", True),
        ("iam", "", "POST", "/", True),
        ("lambda", "", "PUT", "/2015-03-31/functions/f/configuration", True),
        ("lambda", "", "GET", "/2015-03-31/functions/", False),
        ("lambda", "", "POST", "/2015-03-31/functions/f/invocations", False),
        ("s3", "", "PUT", "/bucket/key", True),
        ("s3", "", "HEAD", "/bucket/key", False),
        ("events", "PutEvents", "POST", "/", False),
        ("events", "PutRule", "POST", "/", True),
        ("execute-api", "", "POST", "/v1/jobs", False),
        ("sqs", "SendMessage", "POST", "/", False),
        ("sagemaker", "CreateTrainingJob", "POST", "/", False),
    ],
)
def test_settings_are_changed_by_requests_other_than_reads_items_and_messages(
    service: str, operation: str, method: str, path: str, changes: bool
):
    headers = {"authorization": SIGNED.format(service), "x-amz-target": f"Service.{operation}"}
    assert service_state.changes_settings(method, path, headers) is changes


def test_a_request_without_a_signature_changes_no_settings():
    assert not service_state.changes_settings("POST", "/", {"x-amz-target": "AmazonSSM.PutParameter"})
