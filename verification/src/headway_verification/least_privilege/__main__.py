"""`make iam-proof`: the grants of each function's role, their use in runs, and the findings.

python -m headway_verification.least_privilege [FOLDER]     # build/calls, with the records of runs

Exit code 1 if a grant is missing, unused or too wide, or if there is no record of the current sources.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from headway.errors import HeadwayError
from headway_sandbox import call_recorder
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.template import expanded
from headway_verification.least_privilege.compare import Proof, Use, prove
from headway_verification.least_privilege.exceptions import GRANTED_WITHOUT_A_RUN
from headway_verification.least_privilege.grants import Grant, granted


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and the findings, and return the exit code."""
    checkout = Checkout.here()
    parser = argparse.ArgumentParser(description="Compare the functions' policies with the recorded calls of runs.")
    parser.add_argument(
        "folder", type=Path, nargs="?", default=checkout.calls_folder(), help="the folder of the records"
    )
    folder = parser.parse_args(arguments).folder
    try:
        found = list(call_recorder.read(folder))
        template = expanded(checkout)
    except HeadwayError as error:
        print(error, file=sys.stderr)
        return 1
    runs = [run for run in found if run.sources == checkout.code_hash()]
    if not runs:
        others = f", only {len(found)} of other sources" if found else ""
        print(
            f"There is no record of a run of these sources in {folder}{others}: run `make test`, or at least "
            "`make test-security`.",
            file=sys.stderr,
        )
        return 1
    proof = prove(granted(template), runs, GRANTED_WITHOUT_A_RUN)
    _show(proof)
    print(f"\nRuns of these sources: {len(runs)}; of other sources, left out: {len(found) - len(runs)}.")
    for finding in proof.findings:
        print(finding, file=sys.stderr)
    if not proof.findings:
        print("Each function has the permissions it needs, and no others.")
    return 1 if proof.findings else 0


def _show(proof: Proof) -> None:
    used = [_row(grant, use) for grant, use in proof.uses.items() if use.count or use.reason is None]
    print(tabulate(used, headers=["role", "statement", "action", "on", "used", "in runs"]), end="\n\n")
    reasons = [
        [reason.sid, ", ".join(sorted(reason.actions)), f"{reason.because} Source: {reason.source}."]
        for reason in GRANTED_WITHOUT_A_RUN
    ]
    print(
        tabulate(
            reasons, headers=["statement", "action", "granted without a run, because"], maxcolwidths=[None, 40, 80]
        )
    )


def _row(grant: Grant, use: Use) -> list[object]:
    statement = f"{grant.sid} if {grant.condition}" if grant.condition else grant.sid
    runs = ", ".join(f"{count} {name}" for name, count in sorted(use.runs.items()))
    return [grant.role.removesuffix("FunctionRole"), statement, grant.action, grant.resource, use.count, runs or "-"]


if __name__ == "__main__":
    sys.exit(main())
