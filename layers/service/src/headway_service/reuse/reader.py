"""Reads objects in S3 within bounds of number, bytes and time."""

from __future__ import annotations

from collections.abc import Callable, Collection

from headway_service.errors import ObjectsUnreadable
from headway_service.ports.objects import Location, Objects, StoredObject
from headway_service.reuse.request import NotReusable

MAX_OBJECTS = 5000
"""The most objects that are listed for one job: five pages, which take about a second."""

MAX_SOURCES = 200
"""The most source files that are read for one job, each with a call."""

MAX_SOURCE_BYTES = 8 * 1024 * 1024
"""The most bytes of sources that are read for one job."""

MAX_READ_MS = 4000
"""No further call is begun when the objects of one job have taken so long, ms: an invocation has other work."""

_UNREADABLE = "S3 does not let the queue read `s3://{}` now"


def location_of(uri: str) -> Location:
    """The location that a URI of a request names.

    Raises:
        NotReusable: it is no `s3://` URI.
    """
    location = Location.of_uri(uri)
    if location is None:
        raise NotReusable(f"{uri!r:.80} is no S3 URI")
    return location


class Reader:
    """Reads the objects of one job.

    Args:
        objects: S3.
        buckets: the buckets that may be read.
        machine_clock: the machine time, ms.
        until_ms: no call is begun from then on, machine time, ms.
    """

    def __init__(
        self, objects: Objects, buckets: Collection[str], machine_clock: Callable[[], int], until_ms: int
    ) -> None:
        self._objects = objects
        self._buckets = buckets
        self._clock = machine_clock
        self._until_ms = until_ms
        self._objects_left = MAX_OBJECTS
        self._sources_left = MAX_SOURCES
        self._bytes_left = MAX_SOURCE_BYTES

    def list(self, location: Location) -> list[StoredObject]:
        """All objects whose keys begin as a location says.

        Raises:
            NotReusable: they are too many, or cannot be read.
        """
        found: list[StoredObject] = []
        token: str | None = None
        while True:
            self._require(location)
            try:
                page = self._objects.list(location.bucket, location.key, token)
            except ObjectsUnreadable:
                raise NotReusable(_UNREADABLE.format(location.bucket)) from None
            found += page.objects
            self._objects_left -= len(page.objects)
            if self._objects_left < 0:
                raise NotReusable(f"it reads more than {MAX_OBJECTS} objects")
            token = page.next_token
            if token is None:
                return found

    def holds_any(self, location: Location) -> bool:
        """Whether there is an object whose key begins as a location says.

        Raises:
            NotReusable: they cannot be read.
        """
        self._require(location)
        try:
            return bool(self._objects.list(location.bucket, location.key).objects)
        except ObjectsUnreadable:
            raise NotReusable(_UNREADABLE.format(location.bucket)) from None

    def read(self, bucket: str, found: StoredObject) -> bytes:
        """The content of a source file that was listed.

        Args:
            bucket: its bucket.
            found: the file.

        Raises:
            NotReusable: there are too many of them, they are too large, or it has changed meanwhile.
        """
        self._require(Location(bucket=bucket, key=found.key))
        self._sources_left -= 1
        self._bytes_left -= found.size
        if self._sources_left < 0 or self._bytes_left < 0:
            raise NotReusable(f"its sources have more than {MAX_SOURCES} files or {MAX_SOURCE_BYTES} bytes")
        try:
            return self._objects.read(bucket, found.key, found.etag, found.size)
        except ObjectsUnreadable:
            raise NotReusable(_UNREADABLE.format(bucket)) from None

    def _require(self, location: Location) -> None:
        if location.bucket not in self._buckets:
            raise NotReusable(
                f"the bucket `{location.bucket}` is not among those that the queue may read (parameter ReuseBucketArns)"
            )
        if self._clock() >= self._until_ms:
            raise NotReusable(f"its inputs could not be read within {MAX_READ_MS // 1000} s")
