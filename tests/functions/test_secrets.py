"""Secrets are planted wherever callers and SageMaker may put some, and looked for in all that the functions write."""

from __future__ import annotations

import io
import json
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from aws_lambda_powertools.logging.filters import SuppressFilter
from botocore.exceptions import ClientError, ParamValidationError

from headway_sandbox.inprocess.lambda_loader import event, http_event
from headway_service.observability.logging import logger
from tests.functions.conftest import ANY_VERSION, Functions, state_change
from tests.functions.test_dead_letters import Morgue, morgue, record
from tests.functions.test_tell import Ears, ears
from tests.service.world import on, request

__all__ = ["ears", "morgue"]

SECRET = "hunter2-correct-horse"
CONFIDENTIAL: dict[str, Any] = {
    "HyperParameters": {"token": SECRET},
    "Environment": {"API_KEY": SECRET, "SANDBOX_RUN_SECONDS": "600"},
}


class Output:
    """All that is written: by the logger, whatever stream it was given once, by any other logger, and by prints."""

    def __init__(self, prints: pytest.CaptureFixture[str]) -> None:
        self.stream = io.StringIO()
        self._prints = prints

    def text(self) -> str:
        """The output since the last call."""
        printed = self._prints.readouterr()
        written = self.stream.getvalue()
        self.stream.seek(0)
        self.stream.truncate()
        return written + printed.out + printed.err


@pytest.fixture(params=["INFO", "DEBUG"])
def output(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Output]:
    output = Output(capfd)
    # The handler keeps the standard output of the test that imported the module first.
    for handler in logger.handlers:
        monkeypatch.setattr(handler, "stream", output.stream)
    everybody, root = logging.StreamHandler(output.stream), logging.getLogger()
    # As Powertools has Lambda's own handler pass over what its logger writes itself.
    everybody.addFilter(SuppressFilter(logger.name))
    levels = logger.log_level, root.level
    logger.setLevel(request.param)
    root.setLevel(request.param)
    root.addHandler(everybody)
    yield output
    root.removeHandler(everybody)
    logger.setLevel(levels[0])
    root.setLevel(levels[1])


def secret_job(name: str, priority: int | None = None, **changes: Any) -> dict[str, Any]:
    return request(name, priority, **{**CONFIDENTIAL, **changes})


def submissions(functions: Functions, *_: Any) -> None:
    for path in ("/jobs", "/add-job", "/job-batches", "/what-if"):
        body = secret_job(f"a{path.replace('/', '-')}")
        wrapped = {
            "/job-batches": {"requests": [body, body]},
            "/what-if": {"changes": [{"change": "submit", "request": body}]},
        }
        functions.http("POST", path, wrapped.get(path, body), headers={"Idempotency-Key": SECRET})
        functions.http("POST", path, wrapped.get(path, body), query={"dryRun": ["true"]})


def refusals(functions: Functions, *_: Any) -> None:
    for changes in (
        {"RoleArn": SECRET},
        {"HyperParameters": {"a": f"{SECRET}\n"}},
        {"HyperParameters": {SECRET: ["a name that is none"]}},
        {"Environment": {"KEY": [SECRET]}},
        {"Environment": {f"{SECRET} ": "a name that is none"}},
        {"ResourceConfig": on(99)},
        {"TrainingJobName": f"{SECRET} "},
        {"StoppingCondition": SECRET},
    ):
        for path in ("/jobs", "/job-batches"):
            body = secret_job("a", **changes)
            functions.http("POST", path, body if path == "/jobs" else {"requests": [body]})
    functions.http("PUT", "/config", {"pools": SECRET}, headers=ANY_VERSION)
    functions.http("PATCH", "/jobs/a", {"priority": SECRET})
    functions.http("GET", "/jobs", query={"nextToken": [SECRET], "owner": [SECRET]})


def malformed_bodies(functions: Functions, *_: Any) -> None:
    for raw in (
        SECRET,
        f'{{"a": "{SECRET}"',
        f'{{"a": "{SECRET}", "a": NaN}}',
        f'"{SECRET}"',
        f'[{{"{SECRET}": [1e999]}}]',
    ):
        functions.http("POST", "/jobs", raw=raw)
        functions.invoke("api", http_event("POST", "/jobs", raw, headers={"Content-Type": "text/plain"}))


def a_life_with_rules_preemption_failure_and_retry(functions: Functions, *_: Any) -> None:
    rules = {"short": {"require": {"maxRunTimeSeconds": 90_000}}}
    retries = {"code": {"maxPerJob": 1, "backoffSeconds": 0}}
    functions.http(
        "PUT",
        "/config",
        {"pools": {"ml.p5.48xlarge": {"size": 2}}, "rules": rules, "retries": retries},
        headers=ANY_VERSION,
    )
    functions.http("POST", "/jobs", secret_job("breaks", StoppingCondition={"MaxRuntimeInSeconds": 90_001}))
    for name, priority in (("low", 1), ("fails", 2), ("high", 9)):
        functions.http("POST", "/jobs", secret_job(name, priority))
        functions.invoke("schedule", event("schedule"))
    for job in functions.fleet.jobs(now=time.time()):
        changes = {"TrainingJobName": job.name, "HyperParameters": CONFIDENTIAL["HyperParameters"]}
        functions.invoke("observe", state_change(**changes))
    for name in ("schedule", "reconcile", "patrol", "watch"):
        functions.invoke(name, event(name))
    functions.http("DELETE", "/jobs/high")
    for path in ("/jobs", "/jobs/low/explanation", "/forecast", "/capacity", "/rogue-jobs", "/config"):
        functions.http("GET", path)


