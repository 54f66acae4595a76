"""The commands on jobs: submit, queue, show, stop, priority."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from headway_client import files, render
from headway_client.commands.context import open_api, show_json, tell, wants_json
from headway_client.documents import ENDED_STATES, Job, RogueJobs
from headway_client.priority_tag import with_priority

if TYPE_CHECKING:
    from headway_client.api import HeadwayApi


def submit(args: argparse.Namespace) -> None:
    """Hand in the CreateTrainingJob request of a file."""
    request = files.read_object(args.file)
    if args.priority is not None:
        request = with_priority(request, args.priority)
    submission = open_api(args).submit(request)
    if wants_json(args):
        show_json(submission.job.document)
        return
    if not submission.created:
        tell(f"The queue holds this very request already, as {submission.job.name}; nothing was added.")
    print(render.job_sentence(submission.job))


def queue(args: argparse.Namespace) -> None:
    """Show the jobs that have not ended, or those in the states asked for."""
    api = open_api(args)
    jobs = list(islice(_chosen(api, args), args.limit + 1))
    shown = jobs[: args.limit]
    truncated = len(jobs) > len(shown)
    rogues = api.rogue_jobs() if args.all else RogueJobs(jobs=(), more=False)
    if wants_json(args):
        document: dict[str, Any] = {"jobs": [job.document for job in shown], "truncated": truncated}
        if args.all:
            document |= {"rogueJobs": [rogue.document for rogue in rogues.jobs], "moreRogueJobs": rogues.more}
        show_json(document)
        return
    if shown or rogues.jobs:
        wide = args.output == "wide"
        print(render.jobs_table(shown, rogues.jobs, wide=wide, width=None if wide else render.output_width()))
    else:
        print("No jobs.")
    if truncated:
        tell(f"These are the first {args.limit}; there are more: see --limit.")
    if rogues.more:
        tell(f"Of the training jobs that did not come through the queue these are the first {len(rogues.jobs)}.")


def show(args: argparse.Namespace) -> None:
    """Show all about one job."""
    details = open_api(args).get_job(args.name)
    if wants_json(args):
        # The details keep the job's document, which is the whole answer.
        show_json(details.job.document)
    else:
        wide = args.output == "wide"
        print(render.job_sheet(details, width=None if wide else render.output_width()))


def stop(args: argparse.Namespace) -> None:
    """Stop a job."""
    _show_job(args, open_api(args).stop_job(args.name))


def priority(args: argparse.Namespace) -> None:
    """Give a job another priority."""
    _show_job(args, open_api(args).set_priority(args.name, args.priority))


def _chosen(api: HeadwayApi, args: argparse.Namespace) -> Iterator[Job]:
    # One more than shown, to know whether there are more.
    limit = args.limit + 1
    if args.state:
        yield from api.list_jobs(states=args.state, limit=limit)
        return
    yield from api.list_jobs(limit=limit)
    if args.all:
        yield from api.list_jobs(states=ENDED_STATES, limit=limit)


def _show_job(args: argparse.Namespace, job: Job) -> None:
    if wants_json(args):
        show_json(job.document)
    else:
        print(render.job_sentence(job))
