"""The queue is asked only if the configured endpoint is the API of the examined stack."""

from __future__ import annotations

import pytest

from headway_client.account.queue import check_version, open_queue, read_settings
from headway_client.account.seen import Stack
from headway_client.config.profile import Connection
from headway_client.http.api import HeadwayApi
from tests.client.fakes.server import REGION, ContractServer

STACK = Stack(status="CREATE_COMPLETE", outputs={"ApiId": "abc123"})
HOST = "execute-api.eu-west-1.amazonaws.com"


def connection(endpoint: str, api_id: str | None = None) -> Connection:
    return Connection(endpoint=endpoint, region=REGION, api_id=api_id)


@pytest.mark.parametrize(
    ("endpoint", "api_id", "is_the_stacks"),
    [
        (f"https://abc123.{HOST}/v1", None, True),
        (f"https://abc123-vpce-0123456789abcdef0.{HOST}/v1", None, True),
        ("https://vpce-0a-b.execute-api.eu-west-1.vpce.amazonaws.com/v1", "abc123", True),
        ("http://127.0.0.1:4566/_aws/execute-api/abc123/v1", None, True),
        (f"https://other.{HOST}/v1", None, False),
        (f"https://abc123x.{HOST}/v1", None, False),
        (f"https://other.{HOST}/v1", "other", False),
    ],
)
def test_an_endpoint_is_the_stacks_by_the_id_of_its_api(endpoint: str, api_id: str | None, is_the_stacks: bool):
    found = open_queue(STACK, connection(endpoint, api_id))
    assert isinstance(found, HeadwayApi) is is_the_stacks
    assert is_the_stacks or found == f"the endpoint {endpoint} is not the API of this stack"


def test_a_stack_without_an_api_has_no_queue():
    assert isinstance(open_queue(Stack(status="CREATE_COMPLETE"), connection(f"https://abc123.{HOST}/v1")), str)


def test_without_an_endpoint_nothing_is_called():
    why = open_queue(STACK, None)
    assert why == "no endpoint is configured"
    assert read_settings(why) == why
    assert check_version(why).result == "note"


def test_the_configuration_and_the_version_are_read(server: ContractServer, api: HeadwayApi):
    settings = read_settings(api)
    assert not isinstance(settings, str)
    assert "pools" in settings
    found = check_version(api)
    assert (found.result, found.message) == ("ok", "GET /version through the API: headway 0.1.0, API 1")


def test_an_api_that_refuses_is_a_problem(server: ContractServer, api: HeadwayApi):
    server.queue.server_version = None
    assert check_version(api).result == "problem"
