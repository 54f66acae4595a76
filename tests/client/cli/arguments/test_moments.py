"""A moment in the past: one notation for all commands."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.cli.arguments.moments import Moment, time_text

NOW = datetime(2026, 11, 26, 8, 30, tzinfo=UTC)


def queue(*, known: bool = True) -> Any:
    """A queue with its own time, which is known from the first response on."""
    api = SimpleNamespace(server_version="1" if known else None, asked=0)

    def version() -> None:
        api.server_version, api.asked = "1", api.asked + 1

    api.version, api.now_s = version, NOW.timestamp
    return api


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-25", "2026-11-25T00:00:00.000Z"),
        ("2026-11-25T08:00Z", "2026-11-25T08:00:00.000Z"),
        ("2026-11-25T08:00:30.5+02:00", "2026-11-25T06:00:30.500Z"),
        ("36h", "2026-11-24T20:30:00.000Z"),
        ("7d", "2026-11-19T08:30:00.000Z"),
        ("1h30m", "2026-11-26T07:00:00.000Z"),
        ("90", "2026-11-26T08:28:30.000Z"),
        ("9999d9999h", "1998-05-21T17:30:00.000Z"),
    ],
)
def test_a_day_a_time_or_a_duration_is_a_time_for_the_api(text: str, expected: str) -> None:
    assert time_text(queue(), Moment().convert(text, None, None)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2026-12-01T08:00Z", "2026-12-01T08:00:00.000Z"), ("8h", "2026-11-26T16:30:00.000Z")],
)
def test_a_duration_may_be_one_after_now(text: str, expected: str) -> None:
    assert time_text(queue(), Moment(to_come=True).convert(text, None, None), to_come=True) == expected


def test_what_is_possible_names_the_side_of_now() -> None:
    with pytest.raises(click.BadParameter, match="a duration after now"):
        Moment(to_come=True).convert("soon", None, None)


def test_a_day_is_one_of_utc_on_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    try:
        assert time_text(queue(), Moment().convert("2026-11-25", None, None)) == "2026-11-25T00:00:00.000Z"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "0d", "-1d", "2026-13-01", "2026-02-30", "2026-11-25T08:00", "2026-11-25 08:00Z", "1w", "7d ",
     "0001-01-01T00:00+12:00", "\uff12026-11-25"],
)  # fmt: skip
def test_anything_else_is_refused_with_what_is_possible(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"neither a UTC day such as|there is no time"):
        Moment().convert(text, None, None)


@given(st.text(max_size=30))
def test_no_text_raises_another_error(text: str) -> None:
    try:
        found = Moment().convert(text, None, None)
    except click.BadParameter:
        return
    assert time_text(queue(), found).endswith("Z")


def test_a_duration_is_counted_by_the_time_of_the_queue_once_it_is_known() -> None:
    api = queue(known=False)
    assert time_text(api, timedelta(hours=1)) == "2026-11-26T07:30:00.000Z"
    assert api.asked == 1
    time_text(api, timedelta(hours=1))
    assert api.asked == 1


def test_a_time_needs_no_request() -> None:
    api = queue(known=False)
    time_text(api, NOW)
    assert api.asked == 0
