"""The sums of usage of a day are compared with the jobs, and repaired."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.sanitize import strip_control_characters
from headway_client.errors import BusyError, ConflictError

if TYPE_CHECKING:
    from headway.accounting.differences import Difference
    from headway_client.http.api import HeadwayApi
    from headway_client.models import ScannedJob

MAX_SCANS = 6
"""How often the jobs are read for a comparison while the sums of the day change."""

MAX_REPAIRED = 20
"""Figures of one request of a repair; the service takes no more."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What the sums of a day have that the jobs do not have, and the other way round.

    Attributes:
        by: ``team``, ``owner`` or ``pool``.
        day: the day.
        differences: the figures that differ.
        incomplete: the jobs of which attempts that may be in the day are not kept.
        unreadable: the damaged jobs, which may have something in the day.
        keeps_earlier: whether a job is kept that ended before the day, so that those of the day are kept.
        revision: how many repairs of the sums of the month there were.
    """

    by: str
    day: str
    differences: Sequence[Difference]
    incomplete: Sequence[str]
    unreadable: Sequence[str]
    keeps_earlier: bool
    revision: int

    def require_exact(self) -> None:
        """Refuse a repair by jobs of which some may be missing.

        Raises:
            ConflictError: jobs or attempts of the day may have been forgotten, or are damaged, or a sum has several
                names.
        """
        from headway.accounting.differences import OTHER

        reason = None
        if self.incomplete:
            named = ", ".join(map(strip_control_characters, self.incomplete))
            reason = f"older attempts of these jobs are not kept: {named}"
        elif self.unreadable:
            named = ", ".join(map(strip_control_characters, self.unreadable))
            reason = f"these jobs are damaged: {named}; correct their items in the table, or restore it"
        elif not self.keeps_earlier:
            reason = "no job is kept that ended before that day, so jobs of the day may have been forgotten"
        elif any(each.name == OTHER for each in self.differences):
            reason = f"{OTHER} has the sums of several names"
        if reason is not None:
            raise ConflictError(f"The sums of {self.day} by {self.by} can't be repaired: {reason}.")


def compare(api: HeadwayApi, by: str, day: str) -> Comparison:
    """Compare the sums of a day with the jobs.

    Args:
        api: the queue.
        by: ``team``, ``owner`` or ``pool``.
        day: a UTC day that is over, such as ``2026-11-24``.

    Raises:
        BusyError: the sums keep changing.
    """
    for _ in range(MAX_SCANS):
        found = _scan(api, by, day)
        if found is not None:
            return found
    raise BusyError(f"The sums of {day} keep changing; try again later.")


def _scan(api: HeadwayApi, by: str, day: str) -> Comparison | None:
    """The comparison; None if the sums have changed meanwhile."""
    from headway.accounting.differences import differences

    jobs: list[ScannedJob] = []
    unreadable: list[str] = []
    token, keeps_earlier = None, False
    while True:
        page = api.compare_usage(by, day, token)
        jobs += page.jobs
        unreadable += page.unreadable
        token, keeps_earlier = page.next_token, keeps_earlier or page.keeps_earlier
        if token is None:
            break
    if page.changed:
        return None
    return Comparison(
        by=by,
        day=day,
        differences=differences(page.stored or {}, [job.sums for job in jobs]),
        incomplete=sorted(job.name for job in jobs if not job.complete),
        unreadable=sorted(unreadable),
        keeps_earlier=keeps_earlier,
        revision=page.revision or 0,
    )


def repair(api: HeadwayApi, comparison: Comparison) -> None:
    """Give the figures that differ the values of the jobs.

    Args:
        api: the queue.
        comparison: what was compared; it has to be exact.

    Raises:
        ConflictError: the sums have changed since the comparison; what was repaired until then stays.
    """
    revision = comparison.revision
    for part in _parts(comparison.differences):
        revision = api.repair_usage(comparison.by, comparison.day, revision, part).revision


def _parts(found: Sequence[Difference]) -> Iterator[Sequence[Difference]]:
    for start in range(0, len(found), MAX_REPAIRED):
        yield found[start : start + MAX_REPAIRED]
