"""Patches of ministack's CloudFormation: how stacks are updated.

ministack implements change sets, rollbacks and retained resources as CloudFormation does. The patches are what a
release depends on:

- A stack's functions are updated one after the other, while the rest of the account keeps working.
- An API keeps its id, and so its address, when its paths change.
- Creating a table with the name of an existing one fails; ministack replaces it by an empty table.
- An update that the stack policy denies fails and is rolled back. Not covered: policies that deny Update:Delete.
- A role gets its permissions boundary.
- The transform of SAM gets the values of parameters.

Written for the ministack version in `patches.VERSION`.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from headway_sandbox.emulator import stack_policy
from headway_sandbox.emulator.patches import module

UPDATE_S = 0.5
"""Duration of a function's update. On AWS it is seconds."""

_FUNCTION = "AWS::Lambda::Function"
# The values of parameters during a transform.
_parameters: ContextVar[Mapping[str, Any]] = ContextVar("headway_parameters")


def prepare() -> None:
    """Apply the patches. Called once, after `patches.prepare`."""
    _update_functions_on_threads()
    _keep_api_ids()
    _refuse_existing_tables()
    _enforce_stack_policies()
    _set_permissions_boundaries()
    _give_parameters_to_sam()


def _update_functions_on_threads() -> None:
    """Update functions on worker threads; ministack blocks all requests until the whole stack is updated."""
    stacks = module("services.cloudformation.stacks")
    original = stacks._runs_on_worker_thread

    def on_thread(resource_type: str) -> bool:
        return resource_type == _FUNCTION or bool(original(resource_type))

    stacks._runs_on_worker_thread = on_thread


def _keep_api_ids() -> None:
    """Change an API's paths in place; ministack creates another API with another address.

    Source: CloudFormation reference, AWS::ApiGateway::RestApi, "Body": update requires no interruption.
    """
    provisioners, gateway = module("services.cloudformation.provisioners"), module("services.apigateway_v1")
    handlers = provisioners._RESOURCE_HANDLERS["AWS::ApiGateway::RestApi"]
    create, update = handlers["create"], handlers["update"]
    apis, parts = gateway._rest_apis, (gateway._resources, gateway._authorizers_v1, gateway._models)

    def update_in_place(api_id: str, old: Any, new: Any, stack_name: str, logical_id: str) -> Any:
        if new.get("Body") == old.get("Body"):
            return update(api_id, old, new, stack_name, logical_id)
        draft, _attributes = create(logical_id, new, stack_name)
        apis[api_id] = {**apis.pop(draft), "id": api_id, "createdDate": apis[api_id]["createdDate"]}
        for part in parts:
            part[api_id] = part.pop(draft, {})
        return api_id, provisioners._apigw_rest_api_attrs(api_id)

    handlers["update"] = update_in_place


def _refuse_existing_tables() -> None:
    """Refuse to create a table with the name of an existing one; ministack replaces it by an empty table."""
    provisioners, dynamodb = module("services.cloudformation.provisioners"), module("services.dynamodb")
    handlers = provisioners._RESOURCE_HANDLERS["AWS::DynamoDB::Table"]
    create = provisioners._ddb_create

    def refusing(logical_id: str, properties: Any, stack_name: str) -> Any:
        name = properties.get("TableName")
        if name and name in dynamodb._tables:
            raise ValueError(f"Resource of type 'AWS::DynamoDB::Table' with identifier '{name}' already exists.")
        return create(logical_id, properties, stack_name)

    provisioners._ddb_create = handlers["create"] = refusing


def _enforce_stack_policies() -> None:
    """Fail updates that the stack policy denies; ministack stores the policy without enforcing it."""
    stacks, formation = module("services.cloudformation.stacks"), module("services.cloudformation")
    original = stacks._update_resource

    def update(kind: str, physical_id: str, old: Any, new: Any, stack_name: str, logical_id: str, *rest: Any) -> Any:
        stack = formation._stacks.get(stack_name) or {}
        # The policy does not apply to rollbacks.
        if old != new and stack.get("StackStatus") == "UPDATE_IN_PROGRESS":
            action = "Update:Replace" if stacks._replacing_change(kind, old, new) else "Update:Modify"
            policy = stack.get("_stack_policy", "")
            denied = stack_policy.refusal(policy, action=action, logical_id=logical_id, resource_type=kind)
            if denied:
                raise ValueError(denied)
        if kind == _FUNCTION and old != new:
            time.sleep(UPDATE_S)
        return original(kind, physical_id, old, new, stack_name, logical_id, *rest)

    stacks._update_resource = update


def _set_permissions_boundaries() -> None:
    """Give a stack's roles their permissions boundary, which ministack's IAM enforces and its CloudFormation ignores.

    Source: IAM API reference, CreateRole: the policy of the boundary has to exist.
    """
    provisioners, iam = module("services.cloudformation.provisioners"), module("services.iam")
    handlers = provisioners._RESOURCE_HANDLERS["AWS::IAM::Role"]
    create, update = handlers["create"], handlers["update"]

    def bounded(made: Any, properties: Any) -> Any:
        iam._roles[made[0]]["PermissionsBoundary"] = properties.get("PermissionsBoundary", "")
        return made

    def check(properties: Any) -> None:
        boundary = properties.get("PermissionsBoundary")
        if boundary and iam._boundary_policy_error(boundary):
            raise ValueError(f"Scope ARN: {boundary} does not exist or is not attachable.")

    def create_bounded(logical_id: str, properties: Any, stack_name: str) -> Any:
        check(properties)
        return bounded(create(logical_id, properties, stack_name), properties)

    def update_bounded(physical_id: str, old: Any, new: Any, *rest: Any) -> Any:
        check(new)
        return bounded(update(physical_id, old, new, *rest), new)

    handlers["create"], handlers["update"] = create_bounded, update_bounded


def _give_parameters_to_sam() -> None:
    """Give the transform of SAM the values of parameters, as CloudFormation does; ministack gives it the defaults only.

    The transform puts values into an API's resource policy by itself: with defaults, the policy was another one.
    """
    from samtranslator.translator import transform as sam  # only the emulator's environment has it

    engine = module("services.cloudformation.engine")
    original, translate = engine._apply_transforms, sam.transform

    def apply(template: Any, provided: Any = None, previous: Any = None) -> Any:
        token = _parameters.set(engine._transform_parameters(template, provided, previous))
        try:
            return original(template, provided, previous)
        finally:
            _parameters.reset(token)

    sam.transform = lambda template, _values, *rest: translate(template, dict(_parameters.get()), *rest)
    for name in ("engine", "changesets", "handlers"):
        module(f"services.cloudformation.{name}")._apply_transforms = apply
