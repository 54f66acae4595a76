"""Attach the queue to boto3 clients of ``sagemaker`` and ``logs``, or to a boto3 session.

Clients of ``sagemaker`` get event handlers (`headway_client.botocore_hooks.handlers`). On clients of ``logs``, methods
are replaced instead (`headway_client.botocore_hooks.logs_proxy`): one call by the user takes several calls to AWS, and
an event handler has no client to make them with.

A session's future clients get a base class that attaches the queue to each of them, in the way of boto3's own
customizations (source: boto3's guide, "Extensibility"). Handlers on the session would not know which client calls.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from headway_client.botocore_hooks.handlers import register
from headway_client.botocore_hooks.logs_proxy import LogsProxy
from headway_client.botocore_hooks.progress import Notify, Progress
from headway_client.botocore_hooks.queue_access import QueueAccess
from headway_client.errors import UsageError
from headway_client.http.connect import configured_connection

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi

_SERVICES = ("sagemaker", "logs")

_LOG_METHODS = {"describe_log_streams": "describe", "get_log_events": "get"}
"""The replaced methods, and the parameters of `LogsProxy` that take the originals."""

_ATTACHED = "headway_queue"
"""The attribute of an attached client with its queue."""

_PRIORITY = "headway_priority"
"""The attribute with the priority of requests without a priority tag."""


def attach(
    target: Any, api: HeadwayApi | None = None, *, priority: int | None = None, tell: Notify | None = None
) -> None:
    """Send the training job calls of a client, or of all future clients of a boto3 session, to the queue.

    Attaching again replaces the previous attachment.

    Args:
        target: a boto3 client of ``sagemaker`` or ``logs``, or a ``boto3.Session``.
        api: the queue, for which it signs; by default the one that the environment or the profile file configures,
            signed with the credentials of each client, unless the profile names an AWS profile.
        priority: for requests without a priority tag; None for the queue's default.
        tell: called with a sentence, such as ``print``, whenever the place or state of a job that was submitted
            or stopped through it has changed; None for no notifications.

    Raises:
        ClientError: of `headway_client.errors`: `target` has no training jobs, is a client of another region or
            endpoint than the queue's, or no queue is configured.
    """
    if not hasattr(target, "meta"):
        access = QueueAccess(api or configured_connection(fallback_region=target.region_name))
        attach_session(target, access, Progress(tell, own_only=True), priority=priority)
        return
    service = target.meta.service_model.service_name
    if service not in _SERVICES:
        raise UsageError(f"A client of {service} has no training jobs: attach to one of sagemaker or logs.")
    access = QueueAccess(api or configured_connection(fallback_region=target.meta.region_name))
    elsewhere = access.why_not(target)
    if elsewhere is not None:
        raise UsageError(elsewhere)
    attach_client(target, access, Progress(tell, own_only=True), priority=priority)


def attach_session(
    session: Any,
    access: QueueAccess,
    progress: Progress,
    *,
    priority: int | None = None,
    services: Collection[str] = _SERVICES,
) -> None:
    """Attach a queue to the future clients of a boto3 session.

    Args:
        session: the boto3 session.
        access: the queue.
        progress: notifies about changes of jobs.
        priority: as for `attach`.
        services: the services whose clients are attached.
    """

    class Attached:
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            attach_client(self, access, progress, priority=priority)

    def add_base(*, base_classes: list[type], **_: Any) -> None:
        base_classes.insert(0, Attached)

    for service in services:
        event, unique_id = f"creating-client-class.{service}", f"headway-{service}"
        # botocore ignores a second handler with the same id, so the first one has to be removed.
        session.events.unregister(event, unique_id=unique_id)
        session.events.register(event, add_base, unique_id=unique_id)


def attach_client(client: Any, access: QueueAccess, progress: Progress, *, priority: int | None = None) -> None:
    """Attach a queue to a client of ``sagemaker`` or ``logs``; others are not changed.

    A client of another region or endpoint than the queue's keeps calling AWS, except that it creates no training job:
    the job would bypass the queue unnoticed.

    Args:
        access: the queue.
        progress: notifies about changes of jobs.
        priority: as for `attach`.
    """
    service = client.meta.service_model.service_name
    if service not in _SERVICES:
        return
    elsewhere = access.why_not(client)
    if service == "sagemaker":
        register(client.meta.events, access.jobs_of(client), priority=priority, progress=progress, elsewhere=elsewhere)
    elif elsewhere is None:
        methods = {name: getattr(type(client), name).__get__(client) for name in _LOG_METHODS}
        proxy = LogsProxy(access.jobs_of(client), **{_LOG_METHODS[name]: methods[name] for name in _LOG_METHODS})
        for name in _LOG_METHODS:
            setattr(client, name, getattr(proxy, name))
    setattr(client, _ATTACHED, access)
    setattr(client, _PRIORITY, priority)


def is_attached(client: Any) -> bool:
    """Return whether a queue is attached to a client."""
    return hasattr(client, _ATTACHED)


def default_priority(client: Any) -> int | None:
    """Return the priority that a client gives requests without a priority tag; None for the queue's default."""
    priority: int | None = getattr(client, _PRIORITY, None)
    return priority
