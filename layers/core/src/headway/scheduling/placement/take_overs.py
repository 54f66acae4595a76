"""What a job may take that is reserved or being freed for jobs of lower rank.

Otherwise two jobs could wait for each other forever, each with a reservation that the other one lacks; or a job of
lower rank would start past this job, and be preempted for it with what was being freed. A job takes over only what lets
it get all that it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from headway.model import Demand, WaitingJob
from headway.scheduling.ordering import rank
from headway.scheduling.placement.ground import NOTHING, Ground, TakeOver
from headway.vectors import minus, overlap, plus, positive, shortfall, total


def for_start(job: WaitingJob, takes: Demand, ground: Ground) -> TakeOver:
    """The reservations with which a job can start at once; nothing if they do not suffice.

    Args:
        takes: what it takes beyond its own reservation.
        ground: what it is placed on.
    """
    lacking, lower = shortfall(takes, ground.capacity.spare), _lower(job, ground)
    if not lacking or shortfall(lacking, _reserved(lower, ground)):
        return NOTHING
    return TakeOver(reservations=_as_many(lower, lacking, lambda each: ground.capacity.reserved_for(each.name)))


def before_stops(job: WaitingJob, takes: Demand, ground: Ground) -> Iterator[TakeOver]:
    """What a job may take over that can start only once attempts have stopped, what it should prefer first.

    It does not take over what stopping attempts free anyway, and what is being freed for others only if reservations
    and victims do not suffice.

    Args:
        takes: what it takes beyond its own reservation.
        ground: what it is placed on.
    """
    capacity, lower = ground.capacity, _lower(job, ground)
    lacking = positive(minus(shortfall(takes, capacity.spare), plus(capacity.freed_for(job), capacity.unclaimed)))
    reservations = _as_many(lower, lacking, lambda each: capacity.reserved_for(each.name))
    yield TakeOver(reservations=reservations)
    beyond = positive(minus(lacking, _reserved(lower, ground)))
    freed = overlap(beyond, total(capacity.freed_for(each) for each in lower))
    if freed:
        names = set(_as_many(lower, freed, capacity.freed_for))
        yield TakeOver(reservations=reservations, earmarks=tuple(each for each in lower if each.name in names))


def _lower(job: WaitingJob, ground: Ground) -> list[WaitingJob]:
    """The jobs of lower rank that something is promised to, the last one first."""
    return sorted((each for each in ground.capacity.owners.values() if each.name != job.name), key=rank, reverse=True)


def _reserved(lower: Sequence[WaitingJob], ground: Ground) -> Demand:
    return total(ground.capacity.reserved_for(each.name) for each in lower)


def _as_many(lower: Sequence[WaitingJob], wanted: Demand, has: Callable[[WaitingJob], Demand]) -> tuple[str, ...]:
    """The first of these jobs that together have what is wanted, of those that have some of it."""
    found: list[str] = []
    for each in lower:
        theirs = has(each)
        if overlap(wanted, theirs):
            wanted = positive(minus(wanted, theirs))
            found.append(each.name)
    return tuple(found)
