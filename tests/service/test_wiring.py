"""The clients of AWS spend no time on what nobody needs, and check what callers wrote."""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import boto3
import pytest
from botocore.validate import ParamValidationDecorator

from headway.errors import HeadwayError
from headway_sandbox.soak.functions import ENVIRONMENT
from headway_sandbox.stub_client import offline_session
from headway_service import __version__
from headway_service.settings import Settings
from headway_service.wiring import Services
from tests.service.world import request


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The clients that the service layer has made, by service."""
    clients: dict[str, Any] = {}

    def client(service: str, **options: Any) -> Any:
        return clients.setdefault(service, offline_session().client(service, **options))

    monkeypatch.setattr(boto3, "client", client)
    services = Services(Settings.of(ENVIRONMENT))
    for edge in ("table", "training_jobs", "store", "alarms", "teller", "dead_letters"):
        getattr(services, edge)
    return clients


def test_only_requests_of_our_own_making_go_unchecked_by_botocore(made: dict[str, Any]) -> None:
    assert {name: isinstance(client._serializer, ParamValidationDecorator) for name, client in made.items()} == {
        "dynamodb": False,
        "ssm": False,
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


def test_calls_name_headway_and_its_version_and_nothing_is_made_up_for_each(made: dict[str, Any]) -> None:
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
                Services(Settings.of(ENVIRONMENT)).training_jobs.create(request("a"))
        finally:
            server.shutdown()
    assert asked == ["SageMaker.CreateTrainingJob"]
