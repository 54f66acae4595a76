"""Can the API be reached through its VPC endpoints, and AWS by functions in a VPC?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headway_client.account.finding import Finding, Unread
from headway_client.account.seen import Endpoint, Identity, RouteTable, Subnet

API = "execute-api"
NEEDED = ("dynamodb", "events", "lambda", "monitoring", "sagemaker.api", "sns", "sqs")
"""The endpoint services that the functions call (docs/how-to/network.md, "Endpoints")."""

FOR_BUCKETS = "s3"
"""What they call as well if they read buckets."""

_INSTRUCTIONS = "deploy/network.yaml makes them (docs/how-to/network.md)."


def check_api_endpoints(
    ids: Sequence[str],
    found: Mapping[str, Endpoint] | Unread,
    identity: Identity,
    *,
    functions: Iterable[Subnet] = (),
) -> Iterator[Finding]:
    """Check the endpoints of the API.

    Args:
        ids: those that the parameters name.
        found: those that exist.
        identity: the account and the region.
        functions: the subnets that the functions run in; none outside any VPC.
    """
    vpcs = {each.vpc for each in functions}
    for name in ids:
        asked = f"the VPC endpoint {name} (VpcEndpointIds)"
        if isinstance(found, Unread):
            yield found.note("endpoint", asked)
            continue
        endpoint = found.get(name)
        if endpoint is None:
            said = f"it does not exist in account {identity.account}, {identity.region}"
            yield _problem("endpoint", asked, said, "Name one that does.")
        elif not endpoint.service.endswith(f".{API}"):
            yield _problem("endpoint", asked, f"it is for {endpoint.service}", f"Name one for {API}.")
        elif not endpoint.is_available:
            yield _problem("endpoint", asked, f"it is {endpoint.state}", "It must be available: wait, or accept it.")
        elif not endpoint.private_names:
            yield _note(
                "endpoint",
                asked,
                "it has no private names",
                "Let clients use the output ApiEndpointWithoutPrivateDns, or enable its private DNS.",
            )
        elif vpcs and endpoint.vpc not in vpcs:
            yield _note(
                "endpoint",
                asked,
                f"it is in {endpoint.vpc}, and the functions in {', '.join(sorted(vpcs))}",
                "This may be intended: clients reach the API from the endpoint's VPC only.",
            )
        else:
            yield Finding(check="endpoint", result="ok", asked=asked, said=f"it is available in {endpoint.vpc}")


def check_subnets(ids: Sequence[str], found: Mapping[str, Subnet] | Unread) -> Iterator[Finding]:
    """Check the subnets of the functions: Lambda takes those of one VPC.

    Args:
        ids: those that the parameters name.
        found: those that exist.
    """
    asked = f"the subnets {', '.join(ids)} (FunctionSubnetIds)"
    if isinstance(found, Unread):
        yield found.note("subnets", asked)
        return
    missing = [name for name in ids if name not in found]
    vpcs = sorted({each.vpc for each in found.values()})
    zones = sorted({each.zone for each in found.values()})
    if missing:
        yield _problem("subnets", asked, f"there is no {', '.join(missing)}", "Name subnets that do.")
    elif len(vpcs) > 1:
        yield _problem("subnets", asked, f"they are in {', '.join(vpcs)}", "Name subnets of one VPC.")
    elif len(zones) == 1:
        remedy = "Add a subnet in another zone: the queue stops when this zone fails."
        yield _note("subnets", asked, f"all are in the zone {zones[0]} of {vpcs[0]}", remedy)
    else:
        yield Finding(check="subnets", result="ok", asked=asked, said=f"{vpcs[0]}, zones {', '.join(zones)}")


def check_ways(
    subnets: Mapping[str, Subnet],
    endpoints: Mapping[str, Endpoint] | Unread,
    tables: Sequence[RouteTable] | Unread,
    *,
    services: Sequence[str],
    zones: Mapping[str, Subnet] | Unread,
) -> Iterator[Finding]:
    """Check that functions in a VPC have a way to each service that they call.

    Args:
        subnets: those that the functions run in, of one VPC.
        endpoints: those for the services, in all VPCs.
        tables: the route tables of the VPC.
        services: the names of the endpoint services, such as ``com.amazonaws.eu-west-1.sqs``.
        zones: the subnets of the endpoints.
    """
    asked = f"ways of functions in {', '.join(subnets)} to AWS"
    if isinstance(tables, Unread):
        yield tables.note("network", asked)
        return
    tables_of = {name: _table_of(name, tables) for name in subnets}
    ways = {name: table.way_out if table else "" for name, table in tables_of.items()}
    if all(way.startswith("nat-") for way in ways.values()):
        said = f"the default routes lead to {', '.join(sorted(set(ways.values())))}"
        yield Finding(check="network", result="ok", asked=asked, said=said)
        return
    if isinstance(endpoints, Unread):
        yield endpoints.note("network", asked)
        return
    # A function has no public address, so an internet gateway is no way out (Lambda guide, "Internet access").
    others = sorted({way for way in ways.values() if way and not way.startswith(("igw-", "nat-"))})
    for service in services:
        finding = _check_way(service, subnets, endpoints.values(), tables_of, zones)
        if finding.result == "problem" and others:
            said = f"{finding.said}; whether the default route to {', '.join(others)} is a way there is not known here"
            finding = _note("network", finding.asked, said, finding.remedy or "")
        yield finding


def _check_way(
    service: str,
    subnets: Mapping[str, Subnet],
    endpoints: Iterable[Endpoint],
    tables: Mapping[str, RouteTable | None],
    zones: Mapping[str, Subnet] | Unread,
) -> Finding:
    asked = f"an endpoint for {service}"
    (vpc,) = {each.vpc for each in subnets.values()}
    of_service = [each for each in endpoints if each.service == service]
    here = [each for each in of_service if each.vpc == vpc]
    if not here:
        elsewhere = ", ".join(f"{each.id} is in {each.vpc}" for each in of_service)
        said = f"{vpc}, where the functions run, has none{f'; {elsewhere}' if elsewhere else ''}"
        return _problem("network", asked, said, f"Make one in {vpc}: {_INSTRUCTIONS}")
    problems = [_check_endpoint(each, asked, subnets, tables, zones) for each in here]
    return min(problems, key=lambda finding: ("ok", "note", "problem").index(finding.result))


def _check_endpoint(
    endpoint: Endpoint,
    asked: str,
    subnets: Mapping[str, Subnet],
    tables: Mapping[str, RouteTable | None],
    zones: Mapping[str, Subnet] | Unread,
) -> Finding:
    if not endpoint.is_available:
        return _problem("network", asked, f"{endpoint.id} is {endpoint.state}", "It must be available.")
    if endpoint.kind == "Gateway":
        cut_off = [name for name, table in tables.items() if table is None or table.id not in endpoint.route_tables]
        if cut_off:
            said = f"the route tables of {', '.join(cut_off)} do not lead to the gateway {endpoint.id}"
            return _problem("network", asked, said, f"Add their route tables to {endpoint.id}.")
        return Finding(check="network", result="ok", asked=asked, said=f"the gateway {endpoint.id}")
    if not endpoint.private_names:
        remedy = f"Enable the private DNS of {endpoint.id}: functions call AWS by its own names."
        return _problem("network", asked, f"{endpoint.id} has no private names", remedy)
    if isinstance(zones, Unread):
        return zones.note("network", f"{asked}, the zones of {endpoint.id}")
    covered = {zones[name].zone for name in endpoint.subnets if name in zones}
    bare = sorted({each.zone for each in subnets.values()} - covered)
    if bare:
        said = f"{endpoint.id} has no address in {', '.join(bare)}, where functions run"
        remedy = f"Add a subnet of {', '.join(bare)} to {endpoint.id}: their calls cost more and need the other zone."
        return _note("network", asked, said, remedy)
    return Finding(check="network", result="ok", asked=asked, said=endpoint.id)


def _table_of(subnet: str, tables: Iterable[RouteTable]) -> RouteTable | None:
    listed = list(tables)
    explicit = next((each for each in listed if subnet in each.subnets), None)
    return explicit or next((each for each in listed if each.is_main), None)


def _note(check: str, asked: str, said: str, remedy: str) -> Finding:
    return Finding(check=check, result="note", asked=asked, said=said, remedy=remedy)


def _problem(check: str, asked: str, said: str, remedy: str) -> Finding:
    return Finding(check=check, result="problem", asked=asked, said=said, remedy=remedy)
