"""Headway's goals, and whether the figures meet them. A missed goal has its reason beside it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from bench.report.kueue_figures import WORK_S
from bench.report.markdown import Figures, in_three_figures
from bench.scenarios.article import ENDS, PASSES
from bench.scenarios.article import Goal as Counted
from bench.scenarios.board import GOAL_FIRST_MS, GOAL_REFRESH_MS, first_ms, refresh_ms
from bench.scenarios.board import WAITING as BOARD_WAITING
from bench.scenarios.cli_help import GOAL_S as HELP_GOAL_S
from bench.scenarios.decision import GOAL_MS, GOAL_WAITING, STORMS
from bench.scenarios.kueue import GOAL_S as KUEUE_GOAL_S
from bench.scenarios.kueue import PROTECTED_S
from bench.scenarios.launches import goals as launch_goals
from bench.scenarios.reaction import GOAL_COLD_MS, GOAL_REACTION_MS, GOAL_SUBMISSION_MS
from bench.scenarios.slurm import ALONE, HANDLER, HANDLER_GOAL_MS, LISTING, LISTING_GOAL_MS
from bench.scenarios.training import too_much

KUEUE_JOBS = 15_000


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A goal beside the figure.

    Attributes:
        goal: in words, with its limit.
        found: the figure.
        kept: whether it keeps the goal.
        why: why it does not, as far as it was found out.
        timed: whether the figure is a time, which depends on what else the machine does; else it was counted.
    """

    goal: str
    found: str
    kept: bool
    why: str = ""
    timed: bool = True


def goals_of(results: Mapping[str, Figures]) -> list[Goal]:
    """The goals of all measured figures. A busy machine is a reason to miss a goal in time."""
    busy = "; the machine was busy" if results.get("machine", {}).get("busy") else ""
    found = [
        goal for name, (key, goals) in _GOALS.items() if key in results.get(name, {}) for goal in goals(results[name])
    ]
    return [replace(goal, why=f"{goal.why}{busy}") if goal.timed and not goal.kept else goal for goal in found]


def _of_slurm(slurm: Figures) -> Iterator[Goal]:
    figures = slurm["figures"]
    ahead = sum(figure["timesAsGood"] > 1 for figure in figures.values())
    yield Goal(
        goal="ahead of Slurm in each figure, the emulator included",
        found=f"in {ahead} of {len(figures)}",
        kept=ahead == len(figures),
        why="row by row below",
    )
    ms = slurm[HANDLER]["median"]
    boto3 = slurm["of it boto3's part, ms"]["median"]
    yield _less(f"the {HANDLER.removesuffix(', ms')}", ms, HANDLER_GOAL_MS, "ms", why=f"boto3's part is {boto3:.1f} ms")
    if LISTING in figures:  # a quick run lists fewer
        listing_ms = figures[LISTING][ALONE]["median"]
        why = "most of it is checks of records, and JSON"
        yield _less("the handler of a listing of 10,000 jobs", listing_ms, LISTING_GOAL_MS, "ms", why=why)


_WHY_TIMED = (
    "it reads and calls as much, its own functions too (a test counts them); what differs is the machine's speed"
)


def _of_article(article: Figures) -> Iterator[Goal]:
    for counted in article["goals"]:
        goal = Counted(**counted)
        timed = goal.found.endswith(" ms")
        why = _WHY_TIMED if timed else _why_counted(goal.goal, article)
        yield Goal(goal=goal.goal, found=goal.found, kept=goal.kept, why=why, timed=timed)


def _why_counted(goal: str, article: Figures) -> str:
    for run_s, asked in article["SageMaker calls of a job"].items():
        if f"trains {run_s} s" in goal:
            calls = (
                f"{number:g} {operation} by {function}"
                for function, operations in asked.items()
                for operation, number in operations.items()
            )
            return ", ".join(calls)
    if PASSES[ENDS] in goal:
        return "with an instance free a pass reads the window of backfill, so it grows until the line is as long"
    return "not taken apart"


