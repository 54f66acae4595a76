"""The commands for a policy that is not in force yet: policy lint, policy test.

They run the service's own code for admission on this machine, without a queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from headway.sanitize import strip_control_characters
from headway_client.cli.arguments import input_files
from headway_client.cli.arguments.params import FILE
from headway_client.cli.command import CommonOptions, Group, pass_common
from headway_client.cli.context import show_json, wants_json, width
from headway_client.cli.exit_codes import EXIT_OK, EXIT_REFUSED
from headway_client.cli.interruption import UNCHANGED
from headway_client.errors import ClientError, FieldMessage, RefusedError, UsageError

_DOCUMENT = click.argument("file", metavar="FILE", type=FILE, help="The document as JSON; - is standard input.")


policy = Group("policy", help="Try out pools and rules before they are set.")


@policy.command("lint", interrupted=UNCHANGED)
@_DOCUMENT
@pass_common
def lint(common: CommonOptions, file: str) -> None:
    """Check a configuration document on this machine, and warn of likely mistakes."""
    with _service_errors(RefusedError):
        warnings = _load("admission.preview").lint(input_files.read_object(file))
    if wants_json(common):
        show_json({"warnings": _fields(warnings)})
        return
    for warning in warnings:
        print(strip_control_characters(f"{warning.field}: {warning.message}"))
    count = f"{len(warnings)} warning{'' if len(warnings) == 1 else 's'}"
    print(f"The queue would accept this document; {count}.")


@policy.command("test", interrupted=UNCHANGED)
@_DOCUMENT
@click.option("--request", required=True, metavar="JOB.json", type=FILE, help="The CreateTrainingJob request.")
@click.option("--team", metavar="NAME", help="Replaces the team that the request names.")
@pass_common
def test(common: CommonOptions, file: str, request: str, team: str | None) -> int:
    """Check a request against the rules of a document; exit code 3 if it would be refused."""
    from headway_client.cli.output import rehearsal_sheet

    # A document that is not valid is not a verdict on the request, and has a different exit code.
    with _service_errors(UsageError):
        rehearsal = _load("admission.preview").preview(
            input_files.read_object(file), input_files.read_object(request), team
        )
    document = {
        "refused": rehearsal.refused,
        "team": rehearsal.team or None,
        "rules": [
            {"rule": verdict.rule, "applies": verdict.applies, "violations": _fields(verdict.violations)}
            for verdict in rehearsal.verdicts
        ],
        "problems": _fields(rehearsal.problems),
    }
    if wants_json(common):
        show_json(document)
    else:
        print(rehearsal_sheet(document, width=width(common)))
    return EXIT_REFUSED if rehearsal.refused else EXIT_OK


def _fields(found: Any) -> list[dict[str, str]]:
    return [{"field": each.field, "message": each.message} for each in found]


def _load(module: str) -> Any:
    try:
        return import_module(f"headway_service.{module}")
    except ModuleNotFoundError as error:
        raise UsageError(
            f"Policies can't be checked here ({error.name} is missing). Install Headway with its extra `policy`, "
            "or type `make setup` in a checkout and use its .venv/bin/headway.",
            code="NoPolicyCheck",
        ) from error


@contextmanager
def _service_errors(kind: type[ClientError]) -> Iterator[None]:
    """Convert the service's errors for a document that is not valid into the client's."""
    errors = _load("errors")
    try:
        yield
    except errors.RequestError as error:
        fields = [FieldMessage(field=each.field, message=each.message) for each in error.fields]
        raise kind(str(error), code=error.code, fields=fields) from error
