"""`make predictions`: how good would predictions of run times have been on real traces?

    python -m headway_sandbox.simulator.predictions --traces FOLDER [--rows N]

The queue is simulated on each trace. When a job starts for the first time, its run time is predicted by the jobs that
have ended by then, and by nothing else. Exit code 1 if intervals do not contain about as many run times as they are to.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from tabulate import tabulate

from headway.prediction.quality import Quality
from headway.prediction.run_times import HIGH, LOW
from headway_sandbox.simulator.errors import InvalidInput
from headway_sandbox.simulator.metrics import Outcome
from headway_sandbox.simulator.past_runs import PastRuns
from headway_sandbox.simulator.run import outcomes_of, scenarios
from headway_sandbox.simulator.trace import TraceJob, read_trace

POOL = "gpu"
TRACES = {"msr-itp": (1280, 0.0), "muri-trace1": (64, 1.0), "muri-trace2": (64, 1.0)}
"""The traces, each with the GPUs of its pool, and the part of its jobs that write checkpoints (as in `make sim`)."""

LIMIT = 2.0
"""The jobs' limits as multiples of their run times."""

TOLERANCE = 0.05
"""How far the coverage may be from what the interval is to have."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A job of a trace as it ran in the simulation."""

    job: TraceJob
    started_ms: int
    ended_ms: int


def main(argv: Sequence[str] | None = None) -> int:
    """Print how good predictions are and return the exit code."""
    parser = argparse.ArgumentParser(description="Predict the run times of the jobs of real traces.")
    parser.add_argument("--traces", type=Path, required=True, help="the folder of the traces")
    parser.add_argument("--rows", type=int, help="only this number of jobs of each trace, for a quick test")
    args = parser.parse_args(argv)
    found: dict[str, tuple[int, Quality]] = {}
    try:
        for name, (gpus, checkpointing) in TRACES.items():
            trace = read_trace(args.traces / f"{name}.csv.gz", {POOL: gpus}, rows=args.rows)
            (scenario,) = scenarios(trace, ["headway"], [LIMIT], checkpointing=checkpointing)
            runs = runs_in(outcomes_of(scenario))
            found[name] = len(runs), quality(runs)
    except InvalidInput as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 2
    print(_table(found))
    return 0 if all(is_calibrated(each) for _, each in found.values()) else 1


def runs_in(outcomes: Mapping[str, Outcome]) -> list[Run]:
    """The jobs that have ended."""
    return [
        Run(job=each.job, started_ms=each.started_ms, ended_ms=each.ended_ms)
        for each in outcomes.values()
        if each.started_ms is not None and each.ended_ms is not None
    ]


def quality(runs: Iterable[Run]) -> Quality:
    """How good the predictions are that are made for each job at its start, by the jobs that ended before."""
    by_start = sorted(runs, key=attrgetter("started_ms"))
    by_end = sorted(by_start, key=attrgetter("ended_ms"))
    past, found, ended = PastRuns(), Quality(), 0
    for run in by_start:
        while ended < len(by_end) and by_end[ended].ended_ms <= run.started_ms:
            past.add(by_end[ended].job, by_end[ended].ended_ms)
            ended += 1
        prediction = past.predict(run.job, run.started_ms)
        if prediction is not None:
            found += Quality.of(prediction, run.job.run_ms)
    return found


def is_calibrated(found: Quality) -> bool:
    """Whether intervals contain about as many run times as they are to contain."""
    return found.coverage is not None and abs(found.coverage - (HIGH - LOW)) <= TOLERANCE


def _table(found: Mapping[str, tuple[int, Quality]]) -> str:
    rows = [
        [name, jobs, each.predicted, f"{each.median_error or 0:.0%}", f"{each.coverage or 0:.1%}"]
        for name, (jobs, each) in found.items()
    ]
    return tabulate(rows, headers=["Trace", "Jobs", "Predicted", "Median error", "Within the interval"])


if __name__ == "__main__":
    sys.exit(main())
