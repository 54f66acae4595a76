"""Sizes of a pool by time of day and week."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_service.config.document import new_text_to_keep, parse, validate
from headway_service.config.schedule import HORIZON_DAYS, MAX_WINDOWS, Day, Entry, Schedule, overlaps
from headway_service.errors import InvalidConfiguration

P5 = "ml.p5.48xlarge"
ALL_DAYS = [str(day) for day in Day]
WORK_DAYS = ALL_DAYS[:5]


def entry(days: list[str], since: str, until: str, size: int = 2) -> dict[str, Any]:
    return {"days": days, "from": since, "to": until, "size": size}


def schedule(*entries: dict[str, Any], zone: str = "UTC", otherwise: int = 8) -> Schedule:
    return Schedule(tuple(Entry.model_validate(each) for each in entries), zone, otherwise)


def document(*entries: dict[str, Any], **pool: Any) -> dict[str, Any]:
    return {"pools": {P5: {"size": 8, "schedule": list(entries), **pool}}}


def utc_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def told(sizes: tuple[tuple[int, int], ...]) -> list[tuple[str, int]]:
    return [(f"{datetime.fromtimestamp(ms / 1000, UTC):%a %d %H:%M}", size) for ms, size in sizes]


def test_the_sizes_of_the_next_days_end_with_the_smallest() -> None:
    sizes = schedule(entry(["mon", "tue"], "08:00", "18:00")).sizes(utc_ms("2027-01-15 08:00"))
    assert told(sizes) == [
        ("Fri 15 08:00", 8),
        ("Mon 18 08:00", 2),
        ("Mon 18 18:00", 8),
        ("Tue 19 08:00", 2),
        ("Tue 19 18:00", 8),
        ("Sat 23 08:00", 2),
    ]


def test_an_entry_may_end_on_the_next_day() -> None:
    sizes = schedule(entry(["sun"], "22:00", "06:00", 0)).sizes(utc_ms("2027-01-18 01:00"))
    assert told(sizes)[:3] == [("Mon 18 01:00", 0), ("Mon 18 06:00", 8), ("Sun 24 22:00", 0)]


def test_entries_that_follow_each_other_with_one_size_make_one_change() -> None:
    rule = schedule(entry(["mon"], "08:00", "24:00"), entry(["tue"], "00:00", "06:00"))
    sizes = rule.sizes(utc_ms("2027-01-18 07:00"))
    assert told(sizes)[:3] == [("Mon 18 07:00", 8), ("Mon 18 08:00", 2), ("Tue 19 06:00", 8)]


@pytest.mark.parametrize(
    ("zone", "since", "entry_times", "changes"),
    [
        # Berlin, 2027-03-28: 02:00 becomes 03:00. 2027-10-31: 03:00 becomes 02:00.
        ("Europe/Berlin", "2027-03-27 12:00", ("08:00", "18:00"), ["27 17:00", "28 06:00", "28 16:00"]),
        ("Europe/Berlin", "2027-03-26 18:00", ("08:00", "18:00"), ["27 07:00", "27 17:00", "28 06:00", "28 16:00"]),
        ("Europe/Berlin", "2027-03-27 12:00", ("02:30", "05:00"), ["28 01:00", "28 03:00"]),
        ("Europe/Berlin", "2027-03-27 12:00", ("01:30", "02:30"), ["28 00:30", "28 01:00"]),
        ("Europe/Berlin", "2027-10-30 12:00", ("02:30", "05:00"), ["31 00:30", "31 04:00"]),
        ("Europe/Berlin", "2027-10-30 12:00", ("01:30", "02:30"), ["30 23:30", "31 00:30"]),
        # New York, 2027-03-14: 02:00 becomes 03:00. 2027-11-07: 02:00 becomes 01:00.
        ("America/New_York", "2027-03-13 12:00", ("08:00", "18:00"), ["13 13:00", "13 23:00", "14 12:00", "14 22:00"]),
        ("America/New_York", "2027-03-14 00:00", ("02:15", "04:00"), ["14 07:00", "14 08:00"]),
        ("America/New_York", "2027-11-07 00:00", ("01:30", "03:00"), ["07 05:30", "07 08:00"]),
    ],
)
def test_times_are_those_of_the_clocks_on_the_wall(
    zone: str, since: str, entry_times: tuple[str, str], changes: list[str]
) -> None:
    sizes = schedule(entry(ALL_DAYS, *entry_times), zone=zone).sizes(utc_ms(since))
    assert [f"{datetime.fromtimestamp(ms / 1000, UTC):%d %H:%M}" for ms, _ in sizes[1:]][: len(changes)] == changes


def test_a_window_that_the_clocks_skip_is_left_out() -> None:
    sizes = schedule(entry(["sun"], "02:10", "02:50"), zone="Europe/Berlin").sizes(utc_ms("2027-03-27 12:00"))
    # The next Sunday has it.
    assert told(sizes)[:2] == [("Sat 27 12:00", 8), ("Sun 04 00:10", 2)]


@pytest.mark.parametrize("since", ["2027-03-26 23:30", "2027-03-22 00:00"], ids=["two-days-before", "six-days-before"])
@pytest.mark.parametrize(
    ("otherwise", "entries"),
    [
        (8, [entry(["sun"], "02:10", "02:50", 0)]),
        (
            0,
            [
                entry(ALL_DAYS[:6], "00:00", "24:00", 8),
                entry(["sun"], "00:00", "02:10", 8),
                entry(["sun"], "02:50", "00:00", 8),
            ],
        ),
    ],
    ids=["a-window", "the-time-between-windows"],
)
def test_a_smaller_size_that_the_clocks_skip_within_the_horizon_is_not_forgotten(
    otherwise: int, entries: list[dict[str, Any]], since: str
) -> None:
    """The horizon of eight days has one Sunday, whose clocks skip the time."""
    sizes = schedule(*entries, zone="Europe/Berlin", otherwise=otherwise).sizes(utc_ms(since))
    assert [size for _, size in sizes] == [8, 0]


times = st.integers(0, 23 * 60 + 59).map(lambda minute: f"{minute // 60:02}:{minute % 60:02}")


@given(
    st.lists(
        st.builds(
            entry,
            st.lists(st.sampled_from(ALL_DAYS), min_size=1, max_size=3, unique=True),
            times,
            times,
            st.integers(0, 9),
        ),
        max_size=4,
    ),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    st.integers(utc_ms("2027-01-01 00:00") // 60_000, utc_ms("2028-01-01 00:00") // 60_000).map(lambda m: m * 60_000),
    st.integers(0, (HORIZON_DAYS - 1) * 1440),
)
def test_the_size_at_each_time_is_that_of_the_entry_whose_clocks_times_it_is_between(
    entries: list[dict[str, Any]], zone: str, from_ms: int, later_minutes: int
) -> None:
    rule = schedule(*entries, zone=zone)
    if overlaps(rule.entries) is not None:
        return
    sizes = rule.sizes(from_ms)
    assert [ms for ms, _ in sizes] == sorted({ms for ms, _ in sizes})
    assert all(before != after for (_, before), (_, after) in pairwise(sizes))
    time_ms = from_ms + later_minutes * 60_000
    wall = datetime.fromtimestamp(time_ms / 1000, ZoneInfo(zone))
    offsets = {
        datetime.fromtimestamp(time_ms / 1000 + hours * 3600, ZoneInfo(zone)).utcoffset() for hours in range(-30, 31, 3)
    }
    if len(offsets) > 1:
        # The clocks change near it, which has cases of its own.
        return
    minute = wall.weekday() * 1440 + wall.hour * 60 + wall.minute
    expected = rule.otherwise
    for each in rule.entries:
        for day in each.days:
            if (minute - list(Day).index(day) * 1440 - each.from_minute) % (7 * 1440) < each.length_minutes:
                expected = each.size
    assert next(size for ms, size in reversed(sizes) if ms <= time_ms) == expected


def test_a_document_keeps_its_schedule() -> None:
    text = new_text_to_keep(document(entry(WORK_DAYS, "08:00", "18:00"), timeZone="Europe/Berlin", atShrink="stop"))
    pool = parse(text).pools[P5]
    assert pool.sizes == schedule(entry(WORK_DAYS, "08:00", "18:00"), zone="Europe/Berlin")
    assert '"from":"08:00"' in text


@pytest.mark.parametrize("pool", [{}, {"timeZone": "Europe/Berlin"}, {"schedule": []}])
def test_a_pool_without_a_schedule_is_shown_as_it_was_set(pool: dict[str, Any]) -> None:
    given = {"pools": {P5: {"size": 8, **pool}}}
    assert validate(given).model_dump(mode="json")["pools"] == given["pools"]
    assert json.loads(new_text_to_keep(given)) == given


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (document(entry(["mon"], "08:00", "12:00"), entry(["mon"], "11:59", "13:00")), "the entries 0 and 1 of the"),
        (document(entry(["mon"], "22:00", "06:00"), entry(["tue"], "05:00", "07:00")), "the entries 0 and 1 of the"),
        (document(entry(["sun"], "22:00", "06:00"), entry(["mon"], "05:00", "07:00")), "the entries 0 and 1 of the"),
        (document(entry(["mon", "tue"], "08:00", "08:00"), entry(["wed"], "07:59", "09:00")), "the entries 0 and 1"),
        (document(timeZone="Europe/Belin"), "there is no time zone Europe/Belin"),
        (document(timeZone="../etc/passwd"), "there is no time zone"),
        (document(timeZone="/etc/localtime"), "there is no time zone"),
        (document(entry(["monday"], "08:00", "12:00")), "'mon'"),
        (document(entry([], "08:00", "12:00")), "at least 1"),
        (document(entry(["mon", "mon"], "08:00", "12:00")), "names a day twice"),
        (document(entry(["mon"], "8:00", "12:00")), "a time of day from 00:00 to 23:59"),
        (document(entry(["mon"], "24:00", "12:00")), "a time of day from 00:00 to 23:59"),
        (document(entry(["mon"], "08:00", "24:01")), "a time of day from 00:00 to 24:00"),
        (document(entry(["mon"], "08:00", "12:00", -1)), "must be at least 0"),
        (document(entry(["mon"], "08:00", "12:00", 10_001)), "schedule.0.size must be 10000 at most"),
        (document(*[entry(ALL_DAYS, f"{h:02}:00", f"{h:02}:30") for h in range(5)]), f"at most {MAX_WINDOWS}"),
        (document(*[entry(["mon"], f"{h:02}:00", f"{h:02}:30") for h in range(15)]), "at most 14"),
        (document(atShrink="kill"), "'run' or 'stop'"),
    ],
)
def test_a_schedule_that_is_not_clear_is_refused_with_a_sentence(pool: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        validate(pool)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "entries",
    [
        (entry(["mon"], "08:00", "12:00"), entry(["mon"], "12:00", "13:00")),
        (entry(["sun"], "22:00", "05:00"), entry(["mon"], "05:00", "07:00")),
        (entry(ALL_DAYS, "08:00", "08:00"),),
        (entry(ALL_DAYS, "00:00", "24:00"),),
    ],
)
def test_entries_that_touch_do_not_overlap(entries: tuple[dict[str, Any], ...]) -> None:
    assert overlaps([Entry.model_validate(each) for each in entries]) is None


def test_the_largest_size_decides_what_a_job_may_demand_and_teams_may_be_guaranteed() -> None:
    pools = document(entry(["mon"], "08:00", "12:00", 12))
    configuration = validate({**pools, "teams": {"red": {"guaranteed": {P5: 12}}}})
    assert configuration.most(P5, "red") == 12
    with pytest.raises(InvalidConfiguration, match="12 is less than the 13"):
        validate({**pools, "teams": {"red": {"guaranteed": {P5: 13}}}})
