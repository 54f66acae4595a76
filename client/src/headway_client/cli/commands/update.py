"""The commands for changing jobs: stop, priority, hold, release."""

from __future__ import annotations

from collections.abc import Sequence

import click

from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import act_on_jobs, act_on_rogue_jobs, open_api, show_job
from headway_client.cli.params import PRIORITY, job_name, job_names


@click.command("stop", cls=Command, rows=True)
@job_names
@click.option("--rogue", is_flag=True, help="The names are training jobs that bypassed the queue; for administrators.")
@pass_common
def stop(common: CommonOptions, names: Sequence[str], *, rogue: bool) -> int:
    """Stop jobs, waiting or running."""
    if rogue:
        return act_on_rogue_jobs(common, names, open_api(common).stop_rogue_job)
    return act_on_jobs(common, names, open_api(common).stop_job)


@click.command("priority", cls=Command, rows=True)
@job_name
@click.argument("value", metavar="N", type=PRIORITY, help="0 to 9999; a higher priority goes first.")
@pass_common
def priority(common: CommonOptions, name: str, value: int) -> None:
    """Change the priority of a job."""
    show_job(common, open_api(common).set_priority(name, value))


@click.command("hold", cls=Command, rows=True)
@job_names
@pass_common
def hold(common: CommonOptions, names: Sequence[str]) -> int:
    """Keep waiting jobs from starting; they keep their place in the queue."""
    return act_on_jobs(common, names, open_api(common).hold)


@click.command("release", cls=Command, rows=True)
@job_names
@pass_common
def release(common: CommonOptions, names: Sequence[str]) -> int:
    """Let held jobs start again."""
    return act_on_jobs(common, names, open_api(common).release)
