"""Submits many requests in one call: each is accepted or refused by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headway_service.admission.admit import admit
from headway_service.config.authorization import Caller
from headway_service.errors import BudgetSpent, QueueFull, RequestError, RetryLater, RuleViolation
from headway_service.jobs.position import JobView
from headway_service.jobs.submit import SubmissionContext, SubmittedJob, Submitter, stands_alone
from headway_service.jobs.submit_group import SubmissionGroup
from headway_service.observability.request_log import job_named_in, log_refusal
from headway_service.ports.messaging import Wake
from headway_service.store.records.job import JobRecord

MAX_BATCH = 100
"""Requests in one batch."""

BATCH_RESERVE_MS = 5000
"""No further request of a batch is begun when an invocation has less time left, ms, so that it can still answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """A request of a batch whose job is in the queue."""

    seen: JobView[JobRecord]
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
    """Submit requests in their order, as many in one transaction as it holds, and wake the scheduler once.

    The configuration and each queue are read once, however many requests there are, and so are the positions.

    Args:
        requests: CreateTrainingJob requests as decoded from JSON.
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
    context = batch_submitter.context(caller, key, len(requests))
    batch = _Batch(batch_submitter, call, context)
    try:
        for place, request in enumerate(requests):
            if remaining_ms() < BATCH_RESERVE_MS:
                batch.refuse(place, RetryLater("there was no time left for this request of the batch; send it again"))
            else:
                batch.submit(place, request, read)
        batch.write()
    finally:
        # Jobs that were accepted before a failure are in the queue.
        context.limits.store_counts()
        if wakes:
            wake(f"submitted {len(wakes)} in a batch")
    results = batch.results()
    views = iter(batch_submitter.places([each for each in results if isinstance(each, SubmittedJob)], context))
    return [Accepted(seen=next(views), new=each.new) if isinstance(each, SubmittedJob) else each for each in results]


class _Batch:
    """The results of the requests of a batch, by their places; those of a group come when it is written."""

    def __init__(self, submitter: Submitter, call: str, context: SubmissionContext) -> None:
        self._submitter = submitter
        self._call = call
        self._context = context
        self._group = SubmissionGroup(submitter, context)
        self._results: dict[int, SubmittedJob | RequestError] = {}
        self._names: dict[int, str | None] = {}

    def submit(self, place: int, request: Any, read: Callable[[Any], Any]) -> None:
        """Submit a request, or prepare it to be written with others."""
        self._names[place] = job_named_in(request)
        try:
            admitted = admit(read(request), self._context.configuration, self._context.caller)
            if not stands_alone(admitted):
                # It may depend on a job of the group.
                self.write()
                self._results[place] = self._submitter.enter(admitted, self._context)
                return
            if not self._group.may_join(admitted):
                self.write()
            try:
                prepared = self._submitter.prepare(admitted, self._context)
            except (QueueFull, BudgetSpent, RuleViolation):
                # The group may hold jobs that are in the queue already. And a repeated call gets the same answer, even
                # if its job was the last that fitted.
                self.write()
                self._results[place] = self._submitter.enter(admitted, self._context)
            else:
                self._group.add(place, prepared)
        except RequestError as error:
            self.refuse(place, error)

    def write(self) -> None:
        """Write the jobs that were prepared."""
        for place, result in self._group.write().items():
            if isinstance(result, RequestError):
                self.refuse(place, result)
            else:
                self._results[place] = result

    def refuse(self, place: int, error: RequestError) -> None:
        """Refuse a request; one that no time was left for was not looked at, and is not logged."""
        if place in self._names:
            log_refusal(error, caller=self._context.caller.arn, call=self._call, job=self._names[place])
        self._results[place] = error

    def results(self) -> list[SubmittedJob | RequestError]:
        """The results in the order of the requests."""
        return [self._results[place] for place in sorted(self._results)]
