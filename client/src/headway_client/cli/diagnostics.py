"""Check each step of the connection from a user to the queue, with a remedy for each problem."""

from __future__ import annotations

import ipaddress
import os
import platform
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import certifi
from botocore.exceptions import BotoCoreError
from botocore.exceptions import ClientError as AwsError
from requests.utils import get_environ_proxies, select_proxy

from headway_client.cli.exit_codes import EXIT_NOT_REACHABLE, EXIT_OK, exit_code_of
from headway_client.config.loopback import is_loopback
from headway_client.errors import ClientError
from headway_client.http import transport
from headway_client.http.api import HeadwayApi
from headway_client.job_states import JOB_STATES
from headway_client.version import __version__

if TYPE_CHECKING:
    from headway_client.config.credentials_source import CredentialsSource
    from headway_client.config.profile import Connection

CONNECT_TIMEOUT_S = 5.0

MAX_CLOCK_SKEW_S = 300.0
"""AWS refuses signatures that deviate by more than five minutes (source: IAM guide, "Troubleshoot signed requests")."""

_NOTED_CLOCK_SKEW_S = 60.0

_TRIES = 2

_PRIVATE_API = (
    "A private API can be called only from inside a VPC with an interface endpoint for execute-api: connect by the "
    "VPC's VPN, or work on a machine inside it."
)

