"""The calls that the managed policies allow: exactly these. A new route needs a line here and a statement."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest

ADMIN = {"AdminPolicy"}
USER = {"UserPolicy", "LeadPolicy"} | ADMIN
OPERATOR = {"OperatorPolicy"} | ADMIN
ON_CALL = {"OnCallPolicy"} | OPERATOR
ALL = USER | ON_CALL
OWNERS = USER | OPERATOR
LEAD = {"LeadPolicy"} | OPERATOR
WHO = {
    ("post", "/jobs"): USER,
    ("post", "/add-job"): USER,
    ("post", "/job-batches"): USER,
    ("get", "/jobs"): ALL,
    ("get", "/jobs/{name}"): ALL,
    ("get", "/jobs/{name}/explanation"): ALL,
    ("get", "/jobs/{name}/members"): ALL,
    ("get", "/forecast"): ALL,
    ("get", "/summary"): ALL,
    ("post", "/what-if"): ALL,
    ("get", "/capacity"): ALL,
    ("get", "/rogue-jobs"): ALL,
    ("get", "/events"): ALL,
    ("get", "/history"): ALL,
    ("get", "/usage"): ALL,
    ("get", "/config"): ALL,
    ("get", "/version"): ALL,
    ("get", "/openapi.json"): ALL,
    ("delete", "/jobs/{name}"): OWNERS,
    ("post", "/jobs/{name}/hold"): OWNERS,
    ("post", "/jobs/{name}/release"): OWNERS,
    ("post", "/jobs/{name}/change"): USER,
    ("put", "/jobs/{name}/comment"): USER,
    ("patch", "/jobs/{name}"): LEAD,
    ("put", "/config"): ADMIN,
    ("get", "/config/history"): OPERATOR,
    ("get", "/config/history/{version}"): OPERATOR,
    ("post", "/config/effects"): OPERATOR,
    ("get", "/actions"): OPERATOR,
    ("delete", "/rogue-jobs/{name}"): OPERATOR,
    ("get", "/dead-letters"): ON_CALL,
    ("post", "/dead-letters/redrive"): ON_CALL,
    ("post", "/pools/{pool}/pause"): ON_CALL,
    ("post", "/pools/{pool}/drain"): OPERATOR,
    ("post", "/pools/{pool}/resume"): ON_CALL,
    ("patch", "/pools/{pool}"): OPERATOR,
    ("post", "/pause"): ON_CALL,
    ("post", "/resume"): ON_CALL,
    ("get", "/usage/comparison"): OPERATOR,
    ("post", "/usage/recount"): OPERATOR,
    ("post", "/forget"): ADMIN,
    ("post", "/usage/repair"): ADMIN,
}
API = "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}/${StageName}/"


@pytest.fixture
def policies(of_type) -> dict[str, list[dict[str, Any]]]:
    return {
        name: properties["PolicyDocument"]["Statement"]
        for name, properties in of_type("AWS::IAM::ManagedPolicy").items()
    }


def calls(statement: dict[str, Any]) -> list[str]:
    """Return the resources of a statement: patterns of methods and paths."""
    listed = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
    return [each["Fn::Sub"].removeprefix(API) for each in listed]


def granting(policies: dict[str, list[dict[str, Any]]], method: str, path: str) -> dict[str, list[str]]:
    """Return the statements that allow a route, by policy."""
    wanted = f"{method.upper()}{path.replace('{name}', 'a-job').replace('{pool}', 'ml.g5.xlarge')}"
    found = {
        name: [each["Sid"] for each in statements if any(fnmatchcase(wanted, call) for call in calls(each))]
        for name, statements in policies.items()
    }
    return {name: sids for name, sids in found.items() if sids}


def test_each_route_of_the_api_has_a_line_in_the_test(of_type):
    (api,) = of_type("AWS::ApiGateway::RestApi").values()
    assert {(method, path) for path, methods in api["Body"]["paths"].items() for method in methods} == WHO.keys()


@pytest.mark.parametrize(("method", "path"), sorted(WHO))
def test_a_route_is_in_exactly_these_policies_and_in_one_statement_of_each(policies, method, path):
    found = granting(policies, method, path)
    assert found.keys() == WHO[method, path]
    assert all(len(sids) == 1 for sids in found.values())


def test_an_unexpected_call_is_in_no_policy(policies):
    for method, path in (
        ("put", "/jobs"),
        ("post", "/jobs/a"),
        ("delete", "/config"),
        ("get", "/pools/a"),
        ("get", "/"),
    ):
        assert granting(policies, method, path) == {}


def test_the_policies_allow_calls_of_this_stage_of_this_api_and_nothing_else(policies):
    for statements in policies.values():
        for statement in statements:
            assert (statement["Effect"], statement["Action"]) == ("Allow", "execute-api:Invoke")
            listed = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
            assert all(each["Fn::Sub"].startswith(API) for each in listed)


def test_the_policies_have_no_names_and_no_attachments(of_type):
    # A name would require CAPABILITY_NAMED_IAM, and prevent a second stack.
    for properties in of_type("AWS::IAM::ManagedPolicy").values():
        assert properties.keys() == {"Description", "Path", "PolicyDocument"}
        assert properties["Path"] == {"Ref": "RolePath"}


def test_the_outputs_name_the_policies(template, of_type):
    arns = {name: output["Value"] for name, output in template["Outputs"].items() if name.endswith("PolicyArn")}
    assert arns == {f"{name}Arn": {"Ref": name} for name in of_type("AWS::IAM::ManagedPolicy")}
