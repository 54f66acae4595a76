"""Sets the stack's policy, by which CloudFormation refuses to replace or remove the table for all callers.

    python -m deploy.stack_policy samconfig.toml prod

Source: CloudFormation user guide, "Prevent updates to stack resources".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import boto3

from deploy.samconfig_arguments import make_parser
from headway_client.account.samconfig import read_target
from headway_client.errors import UsageError

POLICY = Path(__file__).with_name("stack-policy.json")


def main(argv: Sequence[str] | None = None) -> None:
    """Set the policy of the stack that sam deploys."""
    parser = make_parser("Have CloudFormation refuse to replace or remove the table.")
    args = parser.parse_args(argv)
    try:
        target = read_target(args.config, args.env)
    except UsageError as error:
        raise SystemExit(error.full_message()) from None
    session = boto3.Session(region_name=target.region, profile_name=target.profile)
    session.client("cloudformation").set_stack_policy(
        StackName=target.stack, StackPolicyBody=POLICY.read_text(encoding="utf-8")
    )


if __name__ == "__main__":
    main()
