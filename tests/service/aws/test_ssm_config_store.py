"""The configuration document, in Parameter Store."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from headway_service.aws.ssm_config_store import ParameterStore
from headway_service.errors import RetryLater
from headway_service.ports.config_store import ConfigurationText
from tests.service.raw_http import RawServer


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer().running() as server:
        yield server


@pytest.fixture(scope="module")
def store(server: RawServer) -> ParameterStore:
    return ParameterStore(server.client("ssm"), "/headway/config")


def test_the_document_is_read_and_written_with_its_version(server: RawServer, store: ParameterStore) -> None:
    server.answer(200, json.dumps({"Parameter": {"Value": "{}", "Version": 3}}).encode())
    assert store.read() == ConfigurationText(text="{}", version=3)
    server.answer(200, json.dumps({"Version": 4, "Tier": "Standard"}).encode())
    assert store.write("{}") == 4


@pytest.mark.parametrize("parameter", [{}, {"Value": "{}"}, {"Version": 3}])
def test_a_document_without_its_text_or_version_is_unreadable(
    server: RawServer, store: ParameterStore, parameter: dict[str, object]
) -> None:
    server.answer(200, json.dumps({"Parameter": parameter}).encode())
    with pytest.raises(RetryLater):
        store.read()


@pytest.mark.parametrize("code", ["TooManyUpdates", "ThrottlingException", "ExpiredTokenException", "SomethingNew"])
def test_transient_errors_are_busy(server: RawServer, store: ParameterStore, code: str) -> None:
    server.answer(400, json.dumps({"__type": code, "message": "no"}).encode())
    with pytest.raises(RetryLater):
        store.read() if code != "TooManyUpdates" else store.write("{}")


@pytest.mark.parametrize("code", ["ParameterNotFound", "AccessDeniedException", "ValidationException"])
def test_a_fault_of_the_deployment_is_raised(server: RawServer, store: ParameterStore, code: str) -> None:
    server.answer(400, json.dumps({"__type": code, "message": "no"}).encode())
    with pytest.raises(ClientError):
        store.read()
