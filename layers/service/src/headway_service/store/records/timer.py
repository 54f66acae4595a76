"""When a tick has to look at a job because of its times, and until when the job has to have started."""

from __future__ import annotations

from headway.lifecycle import JobState
from headway_service.ports.table import Delete, Key, Put
from headway_service.store.records.job import JobRecord
from headway_service.store.schema_version import stamp

TIMERS = "timers"
"""The partition of the timers, in the order of their times."""


def set_timer(job: JobRecord, now_ms: int) -> list[Put]:
    """The write that lets a tick look at a job when its next time has come; none if there is none.

    Args:
        now_ms: the training time, ms.
    """
    at_ms = _next_ms(job, now_ms)
    return [] if at_ms is None else [put_timer(job.job_name, at_ms)]


def put_timer(job: str, at_ms: int) -> Put:
    """The write that lets a tick look at a job.

    Args:
        at_ms: when, ms.
    """
    key = Key(TIMERS, f"{_text(at_ms)}#{job}")
    return Put(item=stamp({"pk": key.pk, "sk": key.sk}))


def due_before(now_ms: int) -> str:
    """The sort key before which all timers are due."""
    return _text(now_ms + 1)


def job_of(timer: str) -> str:
    """The job of a timer, by its sort key."""
    return timer.partition("#")[2]


def forget_timer(timer: str) -> Delete:
    """The write that removes a timer, by its sort key. Two ticks may both remove it."""
    return Delete(key=Key(TIMERS, timer))


def expires_ms(job: JobRecord) -> int | None:
    """Until when a job has to have started, ms; None if it may wait for ever, or does not wait for its first start."""
    if job.job_state is not JobState.PENDING or job.usage.started_ms is not None:
        return None
    in_queue = not job.is_kept_back and job.max_wait_s is not None
    waits_until_ms = [job.entry_time + (job.max_wait_s or 0) * 1000] if in_queue else []
    return min([*waits_until_ms, *([] if job.start_by_ms is None else [job.start_by_ms])], default=None)


def _next_ms(job: JobRecord, now_ms: int) -> int | None:
    times = [expires_ms(job), job.begin_ms]
    if job.is_kept_back and job.max_wait_s is not None:
        # It enters the queue after now, so that it has not waited there for too long when this has come.
        times.append(now_ms + job.max_wait_s * 1000)
    return min((each for each in times if each is not None), default=None)


def _text(time_ms: int) -> str:
    return f"{time_ms:013d}"
