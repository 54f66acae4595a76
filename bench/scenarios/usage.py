"""How long does the report of a year of a million jobs take, and how much does it read?"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass
from datetime import date

from bench.metering.dynamodb_units import MeteredTable
from bench.queues.used_year import POOLS, YEAR, used_year
from headway.accounting.prices import Price, Prices
from headway_service.accounting.reader import Step, read_usage
from headway_service.api.documents.usage import usage_document
from headway_service.ports.table import Table

JOBS = 1_000_000
MOST_SECONDS, MOST_READ_UNITS = 2.0, 1000


UNPRICED = Prices()
_BEFORE = Price(first=date(2020, 1, 1), on_demand=98.32)
_AFTER = Price(first=YEAR[0].replace(month=6, day=15), on_demand=63.3)
CHANGED = Prices(by_type={f"ml.p{number}.48xlarge": (_BEFORE, _AFTER) for number in range(POOLS)})
"""Prices that change in the middle of a month, so that its days are read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """The report of a year by one dimension."""

    by: str
    rows: int
    seconds: float
    read_units: float
    calls: float


def report(table: Table, by: str, prices: Prices = UNPRICED) -> Report:
    """Make the report, and count what it reads.

    Args:
        table: the table.
        by: ``team``, ``owner`` or ``pool``.
        prices: what instances cost.
    """
    used: Counter[str] = Counter()
    metered = MeteredTable(table, lambda kind, number: used.update({kind: number}))
    begun = time.process_time()
    read = read_usage(metered, by, *YEAR, Step.TOTAL, by_days=prices.changing_months())
    rows = usage_document(by, *YEAR, Step.TOTAL, read, prices, 0).rows
    seconds = time.process_time() - begun - metered.metering_ns / 1e9
    label = f"{by}, priced" if prices is not UNPRICED else by
    return Report(by=label, rows=len(rows), seconds=seconds, read_units=used["read units"], calls=used["calls"])


def main() -> int:
    """Print the reports; 1 if one misses its goal."""
    table = used_year(JOBS)
    reports = [report(table, by, prices) for prices in (UNPRICED, CHANGED) for by in ("pool", "team", "owner")]
    print("by              rows  own time, s  read units  calls")
    for each in reports:
        print(f"{each.by:14} {each.rows:5} {each.seconds:12.2f} {each.read_units:11.0f} {each.calls:6.0f}")
    return int(any(each.seconds > MOST_SECONDS or each.read_units > MOST_READ_UNITS for each in reports))


if __name__ == "__main__":
    sys.exit(main())
