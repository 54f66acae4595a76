"""The queue for a whole process: every boto3 client made from now on goes to it for training jobs.

botocore's ``Session.create_client``, through which boto3 and both SageMaker SDKs make all their clients, is wrapped, so
that sessions that exist already take part, too (botocore's ``BUILTIN_HANDLERS`` would reach new sessions only). Clients
that exist already don't. The queue itself is called with another HTTP library, so nothing comes back here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import botocore.session

from headway_client.botocore_hooks.attach import attach_jobs, attach_logs, reads_own_logs
from headway_client.botocore_hooks.interrupt import print_unfinished_at_ctrl_c
from headway_client.botocore_hooks.job_cache import QueueJobs
from headway_client.botocore_hooks.progress import Notify
from headway_client.http.connect import default_api
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi

_uninstall: list[Callable[[], None]] = []


def install(
    api: HeadwayApi | None = None,
    *,
    endpoint: str | None = None,
    profile: str | None = None,
    region: str | None = None,
    priority: int | None = None,
    tell: Notify | None = to_stderr,
) -> None:
    """Let the queue answer for training jobs on all boto3 clients that this process makes from now on.

    Clients made before are not affected: call it before the SageMaker SDK makes its sessions. Installing again replaces
    what was installed. At Ctrl-C the jobs that the process has submitted are named, with how to stop them.

    Args:
        api: the queue; by default the one that the next three, the environment or the profile file lead to.
        endpoint: the queue's endpoint.
        profile: a profile of the profile file.
        region: the queue's region.
        priority: 0 to 9999, for requests that have no priority tag of their own.
        tell: is called with a sentence whenever a job that is submitted or described has come to another place or
            state; by default it is printed to standard error. None tells nothing.

    Raises:
        ClientError: of `headway_client.errors`: nothing says where the queue is, or the profile is wrong.
    """
    queue = api or default_api(endpoint=endpoint, profile=profile, region=region)
    uninstall()
    install_jobs(QueueJobs(queue), priority=priority, notify=tell)


def install_jobs(jobs: QueueJobs, *, priority: int | None = None, notify: Notify | None = None) -> None:
    """The same as `install`, for whoever asks `jobs` something, too. Nothing may be installed."""
    make = botocore.session.Session.create_client

    @functools.wraps(make)
    def create_client(session: botocore.session.Session, *args: Any, **options: Any) -> Any:
        client = make(session, *args, **options)
        service = client.meta.service_model.service_name
        if service == "sagemaker":
            attach_jobs(client, jobs, priority=priority, notify=notify)
        elif service == "logs" and not reads_own_logs(client):
            attach_logs(client, jobs)
        return client

    def undo() -> None:
        # What others have wrapped around it since can't be taken out from between.
        if botocore.session.Session.create_client is create_client:
            setattr(botocore.session.Session, "create_client", make)  # noqa: B010  # mypy: methods are not assigned to
        stop_listening()

    setattr(botocore.session.Session, "create_client", create_client)  # noqa: B010
    stop_listening = print_unfinished_at_ctrl_c(jobs)
    _uninstall.append(undo)


def uninstall() -> None:
    """Undo `install` for the clients that are made from now on; if nothing is installed, nothing happens."""
    while _uninstall:
        _uninstall.pop()()
