"""The results of a batch of submissions."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus

from headway.api_documents.batches import BatchResults, Refused, Taken
from headway_service.api.documents.jobs import job_document
from headway_service.api.documents.refusals import error_document
from headway_service.errors import RequestError
from headway_service.jobs.submit_batch import Accepted


def batch_document(results: Iterable[Accepted | RequestError]) -> BatchResults:
    """The result of each request of a batch."""
    return BatchResults(results=tuple(_batch_result(each) for each in results))


def _batch_result(result: Accepted | RequestError) -> Taken | Refused:
    if isinstance(result, RequestError):
        return Refused(status=result.status, error=error_document(result))
    status = HTTPStatus.CREATED if result.new else HTTPStatus.OK
    return Taken(status=status, job=job_document(result.seen))
