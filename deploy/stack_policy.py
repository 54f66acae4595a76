"""Sets the stack's policy, by which CloudFormation refuses to replace or remove the table for all callers.

    python -m deploy.stack_policy samconfig.toml prod

Source: CloudFormation user guide, "Prevent updates to stack resources".
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import boto3

POLICY = Path(__file__).with_name("stack-policy.json")


def main(argv: Sequence[str] | None = None) -> None:
    """Set the policy of the stack that sam deploys."""
    parser = argparse.ArgumentParser(description="Have CloudFormation refuse to replace or remove the table.")
    parser.add_argument("config", type=Path, help="the samconfig that sam deploys with")
    parser.add_argument("env", help="the part of it")
    args = parser.parse_args(argv)
    target = read_config(args.config, args.env)
    session = boto3.Session(region_name=target.region, profile_name=target.profile)
    session.client("cloudformation").set_stack_policy(
        StackName=target.stack, StackPolicyBody=POLICY.read_text(encoding="utf-8")
    )


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


if __name__ == "__main__":
    main()