Result = Literal["ok", "note", "problem"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one check.

    Attributes:
        check: the name of the check.
        result: ``ok``, ``note`` if it may be intended, or ``problem``.
        message: the finding.
        remedy: how to resolve it, or None.
        exit_code: the exit code with which other commands fail because of the problem.
    """

    check: str
    result: Result
    message: str
    remedy: str | None = None
    exit_code: int = EXIT_OK


def examine(resolve: Callable[[], Connection]) -> Iterator[Finding]:
    """Check each step of the connection to the queue.

    Args:
        resolve: resolves the connection.

    Yields:
        The findings in order.
    """
    yield Finding(check="client", result="ok", message=f"headway {__version__}, Python {platform.python_version()}")
    try:
        connection = resolve()
    except ClientError as error:
        yield _failed("endpoint", error)
        return
    where = f"{connection.endpoint} (from {connection.source}), region {connection.region}"
    yield Finding(check="endpoint", result="ok", message=where)
    network = list(_network(connection.endpoint))
    yield from network
    credentials, found = _credentials(connection)
    yield found
    if credentials is not None and not any(finding.result == "problem" for finding in network):
        yield from _queue(connection, credentials)


def _failed(check: str, error: ClientError) -> Finding:
    # The messages of errors contain the remedy.
    return Finding(check=check, result="problem", message=error.full_message(), exit_code=exit_code_of(error))


def _network(endpoint: str) -> Iterator[Finding]:
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    proxy = select_proxy(endpoint, get_environ_proxies(endpoint))
    if proxy:
        shown = urlsplit(proxy)
        yield Finding(
            check="route",
            result="note",
            message=f"goes through the proxy {shown.hostname}:{shown.port} (HTTPS_PROXY)",
            remedy=f"If the API is private, the proxy probably can't reach it: add {host} to NO_PROXY.",
        )
        return
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        yield _broken("name", f"{host} can't be resolved ({error})", f"Check the endpoint. {_PRIVATE_API}")
        return
    addresses = sorted({str(entry[4][0]) for entry in found})
    yield _addresses(host, addresses)
    try:
        with socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S) as connected:
            yield Finding(check="route", result="ok", message=f"{host}:{port} accepts connections")
            if parts.scheme == "https":
                yield _tls(connected, host)
    except OSError as error:
        yield _broken(
            "route",
            f"{host}:{port} accepts no connection ({error})",
            (
                "Start it: `headway sandbox up`."
                if is_loopback(endpoint)
                else f"The VPC endpoint's security group has to allow port {port} from here. {_PRIVATE_API}"
            ),
        )


def _addresses(host: str, addresses: list[str]) -> Finding:
    shown = host if addresses == [host] else f"{host} is {', '.join(addresses)}"
    parsed = [ipaddress.ip_address(address.partition("%")[0]) for address in addresses]
    if all(address.is_loopback for address in parsed):
        return Finding(check="name", result="ok", message=f"{shown}: this machine")
    if all(address.is_private for address in parsed):
        return Finding(check="name", result="ok", message=f"{shown}: private, through a VPC or VPN")
    return Finding(
        check="name",
        result="note",
        message=f"{shown}: public, where a private API does not respond",
        remedy=f"If calls are refused: {_PRIVATE_API} Enable the endpoint's private DNS, or use its own name.",
    )


def _tls(connected: socket.socket, host: str) -> Finding:
    trusted = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or certifi.where()
    try:
        context = ssl.create_default_context(cafile=trusted)
        with context.wrap_socket(connected, server_hostname=host) as secured:
            return Finding(check="TLS", result="ok", message=f"{secured.version()}, certificate trusted")
    except (ssl.SSLError, OSError) as error:
        return _broken(
            "TLS",
            f"the certificate of {host} is not trusted ({error})",
            "Check the endpoint, and REQUESTS_CA_BUNDLE if a proxy of your network replaces the certificate.",
        )


def _broken(check: str, message: str, remedy: str) -> Finding:
    return Finding(check=check, result="problem", message=message, remedy=remedy, exit_code=EXIT_NOT_REACHABLE)


def _credentials(connection: Connection) -> tuple[CredentialsSource | None, Finding]:
    try:
        credentials = connection.credentials()
        frozen = credentials.get_frozen_credentials()
    except ClientError as error:
        return None, _failed("credentials", error)
    except BotoCoreError as error:
        remedy = "Renew them, for example with `aws sso login`."
        return None, _broken("credentials", f"they can't be used ({error})", remedy)
    source = "the sandbox" if connection.keys is not None else str(getattr(credentials, "method", "unknown"))
    # The expiry of credentials that botocore renews has no public attribute.
    expiry = getattr(credentials, "_expiry_time", None)
    until = f", valid until {expiry:%Y-%m-%d %H:%M:%SZ}" if isinstance(expiry, datetime) else ""
    key = str(frozen.access_key)
    message = f"{key[:4]}…{key[-4:]} from {source}{until}"
    return credentials, Finding(check="credentials", result="ok", message=message)


def _queue(connection: Connection, credentials: CredentialsSource) -> Iterator[Finding]:
    api = HeadwayApi(
        connection.endpoint,
        region=connection.region,
        credentials=credentials,
        api_id=connection.api_id,
        limits=replace(transport.Limits(), tries=_TRIES),
    )
    try:
        pools = api.capacity().pools
        count = "1 pool" if len(pools) == 1 else f"{len(pools)} pools"
        answer = Finding(check="permission", result="ok", message=f"you can read; the queue has {count}")
    except ClientError as error:
        answer = _failed("permission", error)
    # A wrong clock is the cause of a refused signature, so it comes first.
    if api.clock_skew_s is not None:
        yield _clock(api.clock_skew_s)
    yield answer
    if answer.result == "ok":
        yield _identity(api, connection)
        yield _server(api)


def _clock(skew_s: float) -> Finding:
    direction = "behind" if skew_s > 0 else "ahead of"
    message = f"this machine's is {abs(skew_s):.0f} s {direction} the server's"
    remedy = "Set this machine's clock (NTP)."
    if abs(skew_s) >= MAX_CLOCK_SKEW_S:
        return _broken("clock", message, remedy)
    if abs(skew_s) >= _NOTED_CLOCK_SKEW_S:
        return Finding(check="clock", result="note", message=message, remedy=remedy)
    return Finding(check="clock", result="ok", message=message)


def _identity(api: HeadwayApi, connection: Connection) -> Finding:
    with suppress(ClientError):
        own = next(api.list_jobs(states=JOB_STATES, mine=True, limit=1), None)
        if own is not None and own.owner is not None:
            return Finding(check="identity", result="ok", message=f"the queue knows you as {own.owner}")
    try:
        arn = connection.aws_client("sts", tries=1).get_caller_identity()["Arn"]
    except (ClientError, BotoCoreError, AwsError):
        return Finding(check="identity", result="note", message="unknown: you have no jobs, and STS does not respond")
    return Finding(check="identity", result="ok", message=f"AWS knows you as {arn}")


def _server(api: HeadwayApi) -> Finding:
    try:
        server = api.version()
    except ClientError as error:
        return _failed("server", error)
    message = f"headway {server.version}, API {server.api}"
    if server.version == __version__:
        return Finding(check="server", result="ok", message=message)
    return Finding(
        check="server",
        result="note",
        message=f"{message}; this client is {__version__}",
        remedy=f"Calls that one of them does not support fail; install headway=={server.version}, or update the stack.",
    )
