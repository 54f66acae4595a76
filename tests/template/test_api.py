"""Access to the API, and its rate limits."""

import json
from typing import Any

import pytest

from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.template import expanded
from headway_service.api import openapi
from tests.template.conditions import holding, resolved

ROUTES = {
    ("post", "/jobs"),
    ("post", "/add-job"),
    ("get", "/jobs"),
    ("get", "/jobs/{name}"),
    ("delete", "/jobs/{name}"),
    ("patch", "/jobs/{name}"),
    ("post", "/jobs/{name}/change"),
    ("put", "/jobs/{name}/comment"),
    ("post", "/jobs/{name}/hold"),
    ("post", "/jobs/{name}/release"),
    ("get", "/jobs/{name}/explanation"),
    ("get", "/jobs/{name}/members"),
    ("post", "/job-batches"),
    ("get", "/forecast"),
    ("get", "/summary"),
    ("post", "/what-if"),
    ("get", "/capacity"),
    ("get", "/history"),
    ("get", "/usage"),
    ("get", "/usage/comparison"),
    ("post", "/usage/recount"),
    ("post", "/forget"),
    ("post", "/usage/repair"),
    ("get", "/rogue-jobs"),
    ("get", "/events"),
    ("delete", "/rogue-jobs/{name}"),
    ("post", "/pools/{pool}/pause"),
    ("post", "/pools/{pool}/drain"),
    ("post", "/pools/{pool}/resume"),
    ("patch", "/pools/{pool}"),
    ("post", "/pause"),
    ("post", "/resume"),
    ("get", "/config"),
    ("get", "/config/history"),
    ("get", "/config/history/{version}"),
    ("post", "/config/effects"),
    ("put", "/config"),
    ("get", "/dead-letters"),
    ("post", "/dead-letters/redrive"),
    ("get", "/actions"),
    ("get", "/version"),
    ("get", "/openapi.json"),
}
ENDPOINTS = ["vpce-0123456789abcdef0", "vpce-0fedcba9876543210"]


@pytest.fixture
def api(of_type) -> dict[str, Any]:
    (properties,) = of_type("AWS::ApiGateway::RestApi").values()
    return properties


@pytest.fixture
def stage(of_type) -> dict[str, Any]:
    (properties,) = of_type("AWS::ApiGateway::Stage").values()
    return properties


@pytest.fixture
def policy(api) -> dict[str, dict[str, Any]]:
    statements = api["Body"]["x-amazon-apigateway-policy"]["Statement"]
    assert [s["Effect"] for s in statements] == ["Allow", "Deny", "Deny"]
    return {s["Sid"]: s for s in statements}


def endpoints(value: Any) -> Any:
    """Resolve a Split of the transform's value."""
    return value["Fn::Split"][1].split(value["Fn::Split"][0])


def test_the_api_is_private_and_bound_to_the_given_endpoints(api):
    assert api["EndpointConfiguration"]["Types"] == ["PRIVATE"]
    assert api["EndpointConfiguration"]["VpcEndpointIds"] == {"Fn::Split": [",", {"Ref": "VpcEndpointIds"}]}


def test_there_is_one_api_and_no_function_url(resources):
    kinds = [r["Type"] for r in resources.values()]
    assert kinds.count("AWS::ApiGateway::RestApi") == 1
    assert not {"AWS::Lambda::Url", "AWS::ApiGatewayV2::Api"} & set(kinds)


def test_calls_that_bypass_the_endpoints_are_denied(policy):
    deny = policy["OnlyThroughTheseEndpoints"]
    assert (deny["Principal"], deny["Action"], deny["Resource"]) == ("*", "execute-api:Invoke", "execute-api:/*")
    assert list(deny["Condition"]) == ["StringNotEquals"]
    assert list(deny["Condition"]["StringNotEquals"]) == ["aws:SourceVpce"]


def test_each_endpoint_is_permitted_by_its_id(policy):
    assert endpoints(policy["OnlyThroughTheseEndpoints"]["Condition"]["StringNotEquals"]["aws:SourceVpce"]) == ENDPOINTS


