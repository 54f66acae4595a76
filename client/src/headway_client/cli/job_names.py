"""Names of jobs as arguments and options, which the shell completes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from headway.errors import HeadwayError
from headway_client.cli.arguments.params import MAX_NAMES, Function
from headway_client.cli.command import JOB, CommonOptions
from headway_client.job_states import JOB_STATES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

DEADLINE_S = 6.0
"""Longest time that a command spends on names that nobody has asked for, s."""

GIVEN_NAMES = "headway.job_names"
"""Where the context of a command has the names of jobs that the user has written."""


class JobName(click.ParamType[str]):
    """The name of a job, which the shell completes; whether there is such a job is not checked."""

    name = JOB

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        """Return the name, which is kept for errors on it."""
        if ctx is not None:
            ctx.meta.setdefault(GIVEN_NAMES, []).append(str(value))
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names of jobs that begin like this, except those that are given already."""
        from click.shell_completion import CompletionItem

        given = ctx.params.get(param.name or "") or ()
        names = some_names(ctx.find_root().ensure_object(CommonOptions), part=incomplete)
        return [CompletionItem(name) for name in names if name.startswith(incomplete) and name not in given]


JOB_NAME = JobName()


def job_name(function: Function) -> Function:
    """Add the argument NAME, a job's name, as the parameter `name`."""
    return click.argument("name", metavar="NAME", type=JOB_NAME, help="The job's name.")(function)


def job_names(function: Function) -> Function:
    """Add the argument NAME..., distinct names of jobs, as the parameter `names`."""
    text = f"The job's name; up to {MAX_NAMES} of them."
    return click.argument(
        "names", metavar="NAME...", nargs=-1, required=True, type=JOB_NAME, callback=_distinct, help=text
    )(function)


def optional_job_names(function: Function) -> Function:
    """Add the argument [NAME]..., as `job_names` does, for a command that can also select jobs by options."""
    text = f"The job's name; up to {MAX_NAMES} of them."
    return click.argument("names", metavar="[NAME]...", nargs=-1, type=JOB_NAME, callback=_distinct, help=text)(
        function
    )


def _distinct(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> list[str]:
    names = list(dict.fromkeys(value))
    if len(names) > MAX_NAMES:
        raise click.BadParameter(f"{len(names)} jobs are too many; a command takes up to {MAX_NAMES}.", ctx, param)
    return names


def some_names(common: CommonOptions, *, part: str | None = None) -> list[str]:
    """Return names of jobs, in one request: the first 500, jobs with instances first and ended jobs last.

    Args:
        common: the common options.
        part: only names that contain this text, of the first 5,000 jobs.

    Returns:
        The names; none if the queue does not answer within seconds, as nobody has asked for them.
    """
    from headway_client.http.api import HeadwayApi
    from headway_client.http.transport import Limits

    def read() -> list[str]:
        limits = replace(Limits(), connect_timeout_s=2, read_timeout_s=5, try_timeout_s=5, tries=1)
        api = HeadwayApi.connect(common.connection(), limits=limits)
        return [job.name for job in api.first_jobs(states=JOB_STATES, name_contains=part or None)]

    with suppress(HeadwayError, TimeoutError):
        return _within(DEADLINE_S, read)
    return []


def _within(seconds: float, read: Callable[[], list[str]]) -> list[str]:
    """Return what a function returns, unless that takes longer.

    No timeout of a connection suffices: each counts from the last byte, so a server that drips bytes outlives it.

    Raises:
        TimeoutError: it takes longer. Its thread ends with the process.
    """
    from concurrent.futures import Future
    from threading import Thread

    found: Future[list[str]] = Future()

    def run() -> None:
        try:
            found.set_result(read())
        except BaseException as error:  # noqa: BLE001 -- it is raised in the thread that waits
            found.set_exception(error)

    Thread(target=run, daemon=True).start()
    return found.result(seconds)
