"""What decisions say is true: some of what `make truths` checks, and that it notices what is false."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random

import pytest

from headway.model import Alternative
from headway.scheduling.placement import hints, preferences, trying
from headway.scheduling.placement.ground import Ground
from headway.scheduling.placement.placements import StartNow
from headway.scheduling.scheduler import schedule
from tests.core.builders import G5, P5, held, job, reserved, snapshot, started_on
from tests.core.random_snapshots import random_snapshot
from tests.core.truths import check, faults, hinted_limits_ms, limited

COUNT = 200


@pytest.mark.parametrize("seed", range(3))
def test_what_is_said_of_random_snapshots_is_true(seed: int) -> None:
    wrong, counts = check(100 + seed, range(COUNT))
    assert not wrong
    assert counts["snapshots"] == COUNT


def test_a_hint_names_the_run_time_with_which_the_job_starts() -> None:
    waiting = (job("head", 2, count=2), job("long", limit_s=9000))
    queue = snapshot(held("x", 9, ends_in_s=600), *waiting, size=2)
    assert hinted_limits_ms(schedule(queue)) == {"long": 600_000}
    followed = replace(queue, waiting=(waiting[0], limited(waiting[1], 600_000)))
    assert started_on(schedule(followed)) == {"long": {P5: 1}}


def test_no_hint_is_given_where_another_start_would_be_delayed_all_the_same() -> None:
    """`open` waits for a job without a limit, so what it needs is kept for it from now on."""
    held_by = (held("x", 9, ends_in_s=600), held("y", 9, pool=G5))
    line = (job("head", 3, count=2), job("open", 2, count=1, ml_g5_xlarge=1), job("long", 1, limit_s=9000))
    assert not hinted_limits_ms(schedule(snapshot(*held_by, *line, pools={P5: 2, G5: 1})))


def test_a_hint_that_is_not_tried_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "start_now", lambda want, ground: StartNow(want=want, counted={}))
    assert any(faults(random_snapshot(Random(number)), Random(number))[0] for number in range(400))


def test_a_start_on_a_later_preference_that_could_have_had_an_earlier_one_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    high = replace(job("high", 5, count=2), alternatives=(Alternative(demand={G5: 2}),))
    queue = snapshot(
        held("x", preemptible=False),
        job("low", 1, count=3),
        reserved("low", 2),
        high,
        pools={P5: 3, G5: 2},
    )
    assert started_on(schedule(queue)) == {"high": {P5: 2}}
    assert not faults(queue, Random(0))[0]
    # As if only a job without alternatives took over.
    monkeypatch.setattr(preferences, "start_now", partial(trying.start_now, takes_over=False))
    assert started_on(schedule(queue)) == {"high": {G5: 2}}
    assert faults(queue, Random(0))[0] == ["high could start on what it prefers"]


def test_trying_a_placement_changes_nothing() -> None:
    queue = random_snapshot(Random(7))
    ground = Ground(queue)
    before = (dict(ground.capacity.free), dict(ground.capacity.spare), dict(ground.capacity.reserved))
    for each in queue.waiting:
        ground.would_start_ms(each)
        trying.try_on(each, ground)
    assert (dict(ground.capacity.free), dict(ground.capacity.spare), dict(ground.capacity.reserved)) == before
