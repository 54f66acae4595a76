"""Which failed launches of waiting jobs still tell something: not those in a pool of another size, or in an outage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from headway.model import Demand, WaitingJob
from headway.refusals import FailedLaunches
from headway_service.store.ledger import Ledger


def afresh(waiting: Iterable[WaitingJob], ledger: Ledger, sizes: Demand) -> Iterator[WaitingJob]:
    """The jobs, without what tells nothing about a launch now.

    Args:
        waiting: the jobs.
        ledger: the ledger, in training time.
        sizes: the sizes of the pools.
    """
    answered_ms = {pool.pool: pool.answered_ms for pool in ledger.pools}

    def is_of_now(failed: FailedLaunches | None, demand: Demand) -> bool:
        if failed is None:
            return True
        if failed.pools_size not in {0, sum(sizes.get(pool, 0) for pool in demand)}:
            return False
        return not failed.is_of_outage or all(failed.last_ms >= answered_ms.get(pool, 0) for pool in demand)

    for job in waiting:
        if job.failed is None and all(each.failed is None for each in job.alternatives):
            yield job
            continue
        alternatives = tuple(
            each if is_of_now(each.failed, each.demand) else replace(each, failed=None, not_before_ms=0)
            for each in job.alternatives
        )
        afresh = replace(job, alternatives=alternatives)
        yield afresh if is_of_now(job.failed, job.demand) else replace(afresh, failed=None, not_before_ms=0)
