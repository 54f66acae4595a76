"""Results of submitted requests."""

from __future__ import annotations

from dataclasses import dataclass

from headway.api_documents.jobs import Job
from headway_client.error_base import ClientError


@dataclass(frozen=True, kw_only=True)
class Submission:
    """The result of a submitted request.

    Attributes:
        job: the job in the queue under the request's name.
        created: whether this submission created the job, possibly in an earlier try whose response was lost; False if
            the queue already had the same request.
    """

    job: Job
    created: bool


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """The result of one of many requests: a submission or an error.

    Attributes:
        index: the position of the request, 0 for the first.
        name: the job's name in the request; empty if it has none.
        submission: the submission, if the request was accepted.
        error: otherwise the exception that submitting it alone would have raised.
    """

    index: int
    name: str
    submission: Submission | None = None
    error: ClientError | None = None
