"""Compares figures before and now, from two folders that the same command has written."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping

from bench.report.markdown import Figures, in_three_figures, table, times_cell
from bench.scenarios.article import ENDS, JOB, MS, READS, WITH_STANDINS_MS, in_all
from bench.scenarios.decision import GOAL_WAITING, STORMS

WRITES = "DynamoDB write units"
WAITING = "100"
"""The number of waiting jobs where passes are compared."""

Results = Mapping[str, Figures]


def history_table(before: Results, now: Results) -> str:
    """Before beside now, for figures that were measured both times with the same sizes."""
    old, new = headlines(_comparable(before, now)), headlines(_comparable(now, before))
    rows = [
        (name, in_three_figures(old[name]), in_three_figures(value), times_cell(old[name] / value) if value else "")
        for name, value in new.items()
        if name in old
    ]
    if not rows:
        return "Nothing to compare: see bench/README.md."
    machine = before.get("machine", {})
    told = f"Before: {machine['date']}, a load of {machine['before']['load']:g}. " if machine else ""
    told += "Of all of these less is better."
    return f"{table(('', 'before', 'now', 'times as good'), rows)}\n\n{told}"


def headlines(results: Results) -> dict[str, float]:
    """The figures by which a version is known; of each less is better."""
    return {
        name: value
        for part, (key, figures) in _HEADLINES.items()
        if key in results.get(part, {})
        for name, value in figures(results[part])
    }


def _of_reaction(reaction: Figures) -> Iterator[tuple[str, float]]:
    for each in reaction["figures"]["warm"]:
        for name in ("reaction", "submission"):
            yield f"a warm {name}, {each['waiting']:,} waiting, p50, ms", each[name]["p50Ms"]["all"]
    for kind, cold in reaction["figures"]["cold"].items():
        if "api" in cold["functions"]:
            yield f"`api` ready, cold, {kind}, ms", cold["functions"]["api"]["ready"]["ms"]["median"]


def _of_article(article: Figures) -> Iterator[tuple[str, float]]:
    scenes = article["figures"]["headway"][WAITING]
    for kind in (READS, WRITES):
        yield f"a job, {WAITING} waiting, {kind}", scenes[JOB].get(kind, 0)
    # Earlier versions had no other time.
    yield f"a job, {WAITING} waiting, {WITH_STANDINS_MS}", scenes[JOB].get(WITH_STANDINS_MS, scenes[JOB].get(MS, 0))
    yield f"a pass that starts a job, {WAITING} waiting, {READS}", scenes[ENDS][READS]
    for run_s, asked in article["SageMaker calls of a job"].items():
        yield f"a job's own calls of SageMaker's API, training {run_s} s", in_all(asked)


def _of_kueue(kueue: Figures) -> Iterator[tuple[str, float]]:
    yield "Kueue's test, s", statistics.median(run["wallSeconds"] for run in kueue["runs"])
    yield "a tick in it, median, ms", statistics.median(run["tickMs"]["median"] for run in kueue["runs"])


def _of_schedule(schedule: Figures) -> Iterator[tuple[str, float]]:
    for name, sizes in schedule["ms"].items():
        if name not in STORMS and str(GOAL_WAITING) in sizes:
            yield f"one decision, {GOAL_WAITING:,} waiting, {name}, ms", sizes[str(GOAL_WAITING)]["median"]


def _of_scale(scale: Figures) -> Iterator[tuple[str, float]]:
    long = scale["in memory"][0]["long"]
    for operation in ("submission", "listing", "why"):
        for kind, value in long.get(operation, {}).items():
            if kind in {READS, MS}:
                yield f"`{operation}` in memory, {long['waiting']:,} waiting, {kind}", value


def _of_help(help_: Figures) -> Iterator[tuple[str, float]]:
    yield "`headway --help`, ms", statistics.median(help_["ms"]["headway --help"])


def _comparable(results: Results, others: Results) -> Results:
    """Those parts that were measured with the same sizes in both."""
    return {
        name: figures
        for name, figures in results.items()
        if "run" in figures and figures["run"]["quick"] == others.get(name, {}).get("run", {}).get("quick")
    }


_HEADLINES: Mapping[str, tuple[str, Callable[[Figures], Iterator[tuple[str, float]]]]] = {
    "reaction": ("figures", _of_reaction),
    "article": ("figures", _of_article),
    "kueue": ("runs", _of_kueue),
    "schedule": ("ms", _of_schedule),
    "scale": ("in memory", _of_scale),
    "help": ("ms", _of_help),
}
