"""The commands on a policy that is not in force yet: policy lint, policy test.

They are carried out by the very code of the service that decides in earnest, on this machine and without a queue.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from headway.sanitize import neutralise
from headway_client.cli import input_files
from headway_client.cli.context import show_json, wants_json, width
from headway_client.cli.grammar import Commands
from headway_client.errors import EXIT_OK, EXIT_REFUSED, ClientError, FieldMessage, RefusedError, UsageError


def register(commands: Commands) -> None:
    """Say which arguments they take."""
    group = commands.group("policy", "try out pools and rules before they are set")
    check = group.add("lint", lint, "check a configuration document on this machine")
    rehearse = group.add("test", test, "show what a document's rules say to a request; exit code 3 if refused")
    for command in (check, rehearse):
        command.add_argument("file", metavar="FILE", help="the document as JSON; - is standard input")
    rehearse.add_argument("--request", required=True, metavar="JOB.json", help="the CreateTrainingJob request")
    rehearse.add_argument("--team", metavar="NAME", help="replaces the team that the request names")


def lint(args: argparse.Namespace) -> None:
    """Check a configuration document, and warn of what is hardly meant."""
    with _service_errors(RefusedError):
        warnings = _load("admission.preview").lint(input_files.read_object(args.file))
    if wants_json(args):
        show_json({"warnings": _fields(warnings)})
        return
    for warning in warnings:
        print(neutralise(f"{warning.field}: {warning.message}"))
    count = f"{len(warnings)} warning{'' if len(warnings) == 1 else 's'}"
    print(f"The queue would take this document; {count}.")


def test(args: argparse.Namespace) -> int:
    """Show what the rules of a document say to a request; the exit code tells whether it would be refused."""
    from headway_client.cli.output import rehearsal_sheet

    # A document that can't be tried is no verdict on the request, so it has another exit code.
    with _service_errors(UsageError):
        rehearsal = _load("admission.preview").rehearse(
            input_files.read_object(args.file), input_files.read_object(args.request), args.team
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
    if wants_json(args):
        show_json(document)
    else:
        print(rehearsal_sheet(document, width=width(args)))
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
    """Turn the service's word that a document can't be used into the client's."""
    errors = _load("errors")
    try:
        yield
    except errors.RequestError as error:
        fields = [FieldMessage(field=each.field, message=each.message) for each in error.fields]
        raise kind(str(error), code=error.code, fields=fields) from error
