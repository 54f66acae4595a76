"""Secrets in requests do not appear in anything that a sandbox stores outside the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.command_line import CommandLine
from tests.e2e.queue_view import QueueView
from tests.e2e.service.test_events import Subscriber

pytestmark = pytest.mark.e2e

SECRET = "hunter2-correct-horse"
TOKEN = "hunter2-session-token"


def written(sb: Sandbox) -> str:
    """Return all logs of the functions, the API and the sandbox. Those of containers belong to their users."""
    logs = sb.client("logs")
    groups = [each["logGroupName"] for each in logs.describe_log_groups()["logGroups"]]
    texts = []
    for group in groups:
        if "TrainingJobs" not in group:
            for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group):
                texts += [event["message"] for event in page["events"]]
    return "\n".join([*texts, (sb.state_dir / "server.log").read_text(errors="replace")])


def test_confidential_values_stay_in_the_table(sb: Sandbox, queue: QueueView):
    subscriber = Subscriber(sb, queue)
    confidential: dict[str, Any] = {"HyperParameters": {"token": SECRET}, "Environment": {"KEY": SECRET}}
    queue.submit(
        "fails", **{**confidential, "Environment": {"KEY": SECRET, "SANDBOX_OUTCOME": "AlgorithmError: exit code 1"}}
    )
    queue.submit("quoted", **{**confidential, "Environment": {"SANDBOX_OUTCOME": SECRET}})
    for changes in ({"RoleArn": SECRET}, {"HyperParameters": {"a": f"{SECRET}\n"}}, {"HyperParameters": {SECRET: [1]}}):
        queue.cli("submit", "-", stdin=queue.request("refused", **{**confidential, **changes}), expect=3)
    queue.wait_for(fails="failed", quoted="failed")
    dead = queue.cli("dlq", "show", "-o", "json")
    subscriber.wait_for("quoted", "Entered", "Started", "LaunchRefused")
    told = [*subscriber.events("fails"), *subscriber.events("quoted"), *subscriber.mail().values()]
    subscriber.close()

    assert SECRET in json.dumps(queue.details("fails").request), "who may see the request sees it"
    assert SECRET not in json.dumps(told)
    assert SECRET not in dead.out + dead.err
    assert SECRET not in queue.cli("queue", "--all", "-o", "json").out
    logs = written(sb)
    assert "accepted" in logs, "the functions' logs were read"
    assert "refused" in logs
    assert [line for line in logs.splitlines() if SECRET in line] == []


def test_no_credential_is_written_nor_shown_by_the_command_line(sb: Sandbox, queue: QueueView, tmp_path: Path):
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    keys = sb.make_user("careless", {"Version": "2012-10-17", "Statement": [everything]})
    user = CommandLine(sb, tmp_path, keys=keys)
    user.environment["HEADWAY_DEBUG"] = "1"
    shown = [user("queue"), user("queue", "-o", "json"), user("show", f"{queue.prefix}nobody", expect=4)]
    user.environment["AWS_SESSION_TOKEN"] = TOKEN
    shown += [user.start("queue").outcome(), user.start("doctor").outcome()]
    user.environment["HEADWAY_ENDPOINT"] = "http://127.0.0.1:1/v1"
    shown.append(user("queue", expect=6))
    text = "".join(outcome.out + outcome.err for outcome in shown)
    for credential in (keys[1], TOKEN):
        assert credential not in text
        assert credential not in written(sb)
