"""Repairs the sums of a day by what a comparison with the jobs has found, too much as well as too little.

An ended attempt is added to the sums in one transaction with its mark, so the difference of the sums and of what the
marks stand for does not change. A difference that was found stays what it is, whatever ends meanwhile, and is added to
the sums like all that is accounted for. Only another repair changes it: each repair of the month is counted, and takes
effect only if the count is that of the comparison.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import date

from headway.accounting.differences import OTHER, Difference
from headway.days import DAY_MS, DAYS_KEPT, Period, begin_ms, day_of, days, month_of
from headway_service.accounting.compare import check_day
from headway_service.accounting.names import Names, NewNames
from headway_service.accounting.records import (
    RepairRecord,
    add_figures,
    figures_in,
    is_of_jobs,
    sum_key,
)
from headway_service.errors import Conflict, InvalidRequest, RetryLater, SumsChanged
from headway_service.observability.logging import logger
from headway_service.ports.table import Key, Table, Write
from headway_service.store.repository import retry_on_conflict

MAX_REPAIRED = 20
"""Figures that one request repairs. Those of each name are compared with the days of its month, which are read."""


class UsageRepairer:
    """Repairs sums of usage.

    Args:
        clock: the training time, ms.
        retention_s: for how long ended jobs are kept, s.
    """

    def __init__(self, table: Table, clock: Callable[[], int], retention_s: int) -> None:
        self._table = table
        self._clock = clock
        self._retention_s = retention_s

    def repair(self, by: str, day: date, found: Sequence[Difference], revision: int, caller: str) -> int:
        """Give figures of a day the values that the jobs have, and those of its month the sums of its days.

        It may be repeated: what has taken effect does so once.

        Args:
            by: ``team``, ``owner`` or ``pool``.
            found: the differences, at most :data:`MAX_REPAIRED`.
            revision: how many repairs of the month the comparison has seen.
            caller: ARN of who repairs them.

        Returns:
            How many repairs of the month there are now.

        Raises:
            InvalidRequest: the day cannot be compared, a difference cannot be repaired, or days of the month may have
                been forgotten.
            SumsChanged: the sums were repaired since the comparison, or are not those that it has found.
            RetryLater: they keep changing.
        """
        now_ms = self._clock()
        check_day(day, now_ms, self._retention_s)
        _check_month(day, now_ms)
        _check(found)
        busy = RetryLater(f"the sums of {day} keep changing; try again in a moment")
        return retry_on_conflict(lambda: self._repair(by, day, found, revision, caller, now_ms), otherwise=busy)

    def _repair(self, by: str, day: date, found: Sequence[Difference], revision: int, caller: str, now_ms: int) -> int:
        month, digest = month_of(day), _digest(day, found)
        item = self._table.get(RepairRecord.key(by, month))
        known = RepairRecord(by=by, month=month) if item is None else RepairRecord.parse(item)
        if (known.version, known.digest) == (revision + 1, digest):
            # A repetition, whose first answer was lost.
            return known.version
        if known.version != revision:
            raise SumsChanged(f"the sums of {month} by {by} were repaired since the comparison: compare {day} again")
        of_names: dict[str, list[Difference]] = defaultdict(list)
        for each in found:
            of_names[each.name].append(each)
        new = Names(self._table).open()
        writes: list[Write] = [known.next(day, digest, caller, now_ms).put()]
        for name, differences in of_names.items():
            writes += self._of_name(new, by, day, name, differences, now_ms)
        self._table.write([*writes, *new.writes()])
        figures = [[each.name, each.figure, each.stored, each.computed] for each in found]
        logger.info(
            "sums of usage were repaired",
            extra={"by": by, "day": day.isoformat(), "caller": caller, "figures": figures, "revision": revision + 1},
        )
        return revision + 1

    def _of_name(
        self, new: NewNames, by: str, day: date, name: str, found: Sequence[Difference], now_ms: int
    ) -> list[Write]:
        """The writes of a name: what its day lacks, and what its month lacks then."""
        month = month_of(day)
        if new.of(by, month, name) != name:
            raise InvalidRequest(f"`{name}` has no sum of its own in {month}, as too many names have one")
        whole = sum_key(by, Period(month=month), name)
        before = self._figures(whole)
        of_days = {
            period.first: self._figures(sum_key(by, period, name))
            for period in days(day.replace(day=1), _last(day, now_ms))
        }
        if any(of_days[day].get(each.figure, 0) != each.stored for each in found):
            raise SumsChanged(f"the sums of {day} by {by} are not those of the comparison: compare it again")
        after = self._figures(whole)
        if any(before.get(each.figure) != after.get(each.figure) for each in found):
            # Something was accounted for while the days were read, so that they may have it or not.
            raise Conflict.stale()
        total = sum((Counter(figures) for figures in of_days.values()), Counter[str]())
        of_day = {each.figure: each.computed - each.stored for each in found}
        of_month = {
            figure: more for figure, added in of_day.items() if (more := total[figure] + added - after.get(figure, 0))
        }
        periods = ((Period(month=month, day=day), of_day), (Period(month=month), of_month))
        return [add_figures(by, period, name, figures) for period, figures in periods if figures]

    def _figures(self, key: Key) -> dict[str, int]:
        return figures_in(self._table.get(key) or {})


def _last(day: date, now_ms: int) -> date:
    """The last day of a day's month that may have a sum."""
    following = date.fromordinal(day.replace(day=28).toordinal() + 4).replace(day=1)
    return min(day_of(now_ms), date.fromordinal(following.toordinal() - 1))


def _check_month(day: date, now_ms: int) -> None:
    first = day.replace(day=1)
    if begin_ms(first) + DAYS_KEPT * DAY_MS <= now_ms:
        raise InvalidRequest(f"sums of days of {month_of(day)} are not kept any more, so its month cannot be repaired")


def _check(found: Sequence[Difference]) -> None:
    if len({(each.name, each.figure) for each in found}) < len(found):
        raise InvalidRequest("differences: each figure of a name may be there once")
    for each in found:
        if each.name == OTHER:
            raise InvalidRequest(f"differences: `{OTHER}` has the sums of many names, which cannot be repaired")
        if not is_of_jobs(each.figure):
            raise InvalidRequest(f"differences: there is no figure `{each.figure}` that jobs have")
        if each.stored == each.computed:
            raise InvalidRequest(f"differences: `{each.figure}` of `{each.name}` does not differ")


def _digest(day: date, found: Sequence[Difference]) -> str:
    figures: list[Mapping[str, object]] = [
        {"name": each.name, "figure": each.figure, "stored": each.stored, "computed": each.computed} for each in found
    ]
    return hashlib.sha256(json.dumps([day.isoformat(), figures], sort_keys=True).encode()).hexdigest()[:16]
