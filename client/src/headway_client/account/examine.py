"""The checks of an account in their order: each reads what it needs, and decides by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from headway_client.account import functions, network, parameters, quotas, read, roles, stack
from headway_client.account.finding import Finding, Unread
from headway_client.account.parameters import Declared, listed
from headway_client.account.queue import check_version, open_queue, read_settings
from headway_client.account.read import Clients
from headway_client.account.seen import NO_STACK, UNKNOWN_STACK, Identity, Stack, Subnet
from headway_client.config.profile import Connection

FUNCTION = "AWS::Lambda::Function"
SCHEDULER_ROLE = "ScheduleFunctionRole"


@dataclass(frozen=True, kw_only=True)
class Given:
    """A deployment that is to be made.

    Attributes:
        overrides: the parameters that sam is given.
        declared: those that the template declares.
        check: checks the values that the stack will have, beside what is checked of each stack.
    """

    overrides: Mapping[str, str]
    declared: Declared
    check: Callable[[Mapping[str, str], Identity], Iterable[Finding]] = lambda _values, _identity: ()


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is examined.

    Attributes:
        stack: the name of the stack.
        given: the deployment that is to be made; None to examine the stack as it is.
        connection: to the queue, for its configuration and version; None without an endpoint.
    """

    stack: str
    given: Given | None = None
    connection: Connection | None = None


def examine(clients: Clients, subject: Subject) -> Iterator[Finding]:
    """Check whether the account can run the queue.

    Args:
        clients: with the operator's credentials.

    Yields:
        The findings in order. After parameters that CloudFormation refuses there are no more.

    Raises:
        NotAllowedError: the credentials can't be used.
    """
    identity = read.read_identity(clients)
    said = f"{identity.arn} in {identity.region}"
    yield Finding(check="account", result="ok", asked=f"account {identity.account}", said=said)
    found = read.read_stack(clients, subject.stack)
    present = UNKNOWN_STACK if isinstance(found, Unread) else found
    yield from _check_stack(subject, found)
    if subject.given is None and (not present.status or present.is_to_be_created):
        return
    # An update keeps the values that it does not give.
    previous = {} if present.is_to_be_created else present.parameters
    wanted = dict(previous)
    if subject.given is not None:
        wanted = parameters.values(subject.given.overrides, previous, subject.given.declared)
        invalid = list(parameters.check_values(subject.given.overrides, wanted, subject.given.declared))
        yield from invalid
        if invalid:
            return
    yield from parameters.check_arns(wanted, identity)
    if subject.given is not None:
        yield from subject.given.check(wanted, identity)
    yield from _check_deployment(clients, wanted, present)
    yield from _check_network(clients, wanted, identity)
    for arn in listed(wanted, "TrainingRoleArns"):
        yield roles.check_training_role(arn, read.read_role(clients, arn.rpartition("/")[2]))
    yield from _check_quotas(clients, subject, wanted, present)
    if not present.is_to_be_created:
        yield from _check_scheduler(clients, subject.stack, wanted, identity)


def _check_stack(subject: Subject, found: Stack | Unread) -> Iterator[Finding]:
    if isinstance(found, Unread):
        yield found.note("stack", f"the stack {subject.stack}")
    elif found.status == NO_STACK.status and subject.given is None:
        said = "it does not exist in this account and region"
        remedy = "Name the stack with --stack, or a deployment that is to be made with --samconfig and --env."
        yield Finding(check="stack", result="problem", asked=f"the stack {subject.stack}", said=said, remedy=remedy)
    else:
        yield from stack.check_stack(subject.stack, found)


def _check_deployment(clients: Clients, wanted: Mapping[str, str], present: Stack) -> Iterator[Finding]:
    has_items = read.read_table_has_items(clients, wanted["TableName"]) if present.is_to_be_created else None
    yield from stack.check_table(wanted, present, has_items=has_items)
    yield from stack.check_concurrency(wanted, present, read.read_unreserved(clients))
    yield from stack.check_api_logs(wanted, logs_apis=read.read_logs_apis(clients))


