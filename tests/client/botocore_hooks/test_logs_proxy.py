from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from headway_client.botocore_hooks import job_cache
from headway_client.botocore_hooks.attach import attach
from headway_client.botocore_hooks.logs_proxy import LogsProxy
from headway_client.errors import NotAllowedError, UsageError
from headway_client.http.api import HeadwayApi
from tests.client.fakes.aws_stub import AwsStub
from tests.client.fakes.log_store import LOG_GROUP, LogStore
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY, ContractServer, Fault
from tests.client.logs.test_reader import ENDED, SECOND, attempt, details


@pytest.fixture(autouse=True)
def _always_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_cache, "RECENT_S", 0.0)
    monkeypatch.setattr("headway_client.logs.streams.FRESH_S", 0.0)


@pytest.fixture(params=["client", "session"])
def logs(request: pytest.FixtureRequest, api: HeadwayApi, aws: AwsStub, session: boto3.Session) -> Any:
    """A client of logs that is attached itself, or through its session."""
    if request.param == "client":
        client = session.client("logs", endpoint_url=aws.url)
        attach(client, api)
        return client
    attached = boto3.Session(ACCESS_KEY, SECRET_KEY, region_name=REGION)
    attach(attached, api)
    return attached.client("logs", endpoint_url=aws.url)


def names(page: dict[str, Any]) -> list[str]:
    return [stream["logStreamName"] for stream in page["logStreams"]]


def messages(page: dict[str, Any]) -> list[str]:
    return [event["message"] for event in page["events"]]


def streams_of(client: Any, prefix: str, **options: Any) -> list[str]:
    return names(client.describe_log_streams(logGroupName=LOG_GROUP, logStreamNamePrefix=prefix, **options))


def test_a_job_has_one_stream_for_each_of_its_hosts(logs: Any, server: ContractServer, aws: AwsStub):
    server.queue.add("job1", attempts=[attempt(1, "job1")], demand={"ml.p5.48xlarge": 2, "ml.c5.large": 1})
    assert streams_of(logs, "job1/") == []

    aws.logs.write("job1/algo-1-170", 1, "line")

    assert streams_of(logs, "job1/") == ["job1/algo-1", "job1/algo-2", "job1/algo-3"]
    # SDK 3's LogStreamer omits the slash, and uses a paginator.
    pages = logs.get_paginator("describe_log_streams").paginate(logGroupName=LOG_GROUP, logStreamNamePrefix="job1")
    assert [name for page in pages for name in names(page)] == ["job1/algo-1", "job1/algo-2", "job1/algo-3"]
    assert streams_of(logs, "job1/", descending=True, limit=2) == ["job1/algo-3", "job1/algo-2"]
    assert streams_of(logs, "job1/algo-2") == ["job1/algo-2"]


def test_pages_of_streams_follow_on_each_other(logs: Any, server: ContractServer, aws: AwsStub):
    server.queue.add("job1", attempts=[ENDED], demand={"ml.p5.48xlarge": 5})
    aws.logs.write("job1/algo-1-170", 1, "line")

    pages = logs.get_paginator("describe_log_streams").paginate(
        logGroupName=LOG_GROUP, logStreamNamePrefix="job1/", PaginationConfig={"PageSize": 2}
    )

    assert [names(page) for page in pages] == [
        ["job1/algo-1", "job1/algo-2"],
        ["job1/algo-3", "job1/algo-4"],
        ["job1/algo-5"],
    ]


def test_a_client_with_the_maximum_page_size_gets_all_at_once(logs: Any, server: ContractServer, aws: AwsStub):
    server.queue.add("job1", attempts=[ENDED], demand={"ml.p5.48xlarge": 60})
    aws.logs.write("job1/algo-1-170", 1, "line")

    page = logs.describe_log_streams(logGroupName=LOG_GROUP, logStreamNamePrefix="job1/", limit=50)

    assert len(page["logStreams"]) == 60
    assert "nextToken" not in page


def test_a_host_that_has_written_nothing_is_no_error(logs: Any, server: ContractServer, aws: AwsStub):
    server.queue.add("job1", attempts=[attempt(1, "job1")], demand={"ml.p5.48xlarge": 2})
    aws.logs.write("job1/algo-1-170", 1, "line")

    empty = logs.get_log_events(logGroupName=LOG_GROUP, logStreamName="job1/algo-2", startFromHead=True)
    assert empty["events"] == []
    aws.logs.write("job1/algo-2-170", 2, "from host 2")
    page = logs.get_log_events(
        logGroupName=LOG_GROUP, logStreamName="job1/algo-2", startFromHead=True, nextToken=empty["nextForwardToken"]
    )

    assert messages(page) == ["from host 2"]


