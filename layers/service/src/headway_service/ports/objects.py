"""Objects in S3, as the service needs them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol, Self

_URI = re.compile(r"s3://(?P<bucket>[^/]+)(?:/(?P<key>.*))?", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Location:
    """A bucket, and a key or what keys begin with."""

    bucket: str
    key: str

    @classmethod
    def of_uri(cls, uri: str) -> Self | None:
        """The location that a URI names; None if it is no `s3://` URI.

        SageMaker's model allows `https://` URIs too (API reference, CheckpointConfig), whose form differs by region.
        """
        found = _URI.fullmatch(uri)
        return cls(bucket=found["bucket"], key=found["key"] or "") if found else None

    def overlaps(self, other: Location) -> bool:
        """Whether keys that begin with one of them begin with the other."""
        both = self.key.startswith(other.key) or other.key.startswith(self.key)
        return self.bucket == other.bucket and both


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredObject:
    """An object as a listing has it."""

    key: str
    #: Differs whenever the content differs (API reference, Object): of the same key, not of two.
    etag: str
    #: Bytes.
    size: int
    #: When it was written, ms since the epoch.
    modified_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectPage:
    """A page of a listing."""

    objects: tuple[StoredObject, ...]
    #: Of the next page; None at the end.
    next_token: str | None


class Objects(Protocol):
    """Objects in S3. Both calls raise ``ObjectsUnreadable`` if S3 does not answer, or refuses to."""

    def list(self, bucket: str, prefix: str, token: str | None = None) -> ObjectPage:
        """ListObjectsV2: the objects whose keys begin with a prefix, in the order of their keys.

        Args:
            prefix: what the keys begin with; empty for all objects.
            token: of a page before; None for the first page.
        """

    def read(self, bucket: str, key: str, etag: str, size: int) -> bytes:
        """GetObject: the content of an object, if it still is as it was listed.

        Args:
            key: the key of the object.
            etag: as a listing has it.
            size: likewise, bytes.
        """
