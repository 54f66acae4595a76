"""Attach the queue to boto3 clients of ``sagemaker`` and ``logs``, or to a boto3 session.

Clients of ``sagemaker`` get event handlers (`headway_client.botocore_hooks.handlers`). On clients of ``logs``, methods
are replaced instead (`headway_client.botocore_hooks.logs_proxy`): one call by the user takes several calls to AWS, and
an event handler has no client to make them with.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headway_client.botocore_hooks.handlers import register
from headway_client.botocore_hooks.job_cache import QueueJobs
from headway_client.botocore_hooks.logs_proxy import LogsProxy
from headway_client.botocore_hooks.progress import Notify
from headway_client.errors import UsageError
from headway_client.http.connect import default_api

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi

_LOG_METHODS = {"describe_log_streams": "describe", "get_log_events": "get"}
"""The replaced methods, and the parameters of `LogsProxy` that take the originals."""

_ORIGINAL = "headway_original"
"""The attribute of a replaced method that holds the original."""


def attach(
    target: Any, api: HeadwayApi | None = None, *, priority: int | None = None, tell: Notify | None = None
) -> None:
    """Send the training job calls of a client, or of all future clients of a boto3 session, to the queue.

    Attaching again replaces the previous attachment.

    Args:
        target: a boto3 client of ``sagemaker`` or ``logs``, or a ``boto3.Session``.
        api: the queue; by default the one that the environment or the profile file configures.
        priority: for requests without a priority tag; None for the queue's default.
        tell: called with a sentence, such as ``print``, whenever the place or state of a submitted or described job
            has changed; None for no notifications.

    Raises:
        ClientError: of `headway_client.errors`: `target` has no training jobs, or no queue is configured.
    """
    queue = api or default_api(None if hasattr(target, "meta") else target)
    attach_jobs(target, QueueJobs(queue), priority=priority, notify=tell)


def attach_jobs(target: Any, jobs: QueueJobs, *, priority: int | None = None, notify: Notify | None = None) -> None:
    """Do the same as `attach` with `jobs` that the caller keeps using.

    Args:
        target: as for `attach`.
        jobs: the queue's jobs.
        priority: as for `attach`.
        notify: as ``tell`` of `attach`.

    Raises:
        UsageError: `target` has no training jobs.
    """
    if not hasattr(target, "meta"):
        register(target.events, jobs, priority=priority, notify=notify)
        attach_logs(target, jobs)
        return
    service = target.meta.service_model.service_name
    if service == "sagemaker":
        register(target.meta.events, jobs, priority=priority, notify=notify)
    elif service == "logs":
        attach_logs(target, jobs)
    else:
        raise UsageError(f"A client of {service} has no training jobs: attach to one of sagemaker or logs.")


def attach_logs(target: Any, jobs: QueueJobs) -> None:
    """Show the logs of the queue's jobs under the jobs' names.

    Args:
        target: a client of ``logs``, or a boto3 session, whose future clients of ``logs`` are changed.
        jobs: the queue's jobs.
    """
    if hasattr(target, "meta"):
        methods = {name: getattr(type(target), name) for name in _LOG_METHODS}
        methods = {name: getattr(method, _ORIGINAL, method) for name, method in methods.items()}
        proxy = LogsProxy(jobs, **{_LOG_METHODS[name]: method.__get__(target) for name, method in methods.items()})
        for name in _LOG_METHODS:
            setattr(target, name, getattr(proxy, name))
        return

    def replace_methods(*, class_attributes: dict[str, Any], **_: Any) -> None:
        class_attributes.update(_log_methods(class_attributes, jobs))

    event, unique_id = "creating-client-class.logs", "headway-logs"
    target.events.unregister(event, unique_id=unique_id)
    target.events.register(event, replace_methods, unique_id=unique_id)


def reads_own_logs(client: Any) -> bool:
    """Return whether a client of ``logs`` was made by an attached session."""
    return any(hasattr(getattr(type(client), name), _ORIGINAL) for name in _LOG_METHODS)


def _log_methods(class_attributes: dict[str, Any], jobs: QueueJobs) -> dict[str, Callable[..., Any]]:
    originals = {name: class_attributes[name] for name in _LOG_METHODS}
    attribute = "_headway_logs"

    def method(name: str) -> Callable[..., Any]:
        @functools.wraps(originals[name])
        def call(client: Any, *args: Any, **arguments: Any) -> Any:
            proxy = client.__dict__.get(attribute)
            if proxy is None:
                bound = {_LOG_METHODS[each]: originals[each].__get__(client) for each in _LOG_METHODS}
                proxy = LogsProxy(jobs, **bound)
                client.__dict__[attribute] = proxy
            return getattr(proxy, name)(*args, **arguments)

        setattr(call, _ORIGINAL, originals[name])
        return call

    return {name: method(name) for name in _LOG_METHODS}
