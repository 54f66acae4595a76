"""The stack as reported by CloudFormation and the other services."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway_sandbox.local.sandbox import Sandbox
from headway_verification.upgrade.workspace import STACK

Event = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Fate:
    """The result of a resource's deletion with its stack."""

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
        """Return the status, such as UPDATE_ROLLBACK_COMPLETE.

        Caches the stack's id, as a deleted stack cannot be read by name.
        """
        (stack,) = self._formation.describe_stacks(StackName=self._id)["Stacks"]
        self._id = stack["StackId"]
        return str(stack["StackStatus"])

    def forget(self) -> None:
        """Select the next stack of that name."""
        self._id = STACK

    def events(self) -> list[Event]:
        """Return all events, the newest first."""
        pages = self._formation.get_paginator("describe_stack_events").paginate(StackName=self._id)
        return [event for page in pages for event in page["StackEvents"]]

    def fates(self) -> list[Fate]:
        """Return the result of each resource after the stack's deletion."""
        ends = {"DELETE_COMPLETE": False, "DELETE_SKIPPED": True}
        last = {event["LogicalResourceId"]: event for event in reversed(self.events())}
        return [
            Fate(logical_id=name, kind=event["ResourceType"], kept=ends[event["ResourceStatus"]])
            for name, event in sorted(last.items())
            if event["ResourceType"] != "AWS::CloudFormation::Stack" and event["ResourceStatus"] in ends
        ]

    def codes(self) -> dict[str, str]:
        """Return the code of each function, as in `headway_sandbox.emulator.patches.Worker.code`."""
        pages = self._sandbox.client("lambda").get_paginator("list_functions").paginate()
        functions = [entry for page in pages for entry in page["Functions"]]
        return {
            entry["FunctionName"]: " ".join([entry["CodeSha256"], *(layer["Arn"] for layer in entry["Layers"])])
            for entry in functions
        }

    def items(self, table: str) -> frozenset[tuple[str, str]]:
        """Return the keys of the items in a table."""
        pages = self._sandbox.client("dynamodb").get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        return frozenset((item["pk"]["S"], item["sk"]["S"]) for page in pages for item in page["Items"])

    def leftovers(self) -> list[str]:
        """Return all functions, queues, topics, APIs and parameters that exist."""
        sandbox = self._sandbox
        return [
            *(entry["FunctionName"] for entry in sandbox.client("lambda").list_functions()["Functions"]),
            *sandbox.client("sqs").list_queues().get("QueueUrls", []),
            *(entry["TopicArn"] for entry in sandbox.client("sns").list_topics()["Topics"]),
            *(entry["id"] for entry in sandbox.client("apigateway").get_rest_apis()["items"]),
            *(entry["Name"] for entry in sandbox.client("ssm").describe_parameters()["Parameters"]),
        ]
