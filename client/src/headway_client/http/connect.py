"""Connect to the configured queue with the credentials of the program's boto3 session."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

from headway_client.config.profile import resolve_connection
from headway_client.errors import NotAllowedError
from headway_client.http.api import HeadwayApi

if TYPE_CHECKING:
    import boto3

    from headway_client.http.transport import CredentialsSource

logger = logging.getLogger(__name__)


def default_api(
    session: boto3.Session | None = None,
    *,
    endpoint: str | None = None,
    profile: str | None = None,
    region: str | None = None,
) -> HeadwayApi:
    """Return the queue that the arguments, the environment or the profile file configure.

    Args:
        session: signs the requests, unless the profile names other credentials; by default boto3's default session if
            it exists, or else botocore's credential chain.
        endpoint: the queue's endpoint.
        profile: a profile of the profile file.
        region: the queue's region.

    Raises:
        ClientError: of `headway_client.errors`: no endpoint is configured, the profile is not valid, or there are no
            credentials.
    """
    import boto3
    import botocore.session

    session = session or boto3.DEFAULT_SESSION
    own_region = session.region_name if session else botocore.session.Session().get_config_variable("region")
    connection = resolve_connection(endpoint=endpoint, profile=profile, region=region, fallback_region=own_region)
    if connection.note is not None:
        logger.warning(connection.note)
    if session is None or connection.keys is not None or connection.aws_profile is not None:
        return HeadwayApi.connect(connection)
    credentials = session.get_credentials()
    if credentials is None:
        raise NotAllowedError("The boto3 session has no AWS credentials to sign with.", code="NoCredentials")
    return HeadwayApi(
        connection.endpoint,
        region=connection.region,
        credentials=cast("CredentialsSource", credentials),
        api_id=connection.api_id,
    )
