"""Requests that are submitted together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from headway.api_documents.codec import ApiDocument, Member
from headway.api_documents.jobs import Job
from headway.api_documents.refusals import Error


@dataclass(frozen=True, kw_only=True)
class Taken(ApiDocument):
    """A request of a batch that is in the queue."""

    status: Annotated[int, Member("As the submission alone would be answered: 201 or 200.")]
    job: Job


@dataclass(frozen=True, kw_only=True)
class Refused(ApiDocument):
    """A request of a batch that was refused."""

    status: Annotated[int, Member("As the submission alone would be answered.")]
    error: Error


@dataclass(frozen=True, kw_only=True)
class BatchResults(ApiDocument):
    """The result of each request, in their order."""

    results: tuple[Taken | Refused, ...]
