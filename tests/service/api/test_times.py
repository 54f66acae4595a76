"""Times in the queries of calls."""

from __future__ import annotations

import re

import pytest

from headway_service.api.times import TIME, time_ms
from headway_service.errors import InvalidRequest


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("1970-01-02", 86_400_000),
        ("1970-01-01T00:01Z", 60_000),
        ("1970-01-01T00:00:01.5+00:00", 1500),
        ("1970-01-01T01:00+01:00", 0),
        ("0001-01-01T00:00+14:00", -62_135_647_200_000),
    ],
)
def test_a_time_is_a_day_or_has_its_zone(text: str, expected_ms: int) -> None:
    assert re.search(TIME, text)
    assert time_ms(text, "since") == expected_ms


@pytest.mark.parametrize(
    "text", ["", "0", "1795722962", "yesterday", "2026-11-25T08:00", "2026-11-25 08:00Z", "26-11-25"]
)
def test_other_texts_are_no_times(text: str) -> None:
    assert not re.search(TIME, text)


@pytest.mark.parametrize(
    "text",
    ["2026-13-01", "2026-00-01", "2026-11-32", "2026-11-25T24:30Z", "2026-11-25T08:60Z", "2026-11-25T08:00+99:00"],
)
def test_the_pattern_knows_months_days_hours_and_minutes(text: str) -> None:
    assert not re.search(TIME, text)


@pytest.mark.parametrize("text", ["2026-02-30", "2026-11-31T08:00Z"])
def test_a_time_that_does_not_exist_is_refused(text: str) -> None:
    assert re.search(TIME, text)
    with pytest.raises(InvalidRequest, match="since: there is no time 2026"):
        time_ms(text, "since")
