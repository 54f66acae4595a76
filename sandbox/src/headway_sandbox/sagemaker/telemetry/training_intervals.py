"""When a training job trained: an interrupted spot job trains more than once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from headway_sandbox.sagemaker.training_job import TrainingJob, Transition


class TrainingInterval(NamedTuple):
    """One period of training. Moments are s since the epoch."""

    started_s: float
    ended_s: float | None
    """None while it trains."""
    trained_s: float
    """Training done before it, s."""
    then: Transition | None
    """The next transition; None while it trains."""


def training_intervals(job: TrainingJob) -> Iterator[TrainingInterval]:
    """Return a job's training intervals, in order.

    An interrupted job continues from its checkpoint if it has a CheckpointConfig, else from the beginning.
    """
    trained_s = 0.0
    for transition, then in itertools.zip_longest(job.transitions, job.transitions[1:]):
        if transition.status == "Training":
            yield TrainingInterval(transition.start, transition.end, trained_s, then)
            if transition.end is not None and job.request.get("CheckpointConfig"):
                trained_s += transition.end - transition.start
