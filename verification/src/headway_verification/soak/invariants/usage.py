"""What must hold of the sums of usage: each ended attempt and each end of a job is in them once, and nothing less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from headway.lifecycle import TERMINAL
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.violations import Violated

DIMENSIONS = ("team", "owner", "pool")
_MONTH = "00#"
"""How the sort keys of the sums of whole months begin; those of days begin with the day."""


def check_usage(table: MemoryTable) -> None:
    """Compare the sums with the jobs, after all changes were accounted for.

    Raises:
        Violated: sums have more or less than the jobs, or less than nothing, or a name is counted twice.
    """
    items = table.items()
    negative = [
        (item["sk"], name)
        for item in items
        if item["pk"].startswith("usage#")
        for name, value in item.items()
        if isinstance(value, int) and value < 0
    ]
    if negative:
        raise Violated(f"sums of usage are below 0: {negative}")
    _check_names(items)
    expected: Counter[str] = Counter()
    for item in items:
        if item["sk"] == "job" and "array" not in item.get("summary", {}):
            expected.update(_of_job(item))
    for dimension in DIMENSIONS:
        for of_months in (True, False):
            found: Counter[str] = Counter()
            for item in items:
                if item["pk"].startswith(f"usage#{dimension}#") and item["sk"] not in {"names", "repaired"}:
                    found.update(_figures(item) if item["sk"].startswith(_MONTH) is of_months else {})
            wanted = expected if dimension != "pool" else _by_pool(expected)
            found = found if dimension != "pool" else _by_pool(found)
            if found != wanted:
                kind = "months" if of_months else "days"
                raise Violated(f"the sums by {dimension} of {kind} have {dict(found)}, the jobs {dict(wanted)}")


def _check_names(items: Iterable[Mapping[str, Any]]) -> None:
    """Check that no month has counted more names than have sums in it."""
    counted: dict[str, int] = {}
    named: Counter[str] = Counter()
    for item in items:
        if item["pk"].startswith("usage#"):
            if item["sk"] == "names":
                counted[item["pk"]] = int(item["names"])
            named[item["pk"]] += item["sk"].startswith(_MONTH)
    for kept, number in counted.items():
        if number > named[kept]:
            raise Violated(f"{kept} has counted {number} names, and has {named[kept]}")


def _of_job(job: Mapping[str, Any]) -> Counter[str]:
    """What a job adds: its end, its ended attempts, and for how long they held instances."""
    counts: Counter[str] = Counter()
    if job["jobState"] in TERMINAL:
        counts[f"jobs.{job['jobState']}"] += 1
    for attempt in job.get("attempts", ()):
        if attempt.get("demand"):
            counts["attempts"] += 1
            held_ms = attempt["endedMs"] - attempt["sinceMs"]
            counts.update({f"used.{pool}": count * held_ms for pool, count in attempt["demand"].items()})
    return counts


def _figures(item: Mapping[str, Any]) -> dict[str, int]:
    return {
        name: int(value) for name, value in item.items() if name == "attempts" or name.startswith(("jobs.", "used."))
    }


def _by_pool(figures: Counter[str]) -> Counter[str]:
    """The figures that the sums of pools share among them: a job in two pools is in the sums of both."""
    return Counter({name: value for name, value in figures.items() if name.startswith("used.")})
