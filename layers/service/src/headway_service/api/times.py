"""Times in the queries and in the documents of calls."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import overload

from headway_service.errors import InvalidRequest
from headway_service.validation_messages import explained

_DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_HOUR_AND_MINUTE = "([01][0-9]|2[0-3]):[0-5][0-9]"

TIME = explained(
    rf"^{_DATE}(T{_HOUR_AND_MINUTE}(:[0-5][0-9](\.[0-9]{{1,6}})?)?(Z|[+-]{_HOUR_AND_MINUTE}))?$",
    "a UTC day such as 2026-11-25, or a time with its zone such as 2026-11-25T08:00Z",
)
"""The pattern of a time."""

DAY = explained(rf"^{_DATE}$", "a day such as 2026-11-25")
"""The pattern of a day."""

DAY_FORMAT = {"format": "date"}
"""What a schema says of a day beside its pattern, which does not know how long months are."""


def time_ms(text: str, name: str) -> int:
    """A time, ms since the epoch; a day is its first moment, in UTC.

    Args:
        text: the time, as :data:`TIME` has it.
        name: of the parameter.

    Raises:
        InvalidRequest: there is no such time.
    """
    try:
        at = datetime.fromisoformat(text)
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except ValueError:
        raise InvalidRequest(f"{name}: there is no time {text}") from None


@overload
def time_text(time_ms: int) -> str: ...


@overload
def time_text(time_ms: int | None) -> str | None: ...


def time_text(time_ms: int | None) -> str | None:
    """A time as documents have it; ``time_ms`` is ms since the epoch, or None."""
    if time_ms is None:
        return None
    return datetime.fromtimestamp(time_ms / 1000, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
