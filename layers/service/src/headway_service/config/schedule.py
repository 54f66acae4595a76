"""Sizes of a pool by time of day and week, in the configuration document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, Strict, StringConstraints

from headway_service.config.base import ConfigModel
from headway_service.validation_messages import explained

MAX_ENTRIES = 14
"""Entries of one schedule."""

MAX_WINDOWS = 28
"""Times at which the entries of one schedule begin within a week: four a day."""

HORIZON_DAYS = 8
"""How far ahead sizes are computed: a week, and a day in which they are computed again."""

_DAY_MINUTES = 24 * 60
_WEEK_MINUTES = 7 * _DAY_MINUTES
MAX_ZONE_CHARS = 64
"""Length of the name of a time zone: the longest in the tz database has half of it."""


class Day(StrEnum):
    """A day of the week on which an entry begins."""

    MON = "mon"
    TUE = "tue"
    WED = "wed"
    THU = "thu"
    FRI = "fri"
    SAT = "sat"
    SUN = "sun"


class AtShrink(StrEnum):
    """What happens to running jobs when a pool becomes smaller than its use."""

    #: They run on, and a job starts only if its limit proves that it ends in time.
    RUN = "run"
    #: As many as necessary are stopped and wait again; jobs start without regard to later sizes.
    STOP = "stop"


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise ValueError(
            f"there is no time zone {name}: use a name of the tz database, such as Europe/Berlin, or UTC"
        ) from None
    return name


_TIME = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
Zone = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ZONE_CHARS), AfterValidator(_known_zone)]
FromTime = Annotated[str, StringConstraints(pattern=explained(_TIME, "a time of day from 00:00 to 23:59"))]
ToTime = Annotated[
    str,
    StringConstraints(
        pattern=explained(r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$", "a time of day from 00:00 to 24:00")
    ),
]


class Entry(ConfigModel):
    """A size for a time of day on some days, by the clocks of the time zone. It may end on the next day."""

    #: The days on which it begins.
    days: list[Annotated[Day, Strict(strict=False)]] = Field(min_length=1, max_length=7)
    from_: FromTime = Field(alias="from")
    #: A time no later than ``from`` is on the next day.
    to: ToTime
    size: int = Field(ge=0)

    @property
    def from_minute(self) -> int:
        """When it begins, in minutes of the day."""
        return _minutes(self.from_)

    @property
    def length_minutes(self) -> int:
        """How long it lasts by the clocks on the wall, in minutes."""
        length = _minutes(self.to) - self.from_minute
        return length if length > 0 else length + _DAY_MINUTES


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a pool has which size."""

    entries: tuple[Entry, ...]
    zone: str
    #: The size at all other times.
    otherwise: int

    @property
    def largest(self) -> int:
        """The largest size that the pool ever has."""
        return max([self.otherwise, *(entry.size for entry in self.entries)])

    @property
    def smallest(self) -> int:
        """The smallest size that the pool may have."""
        return min([self.otherwise, *(entry.size for entry in self.entries)])

    def sizes(self, from_ms: int) -> tuple[tuple[int, int], ...]:
        """From when on the pool has which size: the size at a time, and the changes after it.

        The last one is the smallest size, as what is beyond the horizon is not known to be larger.

        Args:
            from_ms: the time, ms.
        """
        until_ms = from_ms + HORIZON_DAYS * _DAY_MINUTES * 60_000
        # A week more for the smallest size: clocks that change skip a window in one week, and the next one has it.
        looked_ms = until_ms + _WEEK_MINUTES * 60_000
        windows = [*self._windows(from_ms)]
        times = {ms for start_ms, end_ms, _ in windows for ms in (start_ms, end_ms) if from_ms < ms < looked_ms}
        found: list[tuple[int, int]] = []
        smallest = self.largest
        for time_ms in sorted({from_ms, *times}):
            size = next((size for start_ms, end_ms, size in windows if start_ms <= time_ms < end_ms), self.otherwise)
            smallest = min(smallest, size)
            if time_ms < until_ms and (not found or found[-1][1] != size):
                found.append((time_ms, size))
        return (*found, (until_ms, smallest)) if found[-1][1] != smallest else tuple(found)

    def _windows(self, from_ms: int) -> Iterator[tuple[int, int, int]]:
        """The begin, the end and the size of each window that may be open within the horizon, or a week after it."""
        zone = ZoneInfo(self.zone)
        first = datetime.fromtimestamp(from_ms / 1000, zone).date() - timedelta(days=2)
        for days in range(HORIZON_DAYS + 7 + 4):
            day = first + timedelta(days=days)
            for entry in self.entries:
                if [*Day][day.weekday()] in entry.days:
                    start = entry.from_minute
                    end = start + entry.length_minutes
                    yield _moment_ms(day, start, zone), _moment_ms(day, end, zone), entry.size


def overlaps(entries: Sequence[Entry]) -> tuple[int, int] | None:
    """The first two entries that overlap, by their indexes; None if none do. An entry may overlap itself."""
    windows = sorted(
        (list(Day).index(day) * _DAY_MINUTES + entry.from_minute, entry.length_minutes, index)
        for index, entry in enumerate(entries)
        for day in entry.days
    )
    for this, (start, length, index) in enumerate(windows):
        # The first one of the week follows the last one.
        next_start, _, other = windows[(this + 1) % len(windows)]
        gap = (next_start - start) % _WEEK_MINUTES if len(windows) > 1 else _WEEK_MINUTES
        if gap < length:
            return min(index, other), max(index, other)
    return None


def _minutes(told: str) -> int:
    hours, minutes = told.split(":")
    return int(hours) * 60 + int(minutes)


def _moment_ms(day: date, minutes: int, zone: ZoneInfo) -> int:
    """When the clocks show a time of a day: the next time that they show if they skip it, the first if they repeat it.

    Args:
        minutes: the time, in minutes of the day; it may be on the next day.
        zone: the time zone.
    """
    wall = datetime.combine(day, time.min) + timedelta(minutes=minutes)
    while True:
        moment = wall.replace(tzinfo=zone).astimezone(UTC)
        if moment.astimezone(zone).replace(tzinfo=None) == wall:
            return round(moment.timestamp() * 1000)
        wall += timedelta(minutes=1)
