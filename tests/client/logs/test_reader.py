from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError as AwsError
from botocore.exceptions import EndpointConnectionError, NoCredentialsError

from headway_client.errors import BusyError, NotAllowedError, NotReachableError, ServerFaultError
from headway_client.logs import reader
from headway_client.logs.reader import JobLogs, LogEvent
from headway_client.models import JobDetails
from tests.client.fakes.contract import Queue
from tests.client.fakes.log_store import LogStore

STARTED = "2026-01-02T03:04:06.000Z"


def attempt(number: int, name: str, *, ended: str | None = None) -> dict[str, Any]:
    return {
        "attemptName": name,
        "number": number,
        "attemptState": "live" if ended is None else "ended",
        "trainingJobStatus": "InProgress" if ended is None else "Stopped",
        "secondaryStatus": None,
        "startedTime": STARTED,
        "endedTime": ended,
        "failureReason": None,
        "reason": None,
    }


def details(*attempts: dict[str, Any], hosts: int = 1) -> JobDetails:
    queue = Queue()
    job = queue.add("job1", attempts=list(attempts), demand={"ml.p5.48xlarge": hosts})
    return JobDetails.from_document({**job, "place": None})


def event(attempt: int, host: int, time_ms: int, message: str) -> LogEvent:
    return LogEvent(attempt=attempt, host=host, time_ms=time_ms, message=message)


ENDED = attempt(1, "job1", ended="2026-01-02T04:00:00.000Z")
SECOND = attempt(2, "job1-r2")


def test_streams_that_appear_after_the_last_listing_are_read_when_the_attempt_has_ended():
    store = LogStore()
    store.write("other/algo-1-1", 1, "another job")
    now_s = [datetime.fromisoformat(STARTED).timestamp()]
    logs = JobLogs(store, now_s=lambda: now_s[0])
    assert logs.new_events(details(attempt(1, "job1"))) == []
    store.write("job1/algo-1-170", 10, "the only line")
    # A sandbox's time may run faster than the cache's.
    now_s[0] = datetime.fromisoformat("2026-01-02T04:10:00Z").timestamp()
    assert logs.new_events(details(ENDED)) == [event(1, 1, 10, "the only line")]
    calls = len(store.calls)
    logs.new_events(details(ENDED))
    assert [call for call in store.calls[calls:] if call.startswith("Describe")] == []


def test_the_logs_of_all_attempts_and_hosts_come_in_order_of_time():
    store = LogStore()
    store.write("job1/algo-2-170", 20, "from host 2")
    store.write("job1/algo-1-170", 10, "from host 1")
    store.write("job1-r2/algo-1-180", 40, "again")
    store.write("job10/algo-1-180", 30, "another job")

    assert JobLogs(store).new_events(details(ENDED, SECOND, hosts=2)) == [
        event(1, 1, 10, "from host 1"),
        event(1, 2, 20, "from host 2"),
        event(2, 1, 40, "again"),
    ]


@pytest.mark.parametrize("gaps", [False, True])
def test_the_next_call_returns_new_events_only(gaps: bool):
    store = LogStore(page_size=2, gaps=gaps)
    for number in range(5):
        store.write("job1/algo-1-170", number, f"line {number}")
    logs = JobLogs(store)

    first = logs.new_events(details(attempt(1, "job1")))
    store.write("job1/algo-1-170", 9, "late")
    store.write("job1-r2/algo-1-180", 8, "again")
    second = logs.new_events(details(attempt(1, "job1", ended="2999-01-01T00:00:00.000Z"), SECOND))

    assert [each.message for each in first] == [f"line {number}" for number in range(5)]
    assert second == [event(2, 1, 8, "again"), event(1, 1, 9, "late")]
    assert logs.new_events(details(SECOND)) == []


class Throttled(LogStore):
    """Refuses the calls of these numbers."""

    refused: tuple[int, ...] = ()
    number = 0

    def get_log_events(self, **arguments: Any) -> dict[str, Any]:
        self.number += 1
        if self.number in self.refused:
            error = {"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}
            raise AwsError(error, "GetLogEvents")  # type: ignore[arg-type]
        return super().get_log_events(**arguments)


def test_events_before_a_throttled_call_are_returned_and_the_others_later():
    store = Throttled()
    for host in (1, 2):
        store.write(f"job1/algo-{host}-170", host, f"from host {host}")
    logs, job = JobLogs(store), details(attempt(1, "job1"), hosts=2)
    store.refused = (2, 3)

    assert logs.new_events(job) == [event(1, 1, 1, "from host 1")]
    with pytest.raises(BusyError):
        logs.new_events(job)
    assert logs.new_events(job) == [event(1, 2, 2, "from host 2")]
    assert logs.new_events(job) == []


def test_there_are_no_events_before_the_first_one():
    assert JobLogs(LogStore()).new_events(details()) == []
    assert JobLogs(LogStore()).new_events(details(attempt(1, "job1"))) == []


def test_streams_of_attempts_that_ended_long_ago_are_read_once():
    store = LogStore()
    store.write("job1/algo-1-170", 10, "once")
    store.write("job1-r2/algo-1-180", 20, "again")
    logs = JobLogs(store)

    assert len(logs.new_events(details(ENDED, SECOND))) == 2
    store.calls.clear()
    assert logs.new_events(details(ENDED, SECOND)) == []
    assert [call for call in store.calls if "job1/" in call] == []


def test_a_call_reads_a_bounded_number_of_pages_and_the_next_one_continues(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "MAX_PAGES_PER_READ", 4)
    store = LogStore(page_size=1)
    for number in range(6):
        store.write(f"job1/algo-{1 + number % 2}-170", number, f"line {number}")
    store.write("job1-r2/algo-1-180", 20, "again")
    logs = JobLogs(store)

    calls = []
    while events := logs.new_events(details(ENDED, SECOND, hosts=2)):
        calls.append([each.message for each in events])

    assert calls[0] == ["line 0", "line 1", "line 2", "line 3"]
    assert [message for call in calls for message in call] == [*(f"line {number}" for number in range(6)), "again"]


def test_many_hosts_are_listed_over_pages():
    store = LogStore()
    for host in range(1, 121):
        store.write(f"job1/algo-{host}-170", host, f"host {host}")

    events = JobLogs(store).new_events(details(ENDED, hosts=120))

    assert [each.host for each in events] == list(range(1, 121))


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (NoCredentialsError(), NotAllowedError, "no AWS credentials"),
        (EndpointConnectionError(endpoint_url="https://logs.invalid"), NotReachableError, "network to its endpoint"),
        ("AccessDeniedException", NotAllowedError, "Allow logs:DescribeLogStreams"),
        ("ThrottlingException", BusyError, "Try again later"),
        ("ServiceUnavailableException", ServerFaultError, "ServiceUnavailableException: no"),
    ],
)
def test_every_failure_is_an_error_of_the_client(error: Exception | str, kind: type[Exception], words: str):
    class Failing(LogStore):
        def describe_log_streams(self, **arguments: Any) -> Any:
            if isinstance(error, str):
                raise AwsError({"Error": {"Code": error, "Message": "no"}}, "DescribeLogStreams")
            raise error

    with pytest.raises(kind, match=words):
        JobLogs(Failing()).new_events(details(SECOND))
