"""What would let a job start now that waits."""

from __future__ import annotations

from dataclasses import replace

from headway.scheduling.placement.ground import Ground
from headway.scheduling.placement.obstacles import Obstacle, OutlastsSize, WouldDelay
from headway.scheduling.placement.placements import StartNow
from headway.scheduling.placement.trying import start_now, want_of
from headway.vectors import positive


def shorter_limit_ms(obstacle: Obstacle, ground: Ground) -> int | None:
    """The longest limit with which a job would start now that would run into a claim, ms; None if it would with none.

    It is tried, so it is true: other claims may keep a job from starting that runs into this one no more.

    Args:
        obstacle: what keeps the job from its instances.
        ground: what the job is placed on, before a start is reserved for it.
    """
    if not isinstance(obstacle, WouldDelay | OutlastsSize):
        return None
    want = want_of(obstacle.job, ground)
    ends_ms = [want.exceeded.change.at_ms] if want.exceeded is not None else []
    counted = positive(want.takes)
    if ground.reserved_starts.delayed_by(counted, want.until_ms) is not None:
        room_ms = ground.reserved_starts.room_until_ms(counted, want.until_ms)
        if room_ms is None:
            return None
        ends_ms.append(room_ms)
    limit_ms = min(ends_ms, default=ground.now_ms) - ground.now_ms
    # A request has it in seconds.
    limit_ms -= limit_ms % 1000
    if limit_ms <= 0:
        return None
    shorter = replace(obstacle.job, limit_ms=limit_ms)
    return limit_ms if isinstance(start_now(want_of(shorter, ground), ground), StartNow) else None
