"""Options that select the jobs a command acts on, in place of their names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from headway_client.cli.arguments.params import Arn
from headway_client.cli.command import CommonOptions
from headway_client.cli.confirmation import confirm, yes_option
from headway_client.cli.job_names import optional_job_names
from headway_client.errors import ClientError, UsageError
from headway_client.job_states import HELD, LIVE_STATES
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi
    from headway_client.models import Job

MAX_SELECTED_JOBS = 1000
"""Maximum number of jobs that one selection may match."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Jobs by name, or those that match all the given filters.

    Attributes:
        names: the jobs' names; empty with filters.
        mine: only jobs that the caller submitted.
        owner: only jobs that this ARN submitted.
        team: only jobs of this team.
        glob: only jobs whose names match this pattern.
        states: only jobs in one of these states; `HELD` is one of them.
        yes: whether the user has confirmed.
    """

    names: Sequence[str]
    mine: bool
    owner: str | None
    team: str | None
    glob: str | None
    states: Sequence[str]
    yes: bool

    @property
    def by_filter(self) -> bool:
        """Whether the jobs are selected by filters, not by name."""
        return bool(self.mine or self.owner or self.team or self.glob or self.states)

    def require_complete(self) -> None:
        """Check that there are either names or filters.

        Raises:
            UsageError: there are both, or neither.
        """
        if self.names and self.by_filter:
            raise UsageError("Name the jobs or select them by options, not both.")
        if not (self.names or self.by_filter):
            raise UsageError("Name a job, or select jobs by --mine, --team, --owner, --name or --state.")

    def find(
        self, common: CommonOptions, api: HeadwayApi, verb: str, *, order: Callable[[Job], Any] | None = None
    ) -> Sequence[str]:
        """Return the names of the jobs to act on; those of filters are shown and confirmed first.

        Args:
            common: the common options.
            api: the queue.
            verb: what is to be done, such as "Stop", for the question.
            order: by what the jobs are sorted; by default those of filters are in the order of the queue, and those
                of names in the given one.

        Raises:
            UsageError: the selection matches too many jobs, or the user does not confirm.
        """
        if not self.by_filter:
            return self.names if order is None or len(self.names) == 1 else _sorted_names(api, self.names, order)
        shown = self._matching(api)
        if order is not None:
            shown.sort(key=order)
        if len(shown) > MAX_SELECTED_JOBS:
            raise UsageError(f"More than {MAX_SELECTED_JOBS} jobs match; select fewer.")
        if not shown:
            to_stderr("No job matches.")
            return []
        _preview(common, shown)
        if self.yes:
            return [job.name for job in shown]
        confirm(common, f"{verb} {len(shown)} job{'' if len(shown) == 1 else 's'}?", yes=False)
        # A job may have changed while the user read the list; only jobs that still look as shown are touched.
        current = {job.name: _identity(job) for job in self._matching(api)}
        unchanged = [job.name for job in shown if current.get(job.name) == _identity(job)]
        for job in shown:
            if job.name not in unchanged:
                to_stderr(f"{job.name} has changed since it was shown; it is left as it is.")
        return unchanged

    def _matching(self, api: HeadwayApi) -> list[Job]:
        from itertools import islice

        # A held job is pending; the server has no separate state for it.
        states = {"pending" if state == HELD else state for state in self.states}
        jobs = api.list_jobs(states=sorted(states), mine=self.mine, owner=self.owner, team=self.team)
        return list(islice((job for job in jobs if self._matches(job)), MAX_SELECTED_JOBS + 1))

    def _matches(self, job: Job) -> bool:
        in_state = not self.states or job.state in self.states or (job.held and HELD in self.states)
        return in_state and (self.glob is None or fnmatchcase(job.name, self.glob))


def _sorted_names(api: HeadwayApi, names: Sequence[str], order: Callable[[Job], Any]) -> list[str]:
    """Return names in the order of their jobs; those of jobs that can't be read come last, and fail on their own."""
    found: list[Job] = []
    for name in names:
        with suppress(ClientError):
            found.append(api.get_job(name).job)
    known = [job.name for job in sorted(found, key=order)]
    return [*known, *(name for name in names if name not in known)]


def _identity(job: Job) -> tuple[object, ...]:
    # A name can be given to a new job once the old record has expired.
    return (job.name, job.owner, job.entry_time, job.state, job.held)


def _preview(common: CommonOptions, jobs: Sequence[Job]) -> None:
    from headway_client.cli.output import job_rows, output_width

    # Standard output is for the results; in JSON and CSV nothing else is printed.
    if common.for_people:
        width = output_width() if common.output == "table" else None
        print(job_rows(jobs, wide=common.output == "wide").text(width=width), file=sys.stderr, flush=True)


def job_selection(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument NAME... and the options of a `Selection`, as the parameter `selection`."""

    # This also keeps the parameters that click has stored with the function.
    @wraps(function)
    def command(
        *args: Any,
        names: Sequence[str],
        mine: bool,
        owner: str | None,
        team: str | None,
        glob: str | None,
        state: Sequence[str],
        yes: bool,
        **others: Any,
    ) -> Any:
        selection = Selection(names=names, mine=mine, owner=owner, team=team, glob=glob, states=state, yes=yes)
        selection.require_complete()
        return function(*args, selection=selection, **others)

    decorated: Callable[..., Any] = command
    for option in reversed(
        [
            optional_job_names,
            click.option("--mine", is_flag=True, help="All jobs that you submitted."),
            click.option("--owner", type=Arn(), metavar="ARN", help="All jobs that this user or role submitted."),
            click.option("--team", metavar="NAME", help="All jobs of this team."),
            click.option("--name", "glob", metavar="GLOB", help="All jobs whose names match, such as 'sweep-*'."),
            click.option(
                "--state", multiple=True, type=click.Choice([*LIVE_STATES, HELD]), help="Only this state; repeatable."
            ),
            yes_option,
        ]
    ):
        decorated = option(decorated)
    return decorated
