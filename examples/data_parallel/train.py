"""Trains a network on all hosts of a job, each with its part of every batch (PyTorch, gloo).

The hosts have the same model. After each step they average their gradients, so that a step is the same as one host's
step on the whole batch.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

PORT = 29_500
FEATURES, CLASSES = 16, 4
BATCH = 64
"""Samples of a step on all hosts together."""
CONNECT = timedelta(minutes=2)
"""How long the hosts wait for each other."""


def batch(seed: int, step: int) -> tuple[Tensor, Tensor]:
    """Return the samples (BATCH x FEATURES) and labels (BATCH) of a step, equal on all hosts."""
    random = torch.Generator().manual_seed(seed * 1_000_003 + step)
    samples = torch.randn(BATCH, FEATURES, generator=random)
    # The class is in the signs of the first two features.
    return samples, (samples[:, 0] > 0).long() * 2 + (samples[:, 1] > 0).long()


def part(values: Tensor, rank: int, hosts: int) -> Tensor:
    """Return the samples of one host: equally many for each.

    Args:
        values: The samples or labels of a step.
        rank: The host's number, from 0.
        hosts: How many there are.

    Raises:
        ValueError: They cannot be divided equally, so the mean of the gradients would not be that of the batch.
    """
    if len(values) % hosts != 0:
        raise ValueError(f"A batch of {len(values)} samples cannot be divided equally on {hosts} hosts.")
    return values[rank::hosts]


def join(resources: Mapping[str, Any]) -> None:
    """Connect this host with the others of the job.

    Args:
        resources: SageMaker's `resourceconfig.json`.
    """
    hosts = resources["hosts"]
    os.environ.setdefault("GLOO_SOCKET_IFNAME", resources["network_interface_name"])
    dist.init_process_group(
        "gloo",
        init_method=f"tcp://{hosts[0]}:{PORT}",
        rank=hosts.index(resources["current_host"]),
        world_size=len(hosts),
        timeout=CONNECT,
    )


def train(steps: int, seed: int) -> nn.Module:
    """Train and return the model. Its loss on samples that it has not seen is printed.

    Args:
        steps: The number of steps.
        seed: Of the first weights and of all samples.
    """
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, CLASSES))
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    rank, hosts = dist.get_rank(), dist.get_world_size()
    for step in range(steps):
        samples, labels = (part(values, rank, hosts) for values in batch(seed, step))
        optimizer.zero_grad()
        cross_entropy(parallel(samples), labels).backward()
        optimizer.step()
    with torch.no_grad():
        samples, labels = batch(seed, steps)
        print(f"loss={cross_entropy(model(samples), labels):.6f}", flush=True)
    return model


def digest(model: nn.Module) -> str:
    """Return a short text that differs if any weight differs."""
    content = b"".join(values.numpy().tobytes() for values in model.state_dict().values())
    return hashlib.sha256(content).hexdigest()[:12]


def main() -> None:
    """Train on this host, together with the others."""
    parser = argparse.ArgumentParser(description="Train a network on all hosts of a job.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model-dir", type=Path, default=Path(os.environ.get("SM_MODEL_DIR", "/opt/ml/model")))
    parser.add_argument("--resources", type=Path, default=Path("/opt/ml/input/config/resourceconfig.json"))
    options = parser.parse_args()
    # Process 1 of a container does not end by SIGTERM without a handler.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    torch.set_num_threads(1)
    join(json.loads(options.resources.read_text()))
    model = train(options.steps, options.seed)
    print(f"host {dist.get_rank() + 1} of {dist.get_world_size()} has weights {digest(model)}", flush=True)
    if dist.get_rank() == 0:  # all hosts have the same model
        torch.save(model.state_dict(), options.model_dir / "model.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
