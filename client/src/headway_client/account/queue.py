"""What the queue itself says: its configuration and its version, if the configured endpoint is the stack's API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from headway_client.account.finding import Finding
from headway_client.account.seen import Stack
from headway_client.config.profile import Connection
from headway_client.errors import ClientError
from headway_client.http.api import HeadwayApi
from headway_client.http.transport import Limits

_TRIES = 2


def open_queue(stack: Stack, connection: Connection | None) -> HeadwayApi | str:
    """Return the API of a stack, or why it can't be called.

    Args:
        connection: to some queue; None if no endpoint is configured.
    """
    if connection is None:
        return "no endpoint is configured"
    api_id = stack.outputs.get("ApiId", "")
    parts = urlsplit(connection.endpoint)
    # {api}.execute-api.…, {api}-{endpoint}.execute-api.… (API Gateway developer guide, "Invoke a private API"), or a
    # sandbox's path.
    label = (parts.hostname or "").partition(".")[0].partition("-vpce-")[0]
    named = {connection.api_id, label, *parts.path.split("/")}
    if not api_id or api_id not in named:
        return f"the endpoint {connection.endpoint} is not the API of this stack"
    try:
        return HeadwayApi.connect(connection, limits=replace(Limits(), tries=_TRIES))
    except ClientError as error:
        return error.full_message()


def read_settings(api: HeadwayApi | str) -> Mapping[str, Any] | str:
    """Return the configuration document in force, or why it is not known.

    Args:
        api: of the queue, or why it can't be called.
    """
    if isinstance(api, str):
        return api
    try:
        return api.get_config().settings
    except ClientError as error:
        return error.full_message()


def check_version(api: HeadwayApi | str) -> Finding:
    """Check whether the API answers.

    Args:
        api: of the queue, or why it can't be called.
    """
    asked = "GET /version through the API"
    if isinstance(api, str):
        remedy = "It is not called. Give --endpoint or a profile to check the way through the API, too."
        return Finding(check="api", result="note", asked=asked, said=api, remedy=remedy)
    try:
        server = api.version()
    except ClientError as error:
        remedy = "`headway doctor` checks each step of the connection."
        return Finding(check="api", result="problem", asked=asked, said=error.full_message(), remedy=remedy)
    return Finding(check="api", result="ok", asked=asked, said=f"headway {server.version}, API {server.api}")
