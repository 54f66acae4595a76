"""Keeps the last summary for a moment, and the starts of the last forecast for a minute.

All callers may list all jobs, and a summary has nothing that a caller may not see, so one is good for all of them. A
process that has just answered answers the same again, so that ten open boards cost little more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headway_service.summary.results import ForecastStarts, Picture

MAX_AGE_MS = 1000
"""For how long a summary is given again, ms of machine time."""

MAX_FORECAST_AGE_MS = 60_000
"""For how long the starts of a forecast are shown in summaries, ms of machine time."""


class SummaryCache:
    """The last picture and the last forecast of this process.

    Args:
        read: reads a new picture.
        machine_clock: the machine time, ms.
    """

    def __init__(self, read: Callable[[], Picture], machine_clock: Callable[[], int]) -> None:
        self._read = read
        self._machine_clock = machine_clock
        self._picture: tuple[int, Picture] | None = None
        self._forecast: tuple[int, ForecastStarts] | None = None

    def get(self) -> tuple[Picture, ForecastStarts | None]:
        """The queue as it was at most :data:`MAX_AGE_MS` ago, and the starts of a forecast if one was made lately."""
        now_ms = self._machine_clock()
        if self._picture is None or not _is_fresh(self._picture[0], now_ms, MAX_AGE_MS):
            self._picture = now_ms, self._read()
        forecast = self._forecast
        kept = forecast is not None and _is_fresh(forecast[0], now_ms, MAX_FORECAST_AGE_MS)
        return self._picture[1], forecast[1] if kept and forecast else None

    def keep_forecast(self, as_of_ms: int, starts: Mapping[str, int | None]) -> None:
        """Keep the starts of a forecast of all jobs.

        Args:
            as_of_ms: when it was made, training time, ms.
            starts: the expected start of each job, ms.
        """
        self._forecast = self._machine_clock(), ForecastStarts(as_of_ms=as_of_ms, starts=starts)


def _is_fresh(since_ms: int, now_ms: int, max_age_ms: int) -> bool:
    # A clock that was set back must not keep a picture for hours.
    return 0 <= now_ms - since_ms < max_age_ms
