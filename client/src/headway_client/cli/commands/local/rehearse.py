"""The command rehearse, which is implemented in the package `headway_sandbox`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from headway_client.cli.arguments.params import FILE, Decimal, Duration, WholeNumber
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.commands.local import sandbox
from headway_client.cli.context import show_rows
from headway_client.errors import UsageError
from headway_client.text import to_stderr

MAX_TIMES = 20
"""Maximum number of random moments."""

MAX_TIMEOUT_S = 43_200
"""Longest time for one run of the script, seconds."""

_SCRIPT_SUFFIX = ".py"


class _Timeout(Duration):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        seconds = super().convert(value, param, ctx)
        if seconds > MAX_TIMEOUT_S:
            self.fail(f"{value!r} is longer than {MAX_TIMEOUT_S} s", param, ctx)
        return seconds


class _Tolerance(click.ParamType[float]):
    name = "tolerance"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number < math.inf:
            self.fail(f"{value!r} is not a number of 0 or more, such as 0.01", param, ctx)
        return number


class _Data(click.ParamType[tuple[str, Path]]):
    name = "data"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Path]:
        name, _, path = str(value).partition("=")
        if not name or not path:
            self.fail(f"{value!r} is not of the form CHANNEL=PATH or s3://BUCKET/KEY=PATH", param, ctx)
        return name, Path(path)


@click.command("rehearse", cls=Command, rows=True, interrupted="nothing of the rehearsal is left.")
@click.argument("source", metavar="SCRIPT|REQUEST", type=FILE, help="A Python script, or a CreateTrainingJob request.")
@click.argument("arguments", metavar="[ARGUMENT]...", nargs=-1, help="Arguments of the script, after `--`.")
@click.option(
    "--preempt-after",
    default="50%",
    metavar="MOMENT[,...]",
    help="When it is preempted: 20s, or a part of its run time (default: 50%).",
)
@click.option(
    "--times", type=WholeNumber(0, MAX_TIMES), default=1, metavar="N", help="Random moments besides (default: 1)."
)
@click.option("--seed", type=WholeNumber(0, 999_999_999), metavar="N", help="Draws them (default: another each time).")
@click.option("--metric", metavar="NAME", help="A metric that has to be the same as without preemption.")
@click.option("--metric-regex", metavar="REGEX", help="Finds it in a line of output (default: a number after NAME).")
@click.option(
    "--tolerance",
    type=_Tolerance(),
    default=0.0,
    metavar="X",
    help="How much it may differ, besides the spread of the undisturbed runs (default: 0).",
)
@click.option(
    "--step-regex", metavar="REGEX", help="Finds the step in a line of output (default: a number after `step`)."
)
@click.option(
    "--ignore",
    "ignored",
    multiple=True,
    metavar="PATTERN",
    help="Files of its checkpoint folder that are no checkpoints, such as 'runs/*'.",
)
@click.option(
    "--timeout", "timeout_s", type=_Timeout(), default="10m", metavar="TIME", help="Of one run (default: 10m)."
)
@click.option(
    "--stop-grace",
    "stop_grace_s",
    type=Decimal(),
    metavar="SECONDS",
    help="The time from SIGTERM to SIGKILL (default: a tenth of the run time, at most 120).",
)
@click.option(
    "--image",
    "images",
    multiple=True,
    metavar="PATTERN=PYTHON",
    help="The Python for the images that fit a pattern (default: this Python for all).",
)
@click.option(
    "--data", type=_Data(), multiple=True, metavar="CHANNEL=PATH", help="The files of a channel, or of an S3 URI."
)
@click.option("--source-dir", type=click.Path(path_type=Path), metavar="FOLDER", help="Copied with the script.")
@pass_common
def rehearse(
    common: CommonOptions,
    source: str,
    arguments: tuple[str, ...],
    metric: str | None,
    metric_regex: str | None,
    step_regex: str | None,
    data: tuple[tuple[str, Path], ...],
    source_dir: Path | None,
    **options: Any,
) -> int:
    """Preempt a training script on this machine, and say whether it survives.

    Exit codes: 0 it survives, 1 it does not, 2 it could not be judged.
    """
    subject, rehearsal = sandbox.load("rehearsal.subject"), sandbox.load("rehearsal.rehearse")
    with _errors():
        if source.endswith(_SCRIPT_SUFFIX):
            found = subject.of_script(Path(source), arguments, source_dir=source_dir, data=dict(data))
        else:
            found = subject.of_request(_request(source, arguments, source_dir), data=dict(data))
        found = subject.with_metrics(found, step_regex=step_regex, metric=metric, metric_regex=metric_regex)
        result = rehearsal.rehearse(found, rehearsal.Options(**options), report=to_stderr)
    show_rows(common, result.document, lambda *, wide: _table(result))  # noqa: ARG005
    return int(result.exit_code)


def _request(source: str, arguments: tuple[str, ...], source_dir: Path | None) -> dict[str, Any]:
    from headway_client.cli.arguments.input_files import read_object

    if arguments or source_dir:
        raise UsageError(f"{source} is a request: arguments and --source-dir are for a script, whose name ends in .py.")
    return read_object(source)


def _table(result: Any) -> Any:
    from headway_client.cli.output.table import Table

    return Table(headers=result.headers, rows=result.rows, note=result.notes)


@contextmanager
def _errors() -> Iterator[None]:
    """Convert the sandbox's errors into the client's: whatever they are, the script was not judged."""
    errors = sandbox.load("errors")
    try:
        yield
    except errors.SandboxError as error:
        raise UsageError(str(error), code=type(error).__name__) from error
