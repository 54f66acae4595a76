"""When a digest of a week's usage is sent, in the configuration document."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

from pydantic import Field, Strict

from headway_service.config.base import ConfigModel
from headway_service.config.schedule import Day

MAX_LATE_S = 86_400
"""How late a digest is still sent, s: later than this it is of no use, and a new setting must not send an old one."""


class Digest(ConfigModel):
    """When a digest of the seven days before is sent, e.g. ``{"weekday": "mon", "hour": 8}``."""

    #: The day of the week, UTC.
    weekday: Annotated[Day, Strict(strict=False)]
    #: The hour of the day, UTC.
    hour: int = Field(default=8, ge=0, le=23)

    def due(self, now_ms: int) -> date | None:
        """The day whose digest is due, whether or not it was sent; None if none is."""
        now = datetime.fromtimestamp(now_ms / 1000, UTC)
        since = (now.weekday() - [*Day].index(self.weekday)) % 7
        day = now.date() - timedelta(days=since)
        late = now - datetime.combine(day, time(self.hour), UTC)
        return day if timedelta() <= late < timedelta(seconds=MAX_LATE_S) else None
