"""Places and starts count the members of arrays that are no jobs yet."""

from __future__ import annotations

from typing import Any

import pytest

from headway.forecasting.forecast import Resize
from headway.lifecycle import WAITING
from headway.reasons import ReasonCode
from headway_service.admission.submission import Submission
from headway_service.arrays import to_come
from headway_service.forecast import snapshot
from headway_service.forecast.service import SubmitRequest
from headway_service.store.job_filter import JobFilter
from headway_service.store.ledger import read_ledger
from headway_service.store.repository import get_job
from tests.service.world import ADA, P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
HOUR_MS = 3_600_000
OVERHEAD_S = 1800
RUN_S = 1700
ENDED_S = RUN_S + 300
"""After so long a training job of the sandbox has ended, s."""


def hour_long() -> dict[str, Any]:
    """Members of a request that holds its instances for an hour at most."""
    return {
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600 - OVERHEAD_S},
        "Environment": {"SANDBOX_RUN_SECONDS": str(RUN_S)},
    }


def sweep(count: int, name: str = "sweep", priority: int = 5, **more: Any) -> Submission:
    own = {key: more.pop(key) for key in ("at_once", "depends_on") if key in more}
    document = {"list": [{"seed": seed} for seed in range(count)]}
    return Submission(request=request(name, priority, **{**hour_long(), **more}), sweep=document, **own)


def submit(world: World, submission: Submission) -> None:
    world.submitter.submit(submission, ROOT)


def start_ms(world: World, name: str) -> int | None:
    (told,) = world.forecast_service.forecast(name, 1).jobs
    return told.start_ms


def started_ms(world: World, name: str) -> int:
    """Run the queue until a job has started."""
    while (started := get_job(world.table, name).usage.started_ms) is None:
        world.pass_time(60)
        world.tick()
    return started


@pytest.fixture
def world() -> World:
    """One instance, on which the first of ten members runs, and a job behind all of them."""
    world = World(pools={P5: 1})
    submit(world, sweep(10))
    world.tick()
    world.submit("last", 1, **hour_long())
    return world


# -------------------------------------------------------------------------------------------------------------- starts


@pytest.mark.parametrize("at_once", [None, 1])
def test_a_job_starts_no_later_than_told_although_members_are_made_until_then(at_once: int | None) -> None:
    world = World(pools={P5: 1})
    submit(world, sweep(6, at_once=at_once))
    world.tick()
    world.submit("last", 1, **hour_long())
    asked_ms, told = world.clock(), start_ms(world, "last")
    assert told == asked_ms + 6 * HOUR_MS
    assert asked_ms + 6 * RUN_S * 1000 < started_ms(world, "last") <= told


def test_why_a_dry_run_and_a_what_if_tell_the_same_start(world: World) -> None:
    expected = world.clock() + 10 * HOUR_MS
    assert world.forecast_service.explain("last").expected_start_ms == expected
    dry = world.forecast_service.dry_run(request("other", 0, **hour_long()), ROOT)
    assert dry.expected_start_ms == expected + HOUR_MS
    grown = world.forecast_service.what_if([Resize(pool=P5, size=11)], ROOT)
    assert [(each.job, each.before_ms, each.after_ms) for each in grown.moved] == [
        ("sweep_1", world.clock() + HOUR_MS, world.clock()),
        ("last", expected, world.clock()),
    ]


def test_members_that_have_not_been_made_at_all_count(world: World) -> None:
    submit(world, sweep(3, "new", 3))
    assert start_ms(world, "last") == world.clock() + 13 * HOUR_MS
    assert start_ms(world, "new") == world.clock() + 10 * HOUR_MS


HELD = [
    ("a held array", lambda world: world.commands.hold("sweep", ROOT)),
    ("a stopped array", lambda world: world.commands.stop("sweep", ROOT)),
]


