"""The command submit: submit one or many requests, with overrides, as a dry run, or with a wait."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from headway.sanitize import strip_control_characters
from headway.sweeps import MAX_MEMBERS, Sweep
from headway_client.alternatives import with_alternatives
from headway_client.cli.arguments import early_stopping as early_stopping_argument
from headway_client.cli.arguments import input_files
from headway_client.cli.arguments.moments import METAVAR as MOMENT
from headway_client.cli.arguments.moments import Given, Moment, time_text
from headway_client.cli.arguments.params import FILE, PRIORITY, Duration, ExclusiveOption, WholeNumber
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, print_failure, show_document, show_job, show_rows, width, worst
from headway_client.cli.exit_codes import EXIT_OK, error_document, exit_code_of
from headway_client.cli.interruption import if_interrupted
from headway_client.dependencies import with_dependencies
from headway_client.errors import NotReachableError, ServerFaultError, UsageError
from headway_client.request_tags import NOT_BEFORE_TAG, START_BY_TAG, with_tag
from headway_client.reuse import with_reuse
from headway_client.sweeps import with_sweep
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.cli.arguments.input_files import Located
    from headway_client.cli.output.table import Table
    from headway_client.http.api import HeadwayApi
    from headway_client.models import BatchResult

MAX_REQUESTS = 10_000
"""Maximum number of requests in one command."""

MAX_DRY_RUNS = 100
"""Maximum number of dry runs in one command; each is a separate call."""


_AGAIN = " Submit the same again to continue: what the queue already has is not submitted twice."


@click.command("submit", cls=Command, rows=True, names=True)
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=FILE,
    help="Requests as JSON or YAML with boto3's parameter names: one, several, or a list; - is standard input.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Replace a field, as ResourceConfig.InstanceCount=2, HyperParameters.lr=0.1 or Tags.team=nlp; repeatable.",
)
@click.option("--name", metavar="NAME", help="Replace the name of the job.")
@click.option(
    "--priority", type=PRIORITY, metavar="N", help="A higher priority goes first; replaces the request's tag."
)
@click.option(
    "--alternative",
    "alternatives",
    multiple=True,
    metavar="FILE|JSON",
    help="What the jobs can run on as well: an object with the members that replace those of the request, such as "
    "ResourceConfig; repeatable, in the order of preference.",
)
@click.option(
    "--wait-at-most",
    "wait_at_most_s",
    type=Duration(),
    metavar="TIME",
    help="Wait for a better alternative for so long after the entry, as 30m or 2h.",
)
@click.option(
    "--portable-checkpoint",
    is_flag=True,
    help="Checkpoints of one alternative can be read on the others, so that a stopped job may choose again.",
)
@click.option(
    "--after",
    multiple=True,
    metavar="JOB[:CONDITION],...",
    help="Enter the queue when this job has completed, or on another condition: any, when it has ended; failed, when "
    "it has failed. If that can no longer happen, the submitted job ends. Repeatable.",
)
@click.option(
    "--not-before",
    type=Moment(to_come=True),
    metavar=MOMENT,
    help="Enter the queue at this time: a UTC day, a time such as 2026-12-01T08:00Z, or a duration from now such as "
    "8h.",
)
@click.option(
    "--start-by",
    type=Moment(to_come=True),
    metavar=MOMENT,
    help="Fail if the job has not started by this time, given the same way.",
)
@click.option(
    "--sweep",
    "grid",
    metavar="FILE|JSON",
    help="Submit an array: a member for each combination of hyperparameters that this file of YAML or JSON describes.",
)
@click.option(
    "--at-once",
    type=WholeNumber(1, MAX_MEMBERS),
    metavar="N",
    help="With --sweep: how many members may be in the queue or run at once; any number by default.",
)
@click.option(
    "--max-failures",
    type=WholeNumber(0, MAX_MEMBERS),
    metavar="N",
    help="With --sweep: how many members may fail before no further one starts; any number by default.",
)
@click.option(
    "--early-stopping",
    metavar="MEMBER=VALUE,...",
    help="With --sweep: stop members that are worse than the median of others at the same step, such as "
    "metric=loss,goal=minimize,stepMetric=epoch,minSteps=3,minMembers=5.",
)
@click.option(
    "--reuse",
    is_flag=True,
    help="Complete at once with the outputs of an equal job that has completed, or wait for one that has not ended.",
)
@click.option(
    "--reuse-unpinned", is_flag=True, help="The same, also with an image that is not named by its digest (@sha256:...)."
)
@click.option("--dry-run", is_flag=True, help="Only show what would happen.")
@click.option(
    "--wait",
    is_flag=True,
    cls=ExclusiveOption,
    conflicts_with="dry_run",
    help="Wait until the jobs have ended, as `headway wait` does.",
)
@pass_common
def submit(
    common: CommonOptions,
    files: Sequence[str],
    changes: Sequence[str],
    name: str | None,
    priority: int | None,
    alternatives: Sequence[str],
    wait_at_most_s: int | None,
    *,
    portable_checkpoint: bool,
    after: Sequence[str],
    not_before: Given | None,
    start_by: Given | None,
    grid: str | None,
    at_once: int | None,
    max_failures: int | None,
    early_stopping: str | None,
    reuse: bool,
    reuse_unpinned: bool,
    dry_run: bool,
    wait: bool,
) -> int:
    """Submit CreateTrainingJob requests."""
    sweep = _sweep(files, grid, at_once, max_failures, early_stopping)
    early = early_stopping_argument.parse(early_stopping) if early_stopping is not None else None
    found = _requests(files, changes, name, priority, limit=MAX_DRY_RUNS if dry_run else MAX_REQUESTS)
    if sweep is not None and len(found) > 1:
        raise UsageError(f"--sweep is for one request; there are {len(found)}.")
    found = _with_time(common, found, NOT_BEFORE_TAG, not_before)
    found = _with_time(common, found, START_BY_TAG, start_by)
    awaited = [job.strip() for text in after for job in text.split(",")]
    others = [input_files.read_object_or_text(source) for source in alternatives]
    found = [
        replace(
            each,
            value=with_reuse(
                with_dependencies(
                    with_alternatives(
                        each.value, others, wait_at_most_s=wait_at_most_s or 0, portable_checkpoint=portable_checkpoint
                    ),
                    awaited,
                ),
                reuse=reuse or reuse_unpinned,
                unpinned=reuse_unpinned,
            ),
        )
        for each in found
    ]
    requests = [
        with_sweep(each.value, sweep, at_once=at_once, max_failures=max_failures, early_stopping=early)
        for each in found
    ]
    if dry_run:
        _dry_run(common, requests)
        return EXIT_OK
    api = open_api(common)
    if len(requests) == 1:
        return _submit_one(common, api, requests[0], wait=wait)
    return _submit_many(common, api, found, wait=wait)


def _with_time(common: CommonOptions, found: Sequence[Located], key: str, given: Given | None) -> list[Located]:
    """The requests with a time in a tag, if it is given."""
    if given is None:
        return [*found]
    value = time_text(open_api(common), given, to_come=True)
    return [replace(each, value=with_tag(each.value, key, value, replaced=[key])) for each in found]


def _requests(
    files: Sequence[str], texts: Sequence[str], name: str | None, priority: int | None, *, limit: int
) -> list[Located]:
    from headway_client.cli.arguments import overrides
    from headway_client.request_tags import with_priority

    if files.count(input_files.STANDARD_INPUT) > 1:
        raise UsageError("Standard input (-) can be read only once.")
    changes = [overrides.parse(text) for text in texts]
    found = [each for source in files for each in input_files.read_objects(source)]
    if len(found) > limit:
        raise UsageError(f"{len(found)} requests are too many; a command takes up to {limit}.")
    if name is not None and len(found) > 1:
        raise UsageError(f"--name is for one request; there are {len(found)}.")

    def changed(request: dict[str, Any]) -> dict[str, Any]:
        result = overrides.apply(request, changes)
        if name is not None:
            result["TrainingJobName"] = name
        return result if priority is None else with_priority(result, priority)

    return [replace(each, value=changed(each.value)) for each in found]


def _sweep(
    files: Sequence[str], grid: str | None, at_once: int | None, max_failures: int | None, early_stopping: str | None
) -> Sweep | None:
    from headway_client.cli.arguments.sweep_files import read_sweep

    if grid is None:
        if at_once is not None or max_failures is not None:
            raise UsageError("--at-once and --max-failures are for arrays; give a sweep (--sweep).")
        if early_stopping is not None:
            raise UsageError("--early-stopping is for arrays; give a sweep (--sweep).")
        return None
    if grid == input_files.STANDARD_INPUT in files:
        raise UsageError("Standard input (-) can be read only once.")
    return read_sweep(grid)


def _submit_one(common: CommonOptions, api: HeadwayApi, request: dict[str, Any], *, wait: bool) -> int:
    with if_interrupted("the request may have been accepted; `headway queue --mine` shows it." + _AGAIN):
        submission = api.submit(request)
    if not submission.created and not common.is_document:
        to_stderr(f"The queue already has this request as {submission.job.name}; nothing was added.")
    if wait:
        return _wait(common, api, [submission.job.name])
    show_job(common, submission.job)
    return EXIT_OK


def _submit_many(common: CommonOptions, api: HeadwayApi, found: Sequence[Located], *, wait: bool) -> int:
    from headway_client.cli.output import job_rows

    requests = [each.value for each in found]
    settled: list[BatchResult] = []

    def progress() -> str:
        count = sum(result.submission is not None for result in settled)
        return f"{count} of {len(requests)} requests are accepted so far; `headway queue --mine` shows them." + _AGAIN

    with (
        if_interrupted(progress),
        click.progressbar(
            length=len(requests),
            file=sys.stderr,
            hidden=not sys.stderr.isatty(),
            bar_template="[%(bar)s] %(info)s",
            empty_char=".",
            width=30,
            show_pos=True,
            show_percent=False,
            show_eta=False,
        ) as bar,
    ):

        def settle(result: BatchResult) -> None:
            settled.append(result)
            bar.update(1)

        results = api.submit_many(requests, on_result=settle, stop_when_full=True)
    accepted = [result.submission for result in results if result.submission is not None]
    # In JSON the errors are part of the results, unless the document of the wait replaces these.
    if wait or not common.is_document:
        _print_refusals(common, results, [each.place for each in found])
    if not common.is_document:
        created = sum(submission.created for submission in accepted)
        known = f", {len(accepted) - created} already in the queue" if len(accepted) > created else ""
        unknown = sum(isinstance(result.error, NotReachableError | ServerFaultError) for result in results)
        to_stderr(f"{created} submitted{known}, {len(results) - len(accepted) - unknown} not accepted.")
        if unknown:
            to_stderr(f"{unknown} have no answer: some of them may have been accepted.{_AGAIN}")
        if any(result.error is not None and result.error.code == "QueueFull" for result in results):
            to_stderr(f"The queue is full, so that no more requests were sent.{_AGAIN}")
    code = worst(exit_code_of(result.error) for result in results if result.error is not None)
    if wait:
        return worst([code, _wait(common, api, [submission.job.name for submission in accepted])])
    document = {"results": [_document(result) for result in results]}
    jobs = [submission.job for submission in accepted]

    def rows(*, wide: bool) -> Table:
        return job_rows(jobs, wide=wide)

    show_rows(common, document, rows, names=[job.name for job in jobs], empty="No job was accepted.")
    return code


def _print_refusals(common: CommonOptions, results: Sequence[BatchResult], places: Sequence[str]) -> None:
    from headway_client.cli.output.refusals import places_line, refusal_groups

    if common.is_document:
        for result in results:
            if result.error is not None:
                print_failure(common, result.error, about=result.name)
        return
    for group in refusal_groups(results):
        first = results[group.indexes[0]]
        count = len(group.indexes)
        print_failure(
            common, group.error, about=first.name if count == 1 else f"{count} requests, such as {first.name}"
        )
        line = places_line([places[index] for index in group.indexes])
        print(f"  {strip_control_characters(line)}", file=sys.stderr)


def _document(result: BatchResult) -> dict[str, Any]:
    if result.submission is not None:
        return {"created": result.submission.created, "job": result.submission.job.document}
    error = error_document(result.error) if result.error is not None else {}
    return {"jobName": result.name, **error}


def _wait(common: CommonOptions, api: HeadwayApi, names: Sequence[str]) -> int:
    from headway_client.cli.commands.jobs.wait import wait_for

    return wait_for(common, api, names, responded=True)


def _dry_run(common: CommonOptions, requests: Sequence[dict[str, Any]]) -> None:
    from headway_client.cli.output import dry_run_sheet, job_rows

    api = open_api(common)
    runs = [api.dry_run(request) for request in requests]
    if common.is_document:
        documents = [run.document for run in runs]
        show_document(common, documents[0] if len(documents) == 1 else {"results": documents})
    elif common.for_people:
        print("\n\n".join(dry_run_sheet(run, width=width(common)) for run in runs))
    else:
        jobs = [run.job for run in runs]
        show_rows(common, None, lambda *, wide: job_rows(jobs, wide=wide), names=[job.name for job in jobs])
