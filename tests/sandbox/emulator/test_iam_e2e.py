"""Which decisions on the calls of functions are recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headway_sandbox.call_recorder import Decision
from headway_sandbox.local.sandbox import Sandbox
from tests.sandbox.functions import make_function
from tests.sandbox.waiting import until

pytestmark = pytest.mark.e2e

CALLS_TWICE = """
import time
import boto3

def handler(event, context):
    boto3.client("sqs").list_queues()
    time.sleep(event["pause_s"])
    boto3.client("sns").list_topics()
"""


@pytest.fixture(scope="module")
def sb() -> Iterator[Sandbox]:
    with Sandbox(deploy=False) as sandbox:
        yield sandbox


def invoke(sb: Sandbox, name: str, *, pause_s: float = 0) -> str:
    """Invoke the function; return the kind of its error."""
    answer = sb.client("lambda").invoke(FunctionName=name, Payload=json.dumps({"pause_s": pause_s}))
    payload: dict[str, Any] = json.loads(answer["Payload"].read())
    return str(payload["errorMessage"])


def decisions(sb: Sandbox, role: str) -> dict[str, Decision]:
    return {call.action: call.decision for call in sb.calls() if call.role == role}


def test_a_call_that_no_policy_allows_is_recorded_as_refused(sb: Sandbox) -> None:
    make_function(sb, "refused", CALLS_TWICE, actions=["sqs:ListQueues"])
    assert "sns:ListTopics because" in invoke(sb, "refused")
    assert decisions(sb, "refused") == {"sqs:ListQueues": Decision.ALLOWED, "sns:ListTopics": Decision.REFUSED}


def test_a_call_of_a_function_whose_role_is_deleted_is_not_recorded(sb: Sandbox) -> None:
    make_function(sb, "deleted", CALLS_TWICE, actions=["sqs:ListQueues", "sns:ListTopics"])
    with ThreadPoolExecutor() as threads:
        running = threads.submit(invoke, sb, "deleted", pause_s=5)
        until(lambda: decisions(sb, "deleted"))
        sb.client("iam").delete_role_policy(RoleName="deleted", PolicyName="p")
        sb.client("iam").delete_role(RoleName="deleted")
        assert "sns:ListTopics because" in running.result()
    assert decisions(sb, "deleted") == {"sqs:ListQueues": Decision.ALLOWED}
