"""The functions of a queue, which can be halted and started again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headway_sandbox.local.sandbox import Sandbox

Client = Callable[[str], Any]
"""Makes a client for a service."""


class Functions:
    """All functions of the queue. As a context manager, they go on at its end.

    Args:
        operator: halts and resumes them; by default the account's root.
    """

    def __init__(self, sandbox: Sandbox, operator: Client | None = None) -> None:
        operator = operator or sandbox.client
        self._client: Any = operator("lambda")
        pages = operator("cloudformation").get_paginator("list_stack_resources").paginate(StackName=sandbox.info.stack)
        names = [
            each["PhysicalResourceId"]
            for page in pages
            for each in page["StackResourceSummaries"]
            if each["ResourceType"] == "AWS::Lambda::Function"
        ]
        reserved = sandbox.client("lambda").get_function_concurrency
        self._reserved = {name: reserved(FunctionName=name) for name in names}

    def __enter__(self) -> Functions:
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on()

    def halt(self) -> None:
        """Let no function run."""
        for name in self._reserved:
            self._client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)

    def go_on(self) -> None:
        """Let them run as before."""
        for name, before in self._reserved.items():
            if "ReservedConcurrentExecutions" in before:
                reserved = before["ReservedConcurrentExecutions"]
                self._client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=reserved)
            else:
                self._client.delete_function_concurrency(FunctionName=name)


def table_of(sandbox: Sandbox) -> str:
    """The name of the queue's table."""
    found = sandbox.client("cloudformation").describe_stack_resource(
        StackName=sandbox.info.stack, LogicalResourceId="JobsTable"
    )
    return str(found["StackResourceDetail"]["PhysicalResourceId"])
