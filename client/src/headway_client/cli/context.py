"""Functions that commands share: connecting to the queue, and printing results and errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from headway.sanitize import strip_control_characters
from headway_client.cli.exit_codes import EXIT_OK, EXIT_UNEXPECTED, error_document, exit_code_of
from headway_client.cli.field_options import with_option
from headway_client.cli.interruption import if_interrupted
from headway_client.cli.near_misses import NearMisses
from headway_client.errors import ClientError, JobNotFoundError
from headway_client.text import to_json, to_stderr

if TYPE_CHECKING:
    from headway.errors import HeadwayError
    from headway_client.cli.command import CommonOptions
    from headway_client.cli.output.table import Table
    from headway_client.config.profile import Connection
    from headway_client.http.api import HeadwayApi
    from headway_client.models import Job, RogueJob


class MakeTable(Protocol):
    """Creates a table, with more columns if wide."""

    def __call__(self, *, wide: bool) -> Table:
        """Return the table."""


class _Document(Protocol):
    """A job or training job with the document from which it was decoded."""

    @property
    def name(self) -> str: ...

    @property
    def document(self) -> Mapping[str, Any]: ...


_Shown = TypeVar("_Shown", bound=_Document)
_Row_contra = TypeVar("_Row_contra", contravariant=True)


class _MakeRows(Protocol[_Row_contra]):
    """Creates a table of jobs, with more columns if wide."""

    def __call__(self, jobs: Sequence[_Row_contra], /, *, wide: bool) -> Table: ...


def connection(common: CommonOptions) -> Connection:
    """Resolve the connection from flags, environment and profile, and print a note about implicit choices."""
    found = common.connection()
    if found.note is not None:
        to_stderr(found.note)
    return found


def open_api(common: CommonOptions) -> HeadwayApi:
    """Return the API client for the queue that flags, environment and profile configure.

    Times are shown relative to the queue's time from here on.
    """
    # Imported here, as --help must not wait for an HTTP library and an AWS SDK.
    from headway_client.cli.output import times
    from headway_client.http.api import HeadwayApi

    api = HeadwayApi.connect(connection(common))
    times.now_s = api.now_s
    return api


def document_text(output: str, document: Any) -> str:
    """Return a document as YAML if that is the output format, or else as JSON."""
    if output != "yaml":
        return to_json(document)
    from headway_client.cli.output.yaml_text import to_yaml

    return to_yaml(document)


def show_document(common: CommonOptions, document: Any) -> None:
    """Print a document as YAML if that is the output format, or else as JSON."""
    print(document_text(common.output, document))


def show_rows(
    common: CommonOptions, document: Any, make: MakeTable, *, names: Iterable[str] = (), empty: str = "Nothing."
) -> None:
    """Print rows in the format of --output.

    Args:
        common: the common options.
        document: the document for JSON and YAML.
        make: creates the table; CSV has the wide one.
        names: the names of the jobs, of a command that lists jobs.
        empty: the sentence if there are no rows.
    """
    if common.is_document:
        show_document(common, document)
    elif common.output == "name":
        for name in names:
            print(strip_control_characters(name))
    else:
        _show_table(common, make(wide=common.output != "table"), empty)


def _show_table(common: CommonOptions, table: Table, empty: str) -> None:
    if common.output == "csv":
        sys.stdout.write(table.csv(headers=common.headers))
    elif table.rows:
        print(table.text(width=width(common), colour=colour(), headers=common.headers))
    elif common.headers:
        print(empty)
    else:
        # It is no row.
        to_stderr(empty)


def width(common: CommonOptions) -> int | None:
    """Return the maximum length of a line; None for no limit."""
    from headway_client.cli.output import output_width

    return output_width() if common.output == "table" else None


def colour() -> bool:
    """Return whether to color the output."""
    from headway_client.cli.output.table import wants_colour

    return wants_colour(sys.stdout)


def as_client_error(error: HeadwayError) -> ClientError:
    """Return an error as one of the client's."""
    return error if isinstance(error, ClientError) else ClientError(str(error), code=type(error).__name__)


