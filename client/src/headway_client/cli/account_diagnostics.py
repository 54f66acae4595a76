"""Check the AWS account of a queue with the options of the command line (`headway doctor --account`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from headway_client.account.examine import Given, Subject, examine, invoke_all
from headway_client.account.finding import Finding as AccountFinding
from headway_client.account.parameters import read_declared
from headway_client.account.read import Clients
from headway_client.account.samconfig import Target, read_overrides, read_target
from headway_client.account.session import clients_of, configured_connection, make_clients
from headway_client.cli.command import CommonOptions
from headway_client.cli.diagnostics import Finding
from headway_client.cli.exit_codes import EXIT_OK, EXIT_REFUSED
from headway_client.config.profile import Connection

DEFAULT_STACK, DEFAULT_ENV = "headway", "dev"
_TEMPLATE = "template.yaml"


@dataclass(frozen=True, kw_only=True)
class AccountOptions:
    """What is examined; see the options of `headway doctor`."""

    stack: str | None
    samconfig: Path | None
    env: str | None
    template: Path | None
    invoke: bool


def examine_account(common: CommonOptions, options: AccountOptions) -> Iterator[Finding]:
    """Check the account of a queue.

    Args:
        common: the connection and the credentials.
        options: what is examined.

    Yields:
        The findings in order.

    Raises:
        ClientError: the options, the files or the credentials can't be used.
    """
    connection = configured_connection(
        endpoint=common.endpoint, profile=common.profile, region=common.region, aws_profile=common.aws_profile
    )
    target, given = _deployment(options)
    subject = Subject(stack=target.stack, given=given, connection=connection)
    clients = _clients(common, target, None if given else connection)
    found = examine(clients, subject)
    return map(_as_finding, chain(found, invoke_all(clients, subject)) if options.invoke else found)


def _deployment(options: AccountOptions) -> tuple[Target, Given | None]:
    if options.samconfig is None:
        return Target(stack=options.stack or DEFAULT_STACK), None
    env = options.env or DEFAULT_ENV
    target = read_target(options.samconfig, env)
    template = options.template or options.samconfig.parent / _TEMPLATE
    given = Given(overrides=read_overrides(options.samconfig, env), declared=read_declared(template))
    stack = options.stack or target.stack
    return Target(stack=stack, region=target.region, profile=target.profile), given


def _clients(common: CommonOptions, target: Target, connection: Connection | None) -> Clients:
    """Return the clients of the queue's account, or of that which sam would deploy to."""
    if connection is not None:
        return clients_of(connection)
    return make_clients(region=common.region or target.region, profile=common.aws_profile or target.profile)


def _as_finding(found: AccountFinding) -> Finding:
    exit_code = EXIT_REFUSED if found.result == "problem" else EXIT_OK
    return Finding(
        check=found.check, result=found.result, message=found.message, remedy=found.remedy, exit_code=exit_code
    )
