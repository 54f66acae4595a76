from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.exceptions import TokenRetrievalError

from headway_client import __version__
from headway_client.errors import (
    BusyError,
    ClientError,
    JobNotFoundError,
    NotAllowedError,
    NotReachableError,
    RefusedError,
    ServerFaultError,
)
from headway_client.http import transport
from headway_client.http.api import HeadwayApi
from headway_client.http.transport import Limits, Transport
from tests.client.conftest import FAST
from tests.client.fakes import sigv4
from tests.client.fakes.contract import request
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY, ContractServer, Fault, Received


def make_api(server: ContractServer, **options: Any) -> HeadwayApi:
    settings: dict[str, Any] = {
        "region": REGION,
        "credentials": Credentials(ACCESS_KEY, SECRET_KEY),
        "limits": FAST,
    } | options
    return HeadwayApi(server.endpoint, **settings)


def signature_by_botocore(received: Received, endpoint: str) -> str:
    """Compute the signature of a received request with botocore."""
    host = endpoint.removesuffix("/v1")
    signed = received.headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    again = AWSRequest(
        method=received.method,
        url=host + received.target,
        data=received.body,
        headers={name: received.headers[name] for name in signed},
    )
    again.context["timestamp"] = received.headers["x-amz-date"]
    auth = SigV4Auth(ReadOnlyCredentials(ACCESS_KEY, SECRET_KEY, None), "execute-api", REGION)
    return str(auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again))


AWKWARD_NAMES = [
    "a b", "a%2Fb", "a+b", "a&b=c", "a?b#c", "ä-ö", "日本", "~a_b.c", "a%", "a;b:c@d", "a'\"<>", "..a", "\x1b"
]  # fmt: skip


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_the_signature_covers_the_path_that_is_really_sent(api: HeadwayApi, server: ContractServer, name: str):
    # The contract server answers 403 unless its own SigV4 agrees; a 404 means that the name arrived.
    with pytest.raises(JobNotFoundError) as caught:
        api.get_job(name)

    assert f"no job {name}." in caught.value.message
    received = server.received[0]
    assert received.headers["authorization"].endswith(signature_by_botocore(received, server.endpoint))


def test_the_signature_covers_a_query_with_repeated_names_and_quoted_values(api: HeadwayApi, server: ContractServer):
    server.queue.page_size = 1
    for number in range(3):
        server.queue.add(f"job{number}")

    assert len(list(api.list_jobs(states=["stopping", "pending", "running"]))) == 3
    assert "state=stopping&state=pending&state=running" in server.received[1].target
    assert "nextToken=1%2F%2B%3D" in server.received[1].target
    for received in server.received:
        assert received.headers["authorization"].endswith(signature_by_botocore(received, server.endpoint))


def test_the_signature_covers_the_body_and_the_api_id(server: ContractServer):
    make_api(server, api_id="abc123").submit(request(Environment={"TEXT": "ü\n€"}))

    received = server.received[0]
    assert received.headers["x-apigw-api-id"] == "abc123"
    assert "x-apigw-api-id" in received.headers["authorization"]
    assert received.headers["authorization"].endswith(signature_by_botocore(received, server.endpoint))
    assert json.loads(received.body)["Environment"] == {"TEXT": "ü\n€"}


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:1/v1", "https://abc123.execute-api.eu-west-1.amazonaws.com/v1"])
def test_the_signature_covers_the_body_over_tls_too(monkeypatch: pytest.MonkeyPatch, endpoint: str):
    """AWS does not document whether API Gateway accepts a signature without the body."""
    sent: list[requests.PreparedRequest] = []

    def keep(_session: requests.Session, prepared: requests.PreparedRequest, **_settings: Any) -> None:
        sent.append(prepared)
        raise requests.exceptions.InvalidURL("kept, not sent")

    monkeypatch.setattr(requests.Session, "send", keep)
    credentials = Credentials(ACCESS_KEY, SECRET_KEY)
    with pytest.raises(ClientError):
        HeadwayApi(endpoint, region=REGION, credentials=credentials, limits=FAST).submit(request())
    (prepared,) = sent
    headers = {"host": endpoint.split("/")[2], **{name.lower(): str(value) for name, value in prepared.headers.items()}}
    assert prepared.body
    body = prepared.body if isinstance(prepared.body, bytes) else str(prepared.body).encode()
    sigv4.check("POST", prepared.path_url, headers, body, secrets={ACCESS_KEY: SECRET_KEY})
    assert headers.get("x-amz-content-sha256") != "UNSIGNED-PAYLOAD"


