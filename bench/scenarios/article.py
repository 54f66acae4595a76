"""Headway beside the founding article's scheduler: what a pass and a job use with 10 to 100,000 jobs waiting.

    python -m bench.scenarios.article            measures, prints, writes bench/results/article.json
    python -m bench.scenarios.article --quick    up to 1,000 waiting, three rounds; writes nothing without --json

A pass is one run of what decides: Headway's function ``schedule``, the article's ``manage_queue``. Both run on tables
in memory and the sandbox's SageMaker (`bench.queues.full_queues`), and one meter counts both
(`bench.metering.dynamodb_units`), so units and calls are the same in each run. Times are this machine's processor
time, without any network, and without what plays DynamoDB and SageMaker on either side: those answer from this
process's memory, and the table takes longer for it the more it holds. The second column of times adds what the calls
would wait for AWS, one after the other, at assumed times (`bench.scenarios.cost`), which a Scan's page of 1 MB would
exceed.

All queues are watched in turn, a round of each: this machine is not equally fast all the time, and lines that were
watched one after the other would seem to differ by that.

In each round a job comes, one that runs completes and the next is started, and all settles; a job is what a round
uses, whichever function uses it. Headway's other functions that run every minute are left out of rounds, as the
article has none; their calls of SageMaker about one job are counted separately.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from bench.metering.machine import describe_machine
from bench.queues.full_queues import INSTANCES, TEAMS, ArticleQueue, FullQueue, HeadwayQueue
from bench.queues.virtual_time import MeteredQueue
from bench.scenarios.cost import ASSUMED_CALL_MS
from headway_sandbox.inprocess.deployment import EVERY_MINUTE

RESULT = Path(__file__).parents[1] / "results" / "article.json"
SIZES, ROUNDS = (10, 100, 1_000, 10_000, 100_000), 15
QUICK_SIZES, QUICK_ROUNDS = SIZES[:3], 3
QUEUES: Mapping[str, Callable[[], FullQueue]] = {"headway": HeadwayQueue, "article": ArticleQueue}

COMES, ENDS, JOB = "a job comes", "a job ends", "a job"
PASSES = {COMES: "a pass when a job comes and has to wait", ENDS: "a pass when a job ends and the next one starts"}
READS, MS, WITH_ANSWERS_MS = "DynamoDB read units", "ms", "ms with answers"
WITH_STANDINS_MS = "ms with stand-ins"
"""With what plays AWS, as earlier versions were measured."""

BASE, MOST_GROWTH, MOST_CALLS = 100, 1.2, 6
"""The length from which on the growth of a pass is limited, the limit, and the most SageMaker calls of a job."""

HOT_PATH = ("api", "schedule", "observe")
"""The functions that take a job in, start it, and notice its end."""

LIST = "ListTrainingJobs"

LONE_S = (600, 3_600, 36_000)
"""How long jobs train that are looked at one by one, s."""

SLACK_S = 600
"""The time after which a job has ended, with launch and upload, s."""

Use = dict[str, float]
Scenes = dict[str, Use]
_Which = TypeVar("_Which", bound=Hashable)
Calls = dict[str, dict[str, float]]
"""How often a function called an operation of SageMaker's."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A goal, and whether it is kept."""

    goal: str
    found: str
    kept: bool


