"""Which credentials, region and endpoint the calls of a client have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.credentials import RefreshableCredentials
from botocore.exceptions import ClientError

import headway_client
from headway_client.botocore_hooks.queue_access import QueueAccess
from headway_client.config.profile import Connection, StaticKeys
from headway_client.errors import NotAllowedError, UsageError
from headway_client.http.api import HeadwayApi
from tests.client.fakes.aws_stub import AwsStub, training_job
from tests.client.fakes.contract import request
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY, ContractServer
from tests.client.logs.test_reader import attempt

USERS = {"AKIDADA": "secret-of-ada", "AKIDBOB": "secret-of-bob"}
CALLS = 20

Connect = Callable[[boto3.Session], None]


@pytest.fixture(autouse=True)
def _users(server: ContractServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server.secrets |= USERS
    monkeypatch.setenv("HEADWAY_ENDPOINT", server.endpoint)
    yield
    headway_client.uninstall()


def session_of(user: str) -> boto3.Session:
    return boto3.Session(user, USERS[user], region_name=REGION)


def install(_: boto3.Session) -> None:
    headway_client.install(region=REGION, tell=None)


@pytest.mark.parametrize("connect", [install, headway_client.attach], ids=["install", "attach"])
def test_calls_of_a_session_are_signed_with_its_own_credentials(
    connect: Connect, server: ContractServer, aws: AwsStub
) -> None:
    sessions = {user: session_of(user) for user in USERS}
    for session in sessions.values():
        connect(session)
    for user, session in sessions.items():
        server.queue.add(f"job-{user}", attempts=[attempt(1, f"job-{user}")])
        aws.logs.write(f"job-{user}/algo-1-170", 1, "line")
        sagemaker = session.client("sagemaker", endpoint_url=aws.url)
        logs = session.client("logs", endpoint_url=aws.url)
        server.received.clear()

        sagemaker.create_training_job(**request(f"new-{user}"))
        sagemaker.list_training_jobs()
        sagemaker.stop_training_job(TrainingJobName=f"new-{user}")
        logs.get_log_events(logGroupName="/aws/sagemaker/TrainingJobs", logStreamName=f"job-{user}/algo-1")

        assert {each.access_key for each in server.received} == {user}
        assert {each.method for each in server.received} == {"GET", "POST", "DELETE"}


def test_credentials_of_one_client_take_precedence_over_those_of_its_session(
    server: ContractServer, aws: AwsStub
) -> None:
    session = session_of("AKIDADA")
    headway_client.attach(session)
    own = session.client(
        "sagemaker",
        endpoint_url=aws.url,
        aws_access_key_id="AKIDBOB",
        aws_secret_access_key=USERS["AKIDBOB"],
    )

    own.create_training_job(**request("job1"))

    assert [each.access_key for each in server.received] == ["AKIDBOB"]


def test_an_attached_client_signs_with_its_own_credentials(server: ContractServer, aws: AwsStub) -> None:
    client = session_of("AKIDADA").client("sagemaker", endpoint_url=aws.url)
    headway_client.attach(client)

    client.create_training_job(**request("job1"))

    assert [each.access_key for each in server.received] == ["AKIDADA"]


def test_sessions_in_two_threads_never_swap_credentials(server: ContractServer, aws: AwsStub) -> None:
    headway_client.install(region=REGION, tell=None)
    clients = {user: session_of(user).client("sagemaker", endpoint_url=aws.url) for user in USERS}

    def submit(user: str) -> None:
        for number in range(CALLS):
            clients[user].create_training_job(**request(f"{user}-{number}"))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(submit, USERS))

    signed = {
        (each.access_key, each.body.partition(b'"TrainingJobName":"')[2][:7].decode()) for each in server.received
    }
    assert signed == {(user, user) for user in USERS}
    assert len(server.received) == 2 * CALLS


def test_an_assumed_role_is_refreshed_before_it_expires(server: ContractServer, aws: AwsStub) -> None:
    def keys(user: str, expires: datetime) -> dict[str, str]:
        return {"access_key": user, "secret_key": USERS[user], "token": "", "expiry_time": expires.isoformat()}

    soon, later = (datetime.now(UTC) + timedelta(seconds=seconds) for seconds in (30, 7200))
    core: Any = botocore.session.Session()
    core._credentials = RefreshableCredentials.create_from_metadata(
        keys("AKIDADA", soon), refresh_using=lambda: keys("AKIDBOB", later), method="sts-assume-role"
    )
    session = boto3.Session(botocore_session=core, region_name=REGION)
    headway_client.attach(session)

    session.client("sagemaker", endpoint_url=aws.url).create_training_job(**request("job1"))

    assert [each.access_key for each in server.received] == ["AKIDBOB"]


def test_credentials_that_the_caller_chose_for_the_queue_take_precedence(
    api: HeadwayApi, server: ContractServer, aws: AwsStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "credentials").write_text(
        f"[queue]\naws_access_key_id = AKIDBOB\naws_secret_access_key = {USERS['AKIDBOB']}\n"
    )
    (tmp_path / "headway.toml").write_text(
        f'[profiles.team]\nendpoint = "{server.endpoint}"\nregion = "{REGION}"\naws_profile = "queue"\n'
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("HEADWAY_CONFIG_FILE", str(tmp_path / "headway.toml"))
    by_profile, by_api = (session_of("AKIDADA").client("sagemaker", endpoint_url=aws.url) for _ in range(2))
    monkeypatch.setenv("HEADWAY_PROFILE", "team")
    monkeypatch.delenv("HEADWAY_ENDPOINT")
    headway_client.attach(by_profile)
    headway_client.attach(by_api, api)

    by_profile.create_training_job(**request("job1"))
    by_api.create_training_job(**request("job2"))

    assert [each.access_key for each in server.received] == ["AKIDBOB", ACCESS_KEY]


def test_a_client_without_credentials_submits_nothing(
    server: ContractServer, aws: AwsStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    client = boto3.Session(region_name=REGION).client("sagemaker", endpoint_url=aws.url)
    headway_client.attach(client)

    with pytest.raises(NotAllowedError, match="credentials"):
        client.create_training_job(**request("job1"))

    assert (server.received, aws.calls) == ([], [])


def test_a_client_of_another_region_creates_no_training_job_and_reads_from_sagemaker(
    server: ContractServer, aws: AwsStub
) -> None:
    headway_client.install(region=REGION, tell=None)
    server.queue.add("job1")
    aws.training_jobs["job1"] = training_job("job1", "InProgress", "Training")
    client = boto3.client("sagemaker", region_name="us-west-2", endpoint_url=aws.url)

    with pytest.raises(ClientError, match=f"in {REGION}, but this client is of us-west-2") as caught:
        client.create_training_job(**request("job2"))
    client.describe_training_job(TrainingJobName="job1")
    client.stop_training_job(TrainingJobName="job1")
    client.list_training_jobs()
    logs = boto3.client("logs", region_name="us-west-2", endpoint_url=aws.url)
    with pytest.raises(ClientError, match="ResourceNotFound"):
        logs.get_log_events(logGroupName="/aws/sagemaker/TrainingJobs", logStreamName="job1/algo-1")

    assert caught.value.response["Error"]["Code"] == "ValidationException"
    assert aws.calls == ["DescribeTrainingJob job1", "StopTrainingJob job1", "ListTrainingJobs"]
    assert server.received == []


@pytest.mark.parametrize("service", ["sagemaker", "logs"])
def test_attaching_to_a_client_of_another_region_is_an_error(service: Any, aws: AwsStub) -> None:
    client = boto3.client(service, region_name="us-west-2", endpoint_url=aws.url)

    with pytest.raises(UsageError, match=f"in {REGION}, but this client is of us-west-2"):
        headway_client.attach(client, HeadwayApi("https://queue/v1", region=REGION, credentials=Any))  # type: ignore[arg-type]


SANDBOX = Connection(
    endpoint="http://127.0.0.1:4566/_aws/execute-api/a/v1",
    region=REGION,
    keys=StaticKeys(access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY),
    aws_endpoint="http://127.0.0.1:4566",
)
ON_AWS = Connection(endpoint="https://abc.execute-api.eu-west-1.amazonaws.com/v1", region=REGION)
FORWARDED = Connection(endpoint="http://localhost:8443/v1", region=REGION)
ELSEWHERE = {
    "AWS, a queue on AWS": (ON_AWS, None, None),
    "AWS, a queue behind a forwarded port": (FORWARDED, None, None),
    "AWS through a VPC endpoint": (ON_AWS, "https://vpce-0a.api.sagemaker.eu-west-1.vpce.amazonaws.com", None),
    "an emulator, a queue on AWS": (ON_AWS, "http://localhost:4566", "on AWS, but this client calls http://localhost"),
    "the sandbox of the queue": (SANDBOX, "http://localhost:4566", None),
    "another sandbox": (SANDBOX, "http://127.0.0.1:4567", "but this client calls http://127.0.0.1:4567"),
    "AWS, a queue in a sandbox": (SANDBOX, None, "but this client calls https://api.sagemaker.eu-west-1"),
}


@pytest.mark.parametrize(("connection", "url", "expected"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_client_has_to_call_the_aws_in_which_the_queue_starts_training_jobs(
    connection: Connection, url: str | None, expected: str | None
) -> None:
    client = boto3.client("sagemaker", region_name=REGION, endpoint_url=url)

    found = QueueAccess(connection).why_not(client)

    assert (found is None) if expected is None else (found is not None and expected in found)


def test_clients_with_the_same_credentials_share_the_cached_jobs(aws: AwsStub) -> None:
    access, session = QueueAccess(FORWARDED), session_of("AKIDADA")
    first, second = (session.client(service, endpoint_url=aws.url) for service in ("sagemaker", "logs"))
    other = session_of("AKIDBOB").client("sagemaker", endpoint_url=aws.url)

    assert access.jobs_of(first) is access.jobs_of(second)
    assert access.jobs_of(first) is not access.jobs_of(other)
