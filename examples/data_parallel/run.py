"""Data-parallel training on two hosts, compared with one host that has the whole batch.

The example fails if the hosts end with different weights, or if the loss is another one than on one host.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tabulate import tabulate

from examples.submission import Account, final_metrics, log, training_request, unique
from headway_client import TrainingQueue

SCRIPT = "examples/data_parallel/train.py"
IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/torch:2"
KIND = "ml.g4dn.xlarge"
STEPS = 200
TOLERANCE = 1e-4
"""Sums in another order differ by roundings."""
TIMEOUT_S = 300.0

_WEIGHTS = re.compile(r"host \d+ of \d+ has weights (\w+)")


@dataclass(frozen=True, kw_only=True)
class Result:
    """What one job has reached."""

    hosts: int
    loss: float
    weights: list[str]
    """The digest of each host's weights."""


def digests(lines: Iterable[str]) -> list[str]:
    """Return the digests that the hosts have logged."""
    return [found[1] for line in lines if (found := _WEIGHTS.fullmatch(line))]


def problems(one: Result, two: Result) -> list[str]:
    """Return what is wrong with the results of one and of two hosts, in sentences."""
    found = []
    if len(two.weights) != two.hosts:
        found.append(f"{len(two.weights)} of {two.hosts} hosts have logged their weights")
    if len(set(two.weights)) > 1:
        found.append("the hosts have different weights")
    if abs(one.loss - two.loss) > TOLERANCE:
        found.append(f"the loss of two hosts is {two.loss}, that of one {one.loss}")
    return found


def main() -> None:
    """Run both jobs and print their table."""
    account = Account.from_command_line(__doc__)
    one, two = (trained(account, hosts) for hosts in (1, 2))
    rows = [[result.hosts, result.loss, ", ".join(result.weights)] for result in (one, two)]
    print(tabulate(rows, headers=["hosts", "loss", "weights of each host"], floatfmt=".6f"))
    if found := problems(one, two):
        raise SystemExit(f"✗ {'; '.join(found)}")


def trained(account: Account, hosts: int) -> Result:
    """Run a job and return its result.

    Args:
        account: Where it runs.
        hosts: How many hosts it has.
    """
    resources = {"InstanceType": KIND, "InstanceCount": hosts}
    request = training_request(
        account,
        unique(f"hosts-{hosts}"),
        [SCRIPT],
        {"steps": STEPS},
        image=IMAGE,
        resources=resources,
        metrics=["loss"],
    )
    job = TrainingQueue().submit(request, priority=1)
    details = job.result(timeout=TIMEOUT_S, poll_s=0.5, tell=print)
    weights = digests(event.message for event in log(details))
    return Result(hosts=hosts, loss=final_metrics(details)["loss"], weights=weights)


if __name__ == "__main__":
    main()
