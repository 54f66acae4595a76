"""Objects in S3 without AWS."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from headway_service.errors import ObjectsUnreadable
from headway_service.ports.objects import ObjectPage, StoredObject

PAGE = 1000
"""Objects in a page (API reference, ListObjectsV2, MaxKeys)."""


@dataclass
class MemoryObjects:
    """A :class:`headway_service.ports.objects.Objects` in memory.

    Attributes:
        contents: by bucket, by key: the content, and the time it was written, ms.
        calls: the calls, as operation and place.
        unreadable: whether every call fails.
    """

    contents: dict[str, dict[str, tuple[bytes, int]]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    unreadable: bool = False

    def put(self, bucket: str, key: str, content: bytes, modified_ms: int = 0) -> None:
        """Write an object, as PutObject does.

        Args:
            bucket: the bucket, which is made.
            modified_ms: when, ms.
        """
        self.contents.setdefault(bucket, {})[key] = (content, modified_ms)

    def delete(self, bucket: str, key: str) -> None:
        """Remove an object, if there is one."""
        self.contents.get(bucket, {}).pop(key, None)

    def list(self, bucket: str, prefix: str, token: str | None = None) -> ObjectPage:
        """See :class:`headway_service.ports.objects.Objects`."""
        self.calls.append(f"list {bucket}/{prefix}")
        found = self._bucket(bucket)
        keys = sorted(key for key in found if key.startswith(prefix) and (token is None or key > token))
        objects = tuple(
            StoredObject(key=key, etag=_etag(found[key][0]), size=len(found[key][0]), modified_ms=found[key][1])
            for key in keys[:PAGE]
        )
        return ObjectPage(objects=objects, next_token=keys[PAGE - 1] if len(keys) > PAGE else None)

    def read(self, bucket: str, key: str, etag: str, size: int) -> bytes:
        """See :class:`headway_service.ports.objects.Objects`."""
        self.calls.append(f"read {bucket}/{key}")
        content, _ = self._bucket(bucket).get(key, (b"", 0))
        if _etag(content) != etag or len(content) != size:
            raise ObjectsUnreadable("PreconditionFailed (HTTP 412)")
        return content

    def _bucket(self, bucket: str) -> dict[str, tuple[bytes, int]]:
        if self.unreadable or bucket not in self.contents:
            raise ObjectsUnreadable("AccessDenied (HTTP 403)")
        return self.contents[bucket]


def _etag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'
