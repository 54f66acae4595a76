"""What is in the account that a queue is deployed to, as far as the deployer may see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import boto3
from botocore.exceptions import ClientError

T = TypeVar("T")

_NEVER_CREATED = frozenset({"CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED"})


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A stack; the status is empty if it could not be read."""

    status: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def can_only_be_deleted(self) -> bool:
        """Whether its creation or its deletion has failed."""
        return self.status in _NEVER_CREATED

    @property
    def is_to_be_created(self) -> bool:
        """Whether a deployment creates its resources."""
        return self.can_only_be_deleted or self.status in {"NONE", "REVIEW_IN_PROGRESS"}


NO_STACK = Stack(status="NONE")


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A VPC endpoint."""

    service: str
    state: str
    private_names: bool


@dataclass(frozen=True, kw_only=True)
class Account:
    """The account and the region, and what they have of what a deployment needs; None for what could not be read.

    Attributes:
        id: the account's.
        region: the region.
        table_has_items: whether a table of the wanted name has any; None also if there is no such table.
        unreserved: concurrent executions that no function has reserved.
        endpoints: those of the wanted endpoints that exist, by id.
        logs_apis: whether API Gateway has a role for logs.
        unread: what could not be read, and why.
    """

    id: str
    region: str
    table_has_items: bool | None = None
    unreserved: int | None = None
    endpoints: Mapping[str, Endpoint] | None = None
    logs_apis: bool | None = None
    unread: Sequence[str] = ()


def read_account(session: boto3.Session, wanted: Mapping[str, str]) -> Account:
    """Read all that the parameters of a deployment need.

    Args:
        session: with the deployer's credentials.
        wanted: the parameters.

    Raises:
        ClientError: the credentials are not valid.
    """
    unread: list[str] = []

    def known(what: str, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except ClientError as error:
            unread.append(f"{what} could not be checked: {error}")
            return None

    ids = wanted["VpcEndpointIds"].split(",")
    return Account(
        id=_client(session, "sts").get_caller_identity()["Account"],
        region=session.region_name or "",
        table_has_items=known("TableName", lambda: has_items(_client(session, "dynamodb"), wanted["TableName"])),
        unreserved=known("ScheduleConcurrency", lambda: read_unreserved(_client(session, "lambda"))),
        endpoints=known("VpcEndpointIds", lambda: read_endpoints(_client(session, "ec2"), ids)),
        logs_apis=known("CreateApiLoggingRole", lambda: logs_apis(_client(session, "apigateway"))),
        unread=unread,
    )


def read_stack(session: boto3.Session, name: str) -> Stack:
    """The stack of a name.

    Args:
        session: with the deployer's credentials.
        name: of the stack.
    """
    try:
        (found,) = _client(session, "cloudformation").describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        return NO_STACK if "does not exist" in error.response["Error"]["Message"] else Stack()
    given = {each["ParameterKey"]: each["ParameterValue"] for each in found.get("Parameters", [])}
    return Stack(status=found["StackStatus"], parameters=given)


def has_items(tables: Any, name: str) -> bool | None:
    """Whether a table has items; None if there is no such table. The count in its description is hours old.

    Args:
        tables: client of DynamoDB.
        name: of the table.
    """
    try:
        return bool(tables.scan(TableName=name, Limit=1, Select="COUNT", ConsistentRead=True)["Count"])
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceNotFoundException":
            return None
        raise


def read_unreserved(functions: Any) -> int:
    """Concurrent executions that no function has reserved."""
    return int(functions.get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"])


def read_endpoints(network: Any, ids: Sequence[str]) -> dict[str, Endpoint]:
    """Those of some endpoints that exist. By a filter: a list of ids is refused as a whole if one does not exist.

    Args:
        network: client of EC2.
        ids: of the endpoints.
    """
    answer = network.describe_vpc_endpoints(Filters=[{"Name": "vpc-endpoint-id", "Values": list(ids)}])
    return {
        each["VpcEndpointId"]: Endpoint(
            service=each["ServiceName"], state=each["State"], private_names=each.get("PrivateDnsEnabled", False)
        )
        for each in answer["VpcEndpoints"]
        if each["VpcEndpointId"] in ids
    }


def logs_apis(apis: Any) -> bool:
    """Whether API Gateway has a role for logs."""
    return bool(apis.get_account().get("cloudwatchRoleArn"))


def _client(session: boto3.Session, service: str) -> Any:
    make: Any = session.client
    return make(service)
