"""A trainer that waits for its data, alone and with a CPU group that augments for it over gRPC.

The trainer host alone has as many workers as its instance has vCPUs, which do not keep its GPU busy. In the second job
a group of CPU instances augments the images and serves them. The example fails if the throughput is not at least twice
as high, or if the advice on the first job (`headway advise`) does not name such a group, or estimates another ratio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tabulate import tabulate

from examples.submission import Account, final_metrics, training_request, unique
from headway.advice import Host, JobFigures, advise
from headway.advice.rules.starved_gpus import speed_with
from headway.instances import spec_of
from headway_client import TrainingQueue

SCRIPTS = [f"examples/heterogeneous/{name}.py" for name in ("train", "data_service", "images", "prefetch")]
IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/numpy:1"
TRAINER, DATA, DATA_HOSTS = "ml.g5.xlarge", "ml.c5.2xlarge", 2
ARGUMENTS = {"steps": 200, "warm-up": 20, "trainer-workers": 4, "data-workers": 8}
"""Workers are the vCPUs of these instance types."""
METRICS = ["images_per_s", "waiting"]
AT_LEAST = 2.0
WITHIN = 0.25
"""By how much the estimate may differ from the measured ratio, as a share of that."""
MINUTES = 10
"""The example trains for seconds, which it says of itself; advice needs at least so many minutes."""
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
    ratio = compare(alone, together, at_least=AT_LEAST)
    compare_advice(alone["waiting"], ratio)


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


def compare(alone: Mapping[str, float], together: Mapping[str, float], *, at_least: float) -> float:
    """Print the throughput of both jobs, and return their ratio.

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
    return ratio


def estimated(waiting: float) -> float:
    """Return how many times as fast the advice on the trainer alone says that it is with the data hosts.

    Its workers have a vCPU each, which are full, as the trainer waits for them; the GPU is busy when it does not wait.

    Args:
        waiting: The measured share of time in which it waits for data.

    Raises:
        SystemExit: The advice does not name such hosts.
    """
    trainer, data = spec_of(TRAINER), spec_of(DATA)
    assert trainer is not None  # noqa: S101  the table of types has both
    assert data is not None  # noqa: S101
    busy = 100 * (1 - waiting)
    host = Host(instance_type=TRAINER, minutes=MINUTES, cpu_percent=100.0 * trainer.vcpus, gpu_percent=busy)
    found = advise(JobFigures(hosts=(host,)), data_types=[DATA]).advice
    if not any(DATA in option.instances for advice in found for option in advice.options):
        raise SystemExit(f"✗ the advice on the trainer alone does not name {DATA}")
    return speed_with(DATA_HOSTS * data.vcpus, now_vcpus=trainer.vcpus, gpu_share=busy / 100)


def compare_advice(waiting: float, ratio: float) -> None:
    """Print what was estimated beside what was measured.

    Args:
        waiting: The measured share of time in which the trainer alone waits for data.
        ratio: The measured ratio.

    Raises:
        SystemExit: The estimate differs by more than `WITHIN`.
    """
    estimate = estimated(waiting)
    print(f"estimated by the advice: {estimate:.1f}")
    if abs(estimate - ratio) > WITHIN * ratio:
        raise SystemExit(f"✗ the advice estimates {estimate:.1f}, and {ratio:.1f} was measured")


if __name__ == "__main__":
    main()
