"""A sweep: an array with a small training job for each combination of hyperparameters, and a table of the results.

The array is submitted in one call; its members start as the pool has instances for them. The example fails if a member
fails, or if none is better than guessing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tabulate import tabulate

from examples.submission import Account, training_request, unique
from headway_client import ArrayMember, HeadwayApi, TrainingQueue, resolve_connection

SCRIPT = "examples/sweep/train.py"
IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/numpy:1"
RESOURCES = {"InstanceType": "ml.c5.xlarge", "InstanceCount": 1}
GRID: Mapping[str, Sequence[float]] = {"learning-rate": (0.1, 1.0), "hidden": (4, 16, 64)}
METRIC = "accuracy"
GUESSING = 0.5
TIMEOUT_S = 300.0


def ranked(members: Iterable[ArrayMember]) -> list[list[str | float]]:
    """Return rows with the hyperparameters and the metric of each member, best first.

    Args:
        members: The members, which have completed.
    """
    best_first = sorted(members, key=lambda member: member.metrics[METRIC], reverse=True)
    return [[*(member.parameters[name] for name in GRID), member.metrics[METRIC]] for member in best_first]


def main() -> None:
    """Run the sweep and print its table."""
    rows = ranked(run(Account.from_command_line(__doc__)))
    print(tabulate(rows, headers=[*GRID, METRIC]))
    *best, metric = rows[0]
    print(f"best: {', '.join(f'{name} {value}' for name, value in zip(GRID, best, strict=True))}")
    if float(metric) <= GUESSING:
        raise SystemExit(f"✗ no job is better than guessing: the best {METRIC} is {metric}")


def run(account: Account) -> list[ArrayMember]:
    """Submit the array, wait for it, and return its members.

    Args:
        account: Where they run.
    """
    request = training_request(
        account, unique("sweep"), [SCRIPT], {}, image=IMAGE, resources=RESOURCES, metrics=[METRIC]
    )
    sweep = {"grid": {name: list(values) for name, values in GRID.items()}}
    array = TrainingQueue().submit(request, sweep=sweep, priority=1)
    print("the array is in the queue")
    array.result(timeout=TIMEOUT_S, poll_s=0.5, tell=print)
    return list(HeadwayApi.connect(resolve_connection()).members(array.job_name))


if __name__ == "__main__":
    main()
