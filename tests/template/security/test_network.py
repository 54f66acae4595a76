"""The private network: access through its endpoints. tests/e2e/deploy/test_templates.py creates it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from yaml import BaseLoader, Node, ScalarNode, SequenceNode, load

from deploy.resolve import Resolver, read_template
from tests.template.conditions import PLACE, deployed


class Plain(BaseLoader):
    """Reads CloudFormation's short forms as their arguments: `!Ref X` as X."""


def about(loader: Any, _tag: str, node: Node) -> Any:
    """Return the argument of a short form."""
    match node:
        case ScalarNode():
            return loader.construct_scalar(node)
        case SequenceNode():
            return loader.construct_sequence(node, deep=True)
        case _:
            return loader.construct_mapping(node, deep=True)


Plain.add_multi_constructor("!", about)


class Long(BaseLoader):
    """Reads CloudFormation's short forms as the long ones: `!Ref X` as `{"Ref": "X"}`."""


Long.add_multi_constructor(
    "!", lambda loader, tag, node: {tag if tag in {"Ref", "Condition"} else f"Fn::{tag}": about(loader, tag, node)}
)

EXISTING = {"VpcId": "vpc-0123456789abcdef0"}
STS, S3 = "Endpointsts", "Gateways3"
GATEWAYS = {"Gatewaydynamodb", S3}
NO_POLICY = None
"""AWS then attaches one that admits all principals and all actions."""


@pytest.fixture(scope="module")
def network(root) -> dict[str, Any]:
    return load((root / "deploy" / "network.yaml").read_text(encoding="utf-8"), Plain)


@pytest.fixture(scope="module")
def parts(network) -> dict[str, dict[str, Any]]:
    """Return all resources, including those created for each element of a list."""
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


@pytest.fixture(scope="module")
def endpoints(root) -> Callable[..., dict[str, dict[str, Any]]]:
    """Return what gives the properties of the endpoints that are made with some parameters."""
    template = load((root / "deploy" / "network.yaml").read_text(encoding="utf-8"), Long)
    for loop in [name for name in template["Resources"] if name.startswith("Fn::ForEach::")]:
        template["Resources"].update(template["Resources"].pop(loop)[2])

    def made(**given: str) -> dict[str, dict[str, Any]]:
        resources = deployed(template, **given)["Resources"].items()
        return {name: each["Properties"] for name, each in resources if each["Type"] == "AWS::EC2::VPCEndpoint"}

    return made


def statements(endpoint: dict[str, Any]) -> dict[str, Any]:
    return {each["Sid"]: each for each in endpoint["PolicyDocument"]["Statement"]}


def test_in_a_new_vpc_endpoints_admit_principals_of_this_account_only(endpoints):
    made = endpoints()
    assert made.keys() >= {"ApiEndpoint", "Endpoint&{Service}", STS, *GATEWAYS}
    account = {"StringEquals": {"aws:PrincipalAccount": {"Ref": "AWS::AccountId"}}}
    others = {
        (name, sid)
        for name, endpoint in made.items()
        for sid, statement in statements(endpoint).items()
        if statement.get("Condition") != account
    }
    assert others == {(STS, "FederatedCallersOfRolesOfThisAccount"), (S3, "LayersOfImages")}


