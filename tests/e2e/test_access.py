"""Who may do what is decided by IAM, before any function runs."""

from __future__ import annotations

from pathlib import Path

import pytest
import requests

from headway_sandbox.sandbox import Sandbox
from tests.e2e.command_line import CommandLine
from tests.e2e.queue_view import QueueView

pytestmark = pytest.mark.e2e


@pytest.fixture
def reader(sb: Sandbox, tmp_path: Path) -> CommandLine:
    """The command line of a user who may only look."""
    look = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": "arn:aws:execute-api:*:*:*/v1/GET/*"}
    keys = sb.make_user("onlooker", {"Version": "2012-10-17", "Statement": [look]})
    folder = tmp_path / "onlooker"
    folder.mkdir()
    return CommandLine(sb, folder, keys=keys)


def test_who_may_only_look_sees_the_queue_and_changes_nothing(queue: QueueView, reader: CommandLine):
    queue.submit("job")
    queue.wait_until_training("job")
    name = f"{queue.prefix}job"
    assert [job["jobName"] for job in reader("queue", "-o", "json").document["jobs"]] == [name]
    assert reader("show", name, "-o", "json").document["jobState"] == "running"
    assert reader("capacity", "-o", "json").document["pools"][0]["size"] == 2

    for command in (["submit", "-"], ["stop", name], ["priority", name, "9"], ["config", "set", "-"]):
        outcome = reader(*command, stdin=queue.request("mine") if command[0] == "submit" else {"pools": {}}, expect=6)
        assert "not allowed" in outcome.err or "execute-api:Invoke" in outcome.err, outcome.err
    assert queue.states() == {"job": "running"}
    assert queue.job("job").priority == 0


def test_a_wrong_secret_is_refused(sb: Sandbox, queue: QueueView, tmp_path: Path):
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    key, _ = sb.make_user("forger", {"Version": "2012-10-17", "Statement": [everything]})
    forger = CommandLine(sb, tmp_path, keys=(key, "wrong"))
    forger("queue", expect=6)
    forger("submit", "-", stdin=queue.request("forged"), expect=6)
    assert queue.jobs() == {}


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/jobs"), ("POST", "/jobs"), ("POST", "/add-job"), ("PUT", "/config")]
)
def test_what_is_not_signed_is_refused(sb: Sandbox, queue: QueueView, method: str, path: str):
    answer = requests.request(method, sb.endpoint + path, json=queue.request("unsigned"), timeout=30)
    assert answer.status_code == 403
    assert "error" not in answer.json(), "a function has answered"
    assert queue.jobs() == {}
