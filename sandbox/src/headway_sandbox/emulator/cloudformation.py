"""With its siblings `emulated_…` and `emulator` the one place that touches ministack: how it updates stacks.

ministack makes change sets, rolls back and retains as CloudFormation does. Put right here is what a release depends on:

- The functions of a stack are updated one after the other, and meanwhile the rest of the account goes on.
- An API keeps its id, and so its address, when its paths change.
- A table whose name is taken is not made anew over the one that is there.
- An update that the stack's policy denies fails and is rolled back. Not covered: policies that deny Update:Delete.

Written against the ministack that `emulator` asks for.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import time
from typing import Any

from headway_sandbox.emulator import stack_policy
from headway_sandbox.emulator.patches import module

UPDATE_S = 0.5
"""How long the update of a function takes. On AWS it is seconds."""

_FUNCTION = "AWS::Lambda::Function"


def prepare() -> None:
    """Fill ministack's gaps that matter here. Called once, after `emulator.prepare`."""
    _go_on_meanwhile()
    _keep_addresses()
    _refuse_taken_tables()
    _obey_stack_policies()


def _go_on_meanwhile() -> None:
    """Update functions beside everything else, where ministack holds all else up until a whole stack is updated."""
    stacks = module("services.cloudformation.stacks")
    original = stacks._runs_on_worker_thread

    def beside(resource_type: str) -> bool:
        return resource_type == _FUNCTION or bool(original(resource_type))

    stacks._runs_on_worker_thread = beside


def _keep_addresses() -> None:
    """Change the paths of an API in its place, where ministack makes another API, which nobody calls.

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


def _refuse_taken_tables() -> None:
    """Where a table is, none can be made. ministack puts an empty one in its place."""
    provisioners, dynamodb = module("services.cloudformation.provisioners"), module("services.dynamodb")
    handlers = provisioners._RESOURCE_HANDLERS["AWS::DynamoDB::Table"]
    create = provisioners._ddb_create

    def refusing(logical_id: str, properties: Any, stack_name: str) -> Any:
        name = properties.get("TableName")
        if name and name in dynamodb._tables:
            raise ValueError(f"Resource of type 'AWS::DynamoDB::Table' with identifier '{name}' already exists.")
        return create(logical_id, properties, stack_name)

    provisioners._ddb_create = handlers["create"] = refusing


def _obey_stack_policies() -> None:
    """Fail updates that the stack's policy denies; ministack keeps the policy and asks nobody."""
    stacks, formation = module("services.cloudformation.stacks"), module("services.cloudformation")
    original = stacks._update_resource

    def update(kind: str, physical_id: str, old: Any, new: Any, stack_name: str, logical_id: str, *rest: Any) -> Any:
        stack = formation._stacks.get(stack_name) or {}
        # A rollback is asked nothing.
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
