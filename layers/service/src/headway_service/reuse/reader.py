"""Reads objects in S3 within bounds of number, bytes and time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headway_service.errors import ObjectsUnreadable
from headway_service.ports.objects import Location, ObjectPage, Objects, StoredObject
from headway_service.reuse.archives import Unpacking
from headway_service.reuse.request import NotReusable

if TYPE_CHECKING:
    from headway_service.places import Places

MAX_OBJECTS = 5000
"""The most objects that are listed for one job: five pages, which take about a second."""

MAX_SOURCES = 200
"""The most source files that are read for one job, each with a call."""

MAX_SOURCE_BYTES = 8 * 1024 * 1024
"""The most bytes of sources that are read for one job."""

MAX_READ_MS = 4000
"""No further call is begun when the objects of one job have taken so long, ms: an invocation has other work."""

_UNREADABLE = "what it names in `s3://{}` is not there, or may not be read by its training role, or by the queue now"
"""One reason for all causes: another one for each would tell what is at a place that its owner may not read."""


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
        role: the ARN of its training role.
        objects: S3.
        places: which places the role may read.
        buckets: the buckets that may be read.
        machine_clock: the machine time, ms.
        until_ms: no call is begun from then on, machine time, ms.
        note_error: called with what nobody expects to go wrong.

    Attributes:
        unpacking: what may be unpacked of the archives among the objects.
    """

    def __init__(
        self,
        role: str,
        objects: Objects,
        places: Places,
        buckets: Collection[str],
        machine_clock: Callable[[], int],
        until_ms: int,
        note_error: Callable[[Exception], None],
    ) -> None:
        self.unpacking = Unpacking(self._has_time)
        self._role = role
        self._objects = objects
        self._places = places
        self._buckets = buckets
        self._clock = machine_clock
        self._until_ms = until_ms
        self._note_error = note_error
        self._objects_left = MAX_OBJECTS
        self._sources_left = MAX_SOURCES
        self._bytes_left = MAX_SOURCE_BYTES

    @contextmanager
    def contained(self) -> Iterator[None]:
        """Have whatever goes wrong with what the job names concern this job alone: its owner wrote it.

        Raises:
            NotReusable: something has gone wrong.
        """
        try:
            yield
        except NotReusable:
            raise
        except Exception as error:
            self._note_error(error)
            raise NotReusable("an error has kept the queue from comparing what it names") from error

    def list(self, location: Location) -> list[StoredObject]:
        """All objects whose keys begin as a location says.

        Raises:
            NotReusable: they are too many, or may or can not be read.
        """
        self._require_listable(location)
        found: list[StoredObject] = []
        token: str | None = None
        while True:
            page = self._page(location, token)
            found += page.objects
            # A page without objects counts, too, so that pages come to an end.
            self._objects_left -= len(page.objects) or 1
            if self._objects_left < 0:
                raise NotReusable(f"it reads more than {MAX_OBJECTS} objects")
            token = page.next_token
            if token is None:
                return found

    def holds_any(self, location: Location) -> bool:
        """Whether there is an object whose key begins as a location says.

        Raises:
            NotReusable: they may or can not be read.
        """
        self._require_listable(location)
        return bool(self._page(location, None).objects)

    def read(self, bucket: str, listed: Sequence[StoredObject]) -> Iterator[tuple[StoredObject, bytes]]:
        """The contents of source files that were listed.

        Args:
            bucket: their bucket.
            listed: the files.

        Raises:
            NotReusable: there are too many of them, they are too large, may not be read, or have changed meanwhile.
        """
        self._sources_left -= len(listed)
        self._bytes_left -= sum(each.size for each in listed)
        if self._sources_left < 0 or self._bytes_left < 0:
            raise NotReusable(f"its sources have more than {MAX_SOURCES} files or {MAX_SOURCE_BYTES} bytes")
        self._require(bucket)
        if not self._places.may_read(self._role, bucket, [each.key for each in listed]):
            raise NotReusable(_UNREADABLE.format(bucket))
        for each in listed:
            self._require(bucket)
            try:
                content = self._objects.read(bucket, each.key, each.etag, each.size)
            except ObjectsUnreadable:
                raise NotReusable(_UNREADABLE.format(bucket)) from None
            yield each, content

    def _require_listable(self, location: Location) -> None:
        self._require(location.bucket)
        if not self._places.may_list(self._role, location):
            raise NotReusable(_UNREADABLE.format(location.bucket))

    def _page(self, location: Location, token: str | None) -> ObjectPage:
        self._require(location.bucket)
        try:
            return self._objects.list(location.bucket, location.key, token)
        except ObjectsUnreadable:
            raise NotReusable(_UNREADABLE.format(location.bucket)) from None

    def _require(self, bucket: str) -> None:
        """Check that another call may be begun."""
        if bucket not in self._buckets:
            raise NotReusable(
                f"the bucket `{bucket}` is not among those that the queue may read (parameter ReuseBucketArns)"
            )
        if not self._has_time():
            raise NotReusable(f"its inputs could not be read within {MAX_READ_MS // 1000} s")

    def _has_time(self) -> bool:
        return self._clock() < self._until_ms
