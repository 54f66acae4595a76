"""What a team's guarantee covers decides both rank and the right to reclaim, so nothing is stopped in vain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.model import Allocation, Reservation, Snapshot, WaitingJob
from headway.plan import Preempt
from headway.policy import Ageing, Policy, Team
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from tests.core.builders import G5, NOW_MS, P5, held, job, preemptions, reserved, snapshot, starts
from tests.core.strategies import World

Parts = tuple[WaitingJob | Allocation | Reservation, ...]

RED_2 = Policy(teams={"red": Team(guaranteed={P5: 2}), "blue": Team()}, max_preemptions=1000)
HALF_DAY_S = 43_200


def played(start: Snapshot) -> tuple[list[tuple[str, str]], World]:
    """The preemptions until nothing is left to decide, and the state then."""
    world = World.of(start)
    stopped: list[tuple[str, str]] = []
    for _ in range(50):
        plan = schedule(world.snapshot())
        check_plan(world.snapshot(), plan)
        if not plan.actions and not any(a.stopping for a in world.held.values()):
            return stopped, world
        stopped += [(a.job, a.for_job) for a in plan.actions if isinstance(a, Preempt)]
        world.apply(plan)
        world.end_all_stopping()
    raise AssertionError(f"does not come to rest: {stopped}")


EXAMPLE: Parts = (
    held("r0", 2, count=4, team="blue", ends_in_s=HALF_DAY_S),
    job("w0", 1, count=3, team="red", entered=NOW_MS),
    job("w1", 0, count=1, team="red", entered=NOW_MS),
)
"""Red is guaranteed 2 of 4. `w0` borrows, so the job that runs ranks before it; `w1` is covered."""


def test_instances_reclaimed_for_a_covered_job_are_not_taken_back() -> None:
    stopped, world = played(snapshot(*EXAMPLE, size=4, policy=RED_2))
    assert stopped == [("r0", "w1")]
    assert sorted(world.held) == ["w1"]
    assert sorted(world.waiting) == ["r0", "w0"]


def test_a_passed_job_starts_when_the_attempts_that_rank_before_it_have_ended() -> None:
    _, world = played(snapshot(*EXAMPLE, size=4, policy=RED_2))
    world.end("w1")
    _, world = played(world.snapshot())
    assert sorted(world.held) == ["r0"]
    world.end("r0")
    assert starts(schedule(world.snapshot())) == ["w0"]


VARIANTS: list[tuple[str, Parts, Policy, int]] = [
    (
        "who is passed needs a second pool that is not guaranteed",
        (EXAMPLE[0], job("w0", 1, count=2, team="red", entered=NOW_MS, ml_g5_xlarge=1), EXAMPLE[2]),
        RED_2,
        1,
    ),
    (
        "nothing runs and all priorities are equal",
        (
            job("r0", 0, count=4, team="blue", entered=0, limit_s=HALF_DAY_S),
            job("w0", 0, count=3, team="red", entered=1),
            job("w1", 0, count=1, team="red", entered=2),
        ),
        RED_2,
        0,
    ),
    ("ageing", EXAMPLE, replace(RED_2, ageing=Ageing(interval_ms=100_000, cap=2)), 1),
]


@pytest.mark.parametrize(("parts", "policy", "stops"), [row[1:] for row in VARIANTS], ids=[row[0] for row in VARIANTS])
def test_a_covered_job_starts_and_nothing_is_stopped_twice(parts: Parts, policy: Policy, stops: int) -> None:
    stopped, world = played(snapshot(*parts, pools={P5: 4, G5: 1}, policy=policy))
    assert "w1" in world.held
    assert len(stopped) == stops


def test_a_covered_job_is_not_stopped_for_a_job_of_its_own_team_that_is_not() -> None:
    """Otherwise it would rank before that job, once it waits again, and take its instances back."""
    parts = (held("w1", 0, team="red"), job("w0", 9, count=3, team="red"))
    assert preemptions(schedule(snapshot(*parts, size=3, policy=RED_2))) == []


def test_a_borrowing_attempt_is_stopped_for_a_job_of_higher_priority_of_its_team() -> None:
    running = [held(f"x{i}", 0, team="red") for i in range(4)]
    two, three = (job("w0", 9, count=count, team="red") for count in (2, 3))
    assert len(preemptions(schedule(snapshot(*running, two, size=4, policy=RED_2)))) == 2
    assert preemptions(schedule(snapshot(*running, three, size=4, policy=RED_2))) == []


def test_a_job_is_covered_if_those_that_are_stopped_for_it_leave_room_in_the_guarantee() -> None:
    parts = (held("x", 0, count=2, team="red"), job("w", 9, count=2, team="red"))
    stopped, world = played(snapshot(*parts, size=2, policy=RED_2))
    assert stopped == [("x", "w")]
    assert sorted(world.held) == ["w"]


def test_a_covered_jobs_reservation_is_kept_though_its_team_borrows_meanwhile() -> None:
    """`x` and `y` start on free instances while `r` stops for `w`, so red holds more than its guarantee with `w`."""
    policy = Policy(teams={"red": Team(guaranteed={P5: 2, G5: 2}), "blue": Team()})
    parts = (
        held("r", 9, count=2, pool=G5, team="blue"),
        job("w", 1, count=2, pool=G5, team="red", ml_p5_48xlarge=1),
        job("x", 0, team="red"),
        job("y", 0, team="red"),
    )
    stopped, world = played(snapshot(*parts, pools={P5: 3, G5: 2}, policy=policy))
    assert stopped == [("r", "w")]
    assert sorted(world.held) == ["w", "x", "y"]


def test_a_job_whose_guarantee_goes_to_one_of_higher_priority_reclaims_nothing() -> None:
    parts = (
        held("b0", 9, count=2, team="blue"),
        held("b1", 9, team="blue", freed_for="w"),
        job("w", 0, count=2, team="red"),
        job("k", 5, count=2, team="red"),
    )
    plan = schedule(snapshot(*parts, size=5, policy=RED_2))
    assert starts(plan) == ["k"]
    assert preemptions(plan) == []


def test_reserved_instances_count_as_use_of_their_team() -> None:
    policy = Policy(teams={"a": Team(), "b": Team()})
    parts = (
        held("x", 9, count=2, ends_in_s=600),
        reserved("a0", 1, pool=G5),
        job("a0", 0, count=3, team="a", ml_g5_xlarge=1),
        job("a1", 0, team="a", entered=1, limit_s=60),
        job("b1", 0, team="b", entered=2, limit_s=60),
    )
    assert starts(schedule(snapshot(*parts, pools={P5: 3, G5: 2}, policy=policy))) == ["b1"]


def test_a_job_is_no_longer_covered_once_others_of_its_team_have_used_the_guarantee_up() -> None:
    policy = Policy(teams={"red": Team(guaranteed={P5: 1}), "blue": Team()})
    parts = (job("r0", 0, team="red", entered=0), job("r1", 0, team="red", entered=1), job("b", 5, team="blue"))
    assert starts(schedule(snapshot(*parts, size=2, policy=policy))) == ["r0", "b"]


def test_a_job_is_covered_once_its_team_has_freed_instances() -> None:
    """`j` stops `x`, which borrows G5, and thereby frees red's guaranteed P5."""
    policy = Policy(teams={"red": Team(guaranteed={P5: 1}), "blue": Team()})
    both = replace(held("x", 0, team="red"), demand={P5: 1, G5: 1})
    parts = (both, job("j", 9, pool=G5, team="red"), job("k", 0, team="red"), job("b", 5, team="blue"))
    plan = schedule(snapshot(*parts, pools={P5: 1, G5: 1}, policy=policy))
    assert preemptions(plan) == [("x", "j")]
    assert [hold.job for hold in plan.waits] == ["j", "k", "b"]


