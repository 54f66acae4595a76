"""A session of the SageMaker Python SDK 2 that submits to the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sagemaker.session import Session

from headway_client.botocore_hooks.attach import attach_client, attach_session
from headway_client.botocore_hooks.interrupt import print_unfinished_on_interrupt
from headway_client.botocore_hooks.progress import Progress
from headway_client.botocore_hooks.queue_access import QueueAccess
from headway_client.errors import UsageError
from headway_client.http.connect import configured_connection
from headway_client.text import to_stderr

if TYPE_CHECKING:
    import boto3

    from headway_client.http.api import HeadwayApi


class QueueTrainingJobSession(Session):  # type: ignore[misc]  # the SDK has no types
    """A SageMaker session that submits training jobs to the queue.

    An estimator with this session uploads its sources to S3 as usual, and ``fit`` submits its request to the queue::

        PyTorch(..., sagemaker_session=QueueTrainingJobSession(priority=5)).fit(inputs)

    ``fit`` prints to standard error what became of the submission: the job's place in the queue, and what it runs
    without. While it waits, changes of the place are printed, then the logs of the job's attempts in order. Ctrl-C only
    ends the waiting: the job stays in the queue.

    A job's priority is that of its tag ``priority`` (``tags=[{"Key": "priority", "Value": "5"}]``), or else the
    session's. If the queue refuses a request, ``fit`` raises the botocore ``ClientError`` that SageMaker would raise:
    code ``ValidationException`` with all fields to change in the message, ``ResourceInUse`` for a name in use, or
    ``AccessDeniedException``. If the queue is not reachable, busy or faulty, it raises
    `headway_client.errors.NotReachableError`, `BusyError` or `ServerFaultError`.
    """

    def __init__(
        self,
        boto_session: boto3.Session | None = None,
        *,
        api: HeadwayApi | None = None,
        endpoint: str | None = None,
        profile: str | None = None,
        region: str | None = None,
        priority: int | None = None,
        **options: Any,
    ) -> None:
        """Create a session.

        Args:
            boto_session: as for ``sagemaker.session.Session``.
            api: the queue, for which it signs; by default the one that the next three, the environment or the profile
                file configure, signed with the credentials of the session's client of SageMaker, unless the profile
                names an AWS profile.
            endpoint: the queue's endpoint.
            profile: a profile of the profile file.
            region: the queue's region.
            priority: 0 to 9999, for jobs without a priority tag.
            **options: as for ``sagemaker.session.Session``. The queue is attached to a ``sagemaker_client`` given here,
                also for its other users.

        Raises:
            ClientError: of `headway_client.errors`: no queue is configured, the profile is not valid, or the session is
                of another region or endpoint than the queue's.
        """
        super().__init__(boto_session, **options)
        fallback_region = self.boto_session.region_name
        connection = api or configured_connection(
            endpoint=endpoint, profile=profile, region=region, fallback_region=fallback_region
        )
        self._queue = QueueAccess(connection)
        elsewhere = self._queue.why_not(self.sagemaker_client)
        if elsewhere is not None:
            raise UsageError(elsewhere)
        # The SDK prints what changes while it waits, from the job's descriptions.
        progress = Progress(to_stderr, changes=False)
        attach_client(self.sagemaker_client, self._queue, progress, priority=priority)

    def wait_for_job(self, job: str, poll: int = 5) -> Any:
        """Wait for a training job; on Ctrl-C print how to stop the unfinished jobs.

        Args:
            job: the job's name.
            poll: the polling interval in seconds.
        """
        with print_unfinished_on_interrupt(self._queue):
            return super().wait_for_job(job, poll=poll)

    def logs_for_job(self, job_name: str, *args: Any, **options: Any) -> Any:
        """Print the logs of all attempts of a job; on Ctrl-C print how to stop the unfinished jobs.

        Args:
            job_name: the job's name.
            *args: as for ``sagemaker.session.Session``.
            **options: as for ``sagemaker.session.Session``.
        """
        # The SDK creates its client of logs from the boto3 session, which other sessions may share.
        attach_session(self.boto_session, self._queue, Progress(None), services=["logs"])
        with print_unfinished_on_interrupt(self._queue):
            return super().logs_for_job(job_name, *args, **options)
