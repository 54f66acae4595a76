"""The templates besides the queue's own can be deployed: the private network, and the key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

FOLDER = Path(__file__).resolve().parents[3] / "deploy"
EXISTING = {
    "VpcId": "vpc-0123456789abcdef0",
    "SubnetIds": "subnet-0123456789abcdef0,subnet-0fedcba9876543210",
    "RouteTableIds": "rtb-0123456789abcdef0",
    "Services": "sagemaker.api,sqs",
}
Make = Callable[..., dict[str, str]]


@pytest.fixture
def make(sb: Sandbox) -> Iterator[Make]:
    """Creates a stack of a template and returns its outputs; the stacks are deleted afterwards."""
    client = sb.client("cloudformation")
    made: list[str] = []

    def stack(name: str) -> dict[str, Any]:
        found: dict[str, Any] = client.describe_stacks(StackName=name)["Stacks"][0]
        return found

    def make(template: str, **parameters: str) -> dict[str, str]:
        name = f"{template.removesuffix('.yaml')}-{len(made)}"
        # As `aws cloudformation deploy` does: a template with a transform requires a change set.
        client.create_change_set(
            StackName=name,
            ChangeSetName="first",
            ChangeSetType="CREATE",
            TemplateBody=(FOLDER / template).read_text(encoding="utf-8"),
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        )
        made.append(name)
        client.get_waiter("change_set_create_complete").wait(
            StackName=name, ChangeSetName="first", WaiterConfig={"Delay": 1}
        )
        client.execute_change_set(StackName=name, ChangeSetName="first")
        eventually(lambda: not stack(name)["StackStatus"].endswith("_IN_PROGRESS"), f"{name} is made")
        assert stack(name)["StackStatus"] == "CREATE_COMPLETE"
        return {each["OutputKey"]: each["OutputValue"] for each in stack(name).get("Outputs", [])}

    yield make
    for name in made:
        client.delete_stack(StackName=name)


def test_a_function_of_a_transform_that_the_template_does_not_declare_is_refused(sb: Sandbox):
    text = (FOLDER / "network.yaml").read_text(encoding="utf-8")
    plain = text.replace("Transform: AWS::LanguageExtensions\n", "")
    assert plain != text
    with pytest.raises(ClientError, match=r"Fn::ForEach|malformed"):
        sb.client("cloudformation").create_change_set(
            StackName="undeclared", ChangeSetName="first", ChangeSetType="CREATE", TemplateBody=plain
        )


def endpoints(sb: Sandbox, vpc: str) -> set[str]:
    found = sb.client("ec2").describe_vpc_endpoints()["VpcEndpoints"]
    return {each["ServiceName"].split(".", 3)[3] for each in found if each["VpcId"] == vpc}


def test_a_private_network_has_the_routes_that_functions_and_clients_need_and_none_to_the_outside(
    sb: Sandbox, make: Make
):
    outputs = make("network.yaml")
    vpc = outputs["VpcId"]
    assert endpoints(sb, vpc) == {
        *("dynamodb", "events", "execute-api", "lambda", "logs", "monitoring", "s3", "sagemaker.api"),
        *("sns", "sqs", "sts"),
    }
    assert outputs["VpcEndpointIds"].startswith("vpce-")
    assert len(set(outputs["FunctionSubnetIds"].split(","))) == 2
    assert outputs["FunctionSecurityGroupIds"].startswith("sg-")
    tables = sb.client("ec2").describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["RouteTables"]
    targets = {route.get("GatewayId") for table in tables for route in table["Routes"]}
    assert not any(target and target.startswith(("igw-", "nat-")) for target in targets)


def test_a_new_network_is_in_the_given_zones_and_open_to_the_given_clients(sb: Sandbox, make: Make):
    region = sb.info.region
    zones, clients = [f"{region}b", f"{region}c"], ["10.1.10.0/24", "10.11.0.0/24"]
    outputs = make("network.yaml", Zones=",".join(zones), ClientCidrs=",".join(clients), Services="sqs")
    ec2 = sb.client("ec2")
    subnets = ec2.describe_subnets(SubnetIds=outputs["FunctionSubnetIds"].split(","))["Subnets"]
    assert {each["AvailabilityZone"] for each in subnets} == set(zones)
    groups = ec2.describe_security_groups(Filters=[{"Name": "vpc-id", "Values": [outputs["VpcId"]]}])["SecurityGroups"]
    opened = [each["CidrIp"] for group in groups for rule in group["IpPermissions"] for each in rule["IpRanges"]]
    assert set(opened) >= {"10.42.0.0/24", *clients}


def test_an_existing_network_gets_the_missing_endpoints(sb: Sandbox, make: Make):
    outputs = make("network.yaml", **EXISTING)
    assert endpoints(sb, EXISTING["VpcId"]) == {"execute-api", "sagemaker.api", "sqs"}
    assert outputs["FunctionSubnetIds"] == EXISTING["SubnetIds"]


def test_the_key_outlives_its_stack(sb: Sandbox, make: Make):
    arn = make("key.yaml")["KmsKeyArn"]
    client = sb.client("cloudformation")
    client.delete_stack(StackName="key-0")
    gone = {"DELETE_COMPLETE"}
    eventually(
        lambda: gone <= {s["StackStatus"] for s in client.list_stacks()["StackSummaries"] if s["StackName"] == "key-0"},
        "the key's stack is deleted",
    )
    assert sb.client("kms").describe_key(KeyId=arn)["KeyMetadata"]["KeyState"] == "Enabled"