def test_the_signature_covers_an_endpoint_that_is_requoted_on_its_way(server: ContractServer):
    unusual = HeadwayApi(
        f"{server.endpoint}/%7ea b", region=REGION, credentials=Credentials(ACCESS_KEY, SECRET_KEY), limits=FAST
    )

    with pytest.raises(NotAllowedError, match="No such path"):
        unusual.capacity()
    assert server.received[0].target == "/v1/~a%20b/capacity"


def test_a_session_token_is_sent_and_signed(server: ContractServer):
    make_api(server, credentials=Credentials(ACCESS_KEY, SECRET_KEY, "token/=+")).capacity()

    received = server.received[0]
    assert received.headers["x-amz-security-token"] == "token/=+"
    assert "x-amz-security-token" in received.headers["authorization"]


def test_the_contract_servers_check_can_fail(server: ContractServer):
    for changed in (
        {"credentials": Credentials(ACCESS_KEY, "wrong")},
        {"credentials": Credentials("unknown", SECRET_KEY)},
        {"region": "us-east-1"},
    ):
        with pytest.raises(NotAllowedError):
            make_api(server, **changed).capacity()


def test_a_forked_process_has_connections_of_its_own(
    api: HeadwayApi, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    api.version()
    api.version()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    api.version()
    api.version()

    parent, child = {each.port for each in server.received[:2]}, {each.port for each in server.received[2:]}
    assert (len(parent), len(child)) == (1, 1)
    assert parent != child


def test_the_user_agent_has_the_version(api: HeadwayApi, server: ContractServer):
    api.capacity()

    assert re.fullmatch(rf"headway/{re.escape(__version__)} python/3\.\d+", server.received[0].headers["user-agent"])
    assert server.received[0].headers["headway-version"] == __version__


def test_a_netrc_login_does_not_replace_the_signature(api: HeadwayApi, tmp_path: Path):
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    netrc.chmod(0o600)

    assert api.capacity().pools


RETRIED: list[Fault] = [
    Fault(drop=True),
    Fault(status=429, body=b'{"message": "Too Many Requests"}'),
    Fault(status=502),
    Fault(status=503, headers={"Retry-After": "0"}),
    Fault(status=504),
]


@pytest.mark.parametrize("fault", RETRIED, ids=lambda fault: "drop" if fault.drop else str(fault.status))
def test_a_temporary_failure_is_retried_with_a_new_signature(api: HeadwayApi, server: ContractServer, fault: Fault):
    server.fail(fault, fault, fault)

    assert api.submit(request()).created
    assert len(server.received) == 4
    for received in server.received:
        assert received.headers["authorization"].endswith(signature_by_botocore(received, server.endpoint))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500, 501, 302])
def test_a_permanent_failure_is_not_retried(api: HeadwayApi, server: ContractServer, status: int):
    server.fail(Fault(status=status, headers={"Location": "http://127.0.0.1:9/"}))

    with pytest.raises(ClientError):
        api.capacity()
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("status", "kind"), [(429, BusyError), (503, BusyError), (502, ServerFaultError), (504, ServerFaultError)]
)
def test_the_number_of_tries_is_bounded(api: HeadwayApi, server: ContractServer, status: int, kind: type[ClientError]):
    server.fail(*[Fault(status=status)] * 10)

    with pytest.raises(kind):
        api.capacity()
    assert len(server.received) == FAST.tries


def paused(server: ContractServer, limits: Limits, jitter: float = 1.0) -> list[float]:
    """Return the pauses of a call that fails."""
    pauses: list[float] = []
    sender = Transport(
        server.endpoint,
        region=REGION,
        credentials=Credentials(ACCESS_KEY, SECRET_KEY),
        limits=limits,
        pause=pauses.append,
        jitter=lambda: jitter,
    )
    with pytest.raises(ClientError):
        sender.send("GET", ["capacity"])
    return pauses


