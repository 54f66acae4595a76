"""VPC endpoints have private names, and lists of them have filters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headway_sandbox.emulator.placeholders import VPC_ENDPOINT
from headway_sandbox.local.sandbox import Sandbox

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def ec2() -> Iterator[Any]:
    with Sandbox(deploy=False) as sandbox:
        yield sandbox.client("ec2")


def described(ec2: Any, **filters: str) -> list[dict[str, Any]]:
    wanted = [{"Name": name.replace("_", "-"), "Values": [value]} for name, value in filters.items()]
    found: list[dict[str, Any]] = ec2.describe_vpc_endpoints(Filters=wanted)["VpcEndpoints"]
    return found


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"VpcEndpointType": "Interface"}, True),
        ({"VpcEndpointType": "Interface", "PrivateDnsEnabled": False}, False),
        ({"VpcEndpointType": "Gateway"}, False),
    ],
)
def test_an_endpoint_has_private_names_as_it_was_made(ec2: Any, wanted: dict[str, Any], expected: bool):
    made = ec2.create_vpc_endpoint(VpcId="vpc-00000001", ServiceName="com.amazonaws.eu-west-1.sqs", **wanted)
    name = made["VpcEndpoint"]["VpcEndpointId"]
    (found,) = described(ec2, vpc_endpoint_id=name)
    assert found["PrivateDnsEnabled"] is expected
    if wanted["VpcEndpointType"] == "Interface":
        ec2.modify_vpc_endpoint(VpcEndpointId=name, PrivateDnsEnabled=not expected)
        (found,) = described(ec2, vpc_endpoint_id=name)
        assert found["PrivateDnsEnabled"] is not expected
    ec2.delete_vpc_endpoints(VpcEndpointIds=[name])


def test_endpoints_are_filtered(ec2: Any):
    assert [each["VpcEndpointId"] for each in described(ec2, vpc_endpoint_id=VPC_ENDPOINT)] == [VPC_ENDPOINT]
    assert [each["VpcEndpointId"] for each in described(ec2, service_name="com.amazonaws.eu-west-1.execute-api")] == [
        VPC_ENDPOINT
    ]
    assert described(ec2, vpc_id="vpc-0123456789abcdef0") == []
    with pytest.raises(ClientError, match="InvalidParameterValue"):
        described(ec2, another="x")
    with pytest.raises(ClientError, match="NotFound"):
        ec2.describe_vpc_endpoints(VpcEndpointIds=["vpce-0fedcba9876543210"])
