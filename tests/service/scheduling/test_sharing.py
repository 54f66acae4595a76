"""The order `shared` over the whole service layer: service is stored, and equals give way by its levels."""

from __future__ import annotations

import pytest

from headway.model import Allocation
from headway_service.store.ledger import read_ledger
from headway_service.store.transitions.job import _standing_after
from tests.service.scheduling.test_equals import HOUR_S, STOPPED, of_an_hour, stored, submit
from tests.service.scheduling.test_teams import configure, world_of
from tests.service.world import P5, World

HOUR_MS = 3_600_000
HELD_MS = 9000
"""For how long the attempt of :func:`of_an_hour` has held its four instances at its end."""


def world_shared() -> World:
    return world_of({}, priority={"order": "shared"})


def running(world: World) -> Allocation:
    (attempt,) = read_ledger(world.table).attempts
    return attempt.allocation()


def test_a_job_that_has_had_little_preempts_an_equal_whose_service_is_stored() -> None:
    world = world_shared()
    submit(world, "first", 20)
    world.tick()
    assert (stored(world, "first").attained_ms, stored(world, "first").handicap_ms) == (0, 0)
    since_ms = running(world).since_ms
    submit(world, "second", 20)
    # Four instances reach the next level after 7.5 minutes.
    world.pass_time(420)
    world.tick()
    assert world.states("first", "second") == {"first": "running", "second": "pending"}
    world.pass_time(40)
    world.tick()
    world.check()
    assert world.states("first", "second") == {"first": "stopping", "second": "pending"}
    asked_ms = world.clock()
    world.pass_time(130)
    world.check()
    assert world.states("first", "second") == {"first": "preempted", "second": "running"}
    first = stored(world, "first")
    assert first.attained_ms is not None
    assert HOUR_MS // 2 <= first.attained_ms <= 4 * (asked_ms - since_ms)
    assert first.handicap_ms == 50 * HOUR_MS
    assert first.queue_entries()[0].waiting().terms.standing.attained_ms == first.attained_ms
    # A later one that has had nothing yet ranks before it.
    submit(world, "third", 20)
    assert [world.seen(name).place for name in ("third", "first")] == [1, 2]


@pytest.mark.parametrize("checkpoints", [True, False])
def test_only_a_job_that_writes_checkpoints_gives_way_to_an_equal(*, checkpoints: bool) -> None:
    world = world_shared()
    submit(world, "first", 20, checkpoints=checkpoints)
    world.tick()
    world.pass_time(600)
    submit(world, "second", 20)
    world.tick()
    assert world.states("first") == {"first": "stopping" if checkpoints else "running"}


@pytest.mark.parametrize(
    ("stopping_since_ms", "launched", "held_ms"),
    # Until its stop; others could not use its instances, even if it was never launched.
    [(None, True, HELD_MS), (8500, True, 7500), (8500, False, 7500), (None, False, HELD_MS)],
)
def test_service_is_the_time_for_which_an_attempt_has_held_its_instances(
    stopping_since_ms: int | None, held_ms: int, *, launched: bool
) -> None:
    _, attempt = of_an_hour(attained_ms=HOUR_MS, max_handicap_ms=1 << 60, left_ms=None)
    attempt = attempt.model_copy(update={"stopping_since_ms": stopping_since_ms})
    after = _standing_after(attempt, STOPPED if launched else None, 2000, 1000 + HELD_MS)
    assert (after.attained_ms, after.handicap_ms) == (HOUR_MS + 4 * held_ms, 50 * HOUR_MS)
    bounded = attempt.model_copy(update={"max_handicap_ms": HOUR_MS})
    assert _standing_after(bounded, STOPPED, 0, 1000 + HELD_MS).handicap_ms == HOUR_MS


@pytest.mark.parametrize("order", ["fifo", "short", "shortest-remaining"])
def test_a_switch_to_the_order_preempts_no_job_and_moves_none(order: str) -> None:
    world = world_of({}, priority={"order": order})
    submit(world, "long", 20)
    world.tick()
    world.pass_time(HOUR_S)
    submit(world, "brief", 19)
    configure(world, {}, priority={"order": "shared"})
    submit(world, "new", 20)
    world.pass_time(300)
    world.tick()
    assert world.states("long", "brief", "new") == {"long": "running", "brief": "pending", "new": "pending"}
    assert (stored(world, "brief").attained_ms, stored(world, "brief").max_handicap_ms) == (None, 0)


def test_a_switch_to_another_order_ends_preemptions_among_equals_and_moves_no_job() -> None:
    world = world_shared()
    submit(world, "first", 20)
    world.tick()
    world.pass_time(HOUR_S)
    configure(world, {}, priority={"order": "fifo"})
    submit(world, "second", 2)
    submit(world, "third", 1)
    world.pass_time(300)
    world.tick()
    assert world.states("first") == {"first": "running"}
    assert [world.seen(name).place for name in ("second", "third")] == [1, 2]


def test_a_bound_on_waiting_is_that_of_the_entry() -> None:
    world = world_of({}, priority={"order": "shared", "waitBound": 7})
    submit(world, "first", 2)
    configure(world, {}, priority={"order": "shared", "waitBound": 9})
    submit(world, "second", 2)
    limit_ms = stored(world, "first").limit_ms or 0
    assert [stored(world, name).max_handicap_ms for name in ("first", "second")] == [7 * limit_ms, 9 * limit_ms]


def test_a_failed_attempt_counts_as_service() -> None:
    _, attempt = of_an_hour(attained_ms=0, max_handicap_ms=1 << 60, left_ms=None)
    attempt = attempt.model_copy(update={"demand": {P5: 8}})
    assert _standing_after(attempt, STOPPED, HELD_MS, 1000 + HELD_MS).attained_ms == 8 * HELD_MS
