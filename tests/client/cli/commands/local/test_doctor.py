from __future__ import annotations

import csv
import io
import json
import socket
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.credentials import RefreshableCredentials
from botocore.exceptions import BotoCoreError

from headway_client import __version__
from headway_client.config import profile
from headway_client.errors import ClientError
from headway_client.http.api import HeadwayApi
from tests.client.command_line import Run
from tests.client.fakes.server import ContractServer, Fault


@pytest.fixture(autouse=True)
def _no_sts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sts:
        def get_caller_identity(self) -> dict[str, str]:
            return {"Arn": "arn:aws:iam::123456789012:user/ada"}

    monkeypatch.setattr(profile.Connection, "aws_client", lambda *_, **__: Sts())


def findings(run: Run, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    code, out, _ = run("doctor", "-o", "json", *arguments)
    return code, {finding["check"]: finding for finding in json.loads(out)["findings"]}


def test_without_problems_each_line_is_ok(run: Run, server: ContractServer):
    code, out, err = run("doctor")

    assert (code, err) == (0, "")
    assert [line.split()[:2] for line in out.splitlines()] == [
        ["ok", check]
        for check in (
            "client", "endpoint", "name", "route", "credentials", "clock", "permission", "identity", "server",
        )
    ]  # fmt: skip
    assert f"{server.endpoint} (from HEADWAY_ENDPOINT), region eu-west-1" in out
    assert "127.0.0.1: this machine" in out
    assert "AKID…MPLE from env" in out
    assert "AWS knows you as arn:aws:iam::123456789012:user/ada" in out
    assert f"headway {__version__}, API 1" in out
    assert next(csv.reader(io.StringIO(run("doctor", "-o", "csv")[1]))) == ["Check", "State", "Finding", "Remedy"]


def test_a_caller_with_jobs_is_reported_under_the_queues_name(run: Run, server: ContractServer):
    job = server.queue.add("job1", jobState="completed")

    assert findings(run)[1]["identity"]["message"] == f"the queue knows you as {job['owner']}"


def test_without_an_endpoint_the_report_ends(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HEADWAY_ENDPOINT")

    code, found = findings(run)

    assert (code, list(found)) == (2, ["client", "endpoint"])
    assert "export HEADWAY_ENDPOINT" in found["endpoint"]["message"]


def test_the_file_with_the_endpoint_is_reported(run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HEADWAY_ENDPOINT")
    path = Path("config.toml").absolute()
    path.write_text(f'[profiles.prod]\nendpoint = "{server.endpoint}"\nregion = "eu-west-1"\n')
    monkeypatch.setenv("HEADWAY_CONFIG_FILE", str(path))

    code, found = findings(run, "--profile", "prod")

    assert code == 0
    assert f"(from {path}: [profiles.prod])" in found["endpoint"]["message"]


def test_an_unresolved_host_name_is_reported_with_its_requirements(run: Run, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any, **__: Any) -> Any:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)

    code, found = findings(run, "--endpoint", "https://abc.execute-api.eu-west-1.amazonaws.com/v1")

    assert (code, found["name"]["result"]) == (6, "problem")
    assert "interface endpoint for execute-api" in found["name"]["remedy"]
    assert found["credentials"]["result"] == "ok"
    assert "permission" not in found


@pytest.mark.parametrize(
    ("address", "result", "where"),
    [
        ("10.0.1.2", "ok", "private"),
        ("fd00::1", "ok", "private"),
        ("52.94.1.1", "note", "public"),
        ("127.0.0.1", "ok", "this machine"),
        ("::1", "ok", "this machine"),
    ],
)
def test_the_report_says_whether_the_host_name_is_private(
    run: Run, monkeypatch: pytest.MonkeyPatch, address: str, result: str, where: str
):
    def refuse(*_: Any, **__: Any) -> Any:
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", (address, 443))])
    monkeypatch.setattr(socket, "create_connection", refuse)

    code, found = findings(run, "--endpoint", "https://abc.execute-api.eu-west-1.amazonaws.com/v1")

    assert (code, found["name"]["result"], found["route"]["result"]) == (6, result, "problem")
    assert f".amazonaws.com is {address}: {where}" in found["name"]["message"]
    assert "security group has to allow port 443" in found["route"]["remedy"]


def test_a_refused_local_connection_suggests_to_start_the_sandbox(run: Run):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

        code, found = findings(run, "--endpoint", f"http://127.0.0.1:{port}/v1")

    assert code == 6
    assert found["route"]["remedy"] == "Start it: `headway sandbox up`."


def test_a_rejected_certificate_is_reported_with_the_variable_to_set(
    run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    class Context:
        def wrap_socket(self, *_: Any, **__: Any) -> Any:
            raise ssl.SSLCertVerificationError("self-signed certificate")

    monkeypatch.setattr(ssl, "create_default_context", lambda **_: Context())

    code, found = findings(run, "--endpoint", server.endpoint.replace("http:", "https:"))

    assert (code, found["TLS"]["result"]) == (6, "problem")
    assert "REQUESTS_CA_BUNDLE" in found["TLS"]["remedy"]


def test_a_proxy_is_reported_without_its_password(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://ada:secret@proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "")

    def fail(_: HeadwayApi) -> Any:
        raise ClientError("no")

    monkeypatch.setattr(HeadwayApi, "capacity", fail)

    code, out, _ = run("doctor", "--endpoint", "https://abc.execute-api.eu-west-1.amazonaws.com/v1")

    assert code == 1
    assert "goes through the proxy proxy.example:3128" in out
    assert "add abc.execute-api.eu-west-1.amazonaws.com to NO_PROXY" in out
    assert "secret" not in out


def test_missing_credentials_are_reported(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    code, found = findings(run)

    assert (code, found["credentials"]["result"]) == (6, "problem")
    assert "permission" not in found


def test_the_expiry_of_credentials_is_reported(run: Run, monkeypatch: pytest.MonkeyPatch):
    def refresh() -> dict[str, str]:
        return {"access_key": "AKIDEXAMPLE", "secret_key": "s", "token": "t", "expiry_time": expiry.isoformat()}

    expiry = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=3)
    credentials = RefreshableCredentials.create_from_metadata(refresh(), refresh, "sso")
    monkeypatch.setattr(profile.Connection, "credentials", lambda _: credentials)

    _, found = findings(run)

    assert found["credentials"]["message"] == f"AKID…MPLE from sso, valid until {expiry:%Y-%m-%d %H:%M:%SZ}"


@pytest.mark.parametrize(
    ("skew_s", "result", "words"),
    [
        (0, "ok", ""),
        (-120, "note", "s ahead of the server's"),
        (900, "problem", "s behind the server's"),
    ],
)
def test_a_wrong_clock_is_reported(run: Run, server: ContractServer, skew_s: int, result: str, words: str):
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=skew_s), usegmt=True)
    server.fail(Fault(status=200, body=b'{"pools": []}', headers={"Date": date}))

    code, found = findings(run)

    assert (code, found["clock"]["result"]) == (6 if result == "problem" else 0, result)
    assert words in found["clock"]["message"]


def test_a_missing_permission_is_reported_by_name(run: Run, server: ContractServer):
    server.fail(Fault(status=403, body=b'{"Message": "User: ada is not authorized to perform: execute-api:Invoke"}'))

    code, found = findings(run)

    assert (code, found["permission"]["result"]) == (6, "problem")
    assert "Ask for permission to execute-api:Invoke" in found["permission"]["message"]
    assert "server" not in found


def test_different_versions_are_reported(run: Run, server: ContractServer):
    server.queue.server_version = "0.2.0"
    code, found = findings(run)
    assert (code, found["server"]["result"]) == (0, "note")
    assert "install headway==0.2.0" in found["server"]["remedy"]

    server.queue.server_version = None
    code, found = findings(run)
    assert (code, found["server"]["result"]) == (10, "problem")


def test_the_caller_may_be_unknown(run: Run, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any, **__: Any) -> Any:
        raise BotoCoreError

    monkeypatch.setattr(profile.Connection, "aws_client", fail)

    code, found = findings(run)

    assert (code, found["identity"]["result"]) == (0, "note")


# -------------------------------------------------------------------------------------------------------------- version


def test_both_versions_are_shown(run: Run, server: ContractServer):
    assert run("version") == (0, f"client {__version__}\nserver 0.1.0 (API 1) at {server.endpoint}\n", "")
    assert json.loads(run("version", "-o", "json")[1]) == {
        "client": __version__, "server": "0.1.0", "api": 1, "endpoint": server.endpoint,
    }  # fmt: skip


def test_the_clients_version_needs_no_queue(run: Run, server: ContractServer):
    assert run("version", "--client") == (0, f"client {__version__}\n", "")
    assert json.loads(run("version", "--client", "-o", "json")[1]) == {"client": __version__}
    assert server.received == []


def test_an_old_server_is_reported_in_place_of_its_version(run: Run, server: ContractServer):
    server.queue.server_version = None

    assert run("version")[0] == 10
