"""What came of submitted requests."""

from __future__ import annotations

from dataclasses import dataclass

from headway.api_documents.jobs import Job
from headway_client.errors import ClientError


@dataclass(frozen=True, kw_only=True)
class Submission:
    """The answer to a submitted request.

    Attributes:
        job: the job that the queue now holds under the request's name.
        created: whether this very submission made it, be it by an earlier try whose answer was lost. False where
            the queue held the same request before.
    """

    job: Job
    created: bool


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """What came of one of many requests: a job, or an error.

    Attributes:
        index: the request's place among those handed in, 0 for the first.
        name: the name that the request asks for; empty if it has none.
        submission: the job that the queue now holds, unless it was refused.
        error: why it was not taken, as the exception that submitting it alone would have raised.
    """

    index: int
    name: str
    submission: Submission | None = None
    error: ClientError | None = None
