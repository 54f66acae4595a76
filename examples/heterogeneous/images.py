"""Labelled images, which are made here, and their augmentation.

To decode and augment a batch of real images takes a core many times as long as a GPU needs to train on it. Here it is a
pause, so that the example shows the same on a machine with few cores.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CLASSES, BATCH, SIZE = 4, 32, 32
AUGMENT_S = 0.2
"""Pause of one worker for one batch."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Augmented images, BATCH x SIZE x SIZE x 3, and their labels, BATCH."""

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]

    def to_bytes(self) -> bytes:
        """Return what `from_bytes` reads."""
        return self.labels.tobytes() + self.images.tobytes()

    @classmethod
    def from_bytes(cls, content: bytes) -> Batch:
        """Return the batch that `to_bytes` wrote."""
        labels, images = np.frombuffer(content, dtype=np.uint8, count=BATCH), np.frombuffer(content, np.uint8)[BATCH:]
        return cls(labels=labels, images=images.reshape(BATCH, SIZE, SIZE, 3))


def augmented(seed: int, worker: int) -> Iterator[Batch]:
    """Return the endless batches of one worker.

    Args:
        seed: Of all images.
        worker: Number of the worker in the job: each makes other images.
    """
    for number in itertools.count():
        random = np.random.default_rng([seed, worker, number])
        labels = random.integers(CLASSES, size=BATCH, dtype=np.uint8)
        images = _flipped(_images(labels, random), random)
        time.sleep(AUGMENT_S)
        yield Batch(images=images, labels=labels)


def _images(labels: NDArray[np.uint8], random: np.random.Generator) -> NDArray[np.uint8]:
    """Return noise with a tint for each label."""
    tints = np.random.default_rng(CLASSES).integers(40, size=(CLASSES, 1, 1, 3), dtype=np.uint8)
    return random.integers(200, size=(BATCH, SIZE, SIZE, 3), dtype=np.uint8) + tints[labels]


def _flipped(images: NDArray[np.uint8], random: np.random.Generator) -> NDArray[np.uint8]:
    """Return images of which each is flipped with a probability of a half."""
    flips = random.random(len(images)) < 0.5
    return np.where(flips[:, None, None, None], images[:, :, ::-1], images)
