"""Trains a small neural network on two interleaved spirals, which are made here.

    python train.py --learning-rate 0.3 --hidden 32

It prints the validation accuracy as `accuracy=…`, for the metrics of the training job.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HYPERPARAMETERS = Path("/opt/ml/input/config/hyperparameters.json")
"""Where SageMaker puts the hyperparameters of a training job."""

SAMPLES, NOISE, TURNS = 400, 0.05, 1.5
EPOCHS = 1500

Floats = NDArray[np.float64]


def spirals(seed: int) -> tuple[Floats, Floats]:
    """Return points on two spirals (SAMPLES x 2) and the spiral of each, 0 or 1 (SAMPLES)."""
    random = np.random.default_rng(seed)
    labels = random.integers(2, size=SAMPLES)
    radius = random.uniform(0.1, 1.0, size=SAMPLES)
    angle = 2 * np.pi * TURNS * radius + np.pi * labels
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return points + random.normal(scale=NOISE, size=points.shape), labels.astype(float)


class Network:
    """One hidden layer of `tanh`, and a probability as its output.

    Args:
        hidden: Units of the hidden layer.
        seed: Of the first weights.
    """

    def __init__(self, hidden: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.inner = random.normal(scale=3.0, size=(3, hidden))
        self.outer = random.normal(scale=hidden**-0.5, size=hidden + 1)

    def layer(self, points: Floats) -> Floats:
        """Return the hidden layer for points (N x 2), with a constant: N x (hidden + 1)."""
        return _with_constant(np.tanh(_with_constant(points) @ self.inner))

    def probabilities(self, points: Floats) -> Floats:
        """Return the probability of spiral 1 for points (N x 2)."""
        return _logistic(self.layer(points) @ self.outer)

    def train(self, points: Floats, labels: Floats, learning_rate: float) -> None:
        """Take one step of gradient descent on the mean cross-entropy."""
        layer = self.layer(points)
        error = (_logistic(layer @ self.outer) - labels) / len(labels)
        back = np.outer(error, self.outer[:-1]) * (1 - layer[:, :-1] ** 2)
        self.outer -= learning_rate * layer.T @ error
        self.inner -= learning_rate * _with_constant(points).T @ back


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser(description="Train a small neural network.")
    parser.add_argument("--learning-rate", type=float, default=0.3)
    parser.add_argument("--hidden", type=int, default=32, help="units of the hidden layer")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model-dir", type=Path, default=Path(os.environ.get("SM_MODEL_DIR", "/opt/ml/model")))
    if HYPERPARAMETERS.exists():
        # All values are text there, which argparse converts like those of the command line.
        given = json.loads(HYPERPARAMETERS.read_text())
        parser.set_defaults(**{name.replace("-", "_"): value for name, value in given.items()})
    options = parser.parse_args()
    network = Network(options.hidden, options.seed)
    points, labels = spirals(options.seed)
    for _ in range(options.epochs):
        network.train(points, labels, options.learning_rate)
    unseen, truth = spirals(options.seed + 1)
    accuracy = np.mean((network.probabilities(unseen) > 0.5) == (truth == 1))
    options.model_dir.mkdir(parents=True, exist_ok=True)
    np.savez(options.model_dir / "model.npz", inner=network.inner, outer=network.outer)
    print(f"accuracy={accuracy:.4f}", flush=True)


def _with_constant(values: Floats) -> Floats:
    return np.hstack([values, np.ones((len(values), 1))])


def _logistic(values: Floats) -> Floats:
    return 1 / (1 + np.exp(-values))


if __name__ == "__main__":
    main()
