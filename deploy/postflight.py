"""What `make deploy` checks at its end: each function of the stack is invoked once, and answers.

    python -m deploy.postflight samconfig.toml prod

CloudFormation runs no function: a version that cannot be imported is deployed successfully. The events change nothing
(`headway_client.account.functions`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from deploy.samconfig_arguments import make_parser
from headway_client.account.examine import Subject, invoke_all
from headway_client.account.samconfig import read_target
from headway_client.account.session import configured_connection, make_clients
from headway_client.errors import ClientError


def main(argv: Sequence[str] | None = None) -> int:
    """Invoke the functions; 1 if one of them, or the API, does not answer as it has to."""
    parser = make_parser("Invoke each function of a deployed stack once.")
    args = parser.parse_args(argv)
    try:
        target = read_target(args.config, args.env)
        subject = Subject(stack=target.stack, connection=configured_connection())
        findings = list(invoke_all(make_clients(region=target.region, profile=target.profile), subject))
    except ClientError as error:
        raise SystemExit(error.full_message()) from None
    for each in findings:
        print(f"{each.result}: {each.sentence}", file=sys.stdout if each.result == "ok" else sys.stderr)
    return 1 if any(each.result == "problem" for each in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
