"""What `make deploy` checks before it changes anything.

    python -m deploy.preflight samconfig.toml prod

CloudFormation creates the table early, and keeps it if the first deployment fails later; the table then blocks the next
deployment. So what can fail later is checked before, by the checks of `headway doctor --account`
(`headway_client.account`), which say what is refused (`BLOCKING`) and what is only noted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from deploy import policy_sizes
from deploy.resolve import Place
from deploy.samconfig_arguments import make_parser
from headway_client.account.examine import Given, Subject, examine
from headway_client.account.finding import Finding
from headway_client.account.parameters import read_declared
from headway_client.account.samconfig import read_overrides, read_target
from headway_client.account.seen import Identity
from headway_client.account.session import configured_connection, make_clients
from headway_client.errors import ClientError

BUILT = Path(".aws-sam/build/template.yaml")


def main(argv: Sequence[str] | None = None) -> int:
    """Check; 1 if the deployment would fail."""
    parser = make_parser("Check parameters and account before a deployment.")
    parser.add_argument("--template", type=Path, default=BUILT, help="the template that is deployed")
    args = parser.parse_args(argv)
    try:
        target = read_target(args.config, args.env)
        given = Given(
            overrides=read_overrides(args.config, args.env),
            declared=read_declared(args.template),
            check=partial(check_policies, args.template, target.stack),
        )
        subject = Subject(stack=target.stack, given=given, connection=configured_connection())
        findings = list(examine(make_clients(region=target.region, profile=target.profile), subject))
    except ClientError as error:
        raise SystemExit(error.full_message()) from None
    refused = [each for each in findings if each.blocks_deployment]
    noted = [each for each in findings if each.result != "ok" and not each.blocks_deployment]
    print(*(f"Note: {each.sentence}" for each in noted), sep="\n", end="\n" * bool(noted), file=sys.stderr)
    print(*(f"Refused: {each.sentence}" for each in refused), sep="\n", end="\n" * bool(refused), file=sys.stderr)
    if refused:
        print("Nothing was changed. CHECKS=no deploys without these checks.", file=sys.stderr)
    return 1 if refused else 0


def check_policies(template: Path, stack: str, values: Mapping[str, str], identity: Identity) -> Iterator[Finding]:
    """Find the policies of the stack that AWS would refuse for their sizes, which depend on the lists in parameters."""
    place = Place(stack=stack, partition=identity.partition, region=identity.region, account=identity.account)
    return policy_sizes.check(template, values, place)


if __name__ == "__main__":
    sys.exit(main())
