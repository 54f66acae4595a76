"""With `emulator` a place that touches ministack: its API Gateway, with its gaps filled that matter here.

Written against the ministack that `emulator` asks for.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from headway_sandbox.emulator.patches import module
from headway_sandbox.emulator.placeholders import VPC_ENDPOINT

# By this header a call can come through another VPC endpoint than the sandbox's, or through none.
VPC_ENDPOINT_HEADER = "x-headway-vpc-endpoint"
NO_VPC_ENDPOINT = "none"


def prepare() -> None:
    """Fill the gaps. Called once, after `emulator.prepare`."""
    _come_through_vpc_endpoint()
    _import_any_methods()
    _import_resource_policies()
    _read_paths_of_method_settings()


def _come_through_vpc_endpoint() -> None:
    """Give API calls the condition key aws:SourceVpce, which a private API's policy asks for; and hold root to it.

    ministack lets the account's root pass by all policies. On AWS an explicit denial of either policy denies. Source:
    API Gateway developer guide, "How API Gateway resource policies affect authorization workflow".
    """
    app = module("app")
    original = app._enforce_data_plane

    def enforce(service: str, action: str, headers: Mapping[str, str], *rest: Any, **named: Any) -> Any:
        if service != "apigateway":
            return original(service, action, headers, *rest, **named)
        endpoint = headers.get(VPC_ENDPOINT_HEADER, VPC_ENDPOINT)
        # Who comes through no endpoint has no such key: then a condition that it differs holds.
        key = {} if endpoint == NO_VPC_ENDPOINT else {"aws:SourceVpce": endpoint}
        context = {**(named.get("service_context") or {}), **key}
        refused = original(service, action, headers, *rest, **{**named, "service_context": context})
        return refused or _denied_to_root(action, headers, named["resource_arn"], context)

    app._enforce_data_plane = enforce


def _denied_to_root(action: str, headers: Mapping[str, str], resource: str, context: Mapping[str, Any]) -> Any:
    """The answer to a call of root's that the API's own policy denies; None for anybody else, and if it does not."""
    evaluator, responses, router = module("core.iam_evaluator"), module("core.responses"), module("core.router")
    access_key, account = router.extract_access_key_id(headers), responses.get_account_id()
    found = evaluator._resource_policy("apigateway", resource)
    if not access_key or not evaluator.is_root_access_key(access_key) or found is None:
        return None
    asked = evaluator.EvalContext(
        principal_arn=f"arn:aws:iam::{account}:root",
        principal_type="Root",
        principal_account=account,
        action=action,
        resource_arn=resource,
        region=router.extract_region(headers),
        service_context={key.lower(): value for key, value in context.items()},
    )
    if evaluator.evaluate_resource_policy(found[0], asked).decision != "Deny":
        return None
    return module("core.iam_actions").access_denied_response(
        "apigateway",
        action,
        asked.principal_arn,
        str(uuid.uuid4()),
        headers=headers,
        explicit_deny=True,
        resource_policy_arn=resource,
    )


def _import_any_methods() -> None:
    """SAM writes `Method: ANY` as x-amazon-apigateway-any-method, which ministack's OpenAPI import leaves out."""
    apigateway = module("services.apigateway_v1")
    apigateway._OPENAPI_HTTP_METHODS.add("any")
    original = apigateway._import_path_item

    def import_path_item(api_id: str, path: str, item: Mapping[str, Any], *rest: Any) -> None:
        name = "x-amazon-apigateway-any-method"
        renamed = {"any" if key == name else key: value for key, value in item.items()}
        original(api_id, path, renamed, *rest)

    apigateway._import_path_item = import_path_item


def _import_resource_policies() -> None:
    """SAM writes an API's resource policy as x-amazon-apigateway-policy, which ministack's import leaves out too."""
    apigateway = module("services.apigateway_v1")
    original = apigateway._import_rest_api

    def import_rest_api(spec: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> str:
        policy = spec.get("x-amazon-apigateway-policy")
        settings = {**(base or {}), **({"policy": json.dumps(policy)} if policy else {})}
        api_id: str = original(spec, settings)
        return api_id

    apigateway._import_rest_api = import_rest_api


def _read_paths_of_method_settings() -> None:
    """A stage's settings name a path with its slashes written ~1, which ministack reads in UpdateStage only.

    Without this a method's own limits would never apply. Source: CloudFormation's reference,
    AWS::ApiGateway::Stage MethodSetting, ResourcePath.
    """
    provisioners = module("services.cloudformation.provisioners")
    original = provisioners._apigw_method_settings

    def method_settings(raw: Any) -> dict[str, Any]:
        settings: dict[str, Any] = original(raw)
        return {"/" + key.replace("~1", "/").lstrip("/") if "~1" in key else key: settings[key] for key in settings}

    provisioners._apigw_method_settings = method_settings
