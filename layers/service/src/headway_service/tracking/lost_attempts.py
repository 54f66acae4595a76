"""Which training jobs are attempts of this queue that it has no live record of, and what may be done about them.

There are some if SageMaker shows a training job long after its launch was given up, and after the table was restored to
an earlier state. A tag alone proves nothing, as any user may set it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from headway_service.ports.table import Table
from headway_service.sagemaker_api.names import attempt_name
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.store.marks import Marks
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_given_up, find_job


class Origin(StrEnum):
    """Where a training job without a live attempt comes from."""

    #: It did not come through this queue.
    OUTSIDE = "outside"
    #: The queue's records show that its launch was given up. It may be stopped.
    GIVEN_UP = "given up"
    #: Its job waits for exactly this attempt.
    AWAITED = "awaited"
    #: It carries this deployment's mark, and nothing else is known. Only an operator has it stopped.
    STRAY = "stray"


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """The queue's knowledge of such a training job.

    Attributes:
        origin: where it comes from.
        job_name: the job that its tags name.
        job: that job, if the queue has it.
    """

    origin: Origin
    job_name: str = ""
    job: JobRecord | None = None


def origin_of(table: Table, marks: Marks, name: str, tags: Mapping[str, str]) -> Lost:
    """Where a training job comes from that has no live attempt.

    Args:
        marks: this deployment's.
        name: of the training job.

    Raises:
        RetryLater: the table is.
    """
    mark, job_name = tags.get(ATTEMPT_TAG, ""), tags.get(JOB_TAG, "")
    if not marks.names_this_queue(mark):
        return Lost(origin=Origin.OUTSIDE, job_name=job_name)
    given_up = find_given_up(table, name)
    if given_up is not None and given_up.mark == mark:
        return Lost(origin=Origin.GIVEN_UP, job_name=job_name)
    job = find_job(table, job_name) if job_name else None
    if job is not None and marks.of(job.job_name, name, job.accepted_time) == mark and _is_awaited(job, name):
        return Lost(origin=Origin.AWAITED, job_name=job_name, job=job)
    return Lost(origin=Origin.STRAY, job_name=job_name, job=job)


def _is_awaited(job: JobRecord, name: str) -> bool:
    return job.is_queued and attempt_name(job.job_name, job.attempt_count + 1) == name