def test_a_job_is_covered_once_another_reservation_of_its_team_is_taken_over() -> None:
    policy = Policy(teams={"red": Team(guaranteed={P5: 1}), "blue": Team()})
    parts = (
        held("x", 9, team="blue"),
        reserved("j", 1),
        job("j", 1, count=3, team="red"),
        job("k", 0, team="red"),
        job("b", 9, team="blue"),
        job("c", 5, team="blue"),
    )
    plan = schedule(snapshot(*parts, size=3, policy=policy))
    assert starts(plan) == ["b", "c"]
    assert preemptions(plan) == [("x", "k")]
    assert [hold.job for hold in plan.waits] == ["k", "j"]


def test_a_reserved_start_does_not_count_on_a_covered_attempt_of_the_same_team() -> None:
    parts = (held("w1", 0, team="red", ends_in_s=600), job("w0", 9, count=3, team="red"))
    (hold,) = schedule(snapshot(*parts, size=3, policy=RED_2)).waits
    assert hold.start_by_ms == NOW_MS + 600_000


def test_the_reservation_of_a_borrowing_job_counts_as_use_of_its_team() -> None:
    """Once `y` has stopped, red holds nothing: a small job would be covered, and pass `w`."""
    parts = (
        held("y", 0, count=3, team="red", freed_for="w"),
        job("w", 5, count=3, team="red"),
        job("k", 0, count=1, team="red"),
    )
    now = snapshot(*parts, size=3, policy=RED_2)
    assert not schedule(now).actions
    after = snapshot(reserved("w", 3), *parts[1:], size=3, policy=RED_2)
    assert starts(schedule(after)) == ["w"]


