"""What the board in the terminal shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.board.changes import CHANGES, parsed_priority
from headway_client.board.rows import (
    PARTS,
    RUNNING_ORDERS,
    WAITING_ORDERS,
    Selection,
    bar_widths,
    event_lines,
    instances,
    next_order,
    pool_note,
    pool_parts,
    running_rows,
    span,
    waiting_rows,
)
from headway_client.models import PoolSummary
from tests.client.board.builders import NOW_S, contract, summary_of


def pool(**changes: Any) -> PoolSummary:
    (found,) = summary_of(contract()).pools
    base: dict[str, Any] = {
        "size": 8, "allocated": 0, "stopping": 0, "reserved": 0, "rogue": 0, "warm": 0, "free": 8, "by_team": {},
    }  # fmt: skip
    return replace(found, **{**base, **changes})


def test_waiting_jobs_have_place_priority_team_and_reason() -> None:
    first, second = waiting_rows(summary_of(contract()), Selection(), NOW_S)
    assert (first.job, first.cells[:4]) == ("first", ("1", "first", "5", "vision"))
    assert second.cells[0] == "2"


def test_a_waiting_job_shows_when_it_starts_by_the_forecast_before_its_reserved_start() -> None:
    summary = summary_of(contract())
    head = replace(summary.waiting[0], start_by="2026-01-02T08:30:00.000Z")
    expected = replace(head, expected_start="2026-01-02T07:00:00.000Z")
    past = replace(head, start_by="2026-01-02T06:00:00.000Z")
    shown = [
        waiting_rows(replace(summary, waiting=(each,)), Selection(), NOW_S)[0].cells[5]
        for each in (head, expected, past)
    ]
    assert shown == ["in 2 h", "in 30 min", "now"]


def test_running_jobs_have_the_time_that_is_left() -> None:
    (row,) = running_rows(summary_of(contract()), Selection(), NOW_S)
    assert row.cells == ("trains", "9", "vision", "ada", "1 p5.48xlarge", "3 h 26 min", "1 h", "Training")


def test_a_preempted_job_names_the_job_that_it_is_stopped_for() -> None:
    summary = summary_of(contract())
    stops = replace(summary.running[0], stop_cause="preemption", stops_for="first")
    asked = replace(summary.running[0], stop_cause="request")
    shown = [
        running_rows(replace(summary, running=(each,)), Selection(), NOW_S)[0].cells[-1] for each in (stops, asked)
    ]
    assert shown == ["stops for first", "stops (request)"]


FILTERS = [("", 2), ("FIRST", 1), ("search", 1), ("nothing", 0), ("48xlarge", 2)]


@pytest.mark.parametrize(("text", "count"), FILTERS, ids=[row[0] for row in FILTERS])
def test_a_filter_keeps_rows_that_contain_its_text(text: str, count: int) -> None:
    assert len(waiting_rows(summary_of(contract()), Selection(text=text), NOW_S)) == count


def test_each_order_keeps_all_rows_and_the_next_one_follows() -> None:
    summary = summary_of(contract())
    for order in WAITING_ORDERS:
        assert {row.job for row in waiting_rows(summary, Selection(order=order), NOW_S)} == {"first", "second"}
    for order in RUNNING_ORDERS:
        assert len(running_rows(summary, Selection(order=order), NOW_S)) == 1
    assert [row.job for row in waiting_rows(summary, Selection(order="team"), NOW_S)] == ["second", "first"]
    assert next_order(["a", "b"], "") == "b"
    assert next_order(["a", "b"], "b") == "a"


@given(
    st.dictionaries(st.sampled_from(PARTS), st.integers(0, 500), min_size=1),
    st.integers(0, 80),
)
def test_a_bar_is_as_wide_as_its_room_and_shows_each_part_where_it_can(parts: dict[str, int], width: int) -> None:
    found = bar_widths(parts, width)
    assert sum(found.values()) == (width if sum(parts.values()) else 0)
    assert all(cells >= 0 for cells in found.values())
    shown = [name for name, count in parts.items() if count]
    if width >= 2 * len(shown):
        assert all(found[name] for name in shown)
    assert all(not found[name] for name, count in parts.items() if not count)


PARTS_OF = [
    ("free", {}, {"free": 8}),
    ("busy and stopping", {"allocated": 3, "stopping": 1, "free": 5}, {"busy": 2, "stopping": 1, "free": 5}),
    ("reserved, warm and outside", {"reserved": 1, "warm": 2, "rogue": 1, "free": 4},
     {"reserved": 1, "warm": 2, "outside": 1, "free": 4}),
    ("a job in a warm pool", {"allocated": 2, "warm": 2, "free": 6}, {"busy": 2, "free": 6}),
    ("overfull", {"size": 2, "allocated": 3, "free": -1}, {"busy": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "parts"), [row[1:] for row in PARTS_OF], ids=[row[0] for row in PARTS_OF])
def test_the_parts_of_a_pool_add_up(changes: dict[str, int], parts: dict[str, int]) -> None:
    assert {name: count for name, count in pool_parts(pool(**changes)).items() if count} == parts


def test_the_note_of_a_pool_names_what_is_unusual() -> None:
    noted = pool_note(pool(allocated=3, stopping=1, free=5, waiting=1000, by_team={"": 1, "vision": 2}))
    assert noted == "3/8 busy, 5 free, 1 stopping, 1000+ waiting, vision:2"


SPANS = [(-1, "over"), (0, "0 s"), (61, "61 s"), (3600, "1 h"), (90_061, "25 h 1 min")]


@pytest.mark.parametrize(("seconds", "text"), SPANS)
def test_a_duration_has_its_two_largest_units(seconds: int, text: str) -> None:
    assert span(seconds) == text


def test_a_demand_has_the_instances_of_all_its_pools() -> None:
    assert instances({"ml.a": 1, "ml.b": 2}) == "1 a + 2 b"


@given(st.text(max_size=40))
def test_no_text_of_others_reaches_the_terminal_with_control_characters(hostile: str) -> None:
    queue = contract()
    queue.jobs["first"].update(team=hostile, reason={"code": "X", "message": hostile})
    queue.jobs["trains"].update(reason={"code": "X", "message": hostile})
    summary = summary_of(queue)
    shown = [cell for row in waiting_rows(summary, Selection(), NOW_S) for cell in row.cells]
    shown += [cell for row in running_rows(summary, Selection(), NOW_S) for cell in row.cells]
    for text in [*shown, *event_lines(summary)]:
        assert text.isprintable() or not any(ord(character) < 0x20 for character in text)
        assert "\x1b" not in text
        assert "\u202e" not in text


PRIORITIES = [("0", 0), (" 42 ", 42), ("9999", 9999), *((text, None) for text in ("10000", "-1", "x", "", "\u0663"))]


@pytest.mark.parametrize(("text", "priority"), PRIORITIES, ids=[repr(row[0]) for row in PRIORITIES])
def test_a_priority_is_a_whole_number_in_range(text: str, priority: int | None) -> None:
    assert parsed_priority(text) == priority


def test_each_change_names_the_job_in_its_question() -> None:
    assert all("job-1" in change.asked_of("job-1") for change in CHANGES.values())
