"""The queue's jobs by name, cached to limit the number of requests."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headway.sweeps import parse_member
from headway_client.botocore_hooks import describe_response
from headway_client.errors import ClientError, ConflictError, JobNotFoundError
from headway_client.http.outage import NO_RESPONSE
from headway_client.job_states import ENDED_STATES
from headway_client.models import Job, JobDetails, Submission
from headway_client.ttl_cache import TtlCache

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi

logger = logging.getLogger(__name__)

FOREIGN_S = 600.0
"""How long the name of a training job that is not in the queue is cached."""

FOREIGN_AGE_S = 60.0
"""How old a training job that is not in the queue has to be for that, s: clocks differ."""

MAX_FOREIGN_NAMES = 10_000
"""Maximum number of such names in the cache."""

RECENT_S = 5.0
"""Maximum age of a cached job for reading logs, which takes a call for each stream."""

OUTAGE_S = 600.0
"""Maximum age of a cached job while the queue does not respond, so that waiting for days survives an outage."""

MAX_KEPT_JOBS = 100
"""Maximum number of jobs in each of the two caches."""

MAX_SUBMITTED_NAMES = 10_000
"""Maximum number of submitted jobs that count as unfinished; beyond it, the oldest is dropped."""

MAX_LISTED_JOBS = 1000
"""Maximum number of jobs that are requested for one ListTrainingJobs: ten pages."""

LISTED_S = 60.0
"""Maximum age of cached jobs for the further pages of a ListTrainingJobs."""

# TrainingJobName's pattern in the service model, botocore's sagemaker/2017-07-24.
_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")


class JobEndedError(ConflictError):
    """A job has ended; the message is SageMaker's, which callers may compare.

    Args:
        status: its TrainingJobStatus.
    """

    default_code = "JobEnded"

    def __init__(self, status: str) -> None:
        super().__init__(f"The request was rejected because the training job is in status {status}.", status=400)


class QueueJobs:
    """The jobs of one queue, for handlers that have to distinguish them from other training jobs.

    Args:
        api: the queue.
        monotonic_s: the clock of the caches.
    """

    def __init__(self, api: HeadwayApi, *, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._foreign: TtlCache[str] = TtlCache(max_size=MAX_FOREIGN_NAMES, ttl_s=FOREIGN_S, monotonic_s=monotonic_s)
        self._recent: TtlCache[JobDetails] = TtlCache(max_size=MAX_KEPT_JOBS, ttl_s=RECENT_S, monotonic_s=monotonic_s)
        self._last: TtlCache[JobDetails] = TtlCache(max_size=MAX_KEPT_JOBS, ttl_s=OUTAGE_S, monotonic_s=monotonic_s)
        self._listings: TtlCache[list[Job]] = TtlCache(max_size=1, ttl_s=LISTED_S, monotonic_s=monotonic_s)
        #: Submitted by this process, and not known to have ended. A dict, for its order.
        self._open: dict[str, None] = {}

    def now_s(self) -> float:
        """Return the queue's time, s since 1970."""
        return self._api.now_s()

    def submit(self, request: Mapping[str, Any]) -> Submission:
        """Submit a request; raises the errors of `HeadwayApi.submit`."""
        submission = self._api.submit(request)
        name = submission.job.name
        self._invalidate(name)
        self._foreign.discard(name)
        self._open[name] = None
        if len(self._open) > MAX_SUBMITTED_NAMES:
            self._open.pop(next(iter(self._open)), None)
        return submission

    def find(self, name: str, *, recent: bool = False, changes: bool = False) -> JobDetails | None:
        """Return the job of that name, or None if the queue has no such job.

        Args:
            name: the job's name, or any other text.
            recent: accept a cached job of up to `RECENT_S`.
            changes: do not accept the last known state while the queue does not respond: its attempt, which is to be
                changed, may have ended.

        Raises:
            ClientError: of `headway_client.errors`: the queue does not respond, and the job is not in the cache.
        """
        if not _may_be_job(name) or self._foreign.get(name):
            return None
        known = self._recent.get(name) if recent else None
        if known is not None:
            return known
        try:
            details = self._api.get_job(name)
        except JobNotFoundError:
            return None
        except NO_RESPONSE as error:
            last = None if changes else self._last.get(name)
            if last is None:
                raise
            logger.warning("Using the last known state of %s: %s", name, error)
            return last
        if details.job.has_ended:
            self._open.pop(name, None)
        for kept in (self._recent, self._last):
            kept.put(name, details)
        return details

    def stop(self, name: str) -> Job | None:
        """Stop a job, or return None if the queue has no such job.

        Raises:
            JobEndedError: it has ended. The queue accepts a second stop, for clients that repeat a call; SageMaker
                does not.
            ClientError: see `HeadwayApi.get_job` and `HeadwayApi.stop_job`.
        """
        if not _may_be_job(name):
            return None
        try:
            found = self._api.get_job(name).job
            if found.has_ended:
                raise JobEndedError(describe_response.status(found))
            job = self._api.stop_job(name)
        except JobNotFoundError:
            return None
        self._invalidate(name)
        self._open.pop(name, None)
        return job

    def change_tags(self, name: str, added: Mapping[str, str], removed: Sequence[str]) -> list[dict[str, str]]:
        """Change tags of a waiting job, and return all of its tags; raises the errors of `HeadwayApi.change_job`.

        Args:
            name: the job's name.
            added: tags to add, or to give another value.
            removed: keys of tags to remove.
        """
        self._api.change_job(name, tags=added, removed_tags=removed)
        self._invalidate(name)
        details = self.find(name)
        return [] if details is None else [dict(tag) for tag in details.request.get("Tags", [])]

    def is_foreign(self, name: str) -> bool:
        """Return whether the cache has the name as one that is not in the queue."""
        return self._foreign.get(name) is not None

    def keep_foreign(self, name: str, *, created_s: float, asked_s: float) -> None:
        """Cache the name of a training job that the queue did not have, if the training job is older than the question.

        Otherwise it may be the first attempt of a job that was submitted after the question.

        Args:
            created_s: when SageMaker created the training job, s since 1970.
            asked_s: when the queue was asked for the job, by the queue's clock, s since 1970.
        """
        if created_s + FOREIGN_AGE_S < asked_s:
            self._foreign.put(name, name)

    def list_recent(self, *, recent: bool = False) -> list[Job]:
        """Return at most `MAX_LISTED_JOBS` jobs, those that have not ended first.

        Args:
            recent: accept cached jobs of up to `LISTED_S`.
        """
        known = self._listings.get("") if recent else None
        if known is not None:
            return known
        jobs = list(self._api.list_jobs(limit=MAX_LISTED_JOBS))
        if len(jobs) < MAX_LISTED_JOBS:
            jobs += self._api.list_jobs(states=ENDED_STATES, limit=MAX_LISTED_JOBS - len(jobs))
        # A job that ended between the two calls is in both.
        jobs = list({job.name: job for job in jobs}.values())
        self._listings.put("", jobs)
        return jobs

    def unfinished(self) -> list[str]:
        """Return the names of jobs that this process submitted and that have not ended; each is returned only once."""
        names, self._open = list(self._open), {}
        if not names:
            return []
        # If the queue does not respond, or has more than are listed, assume that they have not ended.
        with suppress(ClientError):
            live = {job.name for job in self._api.list_jobs(mine=True, limit=MAX_LISTED_JOBS)}
            if len(live) < MAX_LISTED_JOBS:
                names = [name for name in names if name in live]
        return names

    def _invalidate(self, name: str) -> None:
        for kept in (self._recent, self._last):
            kept.discard(name)


def _may_be_job(name: str) -> bool:
    """Whether the queue may have a job of that name: one that SageMaker allows, or that of a member of an array."""
    return _NAME.fullmatch(name) is not None or parse_member(name) is not None
