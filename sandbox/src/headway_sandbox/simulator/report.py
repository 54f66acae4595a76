"""The metrics of simulations as a table."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from headway_sandbox.simulator.metrics import Result, Spread

_HEADERS = (
    "Policy",
    "Jobs",
    "Wait avg",
    "p50",
    "p95",
    "p99",
    "JCT avg",
    "p50",
    "p95",
    "p99",
    "Makespan",
    "Used",
    "Preempted",
    "Lost inst-h",
    "Fairness",
)


def table(results: Sequence[Result]) -> str:
    """Return a table with one row per simulation. Times are in seconds."""
    return tabulate([_row(result) for result in results], headers=_HEADERS, disable_numparse=True, stralign="right")


def notes(results: Sequence[Result]) -> list[str]:
    """Return sentences on results that are not in the table."""
    found = []
    if results and results[0].too_large:
        found.append(f"{results[0].too_large} jobs demand more than their pool's size and were left out.")
    for result in results:
        if result.unfinished:
            found.append(f"{result.label}: {result.unfinished} jobs never ended.")
        if result.keep_s:
            found.append(
                f"{result.label}: {result.warm_starts} of {result.jobs} jobs started in a warm pool; "
                f"warm pools were idle for {result.warm_idle_instance_h:.0f} instance hours."
            )
        if result.refused:
            found.append(f"{result.label}: the quota refused {result.refused} launches.")
        if len(result.wait_by_priority_s) > 1:
            waits = ", ".join(f"{priority}: {wait:.0f} s" for priority, wait in result.wait_by_priority_s.items())
            found.append(
                f"{result.label}: average wait by priority: {waits}; the longest was {result.wait.max_s:.0f} s."
            )
    return found


def _row(result: Result) -> list[str]:
    jobs = f"{result.jobs}" if not result.unfinished else f"{result.jobs} of {result.jobs + result.unfinished}"
    return [
        result.label,
        jobs,
        *_spread(result.wait),
        *_spread(result.jct),
        f"{result.makespan_s:.0f}",
        f"{result.utilisation:.1%}",
        f"{result.preemptions}",
        f"{result.work_lost_instance_h:.0f}",
        f"{result.fairness:.2f}",
    ]


def _spread(spread: Spread) -> list[str]:
    return [f"{value:.0f}" for value in (spread.avg_s, spread.p50_s, spread.p95_s, spread.p99_s)]
