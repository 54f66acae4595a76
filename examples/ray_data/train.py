"""The training of examples/heterogeneous, with its images augmented by Ray Data on the hosts of the group `data`.

SageMaker starts the same script on each host. The trainer is the head of a Ray cluster, which the data hosts join; they
end when it is gone.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import ray.data

from examples.heterogeneous.images import Batch, augmented
from examples.heterogeneous.train import DATA_GROUP, hosts_of, parser, train
from examples.ray_data import cluster

BATCHES_OF_A_TASK = 5
"""So that a task takes much longer than Ray needs to start it."""


def batches(count: int, seed: int) -> Iterator[Batch]:
    """Return batches that the cluster augments, as they are ready.

    Args:
        count: How many.
        seed: Of all images.
    """

    def augment(row: Mapping[str, Any]) -> dict[str, Any]:
        batch = next(augmented(seed, int(row["id"])))
        return {"images": batch.images, "labels": batch.labels}

    ray.data.DataContext.get_current().enable_progress_bars = False
    numbers = ray.data.range(count, override_num_blocks=count // BATCHES_OF_A_TASK)
    for row in numbers.map(augment).iter_rows():
        yield Batch(images=row["images"], labels=row["labels"])


def main() -> None:
    """Do what this host's group does."""
    options = parser().parse_args()
    # Process 1 of a container does not end by SIGTERM without a handler.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    resources = json.loads(options.resources.read_text())
    host, head = resources["current_host"], resources["hosts"][0]
    if resources["current_group_name"] == DATA_GROUP:
        cluster.serve(host, head, workers=options.data_workers)
        return
    data_hosts = hosts_of(resources, DATA_GROUP)
    print(f"images are augmented on {', '.join(data_hosts)}", flush=True)
    cluster.start_head(host, workers=options.data_workers * len(data_hosts))
    weights = train(batches(options.steps, options.seed), options.steps, warm_up=options.warm_up)
    np.savez(options.model_dir / "model.npz", weights=weights)


if __name__ == "__main__":
    main()