def test_a_late_line_precedes_those_of_the_next_attempt(logs: Any, server: ContractServer, aws: AwsStub):
    server.queue.add("job1", attempts=[attempt(1, "job1"), SECOND])
    asked = {"logGroupName": LOG_GROUP, "logStreamName": "job1/algo-1", "startFromHead": True}
    aws.logs.write("job1/algo-1-170", 1, "line")
    aws.logs.streams["job1-r2/algo-1-180"] = []

    token = logs.get_log_events(**asked)["nextForwardToken"]
    token = logs.get_log_events(**asked, nextToken=token)["nextForwardToken"]
    aws.logs.write("job1/algo-1-170", 2, "late")
    late = logs.get_log_events(**asked, nextToken=token)
    aws.logs.write("job1-r2/algo-1-180", 3, "again")

    assert messages(late) == ["late"]
    assert messages(logs.get_log_events(**asked, nextToken=late["nextForwardToken"])) == ["again"]


def test_other_streams_and_groups_are_awss(logs: Any, server: ContractServer, aws: AwsStub):
    server.queue.add("job1", attempts=[ENDED])
    aws.logs.write("other/algo-1-170", 1, "not ours")
    aws.logs.write("job1/algo-1-170", 1, "real")

    assert streams_of(logs, "other/") == ["other/algo-1-170"]
    assert streams_of(logs, "job1/algo-1-17") == ["job1/algo-1-170"]
    for name, expected in (("other/algo-1-170", ["not ours"]), ("job1/algo-1-170", ["real"])):
        page = logs.get_log_events(logGroupName=LOG_GROUP, logStreamName=name)
        assert messages(page) == expected
        assert page["nextForwardToken"].startswith("f/")
    before = len(server.received)
    with pytest.raises(ClientError, match="does not exist"):
        logs.describe_log_streams(logGroupName="/aws/lambda/mine", logStreamNamePrefix="job1/")
    with pytest.raises(ClientError, match="does not exist"):
        logs.get_log_events(logGroupName="/aws/lambda/mine", logStreamName="job1/algo-1")
    with pytest.raises(TypeError):
        logs.get_log_events("job1/algo-1")
    assert len(server.received) == before


@pytest.mark.parametrize("call", ["describe_log_streams", "get_log_events"])
def test_a_caller_who_may_not_read_the_job_is_refused_with_awss_error(logs: Any, server: ContractServer, call: str):
    server.fail(Fault(status=403, body=b'{"message": "Forbidden"}'))
    prefix = {"logStreamNamePrefix": "job1/"} if call == "describe_log_streams" else {"logStreamName": "job1/algo-1"}

    with pytest.raises(ClientError) as caught:
        getattr(logs, call)(logGroupName=LOG_GROUP, **prefix)
    assert caught.value.response["Error"]["Code"] == "AccessDeniedException"


def test_missing_credentials_for_the_queue_are_no_refusal_of_aws(logs: Any, monkeypatch: pytest.MonkeyPatch):
    def find(*_: Any, **__: Any) -> None:
        raise NotAllowedError("There are no AWS credentials.", code="NoCredentials")

    monkeypatch.setattr(job_cache.QueueJobs, "find", find)
    with pytest.raises(NotAllowedError, match="no AWS credentials"):
        logs.get_log_events(logGroupName=LOG_GROUP, logStreamName="job1/algo-1")


def test_an_invalid_token_is_refused_with_awss_error(logs: Any, server: ContractServer):
    server.queue.add("job1", attempts=[ENDED])

    with pytest.raises(ClientError, match=r"InvalidParameterException.*nextToken"):
        logs.get_log_events(logGroupName=LOG_GROUP, logStreamName="job1/algo-1", nextToken="f/3")


def test_the_last_events_come_first_on_the_way_back(logs: Any, server: ContractServer, aws: AwsStub):
    server.queue.add("job1", attempts=[ENDED, SECOND])
    for number in range(5):
        aws.logs.write("job1/algo-1-170" if number < 3 else "job1-r2/algo-1-180", number, f"line {number}")
    asked = {"logGroupName": LOG_GROUP, "logStreamName": "job1/algo-1", "limit": 2}

    pages, token = [], None
    while True:
        page = logs.get_log_events(**asked, **({"nextToken": token} if token else {}))
        if page["nextBackwardToken"] == token:
            break
        pages.append(messages(page))
        token = page["nextBackwardToken"]

    assert [page for page in pages if page] == [["line 3", "line 4"], ["line 1", "line 2"], ["line 0"]]


