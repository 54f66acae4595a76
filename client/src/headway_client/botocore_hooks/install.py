"""Attach the queue to all boto3 clients that a process creates from now on.

botocore's ``Session.create_client``, with which boto3 and both SageMaker SDKs create all clients, is wrapped. This
includes existing sessions (botocore's ``BUILTIN_HANDLERS`` would affect new sessions only), but not existing clients.
The queue itself is called with a different HTTP library, so there is no recursion.
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
    """Send the training job calls of all boto3 clients that this process creates from now on to the queue.

    Existing clients are not affected: call it before the SageMaker SDK creates its sessions. Installing again replaces
    the previous installation. On Ctrl-C the unfinished jobs of the process are printed, with the command to stop them.

    Args:
        api: the queue; by default the one that the next three, the environment or the profile file configure.
        endpoint: the queue's endpoint.
        profile: a profile of the profile file.
        region: the queue's region.
        priority: 0 to 9999, for requests without a priority tag.
        tell: called with a sentence whenever the place or state of a submitted or described job has changed; by default
            it prints to standard error. None for no notifications.

    Raises:
        ClientError: of `headway_client.errors`: no queue is configured, or the profile is not valid.
    """
    queue = api or default_api(endpoint=endpoint, profile=profile, region=region)
    uninstall()
    install_jobs(QueueJobs(queue), priority=priority, notify=tell)


def install_jobs(jobs: QueueJobs, *, priority: int | None = None, notify: Notify | None = None) -> None:
    """Do the same as `install` with `jobs` that the caller keeps using; nothing may be installed.

    Args:
        jobs: the queue's jobs.
        priority: as for `install`.
        notify: as ``tell`` of `install`.
    """
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
        # If other code has wrapped it since, this wrapper can't be removed.
        if botocore.session.Session.create_client is create_client:
            setattr(botocore.session.Session, "create_client", make)  # noqa: B010  # mypy: methods are not assigned to
        stop_listening()

    setattr(botocore.session.Session, "create_client", create_client)  # noqa: B010
    stop_listening = print_unfinished_at_ctrl_c(jobs)
    _uninstall.append(undo)


def uninstall() -> None:
    """Undo `install` for future clients; without an installation, do nothing."""
    while _uninstall:
        _uninstall.pop()()
