"""Patches of ministack's API Gateway.

Written for the ministack version in `patches.VERSION`.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from headway_sandbox.emulator.patches import module
from headway_sandbox.emulator.placeholders import VPC_ENDPOINT

# With this header a call comes through another VPC endpoint than the sandbox's, or through none.
VPC_ENDPOINT_HEADER = "x-headway-vpc-endpoint"
NO_VPC_ENDPOINT = "none"


def prepare() -> None:
    """Apply the patches. Called once, after `patches.prepare`."""
    _set_source_vpce()
    _import_any_methods()
    _import_resource_policies()
    _read_paths_of_method_settings()
    _require_permission_on_function()
    _find_apis_of_other_accounts()


def _set_source_vpce() -> None:
    """Set the condition key aws:SourceVpce of API calls, for a private API's policy, and apply that policy to root.

    ministack applies no policy to the account's root. On AWS an explicit deny of either policy denies. Source:
    API Gateway developer guide, "How API Gateway resource policies affect authorization workflow".
    """
    app = module("app")
    original = app._enforce_data_plane

    def enforce(service: str, action: str, headers: Mapping[str, str], *rest: Any, **named: Any) -> Any:
        if service != "apigateway":
            return original(service, action, headers, *rest, **named)
        endpoint = headers.get(VPC_ENDPOINT_HEADER, VPC_ENDPOINT)
        # Without an endpoint the key is missing, and a condition StringNotEquals on it is true.
        key = {} if endpoint == NO_VPC_ENDPOINT else {"aws:SourceVpce": endpoint}
        context = {**(named.get("service_context") or {}), **key}
        named["resource_arn"] = _of_owner(named["resource_arn"])
        refused = original(service, action, headers, *rest, **{**named, "service_context": context})
        return refused or _denied_to_root(action, headers, named["resource_arn"], context)

    app._enforce_data_plane = enforce


def _of_owner(arn: str) -> str:
    """Return the ARN of a call with the account of the API; ministack puts in that of the caller."""
    parts = arn.split(":", 5)
    scope = module("services.apigateway_v1").find_api_scope(parts[5].partition("/")[0])
    return ":".join([*parts[:4], scope[0] if scope else parts[4], parts[5]])


def _find_apis_of_other_accounts() -> None:
    """Find an API by its id in all accounts, and its caller in the caller's own; ministack finds both in one only."""
    gateway = module("services.apigateway_v1")

    def find(api_id: str) -> tuple[str, str] | None:
        found = ((account, region) for (account, region, each), _ in gateway._rest_apis.all_items() if each == api_id)
        return next(found, None)

    gateway.find_api_scope = find
    identify, accounts = gateway._iam_caller_identity, module("core.responses")._request_account_id

    def identify_anywhere(headers: Any, query: Any = None) -> Any:
        key = module("core.router").extract_access_key_id(headers, query)
        home = module("core.iam_evaluator").find_iam_access_key_account(key)
        current = accounts.set(home or accounts.get())
        try:
            return identify(headers, query)
        finally:
            accounts.reset(current)

    gateway._iam_caller_identity = identify_anywhere


def _denied_to_root(action: str, headers: Mapping[str, str], resource: str, context: Mapping[str, Any]) -> Any:
    """Return the response to a call of root that the API's policy denies; None for other calls."""
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
    """Import SAM's x-amazon-apigateway-any-method (`Method: ANY`), which ministack's OpenAPI import ignores."""
    apigateway = module("services.apigateway_v1")
    apigateway._OPENAPI_HTTP_METHODS.add("any")
    original = apigateway._import_path_item

    def import_path_item(api_id: str, path: str, item: Mapping[str, Any], *rest: Any) -> None:
        name = "x-amazon-apigateway-any-method"
        renamed = {"any" if key == name else key: value for key, value in item.items()}
        original(api_id, path, renamed, *rest)

    apigateway._import_path_item = import_path_item


def _import_resource_policies() -> None:
    """Import SAM's x-amazon-apigateway-policy (an API's resource policy), which ministack's import ignores."""
    apigateway = module("services.apigateway_v1")
    original = apigateway._import_rest_api

    def import_rest_api(spec: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> str:
        policy = spec.get("x-amazon-apigateway-policy")
        settings = {**(base or {}), **({"policy": json.dumps(policy)} if policy else {})}
        api_id: str = original(spec, settings)
        return api_id

    apigateway._import_rest_api = import_rest_api


def _read_paths_of_method_settings() -> None:
    """Decode `~1` as a slash in the paths of a stage's method settings; ministack does so in UpdateStage only.

    Without this patch a method's own limits would not apply. Source: CloudFormation reference,
    AWS::ApiGateway::Stage MethodSetting, ResourcePath.
    """
    provisioners = module("services.cloudformation.provisioners")
    original = provisioners._apigw_method_settings

    def method_settings(raw: Any) -> dict[str, Any]:
        settings: dict[str, Any] = original(raw)
        return {"/" + key.replace("~1", "/").lstrip("/") if "~1" in key else key: settings[key] for key in settings}

    provisioners._apigw_method_settings = method_settings


def _require_permission_on_function() -> None:
    """Call a function only if its policy lets the API, as on AWS: status 500 otherwise. ministack asks no policy.

    Source: Lambda developer guide, "Invoking a Lambda function using an Amazon API Gateway endpoint", permissions.
    """
    gateway, functions = module("services.apigateway_v1"), module("services.lambda_svc")
    evaluator = module("core.iam_evaluator")
    original = gateway._invoke_lambda_proxy_v1

    async def invoke(
        integration: Any, api_id: str, stage: str, settings: Any, resource: Any, path: str, method: str, *rest: Any,
        **named: Any,
    ) -> Any:  # fmt: skip
        account, region = named["owner_account_id"], named["owner_region"]
        called = gateway._extract_lambda_ref_from_integration_uri(integration.get("uri", ""))
        function, _, _ = functions._get_func_record_for_ref_in_scope(called, account_id=account, region=region)
        source = module("core.arn").execute_api_arn(region, account, api_id, stage, method, path)
        asked = evaluator.EvalContext(
            principal_arn="*",
            principal_type="Service",
            principal_account="",
            action="lambda:InvokeFunction",
            resource_arn=called,
            region=region,
            service_context={"aws:sourcearn": source, "aws:sourceaccount": account},
        )
        policy = (function or {}).get("policy")
        if evaluator.evaluate_resource_policy(policy, asked, service="apigateway.amazonaws.com").decision != "Allow":
            return gateway._gw_error("API_CONFIGURATION_ERROR", "Internal server error")
        return await original(integration, api_id, stage, settings, resource, path, method, *rest, **named)

    gateway._invoke_lambda_proxy_v1 = invoke
