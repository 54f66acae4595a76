"""Submits many requests in one call: each is taken or refused by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headway_service.config.authorization import Caller
from headway_service.errors import Busy, RequestError
from headway_service.jobs.position import Seen
from headway_service.jobs.submit import Entered, Submitter, Terms
from headway_service.observability.request_log import job_named_in, log_refusal
from headway_service.ports.messaging import Wake

MAX_BATCH = 100
"""Requests in one batch."""

BATCH_RESERVE_MS = 5000
"""Of an invocation's time, ms: no further request of a batch is begun in it, so that the answer still gets out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """A request of a batch that is in the queue."""

    seen: Seen
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
) -> list[Taken | RequestError]:
    """Submit one request after the other, and wake the scheduler once.

    The configuration is read once, each line read once, and the places are told together, however many there are.

    Args:
        requests: CreateTrainingJob requests as decoded from JSON.
        caller: who asks.
        key: by which the caller knows the call again when it is repeated.
        call: what was called, for the log.
        submitter: makes a submitter that asks for ticks in the given way.
        wake: asks for a tick.
        remaining_ms: how long the invocation may still live.

    Returns:
        What became of each, in their order; ``Busy`` of those that there was no time for.

    Raises:
        RequestError: the queue cannot answer now. Those that were taken are in it; sent again they are the same jobs.
    """
    wakes: list[str] = []
    taking = submitter(wakes.append)
    terms = taking.terms(caller)
    results: list[Entered | RequestError] = []
    try:
        for request in requests:
            if remaining_ms() < BATCH_RESERVE_MS:
                results.append(Busy("there was no time left for this request of the batch; send it again"))
            else:
                results.append(_submit(taking, request, caller, key, call, terms))
    finally:
        # Those that were taken before a fault are in the queue.
        if wakes:
            wake(f"submitted {len(wakes)} in a batch")
    seen = iter(taking.places([each for each in results if isinstance(each, Entered)], terms))
    return [Taken(seen=next(seen), new=each.new) if isinstance(each, Entered) else each for each in results]


def _submit(
    submitter: Submitter, request: Any, caller: Caller, key: str | None, call: str, terms: Terms
) -> Entered | RequestError:
    try:
        return submitter.enter(request, caller, key, terms)
    except RequestError as error:
        log_refusal(error, caller=caller.arn, call=call, job=job_named_in(request))
        return error
