"""Which of its alternatives a job is placed on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from headway.model import WaitingJob
from headway.scheduling.alternatives import others, unlikely_spot
from headway.scheduling.placement import eligibility
from headway.scheduling.placement.ground import Ground
from headway.scheduling.placement.memo import Memo
from headway.scheduling.placement.obstacles import Blocked, Obstacle, WaitsForBetter
from headway.scheduling.placement.placements import AfterStops, Placement
from headway.scheduling.placement.trying import after_stops, start_now, try_on, want_of
from headway.vectors import positive


def ranked(job: WaitingJob, ground: Ground) -> list[WaitingJob]:
    """The job on each of its alternatives, in the order of preference.

    It ranks by its first preference. So on another one, which the guarantee of its team may cover although it does not
    cover the first, attempts are stopped for it only if the job ranks before their jobs once these wait again.
    """
    stops = not ground.policy.team(job.terms.team).guaranteed or ground.capacity.guarantees.covers(job)
    # The first preference is the job itself: from here on its alternatives have no effect.
    return [job, *(each if stops else replace(each, preempts=False) for each in others(job))]


def without_unlikely_spot(
    among: list[WaitingJob], ground: Ground
) -> tuple[list[WaitingJob], Sequence[tuple[str, int]]]:
    """The choices that are not passed over for their spot placement scores: all, if no other one can be used.

    Returns:
        The choices, and the spot pools that are passed over, each with its score.
    """
    unlikely = [(each, tuple(unlikely_spot(each, ground.snapshot))) for each in among]
    likely = [each for each, scores in unlikely if not scores]
    if len(likely) == len(among) or not any(eligibility.obstacle(each, ground) is None for each in likely):
        return among, ()
    return likely, [score for _, scores in unlikely for score in scores]


def choose(among: Sequence[WaitingJob], until_ms: int, ground: Ground, memo: Memo) -> Placement | Obstacle:
    """Place a job on the best of its alternatives.

    It is the first that the job can start on now, or else the first for which attempts are stopped or stopping. But if
    the limits of what runs prove that the job can start on a better one in time, it waits for that. If there is
    neither, it is the one with the earliest reserved start.

    Args:
        among: the job on each of its alternatives that it is eligible for, in the order of preference.
        until_ms: until when it waits for a better one, ms.
        ground: what it is placed on.
        memo: answers for some of them.
    """
    answers = [memo.answer(each) for each in among]
    wants = {number: want_of(each, ground) for number, each in enumerate(among) if answers[number] is None}
    for number, want in wants.items():
        started = start_now(want, ground)
        if started is not None:
            return _better(among[:number], started, until_ms, ground) or started
    tried: list[Obstacle] = []
    for number, answer in enumerate(answers):
        found = after_stops(wants[number], ground) if answer is None else answer
        if isinstance(found, AfterStops):
            return _better(among[:number], found, until_ms, ground) or found
        tried.append(found)
    return tried[_earliest(among, ground.would_start_ms) or 0]


def _better(
    preferred: Sequence[WaitingJob], placed: Placement, until_ms: int, ground: Ground
) -> Placement | Blocked | None:
    """The job on a better alternative, if it is proven that it starts on that in time.

    Args:
        preferred: the job on each alternative that it prefers to the one that it could have now.
        placed: the job on that one.
        until_ms: until when it waits for a better one, ms.
        ground: what it is placed on.
    """
    # No start is proven to be earlier than now, and to look for one takes time.
    if not preferred or ground.now_ms >= until_ms:
        return None

    def in_time(job: WaitingJob) -> int | None:
        start_ms = ground.would_start_ms(job)
        return start_ms if start_ms is not None and start_ms <= until_ms else None

    # While it can start at once, nothing is stopped for it. Nor for one on which it would not start then, but wait.
    patient = [replace(each, preempts=False) for each in preferred]
    number = _earliest(patient, in_time)
    if number is None:
        return None
    better = patient[number]
    if isinstance(placed, AfterStops) or in_time(better) == ground.now_ms:
        # A start now needs a warm pool to be gone first, which the placement releases.
        return try_on(better, ground)
    need = positive(ground.capacity.charged(better))
    return WaitsForBetter(job=better, need=need, instead_of=placed.want.job, until_ms=until_ms)


def _earliest(among: Sequence[WaitingJob], start_ms: Callable[[WaitingJob], int | None]) -> int | None:
    known = [(at_ms, number) for number, each in enumerate(among) if (at_ms := start_ms(each)) is not None]
    return min(known)[1] if known else None
