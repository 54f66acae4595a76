"""What ran before the board was started."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.board.budget import MAX_READS, CallBudget
from headway_client.board.web.past import MAX_EVENT_PAGES, PAST_S, Past, past_bars
from headway_client.board.web.timeline import Bar, Timeline, merged
from headway_client.errors import NotAllowedError
from headway_client.models import EndedJob, EventPage, FeedEvent, HistoryPage
from tests.client.board.builders import NOW_S, contract, summary_of

SINCE_S = NOW_S - PAST_S
P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"


def at(time_s: float) -> str:
    return datetime.fromtimestamp(SINCE_S + time_s, UTC).isoformat()


def event(time_s: float, job: str, state: str, before: str | None, **changes: Any) -> FeedEvent:
    detail = {
        "time": at(time_s), "jobName": job, "jobState": state, "previousState": before, "attemptName": job,
        "code": "Started", "team": "vision", "priority": 3, "jobs": [],
    } | changes  # fmt: skip
    return FeedEvent.from_document({"cursor": "1", "detailType": "Headway Job Change", "detail": detail})


def ended(name: str, start_s: float | None, end_s: float, used: dict[str, int], state: str = "completed") -> EndedJob:
    document = {
        "jobName": name, "jobState": state, "team": None, "owner": None, "priority": 1, "entryTime": at(0),
        "startedTime": None if start_s is None else at(start_s), "endedTime": at(end_s), "waitSeconds": 0,
        "runSeconds": None, "attemptCount": 1, "preemptions": 0, "usedSeconds": used, "lostSeconds": 0,
        "billedSeconds": {},
    }  # fmt: skip
    return EndedJob.from_document(document)


def told(*events: FeedEvent, jobs: tuple[EndedJob, ...] = (), **demands: dict[str, int]) -> list[tuple[Any, ...]]:
    found = past_bars(jobs, events, demands, SINCE_S)
    return [
        (bar.attempt, bar.pool, bar.count, bar.start_s - SINCE_S, (bar.end_s or 0) - SINCE_S, bar.outcome, bar.by)
        for bar in found
    ]


PREEMPTED = [
    event(100, "a", "running", "pending"),
    event(200, "a", "stopping", "running", code="Preempted", jobs=["urgent"]),
    event(230, "a", "preempted", "stopping", code="ReturnedToLine", jobs=["urgent"]),
    event(400, "a", "running", "preempted", attemptName="a-2"),
    event(700, "a", "completed", "running", attemptName="a-2", code="Completed"),
]


def test_each_attempt_of_the_events_is_a_bar_of_what_its_job_demands() -> None:
    assert told(*PREEMPTED, a={P5: 2}) == [
        ("a", P5, 2, 100, 230, "preempted", "urgent"),
        ("a-2", P5, 2, 400, 700, "completed", ""),
    ]


def test_an_attempt_that_has_begun_before_the_events_begins_with_them() -> None:
    assert told(event(50, "a", "failed", "running", code="Failed"), a={P5: 1}) == [("a", P5, 1, 0, 50, "failed", "")]


@pytest.mark.parametrize(("state", "code", "outcome"), [("pending", "Retried", "ended"), ("stopped", "X", "stopped")])
def test_an_end_has_the_state_of_a_job_that_has_ended(state: str, code: str, outcome: str) -> None:
    events = [event(1, "a", "running", "pending"), event(9, "a", state, "running", code=code)]
    assert told(*events, a={P5: 1})[0][5] == outcome


def test_what_runs_still_is_left_to_the_summary_and_what_only_waits_is_nothing() -> None:
    assert told(event(1, "a", "running", "pending"), event(2, "b", "stopped", "pending"), a={P5: 1}, b={P5: 1}) == []


def test_what_a_job_demanded_follows_from_what_it_used() -> None:
    # 130 s and 300 s.
    assert {row[1:3] for row in told(*PREEMPTED, jobs=(ended("a", 100, 700, {P5: 2 * 430, G5: 433}),))} == {
        (P5, 2),
        (G5, 1),
    }
    assert told(*PREEMPTED) == []


def test_a_job_without_events_is_one_bar_from_its_start_to_its_end() -> None:
    jobs = (ended("old", -50, 50, {P5: 300}), ended("never", None, 60, {}, "stopped"))
    assert told(jobs=jobs) == [("old", P5, 3, -50, 50, "completed", "")]


def test_other_events_and_details_that_are_not_understood_are_left_out() -> None:
    other = FeedEvent.from_document({"cursor": "1", "detailType": "Other", "detail": PREEMPTED[4].detail})
    timeless = event(5, "a", "failed", "running", time=None)
    assert told(other, timeless, a={P5: 1}) == []


STATES = st.sampled_from(["pending", "running", "stopping", "preempted", "completed"])


@given(st.lists(st.tuples(st.sampled_from("ab"), STATES, STATES), max_size=30))
def test_no_bar_ends_before_it_begins_whatever_events_come(steps: list[tuple[str, str, str]]) -> None:
    events = [event(time_s, job, state, before) for time_s, (job, state, before) in enumerate(steps)]
    for job in "ab":
        bars = [bar for bar in past_bars((), events, {"a": {P5: 1}, "b": {P5: 1}}, SINCE_S) if bar.job == job]
        assert all(bar.end_s is not None and bar.start_s <= bar.end_s for bar in bars)


class Queue:
    """Ended jobs and pages of events."""

    def __init__(self, pages: int = 1) -> None:
        self.pages = pages
        self.calls: list[str] = []
        self.more_ended = False
        self.error: NotAllowedError | None = None

    def now_s(self) -> float:
        return NOW_S

    def newest_ended_jobs(self, since: str) -> HistoryPage:
        self.calls.append(f"history {since}")
        if self.error is not None:
            raise self.error
        return HistoryPage(jobs=(ended("old", 0, 50, {P5: 50}),), next_token="x" if self.more_ended else None)

    def events(self, *, after: str | None = None, since: str | None = None) -> EventPage:
        self.calls.append(f"events {after or since}")
        number = int(after or 0) + 1
        found = (event(number, f"job-{number}", "failed", "running"),)
        return EventPage(events=found, cursor=str(number), more=number < self.pages, missed=False)


def past(queue: Queue, limit: int = 100) -> Past:
    return Past(queue, CallBudget(limit, clock=lambda: 0.0))


BEGIN = "2026-01-02T00:30:00Z"


def test_ended_jobs_and_events_are_read_once_a_call_at_a_time() -> None:
    queue = Queue(pages=2)
    found = past(queue)
    for count in (1, 2, 3, 3, 3):
        found.read_on()
        assert len(queue.calls) == count
    assert queue.calls == [f"history {BEGIN}", f"events {BEGIN}", "events 1"]
    (whole,) = found.bars(None)
    assert (whole.job, whole.is_attempt) == ("old", False)
    assert found.note == ""


def test_of_a_busy_queue_a_bounded_number_of_pages_is_read_and_that_is_said() -> None:
    queue = Queue(pages=100)
    found = past(queue)
    for _ in range(20):
        found.read_on()
    assert len(queue.calls) == 1 + MAX_EVENT_PAGES
    assert len(queue.calls) <= MAX_READS
    assert "attempts of the first 3 events of the last 6 hours" in found.note
    queue = Queue()
    queue.more_ended = True
    found = past(queue)
    found.read_on()
    assert "the newest 1 jobs" in found.note


def test_without_room_for_a_call_it_is_made_later() -> None:
    queue, room = Queue(), [0.0]
    found = Past(queue, CallBudget(1, clock=lambda: room[0]))
    for _ in range(3):
        found.read_on()
    assert len(queue.calls) == 1
    room[0] = 60.0
    found.read_on()
    assert len(queue.calls) == 2


def test_what_may_not_be_read_is_said_and_not_tried_again() -> None:
    queue = Queue()
    queue.error = NotAllowedError("You may not.")
    found = past(queue)
    for _ in range(3):
        found.read_on()
    assert len(queue.calls) == 1
    assert found.note == "What ran before the board was started can't be read: You may not."
    assert found.bars(summary_of(contract())) == []


def bar(attempt: str, start_s: float, *, is_attempt: bool = True, job: str = "a") -> Bar:
    return Bar(
        job=job, attempt=attempt, pool=P5, count=1, team="", priority=0, start_s=start_s, end_s=start_s + 9,
        outcome="ended", is_attempt=is_attempt,
    )  # fmt: skip


def test_what_was_seen_comes_before_what_was_told() -> None:
    seen, told_of_it = bar("a-2", 50), bar("a-2", 51)
    first = bar("a", 10)
    assert merged([seen], [told_of_it, first]) == [first, seen]
    # A job in one bar gives way to its attempts, from whichever side they come.
    whole = bar("a", 10, is_attempt=False)
    assert merged([whole], [first, told_of_it]) == [first, told_of_it]
    assert merged([seen], [whole]) == [seen]
    assert merged([whole], []) == [whole]
    assert merged([], [whole]) == [whole]


def test_the_timeline_has_the_past_and_what_is_missing_of_it() -> None:
    document = Timeline().document([bar("a", 1)], "Not all.")
    assert ([each["attempt"] for each in document["bars"]], document["note"]) == (["a"], "Not all.")
