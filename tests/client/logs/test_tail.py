"""The last lines of an attempt."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.errors import NotAllowedError
from headway_client.logs.tail import MAX_TAIL_CALLS, MAX_TAIL_HOSTS, MAX_TAIL_LINES, read_tail
from headway_client.models import Attempt
from tests.client.fakes.log_store import LogStore
from tests.client.logs.test_reader import STARTED, attempt

NOW_S = datetime.fromisoformat(STARTED).timestamp()
LIVE = Attempt.from_document(attempt(1, "job1"))


def tail(store: LogStore) -> list[str]:
    return [each.message for each in read_tail(store, LIVE, now_s=lambda: NOW_S)]


@pytest.mark.parametrize("gaps", [False, True])
def test_the_last_lines_of_all_hosts_come_in_order_of_time(gaps: bool):
    store = LogStore(page_size=MAX_TAIL_LINES, gaps=gaps)
    store.write("job1/algo-2-170", 20, "second")
    store.write("job1/algo-1-170", 10, "first")
    store.write("job10/algo-1-170", 15, "another job")
    assert tail(store) == ["first", "second"]


def test_only_the_last_lines_are_read():
    store = LogStore(page_size=1000)
    for number in range(3 * MAX_TAIL_LINES):
        store.write("job1/algo-1-170", number, str(number))
    assert tail(store) == [str(number) for number in range(2 * MAX_TAIL_LINES, 3 * MAX_TAIL_LINES)]
    assert len(store.calls) == 2
    for number in range(2 * MAX_TAIL_LINES):
        store.write("job1/algo-2-170", 1000 + number, "of the other host")
    assert tail(store) == ["of the other host"] * MAX_TAIL_LINES


def test_a_stream_whose_lines_have_expired_is_read_to_its_end_and_no_further():
    store = LogStore()
    store.streams["job1/algo-1-170"] = []
    assert tail(store) == []
    assert len(store.calls) == 3


def test_of_a_host_with_several_streams_the_newest_is_read():
    store = LogStore()
    store.write("job1/algo-1-170", 10, "before")
    store.write("job1/algo-1-180", 20, "after")
    assert tail(store) == ["after"]


def test_the_lines_of_the_first_hosts_are_read():
    store = LogStore()
    for host in range(1, 10):
        store.write(f"job1/algo-{host}-170", host, f"from {host}")
    assert tail(store) == [f"from {host}" for host in range(1, MAX_TAIL_HOSTS + 1)]


@given(hosts=st.integers(0, 200), lines=st.integers(1, 3), page=st.integers(1, 200), gaps=st.booleans())
def test_it_makes_a_bounded_number_of_calls(hosts: int, lines: int, page: int, gaps: bool):
    store = LogStore(page_size=page, gaps=gaps)
    for host in range(1, hosts + 1):
        for line in range(lines):
            store.write(f"job1/algo-{host}-170", line, "x")
    assert len(tail(store)) <= MAX_TAIL_LINES
    assert len(store.calls) <= MAX_TAIL_CALLS


def test_an_attempt_without_streams_has_no_lines():
    assert tail(LogStore()) == []


def test_a_missing_permission_is_reported_with_what_to_allow():
    class Refusing(LogStore):
        def get_log_events(self, **arguments: object) -> dict[str, object]:
            from botocore.exceptions import ClientError

            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "GetLogEvents")

    store = Refusing()
    store.write("job1/algo-1-170", 10, "x")
    with pytest.raises(NotAllowedError, match="Allow logs:DescribeLogStreams and logs:GetLogEvents"):
        tail(store)
