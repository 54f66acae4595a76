"""What `make deploy` checks before it changes anything.

    python -m deploy.preflight samconfig.toml prod

CloudFormation creates the table early, and keeps it if the first deployment fails later; the table then blocks the next
deployment. So what can fail later is checked before: the parameters, the stack, the table's name, the endpoints, the
concurrency to reserve.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from deploy import parameters
from deploy.account import Account, Endpoint, Stack, read_account, read_stack
from deploy.stack_policy import read_config

BUILT = Path(".aws-sam/build/template.yaml")

MAX_STACK_NAME_CHARS = 57
"""The longest name of a queue has 23 characters more (-wake-dead-letters.fifo), and SQS takes 80."""

MIN_UNRESERVED = 100
"""Concurrent executions that no function may reserve (Lambda developer guide, "Configuring reserved concurrency")."""


def main(argv: Sequence[str] | None = None) -> int:
    """Check; 1 if the deployment would fail."""
    parser = argparse.ArgumentParser(description="Check parameters and account before a deployment.")
    parser.add_argument("config", type=Path, help="the samconfig that sam deploys with")
    parser.add_argument("env", help="the part of it")
    parser.add_argument("--template", type=Path, default=BUILT, help="the template that is deployed")
    args = parser.parse_args(argv)
    target = read_config(args.config, args.env)
    given, declared = parameters.read_overrides(args.config, args.env), parameters.read_declared(args.template)
    notes: list[str] = []
    try:
        session = boto3.Session(region_name=target.region, profile_name=target.profile)
        stack = read_stack(session, target.stack)
        # An update keeps the values that it does not give.
        wanted = parameters.values(given, {} if stack.is_to_be_created else stack.parameters, declared)
        invalid = list(parameters.find_invalid(given, wanted, declared))
        problems = [*invalid, *find_stack_problems(target.stack, stack)]
        if not invalid:
            account = read_account(session, wanted)
            problems += find_problems(wanted, stack, account)
            notes += find_notes(account)
    except (BotoCoreError, ClientError) as error:
        raise SystemExit(f"The account can't be checked: {error}") from None
    for sentence in [*(f"Note: {note}" for note in notes), *(f"Refused: {problem}" for problem in problems)]:
        print(sentence, file=sys.stderr)
    if problems:
        print("Nothing was changed. CHECKS=no deploys without these checks.", file=sys.stderr)
    return 1 if problems else 0


def find_stack_problems(name: str, stack: Stack) -> Iterator[str]:
    """Yield a sentence for each reason for which the stack can't be deployed.

    Args:
        name: of the stack.
        stack: as it is.
    """
    if len(name) > MAX_STACK_NAME_CHARS:
        yield f"The stack's name, {name}, has {len(name)} characters; at most {MAX_STACK_NAME_CHARS} are possible."
    if stack.can_only_be_deleted:
        yield (
            f"The stack {name} is {stack.status}, and can only be deleted: `aws cloudformation delete-stack "
            f"--stack-name {name}`, then `aws cloudformation wait stack-delete-complete --stack-name {name}`."
        )
    elif stack.status == "UPDATE_ROLLBACK_FAILED":
        yield (
            f"The stack {name} is {stack.status}: fix the cause that its events name, then `aws cloudformation "
            f"continue-update-rollback --stack-name {name}`."
        )
    elif stack.status.endswith("_IN_PROGRESS") and not stack.is_to_be_created:
        yield f"The stack {name} is {stack.status}: wait until that has ended."


def find_problems(wanted: Mapping[str, str], stack: Stack, account: Account) -> Iterator[str]:
    """Yield a sentence for each reason for which the deployment would fail in this account.

    Args:
        wanted: the parameters of the deployment.
        stack: the stack as it is.
        account: the account as it is.
    """
    if stack.is_to_be_created and account.table_has_items is not None:
        yield _table_problem(wanted["TableName"], has_items=account.table_has_items)
    concurrency = int(wanted["ScheduleConcurrency"])
    more = concurrency - (
        0 if stack.is_to_be_created else int(stack.parameters.get("ScheduleConcurrency", concurrency))
    )
    if more > 0 and account.unreserved is not None and account.unreserved - more < MIN_UNRESERVED:
        yield (
            f"ScheduleConcurrency={concurrency} can't be reserved: {account.unreserved} concurrent executions are "
            f"unreserved in this account and region, and Lambda keeps {MIN_UNRESERVED} of them. Set "
            "ScheduleConcurrency=0, or ask for a higher quota."
        )
    if account.endpoints is not None:
        yield from _endpoint_problems(wanted["VpcEndpointIds"].split(","), account.endpoints, account)
    yield from _arn_problems(wanted, account)
    if bool(wanted["FunctionSubnetIds"]) != bool(wanted["FunctionSecurityGroupIds"]):
        yield "FunctionSubnetIds and FunctionSecurityGroupIds belong together: give both or neither."
    if wanted["CreateApiLoggingRole"] == "false" and account.logs_apis is False:
        yield (
            "API Gateway has no role for logs in this account and region, and refuses an API that logs: set "
            "CreateApiLoggingRole=true."
        )


def find_notes(account: Account) -> Iterator[str]:
    """Yield a sentence for what does not stop the deployment, and what could not be checked."""
    yield from account.unread
    for name, endpoint in (account.endpoints or {}).items():
        if not endpoint.private_names:
            yield f"{name} has no private names: clients use the output ApiEndpointWithoutPrivateDns."
    if account.unreserved is not None and account.unreserved < MIN_UNRESERVED:
        yield (
            f"Lambda runs at most {account.unreserved} executions at once for all functions that reserve none, so "
            "bursts of calls and events are throttled. Ask for a higher quota (Service Quotas, AWS Lambda)."
        )


def _table_problem(name: str, *, has_items: bool) -> str:
    if has_items:
        return (
            f"The table {name} already exists and has items, perhaps of a deleted queue. Give another TableName for a "
            'new queue, or adopt the table (docs/how-to/release.md, "Deploy again").'
        )
    return (
        f"The table {name} already exists and is empty, as a first deployment that failed leaves it. Delete it: `aws "
        f"dynamodb update-table --table-name {name} --no-deletion-protection-enabled`, then `aws dynamodb delete-table "
        f"--table-name {name}`. Or give another TableName."
    )


def _endpoint_problems(ids: Sequence[str], found: Mapping[str, Endpoint], account: Account) -> Iterator[str]:
    for name in ids:
        endpoint = found.get(name)
        if endpoint is None:
            yield f"The VPC endpoint {name} (VpcEndpointIds) does not exist in account {account.id}, {account.region}."
        elif not endpoint.service.endswith(".execute-api"):
            yield f"The VPC endpoint {name} (VpcEndpointIds) is for {endpoint.service}: name one for execute-api."
        elif endpoint.state.lower() != "available":
            yield f"The VPC endpoint {name} (VpcEndpointIds) is {endpoint.state}: it must be available."


def _arn_problems(wanted: Mapping[str, str], account: Account) -> Iterator[str]:
    """What parameters name in another account or region. Roles have no region."""
    for parameter in ("TrainingRoleArns", "KmsKeyArn", "AlarmTopicArn"):
        for arn in filter(None, wanted[parameter].split(",")):
            _, _, _, region, owner, *_ = arn.split(":")
            if parameter == "TrainingRoleArns" and owner != account.id:
                yield f"{arn} (TrainingRoleArns) is of account {owner}: name roles of account {account.id}."
            if region and region != account.region:
                yield f"{arn} ({parameter}) is in {region}, and the queue in {account.region}: name one there."


if __name__ == "__main__":
    sys.exit(main())
