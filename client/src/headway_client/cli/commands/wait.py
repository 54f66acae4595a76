"""The command wait: until jobs have ended; the exit code tells how."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from headway_client.cli import grammar
from headway_client.cli.context import act_on_jobs, open_api, wants_json, worst
from headway_client.cli.grammar import Commands
from headway_client.errors import EXIT_JOB_FAILED, EXIT_OK, EXIT_TIMEOUT
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi
    from headway_client.models import Job

MAX_WAIT_S = 31_536_000

_pause = time.sleep
_clock = time.monotonic


def register(commands: Commands) -> None:
    """Say which arguments it takes."""
    command = commands.add(
        "wait",
        wait,
        "wait until jobs have ended; exit code 0 if all completed, 8 if one failed or was stopped, 9 if time is up",
        rows=True,
    )
    grammar.add_names(command)
    command.add_argument(
        "--timeout",
        type=grammar.whole(0, MAX_WAIT_S),
        metavar="SECONDS",
        help="for all of them; without, as long as it takes",
    )


def wait(args: argparse.Namespace) -> int:
    """Wait until jobs have ended."""
    return wait_for(args, open_api(args), args.names, timeout_s=args.timeout)


def wait_for(args: argparse.Namespace, api: HeadwayApi, names: Iterable[str], *, timeout_s: int | None = None) -> int:
    """Wait for one job after the other, telling where it stands, and return the exit code.

    One after the other, as all have to end anyway: so the queue is asked no more often for many than for one.
    """
    from headway_client.sagemaker_sdk.queued_job import QueuedJob

    until = None if timeout_s is None else _clock() + timeout_s
    outcomes: list[int] = []

    def wait_for_one(name: str) -> Job:
        left = None if until is None else max(until - _clock(), 0)
        queued = QueuedJob(api, name, pause=_pause, clock=_clock)
        job = queued.wait(left, tell=None if wants_json(args) else to_stderr).job
        outcomes.append(_exit_code(job))
        return job

    return worst([act_on_jobs(args, names, wait_for_one), *outcomes])


def _exit_code(job: Job) -> int:
    if not job.has_ended:
        return EXIT_TIMEOUT
    return EXIT_OK if job.state == "completed" else EXIT_JOB_FAILED
