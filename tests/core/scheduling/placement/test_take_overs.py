"""What a job may take that is reserved or being freed for jobs of lower rank."""

from __future__ import annotations

import pytest

from headway.scheduling.placement import take_overs
from headway.scheduling.placement.ground import NOTHING, Ground
from tests.core.builders import P5, held, job, reserved, snapshot

LOW, LOWER = (job("low", 2, count=3), reserved("low")), (job("lower", 1, count=3), reserved("lower"))


@pytest.mark.parametrize(
    ("count", "names"),
    [(1, ()), (2, ("lower",)), (3, ("lower", "low")), (4, ())],
    ids=["it fits without", "the last one", "all", "all do not suffice"],
)
def test_a_job_starts_with_as_many_reservations_as_it_needs_or_none(count: int, names: tuple[str, ...]) -> None:
    ground = Ground(snapshot(job("j", 5, count=count), *LOW, *LOWER, size=3))
    found = take_overs.for_start(job("j", 5, count=count), {P5: count}, ground)
    assert found.reservations == names
    assert bool(found) is bool(names)


def test_nothing_is_taken_over_of_nobody() -> None:
    ground = Ground(snapshot(held("x"), reserved("j"), job("j", 5, count=3), size=3))
    assert [*take_overs.before_stops(job("j", 5, count=3), {P5: 2}, ground)] == [NOTHING]
