"""Authorization, through the handler of the API: responses and logs."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from headway_sandbox.inprocess.lambda_loader import event
from headway_service.observability.logging import logger
from tests.functions.conftest import ANY_VERSION, Functions, state_change
from tests.service.world import request

SECRET = "hunter2-never-to-be-seen"
SECRETS: dict[str, Any] = {"HyperParameters": {"token": SECRET}, "Environment": {"KEY": SECRET}}
#: Of a job of user/ada: every call that changes it.
CHANGES: list[tuple[str, str, Any]] = [
    ("DELETE", "/jobs/a", None),
    ("PATCH", "/jobs/a", {"priority": 1}),
    ("PUT", "/jobs/a/comment", {"comment": "x"}),
    ("POST", "/jobs/a/change", {"maxRuntimeSeconds": 60}),
    ("POST", "/jobs/a/hold", None),
    ("POST", "/jobs/a/release", None),
]


def configure(functions: Functions, **parts: Any) -> None:
    document = {"pools": {"ml.p5.48xlarge": {"size": 2}}, **parts}
    assert functions.http("PUT", "/config", document, headers=ANY_VERSION)[0] == 200


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the functions log."""
    stream = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", stream)
    return stream


def refusals(log: io.StringIO) -> list[dict[str, Any]]:
    """The refusals that were logged."""
    said = [json.loads(line) for line in log.getvalue().splitlines()]
    return [line for line in said if line["message"] == "refused"]


@pytest.mark.parametrize(("method", "path", "body"), CHANGES, ids=[f"{each[0]} {each[1]}" for each in CHANGES])
def test_a_change_of_anothers_job_is_refused_explained_and_logged(
    functions: Functions, log: io.StringIO, method: str, path: str, body: Any
) -> None:
    functions.http("POST", "/jobs", request("a", **SECRETS))
    functions.wakes()
    status, refusal = functions.http(method, path, body, caller="user/bob")
    assert (status, refusal["error"]["code"], refusal["error"]["fields"]) == (403, "NotAllowed", [])
    assert "only its owner (user/ada) or an administrator of the queue may" in refusal["error"]["message"]
    (line,) = refusals(log)
    assert (line["level"], line["code"], line["job"]) == ("WARNING", "NotAllowed", "a")
    assert (line["caller"], line["call"]) == ("arn:aws:iam::123456789012:user/bob", f"{method} {path}")
    assert functions.wakes() == []
    assert functions.http("GET", "/jobs/a")[1]["held"] is False


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        *CHANGES,
        ("POST", "/jobs", request("b")),
        ("POST", "/job-batches", {"requests": [request("b")]}),
        ("PUT", "/config", {"pools": {}, "version": 1}),
        ("POST", "/dead-letters/redrive", None),
        ("POST", "/pause", {"reason": "r"}),
        ("DELETE", "/rogue-jobs/past", None),
    ],
    ids=str,
)
def test_an_unsigned_caller_changes_nothing(functions: Functions, method: str, path: str, body: Any) -> None:
    functions.http("POST", "/jobs", request("a"))
    status, refusal = functions.http(method, path, body, caller=None)
    assert (status, refusal["error"]["code"]) == (403, "NotAllowed")
    assert "sign the call" in refusal["error"]["message"]
    assert [job["jobName"] for job in functions.http("GET", "/jobs")[1]["jobs"]] == ["a"]


def test_a_submission_that_is_not_allowed_is_refused_alone_and_in_a_batch_and_logged_by_name_only(
    functions: Functions, log: io.StringIO
) -> None:
    configure(functions, teams={"research": {"members": ["user/ada"]}, "open": {}})
    asked = [request(name, **SECRETS, Tags=[{"Key": "team", "Value": "research"}]) for name in ("a", "b")]
    odd = {**asked[1], "TrainingJobName": SECRET + "!"}
    status, refusal = functions.http("POST", "/jobs", asked[0], caller="user/bob")
    assert (status, [each["field"] for each in refusal["error"]["fields"]]) == (403, ["Tags[0].Value"])
    status, answer = functions.http("POST", "/job-batches", {"requests": [asked[1], odd]}, caller="user/bob")
    assert (status, [each["status"] for each in answer["results"]]) == (200, [403, 400])
    logged = refusals(log)
    assert [(line["code"], line.get("job")) for line in logged] == [
        ("NotAllowed", "a"), ("NotAllowed", "b"), ("InvalidRequest", None),
    ]  # fmt: skip
    assert SECRET not in json.dumps(logged)
    assert functions.http("GET", "/jobs")[1]["jobs"] == []


def test_withheld_members_are_in_no_answer_and_are_listed_as_withheld(functions: Functions) -> None:
    configure(functions, access={"details": "owner", "admins": ["user/adam"]})
    functions.http("POST", "/jobs", request("a", **SECRETS))
    for caller, sees in (("user/ada", True), ("user/adam", True), ("user/bob", False)):
        job = functions.http("GET", "/jobs/a", caller=caller)[1]
        assert (SECRET in json.dumps(job)) is sees
        assert job["withheld"] == ([] if sees else ["Environment", "HyperParameters"])
    others = [
        ("GET", "/jobs", None),
        ("GET", "/jobs/a/explanation", None),
        ("GET", "/forecast", None),
        ("POST", "/jobs", request("a", **SECRETS)),
        ("POST", "/what-if", {"changes": [{"change": "withdraw", "jobName": "a"}]}),
    ]
    for method, path, body in others:
        assert SECRET not in json.dumps(functions.http(method, path, body, caller="user/bob")[1])


def test_the_command_line_in_a_failure_reason_is_hidden(functions: Functions) -> None:
    # As SageMaker's training toolkit writes it.
    command = f"/usr/bin/python3 train.py --token {SECRET}"
    failure = f'AlgorithmError: ExecuteUserScriptError:\nExitCode 1\nErrorMessage "no such file"\nCommand "{command}"'
    functions.http("POST", "/jobs", request("a", **SECRETS))
    functions.invoke("schedule", event("schedule"))
    ended = {"TrainingJobStatus": "Failed", "SecondaryStatus": "Failed", "FailureReason": failure}
    functions.invoke("observe", state_change(TrainingJobName="a", **ended))
    job = functions.http("GET", "/jobs/a")[1]
    assert job["attempts"][0]["failureReason"].endswith('ErrorMessage "no such file"\nCommand "…"')
    assert 'Command "…"' in job["reason"]["message"]
    assert SECRET not in json.dumps({**job, "request": {}})


def test_an_idempotency_key_is_valid_for_its_caller_only(functions: Functions) -> None:
    key = {"Idempotency-Key": "k"}
    assert functions.http("POST", "/jobs", request("a"), headers=key)[0] == 201
    assert functions.http("POST", "/jobs", request("a"), headers=key)[0] == 201
    status, refusal = functions.http("POST", "/jobs", request("a"), headers=key, caller="user/bob")
    assert (status, refusal["error"]["code"]) == (409, "NameInUse")
