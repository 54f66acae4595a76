"""Fixtures for tests of the client: a queue, AWS, and a clean environment."""

from __future__ import annotations

import importlib.metadata
import json
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.credentials import Credentials

from headway_client.botocore_hooks.attach import attach
from headway_client.cli.output import times
from headway_client.config import sandbox_state
from headway_client.http.api import HeadwayApi
from headway_client.http.transport import Limits
from tests.client.fakes.aws_stub import BUCKET, AwsStub
from tests.client.fakes.server import ACCESS_KEY, QUEUE_TIME, REGION, SECRET_KEY, ContractServer

# Each SageMaker SDK has an environment of its own for its tests; version 3 consists of several packages.
_INSTALLED = {each.name.lower(): each.version for each in importlib.metadata.distributions()}
collect_ignore = [
    *([] if _INSTALLED.get("sagemaker", "").startswith("2.") else ["sdk2"]),
    *([] if "sagemaker-train" in _INSTALLED else ["sdk3"]),
    *([] if "covalent" in _INSTALLED else ["covalent_executor"]),
]

FAST = Limits(connect_timeout_s=2, read_timeout_s=2, try_timeout_s=3, backoff_s=0.001, max_pause_s=1)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the machine's settings and the user's files from tests."""
    for name in ("ENDPOINT", "PROFILE", "REGION", "CONFIG_FILE", "API_ID", "DEBUG", "INSTALL"):
        monkeypatch.delenv(f"HEADWAY_{name}", raising=False)
    for name in ("PROFILE", "REGION", "DEFAULT_REGION", "SESSION_TOKEN", "ENDPOINT_URL"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name in ("COLUMNS", "NO_COLOR", "TERM", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(times, "now_s", datetime.fromisoformat(QUEUE_TIME).timestamp)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sandbox_state, "CHECKOUT", folder)


@pytest.fixture
def server() -> Iterator[ContractServer]:
    with ContractServer().running() as running:
        yield running


@pytest.fixture
def api(server: ContractServer) -> HeadwayApi:
    return HeadwayApi(server.endpoint, region=REGION, credentials=Credentials(ACCESS_KEY, SECRET_KEY), limits=FAST)


@pytest.fixture
def aws() -> Iterator[AwsStub]:
    """A stub of AWS."""
    with AwsStub().running() as running:
        yield running


@pytest.fixture(scope="module")
def session() -> boto3.Session:
    """One session for all tests, as loading a service model is slow; clients do not share handlers."""
    return boto3.Session(ACCESS_KEY, SECRET_KEY, region_name=REGION)


@pytest.fixture
def client(api: HeadwayApi, aws: AwsStub, session: boto3.Session) -> Any:
    """A client of SageMaker to which the queue is attached."""
    made = session.client("sagemaker", endpoint_url=aws.url)
    attach(made, api)
    return made


@pytest.fixture
def sdk_settings(endpoint_set: str, aws: AwsStub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Set the queue's endpoint, the AWS endpoint, and no telemetry for a SageMaker SDK."""
    defaults = tmp_path / "sagemaker.yaml"
    # Without a bucket, the SDK would request the account from STS for the default bucket's name.
    modules = f"{{TelemetryOptOut: true, Session: {{DefaultS3Bucket: {BUCKET}}}}}"
    defaults.write_text(f"SchemaVersion: '1.0'\nSageMaker: {{PythonSDK: {{Modules: {modules}}}}}\n")
    monkeypatch.setenv("SAGEMAKER_USER_CONFIG_OVERRIDE", str(defaults))
    monkeypatch.setenv("SAGEMAKER_ADMIN_CONFIG_OVERRIDE", str(defaults))
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)


@pytest.fixture
def endpoint_set(server: ContractServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Set the queue's endpoint in the environment, and return it."""
    monkeypatch.setenv("HEADWAY_ENDPOINT", server.endpoint)
    monkeypatch.setenv("HEADWAY_REGION", REGION)
    return server.endpoint


Outcome = tuple[int, str, str]


@pytest.fixture
def run(
    endpoint_set: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Run the command line and return exit code, output and errors."""
    # Pauses between tries have their own tests.
    monkeypatch.setattr("headway_client.http.transport.Limits", lambda: FAST)

    # Imported here, as the SDK environments may lack click, which only the command line needs.
    from headway_client.cli.main import main

    def run(*arguments: str) -> Outcome:
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def request_file(tmp_path: Path) -> Callable[[Mapping[str, Any]], str]:
    def write(document: Mapping[str, Any]) -> str:
        path = tmp_path / "request.json"
        path.write_text(json.dumps(document))
        return str(path)

    return write