def print_error(error: ClientError, *, about: str = "") -> None:
    """Print an error as text.

    Args:
        about: the job or request that caused it; empty if there is only one.
    """
    prefix = f"{about}: " if about and about not in error.message else ""
    message = error.message
    if error.fields and message.startswith(first := error.fields[0].field):
        message = with_option(first) + message.removeprefix(first)
    to_stderr(prefix + message)
    for item in error.unlisted_fields():
        field, sentence = strip_control_characters(with_option(item.field)), strip_control_characters(item.message)
        print(f"  {field}: {sentence}", file=sys.stderr)


def print_failure(common: CommonOptions, error: ClientError, *, about: str) -> None:
    """Print the error of one of several jobs or requests in the format of --output.

    Args:
        common: the common options.
        about: the name of the job.
    """
    if common.is_document:
        print(document_text(common.output, {"jobName": about, **error_document(error)}), file=sys.stderr)
    else:
        print_error(error, about=about)


def act_on_jobs(common: CommonOptions, names: Iterable[str], act: Callable[[str], Job]) -> int:
    """Apply an action to several jobs and print each; continue after a failure.

    Args:
        common: the common options.
        names: the jobs' names.
        act: the action on the job of a name.

    Returns:
        The highest exit code.

    Raises:
        ClientError: there is only one job, and the action failed.
    """
    from headway_client.cli.output import job_rows, job_sentence

    return _act_on_each(common, names, act, "jobs", job_sentence, lambda jobs, *, wide: job_rows(jobs, wide=wide))


def act_on_rogue_jobs(common: CommonOptions, names: Iterable[str], act: Callable[[str], RogueJob]) -> int:
    """Apply an action to several rogue training jobs, as `act_on_jobs` does to jobs.

    Args:
        common: the common options.
        names: the training jobs' names.
        act: the action on the training job of a name.
    """
    from headway_client.cli.output import job_rows, rogue_sentence

    def rows(rogues: Sequence[RogueJob], *, wide: bool) -> Table:
        return job_rows([], rogues, wide=wide)

    return _act_on_each(common, names, act, "rogueJobs", rogue_sentence, rows)


def _act_on_each(
    common: CommonOptions,
    names: Iterable[str],
    act: Callable[[str], _Shown],
    member: str,
    sentence: Callable[[_Shown], str],
    rows: _MakeRows[_Shown],
) -> int:
    near_misses = NearMisses(common)
    chosen = list(names)
    if len(chosen) == 1:
        _show_one(common, act(chosen[0]), sentence, rows)
        return EXIT_OK
    jobs: list[_Shown] = []
    failures: list[tuple[str, ClientError]] = []

    def progress() -> str:
        count = len(jobs) + len(failures)
        return f"{count} of {len(chosen)} jobs are finished; the request for {chosen[count]} may still be carried out."

    for name in chosen:
        try:
            with if_interrupted(progress):
                done = act(name)
            jobs.append(done)
        except ClientError as failure:
            error = near_misses.explained(failure, [name]) if isinstance(failure, JobNotFoundError) else failure
            failures.append((name, error))
            if not common.is_document:
                print_error(error, about=name)
            continue
        if common.for_people:
            print(sentence(jobs[-1]))
    document = {
        member: [job.document for job in jobs],
        "errors": [{"jobName": name, **error_document(error)} for name, error in failures],
    }
    if not common.for_people:
        show_rows(common, document, lambda *, wide: rows(jobs, wide=wide), names=[job.name for job in jobs])
    return max((exit_code_of(error) for _, error in failures), default=EXIT_OK)


def show_job(common: CommonOptions, job: Job) -> None:
    """Print the state of one job.

    Args:
        common: the common options.
    """
    from headway_client.cli.output import job_rows, job_sentence

    _show_one(common, job, job_sentence, lambda jobs, *, wide: job_rows(jobs, wide=wide))


def _show_one(common: CommonOptions, job: _Shown, sentence: Callable[[_Shown], str], rows: _MakeRows[_Shown]) -> None:
    if common.for_people:
        print(sentence(job))
    else:
        show_rows(common, job.document, lambda *, wide: rows([job], wide=wide), names=[job.name])


def worst(codes: Iterable[int]) -> int:
    """Return the exit code for several outcomes: that of an unexpected error if there is one, else the highest."""
    found = set(codes)
    return EXIT_UNEXPECTED if EXIT_UNEXPECTED in found else max(found, default=EXIT_OK)
