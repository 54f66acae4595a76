"""Which places in S3 may be read for a job: those that its training role may read.

Whoever may submit a job with a role can run code that reads what the role reads. So what the queue reads for the job
tells its owner nothing that such code could not. What the queue's own role may read beyond that must not matter
(decision 108).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

from headway_service.errors import PermissionsUnknown
from headway_service.observability.logging import logger
from headway_service.ports.objects import Location
from headway_service.ports.role_permissions import Permission, RolePermissions

REMEMBERED_MS = 60_000
"""How long an answer about a permission is used, machine time, ms."""

UNKNOWN_MS = 5_000
"""How long IAM is not asked again about what it has not answered, machine time, ms: a tick has other work."""

MAX_REMEMBERED = 1000
"""The most answers that are remembered."""

_LIST = "s3:ListBucket"
_READ = "s3:GetObject"
_PREFIX = "s3:prefix"
_PATTERNS = ("*", "?", "$")

_UNKNOWN = Permission(is_allowed=False)


class Places:
    """Says which places training roles may read. One for all invocations of a function's instance.

    Args:
        permissions: what roles may do.
        machine_clock: the machine time, ms.
    """

    def __init__(self, permissions: Callable[[], RolePermissions], machine_clock: Callable[[], int]) -> None:
        self._permissions = permissions
        self._clock = machine_clock
        #: By a digest of the question: the answer, and until when it is used.
        self._remembered: dict[bytes, tuple[Permission, int]] = {}

    def may_list(self, role: str, location: Location) -> bool:
        """Whether a role may list the objects whose keys begin as a location says.

        Args:
            role: its ARN.
        """
        bucket = [_arn(role, location.bucket)]
        whole = self._ask(role, _LIST, bucket, {})
        if whole.missing == {_PREFIX}:
            # Its policies say it by prefix. Most do not, so that one answer is for the whole bucket.
            whole = self._ask(role, _LIST, bucket, {_PREFIX: location.key})
        return _is_clear(whole, role, _LIST, location.bucket)

    def may_read(self, role: str, bucket: str, keys: Sequence[str]) -> bool:
        """Whether a role may read each of some objects.

        Args:
            role: its ARN.
            bucket: their bucket.
            keys: their keys.
        """
        if not keys:
            return True
        if any(pattern in key for key in keys for pattern in _PATTERNS):
            # IAM would take it for a pattern, and answer about other objects.
            return False
        asked = self._ask(role, _READ, [_arn(role, f"{bucket}/{key}") for key in keys], {})
        return _is_clear(asked, role, _READ, bucket)

    def _ask(self, role: str, action: str, resources: Sequence[str], context: Mapping[str, str]) -> Permission:
        question = hashlib.sha256(json.dumps([role, action, resources, context]).encode()).digest()
        known, until_ms = self._remembered.get(question, (_UNKNOWN, 0))
        now_ms = self._clock()
        if now_ms < until_ms:
            return known
        try:
            answer, for_ms = self._permissions().ask(role, action, resources, context), REMEMBERED_MS
        except PermissionsUnknown:
            answer, for_ms = _UNKNOWN, UNKNOWN_MS
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered.clear()
        self._remembered[question] = (answer, now_ms + for_ms)
        return answer


def _is_clear(found: Permission, role: str, action: str, bucket: str) -> bool:
    """Whether a role is allowed to do something, whatever else is true of a request."""
    if found.is_allowed and not found.missing:
        return True
    logger.warning(
        "a training role may not read what a job names, or it is not clear",
        extra={"role": role, "do": action, "bucket": bucket, "depends_on": sorted(found.missing)},
    )
    return False


def _arn(role: str, resource: str) -> str:
    """The ARN of a bucket or an object, in the partition of a role."""
    return f"arn:{role.split(':')[1]}:s3:::{resource}"
