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

from headway_client.botocore_hooks.attach import attach_client, is_attached
from headway_client.botocore_hooks.interrupt import print_unfinished_at_ctrl_c
from headway_client.botocore_hooks.progress import Notify, Progress
from headway_client.botocore_hooks.queue_access import QueueAccess
from headway_client.http.connect import configured_connection
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
        api: the queue, for which it signs; by default the one that the next three, the environment or the profile file
            configure, signed with the credentials of each client, unless the profile names an AWS profile.
        endpoint: the queue's endpoint.
        profile: a profile of the profile file.
        region: the queue's region.
        priority: 0 to 9999, for requests without a priority tag.
        tell: called with a sentence whenever the place or state of a job that was submitted or stopped through it has
            changed; by default it prints to standard error. None for no notifications.

    Raises:
        ClientError: of `headway_client.errors`: no queue is configured, or the profile is not valid.
    """
    access = QueueAccess(api or configured_connection(endpoint=endpoint, profile=profile, region=region))
    uninstall()
    install_access(access, priority=priority, notify=tell)


def install_access(access: QueueAccess, *, priority: int | None = None, notify: Notify | None = None) -> None:
    """Do the same as `install` with a queue that is already configured; nothing may be installed.

    Args:
        access: the queue.
        priority: as for `install`.
        notify: as ``tell`` of `install`.
    """
    make, progress = botocore.session.Session.create_client, Progress(notify, own_only=True)

    @functools.wraps(make)
    def create_client(session: botocore.session.Session, *args: Any, **options: Any) -> Any:
        client = make(session, *args, **options)
        # A session that a queue is attached to keeps its own.
        if not is_attached(client):
            attach_client(client, access, progress, priority=priority)
        return client

    def undo() -> None:
        # If other code has wrapped it since, this wrapper can't be removed.
        if botocore.session.Session.create_client is create_client:
            setattr(botocore.session.Session, "create_client", make)  # noqa: B010  # mypy: methods are not assigned to
        stop_listening()

    setattr(botocore.session.Session, "create_client", create_client)  # noqa: B010
    stop_listening = print_unfinished_at_ctrl_c(access)
    _uninstall.append(undo)


def uninstall() -> None:
    """Undo `install` for future clients; without an installation, do nothing."""
    while _uninstall:
        _uninstall.pop()()
