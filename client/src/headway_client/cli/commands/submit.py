"""The command submit: one request or many, changed on the way, tried out, or waited for."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from headway_client.cli import grammar, input_files
from headway_client.cli.context import open_api, show_job, show_json, show_rows, tell_failure, wants_json, width, worst
from headway_client.cli.grammar import Commands
from headway_client.errors import EXIT_OK, UsageError
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway_client.http.api import HeadwayApi
    from headway_client.models import BatchResult

MAX_REQUESTS = 10_000
"""The most requests that one command hands in."""

MAX_DRY_RUNS = 100
"""The most requests that one command tries out; each is a call of its own."""


def register(commands: Commands) -> None:
    """Say which arguments it takes."""
    command = commands.add("submit", submit, "hand in CreateTrainingJob requests", rows=True)
    command.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="requests as JSON, as for boto3: one, one a line, or a list; - is standard input",
    )
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="another value for a field, such as ResourceConfig.InstanceCount=2, HyperParameters.lr=0.1, Tags.team=nlp",
    )
    command.add_argument("--name", metavar="NAME", help="another name for the job")
    command.add_argument(
        "--priority", type=grammar.priority, metavar="N", help="higher goes first; replaces the request's tag"
    )
    then = command.add_mutually_exclusive_group()
    then.add_argument("--dry-run", action="store_true", help="only show what would happen")
    then.add_argument("--wait", action="store_true", help="then wait until the jobs have ended, as `headway wait` does")


def submit(args: argparse.Namespace) -> int:
    """Hand in the requests of files."""
    requests = _requests(args)
    if args.dry_run:
        _dry_run(args, requests)
        return EXIT_OK
    api = open_api(args)
    if len(requests) == 1:
        return _submit_one(args, api, requests[0])
    return _submit_many(args, api, requests)


def _requests(args: argparse.Namespace) -> list[dict[str, Any]]:
    from headway_client.cli import overrides
    from headway_client.priority_tag import with_priority

    if args.files.count(input_files.STANDARD_INPUT) > 1:
        raise UsageError("Standard input (-) can be read only once.")
    changes = [overrides.parse(text) for text in args.set]
    requests = [
        overrides.apply(request, changes) for source in args.files for request in input_files.read_objects(source)
    ]
    limit = MAX_DRY_RUNS if args.dry_run else MAX_REQUESTS
    if len(requests) > limit:
        raise UsageError(f"These are {len(requests)} requests; a command takes up to {limit}.")
    if args.name is not None:
        if len(requests) > 1:
            raise UsageError(f"--name is for one request; these are {len(requests)}.")
        requests[0]["TrainingJobName"] = args.name
    return requests if args.priority is None else [with_priority(request, args.priority) for request in requests]


def _submit_one(args: argparse.Namespace, api: HeadwayApi, request: dict[str, Any]) -> int:
    submission = api.submit(request)
    if not submission.created and not wants_json(args):
        to_stderr(f"The queue holds this very request already, as {submission.job.name}; nothing was added.")
    if args.wait:
        return _wait(args, api, [submission.job.name])
    show_job(args, submission.job)
    return EXIT_OK


def _submit_many(args: argparse.Namespace, api: HeadwayApi, requests: Sequence[dict[str, Any]]) -> int:
    from headway_client.cli.output import job_rows
    from headway_client.cli.progress_bar import ProgressBar

    bar = ProgressBar(len(requests))
    try:
        results = api.submit_many(requests, on_result=lambda _: bar.step())
    finally:
        bar.close()
    taken = [result.submission for result in results if result.submission is not None]
    # As JSON they are part of the results, unless those of the wait take their place.
    if args.wait or not wants_json(args):
        for result in results:
            if result.error is not None:
                tell_failure(args, result.error, about=result.name)
    if not wants_json(args):
        created = sum(submission.created for submission in taken)
        known = f", {len(taken) - created} in the queue already" if len(taken) > created else ""
        to_stderr(f"{created} submitted{known}, {len(results) - len(taken)} not taken.")
    code = worst(result.error.exit_code for result in results if result.error is not None)
    if args.wait:
        return worst([code, _wait(args, api, [submission.job.name for submission in taken])])
    document = {"results": [_document(result) for result in results]}
    jobs = [submission.job for submission in taken]
    show_rows(args, document, lambda *, wide: job_rows(jobs, wide=wide), empty="No job was taken.")
    return code


def _document(result: BatchResult) -> dict[str, Any]:
    if result.submission is not None:
        return {"created": result.submission.created, "job": result.submission.job.document}
    told = result.error.to_document() if result.error is not None else {}
    return {"jobName": result.name, **told}


def _wait(args: argparse.Namespace, api: HeadwayApi, names: Sequence[str]) -> int:
    from headway_client.cli.commands.wait import wait_for

    return wait_for(args, api, names)


def _dry_run(args: argparse.Namespace, requests: Sequence[dict[str, Any]]) -> None:
    from headway_client.cli.output import dry_run_sheet, job_rows

    api = open_api(args)
    runs = [api.dry_run(request) for request in requests]
    if wants_json(args):
        documents = [run.document for run in runs]
        show_json(documents[0] if len(documents) == 1 else {"results": documents})
    elif args.output == "csv":
        show_rows(args, None, lambda *, wide: job_rows([run.job for run in runs], wide=wide))
    else:
        print("\n\n".join(dry_run_sheet(run, width=width(args)) for run in runs))
