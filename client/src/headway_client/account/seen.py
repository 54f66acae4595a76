"""What AWS said of an account: values, without the calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_NEVER_CREATED = frozenset({"CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED"})


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The account, the region and the ARN of the credentials."""

    account: str
    region: str
    arn: str = ""

    @property
    def partition(self) -> str:
        """The partition of ARNs: ``aws``, ``aws-cn`` or ``aws-us-gov``."""
        return self.arn.split(":")[1] if self.arn.count(":") > 1 else "aws"


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A stack.

    Attributes:
        status: as CloudFormation calls it; ``NONE`` if there is no such stack, empty if it could not be read.
        outputs: by their names.
    """

    status: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def can_only_be_deleted(self) -> bool:
        """Whether its creation or its deletion has failed."""
        return self.status in _NEVER_CREATED

    @property
    def is_to_be_created(self) -> bool:
        """Whether a deployment creates its resources."""
        return self.can_only_be_deleted or self.status in {"NONE", "REVIEW_IN_PROGRESS"}


NO_STACK, UNKNOWN_STACK = Stack(status="NONE"), Stack(status="")


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource of a stack: its logical id, its type, and its own name."""

    logical_id: str
    kind: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Quota:
    """A quota of Service Quotas.

    Attributes:
        value: None if AWS gave an error in its place.
        is_default: whether it is AWS's default, as the account has no value of its own.
    """

    value: float | None
    is_default: bool = False


@dataclass(frozen=True, kw_only=True)
class Role:
    """A role of IAM.

    Attributes:
        trust: who may assume it, as a policy document.
        boundary: ARN of its permissions boundary; empty without one.
    """

    arn: str
    trust: Mapping[str, Any]
    boundary: str = ""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What the simulation of a role's policies says of one action on one resource.

    Attributes:
        decision: ``allowed``, ``implicitDeny`` or ``explicitDeny``.
        missing: condition keys that policies look at, and that the simulation was not given.
        by_boundary: whether the permissions boundary allows it; None if there is none, or it is not said.
        by_organization: whether the policies of the organization allow it; None likewise.
    """

    resource: str
    decision: str
    missing: Sequence[str] = ()
    by_boundary: bool | None = None
    by_organization: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A VPC endpoint.

    Attributes:
        service: such as ``com.amazonaws.eu-west-1.execute-api``.
        kind: ``Interface`` or ``Gateway``.
        private_names: whether the service's own names lead to it within its VPC.
        subnets: those that it has addresses in.
        route_tables: those that lead to it, of a gateway.
    """

    id: str
    service: str
    state: str
    private_names: bool = False
    kind: str = "Interface"
    vpc: str = ""
    subnets: Sequence[str] = ()
    route_tables: Sequence[str] = ()

    @property
    def is_available(self) -> bool:
        """Whether it can be used. AWS writes the state in both cases."""
        return self.state.lower() == "available"


@dataclass(frozen=True, kw_only=True)
class Subnet:
    """A subnet of a VPC."""

    id: str
    vpc: str
    zone: str


@dataclass(frozen=True, kw_only=True)
class RouteTable:
    """A route table of a VPC.

    Attributes:
        subnets: those that are associated with it.
        is_main: whether it is that of all other subnets of its VPC.
        way_out: the target of its default route, such as the id of a NAT gateway; empty without one.
    """

    id: str
    subnets: Sequence[str] = ()
    is_main: bool = False
    way_out: str = ""


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """What a function answered.

    Attributes:
        error: the type and the message of its error; empty without one.
        payload: its answer, decoded.
    """

    error: str = ""
    payload: Any = None
