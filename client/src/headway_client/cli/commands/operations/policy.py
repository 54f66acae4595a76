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
from headway_client.cli.arguments.params import FILE, ExclusiveOption, Fraction, WholeNumber
from headway_client.cli.command import CommonOptions, Group, pass_common
from headway_client.cli.context import show_document, width
from headway_client.cli.exit_codes import EXIT_OK, EXIT_REFUSED
from headway_client.cli.interruption import UNCHANGED
from headway_client.cli.simulator import input_errors, load_simulator
from headway_client.errors import ClientError, FieldMessage, RefusedError, UsageError
from headway_client.install_hint import install_command

_DOCUMENT = click.argument("file", metavar="FILE", type=FILE, help="The document as JSON or YAML; - is standard input.")


policy = Group("policy", help="Try out pools and rules before they are set.")


@policy.command("lint", interrupted=UNCHANGED)
@_DOCUMENT
@pass_common
def lint(common: CommonOptions, file: str) -> None:
    """Check a configuration document on this machine, and warn of likely mistakes."""
    with _service_errors(RefusedError):
        warnings = _load("admission.preview").lint(input_files.read_object(file))
    if common.is_document:
        show_document(common, {"warnings": _fields(warnings)})
        return
    for warning in warnings:
        print(strip_control_characters(f"{warning.field}: {warning.message}"))
    count = f"{len(warnings)} warning{'' if len(warnings) == 1 else 's'}"
    print(f"The queue would accept this document; {count}.")


@policy.command("test", interrupted=UNCHANGED)
@_DOCUMENT
@click.option("--request", metavar="JOB.json", type=FILE, help="The CreateTrainingJob request.")
@click.option("--team", metavar="NAME", help="Replaces the team that the request names.")
@click.option(
    "--trace",
    metavar="FILE",
    type=click.Path(),
    cls=ExclusiveOption,
    conflicts_with="request",
    help="Compare the orders among equals on these jobs, from `headway history -o trace`.",
)
@click.option("--capacity", metavar="POOL=N[,...]", help="With --trace: other sizes of pools.")
@click.option(
    "--checkpointing",
    type=Fraction(),
    default=1.0,
    metavar="PART",
    help="With --trace: the fraction of the jobs that write checkpoints (default 1).",
)
@click.option("--processes", type=WholeNumber(1, 64), default=1, metavar="N", help="With --trace: parallel processes.")
@pass_common
def test(
    common: CommonOptions,
    file: str,
    request: str | None,
    team: str | None,
    trace: str | None,
    capacity: str | None,
    checkpointing: float,
    processes: int,
) -> int:
    """Check a request against the rules of a document, or compare its orders on a trace.

    The exit code is 3 if the request would be refused.
    """
    if trace is not None:
        _compare_orders(common, file, trace, capacity, checkpointing, processes)
        return EXIT_OK
    if request is None:
        raise UsageError("Give --request JOB.json, or --trace FILE.")
    return _test_request(common, file, request, team)


def _compare_orders(
    common: CommonOptions, file: str, path: str, capacity: str | None, checkpointing: float, processes: int
) -> None:
    """Simulate the jobs of a trace with a document's policy in each order among equals.

    Args:
        common: the common options.
        file: the document.
        path: the trace.
        capacity: other sizes of pools.
        checkpointing: the fraction of the jobs that write checkpoints, 0 to 1.
        processes: the number of parallel processes.
    """
    from pathlib import Path

    with _service_errors(UsageError):
        rules, sizes = _load("admission.preview").simulated(input_files.read_object(file))
    errors, traces, limits, policies, run, report = (
        load_simulator(name) for name in ("errors", "trace", "limits", "policies", "run", "report")
    )
    with input_errors(errors):
        pools = {**sizes, **(traces.parse_capacity(capacity) if capacity else {})}
        read = traces.read_trace(Path(path), pools, mapping="nodes")
        given = any(job.limit_ms is not None for job in read.jobs)
        scenarios = run.scenarios(
            read,
            policies.orders_of(rules),
            [limits.GIVEN if given else limits.ROUNDED],
            checkpointing=checkpointing,
        )
        results = run.simulate_all(scenarios, processes=processes)
    if common.is_document:
        shown = [result.to_document() for result in results]
        show_document(common, {"trace": read.source, "pools": pools, "order": rules.order, "orders": shown})
        return
    print(report.table(results))
    for note in report.notes(results):
        print(note)
    if not given:
        print("The trace has no limits, so run times were rounded up to usual ones.")
    print(f"The order of this document is {rules.order}. Times are in seconds.")


def _test_request(common: CommonOptions, file: str, request: str, team: str | None) -> int:
    """Show the verdict of a document's rules on a request, and return the exit code.

    Args:
        common: the common options.
        file: the document.
        request: the file of the request.
        team: replaces the team that the request names.
    """
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
    if common.is_document:
        show_document(common, document)
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
            f"Policies can't be checked here ({error.name} is missing): run `{install_command('policy')}`, "
            "or type `make setup-sandbox` in a checkout and use its .venv/bin/headway.",
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