@pytest.mark.parametrize(
    ("retry_after", "expected"),
    [
        (None, [0.25, 0.5, 1.0, 2.0, 3.0]),
        ("0", [0.25, 0.5, 1.0, 2.0, 3.0]),
        ("2", [2.25, 2.5, 3.0, 3.0, 3.0]),
        ("3", [3, 3, 3, 3, 3]),
        # A longer Retry-After than `max_pause_s`: the error is raised at once.
        ("4", []),
        ("999999999999999", [0.25, 0.5, 1.0, 2.0, 3.0]),
        ("-1", [0.25, 0.5, 1.0, 2.0, 3.0]),
        ("Wed, 21 Oct 2026 07:28:00 GMT", [0.25, 0.5, 1.0, 2.0, 3.0]),
    ],
)
def test_pauses_grow_to_a_bound_and_follow_retry_after(
    server: ContractServer, retry_after: str | None, expected: list[float]
):
    server.fail(*[Fault(status=503, headers={"Retry-After": retry_after} if retry_after else {})] * 6)

    assert paused(server, Limits(tries=6, backoff_s=0.25, max_pause_s=3.0)) == expected


def test_retry_after_is_the_minimum_of_a_pause(server: ContractServer):
    server.fail(*[Fault(status=429, headers={"Retry-After": "2"})] * 3)

    assert paused(server, Limits(tries=3, backoff_s=0.5), jitter=0.0) == [2, 2]


def test_pauses_are_random_below_their_bound(server: ContractServer):
    server.fail(*[Fault(drop=True)] * 3)

    assert paused(server, Limits(tries=3, backoff_s=0.5), jitter=0.5) == [0.25, 0.5]


def test_a_server_without_a_response_times_out(server: ContractServer):
    server.fail(*[Fault(hang_s=10)] * 2)
    api = make_api(server, limits=Limits(read_timeout_s=0.1, tries=2, backoff_s=0.001))

    started = time.monotonic()
    with pytest.raises(NotReachableError, match="in time"):
        api.capacity()
    assert time.monotonic() - started < 2
    assert len(server.received) == 2


def test_a_too_large_answer_is_not_read_to_its_end(
    api: HeadwayApi, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(transport, "MAX_RESPONSE_BYTES", 1000)
    server.fail(Fault(status=200, body=b" " * 10_000, claimed_bytes=1_000_000))

    with pytest.raises(ServerFaultError, match="more than 1,000 bytes"):
        api.capacity()
    assert len(server.received) == 1


def test_a_too_slow_answer_times_out(server: ContractServer):
    limits = Limits(try_timeout_s=0.0, tries=2, backoff_s=0.001)
    server.fail(*[Fault(status=200, body=b" " * 5_000)] * 2)

    with pytest.raises(NotReachableError, match="in time"):
        make_api(server, limits=limits).capacity()
    assert len(server.received) == 2


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b'{"pools"', b"[" * 100_000])
def test_an_answer_without_json_is_reported(api: HeadwayApi, server: ContractServer, body: bytes):
    server.fail(Fault(status=200, body=body))

    with pytest.raises(ServerFaultError, match="no JSON"):
        api.capacity()


def test_a_closed_port_is_not_reachable():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        api = HeadwayApi(endpoint, region=REGION, credentials=Credentials("a", "b"), limits=FAST)
        with pytest.raises(NotReachableError, match="Can't connect"):
            api.capacity()


def test_an_unresolved_host_name_is_reported_without_retries(monkeypatch: pytest.MonkeyPatch):
    tries = []

    def unknown(*arguments: Any, **_: Any) -> Any:
        tries.append(arguments)
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    api = HeadwayApi("https://api.invalid/v1", region=REGION, credentials=Credentials("a", "b"), limits=FAST)

    with pytest.raises(NotReachableError, match=r"can't be resolved.*VPC"):
        api.capacity()
    assert len(tries) == 1


def test_a_server_without_tls_is_reported_without_retries(server: ContractServer):
    endpoint = server.endpoint.replace("http://", "https://")
    api = HeadwayApi(endpoint, region=REGION, credentials=Credentials("a", "b"), limits=FAST)

    with pytest.raises(NotReachableError, match="TLS"):
        api.capacity()