def test_the_resource_policy_allows_accounts_only_so_that_callers_need_a_policy_of_their_own(policy, template):
    allow = policy["CallersOfTheseAccounts"]
    assert resolved(allow["Principal"]) == {"AWS": {"Fn::Split": [",", {"Ref": "AWS::AccountId"}]}}
    assert template["Parameters"]["TrustedAccounts"]["Default"] == ""
    trusted = {"TrustedAccounts": "210987654321"}
    given = expanded(Checkout.here(), VpcEndpointIds=ENDPOINTS[0], **trusted)
    (allow, *_) = given["Resources"]["Api"]["Properties"]["Body"]["x-amazon-apigateway-policy"]["Statement"]
    assert resolved(allow["Principal"], *holding(template, trusted)) == {
        "AWS": {"Fn::Split": [",", {"Fn::Sub": "${AWS::AccountId},210987654321"}]}
    }
    assert (allow["Action"], allow["Resource"]) == ("execute-api:Invoke", "execute-api:/*")


def test_callers_whose_arn_is_not_listed_are_denied_regardless_of_their_policy(policy, template):
    deny = policy["OnlyTheseCallers"]
    assert (deny["Principal"], deny["Action"], deny["Resource"]) == ("*", "execute-api:Invoke", "execute-api:/*")
    # "Not like any of these", so that callers without an ARN are also denied.
    assert list(deny["Condition"]) == ["StringNotLike"]
    assert endpoints(deny["Condition"]["StringNotLike"]["aws:PrincipalArn"]) == ["*"]
    assert template["Parameters"]["CallerArns"]["Default"] == "*"


def test_the_api_has_exactly_the_routes_of_its_contract(api):
    routes = {(method, path) for path, methods in api["Body"]["paths"].items() for method in methods}
    assert routes == ROUTES


def test_the_openapi_document_has_exactly_these_routes():
    paths = openapi.document()["paths"]
    assert {(method, path) for path, methods in paths.items() for method in methods} == ROUTES


@pytest.mark.parametrize(("method", "path"), sorted(ROUTES))
def test_each_method_requires_a_signature(api, method, path):
    assert api["Body"]["paths"][path][method]["security"] == [{"AWS_IAM": []}]
    scheme = api["Body"]["components"]["securitySchemes"]["AWS_IAM"]
    assert scheme["x-amazon-apigateway-authtype"] == "awsSigv4"


@pytest.mark.parametrize(("method", "path"), sorted(ROUTES))
def test_each_method_calls_the_api_function_without_the_callers_credentials(api, method, path):
    integration = api["Body"]["paths"][path][method]["x-amazon-apigateway-integration"]
    assert integration["type"] == "aws_proxy"
    assert "${ApiFunction.Arn}" in json.dumps(integration["uri"])
    assert "credentials" not in integration


def test_one_permission_lets_this_stage_of_this_api_call_the_function(of_type):
    """One for each route would fill the function's policy."""
    permissions = of_type("AWS::Lambda::Permission").values()
    assert [each for each in permissions if each["Principal"] == "apigateway.amazonaws.com"] == [
        {
            "Action": "lambda:InvokeFunction",
            "FunctionName": {"Ref": "ApiFunction"},
            "Principal": "apigateway.amazonaws.com",
            "SourceArn": {
                "Fn::Sub": "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}/${StageName}/*"
            },
        }
    ]


OWN_LIMITS = {
    "Submit": {("post", "/jobs"), ("post", "/add-job")},
    "List": {
        ("get", "/jobs"),
        ("get", "/summary"),
        ("get", "/rogue-jobs"),
        ("get", "/events"),
        ("get", "/history"),
    },
    "Heavy": {
        ("post", "/job-batches"),
        ("get", "/forecast"),
        ("post", "/what-if"),
        ("get", "/jobs/{name}/explanation"),
        ("get", "/jobs/{name}/members"),
        ("get", "/usage"),
        ("get", "/usage/comparison"),
        ("post", "/usage/recount"),
        ("post", "/forget"),
        ("post", "/usage/repair"),
        ("get", "/dead-letters"),
        ("post", "/dead-letters/redrive"),
        ("get", "/config/history"),
        ("post", "/config/effects"),
        ("put", "/config"),
        ("patch", "/pools/{pool}"),
        ("post", "/pools/{pool}/pause"),
        ("post", "/pools/{pool}/drain"),
        ("post", "/pools/{pool}/resume"),
        ("post", "/pause"),
        ("post", "/resume"),
    },
}
"""Methods with separate limits, by the first word of the parameters' names."""


