"""How far a decision has to see into each queue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from headway.model import Allocation, Alternative, Pause, WaitingJob
from headway.policy import Order, Policy, Team
from headway.scheduling.reach.front import Front, fronts
from tests.core.builders import G5, NOW_MS, P5, changed, held, job, snapshot, warm

NO_WINDOW = Policy(backfill_window=0)
TEAMS = Policy(backfill_window=0, teams={"a": Team(guaranteed={P5: 2}), "b": Team()})


def front(*parts: Any, team: str = "", heads: int = 0, passing: Any = None, paused: str = "", **more: Any) -> Front:
    """The front of the queue of a team in the P5 pool, without jobs so far."""
    pauses = {paused: Pause(by="", reason="", since_ms=0)} if paused else {}
    queue = replace(snapshot(*parts, **more), pauses=pauses)
    found = fronts(queue, sorted({team, *queue.policy.teams}), heads=heads, passing=passing)
    return next(each for each in found if (each.bounds.pool, each.bounds.team) == (P5, team))


def read(of: Front, jobs: Iterable[WaitingJob]) -> list[str]:
    """The jobs that a front takes until it is settled, by name."""
    for each in jobs:
        of.add(each)
        if of.is_complete:
            break
    return [each.name for each in of.jobs]


def many(**more: Any) -> list[WaitingJob]:
    return [job(f"j{number}", **more) for number in range(20)]


@pytest.mark.parametrize(
    ("parts", "more", "count"),
    [
        ((), {"size": 3}, 4),
        ((held("x"),), {"size": 3}, 3),
        ((held("x", 9, count=2),), {"size": 3}, 2),
        ((held("x", 9, count=3),), {"size": 3}, 1),
        ((), {"size": 3, "heads": 7}, 7),
        ((), {"size": 3, "policy": Policy(backfill_window=5)}, 3 + 1 + 5),
        ((held("x", 9, count=3),), {"size": 3, "policy": Policy(backfill_window=5)}, 1),
        ((held("x", 9, count=3),), {"size": 3, "policy": Policy(backfill_window=5, reserved_heads=3)}, 3),
        ((held("x", 9, pool=G5),), {"pools": {P5: 1, G5: 1}, "policy": Policy(backfill_window=4)}, 1 + 1 + 4 // 2),
        ((), {"size": 3, "policy": Policy(backfill=False, backfill_window=5)}, 4),
        ((warm("w", count=3),), {"size": 3, "policy": Policy(backfill_window=5)}, 3 + 1 + 5),
        ((), {"size": 3, "policy": Policy(backfill_window=5), "passing": {G5}}, 4),
        ((), {"size": 3, "policy": Policy(backfill_window=5), "passing": {P5}}, 3 + 1 + 5),
    ],
)
def test_a_front_has_the_jobs_that_could_get_instances_one_more_and_a_share_of_the_window(
    parts: tuple[Any, ...], more: dict[str, Any], count: int
) -> None:
    of = front(*parts, **({"policy": NO_WINDOW} | more))
    assert len(read(of, many())) == count
    assert of.is_complete


def test_all_queues_share_the_window() -> None:
    policy = Policy(backfill_window=10, teams={"a": Team(), "b": Team()})
    parts: dict[str, Any] = {"policy": policy, "pools": {P5: 1, G5: 1}}
    # Two pools and three teams, one of which is of jobs without any.
    assert len(read(front(**parts), many())) == 1 + 1 + 2


def test_without_pools_there_are_no_fronts() -> None:
    assert not list(fronts(replace(snapshot(), pools={}), [""], heads=0, passing=None))


@pytest.mark.parametrize(("entered", "count"), [(999, 2), (1000, 1)])
def test_attempts_that_give_way_to_equals_count_for_jobs_whose_turns_come_before_theirs(
    entered: int, count: int
) -> None:
    runs = changed(held("x", 5, since=NOW_MS, entered=1000, checkpoints=True), attained_ms=3_600_000, max_handicap_ms=0)
    line = [changed(each, attained_ms=0) for each in many(priority=5, entered=entered)]
    policy = replace(NO_WINDOW, order=Order.SHARED)
    assert len(read(front(runs, policy=policy, size=1), line)) == count


@pytest.mark.parametrize(
    "hidden",
    [
        many(count=4),
        many(ml_g5_xlarge=1),
        [replace(each, preempts=False) for each in many()],
        [replace(each, alternatives=(Alternative(demand={G5: 1}),)) for each in many()],
    ],
    ids=["too large", "a pool that is paused", "preempts nobody", "may start elsewhere"],
)
def test_jobs_that_leave_instances_to_those_behind_them_hide_none(hidden: list[WaitingJob]) -> None:
    of = front(policy=NO_WINDOW, pools={P5: 3, G5: 9}, paused=G5)
    assert "behind" in read(of, [*hidden, job("behind")])


def test_a_job_that_fits_only_after_a_change_of_size_counts() -> None:
    line = [job("wide", count=4), job("next"), job("last")]
    assert read(front(policy=NO_WINDOW, size=1), line) == ["wide", "next", "last"]
    assert read(front(policy=NO_WINDOW, size=1, sizes={60: 4}), line) == ["wide"]


def test_in_a_paused_pool_only_the_heads_are_needed() -> None:
    of = front(policy=NO_WINDOW, size=3, heads=2, paused=P5)
    assert (of.is_closed, of.heads) == (True, 2)
    assert not front(policy=NO_WINDOW, size=3).is_closed


def test_jobs_that_would_borrow_do_not_hide_those_that_the_guarantee_covers() -> None:
    of = front(held("x", 9, count=2, team="b"), team="a", policy=TEAMS, size=4)
    wide = [job(f"wide{number}", 5, count=3, team="a") for number in range(9)]
    small = [job(f"small{number}", 1, team="a") for number in range(9)]
    # Two instances of the guarantee are not held: two small ones get them, and one more.
    assert read(of, [*wide, *small]) == ["wide0", "wide1", "small0", "small1", "small2"]
    assert of.only_covered


def small(name: str, count: int = 1, **more: Any) -> WaitingJob:
    """A job of the team that its guarantee may cover."""
    return job(name, 1, count=count, team="a", **more)


@pytest.mark.parametrize(
    ("guaranteed", "line", "names"),
    [
        ({P5: 1}, [small("a"), small("b"), small("c")], "ab"),
        # One that the rest does not cover after those ahead of it takes none of it from those behind it.
        ({P5: 2}, [small("a"), small("b", 2), small("c"), small("d")], "abc"),
        # Nor does one take of pools that it does not demand.
        ({P5: 2, G5: 1}, [small("a"), small("b", ml_g5_xlarge=1), small("c", 2), small("d")], "abc"),
    ],
)
def test_of_jobs_that_the_guarantee_covers_there_are_those_that_could_get_all_of_it_and_one_more(
    guaranteed: dict[str, int], line: list[WaitingJob], names: str
) -> None:
    policy = replace(NO_WINDOW, teams={"a": Team(guaranteed=guaranteed)})
    of = front(held("x", 9, count=2), team="a", policy=policy, pools={P5: 4, G5: 1})
    wide = [job(f"wide{number}", 5, count=3, team="a") for number in range(3)]
    assert read(of, [*wide, *line]) == ["wide0", "wide1", *names]
    assert of.is_complete


@pytest.mark.parametrize(
    ("holds", "ends"),
    [
        (held("x", 9, count=2, team="a"), True),
        (held("x", 9, count=2, team="b"), False),
        (held("x", 9, count=2, team="a", stopping=True), False),
        (warm("x", count=2, team="a"), False),
    ],
    ids=["the team", "another team", "an attempt that stops", "a warm pool"],
)
def test_a_team_that_holds_all_of_its_guarantee_gets_no_jobs_behind_those_that_would_borrow(
    holds: Allocation, *, ends: bool
) -> None:
    of = front(holds, team="a", policy=TEAMS, size=4)
    assert read(of, [job(f"wide{number}", 5, count=3, team="a") for number in range(9)]) == ["wide0", "wide1"]
    assert of.is_complete is ends


@pytest.mark.parametrize(
    ("parts", "more", "expected"),
    [
        ((), {"size": 3}, 4),
        ((), {"size": 102}, (102 + 1) // 4),
        ((held("x", count=60),), {"size": 102}, (42 + 1) // 4),
        ((), {"size": 102, "policy": Policy(backfill_window=20)}, (102 + 1 + 20) // 4),
        ((), {"size": 20}, 8),
        ((), {"size": 3, "heads": 50}, 50),
    ],
)
def test_as_many_jobs_are_expected_as_are_enough_of_most_queues(
    parts: tuple[Any, ...], more: dict[str, Any], expected: int
) -> None:
    assert front(*parts, **({"policy": NO_WINDOW} | more)).expected == expected
