"""The stack as CloudFormation and the other services show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway_sandbox.local.sandbox import Sandbox
from headway_verification.upgrade.workspace import STACK

Event = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Fate:
    """What became of a resource when its stack was deleted."""

    logical_id: str
    kind: str
    kept: bool


class StackView:
    """Reads the stack of a sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._formation = sandbox.client("cloudformation")
        self._id = STACK

    def status(self) -> str:
        """Such as UPDATE_ROLLBACK_COMPLETE. Remembers the stack, which has no name any more once it is deleted."""
        (stack,) = self._formation.describe_stacks(StackName=self._id)["Stacks"]
        self._id = stack["StackId"]
        return str(stack["StackStatus"])

    def forget(self) -> None:
        """Read the next stack of that name."""
        self._id = STACK

    def events(self) -> list[Event]:
        """All events, the youngest first."""
        pages = self._formation.get_paginator("describe_stack_events").paginate(StackName=self._id)
        return [event for page in pages for event in page["StackEvents"]]

    def fates(self) -> list[Fate]:
        """What became of each resource, after the stack's deletion."""
        ends = {"DELETE_COMPLETE": False, "DELETE_SKIPPED": True}
        last = {event["LogicalResourceId"]: event for event in reversed(self.events())}
        return [
            Fate(logical_id=name, kind=event["ResourceType"], kept=ends[event["ResourceStatus"]])
            for name, event in sorted(last.items())
            if event["ResourceType"] != "AWS::CloudFormation::Stack" and event["ResourceStatus"] in ends
        ]

    def codes(self) -> dict[str, str]:
        """What each function runs, as `headway_sandbox.emulator.patches.Worker.code` has it."""
        pages = self._sandbox.client("lambda").get_paginator("list_functions").paginate()
        functions = [entry for page in pages for entry in page["Functions"]]
        return {
            entry["FunctionName"]: " ".join([entry["CodeSha256"], *(layer["Arn"] for layer in entry["Layers"])])
            for entry in functions
        }

    def items(self, table: str) -> int:
        """How many items a table has."""
        pages = self._sandbox.client("dynamodb").get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        return sum(len(page["Items"]) for page in pages)

    def leftovers(self) -> list[str]:
        """All functions, queues, topics, APIs and parameters of the sandbox, of any stack."""
        sandbox = self._sandbox
        return [
            *(entry["FunctionName"] for entry in sandbox.client("lambda").list_functions()["Functions"]),
            *sandbox.client("sqs").list_queues().get("QueueUrls", []),
            *(entry["TopicArn"] for entry in sandbox.client("sns").list_topics()["Topics"]),
            *(entry["id"] for entry in sandbox.client("apigateway").get_rest_apis()["items"]),
            *(entry["Name"] for entry in sandbox.client("ssm").describe_parameters()["Parameters"]),
        ]
