"""The part of an attempt's name by which its job is known.

Attempts are named ``<job>-<digest of the job's name>-<number>``, but for the first one, which has the job's name. A
long name loses its beginning, so the digest alone says which job it is.
"""

from __future__ import annotations

import hashlib
import re

_CHARS = 8
_SUFFIX = re.compile(rf"-([0-9a-f]{{{_CHARS}}})-[1-9][0-9]*\Z")


def digest_of(job: str) -> str:
    """Return the digest of a job's name."""
    return hashlib.sha256(job.encode()).hexdigest()[:_CHARS]


def digest_in(attempt: str) -> str | None:
    """Return the digest in the name of an attempt; None for a name without one, such as that of a first attempt."""
    found = _SUFFIX.search(attempt)
    return None if found is None else found[1]