@pytest.mark.parametrize("act", [row[1] for row in HELD], ids=[row[0] for row in HELD])
def test_members_that_do_not_come_do_not_count(world: World, act: Any) -> None:
    act(world)
    world.tick()
    told = world.forecast_service.explain("last")
    assert told.expected_start_ms is not None
    assert told.expected_start_ms <= world.clock() + HOUR_MS
    assert told.seen.to_come == 0
    assert "released" in told.note


def test_members_of_an_array_that_waits_for_another_job_do_not_count(world: World) -> None:
    submit(world, sweep(5, "after", 9, depends_on=[{"job": "last"}]))
    told = world.forecast_service.explain("last")
    assert told.expected_start_ms == world.clock() + 10 * HOUR_MS
    assert "dependencies end" in told.note


def test_a_member_that_was_changed_before_its_turn_comes_first_and_has_a_start(world: World) -> None:
    world.commands.set_priority("sweep_7", 0, ROOT)
    assert start_ms(world, "last") == world.clock() + 9 * HOUR_MS
    assert start_ms(world, "sweep_7") == world.clock() + 10 * HOUR_MS
    assert "until `sweep` takes it in" in world.forecast_service.explain("sweep_7").note
    assert "its members enter the queue in turn" in world.forecast_service.explain("sweep").note


def test_a_member_that_a_person_holds_does_not_count(world: World) -> None:
    world.commands.hold("sweep_7", ROOT)
    assert start_ms(world, "last") == world.clock() + 9 * HOUR_MS


def test_a_member_that_has_ended_and_is_not_counted_yet_holds_no_place(world: World) -> None:
    world.pass_time(ENDED_S, tick=False)
    assert [each.job_name for each in read_ledger(world.table).ended] == ["sweep_0"]
    assert start_ms(world, "last") == world.clock() + 9 * HOUR_MS


