"""The hosts of a training job, as options name them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from headway_client.errors import UsageError

if TYPE_CHECKING:
    from headway_client.models import Job

MAX_HOSTS = 10_000


class Host(click.ParamType[int]):
    """The name of a training job's host, such as algo-1; the value is its number."""

    name = "host"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the host's number."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"algo-(\d{1,5})", str(value), re.ASCII)
        if match is None or not 1 <= int(match[1]) <= MAX_HOSTS:
            self.fail(f"{value!r} is not a host such as algo-1", param, ctx)
        return int(match[1])


def require_host(job: Job, number: int) -> None:
    """Check that a job has a host.

    Args:
        number: the number of the host.

    Raises:
        UsageError: the job demands fewer instances.
    """
    hosts = sum(job.demand.values())
    if number > hosts:
        known = "algo-1 only" if hosts == 1 else f"algo-1 to algo-{hosts}"
        raise UsageError(f"{job.name} has no host algo-{number}; it has {known}.")
