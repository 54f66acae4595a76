"""Patches of ministack's EC2: VPC endpoints have private names, and lists of them have filters.

Sources: EC2 API reference, CreateVpcEndpoint, ModifyVpcEndpoint and DescribeVpcEndpoints.

Written for the ministack version in `patches.VERSION`.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_sandbox.emulator.patches import module
from headway_sandbox.emulator.placeholders import VPC_ENDPOINT

_TRUE = "true"
_FILTERS: Mapping[str, str] = {
    "vpc-endpoint-id": "VpcEndpointId",
    "vpc-id": "VpcId",
    "service-name": "ServiceName",
    "vpc-endpoint-state": "State",
}
"""Filters of DescribeVpcEndpoints, with the member that they look at."""


def prepare() -> None:
    """Apply the patches. Called once, after `patches.prepare`."""
    _keep_private_names()
    _filter_endpoints()


def _keep_private_names() -> None:
    """Keep PrivateDnsEnabled, which ministack takes from CloudFormation only, and shows nowhere.

    An interface endpoint has private names unless CreateVpcEndpoint says otherwise.
    """
    ec2 = module("services.ec2")
    actions, fields = ec2._ACTION_MAP, ec2._vpce_fields_xml
    create, modify = actions["CreateVpcEndpoint"], actions["ModifyVpcEndpoint"]

    def creating(request: Any) -> Any:
        before = set(ec2._vpc_endpoints)
        answer = create(request)
        for made in set(ec2._vpc_endpoints) - before:
            endpoint = ec2._vpc_endpoints[made]
            default = _TRUE if endpoint["VpcEndpointType"] == "Interface" else "false"
            endpoint["PrivateDnsEnabled"] = (ec2._p(request, "PrivateDnsEnabled") or default) == _TRUE
        return answer

    def modifying(request: Any) -> Any:
        wanted = ec2._p(request, "PrivateDnsEnabled")
        endpoint = ec2._vpc_endpoints.get(ec2._p(request, "VpcEndpointId"))
        if wanted and endpoint:
            endpoint["PrivateDnsEnabled"] = wanted == _TRUE
        return modify(request)

    def fields_with_names(endpoint: Mapping[str, Any], tag: str = "item") -> str:
        text: str = fields(endpoint, tag)
        enabled = str(bool(endpoint.get("PrivateDnsEnabled"))).lower()
        return f"{text.removesuffix(f'</{tag}>')}<privateDnsEnabled>{enabled}</privateDnsEnabled></{tag}>"

    actions.update(CreateVpcEndpoint=creating, ModifyVpcEndpoint=modifying)
    ec2._vpce_fields_xml = fields_with_names


def _filter_endpoints() -> None:
    """Describe the endpoints that match the filters, which ministack ignores. The sandbox's own is among them."""
    ec2 = module("services.ec2")

    def describe(request: Any) -> Any:
        ec2._vpc_endpoints.setdefault(VPC_ENDPOINT, _own_endpoint())
        ids, filters = ec2._parse_member_list(request, "VpcEndpointId"), ec2._parse_filters(request)
        unknown = [name for name in ids if name not in ec2._vpc_endpoints]
        if unknown:
            return ec2._error(
                "InvalidVpcEndpointId.NotFound", f"The Vpc Endpoint Id '{unknown[0]}' does not exist", 400
            )
        unsupported = sorted(filters.keys() - _FILTERS.keys())
        if unsupported:
            return ec2._error("InvalidParameterValue", f"The sandbox has no filter '{unsupported[0]}'", 400)
        items = "".join(
            ec2._vpce_fields_xml(each)
            for each in ec2._vpc_endpoints.values()
            if (not ids or each["VpcEndpointId"] in ids)
            and all(each[_FILTERS[name]] in values for name, values in filters.items())
        )
        return ec2._xml(200, "DescribeVpcEndpointsResponse", f"<vpcEndpointSet>{items}</vpcEndpointSet>")

    ec2._ACTION_MAP["DescribeVpcEndpoints"] = describe


def _own_endpoint() -> dict[str, Any]:
    ec2 = module("services.ec2")
    return {
        "VpcEndpointId": VPC_ENDPOINT,
        "VpcEndpointType": "Interface",
        "VpcId": ec2._DEFAULT_VPC_ID,
        "ServiceName": f"com.amazonaws.{ec2.get_region()}.execute-api",
        "State": "available",
        "RouteTableIds": [],
        "SubnetIds": [ec2._DEFAULT_SUBNET_ID, ec2._DEFAULT_SUBNET_ID_B],
        "OwnerId": ec2.get_account_id(),
        "PrivateDnsEnabled": True,
    }
