"""When a digest is due: once a week, at its hour, and no later than a day after it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_service.config import document
from headway_service.config.digest import MAX_LATE_S, Digest
from headway_service.config.schedule import Day
from headway_service.errors import InvalidConfiguration

POOLS = {"ml.p5.48xlarge": {"size": 2}}
MONDAY = datetime(2026, 11, 23, 8, tzinfo=UTC)


def ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


@pytest.mark.parametrize(
    ("late", "due"),
    [
        (timedelta(milliseconds=-1), None),
        (timedelta(), MONDAY.date()),
        (timedelta(hours=16), MONDAY.date()),
        (timedelta(seconds=MAX_LATE_S, milliseconds=-1), MONDAY.date()),
        (timedelta(seconds=MAX_LATE_S), None),
        (timedelta(days=6), None),
        (timedelta(days=7), date(2026, 11, 30)),
    ],
)
def test_a_digest_is_due_from_its_hour_on_for_a_day(late: timedelta, due: date | None) -> None:
    assert Digest(weekday=Day.MON, hour=8).due(ms(MONDAY + late)) == due


@given(st.sampled_from(Day), st.integers(0, 23), st.integers(0, 400))
def test_in_a_week_of_hours_each_digest_is_due_24_times_and_all_of_one_day(day: Day, hour: int, begin_h: int) -> None:
    digest = Digest(weekday=day, hour=hour)
    begin = MONDAY + timedelta(hours=begin_h)
    due = [found for h in range(7 * 24) if (found := digest.due(ms(begin + timedelta(hours=h)))) is not None]
    assert len(due) == 24
    assert {[*Day][found.weekday()] for found in due} == {day}


def test_there_is_no_digest_unless_the_policy_has_one() -> None:
    assert document.validate({"pools": POOLS}).digest is None
    assert document.validate({"pools": POOLS, "digest": {"weekday": "fri"}}).digest == Digest(weekday=Day.FRI, hour=8)


@pytest.mark.parametrize(
    "digest", [{}, {"weekday": "monday"}, {"weekday": "mon", "hour": 24}, {"weekday": "mon", "hour": -1}, {"hour": 8}]
)
def test_a_wrong_setting_is_refused(digest: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfiguration, match="digest"):
        document.validate({"pools": POOLS, "digest": digest})
