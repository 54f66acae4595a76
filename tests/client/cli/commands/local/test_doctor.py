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
from headway_client.cli import account_diagnostics
from headway_client.config import profile
from headway_client.errors import ClientError
from headway_client.http.api import HeadwayApi
from tests.client.account.fake_account import TRAINING, FakeAccount
from tests.client.command_line import ROOT, Run
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


# -------------------------------------------------------------------------------------------------------------- account


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> FakeAccount:
    fake = FakeAccount()
    monkeypatch.setattr(account_diagnostics, "make_clients", lambda **_: fake.client)
    monkeypatch.setattr(account_diagnostics, "clients_of", lambda _: fake.client)
    return fake


def test_an_account_without_problems_has_exit_code_0(run: Run, account: FakeAccount):
    code, out, err = run("doctor", "--account")

    assert (code, err) == (0, "")
    assert out.startswith(
        "ok       account     account 123456789012: arn:aws:iam::123456789012:user/ada in eu-west-1\n"
        "ok       stack       the stack headway: UPDATE_COMPLETE\n"
    )
    assert "invocation" not in out


def test_a_problem_of_the_account_has_exit_code_3_and_its_remedy_below(run: Run, account: FakeAccount):
    account.quotas[TRAINING] = 1
    code, out, _ = run("doctor", "--account", "--invoke")

    assert code == 3
    lines = out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("problem  quota"))
    assert f'the quota "{TRAINING}": 1; the pool ml.p5.48xlarge has 2 instances' in lines[at]
    assert lines[at + 1].strip().startswith("Ask for at least 2")
    assert out.count("invocation") == 7


def test_findings_on_an_account_are_documents_like_all_others(run: Run, account: FakeAccount):
    found = json.loads(run("doctor", "--account", "-o", "json")[1])["findings"]

    assert found[1] == {
        "check": "stack", "result": "ok", "message": "the stack headway: UPDATE_COMPLETE", "remedy": None,
    }  # fmt: skip


def test_a_deployment_that_is_to_be_made_is_examined_with_the_template_beside_its_configuration(
    run: Run, account: FakeAccount
):
    Path("samconfig.toml").write_text(
        '[prod.global.parameters]\nstack_name = "q"\n'
        '[prod.deploy.parameters]\nparameter_overrides = ["PoolSize=9", "PoolInstanceTyp=x"]\n'
    )
    Path("template.yaml").write_text((ROOT / "template.yaml").read_text())
    code, found = findings(run, "--account", "--samconfig", "samconfig.toml", "--env", "prod")

    assert code == 3
    assert found["parameters"]["message"] == "the parameter PoolInstanceTyp: the template has none of that name"
    assert found["stack"]["message"] == "the stack q: UPDATE_COMPLETE"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--invoke"], "--stack, --samconfig, --env, --template and --invoke need --account."),
        (["--account", "--env", "prod"], "--env and --template need --samconfig."),
        (["--account", "--samconfig", "none.toml"], "none.toml can't be read (No such file or directory)."),
    ],
)
def test_options_that_do_not_fit_are_refused(run: Run, account: FakeAccount, arguments: list[str], said: str):
    code, _, err = run("doctor", *arguments)

    assert code == 2
    assert said in err


def test_an_account_is_examined_before_any_endpoint_exists(
    run: Run, account: FakeAccount, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("HEADWAY_ENDPOINT")
    assert run("doctor", "--account", "--region", "eu-west-1")[0] == 0
