"""Members of arrays that are no jobs yet enter a simulated queue as ticks would make them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.forecasting.forecast import Resize, Submit, SubmitArray, UnknownEdit, forecast, what_if
from headway.forecasting.members import ArrayToCome, with_members
from headway.forecasting.members_ahead import MembersAhead
from headway.model import Calendar, SizeChange, WaitingJob
from headway.policy import Ageing, Policy
from tests.core.builders import G5, NOW_MS, P5, held, job, snapshot

HOUR_S = 3600


def array(
    name: str = "sweep",
    count: int = 10,
    *,
    priority: int = 5,
    at_once: int | None = None,
    made: int = 0,
    aside: tuple[WaitingJob, ...] = (),
    entered: int = 0,
) -> ArrayToCome:
    """An array of so many members of an hour, the first of which have been made and are in the queue or run."""
    member = job(f"{name}_0", priority, entered=entered, limit_s=HOUR_S)
    width = len(str(count - 1))
    return ArrayToCome(
        name=name,
        count=count,
        member=member,
        demands=(member.demand,),
        at_once=at_once,
        next_index=made,
        active=frozenset(f"{name}_{index:0{width}}" for index in range(made)),
        set_aside=aside,
    )


def hours(start_ms: int | None) -> float | None:
    return None if start_ms is None else (start_ms - NOW_MS) / HOUR_S / 1000


ROWS = [
    ("one after the other", 1, 1, 10),
    ("as many at once as fit", None, 2, 5),
    ("no more at once than may be", 1, 2, 0),
    ("beside each other, in a larger pool", 2, 3, 0),
]


@pytest.mark.parametrize(("at_once", "size", "told"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_job_behind_an_array_starts_after_its_members(at_once: int | None, size: int, told: float) -> None:
    seen = forecast(snapshot(job("last", limit_s=60), size=size), arrays=[array(at_once=at_once)])
    assert hours(seen.starts["last"]) == told


def test_a_job_that_needs_all_instances_waits_for_each_member_of_higher_rank() -> None:
    seen = forecast(snapshot(job("wide", count=2, limit_s=60), size=2), arrays=[array(at_once=1)])
    assert hours(seen.starts["wide"]) == 10


def test_a_job_of_higher_rank_waits_for_no_member() -> None:
    seen = forecast(snapshot(job("first", 9, limit_s=60), size=1), arrays=[array()])
    assert hours(seen.starts["first"]) == 0


def test_members_that_are_made_leave_their_places_when_they_have_ended() -> None:
    running = held("sweep_0", 5, ends_in_s=HOUR_S)
    waiting = job("sweep_1", 5, limit_s=HOUR_S)
    seen = forecast(snapshot(running, waiting, job("last"), size=1), arrays=[array(at_once=2, made=2)])
    assert hours(seen.starts["sweep_1"]) == 1
    assert hours(seen.starts["last"]) == 10


def test_a_member_that_has_ended_meanwhile_holds_no_place() -> None:
    seen = forecast(snapshot(job("last"), size=1), arrays=[array(at_once=1, made=1)])
    assert hours(seen.starts["last"]) == 9


def test_a_member_that_was_made_meanwhile_comes_once() -> None:
    seen = forecast(snapshot(job("sweep_0", 5, limit_s=HOUR_S), job("last"), size=1), arrays=[array(count=3)])
    assert hours(seen.starts["last"]) == 3


def test_members_that_are_set_aside_come_before_others_and_have_a_start_of_their_own() -> None:
    aside = job("sweep_9", 5, limit_s=HOUR_S)
    early = replace(array(at_once=1, aside=(aside,)), early=frozenset({9}))
    seen = forecast(snapshot(job("last"), size=1), arrays=[early])
    assert (hours(seen.starts["sweep_9"]), hours(seen.starts["last"])) == (0, 10)


def test_an_array_without_members_starts_with_its_first_one() -> None:
    snap = snapshot(held("x", 9, ends_in_s=HOUR_S), size=1)
    assert {name: hours(at) for name, at in forecast(snap, arrays=[array()]).starts.items()} == {"sweep": 1}


def test_as_many_members_enter_as_fit_into_the_largest_size_and_one_more() -> None:
    snap = replace(snapshot(size=1), calendars={P5: Calendar(changes=(SizeChange(at_ms=NOW_MS + 1, size=3),))})
    decided, (after,), entered = with_members(snap, [array()])
    assert [each.name for each in decided.waiting] == ["sweep_0", "sweep_1", "sweep_2", "sweep_3"] == [*entered]
    assert after.unmade == 6


def test_a_forecast_that_ends_early_says_no_start_behind_members() -> None:
    seen = forecast(snapshot(job("last"), size=1), arrays=[array(count=1000)], steps=20)
    assert (seen.starts["last"], hours(seen.until_ms)) == (None, 20)


def test_what_if_an_array_is_submitted_or_a_pool_is_resized() -> None:
    snap = snapshot(job("last", limit_s=HOUR_S), size=1)
    result = what_if(snap, [SubmitArray(array=array(count=3))])
    assert {name: [*map(hours, pair)] for name, pair in result.moved.items()} == {"last": [0, 3], "sweep": [None, 0]}
    assert (result.starts, set(result.entering.values())) == (("sweep_0",), {"sweep"})
    larger = what_if(snap, [Resize(pool=P5, size=4)], arrays=[array(count=3)])
    assert [*map(hours, larger.moved["last"])] == [3, 0]
    assert larger.starts == ("sweep_0", "sweep_1", "sweep_2", "last")


@pytest.mark.parametrize("change", [Submit(job=job("sweep")), SubmitArray(array=array())])
def test_the_name_of_an_array_is_in_use(change: Submit | SubmitArray) -> None:
    with pytest.raises(UnknownEdit, match="already"):
        what_if(snapshot(), [change], arrays=[array()])


AHEAD = [
    ("a lower priority", job("a", 4), 10),
    ("a higher priority", job("a", 6), 0),
    ("an earlier entry", job("a", 5, entered=50), 0),
    ("a later entry", job("a", 5, entered=200), 10),
    ("the same turn, and a name before", job("a", 5, entered=100), 0),
    ("the same turn, and a name behind", job("z", 5, entered=100), 10),
    ("a member between others", job("sweep_4", 5, entered=100), 4),
    ("another pool", job("a", 4, pool=G5), 0),
    ("another pool as well", replace(job("a", 4), demand={G5: 1, P5: 1}), 10),
]


@pytest.mark.parametrize(("waiting", "count"), [row[1:] for row in AHEAD], ids=[row[0] for row in AHEAD])
def test_members_ahead_are_counted_by_rank_and_pool(waiting: WaitingJob, count: int) -> None:
    ahead = MembersAhead([array(entered=100)], NOW_MS, Policy())
    assert ahead.of(waiting) == ({"sweep": count} if count else {})


def test_members_that_are_set_aside_count_by_their_own_rank() -> None:
    aside = (job("sweep_8", 9), job("sweep_9", 1))
    found = MembersAhead([array(count=0, aside=aside)], NOW_MS, Policy()).of(job("a", 5))
    assert found == {"sweep": 1}


def test_members_gain_priority_by_age_as_jobs_do() -> None:
    policy = Policy(ageing=Ageing(interval_ms=1000, cap=9))
    young = job("a", 6, entered=NOW_MS)
    assert MembersAhead([array(priority=5)], NOW_MS, policy).of(young) == {"sweep": 10}
    assert MembersAhead([array(priority=5)], NOW_MS, Policy()).of(young) == {}
