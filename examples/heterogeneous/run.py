"""A trainer that waits for its data, alone and with a CPU group that augments for it over gRPC.

The trainer host alone has as many workers as its instance has vCPUs, which do not keep its GPU busy. In the second job
a group of CPU instances augments the images and serves them. The example fails if the throughput is not at least twice
as high.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tabulate import tabulate

from examples.submission import Account, final_metrics, training_request, unique
from headway_client import TrainingQueue

SCRIPTS = [f"examples/heterogeneous/{name}.py" for name in ("train", "data_service", "images", "prefetch")]
IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/numpy:1"
TRAINER, DATA, DATA_HOSTS = "ml.g5.xlarge", "ml.c5.2xlarge", 2
ARGUMENTS = {"steps": 200, "warm-up": 20, "trainer-workers": 4, "data-workers": 8}
"""Workers are the vCPUs of these instance types."""
METRICS = ["images_per_s", "waiting"]
AT_LEAST = 2.0
TIMEOUT_S = 300.0

ALONE: Mapping[str, Any] = {"InstanceType": TRAINER, "InstanceCount": 1}
WITH_DATA_HOSTS: Mapping[str, Any] = {
    "InstanceGroups": [
        {"InstanceGroupName": "trainer", "InstanceType": TRAINER, "InstanceCount": 1},
        {"InstanceGroupName": "data", "InstanceType": DATA, "InstanceCount": DATA_HOSTS},
    ]
}


def main() -> None:
    """Run both jobs one after the other and print their table."""
    account = Account.from_command_line(__doc__)
    alone = throughput(account, "alone", ALONE, SCRIPTS, IMAGE, ARGUMENTS)
    together = throughput(account, "with-data-hosts", WITH_DATA_HOSTS, SCRIPTS, IMAGE, ARGUMENTS)
    compare(alone, together, at_least=AT_LEAST)


def throughput(
    account: Account,
    name: str,
    resources: Mapping[str, Any],
    scripts: Sequence[str],
    image: str,
    arguments: Mapping[str, object],
) -> dict[str, float]:
    """Run a job and return its metrics.

    Args:
        account: Where it runs.
        name: Begin of its name.
        resources: Its instances.
        scripts: Its scripts.
        image: Its training image.
        arguments: Its command line.
    """
    request = training_request(
        account, unique(name), scripts, arguments, image=image, resources=resources, metrics=METRICS
    )
    job = TrainingQueue().submit(request, priority=1)
    return final_metrics(job.result(timeout=TIMEOUT_S, poll_s=0.5, tell=print))


def compare(alone: Mapping[str, float], together: Mapping[str, float], *, at_least: float) -> None:
    """Print the throughput of both jobs.

    Args:
        alone: The metrics of the trainer alone.
        together: Those of the trainer with data hosts.
        at_least: How many times as fast it has to be.

    Raises:
        SystemExit: It is not.
    """
    ratio = together["images_per_s"] / alone["images_per_s"]
    rows = [
        [f"1 {TRAINER}", *(alone[name] for name in METRICS)],
        [f"1 {TRAINER}, {DATA_HOSTS} {DATA}", *(together[name] for name in METRICS)],
    ]
    print(tabulate(rows, headers=["instances", "images/s", "share of time waiting for data"]))
    print(f"ratio: {ratio:.1f}")
    if ratio < at_least:
        raise SystemExit(f"✗ the data hosts have not made the training {at_least:g} times as fast")


if __name__ == "__main__":
    main()
