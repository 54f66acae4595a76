"""Trains a classifier on made data, and continues from its last checkpoint.

    python train.py --steps 200 --checkpoint-every 10

A checkpoint has all that the next step depends on: the weights, the optimizer's velocity, and the number of steps. The
batch of a step depends on the seed and that number only. So a training that was interrupted ends with the same weights
as one that was not.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FEATURES, CLASSES, BATCH = 20, 5, 64
NOISE = 1.5
LEARNING_RATE, MOMENTUM = 0.05, 0.9

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class State:
    """The training after a number of steps."""

    step: int
    weights: Floats
    """FEATURES x CLASSES."""
    velocity: Floats
    """Of the weights: what momentum keeps from one step to the next."""

    @classmethod
    def initial(cls) -> State:
        """Return the state before the first step."""
        zeros = np.zeros((FEATURES, CLASSES))
        return cls(step=0, weights=zeros, velocity=zeros)

    @classmethod
    def load(cls, path: Path) -> State:
        """Return the state of a checkpoint; the initial one if there is none."""
        if not path.exists():
            return cls.initial()
        with np.load(path) as saved:
            return cls(step=int(saved["step"]), weights=saved["weights"], velocity=saved["velocity"])

    def save(self, path: Path) -> None:
        """Write a checkpoint. At each moment the path has all of it or all of the one before."""
        draft = path.with_suffix(".draft")
        with draft.open("wb") as file:
            np.savez(file, step=self.step, weights=self.weights, velocity=self.velocity)
        draft.replace(path)


def batch(seed: int, step: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return the samples (BATCH x FEATURES) and labels (BATCH) of a step: points around a centre for each class."""
    centres = np.random.default_rng(seed).normal(size=(CLASSES, FEATURES))
    random = np.random.default_rng([seed, step])
    labels = random.integers(CLASSES, size=BATCH)
    return centres[labels] + NOISE * random.normal(size=(BATCH, FEATURES)), labels


def train_step(state: State, samples: Floats, labels: NDArray[np.int64]) -> tuple[State, float]:
    """Return the state after one more step, and the mean cross-entropy of its batch."""
    logits = samples @ state.weights
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    each = np.arange(len(labels))
    loss = -np.log(probabilities[each, labels]).mean()
    probabilities[each, labels] -= 1
    velocity = MOMENTUM * state.velocity - LEARNING_RATE * samples.T @ probabilities / len(labels)
    return State(step=state.step + 1, weights=state.weights + velocity, velocity=velocity), float(loss)


def main() -> None:
    """Train."""
    options = _options()
    stop = threading.Event()
    if options.save_on_sigterm == "yes":
        signal.signal(signal.SIGTERM, lambda *_: stop.set())
    options.checkpoint_dir.mkdir(parents=True, exist_ok=True)
    checkpoint = options.checkpoint_dir / "state.npz"
    state = State.load(checkpoint)
    print(f"begins after step {state.step}", flush=True)
    while state.step < options.steps and not stop.is_set():
        state, loss = train_step(state, *batch(options.seed, state.step))
        time.sleep(options.pause_s)
        # Before its checkpoint, so that no checkpoint has a step that the log lacks.
        print(f"step {state.step} loss={loss:.4f}", flush=True)
        if state.step % options.checkpoint_every == 0:
            state.save(checkpoint)
    state.save(checkpoint)
    if state.step == options.steps:
        options.model_dir.mkdir(parents=True, exist_ok=True)
        np.savez(options.model_dir / "model.npz", weights=state.weights)
        print(f"weights {hashlib.sha256(state.weights.tobytes()).hexdigest()[:12]}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a small classifier with checkpoints.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--checkpoint-every", type=int, default=10, help="steps between two checkpoints")
    parser.add_argument("--save-on-sigterm", choices=["yes", "no"], default="yes")
    parser.add_argument("--pause-s", type=float, default=0.0, help="added to each step: the time of a larger model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoint-dir", type=Path, default=Path("/opt/ml/checkpoints"))
    parser.add_argument("--model-dir", type=Path, default=Path(os.environ.get("SM_MODEL_DIR", "/opt/ml/model")))
    return parser.parse_args()


if __name__ == "__main__":
    main()