def _check_network(clients: Clients, wanted: Mapping[str, str], identity: Identity) -> Iterator[Finding]:
    ids = listed(wanted, "FunctionSubnetIds")
    subnets = read.read_subnets(clients, ids) if ids else {}
    known = {} if isinstance(subnets, Unread) else subnets
    named = listed(wanted, "VpcEndpointIds")
    of_api = read.read_endpoints(clients, vpc_endpoint_id=named)
    yield from network.check_api_endpoints(named, of_api, identity, functions=known.values())
    if not ids:
        return
    yield from network.check_subnets(ids, subnets)
    if len({each.vpc for each in known.values()}) == 1:
        yield from _check_ways(clients, wanted, known, identity)


def _check_ways(
    clients: Clients, wanted: Mapping[str, str], subnets: Mapping[str, Subnet], identity: Identity
) -> Iterator[Finding]:
    vpc = next(iter(subnets.values())).vpc
    reads_buckets = listed(wanted, "ReuseBucketArns") or listed(wanted, "CheckpointBucketArns")
    services = (*network.NEEDED, *([network.FOR_BUCKETS] if reads_buckets else []))
    names = [f"com.amazonaws.{identity.region}.{service}" for service in services]
    endpoints = read.read_endpoints(clients, service_name=names)
    theirs = () if isinstance(endpoints, Unread) else {name for each in endpoints.values() for name in each.subnets}
    zones = read.read_subnets(clients, sorted(theirs)) if theirs else {}
    yield from network.check_ways(subnets, endpoints, read.read_route_tables(clients, vpc), services=names, zones=zones)


def _check_quotas(clients: Clients, subject: Subject, wanted: Mapping[str, str], present: Stack) -> Iterator[Finding]:
    pools = [quotas.Pool(name=wanted["PoolInstanceType"], size=int(wanted["PoolSize"]))]
    if not present.is_to_be_created:
        settings = read_settings(open_queue(present, subject.connection))
        if isinstance(settings, str):
            yield _first_pool_only(settings)
        else:
            pools = quotas.pools_of(settings)
    needs = quotas.needs_of(pools)
    values, unread = read.read_quotas(clients, quotas.names_of(needs))
    yield from quotas.check_quotas(needs, values, unread)


def _first_pool_only(why: str) -> Finding:
    return Finding(
        check="quota",
        result="note",
        asked="the configuration in force",
        said=f"it was not read: {why}",
        remedy=(
            "Quotas are compared with PoolInstanceType and PoolSize, with which the queue began. Give --endpoint or a "
            "profile to compare them with its present pools."
        ),
    )


def _check_scheduler(clients: Clients, name: str, wanted: Mapping[str, str], identity: Identity) -> Iterator[Finding]:
    asked = f"the scheduler's role in {name}"
    resources = read.read_resources(clients, name)
    if isinstance(resources, Unread):
        yield resources.note("scheduler", asked)
        return
    own_name = next((each.name for each in resources if each.logical_id == SCHEDULER_ROLE), "")
    role = read.read_role(clients, own_name) if own_name else None
    if isinstance(role, Unread):
        yield role.note("scheduler", asked)
    elif role is None:
        remedy = "Deploy the stack again; nothing starts without it."
        yield Finding(check="scheduler", result="problem", asked=asked, said="it does not exist", remedy=remedy)
    else:
        training_roles = listed(wanted, "TrainingRoleArns")
        for question in roles.questions(identity, table=wanted["TableName"], training_roles=training_roles):
            decisions = read.simulate(clients, role.arn, question.action, question.resources, question.context)
            yield from roles.check_scheduler(role, question, decisions)


def invoke_all(clients: Clients, subject: Subject) -> Iterator[Finding]:
    """Invoke each function of a deployed stack once, and call the API if the endpoint is the stack's.

    Args:
        clients: with permission to invoke the functions.

    Yields:
        A finding for each of them.
    """
    asked = f"the functions of {subject.stack}"
    found = read.read_stack(clients, subject.stack)
    resources = [] if found == NO_STACK else read.read_resources(clients, subject.stack)
    if isinstance(found, Unread):
        yield found.note("function", asked)
        return
    if isinstance(resources, Unread):
        yield resources.note("function", asked)
        return
    those = [each for each in resources if each.kind == FUNCTION]
    if not those:
        remedy = "Name the stack of the queue."
        yield Finding(check="function", result="problem", asked=asked, said="there are none", remedy=remedy)
    for each in those:
        event = functions.EVENTS.get(each.logical_id)
        answer = None if event is None else read.invoke(clients, each.name, event)
        yield functions.check_function(each.logical_id, each.name, answer)
    yield check_version(open_queue(found, subject.connection))
