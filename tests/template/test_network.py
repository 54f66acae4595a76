"""The private network: access through its endpoints. tests/e2e/test_templates.py creates it."""

from __future__ import annotations

from typing import Any

import pytest
from yaml import BaseLoader, Node, ScalarNode, SequenceNode, load

ACCOUNT = {"StringEquals": {"aws:PrincipalAccount": "AWS::AccountId"}}


class Plain(BaseLoader):
    """Reads CloudFormation's short forms as their arguments: `!Ref X` as X."""


def about(loader: Any, _tag: str, node: Node) -> Any:
    """What a short form is about."""
    match node:
        case ScalarNode():
            return loader.construct_scalar(node)
        case SequenceNode():
            return loader.construct_sequence(node, deep=True)
        case _:
            return loader.construct_mapping(node, deep=True)


Plain.add_multi_constructor("!", about)


@pytest.fixture(scope="module")
def network(root) -> dict[str, Any]:
    return load((root / "deploy" / "network.yaml").read_text(encoding="utf-8"), Plain)


@pytest.fixture(scope="module")
def parts(network) -> dict[str, dict[str, Any]]:
    """All resources, with those that are made for each of a list."""
    found = dict(network["Resources"])
    for loop in [name for name in found if name.startswith("Fn::ForEach::")]:
        found.update(found.pop(loop)[2])
    return found


def of(parts, kind):
    found = [part["Properties"] for part in parts.values() if part["Type"] == kind]
    assert found
    return found


def test_nothing_leads_to_the_internet(parts):
    kinds = {part["Type"] for part in parts.values()}
    assert not kinds & {"AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", "AWS::EC2::Route"}
    assert {subnet["MapPublicIpOnLaunch"] for subnet in of(parts, "AWS::EC2::Subnet")} == {"false"}


def test_every_endpoint_is_for_principals_of_this_account_only(parts):
    for endpoint in of(parts, "AWS::EC2::VPCEndpoint"):
        (statement,) = endpoint["PolicyDocument"]["Statement"]
        assert statement["Condition"] == ACCOUNT


def test_the_apis_endpoint_leads_to_apis_of_this_account_only(parts):
    (statement,) = parts["ApiEndpoint"]["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Action"] == "execute-api:Invoke"
    assert statement["Resource"].endswith(":execute-api:${AWS::Region}:${AWS::AccountId}:*")


def test_endpoints_are_reached_from_the_vpc_by_https_and_call_nobody(parts):
    group = parts["EndpointSecurityGroup"]["Properties"]
    (rule,) = group["SecurityGroupIngress"]
    assert (rule["IpProtocol"], rule["FromPort"], rule["ToPort"], rule["CidrIp"]) == ("tcp", "443", "443", "VpcCidr")
    (nobody,) = group["SecurityGroupEgress"]
    assert nobody["CidrIp"] == "127.0.0.1/32"


def test_functions_are_called_by_nobody_and_speak_https_only(parts):
    group = parts["FunctionSecurityGroup"]["Properties"]
    assert "SecurityGroupIngress" not in group
    (rule,) = group["SecurityGroupEgress"]
    assert (rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) == ("tcp", "443", "443")


def test_every_service_that_a_function_calls_has_an_endpoint(network, of_type):
    called = {
        action.split(":")[0]
        for role in of_type("AWS::IAM::Role").values()
        for policy in role.get("Policies", [])
        for statement in policy["PolicyDocument"]["Statement"]
        for action in actions(statement)
    }
    named = {"cloudwatch": "monitoring", "sagemaker": "sagemaker.api"}
    # Lambda itself uses these with the function's role, from its own network; roles are passed to SageMaker, and IAM is
    # not called for it. DynamoDB has a gateway.
    elsewhere = {"logs", "xray", "kms", "ec2", "iam", "dynamodb"}
    services = set(network["Parameters"]["Services"]["Default"].split(","))
    assert {named.get(service, service) for service in called - elsewhere} == services - {"logs", "sts"}


def actions(statement):
    statement = statement["Fn::If"][1] if "Fn::If" in statement else statement
    found = statement["Action"]
    return [found] if isinstance(found, str) else found


def test_every_parameter_is_described_constrained_and_grouped(network):
    parameters, interface = network["Parameters"], network["Metadata"]["AWS::CloudFormation::Interface"]
    for name, parameter in parameters.items():
        assert parameter["Description"].endswith("."), name
        assert "AllowedValues" in parameter or "ConstraintDescription" in parameter, name
    grouped = [name for group in interface["ParameterGroups"] for name in group["Parameters"]]
    assert sorted(grouped) == sorted(parameters) == sorted(interface["ParameterLabels"])


def test_its_outputs_are_parameters_of_the_queue(network, template):
    assert set(network["Outputs"]) - {"VpcId"} <= set(template["Parameters"])
