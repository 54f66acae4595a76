"""The commands for changing jobs: stop, priority, change, comment, hold, release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headway_client.cli.arguments.params import PRIORITY, Duration, WholeNumber
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import act_on_jobs, act_on_rogue_jobs, open_api
from headway_client.cli.selection import Selection, job_selection
from headway_client.errors import UsageError

if TYPE_CHECKING:
    from headway_client.models import Job


@click.command("stop", cls=Command, rows=True, names=True)
@job_selection
@click.option("--reason", metavar="TEXT", help="Why, in one line; stored with the stop and shown with the jobs.")
@click.option("--rogue", is_flag=True, help="The names are training jobs that bypassed the queue; for administrators.")
@pass_common
def stop(common: CommonOptions, selection: Selection, reason: str | None, *, rogue: bool) -> int:
    """Stop jobs, waiting or running."""
    if rogue and reason is not None:
        raise UsageError("--reason is not available with --rogue; the queue stores who requested the stop.")
    if rogue and selection.by_filter:
        raise UsageError("--rogue needs the names of the training jobs.")
    api = open_api(common)
    if rogue:
        return act_on_rogue_jobs(common, selection.names, api.stop_rogue_job)
    names = selection.find(common, api, "Stop", order=_from_the_end_of_the_queue)
    return act_on_jobs(common, names, lambda name: api.stop_job(name, reason))


def _from_the_end_of_the_queue(job: Job) -> tuple[int, int]:
    """In which order jobs are stopped or held, so that what one of them leaves starts no other one of them.

    Arrays first, as they make further members. Then those without a place, which may wait for others to end, and those
    that wait, the last one first; then those that have instances.
    """
    if job.array is not None:
        return 0, 0
    if job.live_attempt is not None:
        return 3, 0
    return (1, 0) if job.place is None else (2, -job.place)


@click.command("priority", cls=Command, rows=True, names=True)
@job_selection
@click.argument("value", metavar="N", type=PRIORITY, help="0 to 9999; a higher priority goes first.")
@pass_common
def priority(common: CommonOptions, selection: Selection, value: int) -> int:
    """Change the priority of jobs."""
    api = open_api(common)
    names = selection.find(common, api, f"Give priority {value} to")
    return act_on_jobs(common, names, lambda name: api.set_priority(name, value))


@click.command("change", cls=Command, rows=True, names=True)
@job_selection
@click.option("--limit", type=Duration(), metavar="TIME", help="The maximum run time, such as 90m, 2h or 1d12h.")
@click.option("--instances", type=WholeNumber(1, 999_999), metavar="N", help="The number of instances.")
@pass_common
def change(common: CommonOptions, selection: Selection, limit: int | None, instances: int | None) -> int:
    """Change the run time or the instances of waiting jobs.

    A job that asks for no more than before keeps its place in the queue; another one waits as if submitted now.
    """
    if limit is None and instances is None:
        raise UsageError("Give --limit, --instances or both.")
    api = open_api(common)
    names = selection.find(common, api, "Change")
    return act_on_jobs(common, names, lambda name: api.change_job(name, max_runtime_s=limit, instances=instances))


@click.command("comment", cls=Command, rows=True, names=True)
@job_selection
@click.argument("text", metavar="TEXT", help="One line of up to 256 characters; empty removes the comment.")
@pass_common
def comment(common: CommonOptions, selection: Selection, text: str) -> int:
    """Change the comment of jobs, which show and the column comment show."""
    api = open_api(common)
    names = selection.find(common, api, "Comment on")
    return act_on_jobs(common, names, lambda name: api.set_comment(name, text))


@click.command("hold", cls=Command, rows=True, names=True)
@job_selection
@pass_common
def hold(common: CommonOptions, selection: Selection) -> int:
    """Keep waiting jobs from starting; they keep their place in the queue."""
    api = open_api(common)
    return act_on_jobs(common, selection.find(common, api, "Hold", order=_from_the_end_of_the_queue), api.hold)


@click.command("release", cls=Command, rows=True, names=True)
@job_selection
@pass_common
def release(common: CommonOptions, selection: Selection) -> int:
    """Let held jobs start again."""
    api = open_api(common)
    return act_on_jobs(common, selection.find(common, api, "Release"), api.release)
