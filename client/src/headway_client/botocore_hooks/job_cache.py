"""The queue's jobs by name, asked for no more often than it takes."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headway_client.errors import (
    BusyError,
    ClientError,
    JobNotFoundError,
    NotReachableError,
    ServerFaultError,
)
from headway_client.job_states import ENDED_STATES
from headway_client.models import Job, JobDetails, Submission
from headway_client.ttl_cache import TtlCache

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi

logger = logging.getLogger(__name__)

FOREIGN_S = 600.0
"""For so long a name that is SageMaker's and not the queue's is not asked for again."""

MAX_FOREIGN_NAMES = 10_000
"""The most such names that are kept."""

RECENT_S = 5.0
"""Whoever reads logs, many streams one after the other, may see a job as it was so long ago."""

OUTAGE_S = 600.0
"""For so long a job is shown as it was seen last while the queue can't be asked: who waits for days goes on waiting."""

MAX_KEPT_JOBS = 100
"""The most jobs that are kept for either."""

MAX_SUBMITTED_NAMES = 10_000
"""Of so many submitted jobs one is reminded when the process is interrupted; of the oldest no more."""

MAX_LISTED_JOBS = 1000
"""The most jobs that the queue is asked for to answer one listing: ten pages."""

LISTED_S = 60.0
"""Whoever turns pages of one listing may see the jobs as they were so long ago."""

# TrainingJobName's pattern in the service model, botocore's sagemaker/2017-07-24. Any other name is no job's.
_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")


class QueueJobs:
    """The jobs of one queue, for handlers that have to tell them from SageMaker's own training jobs.

    Args:
        api: the queue.
        monotonic_s: a clock for how long names and jobs are kept.
    """

    def __init__(self, api: HeadwayApi, *, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._foreign: TtlCache[str] = TtlCache(max_size=MAX_FOREIGN_NAMES, ttl_s=FOREIGN_S, monotonic_s=monotonic_s)
        self._recent: TtlCache[JobDetails] = TtlCache(max_size=MAX_KEPT_JOBS, ttl_s=RECENT_S, monotonic_s=monotonic_s)
        self._last: TtlCache[JobDetails] = TtlCache(max_size=MAX_KEPT_JOBS, ttl_s=OUTAGE_S, monotonic_s=monotonic_s)
        self._listings: TtlCache[list[Job]] = TtlCache(max_size=1, ttl_s=LISTED_S, monotonic_s=monotonic_s)
        #: Submitted here, and not known to have ended. A dict, for its order.
        self._open: dict[str, None] = {}

    def submit(self, request: Mapping[str, Any]) -> Submission:
        """Hand in a request; raises what `HeadwayApi.submit` does."""
        submission = self._api.submit(request)
        name = submission.job.name
        self._changed(name)
        self._foreign.discard(name)
        self._open[name] = None
        if len(self._open) > MAX_SUBMITTED_NAMES:
            self._open.pop(next(iter(self._open)), None)
        return submission

    def find(self, name: str, *, recent: bool = False) -> JobDetails | None:
        """Return the job of that name, or None if the queue holds none.

        Args:
            name: the job's name, or any other text.
            recent: as it was up to `RECENT_S` ago will do.

        Raises:
            ClientError: of `headway_client.errors`: the queue can't be asked, and this job was not seen lately.
        """
        if not _NAME.fullmatch(name) or self._foreign.get(name):
            return None
        known = self._recent.get(name) if recent else None
        if known is not None:
            return known
        try:
            details = self._api.get_job(name)
        except JobNotFoundError:
            # Logs may be looked for before anything else is known of a name.
            if not recent:
                self._foreign.put(name, name)
            return None
        except (BusyError, NotReachableError, ServerFaultError) as error:
            last = self._last.get(name)
            if last is None:
                raise
            logger.warning("%s is shown as it was seen last: %s", name, error)
            return last
        self._see(details.job)
        for kept in (self._recent, self._last):
            kept.put(name, details)
        return details

    def stop(self, name: str) -> Job | None:
        """Stop the job of that name, or return None if the queue holds none; raises what `HeadwayApi.stop_job` does."""
        if not _NAME.fullmatch(name) or self._foreign.get(name):
            return None
        try:
            job = self._api.stop_job(name)
        except JobNotFoundError:
            return None
        self._changed(name)
        self._open.pop(name, None)
        return job

    def forget_foreign(self, name: str) -> None:
        """Take in that SageMaker knows no such name either: it may become a job's at any time."""
        self._foreign.discard(name)

    def list_recent(self, *, recent: bool = False) -> list[Job]:
        """Return the jobs, those that have not ended first; at most `MAX_LISTED_JOBS`.

        Args:
            recent: as they were up to `LISTED_S` ago will do.
        """
        known = self._listings.get("") if recent else None
        if known is not None:
            return known
        jobs = list(self._api.list_jobs(limit=MAX_LISTED_JOBS))
        if len(jobs) < MAX_LISTED_JOBS:
            jobs += self._api.list_jobs(states=ENDED_STATES, limit=MAX_LISTED_JOBS - len(jobs))
        # A job that ended in between is in both.
        jobs = list({job.name: job for job in jobs}.values())
        self._listings.put("", jobs)
        return jobs

    def unfinished(self) -> list[str]:
        """Return the names of the jobs submitted here that still wait or run, and forget about them."""
        names, self._open = list(self._open), {}
        if not names:
            return []
        # If the queue can't be asked now, it most likely still holds them.
        with suppress(ClientError):
            live = {job.name for job in self._api.list_jobs(limit=MAX_LISTED_JOBS) if job.state != "stopping"}
            names = [name for name in names if name in live]
        return names

    def _changed(self, name: str) -> None:
        for kept in (self._recent, self._last):
            kept.discard(name)

    def _see(self, job: Job) -> None:
        if job.has_ended or job.state == "stopping":
            self._open.pop(job.name, None)
