"""When the newest object of a location was written."""

from __future__ import annotations

from collections.abc import Callable

from headway_service.errors import ObjectsUnreadable
from headway_service.observability.logging import logger
from headway_service.ports.objects import Location, Objects

MAX_PAGES = 3
"""Pages of a thousand objects that are listed for one attempt. Pages are in the order of keys, not of times."""


def newest_ms(objects: Objects, location: Location, has_time: Callable[[], bool]) -> int | None:
    """When the newest object that was seen at a location was written, S3's time, ms; None if none was seen.

    An object that was seen was written, so what a listing has that breaks off, for whatever reason, is true: there may
    be newer objects, but no older time is reported as newer.

    Args:
        objects: S3.
        location: where.
        has_time: whether another page may be requested.
    """
    newest: int | None = None
    token: str | None = None
    for _ in range(MAX_PAGES):
        try:
            page = objects.list(location.bucket, location.key, token)
        except ObjectsUnreadable as error:
            where = {"bucket": location.bucket, "prefix": location.key}
            logger.warning("checkpoints cannot be seen now", extra={**where, "error": str(error)})
            break
        times_ms = [each.modified_ms for each in page.objects]
        newest = max(times_ms if newest is None else [newest, *times_ms], default=None)
        token = page.next_token
        if token is None or not has_time():
            break
    return newest