def test_attaching_again_replaces_the_queue(api: HeadwayApi, aws: AwsStub, session: boto3.Session):
    client = session.client("logs", endpoint_url=aws.url)
    attach(client, api)
    original = type(client).get_log_events

    attach(client, api)

    assert client.get_log_events.__self__._aws_get.__func__ is original


def test_only_clients_of_sagemaker_and_logs_can_be_attached(api: HeadwayApi, session: boto3.Session):
    with pytest.raises(UsageError, match="sagemaker or logs"):
        attach(session.client("s3"), api)


# --------------------------------------------------------------------------------------------------------- properties


class Known:
    """A fake of `QueueJobs` with one job."""

    def __init__(self) -> None:
        self.details = details()

    def now_s(self) -> float:
        return 0.0

    def find(self, name: str, *, recent: bool = False) -> Any:
        return self.details if name == "job1" else None


Rounds = list[list[int]]
"""What is written between two readings: for each line the step in time, 0 for none; -1 begins the next attempt."""

rounds = st.lists(st.lists(st.integers(-1, 2), max_size=8), min_size=1, max_size=6)


def play(plan: Rounds, store: LogStore, known: Known) -> Iterator[list[str]]:
    """Write the lines of each round, and yield all lines so far; attempts follow one another in time."""
    number, now = 1, 1_000
    written: list[str] = []
    for steps in plan:
        for step in steps:
            if step < 0:
                number, now = number + 1, now + 1
                continue
            now += step
            written.append(f"line {len(written)}")
            name = "job1" if number == 1 else f"job1-r{number}"
            store.write(f"{name}/algo-1-17{number}", now, written[-1])
        attempts = [attempt(n, "job1" if n == 1 else f"job1-r{n}") for n in range(1, number + 1)]
        known.details = details(*attempts)
        yield written


def own_logs(store: LogStore, known: Known) -> LogsProxy:
    own = LogsProxy(known, describe=store.describe_log_streams, get=store.get_log_events)  # type: ignore[arg-type]
    own._streams._monotonic_s = iter(range(0, 10**9, 1000)).__next__
    return own


@given(plan=rounds, page_size=st.integers(1, 3), gaps=st.booleans())
def test_a_reader_that_keeps_the_token_gets_each_line_once_in_order(plan: Rounds, page_size: int, gaps: bool):
    """The reads of SDK 3: core/utils/logs.py, LogStreamHandler.get_latest_log_events."""
    store, known = LogStore(page_size=page_size, gaps=gaps), Known()
    own, token, seen = own_logs(store, known), None, []
    for written in play(plan, store, known):
        while True:
            page = own.get_log_events(
                logGroupName=LOG_GROUP,
                logStreamName="job1/algo-1",
                startFromHead=True,
                **({"nextToken": token} if token else {}),
            )
            token = page["nextForwardToken"]
            if not page["events"]:
                break
            seen += messages(page)
        assert seen == written
        again = own.get_log_events(
            logGroupName=LOG_GROUP, logStreamName="job1/algo-1", startFromHead=True, nextToken=token
        )
        assert (again["events"], again["nextForwardToken"]) == ([], token)


@given(plan=rounds, page_size=st.integers(1, 3), gaps=st.booleans())
def test_a_reader_that_restarts_at_the_last_time_gets_each_line_once_in_order(plan: Rounds, page_size: int, gaps: bool):
    """The reads of SDK 2: logs.py, log_stream, and session.py, _flush_log_streams."""
    store, known = LogStore(page_size=page_size, gaps=gaps), Known()
    own, position, seen = own_logs(store, known), (0, 0), []
    for written in play(plan, store, known):
        start, skip = position
        token, count = None, 1
        while count:
            page = own.get_log_events(
                logGroupName=LOG_GROUP,
                logStreamName="job1/algo-1",
                startTime=start,
                startFromHead=True,
                **({"nextToken": token} if token else {}),
            )
            token, events = page["nextForwardToken"], page["events"]
            count = len(events)
            events, skip = (events[skip:], 0) if count > skip else ([], skip - count)
            for event in events:
                seen.append(event["message"])
                same = event["timestamp"] == position[0]
                position = (event["timestamp"], position[1] + 1 if same else 1)
        assert seen == written
