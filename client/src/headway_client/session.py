"""The SageMaker Python SDK, version 2, in front of the queue."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

from sagemaker.session import Session

from headway_client.api import HeadwayApi
from headway_client.errors import NotAllowedError
from headway_client.intercept import attach
from headway_client.profile import resolve_connection

if TYPE_CHECKING:
    import boto3

    from headway_client.transport import CredentialsSource

logger = logging.getLogger(__name__)


class QueueTrainingJobSession(Session):  # type: ignore[misc]  # the SDK has no types
    """A SageMaker session whose training jobs wait in the queue.

    An estimator with this session uploads its sources to S3 as ever, and ``fit(wait=False)`` hands its request to
    the queue::

        PyTorch(..., sagemaker_session=QueueTrainingJobSession(priority=5)).fit(inputs, wait=False)

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
        queue = api or self._connect(endpoint=endpoint, profile=profile, region=region)
        attach(self.sagemaker_client, queue, priority=priority)

    def _connect(self, *, endpoint: str | None, profile: str | None, region: str | None) -> HeadwayApi:
        connection = resolve_connection(
            endpoint=endpoint, profile=profile, region=region, fallback_region=self.boto_region_name
        )
        if connection.note is not None:
            logger.warning(connection.note)
        if connection.keys is not None or connection.aws_profile is not None:
            return HeadwayApi.connect(connection)
        credentials = self.boto_session.get_credentials()
        if credentials is None:
            raise NotAllowedError("The boto3 session has no AWS credentials to sign with.", code="NoCredentials")
        return HeadwayApi(
            connection.endpoint,
            region=connection.region,
            credentials=cast("CredentialsSource", credentials),
            api_id=connection.api_id,
        )
