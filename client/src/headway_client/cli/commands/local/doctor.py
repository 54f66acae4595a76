"""The command doctor: find problems in the connection to the queue, or in its AWS account, and how to fix them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
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
@click.option("--account", is_flag=True, help="Check the queue's AWS account in place of the connection.")
@click.option("--stack", metavar="NAME", help="With --account: the stack (headway, or that of --samconfig).")
@click.option(
    "--samconfig",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --account: check the deployment that sam would make with this configuration.",
)
@click.option("--env", metavar="ENV", help="The part of --samconfig: dev (default) or prod.")
@click.option(
    "--template",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The template of that deployment: template.yaml beside --samconfig by default.",
)
@click.option("--invoke", is_flag=True, help="With --account: invoke each function once, with a harmless event.")
@pass_common
def doctor(
    common: CommonOptions,
    *,
    account: bool,
    stack: str | None,
    samconfig: Path | None,
    env: str | None,
    template: Path | None,
    invoke: bool,
) -> int:
    """Check endpoint, network, credentials, clock and versions, and say how to fix problems."""
    if not account and (stack or samconfig or env or template or invoke):
        raise click.UsageError("--stack, --samconfig, --env, --template and --invoke need --account.")
    if samconfig is None and (env or template):
        raise click.UsageError("--env and --template need --samconfig.")
    if account:
        from headway_client.cli.account_diagnostics import AccountOptions, examine_account

        options = AccountOptions(stack=stack, samconfig=samconfig, env=env, template=template, invoke=invoke)
        return _show(common, examine_account(common, options))
    from headway_client.cli.diagnostics import examine

    return _show(common, examine(common.connection))


def _show(common: CommonOptions, found: Iterator[Finding]) -> int:
    findings = []
    for finding in found:
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
