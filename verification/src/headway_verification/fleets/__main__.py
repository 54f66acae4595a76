"""`make fleets`: lets many jobs run for long, and prints what each run of the reconciler does.

python -m headway_verification.fleets [--jobs 300,600] [--minutes 120]

Exit code 1 if a run has requested no tick, or has published no gauges, or kept no sums, or was ended by its timeout.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Sequence

from tabulate import tabulate

from headway_service.observability.logging import logger
from headway_verification.fleets.deployment import FleetDeployment, Run

JOBS, CALLS_S = (300, 600, 1_500, 5_000), (0.2, 0.35)
"""How many jobs run, and how long a call of SageMaker takes, s."""

ENDED_BESIDE = 1_500
"""Training jobs that are newer, and have ended."""

HEADERS = ("running", "a call", "runs", "wake-up", "gauges", "sums", "timed out", "longest", "calls", "oldest")
NOTES = """\
runs, wake-up, gauges, sums, timed out: of how many runs each is true
longest, calls: virtual time of a run, and calls of SageMaker in a run, at most
oldest: how long ago SageMaker was asked last about the attempt that it was asked about longest ago, at most in
the second half of the runs"""


def play(jobs: int, call_s: float, minutes: int, ended: int) -> list[Run]:
    """Let jobs run, and the reconciler once a minute.

    Args:
        jobs: how many.
        call_s: how long a call of SageMaker takes, s.
        minutes: how many runs.
        ended: training jobs that are newer, and have ended.
    """
    deployment = FleetDeployment(jobs, call_s)
    deployment.start(jobs)
    deployment.add_ended(ended)
    return [deployment.minute() for _ in range(minutes)]


def row_of(jobs: int, call_s: float, runs: Sequence[Run]) -> tuple[str, ...]:
    """The row of the runs beside so many jobs."""
    return (
        str(jobs),
        f"{call_s:g} s",
        str(len(runs)),
        str(sum(run.is_waking for run in runs)),
        str(sum(run.has_gauges for run in runs)),
        str(sum(run.has_sums for run in runs)),
        str(sum(run.timed_out for run in runs)),
        f"{max(run.took_s for run in runs):.0f} s",
        str(max(run.calls for run in runs)),
        f"{max(run.oldest_s for run in runs[len(runs) // 2 :]) / 60:.0f} min",
    )


def is_done(run: Run) -> bool:
    """Whether a run has done all that it is there for."""
    return run.is_waking and run.has_gauges and run.has_sums and not run.timed_out


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What each run of the reconciler does beside many jobs that run.")
    parser.add_argument("--jobs", default=",".join(map(str, JOBS)), help="how many jobs run, separated by commas")
    parser.add_argument("--minutes", type=int, default=60, help="runs beside each number")
    args = parser.parse_args(argv)
    numbers = args.jobs.split(",")
    if args.minutes < 1 or not all(each.isdecimal() and int(each) > 0 for each in numbers):
        parser.error("--minutes must be at least 1, and --jobs numbers of at least 1, separated by commas")
    logger.setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="aws_lambda_powertools")
    rows, all_done = [], True
    for jobs in map(int, numbers):
        for call_s in CALLS_S:
            runs = play(jobs, call_s, args.minutes, ENDED_BESIDE)
            rows.append(row_of(jobs, call_s, runs))
            all_done &= all(map(is_done, runs))
            print(f"{jobs} jobs, {call_s:g} s a call: played", file=sys.stderr)
    print(tabulate(rows, headers=HEADERS, tablefmt="grid"))
    print(NOTES)
    return 0 if all_done else 1


if __name__ == "__main__":
    sys.exit(main())
