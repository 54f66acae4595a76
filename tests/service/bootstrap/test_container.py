"""The clients of AWS skip unneeded work, and check user input."""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread, active_count
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, NoCredentialsError, ReadTimeoutError
from botocore.validate import ParamValidationDecorator

from headway.errors import HeadwayError
from headway_sandbox.inprocess.deployment import AllFunctions
from headway_sandbox.inprocess.lambda_functions import ENVIRONMENT
from headway_sandbox.inprocess.stub_client import offline_session
from headway_service import __version__
from headway_service.bootstrap.settings import MAX_LAUNCHES_AT_ONCE, Settings
from headway_service.errors import UnreadableAnswer
from tests.service.world import request


@pytest.fixture
def container() -> AllFunctions:
    return AllFunctions(Settings.of(ENVIRONMENT))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, container: AllFunctions) -> dict[str, Any]:
    """The clients that the service layer has made, by service."""
    clients: dict[str, Any] = {}

    def client(service: str, **options: Any) -> Any:
        return clients.setdefault(service, offline_session().client(service, **options))

    monkeypatch.setattr(boto3, "client", client)
    for edge in ("table", "training_jobs", "alarms", "event_publisher", "dead_letters"):
        getattr(container, edge)
    return clients


def test_botocore_skips_validation_only_for_internal_requests(made: dict[str, Any]) -> None:
    assert {name: isinstance(client._serializer, ParamValidationDecorator) for name, client in made.items()} == {
        "dynamodb": False,
        "sqs": False,
        "sagemaker": True,
        "cloudwatch": True,
        "events": True,
        "sns": True,
        "lambda": True,
    }


def test_every_client_keeps_the_limits_of_calls(made: dict[str, Any]) -> None:
    for client in made.values():
        config = client.meta.config
        assert (config.connect_timeout, config.read_timeout, config.retries["total_max_attempts"]) == (2, 8, 3)


def test_a_client_has_a_connection_for_each_launch_at_once_and_one_for_the_tick(made: dict[str, Any]) -> None:
    for client in made.values():
        assert client.meta.config.max_pool_connections == MAX_LAUNCHES_AT_ONCE + 1


def test_a_tick_makes_as_many_calls_in_parallel_as_the_setting_says() -> None:
    container = AllFunctions(Settings.of({**ENVIRONMENT, "HEADWAY_LAUNCHES_AT_ONCE": "3"}))
    before, held = active_count(), Event()

    def wait() -> None:
        held.wait()

    with container.parallel_calls() as calls:
        for _ in range(5):
            calls.submit(wait)
        made = active_count() - before
        held.set()
    assert made == 3


def test_calls_have_headway_and_its_version_as_user_agent(made: dict[str, Any]) -> None:
    for client in made.values():
        told = client._user_agent_creator.to_string()
        assert told.startswith(f"Headway/{__version__} Boto3/")
        assert "#" not in told


def test_a_launch_is_sent_once_however_sagemaker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Broken(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.headers["X-Amz-Target"])
            self.send_error(HTTPStatus.BAD_GATEWAY)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Broken) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr(boto3, "client", offline_session().client)
        try:
            with pytest.raises(HeadwayError):
                AllFunctions(Settings.of(ENVIRONMENT)).training_jobs.create(request("a"))
        finally:
            server.shutdown()
    assert asked == ["SageMaker.CreateTrainingJob"]


def test_no_client_accepts_an_answer_that_aws_did_not_write(made: dict[str, Any]) -> None:
    for client in made.values():
        model = client.meta.service_model
        answer = {"status_code": 200, "headers": {}, "body": b"<html></html>"}
        with pytest.raises(UnreadableAnswer):
            client.meta.events.emit(
                f"before-parse.{model.service_id.hyphenize()}.Any",
                operation_model=model.operation_model(model.operation_names[0]),
                response_dict=answer,
                customized_response_dict={},
            )


@pytest.mark.parametrize(
    "error", [UnreadableAnswer("x"), NoCredentialsError(), ReadTimeoutError(endpoint_url="x"), ClientError({}, "x")]
)
def test_a_failed_wake_up_is_left_to_the_next_minute(
    container: AllFunctions, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(_: str) -> None:
        raise error

    monkeypatch.setattr(container, "_send_wake_up", fail)
    container.wake("submitted")


def test_a_wake_up_that_fails_by_a_bug_fails(container: AllFunctions, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise KeyError

    monkeypatch.setattr(container, "_send_wake_up", fail)
    with pytest.raises(KeyError):
        container.wake("submitted")
