"""The SageMaker Python SDK, version 2, in front of the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sagemaker.session import Session

from headway_client.botocore_hooks.attach import attach_jobs, attach_logs
from headway_client.botocore_hooks.interrupt import print_unfinished_on_interrupt
from headway_client.botocore_hooks.job_cache import QueueJobs
from headway_client.http.connect import default_api

if TYPE_CHECKING:
    import boto3

    from headway_client.http.api import HeadwayApi


class QueueTrainingJobSession(Session):  # type: ignore[misc]  # the SDK has no types
    """A SageMaker session whose training jobs wait in the queue.

    An estimator with this session uploads its sources to S3 as ever, and ``fit`` hands its request to the queue::

        PyTorch(..., sagemaker_session=QueueTrainingJobSession(priority=5)).fit(inputs)

    While it waits, the place in the queue is printed when it changes, then the logs of the job's training jobs,
    one after the other if it is preempted. Ctrl-C ends the waiting only: the job stays in the queue.

    A job's priority is that of its tag ``priority`` (``tags=[{"Key": "priority", "Value": "5"}]``), or else the
    session's. Where the queue refuses a request, ``fit`` raises botocore's ``ClientError`` as it does where
    SageMaker refuses one: code ``ValidationException`` with all fields to change in the message, ``ResourceInUse``
    for a name that is taken, ``AccessDeniedException``. Where the queue is not reachable, busy or faulty,
    it raises `headway_client.errors.NotReachableError`, `BusyError` or `ServerFaultError`.
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
        """Make a session.

        Args:
            boto_session: as for ``sagemaker.session.Session``; it also signs for the queue, unless the profile
                names other credentials.
            api: the queue; by default the one that the next three, the environment or the profile file lead to.
            endpoint: the queue's endpoint.
            profile: a profile of the profile file.
            region: the queue's region.
            priority: 0 to 9999, for jobs without a priority tag.
            **options: as for ``sagemaker.session.Session``. A ``sagemaker_client`` given here goes to the queue
                wherever else it is used, too.

        Raises:
            ClientError: of `headway_client.errors`: nothing says where the queue is, or the profile is wrong.
        """
        super().__init__(boto_session, **options)
        queue = api or default_api(self.boto_session, endpoint=endpoint, profile=profile, region=region)
        self._jobs = QueueJobs(queue)
        attach_jobs(self.sagemaker_client, self._jobs, priority=priority)

    def wait_for_job(self, job: str, poll: int = 5) -> Any:
        """Wait for a training job; interrupted, it says how to stop the jobs that stay in the queue."""
        with print_unfinished_on_interrupt(self._jobs):
            return super().wait_for_job(job, poll=poll)

    def logs_for_job(self, job_name: str, *args: Any, **options: Any) -> Any:
        """Show a training job's logs, those of all attempts of a job of the queue; the same if interrupted."""
        # The SDK makes its client of logs of the boto3 session, which other sessions may share.
        attach_logs(self.boto_session, self._jobs)
        with print_unfinished_on_interrupt(self._jobs):
            return super().logs_for_job(job_name, *args, **options)
