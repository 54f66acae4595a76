"""The contents of each place of docs/explanation/performance.md. A part that was not measured is marked there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from bench.report.goals import goals_of
from bench.report.history import history_table
from bench.report.markdown import Figures, spread_cell, table
from bench.report.own_tables import (
    board_table,
    cold_table,
    decision_table,
    help_table,
    reaction_table,
    sizes_table,
    training_table,
)
from bench.report.peer_tables import article_table, kueue_table, slurm_table
from bench.report.scale_tables import launches_table, scale_table

NOT_MEASURED = "Not measured yet: `make bench` fills this in."

PLACES: Mapping[str, tuple[str, str, Callable[[Figures], str]]] = {
    "slurm": ("slurm", "figures", slurm_table),
    "article": ("article", "figures", article_table),
    "kueue": ("kueue", "runs", kueue_table),
    "reaction": ("reaction", "figures", reaction_table),
    "cold starts": ("reaction", "figures", cold_table),
    "sizes": ("reaction", "figures", sizes_table),
    "one decision": ("schedule", "ms", decision_table),
    "scale": ("scale", "in memory", scale_table),
    "launches": ("launches", "ends", launches_table),
    "training": ("training", "hosts", training_table),
    "board": ("board", "ms", board_table),
    "help": ("help", "ms", help_table),
}
"""By place on the page: which part it is of, without which of its figures it was not measured, and its table."""

PICTURES: Mapping[str, Mapping[str, str]] = {
    "slurm": {"slurm.svg": "Headway beside Slurm: how many times as good each figure is"},
    "article": {
        "pass-reads.svg": "read units of a pass against the backlog, Headway and the article's scheduler",
        "pass-time.svg": "processor time of a pass against the backlog, Headway and the article's scheduler",
    },
    "reaction": {"reaction.svg": "p50 and p99 of reactions and submissions against the backlog"},
}
"""By place: files of docs/explanation/plots, and their alternative texts."""


def tables_of(
    results: Mapping[str, Figures], before: Mapping[str, Figures], plots: Iterable[str] = ()
) -> dict[str, str]:
    """The tables of the page, by the names of their places.

    Args:
        results: the figures, by the name of their part.
        before: those of an earlier version.
        plots: the files in docs/explanation/plots that there are.
    """
    drawn = set(plots)
    return {
        "run": _run(results.get("machine", {})),
        "goals": _goals(results),
        "history": history_table(before, results),
        **{
            place: "\n\n".join([_measured(results.get(part, {}), key, make), *_pictures(place, drawn)])
            for place, (part, key, make) in PLACES.items()
        },
    }


def _measured(figures: Figures, key: str, make: Callable[[Figures], str]) -> str:
    if figures.get(key):
        return f"{make(figures)}\n\n{_stamp(figures)}"
    if "skipped" in figures:
        return f"Skipped: {figures['skipped']}."
    if "run" in figures:
        return f"Not measured: it failed with exit code {figures['run']['exitCode']}."
    return NOT_MEASURED


def _pictures(place: str, drawn: set[str]) -> list[str]:
    return [f"![{words}](plots/{file})" for file, words in PICTURES.get(place, {}).items() if file in drawn]


def _stamp(figures: Figures) -> str:
    """When a part was measured, and what else the machine did just before."""
    if "run" not in figures:
        return "Measured by itself, not as a part of `make bench`."
    run, noise = figures["run"], figures["run"]["noise"]
    sizes = "**small sizes** (`--quick`)" if run["quick"] else "full sizes"
    before = f"before it a load of {noise['load']:g}, and {spread_cell(noise['loopMs'])} ms for the loop of the noise"
    failed = f" **It failed with exit code {run['exitCode']}.**" if run["exitCode"] else ""
    return f"{run['date']}, {sizes}, {run['tookSeconds']:.0f} s; {before}.{failed}"


def _run(machine: Figures) -> str:
    if not machine:
        return NOT_MEASURED
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    rows = [
        (
            "measured",
            f"{machine['date']}, {machine['tookSeconds'] / 60:.0f} minutes: {', '.join(machine['exitCodes'])}",
        ),
        ("machine", f"{machine['cpu']}, {machine['cores']} cores, {machine['memoryGb']:g} GB, {machine['system']}"),
        ("versions", f"Python {machine['python']}, {packages}, {machine['slurm'] or 'no Slurm'}"),
        *((f"noise {when}", _noise(machine[when])) for when in ("before", "after")),
    ]
    told = [table(("", ""), rows, words=(0, 1))]
    if machine["busy"]:
        told.append("**The machine was busy with other work, so times are too long; counts are right.**")
    if machine["quick"]:
        told.append("**The sizes were small (`--quick`), so these figures are a first look.**")
    return "\n\n".join(told)


def _noise(noise: Figures) -> str:
    loop = noise["loopMs"]
    spread = (loop["to"] - loop["from"]) / loop["median"]
    return f"load {noise['load']:g}; a fixed loop takes {spread_cell(loop)} ms, a spread of {spread:.0%}"


def _goals(results: Mapping[str, Figures]) -> str:
    goals = goals_of(results)
    if not goals:
        return NOT_MEASURED
    rows = [
        (goal.goal, goal.found, "kept" if goal.kept else "**missed**", "" if goal.kept else goal.why) for goal in goals
    ]
    return table(("goal", "found", "", "why"), rows, words=(0, 1, 2, 3))