def a_launch_that_sagemaker_refuses_with_the_value(functions: Functions, *_: Any) -> None:
    functions.http("POST", "/jobs", secret_job("quoted", Environment={"SANDBOX_OUTCOME": SECRET}))
    functions.invoke("schedule", event("schedule"))
    job = functions.http("GET", "/jobs/quoted")[1]
    assert job["jobState"] == "failed"
    assert SECRET not in json.dumps([job["reason"], job["history"]]), "everybody may read the reason"


def a_request_that_the_deployed_client_does_not_know(functions: Functions, *_: Any) -> None:
    functions.http("POST", "/jobs", secret_job("newer"))
    client = functions.module("schedule").container.training_jobs._client
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "create_training_job", raising(ParamValidationError(report=f"value: {SECRET}")))
        functions.invoke("schedule", event("schedule"))
    assert functions.http("GET", "/jobs/newer")[1]["jobState"] == "failed"


def faults(functions: Functions, *_: Any) -> None:
    errors = (
        RuntimeError(SECRET),
        ParamValidationError(report=SECRET),
        client_error("ValidationException", f"Value {SECRET} is wrong"),
        KeyError(SECRET),
    )
    for error in errors:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("api", "schedule"):
                patch.setattr(functions.module(name).container.table, "query", raising(error))
                patch.setattr(functions.module(name).container.table, "get", raising(error))
            assert functions.http("GET", "/jobs/a")[0] == 500
            assert functions.http("POST", "/jobs", secret_job("a"))[0] == 500
            functions.invoke("schedule", event("schedule"))


def dead_letters(functions: Functions, morgue: Morgue, *_: Any) -> None:
    poison = {**event("observe"), "detail": {"TrainingJobName": "a", **CONFIDENTIAL}}
    morgue.bury(record(poison, ValueError(f"cannot read {SECRET}")))
    morgue.bury(poison, ERROR_CODE="NO_PERMISSIONS", ERROR_MESSAGE=f"not {SECRET}")
    morgue.bury(SECRET)
    assert SECRET not in json.dumps(morgue.show())
    morgue.refusal = "AccessDeniedException"
    morgue.redrive()


def changes_that_are_told(functions: Functions, _: Morgue, ears: Ears) -> None:
    a_launch_that_sagemaker_refuses_with_the_value(functions)
    submissions(functions)
    items = boto3.client("dynamodb").scan(TableName="queue")["Items"]
    assert SECRET in json.dumps(items, default=str), "the table holds the request"
    records = [
        {
            **event("tell")["Records"][0],
            "eventName": "INSERT",
            "dynamodb": {
                "Keys": {"pk": item["pk"], "sk": item["sk"]},
                "NewImage": item,
                "SequenceNumber": str(i),
                "ApproximateCreationDateTime": 1795256400,
            },
        }
        for i, item in enumerate(items)
    ]
    ears.tell({"Records": records})
    assert ears.bus.events
    assert SECRET not in json.dumps([ears.bus.events, ears.mail()], default=str)


@pytest.mark.parametrize(
    ("play", "word"),
    [
        (submissions, "accepted"),
        (refusals, "refused"),
        (malformed_bodies, "refused"),
        (a_life_with_rules_preemption_failure_and_retry, "launched"),
        (a_launch_that_sagemaker_refuses_with_the_value, "launch refused"),
        (a_request_that_the_deployed_client_does_not_know, "launch refused"),
        (faults, "unexpected error"),
        (dead_letters, "a dead letter was not handed over"),
        (changes_that_are_told, "launch refused"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_no_function_logs_confidential_values(
    functions: Functions, morgue: Morgue, ears: Ears, output: Output, play: Callable[..., None], word: str
) -> None:
    play(functions, morgue, ears)
    text = output.text()
    assert word in text, "nothing was captured"
    assert [line for line in text.splitlines() if SECRET in line] == []


def test_a_fault_is_logged_with_its_kind_and_its_place(functions: Functions, output: Output) -> None:
    denied = client_error("AccessDeniedException", "not authorized to perform: dynamodb:GetItem")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functions.module("api").container.table, "get", raising(denied))
        functions.http("GET", "/jobs/a")
    text = output.text()
    (line,) = [each for each in map(json.loads, _json_lines(text)) if each["message"] == "unexpected error"]
    assert (
        "botocore.exceptions.ClientError: AccessDeniedException: not authorized to perform: dynamodb:GetItem"
        in line["exception"]
    )
    assert "repository.py" in line["exception"]


def test_text_of_callers_cannot_begin_a_line_of_the_log(functions: Functions, output: Output) -> None:
    forged = 'x\n{"level": "ERROR", "message": "forged"}\r\u2028'
    functions.http("POST", "/jobs", {forged: 1})
    functions.http("GET", f"/jobs/{forged}")
    functions.http("POST", "/jobs", request("a"), headers={"Idempotency-Key": forged})
    functions.invoke("observe", state_change(TrainingJobName=forged))
    written = output.text()
    assert written.count("refused") >= 3
    assert not [line for line in written.splitlines() if line.startswith('{"level": "ERROR", "message": "forged"')]


def client_error(code: str, message: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "GetItem")


def raising(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


def _json_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith('{"level"')]
