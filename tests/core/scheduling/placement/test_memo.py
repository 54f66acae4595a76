"""What a decision knows of a job without trying it, and what it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.policy import Ageing, Order, Policy, Team
from headway.scheduling.limits import Limits
from headway.scheduling.placement import commit
from headway.scheduling.placement.kinds import kind_of
from headway.scheduling.placement.obstacles import AtLimit, Behind, Lacking, Obstacle, WouldDelay
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.placement.placements import Placement, StartNow
from headway.scheduling.placement.trying import try_on
from tests.core.builders import G5, NOW_MS, P5, changed, held, job, reserved, snapshot, warm

HEAD = job("head", 5, count=2)
LATER = {600: 0, 900: 2}
LIMITED = Policy(teams={"red": Team(limit={P5: 1})})


def answered(*parts: Any, **more: Any) -> Obstacle | None:
    """The answer for the last waiting job, when a start is reserved for the first one."""
    queue = snapshot(*parts, **more)
    state = PassState(queue, explain=False)
    found = try_on(queue.waiting[0], state.ground)
    assert not isinstance(found, Placement)
    state.memo.note(found)
    commit.keep_waiting(found, state)
    return state.memo.answer(queue.waiting[-1])


@pytest.mark.parametrize(
    ("parts", "more", "found"),
    [
        ((held("x", 9), held("y", 9), HEAD, job("j", 5)), {}, Behind),
        ((held("x", 9), held("y", 9), HEAD, job("j", 4)), {}, Behind),
        ((held("x", 9), HEAD, job("j", 5)), {}, WouldDelay),
        ((held("x", 9, ends_in_s=60), HEAD, job("j", 5, limit_s=60)), {}, None),
        ((held("x", 9, stopping=True), held("y", 9), HEAD, job("j", 5)), {}, None),
        ((held("x", 9), HEAD, replace(job("j", 5), not_before_ms=NOW_MS + 1)), {}, None),
        ((held("x", 9), HEAD, replace(job("j", 5), not_before_ms=NOW_MS)), {}, WouldDelay),
        ((held("x", 9), held("y", 9), HEAD, job("j", 5, count=3)), {}, None),
        ((held("x", 9), warm("w", key="k"), held("y", 9), HEAD, job("j", 5, warm_key="k")), {"size": 3}, None),
        ((held("x", 9, team="red"), HEAD, job("j", 5, team="red")), {"policy": LIMITED}, None),
        ((held("x", 9), HEAD, job("j", 5, limit_s=601)), {"sizes": LATER}, None),
        ((held("x", 9), HEAD, job("j", 5, limit_s=600)), {"sizes": LATER}, WouldDelay),
        ((held("x", 9), HEAD, job("j", 5, limit_s=9000)), {"sizes": LATER, "size": 2}, None),
    ],
)  # fmt: skip
def test_an_answer_is_given_where_it_is_sure(
    parts: tuple[Any, ...], more: dict[str, Any], found: type[object] | None
) -> None:
    answer = answered(*parts, **more)
    assert (None if answer is None else type(answer)) is found


@pytest.mark.parametrize(
    ("hours", "entered", "found"),
    [(1, 2000, Behind), (4, 2000, Behind), (1, 2001, Behind), (0, 2000, None), (1, 1999, None)],
    ids=["as much", "more", "later", "less", "sooner"],
)
def test_what_did_not_help_a_job_among_equals_helps_none_of_a_higher_level_or_a_later_turn(
    hours: int, entered: int, found: type[object] | None
) -> None:
    running = changed(held("x", 5, since=NOW_MS, entered=9000, checkpoints=True), attained_ms=8 * 3_600_000)
    head, other = (
        changed(job(name, 5, count=2, entered=turn), attained_ms=attained * 3_600_000)
        for name, turn, attained in (("head", 2000, 1), ("j", entered, hours))
    )
    answer = answered(held("y", 9), running, head, other, policy=Policy(order=Order.SHARED))
    assert (None if answer is None else type(answer)) is found


def test_no_answer_is_given_to_the_first_job_of_a_combination() -> None:
    queue = snapshot(held("x", 9), job("j", 5), size=1)
    assert PassState(queue, explain=False).memo.answer(queue.waiting[0]) is None


def test_no_answer_is_given_while_something_is_promised_to_anybody() -> None:
    assert answered(held("x", 9), HEAD, job("low", 1), reserved("low"), job("j", 5), size=2) is None


def test_a_job_that_could_preempt_is_tried() -> None:
    assert answered(held("x", 9), held("y", 1), HEAD, job("j", 7), size=2) is None


def test_what_is_known_of_jobs_alike_is_forgotten_when_something_is_released() -> None:
    queue = snapshot(held("x", 1, preemptible=False), held("y", 9), HEAD, job("j", 5, count=2), size=2)
    state = PassState(queue, explain=False)
    found = try_on(queue.waiting[0], state.ground)
    assert not isinstance(found, Placement)
    state.memo.note(found)
    commit.keep_waiting(found, state)
    assert isinstance(state.memo.answer(queue.waiting[1]), Behind)
    state.memo.forget()
    assert state.memo.answer(queue.waiting[1]) is None


@pytest.mark.parametrize(("sizes", "is_answered"), [({}, True), ({900: 2}, False)])
def test_a_job_alike_that_waits_as_its_victims_would_delay_another_one_is_told_so_where_sizes_stay(
    sizes: dict[int, int], is_answered: bool
) -> None:
    """`head` waits for all that `x` holds, and for `y` until it ends; `first` could stop only `y`.

    Behind a change of size, `j` may outlast it where `first` does not.
    """
    line = (job("head", 4, count=3), job("first", 3, limit_s=60), job("j", 3, entered=1, limit_s=850))
    queue = snapshot(held("x", 9, count=2), held("y", 1), *line, size=3, sizes=sizes)
    state = PassState(queue, explain=False)
    for each in queue.waiting[:2]:
        found = try_on(each, state.ground)
        assert isinstance(found, Lacking | WouldDelay)
        state.memo.note(found)
        commit.keep_waiting(found, state)
    answer = state.memo.answer(queue.waiting[2])
    assert isinstance(answer, WouldDelay) is is_answered
    if isinstance(answer, WouldDelay):
        assert (answer.head.job.name, answer.is_after_stops) == ("head", True)


def test_jobs_are_alike_whose_requests_name_the_same_pools_in_another_order() -> None:
    one, other = (replace(job("j"), demand=dict(pools)) for pools in ([(P5, 1), (G5, 2)], [(G5, 2), (P5, 1)]))
    limits = Limits(snapshot(one))
    assert kind_of(one, limits) == kind_of(other, limits)
    assert kind_of(one, limits) != kind_of(replace(one, demand={P5: 2, G5: 1}), limits)


def test_nothing_is_learnt_from_a_job_that_may_start_warm_as_its_victims_are_others() -> None:
    queue = snapshot(held("x", 9), held("y"), warm("w", key="k"), HEAD, job("j", 5), size=3)
    for warm_key, learnt in (("", True), ("k", False)):
        state = PassState(queue, explain=False)
        tried = job("tried", 5, warm_key=warm_key)
        state.memo.note(Lacking(job=tried, need={P5: 1}, lacking={P5: 1}))
        assert bool(state.memo._stuck) is learnt


def test_a_team_at_its_limit_is_told_so_once_a_start_is_reserved_for_it() -> None:
    first = job("first", 5, team="red")
    queue = snapshot(held("x", 9, team="red"), HEAD, first, job("j", 5, team="red", entered=1), size=2, policy=LIMITED)
    state = PassState(queue, explain=False)
    for each in queue.waiting[:2]:
        found = try_on(each, state.ground)
        assert not isinstance(found, Placement)
        state.memo.note(found)
        commit.keep_waiting(found, state)
    assert isinstance(state.memo.answer(queue.waiting[2]), AtLimit)


@pytest.mark.parametrize(
    ("parts", "more", "spent"),
    [
        ((held("x", 5),), {"size": 1}, True),
        ((held("x", 5),), {"size": 2}, False),
        ((held("x", 0),), {"size": 1}, False),
        ((held("x", 5),), {"size": 1, "policy": Policy(ageing=Ageing(interval_ms=1, cap=1))}, False),
        ((held("x", 5),), {"size": 1, "policy": Policy(teams={"red": Team()})}, False),
    ],
)
def test_a_queue_is_spent_when_nothing_is_free_and_nobody_is_outranked(
    parts: tuple[Any, ...], more: dict[str, Any], *, spent: bool
) -> None:
    queue = snapshot(*parts, job("j", 5), **more)
    assert PassState(queue, explain=False).memo.is_spent(queue.waiting[0]) is spent


def test_a_job_alike_that_finds_nothing_free_any_more_waits_behind_the_first_one() -> None:
    """`first` would delay `head`, on what was free until `short` started."""
    line = (HEAD, job("first", 4), job("short", 3, limit_s=600), job("j", 4, entered=1))
    queue = snapshot(held("x", 9, ends_in_s=600), *line)
    state = PassState(queue, explain=False)
    found = []
    for each in queue.waiting[:3]:
        tried = try_on(each, state.ground)
        state.memo.note(tried)
        found.append(type(tried))
        if isinstance(tried, Placement):
            commit.grant(tried, state)
        else:
            commit.keep_waiting(tried, state)
    assert found == [Lacking, WouldDelay, StartNow]
    assert isinstance(state.memo.answer(queue.waiting[3]), Behind)


@pytest.mark.parametrize(
    ("limit_s", "found"),
    [(7200, WouldDelay), (7201, WouldDelay), (None, WouldDelay), (7199, type(None))],
    ids=["as long", "longer", "for ever", "shorter"],
)
def test_what_did_not_help_before_a_reserved_start_may_help_a_job_with_a_shorter_limit(
    limit_s: int | None, found: type[object]
) -> None:
    in_gap = replace(held("filler", 5, checkpoints=True), opportunistic=True)
    tried, other = job("tried", 5, entered=1, limit_s=7200), job("other", 5, entered=2, limit_s=limit_s)
    head = replace(HEAD, terms=replace(HEAD.terms, limit_ms=1000))
    state = PassState(snapshot(held("x", 9, ends_in_s=3600), in_gap, head, tried, other), explain=False)
    for each in (head, tried):
        obstacle = try_on(each, state.ground)
        assert isinstance(obstacle, Lacking | WouldDelay)
        state.memo.note(obstacle)
        commit.keep_waiting(obstacle, state)
    assert isinstance(state.memo.answer(other), found)


def test_what_did_not_help_a_job_that_lacks_instances_helps_none_with_a_shorter_limit() -> None:
    running = (held("x", 9), held("y", 9), replace(held("z", 5, pool=G5), opportunistic=True))
    tried, other = job("tried", 5, count=2, limit_s=7200), job("other", 5, count=2, entered=2, limit_s=1)
    state = PassState(snapshot(*running, HEAD, tried, other, pools={P5: 2, G5: 1}), explain=False)
    for each in (HEAD, tried):
        obstacle = try_on(each, state.ground)
        assert isinstance(obstacle, Lacking)
        state.memo.note(obstacle)
        commit.keep_waiting(obstacle, state)
    assert isinstance(state.memo.answer(other), Behind)
