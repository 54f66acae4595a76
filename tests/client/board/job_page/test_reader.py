"""The figures of a job's page: what is read, how often, and what is said if that is not possible."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from hypothesis import given
from hypothesis import strategies as st

from headway_client.board.budget import MAX_AWS_CALLS, MINUTE_S
from headway_client.board.job_page.figures import MAX_LINE_CHARS
from headway_client.board.job_page.reader import (
    CURVES_EVERY_S,
    LOG_EVERY_S,
    MAX_KEPT_ATTEMPTS,
    NOT_STARTED,
    OF_MEMBERS,
    FigureReader,
)
from headway_client.errors import NotAllowedError
from headway_client.models import ArrayProgress
from tests.client.board.job_page.builders import NOW_S, P5, Aws, attempt, details

LIVE = details(attempt(1, "06:00:00"))
OVER = details(attempt(1, "06:00:00", "06:20:00"))
JUST_ENDED = details(attempt(1, "06:00:00", "06:29:00"))


class Reading:
    """A reader, its clock and what it reads."""

    def __init__(self) -> None:
        self.aws = Aws()
        self.aws.logs.write("job1-1/algo-1-1", 1000, "epoch 1")
        self.aws.values["job1-1/algo-1", "GPUUtilization"] = [400, 800]
        self.clock_s = 0.0
        self.reader = FigureReader(self.aws.client_of, now_s=lambda: NOW_S, clock=lambda: self.clock_s)

    @property
    def log_calls(self) -> int:
        return len(self.aws.logs.calls)


@pytest.fixture
def reading() -> Reading:
    return Reading()


def test_the_curves_and_the_last_lines_of_the_newest_attempt_are_read(reading: Reading):
    job = details(attempt(1, "05:00:00", "05:30:00"), attempt(2, "06:00:00"), attempt(3, None))
    reading.aws.values = {("job1-2/algo-1", "GPUUtilization"): [400, 800]}
    reading.aws.logs.write("job1-2/algo-2-1", 2000, "epoch 2")
    found = reading.reader.read(job)
    assert found.attempt == "job1-2"
    assert found.curves is not None
    assert (found.curves.curves[0].name, found.curves.curves[0].percent[:3]) == ("GPU", (50, 100, None))
    assert [(line.host, line.time_ms, line.text) for line in found.lines] == [(2, 2000, "epoch 2")]
    assert found.notes == ()


def test_of_a_job_that_has_not_been_started_nothing_is_read(reading: Reading):
    assert reading.reader.read(details()).notes == (NOT_STARTED,)
    assert reading.reader.read(details(attempt(1, None))).notes == (NOT_STARTED,)
    array = ArrayProgress(count=2, at_once=None, max_failures=None, unmade=0, completed=2, failed=0, stopped=0)
    assert reading.reader.read(replace(details(), array=array)).notes == (OF_MEMBERS,)
    assert (reading.aws.requests, reading.log_calls) == ([], 0)


def test_figures_are_read_again_at_their_intervals_and_clients_are_kept(reading: Reading):
    for clock_s, metrics, logs in [
        (0.0, 1, 1),
        (LOG_EVERY_S - 1, 1, 1),
        (LOG_EVERY_S, 1, 2),
        (CURVES_EVERY_S - 1, 1, 2),
        (CURVES_EVERY_S, 2, 3),
    ]:
        reading.clock_s = clock_s
        reading.reader.read(LIVE)
        described = sum(call.startswith("Describe") for call in reading.aws.logs.calls)
        assert (reading.aws.metric_calls, described) == (metrics, logs), clock_s
    assert reading.aws.requests.count("client of cloudwatch") == 1


def test_what_ended_minutes_ago_is_read_once_and_what_has_just_ended_again(reading: Reading):
    reading.reader.read(OVER)
    reading.clock_s = 1e6
    reading.reader.read(OVER)
    assert reading.aws.metric_calls == 1
    other = Reading()
    other.reader.read(JUST_ENDED)
    other.clock_s = CURVES_EVERY_S
    other.reader.read(JUST_ENDED)
    assert other.aws.metric_calls == 2


def test_a_missing_permission_is_one_note_and_the_rest_is_shown(reading: Reading):
    reading.aws.refuses = "AccessDenied"
    found = reading.reader.read(OVER)
    assert found.notes == ("The utilization can't be read (AccessDenied); allow cloudwatch:GetMetricData.",)
    assert (found.curves, len(found.lines)) == (None, 1)
    reading.clock_s = CURVES_EVERY_S - 1
    reading.reader.read(OVER)
    assert reading.aws.metric_calls == 1
    # The permission may come while the page is open.
    reading.aws.refuses = ""
    reading.clock_s = CURVES_EVERY_S
    assert reading.reader.read(OVER).notes == ()


def test_what_was_read_stays_while_a_later_read_fails(reading: Reading):
    reading.reader.read(LIVE)
    reading.clock_s = CURVES_EVERY_S
    reading.aws.refuses = "Throttling"
    found = reading.reader.read(LIVE)
    assert found.curves is not None
    assert found.notes == ("The utilization can't be read (Throttling).",)


def test_other_failures_are_notes_too(reading: Reading, monkeypatch: pytest.MonkeyPatch):
    def refuse(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "DescribeLogStreams")

    monkeypatch.setattr(reading.aws.logs, "describe_log_streams", refuse)
    (note,) = reading.reader.read(LIVE).notes
    assert "Allow logs:DescribeLogStreams and logs:GetLogEvents" in note

    def without_network(_: str) -> Any:
        raise EndpointConnectionError(endpoint_url="https://monitoring.eu-west-1.amazonaws.com")

    monkeypatch.setattr(reading.aws.client_of("cloudwatch"), "get_paginator", without_network)
    reading.clock_s = CURVES_EVERY_S
    assert reading.reader.read(LIVE).notes[0].startswith("The utilization can't be read: Could not connect")

    def without_profile(_: str) -> Any:
        raise NotAllowedError("The profile can't be used.")

    notes = FigureReader(without_profile, now_s=lambda: NOW_S).read(LIVE).notes
    assert notes == ("The profile can't be used.",) * 2


def test_lines_are_cut_and_have_no_control_characters(reading: Reading):
    reading.aws.logs.write("job1-1/algo-1-1", 2000, "\x1b]0;owned\x07\u202e<b>" + "x" * MAX_LINE_CHARS)
    *_, line = reading.reader.read(LIVE).lines
    assert line.text.startswith("\\x1b]0;owned\\x07\\u202e<b>x")
    assert line.text.endswith("x…")
    assert line.text.count("x") <= MAX_LINE_CHARS


@given(st.lists(st.tuples(st.floats(0, 40), st.integers(0, 30)), max_size=60))
def test_no_minute_has_more_calls_than_the_burst_and_the_limit_however_many_jobs_are_opened(
    opened: list[tuple[float, int]],
):
    reading = Reading()
    for host in range(1, 9):
        for job in range(31):
            reading.aws.logs.write(f"job{job}/algo-{host}-1", 1, "x")
    calls: list[float] = []
    for pause, job in opened:
        reading.clock_s += pause
        before = reading.log_calls + reading.aws.metric_calls
        reading.reader.read(details({**attempt(1, "06:00:00"), "attemptName": f"job{job}"}))
        calls += [reading.clock_s] * (reading.log_calls + reading.aws.metric_calls - before)
    for start in calls:
        assert sum(start <= each < start + MINUTE_S for each in calls) <= 2 * MAX_AWS_CALLS


def test_a_page_that_has_to_wait_for_its_figures_says_so(reading: Reading):
    for number in range(2):
        reading.reader.read(details({**attempt(1, "06:00:00"), "attemptName": f"job{number}"}))
    found = reading.reader.read(LIVE)
    assert [note.partition(" will be read in ")[0] for note in found.notes] == [
        "The utilization",
        "The log",
    ]
    reading.clock_s = MINUTE_S
    assert reading.reader.read(LIVE).notes == ()
    # What is known is shown without a note.
    for number in range(2, 4):
        reading.reader.read(details({**attempt(1, "06:00:00"), "attemptName": f"job{number}"}))
    reading.clock_s += LOG_EVERY_S
    found = reading.reader.read(LIVE)
    assert (len(found.lines), found.notes) == (1, ())


def test_the_figures_of_the_newest_opened_attempts_are_kept(reading: Reading):
    over = [
        details({**attempt(1, "06:00:00", "06:20:00"), "attemptName": f"job{number}"})
        for number in range(MAX_KEPT_ATTEMPTS + 1)
    ]
    for job in over:
        reading.clock_s += MINUTE_S
        reading.reader.read(over[0])
        reading.reader.read(job)
    calls = reading.aws.metric_calls
    reading.clock_s += MINUTE_S
    for job in (over[0], *over[2:]):
        reading.reader.read(job)
    assert reading.aws.metric_calls == calls
    reading.reader.read(over[1])
    assert reading.aws.metric_calls == calls + 1


def test_a_job_of_one_pool_is_read_by_its_hosts(reading: Reading):
    reading.aws.values = {("job1-1/algo-2", "CPUUtilization"): [192.0 * 50]}
    found = reading.reader.read(details(attempt(1, "06:00:00", demand={P5: 2})))
    assert found.curves is not None
    assert (found.curves.of_hosts, found.curves.curves[0].percent[0]) == (2, 50)
