"""The commands that change jobs: stop, priority, hold, release."""

from __future__ import annotations

import argparse

from headway_client.cli import grammar
from headway_client.cli.context import act_on_jobs, act_on_rogue_jobs, open_api, show_job
from headway_client.cli.grammar import Commands


def register(commands: Commands) -> None:
    """Say which arguments they take."""
    halt = commands.add("stop", stop, "stop jobs, waiting or running", rows=True)
    grammar.add_names(halt)
    halt.add_argument(
        "--rogue", action="store_true", help="these are training jobs that did not come through the queue; for admins"
    )
    change = commands.add("priority", priority, "give a job another priority", rows=True)
    grammar.add_name(change)
    change.add_argument("priority", metavar="N", type=grammar.priority, help="0 to 9999, higher goes first")
    grammar.add_names(commands.add("hold", hold, "keep waiting jobs from starting; they keep their place", rows=True))
    grammar.add_names(commands.add("release", release, "let jobs start again that were held", rows=True))


def stop(args: argparse.Namespace) -> int:
    """Stop jobs, or training jobs that did not come through the queue."""
    if args.rogue:
        return act_on_rogue_jobs(args, args.names, open_api(args).stop_rogue_job)
    return act_on_jobs(args, args.names, open_api(args).stop_job)


def priority(args: argparse.Namespace) -> None:
    """Give a job another priority."""
    show_job(args, open_api(args).set_priority(args.name, args.priority))


def hold(args: argparse.Namespace) -> int:
    """Keep jobs from starting."""
    return act_on_jobs(args, args.names, open_api(args).hold)


def release(args: argparse.Namespace) -> int:
    """Let jobs start again."""
    return act_on_jobs(args, args.names, open_api(args).release)
