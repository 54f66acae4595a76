"""Connect to the configured queue with the settings of the program's boto3 session."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, cast

from headway_client.config.profile import Connection, resolve_connection
from headway_client.errors import NotAllowedError
from headway_client.http.api import HeadwayApi

if TYPE_CHECKING:
    from headway_client.config.credentials_source import CredentialsSource

logger = logging.getLogger(__name__)


def configured_connection(
    *,
    endpoint: str | None = None,
    profile: str | None = None,
    region: str | None = None,
    fallback_region: str | None = None,
    folder: Path | None = None,
) -> Connection:
    """Resolve the connection to the queue, and log a note about an implicit choice.

    Args:
        endpoint: the queue's endpoint.
        profile: a profile of the profile file.
        region: the queue's region.
        fallback_region: the region if no other is configured; by default that of boto3's default session if it exists,
            or else of botocore's configuration.
        folder: the folder from which a sandbox is searched upwards; the current folder by default.

    Raises:
        ClientError: of `headway_client.errors`: no endpoint is configured, or the profile is not valid.
    """
    import boto3
    import botocore.session

    if fallback_region is None:
        # A module that boto3 imports may call this, before boto3 has its default session.
        session = getattr(boto3, "DEFAULT_SESSION", None)
        default = botocore.session.Session().get_config_variable("region") if session is None else session.region_name
        fallback_region = default
    connection = resolve_connection(
        endpoint=endpoint, profile=profile, region=region, fallback_region=fallback_region, folder=folder
    )
    if connection.note is not None:
        logger.warning(connection.note)
    return connection


def default_api(*, endpoint: str | None = None, profile: str | None = None, region: str | None = None) -> HeadwayApi:
    """Return the queue that the arguments, the environment or the profile file configure.

    Requests are signed with the profile's credentials, or else with those of boto3's default session if it exists, or
    else with botocore's credential chain.

    Args:
        endpoint: the queue's endpoint.
        profile: a profile of the profile file.
        region: the queue's region.

    Raises:
        ClientError: of `headway_client.errors`: no endpoint is configured, the profile is not valid, or there are no
            credentials.
    """
    import boto3

    connection = configured_connection(endpoint=endpoint, profile=profile, region=region)
    if boto3.DEFAULT_SESSION is None or connection.has_credentials:
        return HeadwayApi.connect(connection)
    credentials = boto3.DEFAULT_SESSION.get_credentials()
    if credentials is None:
        raise NotAllowedError("The boto3 session has no AWS credentials to sign with.", code="NoCredentials")
    return HeadwayApi.connect(connection, credentials=cast("CredentialsSource", credentials))
