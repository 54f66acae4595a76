"""What of a submission is kept: texts that are stored as they are, and the digest by which it is known again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from headway_service.admission.arrays import AdmittedArray
from headway_service.admission.review import MAX_REPORTED_FIELDS
from headway_service.admission.submission import Submission, as_alternatives
from headway_service.errors import InvalidRequest, RequestTooLarge
from headway_service.sagemaker_api import characters

MAX_REQUEST_BYTES = 400_000
"""The largest request, as canonical JSON: what fits into one DynamoDB item (400 KiB) beside its keys."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What of a submission is kept.

    Attributes:
        request: the request as canonical JSON, as it is launched.
        alternatives: the members that each of its alternatives replaces, as canonical JSON; empty for none.
        digest: that of ``request``, and of what comes with it.
    """

    request: str
    alternatives: str
    digest: str


def keep(submission: Submission, array: AdmittedArray | None) -> Kept:
    """What is kept of a submission.

    Args:
        submission: the submission, whose request is a JSON object.
        array: what it is an array of; None for one job.

    Raises:
        InvalidRequest: it has text that cannot be encoded, so neither stored nor sent to AWS.
        RequestTooLarge: it is larger than :data:`MAX_REQUEST_BYTES`.
    """
    expanded = as_alternatives(submission)
    request = _canonical(expanded.request)
    alternatives = "" if expanded.alternatives is None else _canonical(expanded.alternatives)
    try:
        texts = (request, alternatives, "" if array is None else array.sweep)
        size_bytes = sum(len(each.encode()) for each in texts)
    except UnicodeEncodeError:
        raise _without_encoding(submission) from None
    if size_bytes > MAX_REQUEST_BYTES:
        raise RequestTooLarge(
            f"the request has {size_bytes} bytes, the queue takes {MAX_REQUEST_BYTES}: "
            "move large hyperparameters or environment values to S3 and pass their location"
        )
    digest = _digest(request, alternatives, submission, array)
    return Kept(request=request, alternatives=alternatives, digest=digest)


def _without_encoding(submission: Submission) -> InvalidRequest:
    alternatives = {"alternatives": submission.alternatives}
    found = chain(characters.errors(submission.request), characters.errors(alternatives))
    fields = [*islice(found, MAX_REPORTED_FIELDS)]
    return InvalidRequest(f"{fields[0].field} {fields[0].message}", fields)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _digest(request: str, alternatives: str, submission: Submission, array: AdmittedArray | None) -> str:
    """The digest of a submission; of one with nothing beside its request that of the request."""
    whole = request
    if alternatives:
        whole += _canonical([alternatives, submission.wait_at_most_s, submission.portable_checkpoint])
    if submission.depends_on is not None:
        whole += _canonical(["dependsOn", submission.depends_on])
    if array is not None:
        whole += _canonical(["sweep", array.sweep, array.at_once, array.max_failures])
        if array.early_stopping is not None:
            whole += _canonical(["earlyStopping", array.early_stopping.document()])
    if submission.reuse:
        whole += _canonical(["reuse", submission.reuse_unpinned])
    return hashlib.sha256(whole.encode()).hexdigest()
