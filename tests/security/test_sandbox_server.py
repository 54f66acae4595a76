"""What reaches the sandbox's server without the administrator's key: a web page, or another user of this machine."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import botocore.auth
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from headway_sandbox.local import aws_account
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.training.endpoint import FROM_JOB
from tests.sandbox.functions import make_function
from tests.security.raw_requests import Response, presigned, send, signed, version_2

pytestmark = pytest.mark.e2e

QUEUE = "kept"
FORM = "application/x-www-form-urlencoded"
PLAIN = "text/plain"
CREATE = b"Action=CreateQueue&QueueName=made-by-a-page"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A sandbox whose every resource is as public as AWS allows."""
    with Sandbox(deploy=False, relays=True) as made:
        made.client("sqs").create_queue(QueueName=QUEUE)
        s3 = made.client("s3")
        s3.put_object(Bucket=made.info.bucket, Key="public", Body=b"data")
        s3.delete_public_access_block(Bucket=made.info.bucket)
        everyone = {
            "Effect": "Allow",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": [f"arn:aws:s3:::{made.info.bucket}", f"arn:aws:s3:::{made.info.bucket}/*"],
        }
        s3.put_bucket_policy(
            Bucket=made.info.bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": [everyone]})
        )
        rule = {"AllowedMethods": ["GET", "PUT"], "AllowedOrigins": ["*"]}
        s3.put_bucket_cors(Bucket=made.info.bucket, CORSConfiguration={"CORSRules": [rule]})
        yield made


def queues(sandbox: Sandbox) -> list[str]:
    urls = sandbox.client("sqs").list_queues().get("QueueUrls", [])
    return [url.rpartition("/")[2] for url in urls]


# ---------------------------------------------------------------------------------------------------- web pages


@pytest.mark.parametrize(
    "header",
    [
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://127.0.0.1:{port}"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Sec-Fetch-Site", "same-origin"),
        ("Host", "evil.example:{port}"),
        ("Host", "localhost.evil.example:{port}"),
        ("Host", "127.0.0.1"),
        ("Host", "127.0.0.1:1"),
        ("Host", "127.0.0.1:{port}@evil.example"),
    ],
    ids=" ".join,
)
def test_a_request_of_a_page_is_refused_even_if_it_is_signed(sandbox: Sandbox, header: tuple[str, str]):
    name, value = header[0], header[1].format(port=sandbox.info.port)
    target = f"/{sandbox.info.bucket}/public"
    own = [(key, each) for key, each in signed(sandbox, "GET", target, headers={name: value})]
    refused = send(sandbox, "GET", target, own)
    assert (refused.status, refused.cors) == (403, [])
    assert b"data" not in refused.body


def test_a_page_creates_nothing_by_simple_requests(sandbox: Sandbox):
    for query in (version_2("test"), version_2(sandbox.info.access_key), ""):
        for kind in (FORM, PLAIN):
            page = [("Origin", "http://evil.example"), ("Content-Type", kind), ("Sec-Fetch-Site", "cross-site")]
            assert send(sandbox, "POST", f"/?{query}", page, CREATE).status == 403
    assert queues(sandbox) == [QUEUE]


@pytest.mark.parametrize("target", ["/", "/{bucket}/public", "/_aws/execute-api/a/b/c", "/_headway/faults"])
def test_no_answer_lets_a_page_read_it(sandbox: Sandbox, target: str):
    asked = target.format(bucket=sandbox.info.bucket)
    wanted = [("Origin", "http://evil.example"), ("Access-Control-Request-Method", "GET")]
    answers = [
        send(sandbox, "OPTIONS", asked, wanted),
        send(sandbox, "OPTIONS", asked),
        send(sandbox, "GET", asked),
        send(sandbox, "GET", asked, signed(sandbox, "GET", asked)),
        send(sandbox, "OPTIONS", asked, signed(sandbox, "OPTIONS", asked)),
    ]
    assert [answer.cors for answer in answers] == [[]] * len(answers)


# ------------------------------------------------------------------------------------------------- other programs


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A request with credentials that nobody gave."""

    name: str
    method: str = "POST"
    query: str = ""
    headers: dict[str, str] = field(default_factory=dict)


HEADER = (
    "AWS4-HMAC-SHA256 Credential={key}/20260101/eu-west-1/sqs/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature={sig}"
)
DATE = {"X-Amz-Date": "20260101T000000Z"}
SIG = "0" * 64


def query_of(key: str, service: str = "sqs") -> str:
    scope = quote(f"{key}/20260101/eu-west-1/{service}/aws4_request", safe="")
    return (
        f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={scope}&X-Amz-Date=20260101T000000Z"
        f"&X-Amz-Expires=604800&X-Amz-SignedHeaders=host&X-Amz-Signature={SIG}"
    )


ATTEMPTS = [
    Attempt(name="none"),
    *(
        attempt
        for key in ("test", "123456789012", "{root}")
        for attempt in (
            Attempt(name=f"version 2, query, {key}", query=version_2("KEY").replace("KEY", key)),
            Attempt(name=f"version 2, header, {key}", headers={"Authorization": f"AWS {key}:x"}),
            Attempt(
                name=f"version 4, header, {key}", headers={"Authorization": HEADER.format(key=key, sig=SIG), **DATE}
            ),
            Attempt(name=f"version 4, query, {key}", query=query_of("KEY").replace("KEY", key)),
            Attempt(name=f"version 4, query of S3, {key}", query=query_of("KEY", "s3").replace("KEY", key)),
            Attempt(name=f"a credential alone, {key}", query=f"X-Amz-Credential={key}%2F1"),
            Attempt(name=f"Bearer, {key}", headers={"Authorization": f"Bearer Credential={key}/"}),
        )
    ),
    Attempt(name="Basic", headers={"Authorization": "Basic dGVzdDp0ZXN0"}),
]


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
def test_credentials_that_nobody_gave_are_refused(sandbox: Sandbox, attempt: Attempt):
    def own(text: str) -> str:
        return text.replace("{root}", sandbox.info.access_key)

    headers = [(name, own(value)) for name, value in attempt.headers.items()]
    made = send(sandbox, "POST", f"/?{own(attempt.query)}", [*headers, ("Content-Type", FORM)], CREATE)
    read = send(sandbox, "GET", f"/{sandbox.info.bucket}/public?{own(attempt.query)}", headers)
    assert (made.status, read.status) == (403, 403)
    assert b"data" not in read.body
    assert queues(sandbox) == [QUEUE]


@pytest.mark.parametrize("key", ["test", "123456789012"])
def test_a_signature_by_a_constant_key_of_the_emulator_is_refused(sandbox: Sandbox, key: str):
    for secret in ("test", sandbox.info.secret_key):
        with pytest.raises(ClientError, match="security token included in the request is invalid"):
            sandbox.client("sqs", access_key=key, secret_key=secret).list_queues()
        target = presigned(sandbox, "GET", f"/{sandbox.info.bucket}/public", keys=(key, secret))
        assert send(sandbox, "GET", target).status == 403


def test_a_wrong_secret_of_the_administrator_is_refused(sandbox: Sandbox):
    for service in ("sqs", "sagemaker", "s3", "iam", "dynamodb", "lambda", "logs", "sts"):
        calls = {
            "sqs": "list_queues", "sagemaker": "list_training_jobs", "s3": "list_buckets", "iam": "list_users",
            "dynamodb": "list_tables", "lambda": "list_functions", "logs": "describe_log_groups",
            "sts": "get_caller_identity",
        }  # fmt: skip
        client = sandbox.client(service, secret_key="wrong")
        with pytest.raises(ClientError) as refused:
            getattr(client, calls[service])()
        assert refused.value.response["Error"]["Code"] in {"SignatureDoesNotMatch", "InvalidSignatureException"}, (
            service
        )


# The routes of the emulator, of AWS services without signatures, and of metadata.
ROUTES = [
    ("POST", "/_ministack/reset"),
    ("POST", "/_ministack/reset?init=1"),
    ("GET", "/_ministack/health"),
    ("GET", "/_ministack/ready"),
    ("POST", "/_ministack/config"),
    ("GET", "/_ministack/lambda-code/f"),
    ("GET", "/_ministack/lambda-layers/l/1/content"),
    ("PUT", "/_ministack/cfn-response/t"),
    ("PUT", "/_ministack/cfn-signal/t"),
    ("POST", "/_ministack/rds/iam-auth"),
    ("POST", "/_ministack/eks-auth/123456789012/eu-west-1/c/aaaaaaaaaaaaaaaaaaaa"),
    ("GET", "/_ministack/sns/sms-messages"),
    ("GET", "/_ministack/iot/ca.pem"),
    ("GET", "/%5fministack/health"),
    ("POST", "/x/../_ministack/reset"),
    ("GET", "/_localstack/health"),
    ("GET", "/_aws/ses"),
    ("GET", "/_aws/sqs/messages"),
    ("GET", "/_alb/a"),
    ("GET", "/health"),
]
UNSIGNED = [
    ("GET", "/"),
    ("GET", "/{bucket}"),
    ("GET", "/{bucket}/public"),
    ("PUT", "/{bucket}/written"),
    ("DELETE", "/{bucket}/public"),
    ("GET", "/latest/meta-data/iam/security-credentials/"),
    ("GET", "/v4/aaaaaaaa"),
    ("GET", "/v2/"),
    ("GET", "/oauth2/authorize"),
    ("POST", "/oauth2/token"),
    ("GET", "/pool/.well-known/jwks.json"),
    ("GET", "/?Action=ConfirmSubscription&TopicArn=a&Token=b"),
    ("GET", "/?Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=r&RoleSessionName=s&WebIdentityToken=t"),
    ("GET", "/_headway/health"),
    ("POST", "/_headway/functions/kill"),
    ("PUT", "/_headway/faults"),
    ("GET", "/restapis/a/b/_user_request_/c"),
    ("GET", "/_aws/execute-api/a/b/c"),
    ("TRACE", "/"),
]


@pytest.mark.parametrize(("method", "target"), [*ROUTES, *UNSIGNED], ids=lambda word: word)
def test_nothing_is_answered_without_a_signature(sandbox: Sandbox, method: str, target: str):
    assert send(sandbox, method, target.format(bucket=sandbox.info.bucket)).status == 403
    assert queues(sandbox) == [QUEUE]


@pytest.mark.parametrize(("method", "target"), ROUTES, ids=lambda word: word)
def test_the_emulators_own_routes_are_closed_to_everybody(sandbox: Sandbox, method: str, target: str):
    assert send(sandbox, method, target, signed(sandbox, method, target)).status == 403
    assert queues(sandbox) == [QUEUE]


def test_the_sandboxs_controls_are_the_administrators(sandbox: Sandbox):
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    keys = sandbox.make_user("powerful", {"Version": "2012-10-17", "Statement": [everything]})
    for service in ("headway-sandbox", "s3"):
        asked = signed(sandbox, "GET", "/_headway/health", service=service, keys=keys)
        assert send(sandbox, "GET", "/_headway/health", asked).status == 403
    assert send(sandbox, "GET", "/_headway/health", signed(sandbox, "GET", "/_headway/health")).status == 403
    asked = signed(sandbox, "GET", "/_headway/health", service="headway-sandbox")
    assert send(sandbox, "GET", "/_headway/health", asked).status == 200


@pytest.mark.parametrize(
    "opening", ["GET / HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"], ids=["upgrade", "HTTP/2"]
)
def test_no_other_protocol_leads_around_the_checks(sandbox: Sandbox, opening: str):
    handshake = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n"
    asked = f"{opening}Host: 127.0.0.1:{sandbox.info.port}\r\n{handshake}\r\n"
    with socket.create_connection(("127.0.0.1", sandbox.info.port), timeout=10) as connection:
        connection.sendall(asked.encode())
        answer = connection.recv(65_536)
    assert b" 101 " not in answer
    assert b" 200 " not in answer


# ---------------------------------------------------------------------------------------------- what has to work


def test_presigned_urls_of_the_sdk_work_until_they_expire(sandbox: Sandbox):
    bucket, version_4 = sandbox.info.bucket, Config(signature_version="s3v4", s3={"addressing_style": "path"})
    s3 = aws_account.session(sandbox.info).client("s3", endpoint_url=sandbox.info.aws_endpoint, config=version_4)

    def target_of(call: str) -> str:
        url: str = s3.generate_presigned_url(call, Params={"Bucket": bucket, "Key": "shared"})
        return url.removeprefix(sandbox.info.aws_endpoint)

    assert send(sandbox, "PUT", target_of("put_object"), body=b"shared").status == 200
    read = target_of("get_object")
    assert send(sandbox, "GET", read).body == b"shared"
    assert send(sandbox, "DELETE", read).status == 403
    assert send(sandbox, "GET", read.replace("shared", "public", 1)).status == 403
    assert send(sandbox, "GET", read, [("x-amz-copy-source", "a/b")]).status == 403


@pytest.mark.parametrize(("moved_s", "status"), [(-30, 200), (-3600, 403), (3600, 403)])
def test_a_signature_of_another_time_is_refused(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, moved_s: int, status: int
):
    signing: Any = botocore.auth
    moved = signing.get_current_datetime() + timedelta(seconds=moved_s)
    monkeypatch.setattr(signing, "get_current_datetime", lambda *_: moved)
    read, asked = f"/{sandbox.info.bucket}/public", "/?Action=ListQueues"
    assert send(sandbox, "GET", presigned(sandbox, "GET", read)).status == status
    assert send(sandbox, "GET", presigned(sandbox, "GET", asked, service="sqs")).status == status
    assert send(sandbox, "GET", asked, signed(sandbox, "GET", asked, service="sqs")).status == status


def test_a_signed_body_cannot_be_replaced(sandbox: Sandbox):
    for service, headers in (("sqs", {"Content-Type": FORM}), ("s3", {"X-Amz-Content-SHA256": SIG})):
        asked = signed(sandbox, "POST", "/", service=service, headers=headers, body=b"Action=ListQueues")
        assert send(sandbox, "POST", "/", asked, CREATE).status == 403
    assert queues(sandbox) == [QUEUE]


def answer_of(sandbox: Sandbox, host: str, target: str) -> Response:
    asked = signed(sandbox, "GET", target, headers={"Host": f"{host}:{sandbox.info.port}"})
    return send(sandbox, "GET", target, asked)


def test_the_hosts_that_sdks_use_are_the_sandboxs_own(sandbox: Sandbox):
    bucket = sandbox.info.bucket
    for host in ("127.0.0.1", "localhost"):
        assert answer_of(sandbox, host, f"/{bucket}/public").body == b"data"
    for host in (f"{bucket}.localhost", f"{bucket}.s3.localhost"):
        assert answer_of(sandbox, host, "/public").body == b"data"


def test_what_has_no_action_in_the_emulator_is_nobodys_but_the_administrators(sandbox: Sandbox):
    target, keys = "/latest/meta-data/iam/security-credentials/", sandbox.make_user("nobody", None)
    assert send(sandbox, "GET", target, signed(sandbox, "GET", target, service="imds", keys=keys)).status == 403
    assert send(sandbox, "GET", target, signed(sandbox, "GET", target, service="imds")).status == 200


FUNCTION = """
import os

def handler(event, context):
    return {name: os.environ[name] for name in os.environ if name.startswith("AWS_") and "KEY" in name}
"""


def test_the_keys_of_a_function_cannot_be_computed(sandbox: Sandbox):
    make_function(sandbox, "shows", FUNCTION, actions=["sqs:ListQueues"])
    found = sandbox.client("lambda").get_function(FunctionName="shows")["Configuration"]
    name = f"{found['FunctionArn']}:{found['Role']}"
    digest = sha256(name.encode()).hexdigest()
    computed = [sha256(f"{part}:{digest}".encode()).hexdigest() for part in ("secret", "token")]
    shown = sandbox.invoke("shows")
    assert shown["AWS_ACCESS_KEY_ID"] == f"ASIA{digest[:16].upper()}", "as the emulator makes it"
    asked = signed(sandbox, "GET", "/?Action=ListQueues", service="sqs", keys=(shown["AWS_ACCESS_KEY_ID"], *computed))
    assert send(sandbox, "GET", "/?Action=ListQueues", asked).status == 403
    assert shown["AWS_SECRET_ACCESS_KEY"] not in {*computed, sandbox.info.secret_key}


# --------------------------------------------------------------------------------------- the socket of training jobs


def test_what_comes_through_the_relays_socket_is_the_jobs_or_refused(sandbox: Sandbox):
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    root = (sandbox.info.access_key, sandbox.info.secret_key)
    job = sandbox.make_user("job", {"Version": "2012-10-17", "Statement": [everything]})
    target = f"/{sandbox.info.bucket}/public"

    def status(keys: tuple[str, ...], *marks: str, asked: str = target, service: str = "s3") -> int:
        sent = [*signed(sandbox, "GET", asked, keys=keys, service=service), *((FROM_JOB, mark) for mark in marks)]
        return send(sandbox, "GET", asked, sent, relay=True).status

    assert status(job, job[0]) == 200
    for marks in ((), (root[0],), (job[0], root[0]), (root[0], job[0]), (job[0], job[0]), ("true",), ("",)):
        assert status(job, *marks) == 403, marks
        assert status(root, *marks) == 403, marks
    assert status(root, job[0]) == 403
    assert status((job[0], root[1]), job[0]) == 403
    for keys in (job, root):
        assert status(keys, keys[0], asked="/_headway/health", service="headway-sandbox") == 403


def test_the_relays_socket_and_the_key_are_the_users_only(sandbox: Sandbox):
    assert sandbox.state_dir.stat().st_mode & 0o777 == 0o700
    for name in ("credentials", "journal.db", "relay.sock"):
        assert (sandbox.state_dir / name).stat().st_mode & 0o077 == 0, name
    others = [path for path in sandbox.state_dir.iterdir() if path.is_file() and path.name != "credentials"]
    assert [path.name for path in others if sandbox.info.secret_key.encode() in path.read_bytes()] == []


def test_the_key_is_neither_an_argument_nor_a_variable_of_a_process(sandbox: Sandbox):
    make_function(sandbox, "runs", FUNCTION, actions=[])
    sandbox.invoke("runs")
    processes = [sandbox.info.pid, *(function["pid"] for function in sandbox.functions())]
    assert len(processes) > 1
    for pid in processes:
        for name in ("cmdline", "environ"):
            assert sandbox.info.secret_key.encode() not in Path(f"/proc/{pid}/{name}").read_bytes(), (pid, name)
