"""Fills the outputs of jobs that have completed into the requests of jobs that depend on them."""

from __future__ import annotations

import json
from typing import Any

from headway.errors import HeadwayError
from headway_service.ports.table import MAX_ITEM_BYTES, Table
from headway_service.sagemaker_api import outputs
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_request

_BESIDE_BYTES = 8 * 1024
"""What an item has beside the request."""


class OutputsUnusable(HeadwayError):
    """The outputs of a job cannot be filled into a request; the message is a clause that says why."""


def fill_in_outputs(table: Table, request: str, job: JobRecord, *, beside_bytes: int) -> str:
    """A request with the outputs of a job in place of its templates.

    Of a job that has not ended, they are those that it has if its first attempt completes.

    Args:
        request: the CreateTrainingJob request, as JSON.
        beside_bytes: the size of the alternatives that are stored with the request.

    Returns:
        The request as JSON; as it was if it has no template of this job.

    Raises:
        OutputsUnusable: the request would be longer than SageMaker or the table takes, or it is not known where the
            outputs are.
    """
    if not outputs.has_templates(request):
        return request
    before: dict[str, Any] = json.loads(request)
    if not outputs.has_template_of(before, job.job_name):
        return request
    if job.array is not None:
        raise OutputsUnusable(f"`{job.job_name}` is an array: name one of its members, such as `{job.job_name}_0`")
    own = find_request(table, job.job_name, job.accepted_time)
    if own is None:
        raise OutputsUnusable("the queue no longer has its request")
    try:
        after = outputs.fill_in(before, job.job_name, outputs.outputs_of(own, job.output_attempt))
    except KeyError:
        raise OutputsUnusable("its model is no archive (CompressionType NONE); use its output") from None
    if field := outputs.too_long(after):
        raise OutputsUnusable(f"{field} would have more than {outputs.MAX_URI_CHARS} characters")
    filled = json.dumps(after, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if len(filled.encode()) > MAX_ITEM_BYTES - _BESIDE_BYTES - beside_bytes:
        raise OutputsUnusable("the request would be too large for the table")
    return filled
