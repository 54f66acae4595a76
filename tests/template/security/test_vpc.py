"""Functions in a VPC. The sandbox has none."""

import pytest

from tests.template.conditions import resolved

ROLES = [f"{name}FunctionRole" for name in ("Api", "Schedule", "Observe", "Reconcile", "Patrol", "Tell", "Watch")]


def about_networks(role, *holds):
    (policy,) = role["Policies"]
    statements = resolved(policy["PolicyDocument"]["Statement"], *holds)
    return {s["Sid"]: s for s in statements if "ec2:" in str(s["Action"])}


def test_functions_run_in_the_given_subnets_or_outside_a_vpc(of_type):
    for function in of_type("AWS::Lambda::Function").values():
        assert "VpcConfig" not in resolved(function)
        assert resolved(function, "RunsInVpc")["VpcConfig"] == {
            "SubnetIds": {"Ref": "FunctionSubnetIds"},
            "SecurityGroupIds": {"Ref": "FunctionSecurityGroupIds"},
        }


def test_subnets_without_security_groups_still_enable_the_vpc(template):
    def empty(name):
        return {"Fn::Equals": [{"Fn::Join": ["", {"Ref": name}]}, ""]}

    both = {"Fn::And": [empty("FunctionSubnetIds"), empty("FunctionSecurityGroupIds")]}
    assert template["Conditions"]["RunsInVpc"] == {"Fn::Not": [both]}


@pytest.mark.parametrize("name", ROLES)
def test_a_role_may_create_network_interfaces_only_in_a_vpc_and_never_from_the_functions_code(of_type, name):
    role = of_type("AWS::IAM::Role")[name]
    # A score is of no network.
    scores = {"SeeSpotScores"} if name == "ReconcileFunctionRole" else set()
    assert set(about_networks(role)) == scores
    found = about_networks(role, "RunsInVpc")
    making = {"SeeNetworkInterfaces", "MakeNetworkInterfaces", "UseSharedSubnets", "CodeMakesNoNetworkInterfaces"}
    assert set(found) - scores == making
    shared = found["UseSharedSubnets"]
    assert shared["Action"] == "ec2:CreateNetworkInterface"
    assert shared["Resource"]["Fn::Sub"].endswith(":ec2:${AWS::Region}:*:subnet/*")
    assert shared["Condition"] == {"StringEquals": {"ec2:SubnetID": {"Ref": "FunctionSubnetIds"}}}, "of no other subnet"
    assert found["MakeNetworkInterfaces"]["Resource"]["Fn::Sub"].endswith(":ec2:${AWS::Region}:${AWS::AccountId}:*/*")
    deny = found["CodeMakesNoNetworkInterfaces"]
    assert (deny["Effect"], deny["Action"]) == ("Deny", "ec2:*")
    assert deny["Condition"] == {"Null": {"lambda:SourceFunctionArn": "false"}}
