"""The calls of AWS by which an account is read. Nothing is changed, and each call has limits: pages, tries, time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from botocore.config import Config
from botocore.exceptions import BotoCoreError
from botocore.exceptions import ClientError as AwsError

from headway_client.account.finding import Unread
from headway_client.account.seen import (
    NO_STACK,
    Decision,
    Endpoint,
    Identity,
    Invocation,
    Quota,
    Resource,
    Role,
    RouteTable,
    Stack,
    Subnet,
)
from headway_client.errors import NotAllowedError

T = TypeVar("T")
Clients = Callable[[str], Any]
"""Makes a boto3 client of the service with that name."""

MAX_PAGES = 100
"""Pages of one list that are read. SageMaker has some thousand quotas, in pages of 100."""

TRIES = 4
"""How often a call is tried."""

CALLS = Config(connect_timeout=5, read_timeout=30, retries={"mode": "standard", "total_max_attempts": TRIES})
"""Limits of the calls that read."""

INVOCATIONS = Config(connect_timeout=5, read_timeout=70, retries={"mode": "standard", "total_max_attempts": 2})
"""Limits of invocations: no function of the queue runs for more than 60 s (template.yaml, Timeout)."""


class _TooManyPagesError(BotoCoreError):
    fmt = "there are more than {pages} pages"


def attempt(action: str, read: Callable[[], T]) -> T | Unread:
    """Return what a call reads, or why it could not.

    Args:
        action: the permission that the call needs.
        read: makes the call.
    """
    try:
        return read()
    except (AwsError, BotoCoreError) as error:
        return Unread(action=action, why=str(error))


def read_identity(clients: Clients) -> Identity:
    """Return the account and the region of the credentials.

    Raises:
        NotAllowedError: the credentials can't be used.
    """
    try:
        client = clients("sts")
        said = client.get_caller_identity()
    except (AwsError, BotoCoreError) as error:
        raise NotAllowedError(f"The account can't be checked: {error}", code="NoCredentials") from error
    return Identity(account=said["Account"], region=client.meta.region_name, arn=said["Arn"])


# ------------------------------------------------------------------------------------------------- CloudFormation


def read_stack(clients: Clients, name: str) -> Stack | Unread:
    """Return the stack of a name; `NO_STACK` if there is none."""

    def read() -> Stack:
        try:
            (found,) = clients("cloudformation").describe_stacks(StackName=name)["Stacks"]
        except AwsError as error:
            if "does not exist" in error.response["Error"]["Message"]:
                return NO_STACK
            raise
        given = {each["ParameterKey"]: each["ParameterValue"] for each in found.get("Parameters", [])}
        outputs = {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", [])}
        return Stack(status=found["StackStatus"], parameters=given, outputs=outputs)

    return attempt("cloudformation:DescribeStacks", read)


def read_resources(clients: Clients, stack: str) -> list[Resource] | Unread:
    """Return the resources of a stack. DescribeStackResources returns the first 100 only."""
    return attempt(
        "cloudformation:ListStackResources",
        lambda: [
            Resource(
                logical_id=each["LogicalResourceId"],
                kind=each["ResourceType"],
                name=each.get("PhysicalResourceId", ""),
            )
            for each in _all(
                clients("cloudformation"), "list_stack_resources", "StackResourceSummaries", StackName=stack
            )
        ],
    )


# ----------------------------------------------------------------------------------------- what a deployment needs


def read_table_has_items(clients: Clients, name: str) -> bool | Unread | None:
    """Return whether a table has items; None if there is no such table. The count in its description is hours old."""

    def read() -> bool | None:
        try:
            answer = clients("dynamodb").scan(TableName=name, Limit=1, Select="COUNT", ConsistentRead=True)
        except AwsError as error:
            if error.response["Error"]["Code"] == "ResourceNotFoundException":
                return None
            raise
        return bool(answer["Count"])

    return attempt("dynamodb:Scan", read)


def read_unreserved(clients: Clients) -> int | Unread:
    """Return how many concurrent executions no function has reserved."""
    return attempt(
        "lambda:GetAccountSettings",
        lambda: int(clients("lambda").get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"]),
    )


def read_logs_apis(clients: Clients) -> bool | Unread:
    """Return whether API Gateway has a role for logs in this account and region."""
    return attempt(
        "apigateway:GET on /account", lambda: bool(clients("apigateway").get_account().get("cloudwatchRoleArn"))
    )


# --------------------------------------------------------------------------------------------------------- network


def read_endpoints(clients: Clients, **filters: Sequence[str]) -> dict[str, Endpoint] | Unread:
    """Return VPC endpoints by their ids. By a filter: a list of ids is refused as a whole if one does not exist.

    Args:
        clients: make the client of EC2.
        filters: by their names, with ``_`` for ``-``.
    """
    return attempt(
        "ec2:DescribeVpcEndpoints",
        lambda: {
            each["VpcEndpointId"]: Endpoint(
                id=each["VpcEndpointId"],
                service=each["ServiceName"],
                state=each["State"],
                private_names=each.get("PrivateDnsEnabled", False),
                kind=each.get("VpcEndpointType", "Interface"),
                vpc=each.get("VpcId", ""),
                subnets=tuple(each.get("SubnetIds", ())),
                route_tables=tuple(each.get("RouteTableIds", ())),
            )
            for each in _all(clients("ec2"), "describe_vpc_endpoints", "VpcEndpoints", Filters=_filters(filters))
        },
    )


def read_subnets(clients: Clients, ids: Sequence[str]) -> dict[str, Subnet] | Unread:
    """Return those of some subnets that exist, by their ids."""
    return attempt(
        "ec2:DescribeSubnets",
        lambda: {
            each["SubnetId"]: Subnet(id=each["SubnetId"], vpc=each["VpcId"], zone=each["AvailabilityZone"])
            for each in _all(clients("ec2"), "describe_subnets", "Subnets", Filters=_filters({"subnet_id": ids}))
        },
    )


def read_route_tables(clients: Clients, vpc: str) -> list[RouteTable] | Unread:
    """Return the route tables of a VPC."""
    return attempt(
        "ec2:DescribeRouteTables",
        lambda: [
            RouteTable(
                id=each["RouteTableId"],
                subnets=tuple(link["SubnetId"] for link in each.get("Associations", ()) if link.get("SubnetId")),
                is_main=any(link.get("Main") for link in each.get("Associations", ())),
                way_out=next(filter(None, map(_way_out, each.get("Routes", ()))), ""),
            )
            for each in _all(
                clients("ec2"), "describe_route_tables", "RouteTables", Filters=_filters({"vpc_id": [vpc]})
            )
        ],
    )


_TARGETS = ("NatGatewayId", "TransitGatewayId", "NetworkInterfaceId", "VpcPeeringConnectionId", "GatewayId")


def _way_out(route: Mapping[str, Any]) -> str:
    if route.get("DestinationCidrBlock") != "0.0.0.0/0" or route.get("State") == "blackhole":
        return ""
    return next((route[target] for target in _TARGETS if route.get(target)), "another target")


def _filters(wanted: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    return [{"Name": name.replace("_", "-"), "Values": list(values)} for name, values in wanted.items()]


# ---------------------------------------------------------------------------------------------------------- quotas


def read_quotas(clients: Clients, names: Sequence[str]) -> tuple[dict[str, Quota], Unread | None]:
    """Return SageMaker's quotas with some names, and why others could not be read.

    A quota without a value of the account is not in ListServiceQuotas ("if the applied quota value is not available for
    a quota, the quota is not retrieved": service model, ListServiceQuotas). AWS's default applies to it.
    """
    found: dict[str, Quota] = {}
    for operation, action, is_default in (
        ("list_service_quotas", "servicequotas:ListServiceQuotas", False),
        ("list_aws_default_service_quotas", "servicequotas:ListAWSDefaultServiceQuotas", True),
    ):
        listed = attempt(action, lambda operation=operation: _quotas(clients, operation))  # type: ignore[misc]
        if isinstance(listed, Unread):
            return found, listed
        values = {name: Quota(value=listed[name], is_default=is_default) for name in names if name in listed}
        found = {**values, **found}
        if found.keys() >= set(names):
            break
    return found, None


def _quotas(clients: Clients, operation: str) -> dict[str, float | None]:
    listed = _all(clients("service-quotas"), operation, "Quotas", ServiceCode="sagemaker")
    # What the value of a quota with an error (service model, ErrorReason) means is not documented.
    return {each["QuotaName"]: None if "ErrorReason" in each else each.get("Value") for each in listed}


# ----------------------------------------------------------------------------------------------------------- roles


def read_role(clients: Clients, name: str) -> Role | Unread | None:
    """Return the role of a name; None if there is none."""

    def read() -> Role | None:
        try:
            found = clients("iam").get_role(RoleName=name)["Role"]
        except AwsError as error:
            if error.response["Error"]["Code"] == "NoSuchEntity":
                return None
            raise
        boundary = found.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn", "")
        return Role(arn=found["Arn"], trust=found["AssumeRolePolicyDocument"], boundary=boundary)

    return attempt("iam:GetRole", read)


def simulate(
    clients: Clients, role: str, action: str, resources: Sequence[str], context: Mapping[str, str]
) -> list[Decision] | Unread:
    """Return whether a role may do something with each of some resources.

    Source: IAM API reference, SimulatePrincipalPolicy. It evaluates the policies of the role, its permissions boundary
    and, as far as it says so, those of the organization; no policy of a resource.

    Args:
        role: ARN of the role.
        context: values of condition keys.
    """
    entries = [
        {"ContextKeyName": name, "ContextKeyValues": [value], "ContextKeyType": "string"}
        for name, value in context.items()
    ]
    encrypted = {"ContextKeyName": "aws:SecureTransport", "ContextKeyValues": ["true"], "ContextKeyType": "boolean"}
    return attempt(
        "iam:SimulatePrincipalPolicy",
        lambda: [
            _decision(part)
            for each in _all(
                clients("iam"),
                "simulate_principal_policy",
                "EvaluationResults",
                PolicySourceArn=role,
                ActionNames=[action],
                ResourceArns=list(resources),
                ContextEntries=[encrypted, *entries],
            )
            for part in _parts(each)
        ],
    )


def _parts(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a result for each resource: it is about one, or about several with a part for each."""
    parts = result.get("ResourceSpecificResults") or [{}]
    for part in parts:
        merged = {**result, **part}
        if "EvalResourceDecision" in part:
            merged["EvalDecision"] = part["EvalResourceDecision"]
        yield merged


def _decision(result: Mapping[str, Any]) -> Decision:
    return Decision(
        resource=result.get("EvalResourceName", "*"),
        decision=result["EvalDecision"],
        missing=tuple(sorted(result.get("MissingContextValues", ()))),
        by_boundary=result.get("PermissionsBoundaryDecisionDetail", {}).get("AllowedByPermissionsBoundary"),
        by_organization=result.get("OrganizationsDecisionDetail", {}).get("AllowedByOrganizations"),
    )


# ------------------------------------------------------------------------------------------------------- functions


def invoke(clients: Clients, function: str, event: Mapping[str, Any]) -> Invocation | Unread:
    """Invoke a function once, and wait for its answer."""

    def call() -> Invocation:
        answer = clients("lambda").invoke(FunctionName=function, Payload=json.dumps(event).encode())
        try:
            payload = json.loads(answer["Payload"].read() or b"null")
        except ValueError:
            payload = None
        if "FunctionError" not in answer:
            return Invocation(payload=payload)
        said = payload if isinstance(payload, dict) else {}
        kind, message = said.get("errorType", answer["FunctionError"]), said.get("errorMessage", "without a message")
        return Invocation(error=f"{kind}: {message}")

    return attempt("lambda:InvokeFunction", call)


def _all(client: Any, operation: str, member: str, **request: Any) -> Iterator[Any]:
    """Yield the entries of all pages of a list."""
    for number, page in enumerate(client.get_paginator(operation).paginate(**request)):
        if number == MAX_PAGES:
            raise _TooManyPagesError(pages=MAX_PAGES)
        yield from page[member]
