"""Submits many requests in one call: each is accepted or refused by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headway_service.config.authorization import Caller
from headway_service.errors import RequestError, RetryLater
from headway_service.jobs.position import JobView
from headway_service.jobs.submit import SubmissionContext, SubmittedJob, Submitter
from headway_service.observability.request_log import job_named_in, log_refusal
from headway_service.ports.messaging import Wake

MAX_BATCH = 100
"""Requests in one batch."""

BATCH_RESERVE_MS = 5000
"""No further request of a batch is begun when an invocation has less time left, ms, so that it can still answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """A request of a batch whose job is in the queue."""

    seen: JobView
    #: See :meth:`headway_service.jobs.submit.Submitter.submit`.
    new: bool


def submit_all(
    requests: Sequence[Any],
    caller: Caller,
    key: str | None,
    *,
    call: str,
    submitter: Callable[[Wake], Submitter],
    wake: Wake,
    remaining_ms: Callable[[], int],
    read: Callable[[Any], Any] = lambda request: request,
) -> list[Accepted | RequestError]:
    """Submit one request after the other, and wake the scheduler once.

    The configuration and each queue are read once, however many requests there are, and so are the positions.

    Args:
        requests: CreateTrainingJob requests as decoded from JSON.
        caller: the caller.
        key: the idempotency key of the call, if it has one.
        call: the called operation, for the log.
        submitter: makes a submitter that requests ticks through the given function.
        wake: requests a tick.
        remaining_ms: how long the invocation may still live.
        read: gives what one of the requests submits.

    Returns:
        The result of each request, in their order; ``RetryLater`` where no time was left.

    Raises:
        RequestError: the queue cannot answer now. Jobs accepted so far stay; sent again, they are the same jobs.
    """
    wakes: list[str] = []
    batch_submitter = submitter(wakes.append)
    context = batch_submitter.context(caller, len(requests))
    results: list[SubmittedJob | RequestError] = []
    try:
        for request in requests:
            if remaining_ms() < BATCH_RESERVE_MS:
                results.append(RetryLater("there was no time left for this request of the batch; send it again"))
            else:
                results.append(_submit(batch_submitter, request, caller, key, call, context, read))
    finally:
        # Jobs that were accepted before a failure are in the queue.
        context.limits.store_counts()
        if wakes:
            wake(f"submitted {len(wakes)} in a batch")
    views = iter(batch_submitter.places([each for each in results if isinstance(each, SubmittedJob)], context))
    return [Accepted(seen=next(views), new=each.new) if isinstance(each, SubmittedJob) else each for each in results]


def _submit(
    submitter: Submitter,
    request: Any,
    caller: Caller,
    key: str | None,
    call: str,
    context: SubmissionContext,
    read: Callable[[Any], Any],
) -> SubmittedJob | RequestError:
    try:
        return submitter.enqueue(read(request), caller, key, context)
    except RequestError as error:
        log_refusal(error, caller=caller.arn, call=call, job=job_named_in(request))
        return error
