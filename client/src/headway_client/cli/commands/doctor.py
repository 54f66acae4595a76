"""The command doctor: what is wrong on the way to the queue, and how to mend it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from headway.sanitize import neutralise
from headway_client.cli.context import colour, show_rows, worst
from headway_client.cli.grammar import Commands

if TYPE_CHECKING:
    from headway_client.cli.diagnostics import Finding
    from headway_client.cli.output.table import Table


def register(commands: Commands) -> None:
    """Say which arguments it takes."""
    commands.add(
        "doctor",
        doctor,
        "check endpoint, network, credentials, clock and versions, and say how to mend them",
        rows=True,
    )


def doctor(args: argparse.Namespace) -> int:
    """Check the way to the queue; the exit code is that of the worst problem."""
    from headway_client.cli.diagnostics import examine

    findings = []
    for finding in examine(endpoint=args.endpoint, profile=args.profile, region=args.region):
        findings.append(finding)
        if args.output in {"table", "wide"}:
            print(_lines(finding), flush=True)
    if args.output in {"json", "csv"}:
        document = {
            "findings": [
                {"check": each.check, "result": each.result, "message": each.message, "remedy": each.remedy}
                for each in findings
            ]
        }
        show_rows(args, document, lambda *, wide: _table(findings))  # noqa: ARG005
    return worst(finding.exit_code for finding in findings)


def _lines(finding: Finding) -> str:
    from headway_client.cli.output.table import coloured

    result = f"{finding.result:<8}"
    shown = result.replace(finding.result, coloured(finding.result)) if colour() else result
    remedy = f"\n{' ' * 21}{neutralise(finding.remedy)}" if finding.remedy else ""
    return f"{shown} {finding.check:<12}{neutralise(finding.message)}{remedy}"


def _table(findings: list[Finding]) -> Table:
    from headway_client.cli.output.table import NONE, Table

    rows = [[each.check, each.result, each.message, each.remedy or NONE] for each in findings]
    return Table(headers=["Check", "State", "Finding", "Remedy"], rows=rows)