def main() -> int:
    """Measure, print, and write the figures. Missed goals are reported in words."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help=f"up to {QUICK_SIZES[-1]} waiting, {QUICK_ROUNDS} rounds")
    parser.add_argument("--rounds", type=int, help=f"{ROUNDS} unless said; the median of their passes counts")
    parser.add_argument("--json", type=Path, help="where the figures go, if not to bench/results/article.json")
    arguments = parser.parse_args()
    sizes = QUICK_SIZES if arguments.quick else SIZES
    rounds = arguments.rounds or (QUICK_ROUNDS if arguments.quick else ROUNDS)
    queues = {(name, waiting): make() for waiting in sizes for name, make in QUEUES.items()}
    for (_, waiting), queue in queues.items():
        queue.fill(waiting)
    figures: dict[str, dict[int, Scenes]] = {name: {} for name in QUEUES}
    for (name, waiting), scenes in watched(queues, rounds).items():
        figures[name][waiting] = scenes
    first_pages = {
        waiting: queue.meter.first_page for (_, waiting), queue in queues.items() if isinstance(queue, ArticleQueue)
    }
    calls = {run_s: calls_of_a_job(run_s) for run_s in LONE_S}
    goals = goals_of(figures["headway"], calls)
    machine = describe_machine()
    print(f"machine: {machine}; {INSTANCES} instances in use; {rounds} rounds\n")
    print("\n\n".join(_table(title, scene, figures) for scene, title in {**PASSES, JOB: "a job, all in all"}.items()))
    seen = ", ".join(f"{items:,} of {waiting + INSTANCES:,}" for waiting, items in first_pages.items())
    print(f"\nThe article as printed reads a Scan's first page only, so of its jobs it would see {seen}.\n")
    for run_s, asked in calls.items():
        print(f"Headway calls SageMaker's API for a job that trains {run_s} s: {_told(asked)}")
    for goal in goals:
        print(f"{'kept' if goal.kept else 'MISSED'}: {goal.goal}: {goal.found}")
    result = {
        "machine": machine,
        "versions": {name: version(name) for name in ("headway", "boto3")},
        "runs": rounds,
        "instances": INSTANCES,
        "teams": len(TEAMS),
        "figures": figures,
        "jobs in a Scan's first page": first_pages,
        "SageMaker calls of a job": calls,
        "goals": [asdict(goal) for goal in goals],
    }
    path = arguments.json or (None if arguments.quick else RESULT)
    if path:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


def watched(queues: Mapping[_Which, FullQueue], rounds: int) -> dict[_Which, Scenes]:
    """What passes and jobs use.

    Args:
        queues: filled queues by any key; each has the same length before and after a round.
        rounds: how many of each, in turn.
    """
    # The tables are no part of the process that decides: their objects are not to be looked through in there.
    gc.collect()
    gc.freeze()
    found = {which: _Watched() for which in queues}
    try:
        for _ in range(rounds):
            for which, queue in queues.items():
                found[which].watch(queue)
    finally:
        gc.unfreeze()
    return {which: each.scenes() for which, each in found.items()}


class _Watched:
    """The figures of one queue."""

    def __init__(self) -> None:
        self._passes: dict[str, list[Use]] = {COMES: [], ENDS: []}
        self._total: Use = defaultdict(float)
        self._rounds = 0

    def watch(self, queue: FullQueue) -> None:
        """One round."""
        self._rounds += 1
        for scene, step in ((COMES, queue.submit_one), (ENDS, queue.end_one), ("", queue.quiet_down)):
            queue.reset()
            step()
            _add_up(self._total, _use_of(queue, None))
            if scene:
                self._passes[scene].append(_use_of(queue, queue.DECIDES))

    def scenes(self) -> Scenes:
        """The median passes by their cause, and the mean use of a job."""
        job = {kind: round(number / self._rounds, 2) for kind, number in self._total.items()}
        return {scene: _middle(uses) for scene, uses in self._passes.items()} | {JOB: job}


def calls_of_a_job(run_s: int) -> Calls:
    """What Headway calls of SageMaker's API for one job from submission to end.

    All functions run that run every minute. They watch the account as long as the queue is there, job or no job, so
    their calls in as many minutes without a job are subtracted. The rest of their lists is included, but is no call
    of a job's own (:func:`in_all`).

    Args:
        run_s: how long it trains, s.
    """
    busy, idle = MeteredQueue(INSTANCES), MeteredQueue(INSTANCES)
    for world in (busy, idle):
        world.minute()
        world.reset()
    busy.submit("job", run_s=run_s)
    for world in (busy, idle):
        for _ in range((run_s + SLACK_S) // 60):
            world.pass_time(60)
            world.minute()
    calls: Calls = {}
    for (function, kind), number in sorted(busy.used.items()):
        service, _, operation = kind.partition(" ")
        own = number - idle.used.get((function, kind), 0)
        if service == "SageMaker" and operation != "calls" and own:
            calls.setdefault(function, {})[operation] = own
    return calls


def goals_of(headway: Mapping[int, Scenes], calls: Mapping[int, Calls]) -> list[Goal]:
    """Headway's goals, and the figures.

    Args:
        headway: the observations, by the number of waiting jobs.
        calls: of one job, by how long it trains, s.
    """
    most = max(headway)
    goals = []
    for kind, noun in ((READS, "read units"), (WITH_ANSWERS_MS, "ms with AWS's answers"), (MS, "ms")):
        for scene, title in PASSES.items():
            grown = growth(headway, scene, kind)
            numbers = " to ".join(f"{headway[waiting][scene][kind]:.4g}" for waiting in (BASE, most))
            goals.append(
                Goal(
                    goal=f"{title} grows at most {MOST_GROWTH} times from {BASE} to {most} waiting",
                    found=f"{grown:.2f} times, {numbers} {noun}",
                    kept=grown <= MOST_GROWTH,
                )
            )
    for run_s, asked in calls.items():
        number = in_all(asked)
        goal = f"a job that trains {run_s} s takes at most {MOST_CALLS} calls of SageMaker's API"
        found = f"{number:g}, beside {lists_by_the_minute(asked):g} lists of all jobs"
        goals.append(Goal(goal=goal, found=found, kept=number <= MOST_CALLS))
    listed = sum(map(lists, calls.values()))
    return [*goals, Goal(goal="no List call on the hot path", found=f"{listed:g}", kept=not listed)]


def growth(figures: Mapping[int, Scenes], scene: str, kind: str, *, since: int = BASE) -> float:
    """How many times as much a pass uses with the longest line as with a line of ``since``."""
    return figures[max(figures)][scene][kind] / figures[since][scene][kind]


def in_all(calls: Calls) -> float:
    """How many calls these are together, but for lists that are made by the minute: one is for a hundred jobs."""
    return sum(
        number
        for function, operations in calls.items()
        for operation, number in operations.items()
        if not (function in EVERY_MINUTE and operation == LIST)
    )


def lists_by_the_minute(calls: Calls) -> float:
    """How many lists the functions made that run every minute, more than without the job."""
    return sum(calls.get(function, {}).get(LIST, 0) for function in EVERY_MINUTE)


def lists(calls: Calls) -> float:
    """How many of SageMaker's List operations the hot path called."""
    return sum(
        number
        for function in HOT_PATH
        for operation, number in calls.get(function, {}).items()
        if operation.startswith("List")
    )


