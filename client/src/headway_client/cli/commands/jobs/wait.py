"""The command wait: wait until jobs have ended; the exit code depends on their states."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from headway_client.cli.arguments.params import WholeNumber
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import act_on_jobs, open_api, worst
from headway_client.cli.exit_codes import EXIT_JOB_FAILED, EXIT_OK, EXIT_TIMEOUT
from headway_client.cli.interruption import UNCHANGED, if_interrupted
from headway_client.cli.job_names import job_names
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi
    from headway_client.models import Job

MAX_WAIT_S = 31_536_000

_pause = time.sleep
_clock = time.monotonic


@click.command("wait", cls=Command, rows=True, names=True, interrupted=UNCHANGED)
@job_names
@click.option(
    "--timeout",
    type=WholeNumber(0, MAX_WAIT_S),
    metavar="SECONDS",
    help="The longest time to wait, for all jobs together; no limit by default.",
)
@pass_common
def wait(common: CommonOptions, names: Sequence[str], timeout: int | None) -> int:
    """Wait until jobs have ended; exit code 0 if all completed, 8 if one failed or was stopped, 9 on timeout."""
    return wait_for(common, open_api(common), names, timeout_s=timeout)


def wait_for(
    common: CommonOptions,
    api: HeadwayApi,
    names: Iterable[str],
    *,
    timeout_s: int | None = None,
    responded: bool = False,
) -> int:
    """Wait for jobs in order, print their changes, and return the exit code.

    All of them have to end, so that waiting for one at a time is sufficient and needs no more requests than one job.

    Args:
        common: the common options.
        api: the queue.
        names: the jobs' names.
        timeout_s: maximum time for all jobs together; None for no limit.
        responded: whether the queue has responded to the caller before, so that the first request may fail as well.
    """
    from headway_client.job_sentences import unfinished_sentence
    from headway_client.sagemaker_sdk.queued_job import QueuedJob

    until = None if timeout_s is None else _clock() + timeout_s
    outcomes: list[int] = []
    chosen = list(names)

    def wait_for_one(name: str) -> Job:
        nonlocal responded
        remaining = None if until is None else max(until - _clock(), 0)
        queued = QueuedJob(api, name, pause=_pause, clock=_clock)
        with if_interrupted(unfinished_sentence(*chosen[chosen.index(name) :])):
            job = queued.follow(remaining, tell=None if common.is_document else to_stderr, responded=responded).job
        responded = True
        outcomes.append(_job_exit_code(job))
        return job

    return worst([act_on_jobs(common, chosen, wait_for_one), *outcomes])


def _job_exit_code(job: Job) -> int:
    if not job.has_ended:
        return EXIT_TIMEOUT
    return EXIT_OK if job.state == "completed" else EXIT_JOB_FAILED
