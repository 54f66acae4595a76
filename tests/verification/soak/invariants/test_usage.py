"""The check of the sums of usage finds what is missing and what is twice."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.ports.table import Put
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.invariants.usage import DIMENSIONS, check_usage
from headway_verification.soak.violations import Violated

P5 = "ml.p5.48xlarge"
JOB: dict[str, Any] = {
    "pk": "job#a",
    "sk": "job",
    "jobState": "completed",
    "attempts": [{"demand": {P5: 2}, "sinceMs": 1000, "endedMs": 4000}, {"sinceMs": 0, "endedMs": 9000}],
}
FIGURES = {"jobs.completed": 1, "attempts": 1, f"used.{P5}": 6000}


def table(job: dict[str, Any] = JOB, **changes: Any) -> MemoryTable:
    """A table with a job and its sums; changes are to those of each month by team."""
    found = MemoryTable()
    found.write([Put(item=job)])
    for dimension in DIMENSIONS:
        for key in ("00#", "21#"):
            more = changes if (dimension, key) == ("team", "00#") else {}
            item = {"pk": f"usage#{dimension}#2026-11", "sk": f"{key}x", **FIGURES, **more}
            found.write([Put(item={name: value for name, value in item.items() if value is not None})])
    return found


def test_sums_that_have_each_attempt_and_each_end_once_are_right() -> None:
    check_usage(table())


@pytest.mark.parametrize(
    "changes",
    [{"attempts": 2}, {"attempts": None}, {"jobs.completed": 2}, {"jobs.failed": 1}, {f"used.{P5}": 6001}],
    ids=str,
)
def test_sums_with_more_or_less_are_wrong(changes: dict[str, Any]) -> None:
    with pytest.raises(Violated, match="the sums by team of months"):
        check_usage(table(**changes))


def test_a_figure_below_0_is_wrong_whatever_it_counts() -> None:
    changes: dict[str, Any] = {"w.9": -1}
    with pytest.raises(Violated, match=r"below 0: \[\('00#x', 'w.9'\)\]"):
        check_usage(table(**changes))


def test_an_array_is_not_a_job_of_its_own() -> None:
    with pytest.raises(Violated):
        check_usage(table({**JOB, "summary": {"array": {"count": 2}}}))


def test_the_days_have_the_same_as_the_months() -> None:
    found = table()
    found.write([Put(item={"pk": "usage#owner#2026-11", "sk": "22#x", "attempts": 1})])
    with pytest.raises(Violated, match="the sums by owner of days"):
        check_usage(found)