def test_an_attempt_that_would_rank_first_by_ageing_is_not_stopped() -> None:
    """`old` started at once, so it has gained no priority, but its place in the queue protects it."""
    policy = Policy(ageing=Ageing(interval_ms=100_000, cap=3))
    old = held("old", 1, since=0, entered=0)
    assert preemptions(schedule(snapshot(old, job("new", 2, entered=NOW_MS), size=1, policy=policy))) == []
    assert preemptions(schedule(snapshot(old, job("new", 5, entered=NOW_MS), size=1, policy=policy))) == [
        ("old", "new")
    ]


def test_decisions_on_a_guarantee_and_the_reservations_of_others_come_to_rest() -> None:
    """Two attempts stop for others, and `w` needs all of the guarantee and one of a pool that the others wait for."""
    policy = Policy(teams={"red": Team(guaranteed={P5: 2}), "blue": Team()}, max_preemptions=1000)
    parts = (
        held("r0", 1, pool=P5, count=1, team="blue", freed_for="w0"),
        held("r1", 0, pool=G5, count=1, team="blue", freed_for="w1"),
        held("r2", 3, pool=P5, count=1, team="blue"),
        job("w", 0, count=2, team="red", ml_g5_xlarge=1),
        job("w0", 2, count=1, team="blue"),
        job("w1", 2, count=1, pool=G5, team="blue"),
    )
    _, world = played(snapshot(*parts, pools={P5: 2, G5: 1}, policy=policy))
    assert len(world.held) >= 2


LIMITS = [("within the time that a stop takes", 120, False), ("later", 121, True), ("before now", -1, True)]


@pytest.mark.parametrize(("ends_in_s", "stopped"), [row[1:] for row in LIMITS], ids=[row[0] for row in LIMITS])
def test_an_attempt_in_the_last_two_minutes_of_its_limit_is_not_stopped(ends_in_s: int, stopped: bool) -> None:
    plan = schedule(snapshot(held("x", 0, ends_in_s=ends_in_s), job("w", 9), size=1))
    assert preemptions(plan) == ([("x", "w")] if stopped else [])
    if not stopped:
        (hold,) = plan.waits
        assert hold.start_by_ms == NOW_MS + ends_in_s * 1000
        assert "ends no later than a stop would end it" in hold.sentence
