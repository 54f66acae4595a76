"""Which jobs has SageMaker not launched for long?

There is no list of them that a transition would have to keep. A waiting job is found in the entries that the gauges
read of each queue anyway, whether instances are free or not. One that is just tried again has an attempt, which tells
that launches before it got no instances; only for these is something read. So no job that is tried leaves the gauge for
that time, and a queue in which no launch fails costs nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from headway.model import WaitingJob
from headway.refusals import unlaunchable_from_ms
from headway.scheduling.alternatives import choices
from headway_service.errors import UnreadableRecord
from headway_service.monitoring.queue_depth import Backlog
from headway_service.ports.table import Table
from headway_service.store.known_failures import afresh
from headway_service.store.ledger import Ledger
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_job_items

UNLAUNCHABLE_FOR_MS = 600_000
"""A job counts that has been unlaunchable for so long."""

MAX_TRIED_AGAIN = 100
"""Jobs that are just tried again of which one run reads whether they count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnlaunchableJob:
    """A job that SageMaker has not launched for long.

    Attributes:
        name: its name.
        pools: the pools that it could have instances of.
        code: AWS's code of its last launch on its first preference; the cause, if there is none.
    """

    name: str
    pools: tuple[str, ...]
    code: str


def unlaunchable_jobs(table: Table, ledger: Ledger, queues: Iterable[Backlog], now_ms: int) -> list[UnlaunchableJob]:
    """The jobs that have been unlaunchable for :data:`UNLAUNCHABLE_FOR_MS` on each of their alternatives, by name.

    Those that wait for a paused pool do not count: nothing is tried there.

    Args:
        ledger: the ledger as just read, in training time.
        queues: the queues that are not empty.
        now_ms: the training time, ms.
    """
    jobs = {job.name: job for each in queues for job in each.failed}
    # The ledger is read before the queues: a job that waits again since then is in both.
    jobs = {job.name: job for job in _tried_again(table, ledger)} | jobs
    paused = {pool.pool for pool in ledger.pools if ledger.pause_of(pool.pool) is not None}
    found = (_unlaunchable(job, paused, now_ms) for job in afresh(jobs.values(), ledger, ledger.sizes_at(now_ms)))
    return sorted((each for each in found if each is not None), key=lambda each: each.name)


def _tried_again(table: Table, ledger: Ledger) -> Iterator[WaitingJob]:
    """Jobs whose attempts have no instances yet, and are not their first ones without any."""
    attempts = (each for each in ledger.attempts if each.failed_before and not each.is_provisioned)
    names = sorted({each.job_name for each in attempts})[:MAX_TRIED_AGAIN]
    for item in find_job_items(table, names).values() if names else ():
        with suppress(UnreadableRecord):
            yield JobRecord.parse(item).on(0).waiting()


def _unlaunchable(job: WaitingJob, paused: set[str], now_ms: int) -> UnlaunchableJob | None:
    """The job, if it counts."""
    on_each = choices(job)
    for each in on_each:
        if each.failed is None or now_ms - unlaunchable_from_ms(each.failed) < UNLAUNCHABLE_FOR_MS:
            return None
    first = job.failed
    if first is None or all(not paused.isdisjoint(each.demand) for each in on_each):
        return None
    pools = {pool for each in on_each for pool in each.demand}
    return UnlaunchableJob(name=job.name, pools=tuple(sorted(pools)), code=first.code or first.cause.value)
