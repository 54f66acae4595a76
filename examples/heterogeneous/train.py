"""Trains an image classifier, with its images augmented on this host or on the hosts of a CPU group.

SageMaker starts the same script on each host of a heterogeneous cluster; the instance group decides what it does:

- `data`: it augments images and serves them until the trainer has hung up;
- any other group, or a job without groups: it trains. Without a group `data` it augments its images itself.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.heterogeneous.images import BATCH, CLASSES, SIZE, Batch, augmented
from examples.heterogeneous.prefetch import prefetched

DATA_GROUP = "data"
STEP_S = 0.01
"""Pause in each step: the time of the GPU."""
LEARNING_RATE = 0.01
AHEAD = 16
"""Batches that wait for the trainer at most."""


def hosts_of(resources: Mapping[str, Any], group: str) -> list[str]:
    """Return the hosts of an instance group; none if the job does not have it.

    Args:
        resources: SageMaker's `resourceconfig.json`.
        group: The group's name.
    """
    groups = {each["instance_group_name"]: each["hosts"] for each in resources.get("instance_groups", [])}
    return list(groups.get(group, []))


def workers_of(resources: Mapping[str, Any], count: int, seed: int) -> list[Iterator[Batch]]:
    """Return the batches of each worker of this host, which differ from those of all other hosts.

    Args:
        resources: SageMaker's `resourceconfig.json`.
        count: Workers of each host.
        seed: Of all images.
    """
    first = resources["hosts"].index(resources["current_host"]) * count
    return [augmented(seed, worker) for worker in range(first, first + count)]


def train(batches: Iterator[Batch], steps: int, *, warm_up: int) -> NDArray[np.float64]:
    """Train, print the throughput, and return the weights.

    Args:
        batches: The augmented images.
        steps: The number of batches to train on.
        warm_up: How many of these do not count in the throughput: workers need time to start.
    """
    weights, loss = np.zeros((SIZE * SIZE * 3, CLASSES)), 0.0
    begun = asked = time.perf_counter()
    waited_s = 0.0
    for step, batch in enumerate(islice(batches, steps), start=1):
        waited_s += time.perf_counter() - asked
        weights, loss = train_step(weights, batch)
        time.sleep(STEP_S)
        asked = time.perf_counter()
        if step == warm_up:
            begun, waited_s = asked, 0.0
    measured_s = asked - begun
    images_per_s = BATCH * (steps - warm_up) / measured_s
    print(f"images_per_s={images_per_s:.1f} waiting={waited_s / measured_s:.2f} loss={loss:.4f}", flush=True)
    return weights


def train_step(weights: NDArray[np.float64], batch: Batch) -> tuple[NDArray[np.float64], float]:
    """Return the weights (pixels x CLASSES) after one step of gradient descent, and the mean loss before it."""
    pixels = batch.images.reshape(len(batch.labels), -1) / 255 - 0.5
    exponentials = np.exp(pixels @ weights)
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    each = np.arange(len(batch.labels))
    loss = -np.log(probabilities[each, batch.labels]).mean()
    probabilities[each, batch.labels] -= 1
    return weights - LEARNING_RATE * pixels.T @ probabilities / len(batch.labels), float(loss)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(description="Train an image classifier.")
    made.add_argument("--steps", type=int, default=200)
    made.add_argument("--warm-up", type=int, default=10, help="steps that do not count in the throughput")
    made.add_argument("--trainer-workers", type=int, default=os.cpu_count(), help="a trainer's workers")
    made.add_argument("--data-workers", type=int, default=os.cpu_count(), help="workers of each host of the data group")
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--model-dir", type=Path, default=Path(os.environ.get("SM_MODEL_DIR", "/opt/ml/model")))
    made.add_argument("--resources", type=Path, default=Path("/opt/ml/input/config/resourceconfig.json"))
    return made


def main() -> None:
    """Do what this host's group does."""
    options = parser().parse_args()
    # Process 1 of a container does not end by SIGTERM without a handler.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    resources = json.loads(options.resources.read_text())
    if resources["current_group_name"] == DATA_GROUP:
        _serve(resources, options)
        return
    with closing(_batches(resources, options)) as batches:
        weights = train(batches, options.steps, warm_up=options.warm_up)
    np.savez(options.model_dir / "model.npz", weights=weights)


def _serve(resources: Mapping[str, Any], options: argparse.Namespace) -> None:
    # Imported here and below, as a trainer alone needs no gRPC.
    from examples.heterogeneous import data_service

    workers = partial(workers_of, resources, options.data_workers, options.seed)
    data_service.serve(resources["current_host"], lambda: prefetched(workers(), ahead=AHEAD))


def _batches(resources: Mapping[str, Any], options: argparse.Namespace) -> Generator[Batch, None, None]:
    hosts = hosts_of(resources, DATA_GROUP)
    print(f"images are augmented on {', '.join(hosts) or 'this host'}", flush=True)
    if not hosts:
        return prefetched(workers_of(resources, options.trainer_workers, options.seed), ahead=AHEAD)
    from examples.heterogeneous import data_service

    return data_service.receive(hosts, ahead=AHEAD)


if __name__ == "__main__":
    main()
