"""Which jobs hold instances? The attempts in the ledger say it, so that no listing has to be written at a start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headway.lifecycle import ACTIVE
from headway_service.ports.table import Item, ListingPage, Table
from headway_service.store.job_filter import JobFilter
from headway_service.store.ledger import read_attempts_for_display
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord

_Place = tuple[str, str]
"""A place in the listing: the rank of a job, and its partition."""


class ActiveJobs:
    """Lists the jobs that hold instances, in the order of their ranks, eventually consistent.

    Beside them are those of the index's listing ``holding``: arrays, which have no attempt, and jobs that older code
    has started.

    Args:
        table: the table. Its attempts are read once, when they are first needed.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._attempts: dict[_Place, AttemptRecord] | None = None

    def page(self, wanted: JobFilter, after: Mapping[str, str] | None, limit: int) -> ListingPage:
        """A page of the jobs that match.

        Args:
            wanted: which jobs.
            after: where to continue, of an earlier page.
            limit: looks at this many attempts, and at this many items of the index. A page may have fewer jobs and
                still have a successor.
        """
        begin = ("", "") if after is None else (after["listingKey"], after["pk"])
        attempts = self._by_place()
        places = [place for place in attempts if place > begin]
        indexed = self._table.listing("holding", where=wanted.conditions(), after=after, limit=limit)
        ends = [_place(indexed.after)] if indexed.after else []
        if len(places) > limit:
            ends.append(places[limit - 1])
        end = min(ends, default=None)
        found = {_place(item): item for item in indexed.items}
        found |= self._read([place for place in places[:limit] if wanted.may_match(attempts[place])], wanted)
        items = tuple(found[place] for place in sorted(found) if end is None or place <= end)
        return ListingPage(items=items, after=None if end is None else {"listingKey": end[0], "pk": end[1]})

    def _by_place(self) -> dict[_Place, AttemptRecord]:
        if self._attempts is None:
            # The attempts of a job that starts again may be in two pages of the answer.
            found = {each.job_name: each for each in read_attempts_for_display(self._table)}
            placed = [((each.rank(), JobRecord.key(name).pk), each) for name, each in found.items()]
            self._attempts = dict(sorted(placed, key=lambda each: each[0]))
        return self._attempts

    def _read(self, places: Sequence[_Place], wanted: JobFilter) -> dict[_Place, Item]:
        """The jobs of some attempts that match. One may have ended since, or wait again."""
        items = self._table.get_listed([JobRecord.key(self._by_place()[place].job_name) for place in places])
        ranks = {partition: rank for rank, partition in places}
        found = ({**item, "listingKey": ranks[item["pk"]]} for item in items)
        return {_place(item): item for item in found if item["jobState"] in ACTIVE and wanted.matches(item)}


def _place(of: Mapping[str, str] | Item) -> _Place:
    return of["listingKey"], of["pk"]
