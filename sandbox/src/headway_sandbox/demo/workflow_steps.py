"""The steps of the workflow of `headway_sandbox.demo.workflow`, as they run in training jobs. Standard library only.

python workflow_steps.py prepare       make points on a line, with noise
python workflow_steps.py train         fit the line by gradient descent, with a learning rate
python workflow_steps.py evaluate      compare the line with points that it has not seen
"""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

INPUT = Path("/opt/ml/input/data/input/model.tar.gz")
MODEL = Path("/opt/ml/model/model.json")
HYPERPARAMETERS = Path("/opt/ml/input/config/hyperparameters.json")

SLOPE, OFFSET, NOISE = 3.0, -1.0, 0.1
POINTS, STEPS = 200, 60

Points = Sequence[Sequence[float]]


def prepare() -> dict[str, Any]:
    """Return the points to train with."""
    return {"points": points(seed=1)}


def train(found: dict[str, Any], learning_rate: float) -> dict[str, Any]:
    """Return the line that fits the points, and print its loss after each step.

    Args:
        found: What `prepare` has made.
    """
    slope = offset = 0.0
    for step in range(1, STEPS + 1):
        errors = [(slope * x + offset - y, x) for x, y in found["points"]]
        slope -= learning_rate * 2 * fmean(error * x for error, x in errors)
        offset -= learning_rate * 2 * fmean(error for error, _ in errors)
        print(f"step={step} loss={loss(slope, offset, found['points']):.6f}", flush=True)
    return {"slope": slope, "offset": offset}


def evaluate(found: dict[str, Any]) -> dict[str, Any]:
    """Return the loss of a line on points that it has not seen, and print it.

    Args:
        found: What `train` has made.
    """
    unseen = loss(found["slope"], found["offset"], points(seed=2))
    print(f"unseen={unseen:.6f}", flush=True)
    return {"unseen": unseen}


def points(seed: int) -> Points:
    """Return points near the line."""
    random = Random(seed)
    return [(x, SLOPE * x + OFFSET + random.gauss(0, NOISE)) for x in (random.uniform(-1, 1) for _ in range(POINTS))]


def loss(slope: float, offset: float, points: Points) -> float:
    """Return the mean squared error of a line."""
    return fmean((slope * x + offset - y) ** 2 for x, y in points)


def main(step: str) -> None:
    """Run a step."""
    if step == "prepare":
        made = prepare()
    else:
        with tarfile.open(INPUT) as archive:
            member = archive.extractfile(MODEL.name)
            found = json.load(member) if member is not None else {}
        rate = json.loads(HYPERPARAMETERS.read_text()).get("learning-rate")
        made = train(found, float(rate)) if step == "train" else evaluate(found)
    MODEL.write_text(json.dumps(made))


if __name__ == "__main__":
    main(sys.argv[1])
