"""What `make deploy` does around `sam deploy`, so that no update removes or overwrites what keeps the queue.

    python -m deploy.guard check samconfig.toml prod [--replace JobsTable]
    python -m deploy.guard protect samconfig.toml prod

`check` reads the change set that `sam deploy --no-execute-changeset` has left, before anything is touched. `protect`
sets the stack's policy, by which CloudFormation refuses the same changes for all callers. Both use stack-policy.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

POLICY = Path(__file__).with_name("stack-policy.json")
NO_PROTECTION = {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "Update:*", "Resource": "*"}]}
_DONE = {"Update:Delete": "remove", "Update:Replace": "replace", "Update:Modify": "overwrite"}
_RESOURCE = "LogicalResourceId/"
_MADE_BY_SAM = "samcli-deploy"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the two commands; 1 if the update has to be refused."""
    parser = argparse.ArgumentParser(description="Guard what keeps the queue while its stack is updated.")
    parser.add_argument("command", choices=["check", "protect"])
    parser.add_argument("config", type=Path, help="the samconfig that sam deploys with")
    parser.add_argument("env", help="the part of it")
    parser.add_argument(
        "--replace", nargs="+", default=[], help="resources that may be replaced, removed or overwritten this once"
    )
    args = parser.parse_args(argv)
    target = read_config(args.config, args.env)
    session = boto3.Session(region_name=target.region, profile_name=target.profile)
    formation, stack = session.client("cloudformation"), target.stack
    if args.command == "protect":
        formation.set_stack_policy(StackName=stack, StackPolicyBody=POLICY.read_text(encoding="utf-8"))
        return 0
    kept = {name: denied for name, denied in protected().items() if name not in args.replace}
    losses = list(find_losses(read_changes(formation, stack), kept))
    print(*losses, sep="\n", file=sys.stderr)
    if not losses and args.replace:
        formation.set_stack_policy(StackName=stack, StackPolicyBody=json.dumps(NO_PROTECTION))
    return 1 if losses else 0


@dataclass(frozen=True, kw_only=True)
class Target:
    """The stack that sam deploys, with its region and profile as far as its configuration sets them."""

    stack: str
    region: str | None
    profile: str | None


def read_config(config: Path, env: str) -> Target:
    """What sam reads of its configuration."""
    parts = tomllib.loads(config.read_text(encoding="utf-8")).get(env, {})
    found = {**parts.get("global", {}).get("parameters", {}), **parts.get("deploy", {}).get("parameters", {})}
    if "stack_name" not in found:
        raise SystemExit(f"{config} names no stack_name for {env}: is it ENV=dev or ENV=prod?")
    return Target(stack=found["stack_name"], region=found.get("region"), profile=found.get("profile"))


def protected() -> dict[str, set[str]]:
    """The actions that stack-policy.json denies, by logical id: ``Update:Modify``, ``:Replace`` and ``:Delete``."""
    found: dict[str, set[str]] = {}
    for statement in json.loads(POLICY.read_text(encoding="utf-8"))["Statement"]:
        if statement["Effect"] == "Deny":
            for resource in statement["Resource"]:
                found.setdefault(resource.removeprefix(_RESOURCE), set()).update(statement["Action"])
    return found


def read_changes(formation: CloudFormationClient, stack: str) -> Sequence[Mapping[str, Any]]:
    """What the stack's youngest change set changes. It was made to be read only, and is deleted."""
    try:
        pages = list(formation.get_paginator("list_change_sets").paginate(StackName=stack))
    except ClientError as error:
        if "does not exist" in error.response["Error"]["Message"]:
            return []
        raise
    made = [each for page in pages for each in page["Summaries"] if each["ChangeSetName"].startswith(_MADE_BY_SAM)]
    available = [each for each in made if each["ExecutionStatus"] == "AVAILABLE"]
    if not available:
        return []  # sam has deleted it, as there is nothing to change
    name = max(available, key=lambda each: each["CreationTime"])["ChangeSetId"]
    described = formation.get_paginator("describe_change_set").paginate(ChangeSetName=name)
    changes = [change["ResourceChange"] for page in described for change in page["Changes"]]
    formation.delete_change_set(ChangeSetName=name)
    return changes


def find_losses(changes: Iterable[Mapping[str, Any]], kept: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield a sentence for each change by which the stack would lose the contents of a resource.

    Args:
        changes: the resource changes of a change set.
        kept: the forbidden actions by logical id, as :func:`protected` returns them.
    """
    for change in changes:
        name = change["LogicalResourceId"]
        action, causes = _action(change)
        if action in kept.get(name, ()):
            why = f" ({', '.join(causes)})" if causes else ""
            yield (
                f"Refused: this update would {_DONE[action]} {name}, {change.get('PhysicalResourceId', '')}{why}. "
                f"Nothing was changed. Revert that change, or deploy with REPLACE={name} to continue without the "
                "contents."
            )


def _action(change: Mapping[str, Any]) -> tuple[str, list[str]]:
    """What a stack policy calls a change, and the properties by which it comes about."""
    if change["Action"] == "Remove":
        return "Update:Delete", []
    causes = _recreating(change)
    if causes or change.get("Replacement") == "True":
        return "Update:Replace", causes
    if change["Action"] == "Add":
        return "", []
    # Whatever is modified, tags too: CloudFormation writes a parameter with the template's value then.
    targets = [detail["Target"] for detail in change.get("Details", [])]
    return "Update:Modify", sorted({each.get("Name", each["Attribute"]) for each in targets})


def _recreating(change: Mapping[str, Any]) -> list[str]:
    """The properties for which a resource is replaced, or may be: CloudFormation calls it "Conditional".

    Attributes are defined for each new index, which replaces nothing. Where they would replace the table, as one of its
    keys gets another type, CloudFormation refuses: the new table can't have the name of the old one.
    """
    if change.get("Replacement") not in {"True", "Conditional"}:
        return []
    targets = [detail["Target"] for detail in change.get("Details", [])]
    names = {each.get("Name", each["Attribute"]) for each in targets if each["RequiresRecreation"] != "Never"}
    return sorted(names - {"AttributeDefinitions"})


if __name__ == "__main__":
    sys.exit(main())