def _of_reaction(reaction: Figures) -> Iterator[Goal]:
    for each in reaction["figures"]["warm"]:
        for name, percent, limit_ms in (
            ("reaction", "p99", GOAL_REACTION_MS),
            ("submission", "p50", GOAL_SUBMISSION_MS),
        ):
            found = each[name]
            yield _less(
                f"a warm {name}, {percent}, {each['waiting']:,} waiting",
                found[f"{percent}Ms"]["all"],
                limit_ms,
                "ms",
                why=f"boto3's part is {found['boto3P50Ms']:.1f} of {found['p50Ms']['all']:.1f} ms (medians)",
            )
    for kind, cold in reaction["figures"]["cold"].items():
        slowest = ", ".join(f"{name} {ms:.0f}" for name, ms in list(cold["modules"]["packagesMs"].items())[:3])
        yield _less(
            f"the API's function ready, cold, {kind}",
            cold["functions"]["api"]["ready"]["ms"]["median"],
            GOAL_COLD_MS[kind],
            "ms",
            why=f"imports, ms: {slowest}",
        )


def _of_kueue(kueue: Figures) -> Iterator[Goal]:
    runs = kueue["protected"]
    if min(run["jobs"] for run in runs) < KUEUE_JOBS:
        return  # a part of the test is no test
    wall_s, done = statistics.median(run["wallSeconds"] for run in runs), min(run["completed"] for run in runs)
    yield Goal(
        goal=f"Kueue's test, no preemption within {PROTECTED_S} s: all {KUEUE_JOBS:,} jobs in under {KUEUE_GOAL_S:g} s",
        found=f"{done:,} in {wall_s:g} s",
        kept=done == KUEUE_JOBS and wall_s < KUEUE_GOAL_S,
        why=f"the work alone takes {WORK_S:g} s; the rest is ticks, which take as long as the machine takes for them",
    )


def _of_schedule(schedule: Figures) -> Iterator[Goal]:
    size = str(GOAL_WAITING)
    scenes = {
        name: sizes[size]["median"] for name, sizes in schedule["ms"].items() if name not in STORMS and size in sizes
    }
    if scenes:
        slowest = max(scenes, key=lambda name: scenes[name])
        yield _less(
            f"one decision with {GOAL_WAITING:,} waiting, the slowest scene but storms",
            scenes[slowest],
            GOAL_MS,
            "ms",
            why=f"{slowest}; of the processor's time, which depends on the machine",
        )


def _of_help(help_: Figures) -> Iterator[Goal]:
    ms = {name: statistics.median(times) for name, times in help_["ms"].items()}
    why = f"an interpreter that does nothing takes {ms['python -c pass']:.0f} ms"
    yield _less("`headway --help`", ms["headway --help"], HELP_GOAL_S * 1000, "ms", why=why)


def _of_board(board: Figures) -> Iterator[Goal]:
    if board["waiting"] < BOARD_WAITING:
        return
    why = "of the processor's time, which depends on the machine"
    size = f"{board['waiting']:,} waiting"
    yield _less(f"the first picture of a board, {size}", first_ms(board["ms"]), GOAL_FIRST_MS, "ms", why=why)
    yield _less(f"a refresh of a board, {size}", refresh_ms(board["ms"]), GOAL_REFRESH_MS, "ms", why=why)


def _of_launches(launches: Figures) -> Iterator[Goal]:
    for told, value, kept in launch_goals(launches):
        why = "of the time that boto3 and threads need, which depends on the machine"
        yield Goal(goal=told, found=in_three_figures(value), kept=kept, why=why, timed="real time" in told)


def _of_training(training: Figures) -> Iterator[Goal]:
    problems = too_much(training)
    yield Goal(
        goal="a preemption of a script loses at most the steps since its last checkpoint",
        found=f"{max(max(each['steps']) for each in training['lost']):g} steps at most",
        kept=not problems,
        why="; ".join(problems),
        timed=False,
    )


def _less(name: str, value: float, limit: float, unit: str, *, why: str) -> Goal:
    return Goal(
        goal=f"{name}: under {limit:g} {unit}", found=f"{in_three_figures(value)} {unit}", kept=value < limit, why=why
    )


_GOALS: Mapping[str, tuple[str, Callable[[Figures], Iterator[Goal]]]] = {
    "slurm": ("figures", _of_slurm),
    "article": ("figures", _of_article),
    "reaction": ("figures", _of_reaction),
    "kueue": ("runs", _of_kueue),
    "schedule": ("ms", _of_schedule),
    "board": ("ms", _of_board),
    "launches": ("ends", _of_launches),
    "training": ("hosts", _of_training),
    "help": ("ms", _of_help),
}
"""By part: without which of its figures it was not measured, and its goals."""
