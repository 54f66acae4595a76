"""Goes through all training jobs that may be live, slowly: ListTrainingJobs takes about two calls a second per account.

How far it has come is kept between two runs, so that an account with many training jobs is gone through in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headway_service.errors import ListingExpired
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Delete, Table
from headway_service.ports.training_jobs import AllTrainingJobs
from headway_service.store.records.scan import ScanRecord
from headway_service.store.repository import find_scan

MAX_PAGES = 10
"""Calls of ListTrainingJobs in one run; each gives up to a hundred training jobs, ended ones too."""

PAGE_INTERVAL_S = 2.0
"""Time between two of them. Users report a limit of two calls a second, which cannot be raised. The patrol and the
reconciler may list at the same time: together they make one call a second, and leave the other one to the account's
users."""

LONGEST_S = 60 * 86_400
"""Training jobs that are older have ended: one waits for 28 days and runs for 30 at most (API reference,
StoppingCondition). Only one that waits for the start of its training plan may be older, and that holds nothing yet."""


RECENT_S = 1200
"""Training jobs that were created within this time are listed in every run, however long a round takes."""


def scan(
    table: Table,
    training_jobs: AllTrainingJobs,
    *,
    clocks: Clocks,
    sleep: Callable[[float], None],
    has_time: Callable[[], bool],
    completed: Callable[[int], None],
) -> Iterator[tuple[str, ...]]:
    """The names of live training jobs, page by page, from where the last run came to.

    A page that is not followed by another step of the iteration is gone through again by the next run. While a round
    takes several runs, each begins with the newest page.

    Args:
        training_jobs: SageMaker.
        clocks: training time and machine time.
        sleep: sleeps for a time, s.
        has_time: whether another page may be begun.
        completed: is called when a round has come to its end, with the machine time at which it began, ms.

    Raises:
        OutcomeUnknown: SageMaker did not respond; the next run continues.
    """
    place = find_scan(table)
    if place is not None:
        recent = training_jobs.live(clocks.training_ms() - RECENT_S * 1000, None)
        yield tuple(each.name for each in recent.jobs)
        sleep(PAGE_INTERVAL_S)
    began_ms = place.began_ms if place else clocks.machine_ms()
    for number in range(MAX_PAGES):
        if number:
            sleep(PAGE_INTERVAL_S)
        if not has_time():
            return
        after_ms = place.created_after_ms if place else clocks.training_ms() - LONGEST_S * 1000
        try:
            page = training_jobs.live(after_ms, place.token if place else None)
        except ListingExpired:
            table.write([Delete(key=ScanRecord.KEY)])
            return
        yield tuple(each.name for each in page.jobs)
        if page.token is None:
            if place is not None:
                table.write([Delete(key=ScanRecord.KEY)])
            completed(began_ms)
            return
        place = ScanRecord(created_after_ms=after_ms, token=page.token, began_ms=began_ms)
        table.write([place.put()])
