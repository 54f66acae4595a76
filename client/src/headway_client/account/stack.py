"""Can the stack be deployed, and with its table?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headway_client.account.finding import Finding, Unread
from headway_client.account.seen import UNKNOWN_STACK, Stack

MAX_STACK_NAME_CHARS = 57
"""The longest name of a queue has 23 characters more (-wake-dead-letters.fifo), and SQS takes 80."""

MIN_UNRESERVED = 100
"""Concurrent executions that no function may reserve (Lambda developer guide, "Configuring reserved concurrency")."""


def check_stack(name: str, stack: Stack) -> Iterator[Finding]:
    """Check the name and the state of the stack.

    Args:
        name: of the stack.
    """
    asked = f"the stack {name}"
    if len(name) > MAX_STACK_NAME_CHARS:
        said = f"its name has {len(name)} characters; at most {MAX_STACK_NAME_CHARS} are possible"
        yield _problem("stack", asked, said, "Give it a shorter name.")
    if stack.can_only_be_deleted:
        remedy = (
            f"Run `aws cloudformation delete-stack --stack-name {name}`, then `aws cloudformation wait "
            f"stack-delete-complete --stack-name {name}`."
        )
        yield _problem("stack", asked, f"{stack.status}: it can only be deleted", remedy)
    elif stack.status == "UPDATE_ROLLBACK_FAILED":
        remedy = (
            "Fix the cause that its events name, then run `aws cloudformation continue-update-rollback --stack-name "
            f"{name}`."
        )
        yield _problem("stack", asked, f"{stack.status}: it can't be updated", remedy)
    elif stack.status.endswith("_IN_PROGRESS") and not stack.is_to_be_created:
        yield _problem("stack", asked, f"{stack.status}: it is being changed", "Wait until that has ended.")
    else:
        said = "it does not exist yet" if stack.is_to_be_created else stack.status
        yield Finding(check="stack", result="ok", asked=asked, said=said)


def check_table(wanted: Mapping[str, str], stack: Stack, *, has_items: bool | Unread | None) -> Iterator[Finding]:
    """Check the name of the table.

    Args:
        wanted: the parameters that the stack will have.
        stack: as it is.
        has_items: whether the table of the wanted name has any; None if there is no such table.
    """
    name = wanted.get("TableName", "")
    asked = f"the table {name}"
    present = stack.parameters.get("TableName", name)
    if stack == UNKNOWN_STACK:
        said = "whether it is the stack's is not known, as the stack could not be read"
        yield Finding(check="table", result="note", asked=asked, said=said)
    elif not stack.is_to_be_created:
        yield _check_present_table(name, present)
    elif isinstance(has_items, Unread):
        yield has_items.note("table", asked)
    elif has_items is None:
        yield Finding(check="table", result="ok", asked=asked, said="the name is free")
    elif has_items:
        remedy = 'Give another TableName for a new queue, or adopt the table (docs/how-to/release.md, "Deploy again").'
        yield _problem("table", asked, "it already exists and has items, perhaps of a deleted queue", remedy)
    else:
        remedy = (
            f"Delete it: `aws dynamodb update-table --table-name {name} --no-deletion-protection-enabled`, then `aws "
            f"dynamodb delete-table --table-name {name}`. Or give another TableName."
        )
        said = "it already exists and is empty, as a first deployment that failed leaves it"
        yield _problem("table", asked, said, remedy)


def _check_present_table(name: str, present: str) -> Finding:
    if name == present:
        return Finding(check="table", result="ok", asked=f"the table {name}", said="it is the stack's")
    said = f"the stack's table is {present}; with TableName={name} it would begin with an empty queue"
    remedy = f"Set TableName={present}; for a second queue use another stack name."
    return _problem("table", f"TableName={name}", said, remedy)


def check_concurrency(wanted: Mapping[str, str], stack: Stack, unreserved: int | Unread) -> Iterator[Finding]:
    """Check whether the wanted concurrency can be reserved.

    Args:
        wanted: the parameters that the stack will have.
        stack: as it is, with what it reserves already.
        unreserved: concurrent executions that no function has reserved.
    """
    concurrency = int(wanted.get("ScheduleConcurrency") or 0)
    asked = f"ScheduleConcurrency={concurrency}"
    if isinstance(unreserved, Unread):
        yield unreserved.note("concurrency", asked)
        return
    reserved = 0 if stack.is_to_be_created else int(stack.parameters.get("ScheduleConcurrency", concurrency))
    more = concurrency - reserved
    if more > 0 and unreserved - more < MIN_UNRESERVED:
        said = (
            f"{unreserved} concurrent executions are unreserved in this account and region, and Lambda keeps "
            f"{MIN_UNRESERVED} of them"
        )
        yield _problem("concurrency", asked, said, "Set ScheduleConcurrency=0, or ask for a higher quota.")
    elif unreserved < MIN_UNRESERVED:
        said = (
            f"Lambda runs at most {unreserved} executions at once for all functions that reserve none, so bursts of "
            "calls and events are throttled"
        )
        remedy = "Ask for a higher quota (Service Quotas, AWS Lambda, Concurrent executions)."
        yield Finding(check="concurrency", result="note", asked=asked, said=said, remedy=remedy)
    else:
        said = f"{unreserved} concurrent executions are unreserved"
        yield Finding(check="concurrency", result="ok", asked=asked, said=said)


def check_api_logs(wanted: Mapping[str, str], *, logs_apis: bool | Unread) -> Iterator[Finding]:
    """Check whether API Gateway has, or gets, a role for logs.

    Args:
        wanted: the parameters that the stack will have.
        logs_apis: whether it has one.
    """
    creates = wanted.get("CreateApiLoggingRole", "true")
    asked = f"CreateApiLoggingRole={creates}"
    if isinstance(logs_apis, Unread):
        yield logs_apis.note("api logs", asked)
    elif creates == "false" and not logs_apis:
        said = "API Gateway has no role for logs in this account and region, and refuses an API that logs"
        yield _problem("api logs", asked, said, "Set CreateApiLoggingRole=true.")
    else:
        said = "API Gateway has a role for logs" if logs_apis else "the stack makes API Gateway's role for logs"
        yield Finding(check="api logs", result="ok", asked=asked, said=said)


def _problem(check: str, asked: str, said: str, remedy: str) -> Finding:
    return Finding(check=check, result="problem", asked=asked, said=said, remedy=remedy)
