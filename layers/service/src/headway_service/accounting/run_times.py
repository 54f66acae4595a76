"""The run times of completed jobs, as the sums of kinds of jobs have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from headway.accounting.histogram import bucket_of
from headway.days import Period, days, month_of
from headway.prediction.fading import months_counted
from headway.prediction.kinds import RunKind
from headway.prediction.quality import Quality
from headway.prediction.run_times import RunTimes
from headway_service.accounting.records import (
    COVERED,
    ERROR,
    KIND,
    KINDS_KEPT,
    MAX_NAMES,
    RUN,
    figures_in,
    name_in,
    partition,
    prefix,
)
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table

FRESH_MS = 300_000
"""For how long run times that were read are used, machine time, ms."""


class KnownRunTimes:
    """Reads the run times of completed jobs, and remembers them for some minutes.

    Args:
        clocks: training time and machine time.
    """

    def __init__(self, table: Table, clocks: Clocks) -> None:
        self._table = table
        self._clocks = clocks
        self._known: tuple[int, RunTimes] | None = None

    def get(self) -> RunTimes:
        """The run times, as of some minutes ago at most."""
        machine_ms = self._clocks.machine_ms()
        if self._known is None or machine_ms - self._known[0] >= FRESH_MS:
            self._known = machine_ms, read_run_times(self._table, self._clocks.training_ms())
        return self._known[1]


def read_run_times(table: Table, now_ms: int) -> RunTimes:
    """The run times of the jobs that have completed.

    Args:
        now_ms: the training time, ms.
    """
    found = RunTimes(now_ms)
    for month in months_counted(now_ms):
        # Beside the kinds there is the sum of all others.
        items = table.query_for_display(partition(KIND, month.month), prefix=prefix(month), limit=MAX_NAMES + 1)
        for item in items:
            found.add(RunKind.parse(name_in(item)), month, _histogram(figures_in(item), RUN))
    return found


def figures_of(run_times: RunTimes, kind: RunKind, run_ms: int, limit_ms: int | None) -> dict[str, int]:
    """What a completed job adds to the sum of its kind: its run time, and how good its prediction was, if it had one.

    Args:
        run_times: those of the jobs that have completed before it.
        run_ms: how long it ran, ms.
        limit_ms: its limit, ms; None if nothing limited it.
    """
    figures = {f"{RUN}{bucket_of(run_ms / 1000)}": 1}
    prediction = run_times.predict(kind, limit_ms=limit_ms)
    if prediction is not None:
        quality = Quality.of(prediction, run_ms)
        figures |= {f"{ERROR}{bucket}": count for bucket, count in quality.errors.items()}
        figures |= {COVERED: quality.covered} if quality.covered else {}
    return figures


@dataclass(frozen=True, kw_only=True, slots=True)
class MonthsQuality:
    """How good the predictions of months were.

    Attributes:
        kept: completed jobs whose run times were kept.
        quality: how good the predictions were of those that had one.
    """

    kept: int
    quality: Quality


def read_quality(table: Table, first: date, last: date) -> MonthsQuality:
    """How good the predictions were for the jobs that completed in some months.

    Args:
        first: a day of the first month.
        last: a day of the last month, at most as many months later as :data:`KINDS_KEPT` allows.
    """
    kept, quality = 0, Quality()
    begin = first if (last - first).days <= KINDS_KEPT else last - timedelta(days=KINDS_KEPT)
    for month in sorted({month_of(period.first) for period in days(begin.replace(day=1), last)}):
        items = table.query_for_display(partition(KIND, month), prefix=prefix(Period(month=month)), limit=MAX_NAMES + 1)
        for item in items:
            figures = figures_in(item)
            kept += sum(_histogram(figures, RUN).values())
            quality += quality_in(figures)
    return MonthsQuality(kept=kept, quality=quality)


def quality_in(figures: Mapping[str, int]) -> Quality:
    """How good the predictions of the jobs in a sum were."""
    return Quality(covered=figures.get(COVERED, 0), errors=_histogram(figures, ERROR))


def _histogram(figures: Mapping[str, int], begin: str) -> dict[int, int]:
    return {int(name.removeprefix(begin)): count for name, count in figures.items() if name.startswith(begin)}
