"""Transitions of a training job that did not come through the queue."""

from __future__ import annotations

from typing import Any

from headway.vectors import minus, overlap
from headway_service.ports.table import Absent, Equals, Write
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.store.transitions.shared import change_attempt, return_instances


def charge_rogue(rogue: RogueJobRecord) -> list[Write]:
    """A live rogue training job is charged to its pools. Fails if it is already known."""
    return [rogue.put(requires=Absent()), *return_instances(minus({}, rogue.charged))]


def update_rogue(rogue: RogueJobRecord, **changes: Any) -> tuple[RogueJobRecord, list[Write]]:
    """A rogue training job has changed; its pools are charged accordingly."""
    moved = rogue.model_copy(update={"version": rogue.version + 1, **changes})
    put = moved.put(requires=Equals("version", rogue.version))
    return moved, [put, *return_instances(minus(rogue.charged, moved.charged))]


def request_stop(rogue: RogueJobRecord, by: str) -> tuple[RogueJobRecord, list[Write]]:
    """An operator requests the stop of a rogue training job. It is due at once, even after a failed stop.

    Args:
        rogue: the record of the rogue training job.
        by: the operator, as in ``user/ada``.
    """
    return update_rogue(rogue, stop=True, stop_asked_by=by, stop_sent_ms=None, stop_problem="")


def forget_rogue(rogue: RogueJobRecord) -> list[Write]:
    """A rogue training job has ended; the instances charged for it become free."""
    return [rogue.delete(), *return_instances(rogue.charged)]


def adopt_rogue(attempt: AttemptRecord, rogue: RogueJobRecord) -> tuple[AttemptRecord, list[Write]]:
    """A rogue training job turns out to be an attempt that was started again: that holds what was charged for it.

    What the attempt was started with becomes free.

    Args:
        attempt: the attempt, launching.
        rogue: the training job, which is charged to some pools.
    """
    limit_ms = None if attempt.limit_ms is None else max(attempt.limit_ms, rogue.limit_ms)
    moved = change_attempt(
        attempt,
        demand=rogue.charged,
        limit_ms=limit_ms,
        # Of what was decided to be freed, it may hold less.
        freed=dict(overlap(attempt.freed, rogue.charged)),
    )
    return moved, [moved.put(was=attempt.version), rogue.delete(), *return_instances(attempt.demand)]
