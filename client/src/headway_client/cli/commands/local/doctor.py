"""The command doctor: find problems in the connection to the queue, and how to fix them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headway.sanitize import strip_control_characters
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import colour, show_rows, worst
from headway_client.cli.interruption import UNCHANGED

if TYPE_CHECKING:
    from headway_client.cli.diagnostics import Finding
    from headway_client.cli.output.table import Table


@click.command("doctor", cls=Command, rows=True, interrupted=UNCHANGED)
@pass_common
def doctor(common: CommonOptions) -> int:
    """Check endpoint, network, credentials, clock and versions, and say how to fix problems."""
    from headway_client.cli.diagnostics import examine

    findings = []
    for finding in examine(common.connection):
        findings.append(finding)
        if common.for_people:
            print(_lines(finding), flush=True)
    if not common.for_people:
        document = {
            "findings": [
                {"check": each.check, "result": each.result, "message": each.message, "remedy": each.remedy}
                for each in findings
            ]
        }
        show_rows(common, document, lambda *, wide: _table(findings))  # noqa: ARG005
    return worst(finding.exit_code for finding in findings)


def _lines(finding: Finding) -> str:
    from headway_client.cli.output.table import coloured

    result = f"{finding.result:<8}"
    shown = result.replace(finding.result, coloured(finding.result)) if colour() else result
    remedy = f"\n{' ' * 21}{strip_control_characters(finding.remedy)}" if finding.remedy else ""
    return f"{shown} {finding.check:<12}{strip_control_characters(finding.message)}{remedy}"


def _table(findings: list[Finding]) -> Table:
    from headway_client.cli.output.table import NONE, Table

    rows = [[each.check, each.result, each.message, each.remedy or NONE] for each in findings]
    return Table(headers=["Check", "State", "Finding", "Remedy"], rows=rows)