def test_too_many_arrays_leave_no_start_and_no_place(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    submit(world, sweep(2, "other"))
    monkeypatch.setattr(to_come, "MAX_ARRAYS_TO_COME", 1)
    monkeypatch.setattr(snapshot, "MAX_ARRAYS_TO_COME", 1)
    told = world.forecast_service.explain("last")
    assert (told.expected_start_ms, told.seen.place) == (None, None)
    assert "More than 1 arrays have members that are not in the queue yet" in told.note
    assert told.seen.reason.message.endswith("perhaps members of arrays, of which there are more than are counted")
    assert world.forecast_service.dry_run(request("new", 0), ROOT).seen.place is None


def test_members_behind_the_examined_jobs_leave_no_start_behind_their_array(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.commands.set_priority("sweep_1", 0, ROOT)
    world.submit("urgent", 8, **hour_long())
    assert start_ms(world, "last") is not None
    monkeypatch.setattr(snapshot, "MAX_FORESEEN", 2)
    told = {each.seen.job.job_name: each.start_ms for each in world.forecast_service.forecast(None, 10).jobs}
    # It is not known when `sweep_1` ends, and `sweep_2` takes its place.
    assert (told["urgent"], told["last"]) == (world.clock() + 120_000, None)


def test_a_simulation_that_ends_before_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MAX_FORESEEN_TURNS", 12)
    told = world.forecast_service.explain("last")
    assert told.expected_start_ms is None
    assert "Simulated until" in told.note


# -------------------------------------------------------------------------------------------------------------- places


def test_the_place_of_a_job_counts_members_that_are_in_no_queue_yet(world: World) -> None:
    seen = world.seen("last")
    assert (seen.place, seen.to_come) == (10, 8)
    assert seen.reason.message.endswith("; 1 waiting job ahead, and 8 members of `sweep` that are not in the queue yet")
    (listed,) = [
        each for each in world.queries.jobs(JobFilter(states=WAITING), 10, None)[0] if each.job.job_name == "last"
    ]
    assert (listed.place, listed.reason) == (seen.place, seen.reason)
    told = world.forecast_service.explain("last")
    assert (told.seen.place, [each.job for each in told.ahead], told.more) == (10, ["sweep_0", "sweep_1"], 8)


def test_the_place_of_a_dry_run_counts_them_as_well(world: World) -> None:
    dry = world.forecast_service.dry_run(request("other", 0), ROOT)
    assert (dry.seen.place, dry.seen.to_come) == (11, 8)
    assert "2 waiting jobs ahead, and 8 members of `sweep`" in dry.seen.reason.message
    before = world.forecast_service.dry_run(request("urgent", 6), ROOT)
    assert (before.seen.place, before.seen.to_come) == (1, 0)


def test_a_job_far_back_is_behind_them_too() -> None:
    world = World(pools={P5: 1})
    submit(world, sweep(200, at_once=1))
    world.tick()
    for number in range(102):
        world.submitter.submit(request(f"job-{number:03}", 1), ADA)
    seen = world.seen("job-101")
    assert (seen.place, seen.to_come) == (102 + 199, 199)
    assert seen.reason.message == (
        "waits behind 101 jobs in the queue, and 199 members of `sweep` that are not in the queue yet"
    )


def test_a_job_is_told_what_the_next_tick_decides_with_the_members_that_it_makes() -> None:
    world = World(pools={P5: 1})
    submit(world, sweep(3))
    world.submit("last", 1)
    seen = world.seen("last")
    assert (seen.reason.code, seen.place) == (ReasonCode.WAITS_BEHIND, 3)
    assert "behind `sweep_1` (priority 5)" in seen.reason.message
    told = world.forecast_service.explain("last").expected_start_ms
    assert told == world.clock() + 3 * HOUR_MS


def test_several_arrays_are_named_up_to_three(world: World) -> None:
    for number in range(4):
        submit(world, sweep(3, f"a{number}"))
    sentence = world.seen("last").reason.message
    assert sentence.endswith("and 12 members of `a0`, `a1`, `a2` and 2 more that are not in the queue yet")


def test_arrays_in_other_pools_do_not_count() -> None:
    world = World(pools={P5: 1, G5: 1})
    submit(world, sweep(10, ResourceConfig=on(1, G5)))
    world.tick()
    world.submit("running", 5)
    world.tick()
    world.submit("last", 1)
    assert (world.seen("last").place, world.seen("last").to_come) == (1, 0)


# ---------------------------------------------------------------------------------------- arrays that are asked about


def test_a_dry_run_of_an_array_simulates_all_its_members(world: World) -> None:
    told = world.forecast_service.dry_run(sweep(4, "mine", 3), ROOT)
    assert told.expected_start_ms == world.clock() + 10 * HOUR_MS
    assert [(each.job, each.before_ms, each.after_ms) for each in told.delays] == [
        ("last", world.clock() + 10 * HOUR_MS, world.clock() + 14 * HOUR_MS)
    ]
    assert (told.seen.place, told.seen.to_come) == (10, 8)
    assert "8 members of `sweep`" in told.seen.reason.message


def test_a_dry_run_of_an_array_names_what_its_members_would_preempt(world: World) -> None:
    told = world.forecast_service.dry_run(sweep(4, "mine", 9), ROOT)
    assert told.preempts == ["sweep_0"]
    assert told.seen.reason.code is ReasonCode.WAITS_FOR_FREED
    free = World(pools={P5: 1}).forecast_service.dry_run(sweep(4, "mine", 9), ROOT)
    assert free.seen.reason.code is ReasonCode.STARTS_NOW


def test_a_what_if_of_an_array_moves_those_behind_all_its_members(world: World) -> None:
    told = world.forecast_service.what_if([SubmitRequest(request=sweep(4, "mine", 3))], ROOT)
    assert {each.job: each.after_ms for each in told.moved} == {
        "mine": world.clock() + 10 * HOUR_MS,
        "last": world.clock() + 14 * HOUR_MS,
    }