def _use_of(queue: FullQueue, function: str | None) -> Use:
    """What one function used, or all of them (None) together."""
    use: Use = defaultdict(float)
    for (name, kind), number in queue.used.items():
        if function in (None, name):
            if kind.startswith(("DynamoDB", "SageMaker")):
                use[kind] += number
            use[WITH_ANSWERS_MS] += number * ASSUMED_CALL_MS.get(kind, 0)
    use[WITH_STANDINS_MS] = sum(ms for name, ms in queue.handler_ms.items() if function in (None, name))
    use[MS] = use[WITH_STANDINS_MS] - sum(ms for name, ms in queue.standins_ms.items() if function in (None, name))
    use[WITH_ANSWERS_MS] += use[MS]
    return use


def _add_up(total: Use, use: Use) -> None:
    for kind, number in use.items():
        total[kind] += number


def _middle(uses: Sequence[Use]) -> Use:
    """The medians; of the time, which is not the same each time, the ends too."""
    kinds = dict.fromkeys(kind for use in uses for kind in use)
    times = [use[MS] for use in uses]
    medians = {kind: statistics.median(use.get(kind, 0) for use in uses) for kind in kinds}
    rounded = {kind: round(number, 2) for kind, number in medians.items()}
    return {**rounded, "ms from": round(min(times), 2), "ms to": round(max(times), 2)}


COLUMNS = {
    "reads": READS,
    "writes": "DynamoDB write units",
    "calls": "DynamoDB calls",
    "SageMaker": "SageMaker calls",
    "of it List": "SageMaker ListTrainingJobs",
    "ms": MS,
    "with AWS": WITH_ANSWERS_MS,
}


def _table(title: str, scene: str, figures: Mapping[str, Mapping[int, Scenes]]) -> str:
    lines = [f"{title:<32}" + "".join(f"{column:>11}" for column in COLUMNS)]
    for name, sizes in figures.items():
        for waiting, scenes in sizes.items():
            numbers = "".join(f"{scenes[scene].get(kind, 0):>11,.1f}" for kind in COLUMNS.values())
            lines.append(f"  {name:<12}{waiting:>10,} waiting{numbers}")
    return "\n".join(lines)


def _told(calls: Calls) -> str:
    return ", ".join(
        f"{function} {operation} {number:g}"
        for function, operations in calls.items()
        for operation, number in operations.items()
    )


if __name__ == "__main__":
    raise SystemExit(main())
