"""A sweep: one small job for each combination of hyperparameters, and a table of what they reached.

All jobs are submitted at once; the queue starts as many as its pool has instances. The example fails if a job fails, or
if none is better than guessing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from tabulate import tabulate

from examples.submission import Account, final_metrics, training_request, unique
from headway_client import QueuedJob, TrainingQueue

SCRIPT = "examples/sweep/train.py"
IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/numpy:1"
RESOURCES = {"InstanceType": "ml.c5.xlarge", "InstanceCount": 1}
GRID: Mapping[str, Sequence[float]] = {"learning-rate": (0.1, 1.0), "hidden": (4, 16, 64)}
METRIC = "accuracy"
GUESSING = 0.5
TIMEOUT_S = 300.0


def combinations(grid: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
    """Return all combinations of hyperparameters.

    Args:
        grid: The values of each hyperparameter.
    """
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def ranked(results: Sequence[tuple[Mapping[str, float], float]]) -> list[list[Any]]:
    """Return rows with the hyperparameters and the metric, best first.

    Args:
        results: The hyperparameters and the metric of each job.
    """
    best_first = sorted(results, key=lambda result: result[1], reverse=True)
    return [[*hyperparameters.values(), metric] for hyperparameters, metric in best_first]


def main() -> None:
    """Run the sweep and print its table."""
    rows = ranked(results(Account.from_command_line(__doc__)))
    print(tabulate(rows, headers=[*GRID, METRIC]))
    *best, metric = rows[0]
    print(f"best: {', '.join(f'{name} {value:g}' for name, value in zip(GRID, best, strict=True))}")
    if metric <= GUESSING:
        raise SystemExit(f"✗ no job is better than guessing: the best {METRIC} is {metric}")


def results(account: Account) -> list[tuple[dict[str, float], float]]:
    """Submit all jobs, wait for them, and return the hyperparameters and the metric of each.

    Args:
        account: Where they run.
    """
    queue, sweep = TrainingQueue(), unique("sweep")
    jobs: list[tuple[dict[str, float], QueuedJob]] = []
    for number, hyperparameters in enumerate(combinations(GRID), start=1):
        request = training_request(
            account,
            f"{sweep}-{number}",
            [SCRIPT],
            hyperparameters,
            image=IMAGE,
            resources=RESOURCES,
            metrics=[METRIC],
        )
        jobs.append((hyperparameters, queue.submit(request, priority=1)))
    print(f"{len(jobs)} jobs are in the queue")
    ended = [(hyperparameters, job.result(timeout=TIMEOUT_S, poll_s=0.5, tell=print)) for hyperparameters, job in jobs]
    return [(hyperparameters, final_metrics(details)[METRIC]) for hyperparameters, details in ended]


if __name__ == "__main__":
    main()
