"""The queue as the boto3 clients of a program call it: each with its own credentials."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from botocore.exceptions import NoCredentialsError

from headway_client.botocore_hooks.job_cache import QueueJobs
from headway_client.config.loopback import is_loopback
from headway_client.config.profile import Connection
from headway_client.http.api import HeadwayApi
from headway_client.ttl_cache import TtlCache

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials

    from headway_client.config.credentials_source import CredentialsSource

MAX_CALLERS = 100
"""Maximum number of different credentials whose jobs are cached; beyond it, the oldest are dropped."""


class QueueAccess:
    """One queue, called by many clients of a program.

    Calls are signed with the credentials of the client that they come from, so that two users in one process stay two
    users. Credentials that the caller chose for the queue take precedence: those of an `HeadwayApi`, and the
    ``aws_profile`` of a profile.

    Args:
        queue: the queue with its credentials, or its connection.
    """

    def __init__(self, queue: HeadwayApi | Connection) -> None:
        if isinstance(queue, Connection) and queue.has_credentials:
            self._aws_endpoint = queue.aws_endpoint
            queue = HeadwayApi.connect(queue)
        else:
            self._aws_endpoint = None
        self._queue = queue
        self._lock = threading.Lock()
        self._jobs: TtlCache[QueueJobs] = TtlCache(max_size=MAX_CALLERS, ttl_s=float("inf"))

    @property
    def endpoint(self) -> str:
        """The queue's URL."""
        return self._queue.endpoint

    def jobs_of(self, client: Any) -> QueueJobs:
        """Return the queue's jobs as a client sees them; clients with the same credentials share them."""
        queue = self._queue
        if isinstance(queue, HeadwayApi):
            return self._cached("", lambda: queue)
        # botocore has no public way. It needs this method itself for clients that share another's credentials (CRT).
        credentials: CredentialsSource = client._get_credentials() or _NO_CREDENTIALS  # noqa: SLF001
        # The cached jobs hold the credentials, so that no other object gets their id.
        return self._cached(str(id(credentials)), lambda: HeadwayApi.connect(queue, credentials=credentials))

    def why_not(self, client: Any) -> str | None:
        """Return why a client's training jobs can't be in this queue, as a sentence; None if they can.

        The queue starts training jobs in one region of AWS, or in one sandbox. A client that calls another one would
        not find them.
        """
        own = f"The queue {self.endpoint} starts training jobs"
        remedy = "Use a client of the same place, or create this one before the queue is attached."
        if client.meta.region_name != self._queue.region:
            return f"{own} in {self._queue.region}, but this client is of {client.meta.region_name}. {remedy}"
        called = str(client.meta.endpoint_url)
        if self._aws_endpoint is not None:
            if _place(called) != _place(self._aws_endpoint):
                return f"{own} at {self._aws_endpoint}, but this client calls {called}. {remedy}"
        elif is_loopback(called) and not is_loopback(self.endpoint):
            return f"{own} on AWS, but this client calls {called}. {remedy}"
        return None

    def unfinished(self) -> list[str]:
        """Return the names of jobs that the clients submitted and that have not ended; each is returned only once."""
        return [name for jobs in self._jobs.values() for name in jobs.unfinished()]

    def _cached(self, key: str, api: Callable[[], HeadwayApi]) -> QueueJobs:
        with self._lock:
            jobs = self._jobs.get(key)
            if jobs is None:
                jobs = QueueJobs(api())
                self._jobs.put(key, jobs)
            return jobs


class _NoCredentials:
    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        raise NoCredentialsError


_NO_CREDENTIALS = _NoCredentials()


def _place(url: str) -> tuple[str, int | None]:
    """Return the host and port of a URL; all names of this machine are one host."""
    parts = urlsplit(url)
    return "loopback" if is_loopback(url) else parts.hostname or "", parts.port
