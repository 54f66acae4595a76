"""What the service takes for equal of the requests that an SDK builds, and of what it uploads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headway_service.places import Places
from headway_service.reuse.fingerprint import Question, fingerprint
from headway_service.reuse.reader import Reader
from headway_service.testing.memory_objects import MemoryObjects
from headway_service.testing.memory_role_permissions import EVERYTHING, MemoryRolePermissions


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
    role = str(request["RoleArn"])
    places = Places(lambda: MemoryRolePermissions({role: [EVERYTHING]}), lambda: 0)
    question = Question(request=json.loads(json.dumps(request)), alternatives="", team="", unpinned=True)
    return fingerprint(question, Reader("job", role, objects, places, set(objects.contents), lambda: 0, 1)).key