def method_of(setting: dict[str, Any]) -> tuple[str, str]:
    """Return the method and path of a setting: its slashes are written ~1 after the first one."""
    path = setting["ResourcePath"]
    assert path == "/*" or (path.startswith("/~1") and "/" not in path[1:]), path
    return setting["HttpMethod"].lower(), path if path == "/*" else path[1:].replace("~1", "/")


def test_each_method_is_throttled_and_expensive_ones_have_separate_limits(stage):
    default, *own = stage["MethodSettings"]
    assert method_of(default) == ("*", "/*")
    limits = {method_of(default): "Api"} | {method: name for name, methods in OWN_LIMITS.items() for method in methods}
    assert {method_of(setting) for setting in own} == set(limits) - {("*", "/*")} <= ROUTES
    assert len(own) == len(limits) - 1
    for setting in stage["MethodSettings"]:
        name = limits[method_of(setting)]
        assert setting["ThrottlingRateLimit"] == {"Ref": f"{name}RateLimit"}
        assert setting["ThrottlingBurstLimit"] == {"Ref": f"{name}BurstLimit"}


def test_the_limits_of_expensive_methods_do_not_exceed_the_others(template):
    default = {name: parameter.get("Default") for name, parameter in template["Parameters"].items()}
    for kind in ("RateLimit", "BurstLimit"):
        assert default[f"Heavy{kind}"] < default[f"List{kind}"] < default[f"Submit{kind}"] <= default[f"Api{kind}"]


def test_no_metrics_by_method_are_paid_for_as_alarms_and_the_dashboard_look_at_those_of_the_stage(stage, text):
    """Source: API Gateway developer guide, "Monitor REST API execution with Amazon CloudWatch metrics"."""
    assert not [setting for setting in stage["MethodSettings"] if setting.get("MetricsEnabled")]
    looked_at = [line for line in text.splitlines() if "AWS/ApiGateway" in line]
    assert looked_at
    assert not [line for line in text.splitlines() if "Name: Method" in line or '"Method"' in line]


def test_requests_are_traced_if_configured_and_their_bodies_are_never_logged(stage, template):
    assert resolved(stage["TracingEnabled"], "IsTraced") is True
    assert resolved(stage["TracingEnabled"]) is False
    assert template["Conditions"]["IsTraced"] == {"Fn::Equals": [{"Ref": "Tracing"}, "Active"]}
    assert not any(s.get("DataTraceEnabled") for s in stage["MethodSettings"])


def test_the_access_log_is_json_that_names_the_caller_the_call_and_its_outcome(stage, resources):
    log = json.loads(stage["AccessLogSetting"]["Format"])
    assert {"requestId", "requestTime", "caller", "vpceId", "method", "path", "status"} <= set(log)
    group = stage["AccessLogSetting"]["DestinationArn"]["Fn::GetAtt"][0]
    assert resources[group]["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}


def test_the_access_log_has_no_secrets(stage):
    text = stage["AccessLogSetting"]["Format"].lower()
    assert not [w for w in ("authorization", "header", "querystring", "body", "accesskey") if w in text]


def test_api_gateways_logging_role_is_set_before_the_stage_that_needs_it(resources):
    assert resources["Api"]["DependsOn"] == "ApiLoggingAccount"
    account = resources["ApiLoggingAccount"]
    assert account["Condition"] == resources["ApiLoggingRole"]["Condition"] == "SetsApiLoggingRole"
    assert account["DeletionPolicy"] == resources["ApiLoggingRole"]["DeletionPolicy"] == "Retain"
