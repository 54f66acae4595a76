"""How many instances of a pool jobs could get."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.model import Allocation
from headway.policy import Order, Policy, Team
from headway.scheduling.equals.current import current_turn_ms
from headway.scheduling.reach.attainable import Attainable
from tests.core.builders import G5, NOW_MS, P5, changed, held, job, snapshot

GUARANTEED = Policy(teams={"a": Team(guaranteed={P5: 2}, max_priority=5)})


@pytest.mark.parametrize(
    ("parts", "more", "priority", "count"),
    [
        ((), {}, 0, 4),
        ((held("x", 3),), {}, 3, 3),
        ((held("x", 3),), {}, 4, 4),
        ((held("x", 3, stopping=True),), {}, 0, 4),
        ((held("x", 3, pool=G5),), {}, 0, 4),
        # By priority only: it may be preemptible at another moment.
        ((held("x", 3, preemptible=False),), {}, 4, 4),
        ((held("x", 3),), {"policy": Policy(preemption=False)}, 9, 3),
        ((held("x", 3, count=4),), {"policy": GUARANTEED}, 0, 2),
        ((held("x", 3, count=1),), {"policy": GUARANTEED}, 0, 4),
        ((held("x", 5, count=4),), {"policy": GUARANTEED}, 9, 2),
    ],
)
def test_a_job_could_get_all_but_what_it_cannot_preempt(
    parts: tuple[Any, ...], more: dict[str, Any], priority: int, count: int
) -> None:
    assert Attainable(P5, snapshot(*parts, pools={P5: 4, G5: 4}, **more)).of(priority, "a") == count


def test_attempts_of_one_priority_protect_all_their_instances() -> None:
    shot = snapshot(held("x", 3), held("y", 3, count=2), size=4)
    assert Attainable(P5, shot).of(3, "") == 1


SHARED = Policy(order=Order.SHARED)
HOUR_MS = 3_600_000


def sharing(name: str, entered: int, *, count: int = 1, team: str = "", hours: float = 1) -> Allocation:
    """An attempt of priority 5 that gives way to equals with an earlier turn and a lower level."""
    attempt = held(name, 5, count=count, since=NOW_MS, entered=entered, team=team)
    return changed(attempt, attained_ms=int(hours * HOUR_MS), max_handicap_ms=0, checkpoints=True)


FIRST, SECOND = sharing("first", 1000, count=2), sharing("second", 2000)


@pytest.mark.parametrize(("turn_ms", "count"), [(0, 4), (999, 4), (1000, 2), (1999, 2), (2000, 1), (5000, 1)])
def test_a_job_could_also_get_what_equals_with_later_turns_hold(turn_ms: int, count: int) -> None:
    shot = snapshot(FIRST, SECOND, size=4, policy=SHARED)
    assert [current_turn_ms(each, NOW_MS) for each in (FIRST, SECOND)] == [1000, 2000]
    assert Attainable(P5, shot).of(5, "", turn_ms) == count


@pytest.mark.parametrize(
    ("policy", "priority", "count"),
    [
        (SHARED, 5, 3),
        (SHARED, 4, 1),
        (replace(SHARED, preemption=False), 5, 1),
        (replace(SHARED, teams={"a": Team(), "b": Team()}), 5, 2),
    ],
    ids=["equals", "others", "no preemption", "of the same team only"],
)
def test_equals_give_way_to_their_equals_only(policy: Policy, priority: int, count: int) -> None:
    # Without a turn all of them count, of which the first possible turn is 1.
    attempts = sharing("x", 1, team="a"), sharing("y", 1, team="b")
    shot = snapshot(*attempts, size=3, policy=policy)
    assert Attainable(P5, shot).of(priority, "a") == count


@pytest.mark.parametrize(
    ("size", "hours", "attained_ms", "fills"),
    [
        (2, 1, 4 * HOUR_MS, True),
        (1, 1, 0, True),
        (1, 1, HOUR_MS, False),
        (1, 3, HOUR_MS, True),
        (1, 1, None, False),
    ],
    ids=["a free instance", "a lower level", "the same level", "the level below", "another order"],
)
def test_a_job_that_preempts_no_equal_leaves_their_instances_to_those_behind_it(
    size: int, hours: float, attained_ms: int | None, fills: bool
) -> None:
    waiting = changed(job("w", 5), attained_ms=attained_ms)
    shot = snapshot(sharing("x", 1000, hours=hours), waiting, size=size, policy=SHARED)
    assert Attainable(P5, shot).may_fill(waiting) is fills
