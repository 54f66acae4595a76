"""What the service takes for equal of the requests that an SDK builds, and of what it uploads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from headway_service.reuse.fingerprint import Question, fingerprint
from headway_service.reuse.reader import Reader
from headway_service.testing.memory_objects import MemoryObjects

if TYPE_CHECKING:
    # It logs, and the SDKs' environments do not have what it logs with.
    from headway_service.places import Places


class Anywhere:
    """All places may be read."""

    def may_list(self, *_: Any) -> bool:
        return True

    def may_read(self, *_: Any) -> bool:
        return True


def key(request: Mapping[str, Any], uploaded: Mapping[str, bytes]) -> str:
    """Return the digest of a job.

    Args:
        request: its request.
        uploaded: the contents of all objects, by bucket and key with a slash between them.
    """
    objects = MemoryObjects()
    for place, content in uploaded.items():
        bucket, _, name = place.partition("/")
        objects.put(bucket, name, content)

    def note_error(error: Exception) -> None:
        raise error

    places, buckets = cast("Places", Anywhere()), set(objects.contents)
    question = Question(request=json.loads(json.dumps(request)), alternatives="", team="", unpinned=True)
    return fingerprint(question, Reader(request["RoleArn"], objects, places, buckets, lambda: 0, 1, note_error)).key
