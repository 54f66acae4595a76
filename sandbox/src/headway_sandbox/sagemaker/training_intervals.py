"""When a training job trained: a spot job that is interrupted does so more than once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from headway_sandbox.sagemaker.clock import Clock
from headway_sandbox.sagemaker.training_job import TrainingJob, Transition


class TrainingInterval(NamedTuple):
    """A time of training. Moments are s since the epoch."""

    started_s: float
    ended_s: float | None
    """None while it trains."""
    trained_s: float
    """How much of its training was done before, s of the real world."""
    then: Transition | None
    """What came next; None while it trains."""


def spells(job: TrainingJob, clock: Clock) -> Iterator[TrainingInterval]:
    """Each time that it trained, in order.

    With a checkpoint an interrupted job goes on where it was, else it begins anew, as the fleet has it.
    """
    trained_s = 0.0
    for transition, then in itertools.zip_longest(job.transitions, job.transitions[1:]):
        if transition.status == "Training":
            yield TrainingInterval(transition.start, transition.end, trained_s, then)
            if transition.end is not None and job.request.get("CheckpointConfig"):
                trained_s += clock.world_s(transition.end - transition.start)