def test_federated_callers_may_assume_only_roles_of_this_account(endpoints):
    statement = statements(endpoints()[STS])["FederatedCallersOfRolesOfThisAccount"]
    assert statement["Action"] == ["sts:AssumeRoleWithSAML", "sts:AssumeRoleWithWebIdentity"]
    assert statement["Resource"] == {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/*"}


def test_layers_of_images_are_only_read_from_the_bucket_of_ecr(endpoints):
    statement = statements(endpoints()[S3])["LayersOfImages"]
    bucket = "arn:${AWS::Partition}:s3:::prod-${AWS::Region}-starport-layer-bucket/*"
    assert (statement["Action"], statement["Resource"]) == ("s3:GetObject", {"Fn::Sub": bucket})


def test_in_an_existing_vpc_no_route_and_no_name_of_a_service_that_others_use_changes_by_default(endpoints):
    made = endpoints(**EXISTING)
    assert made.keys() == {"ApiEndpoint", "Endpoint&{Service}"}
    assert made["ApiEndpoint"]["PrivateDnsEnabled"] == "false"
    assert endpoints()["ApiEndpoint"]["PrivateDnsEnabled"] == "true"


def test_in_an_existing_vpc_endpoints_of_services_admit_all_that_their_neighbours_call(endpoints):
    """Such as ECR's presigned layers, unsigned reads, federated callers, and principals of other accounts."""
    made = endpoints(**EXISTING, MakeStsEndpoint="true", MakeGatewayEndpoints="true", ApiPrivateNames="true")
    assert made.keys() == endpoints().keys()
    assert made["ApiEndpoint"]["PrivateDnsEnabled"] == "true"
    policies = {name: endpoint.get("PolicyDocument") for name, endpoint in made.items() if name != "ApiEndpoint"}
    assert set(policies.values()) == {NO_POLICY}


@pytest.mark.parametrize(
    ("given", "left_out"),
    [({"MakeStsEndpoint": "false"}, {STS}), ({"MakeGatewayEndpoints": "false"}, GATEWAYS)],
)
def test_an_endpoint_can_be_left_out_of_a_new_vpc(endpoints, given, left_out):
    assert endpoints().keys() - endpoints(**given).keys() == left_out


@pytest.mark.parametrize(
    ("service", "fits"),
    [("sqs", True), ("sagemaker.api", True), ("sts.x", True), ("s3tables", True), ("ecr.dkr", True)]
    + [(name, False) for name in ("sts", "s3", "dynamodb", "execute-api", "SQS", "")],
)
def test_a_service_with_a_parameter_of_its_own_is_no_element_of_the_list(network, service, fits):
    assert bool(re.fullmatch(network["Parameters"]["Services"]["AllowedPattern"], service)) == fits


def test_the_apis_endpoint_permits_only_apis_of_this_account(parts):
    (statement,) = parts["ApiEndpoint"]["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Action"] == "execute-api:Invoke"
    assert statement["Resource"].endswith(":execute-api:${AWS::Region}:${AWS::AccountId}:*")


@pytest.mark.parametrize(
    ("given", "ranges"),
    [
        ("", []),
        ("10.8.0.0/16", ["10.8.0.0/16"]),
        ("10.1.10.0/24,10.11.0.0/24,1.0.0.0/8,2.0.0.1/32", ["10.1.10.0/24", "10.11.0.0/24", "1.0.0.0/8", "2.0.0.1/32"]),
    ],
)
def test_endpoints_accept_https_from_the_vpc_and_from_the_given_ranges(root, network, given, ranges):
    assert re.fullmatch(network["Parameters"]["ClientCidrs"]["AllowedPattern"], given)
    template = read_template(root / "deploy" / "network.yaml")
    values = {"VpcId": "", "VpcCidr": "10.42.0.0/24", "ClientCidrs": given}
    rules = template["Resources"]["EndpointSecurityGroup"]["Properties"]["SecurityGroupIngress"]
    found = Resolver(template, {**dict.fromkeys(template["Parameters"], ""), **values}, PLACE).resolve(rules)
    opened = [rule["CidrIp"] for rule in found]
    assert len(set(opened)) == len(opened), "EC2 refuses a rule that is there already"
    assert [each for each in opened if not each.startswith("127.")] == ["10.42.0.0/24", *ranges]
    assert {(rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) for rule in found} == {("tcp", 443, 443)}


@pytest.mark.parametrize(
    "value", ["10.0.0.0", "10.0.0.0/0", "10.0.0.0/33", "10.0.0.0/8, 10.1.0.0/16", "a,b", ",".join(["10.0.0.0/8"] * 5)]
)
def test_what_is_no_range_and_more_than_four_are_refused_as_addresses_of_clients(network, value):
    assert not re.fullmatch(network["Parameters"]["ClientCidrs"]["AllowedPattern"], value)


@pytest.mark.parametrize(("trusted", "admitted"), [("", "123456789012"), ("2,3", ["123456789012", "2", "3"])])
def test_the_apis_endpoint_admits_callers_of_this_account_and_of_trusted_ones(root, trusted, admitted):
    template = read_template(root / "deploy" / "network.yaml")
    values = {**dict.fromkeys(template["Parameters"], ""), "TrustedAccounts": trusted}
    (statement,) = template["Resources"]["ApiEndpoint"]["Properties"]["PolicyDocument"]["Statement"]
    found = Resolver(template, values, PLACE).resolve(statement["Condition"])
    assert found == {"StringEquals": {"aws:PrincipalAccount": admitted}}


@pytest.mark.parametrize(("given", "refused"), [("", False), ("eu-west-1a,eu-west-1c", False), ("eu-west-1a", True)])
def test_zones_are_two_or_none(network, given, refused):
    assert (re.fullmatch(network["Parameters"]["Zones"]["AllowedPattern"], given) is None) is refused


def test_endpoints_have_no_egress(parts):
    group = parts["EndpointSecurityGroup"]["Properties"]
    (nobody,) = group["SecurityGroupEgress"]
    assert nobody["CidrIp"] == "127.0.0.1/32"


def test_functions_have_no_ingress_and_https_egress_only(parts):
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
    # Lambda uses these itself with the function's role, from its own network. IAM has no endpoint by the region's name:
    # docs/how-to/network.md says what does not work without a way to it. DynamoDB and S3 have gateway endpoints.
    elsewhere = {"logs", "xray", "kms", "ec2", "iam", "dynamodb", "s3"}
    services = set(network["Parameters"]["Services"]["Default"].split(","))
    assert {named.get(service, service) for service in called - elsewhere} == services - {"logs"}


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


def test_in_china_the_services_with_other_names_are_those_that_the_template_makes_endpoints_of(network):
    """A name that is in the mapping and that no endpoint looks up would be misspelt."""
    prefixes = network["Mappings"]["PrefixesByRegion"]
    assert set(prefixes) == {"cn-north-1", "cn-northwest-1"}
    made = {"execute-api", "sts", *network["Parameters"]["Services"]["Default"].split(",")}
    looked_up = {re.sub(r"[.-]", "", name) for name in made}
    for services in prefixes.values():
        assert set(services) <= looked_up
        assert set(services.values()) == {"cn.com.amazonaws"}
    assert prefixes["cn-north-1"] == prefixes["cn-northwest-1"]
