"""`make refusals`: plays the states, and prints what each costs.

python -m headway_verification.refusals [--only TEXT]     # the states whose key begins with TEXT

Exit code 1 if a state is not what it is said to be, or cannot be played.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from tabulate import tabulate

from headway_service.observability.logging import logger
from headway_verification.refusals.day import Outcome, play
from headway_verification.refusals.states import STATES

HEADERS = (
    "state", "what happens", "in use", "at the end", "idle", "jobs completed", "launches (futile)", "longest wait",
    "stopped: back", "ticks (failed)", "alarms", "why",
)  # fmt: skip
WIDTHS = (10, 30, 12, 10, 6, 9, 12, 12, 10, 11, 26, 60)
NOTES = """\
in use, at the end: instances of training jobs that got them, on average and at the end, of those that SageMaker has
idle: share of these instances' time in which they were idle while jobs waited that SageMaker would have run there
launches (futile): calls of CreateTrainingJob; those that were refused, or never got instances
longest wait: of a job that SageMaker would run, until its first start; and the ticks until that of the job asked about
stopped: back: training jobs that were stopped while they had instances, and the longest time until their jobs run again
alarms: when each rang for the first time, h:mm after the begin; + it still rings at the end"""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What each state costs in which AWS says no, and goes on saying it.")
    parser.add_argument("--only", default="", help="the states whose key begins with this")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args(argv)
    keys = [key for key in STATES if key.startswith(args.only)]
    if not keys:
        parser.error(f"no state begins with {args.only}; there are {', '.join(STATES)}")
    began = time.perf_counter()
    with ProcessPoolExecutor(max_workers=args.processes, initializer=_quiet) as pool:
        played = {key: pool.submit(_played, key) for key in keys}
    rows = [each.result() for each in played.values() if each.exception() is None]
    print(tabulate(rows, headers=HEADERS, tablefmt="grid", maxcolwidths=list(WIDTHS)))
    print(NOTES)
    print(f"{len(rows)} states in {time.perf_counter() - began:.0f} s")
    failed = {key: each.exception() for key, each in played.items() if each.exception() is not None}
    for key, error in failed.items():
        print(f"{key}: {error!r}", file=sys.stderr)
    return 1 if failed else 0


def _quiet() -> None:
    """Suppress the logs and warnings of the handlers."""
    logger.setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="aws_lambda_powertools")


def _played(key: str) -> tuple[str, ...]:
    """Play a state in a process of the pool, and return its row."""
    began = time.perf_counter()
    row = row_of(play(STATES[key]))
    print(f"{key}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return row


def row_of(outcome: Outcome) -> tuple[str, ...]:
    """The row of a state."""
    state, figures = outcome.state, outcome.figures
    ticks = "" if outcome.waited_ticks is None else f", {outcome.waited_ticks} ticks"
    return (
        state.key,
        f"{state.what}; {state.hours:g} h",
        _per_pool({pool: f"{count:.2f}" for pool, count in figures.used.items()}, state.usable),
        _per_pool({pool: f"{count}" for pool, count in figures.used_at_end.items()}, state.usable),
        f"{figures.idle_percent:.1f} %",
        str(figures.completed),
        f"{outcome.launches} ({outcome.futile})",
        f"{duration(figures.wait_s)}{ticks}",
        f"{figures.stopped}: {duration(figures.back_s)}" if figures.stopped else "-",
        f"{outcome.ticks} ({outcome.failed_ticks})",
        alarms(outcome),
        outcome.why,
    )


def _per_pool(counts: Mapping[str, str], usable: Mapping[str, int]) -> str:
    return ", ".join(f"{count} of {usable[pool]}" for pool, count in counts.items())


def duration(seconds: float | None) -> str:
    """A time as a text: seconds if it is short, h:mm otherwise; ``never`` for None."""
    if seconds is None:
        return "never"
    if seconds < 600:
        return f"{seconds:.0f} s"
    return clock_text(seconds)


def clock_text(seconds: float) -> str:
    """A time as h:mm."""
    minutes = round(seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02}"


def alarms(outcome: Outcome) -> str:
    """When each alarm rang for the first time."""
    first: dict[str, str] = {}
    lasting = {ring.alarm for ring in outcome.rings if ring.until_s is None}
    for ring in outcome.rings:
        first.setdefault(ring.alarm, f"{ring.alarm} {clock_text(ring.since_s)}{'+' if ring.alarm in lasting else ''}")
    return ", ".join(first.values()) or "none"


if __name__ == "__main__":
    sys.exit(main())