class ExpiredLogin:
    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        raise TokenRetrievalError(provider="sso", error_msg="Token has expired and refresh failed")


def test_an_expired_login_is_reported_with_the_fix(server: ContractServer):
    with pytest.raises(NotAllowedError, match="aws sso login"):
        make_api(server, credentials=ExpiredLogin()).capacity()
    assert server.received == []


FORBIDDEN: list[tuple[str, str]] = [
    ("Missing Authentication Token", "stage"),
    ("Signature expired: 20260101T000000Z is now earlier than 20260101T000500Z", "clock"),
    ("The security token included in the request is expired", "aws sso login"),
    ("The security token included in the request is invalid.", "credentials"),
    ("The request signature we calculated does not match the signature you provided.", "secret access key"),
    ("Credential should be scoped to a valid region.", "region"),
    ("User: arn:aws:iam::1:user/a is not authorized to perform: execute-api:Invoke", "resource policy"),
    ("Forbidden", "HEADWAY_API_ID"),
    ("something new", "execute-api:Invoke"),
    ("", "execute-api:Invoke"),
]


@pytest.mark.parametrize(("message", "cure"), FORBIDDEN)
def test_every_kind_of_403_names_what_to_check(api: HeadwayApi, server: ContractServer, message: str, cure: str):
    server.fail(Fault(status=403, body=json.dumps({"message": message}).encode()))

    with pytest.raises(NotAllowedError) as caught:
        api.capacity()
    assert cure in caught.value.message
    assert message.rstrip(".") in caught.value.message


def error_of(status: int, document: Mapping[str, Any] | None) -> Callable[[HeadwayApi, ContractServer], ClientError]:
    def provoke(api: HeadwayApi, server: ContractServer) -> ClientError:
        body = b"<html>oops</html>" if document is None else json.dumps(document).encode()
        server.fail(*[Fault(status=status, body=body, headers={"x-amzn-RequestId": "from-header"})] * FAST.tries)
        with pytest.raises(ClientError) as caught:
            api.capacity()
        return caught.value

    return provoke


@pytest.mark.parametrize(
    ("status", "document", "kind", "code", "words"),
    [
        (413, {"message": "Request Too Long"}, RefusedError, "Refused", "Too Long"),
        (413, {"error": {"code": "RequestTooLarge", "message": "Big."}}, RefusedError, "RequestTooLarge", "Big."),
        (422, {"error": {"code": "ImpossibleDemand", "message": "No."}}, RefusedError, "ImpossibleDemand", "No."),
        (404, {"message": "Not Found"}, NotReachableError, "NotReachable", "stage"),
        (404, None, NotReachableError, "NotReachable", "stage"),
        (400, None, NotReachableError, "NotReachable", "stage"),
        (400, {"error": "text"}, NotReachableError, "NotReachable", "stage"),
        (400, {"error": {"code": 7, "message": "M.", "fields": "x"}}, RefusedError, "Refused", "M."),
        (302, None, NotReachableError, "NotReachable", "own URL"),
        (500, {"message": "Internal server error"}, ServerFaultError, "ServerFault", "(Internal server error)"),
        (500, None, ServerFaultError, "ServerFault", "status 500"),
        (503, {"error": {"code": "Busy", "message": "Come back."}}, BusyError, "Busy", "Come back."),
        (429, {"message": "Limit Exceeded"}, BusyError, "Busy", "(Limit Exceeded)"),
    ],
)
def test_each_failed_answer_has_its_kind_code_and_sentence(
    api: HeadwayApi,
    server: ContractServer,
    status: int,
    document: Mapping[str, Any] | None,
    kind: type[ClientError],
    code: str,
    words: str,
):
    error = error_of(status, document)(api, server)

    assert type(error) is kind
    assert (error.code, error.status, error.request_id) == (code, status, "from-header")
    assert words in error.message


def test_a_foreign_message_is_kept_short(api: HeadwayApi, server: ContractServer):
    error = error_of(500, {"message": "x" * 5000})(api, server)

    assert len(error.message) < 600
