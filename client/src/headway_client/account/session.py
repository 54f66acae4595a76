"""The clients of AWS and the connection to the queue with which an account is examined."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.exceptions import BotoCoreError

from headway_client.account.read import CALLS, INVOCATIONS, Clients
from headway_client.config.profile import Connection, StaticKeys, resolve_connection
from headway_client.errors import NotAllowedError, UsageError

_LAMBDA = "lambda"


def make_clients(
    *,
    region: str | None = None,
    profile: str | None = None,
    keys: StaticKeys | None = None,
    endpoint: str | None = None,
) -> Clients:
    """Return what makes the clients of services, one for each.

    Args:
        region: None for that of the environment or the AWS profile.
        profile: of the AWS command line; None for the default credentials.
        keys: of a sandbox, in place of a profile.
        endpoint: the URL at which a sandbox emulates AWS; None for AWS.

    Raises:
        NotAllowedError: the profile does not exist, or there is no region.
    """
    given: dict[str, Any] = (
        {"aws_access_key_id": keys.access_key_id, "aws_secret_access_key": keys.secret_access_key} if keys else {}
    )
    try:
        session: Any = boto3.Session(region_name=region, profile_name=profile, **given)
    except BotoCoreError as error:
        raise _unusable(error) from error
    made: dict[str, Any] = {}

    def client(service: str) -> Any:
        if service not in made:
            config = INVOCATIONS if service == _LAMBDA else CALLS
            try:
                made[service] = session.client(service, endpoint_url=endpoint, config=config)
            except BotoCoreError as error:
                raise _unusable(error) from error
        return made[service]

    return client


def clients_of(connection: Connection) -> Clients:
    """Return the clients of the account that a queue is in, with the connection's credentials.

    Raises:
        NotAllowedError: the profile does not exist.
    """
    return make_clients(
        region=connection.region,
        profile=connection.aws_profile,
        keys=connection.keys,
        endpoint=connection.aws_endpoint,
    )


def configured_connection(**options: Any) -> Connection | None:
    """Return the connection to the queue; None if no endpoint is configured.

    Args:
        options: those of `headway_client.resolve_connection`.

    Raises:
        ClientError: the configuration of the endpoint is not valid.
    """
    try:
        return resolve_connection(**options)
    except UsageError as error:
        if error.code == "NoEndpoint":
            return None
        raise


def _unusable(error: Exception) -> NotAllowedError:
    return NotAllowedError(f"The account can't be checked: {error}", code="NoCredentials")
