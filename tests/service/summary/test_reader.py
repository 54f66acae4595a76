"""The summary has what a board shows, within its limits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.api_documents.summary import Summary
from headway_service.admission.submission import Submission
from headway_service.api.conditional import is_known
from headway_service.api.documents.summary import summary_document
from headway_service.summary import held, reader, recent_events
from headway_service.summary.cache import MAX_AGE_MS, MAX_FORECAST_AGE_MS
from headway_service.summary.held import MAX_HELD_AGE_MS, HeldJobs
from headway_service.summary.reader import MAX_HEADS, MAX_WAITING
from headway_service.testing.memory_table import MemoryTable
from tests.service.scheduling.test_teams import tags, world_of
from tests.service.world import P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"


def summary(world: World) -> Summary:
    """The summary now, not one that is kept."""
    world.now_s += MAX_AGE_MS / 1000
    return summary_document(*world.container.summaries.get())


def names(entries: Any) -> list[str]:
    return [each.job_name for each in entries]


def test_a_pool_has_its_use_by_team_and_in_all() -> None:
    world = world_of({"a": {}, "b": {}}, pools={P5: 4})
    world.submit("a0", Tags=tags("a"), ResourceConfig=on(2))
    world.submit("b0", Tags=tags("b"), ResourceConfig=on(1))
    world.tick()
    (pool,) = summary(world).pools
    assert (pool.pool, pool.size, pool.allocated, pool.free, pool.by_team) == (P5, 4, 3, 1, {"a": 2, "b": 1})
    assert [team.team for team in summary(world).teams] == ["a", "b"]


def test_running_jobs_have_the_time_by_which_they_have_ended_and_stopping_ones_come_first() -> None:
    world = World(pools={P5: 2})
    world.submit("long", 1, StoppingCondition={"MaxRuntimeInSeconds": 86_400})
    world.submit("short", 1, StoppingCondition={"MaxRuntimeInSeconds": 3600})
    world.tick()
    assert names(summary(world).running) == ["short", "long"]
    assert {each.owner for each in summary(world).running} == {ROOT.arn}
    world.pass_time(60)
    world.submit("urgent", 9)
    world.tick()
    found = summary(world)
    victim, other = found.running
    assert (victim.job_state, victim.stop_cause, victim.stops_for) == ("stopping", "preemption", "urgent")
    assert (other.job_state, other.stop_cause, other.stops_for) == ("running", None, None)
    assert (found.counts.running, found.counts.stopping, found.counts.waiting) == (1, 1, 1)
    assert other.ends_by is not None
    assert other.ends_by > other.started_time


def test_the_first_waiting_jobs_have_their_place_and_their_reason() -> None:
    world = World(pools={P5: 1})
    world.submit("runs", 9)
    world.tick()
    world.submit("second", 1)
    world.submit("first", 5)
    head, behind = summary(world).waiting
    assert (head.job_name, head.place, behind.job_name, behind.place) == ("first", 1, "second", 2)
    assert "`runs`" in head.reason.message
    assert head.start_by is not None
    assert not summary(world).more_waiting


def test_each_queue_shows_its_own_head_even_if_another_one_is_long() -> None:
    world = World(pools={P5: 1, G5: 1})
    world.submit("runs", 9)
    world.submit("runs-too", 9, ResourceConfig=on(1, G5))
    world.tick()
    for number in range(MAX_HEADS + 5):
        world.submit(f"long-{number:02}", 5)
    world.submit("alone", 1, ResourceConfig=on(1, G5))
    found = summary(world)
    assert names(found.waiting) == [*(f"long-{number:02}" for number in range(MAX_HEADS)), "alone"]
    assert found.more_waiting
    assert found.counts.waiting == MAX_HEADS + 6


def test_a_queue_shows_its_first_jobs_only_even_where_a_decision_reads_more() -> None:
    world = World(pools={P5: MAX_HEADS + 10})
    for number in range(MAX_HEADS + 5):
        world.submit(f"fits-{number:02}", 5)
    found = summary(world)
    assert names(found.waiting) == [f"fits-{number:02}" for number in range(MAX_HEADS)]
    assert found.more_waiting


def test_all_queues_together_show_no_more_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_WAITING", 3)
    world = World(pools={P5: 1, G5: 1})
    for number in range(4):
        world.submit(f"a{number}", 5)
        world.submit(f"b{number}", 5, ResourceConfig=on(1, G5))
    assert len(summary(world).waiting) == 3


def test_running_and_ended_jobs_and_events_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_RUNNING", 1)
    monkeypatch.setattr(reader, "MAX_ENDED", 2)
    monkeypatch.setattr(recent_events, "MAX_EVENTS", 3)
    world = World(pools={P5: 3})
    for name in ("a", "b", "c"):
        world.submit(name)
    world.tick()
    world.pass_time(3600)
    for name in ("d", "e", "f"):
        world.submit(name)
    world.tick()
    found = summary(world)
    assert (len(found.running), found.more_running, found.counts.running) == (1, 2, 3)
    assert len(found.ended) == 2
    assert {each.owner for each in found.ended} == {ROOT.arn}
    assert len(found.events) == 3


def test_an_ended_array_has_held_nothing_beside_its_members() -> None:
    world = World(pools={P5: 2})
    sweep = {"grid": {"lr": ["1", "2"]}}
    world.submitter.submit(Submission(request=request("a"), sweep=sweep), ROOT)
    for _ in range(4):
        world.tick()
        world.pass_time(900)
    assert {each.job_name: each.started_time is not None for each in summary(world).ended} == {
        "a": False,
        "a_0": True,
        "a_1": True,
    }


def test_events_are_the_newest_first_and_name_what_happened() -> None:
    world = World(pools={P5: 1})
    world.submit("low", 1)
    world.tick()
    world.pass_time(60)
    world.submit("high", 9)
    world.tick()
    found = summary(world).events
    assert [(each.kind, each.job_name) for each in found] == [("stopping", "low"), ("started", "low")]
    assert found[0].message == "`low` is stopped: preempted for `high`"
    world.pass_time(3600)
    kinds = [(each.kind, each.job_name) for each in summary(world).events]
    assert ("completed", "high") in kinds
    assert sorted(summary(world).events, key=lambda each: each.time, reverse=True) == list(summary(world).events)


def test_a_job_that_a_caller_stops_has_an_event_with_the_cause() -> None:
    world = World(pools={P5: 1})
    world.submit("mine")
    world.tick()
    world.pass_time(60)
    world.commands.stop("mine", ROOT, "")
    assert summary(world).events[0].message == "`mine` is stopped: a caller stops it"


def test_jobs_that_others_keep_back_are_counted_and_not_among_the_heads() -> None:
    world = World(pools={P5: 1})
    world.submit("first")
    world.submitter.submit(Submission(request=request("second"), depends_on=[{"job": "first"}]), ROOT)
    found = summary(world)
    assert (found.counts.waiting, found.counts.depending, names(found.waiting)) == (1, 1, ["first"])


def test_held_jobs_are_counted_apart_from_those_that_wait() -> None:
    world = World(pools={P5: 1})
    for name in ("runs", "waits", "held1", "held2"):
        world.submit(name)
    for name in ("held1", "held2"):
        world.commands.hold(name, ROOT)
    world.tick()
    counts = summary(world).counts
    assert (counts.running, counts.waiting, counts.held, counts.more_held) == (1, 1, 2, False)


@pytest.mark.parametrize(("age_ms", "count"), [(MAX_HELD_AGE_MS - 1, 1), (MAX_HELD_AGE_MS, 2), (-1, 2)])
def test_the_count_of_held_jobs_is_kept_for_a_while(age_ms: int, count: int) -> None:
    world = World(pools={P5: 1})
    times_ms = iter([1_000_000, 1_000_000 + age_ms])
    jobs = HeldJobs(world.table, lambda: next(times_ms))
    counted = []
    for name in ("a", "b"):
        world.submit(name)
        world.commands.hold(name, ROOT)
        counted.append(jobs.count().jobs)
    assert counted == [1, count]


@pytest.mark.parametrize(("limit", "expected"), [(2, (1, False)), (3, (2, True))])
def test_held_jobs_are_counted_among_a_limited_number_of_waiting_ones(
    monkeypatch: pytest.MonkeyPatch, limit: int, expected: tuple[int, bool]
) -> None:
    monkeypatch.setattr(held, "MAX_HELD_READ", limit)
    world = World(pools={P5: 1})
    for name in ("a", "b", "c"):
        world.submit(name)
    for name in ("b", "c"):
        world.commands.hold(name, ROOT)
    found = HeldJobs(world.table, lambda: 0).count()
    assert (found.jobs, found.is_all) == expected


def test_an_unchanged_queue_has_the_same_version_and_a_changed_one_another() -> None:
    world = World(pools={P5: 1})
    world.submit("a", 1)
    before = summary(world).version
    assert summary(world).version == before
    world.submit("b", 1)
    assert summary(world).version != before


def test_the_starts_of_a_forecast_are_shown_for_a_minute() -> None:
    world = World(pools={P5: 1})
    world.submit("runs", 9)
    world.tick()
    world.submit("waits", 1)
    assert summary(world).forecast_time is None
    found = world.forecast_service.forecast(None, 100)
    starts = {each.seen.job.job_name: each.start_ms for each in found.jobs}
    world.container.summaries.keep_forecast(found.as_of_ms, starts)
    shown = summary(world)
    assert shown.forecast_time is not None
    assert shown.waiting[0].expected_start is not None
    world.now_s += MAX_FORECAST_AGE_MS / 1000
    assert summary(world).forecast_time is None


def test_a_summary_is_given_again_for_a_second_and_then_read_again() -> None:
    world = World(pools={P5: 1})
    cache = world.container.summaries
    first, _ = cache.get()
    world.submit("a")
    world.now_s += (MAX_AGE_MS - 1) / 1000
    assert cache.get()[0] is first
    world.now_s += 0.001
    assert names(cache.get()[0].heads and summary(world).waiting) == ["a"]


def test_a_clock_that_was_set_back_does_not_keep_a_summary() -> None:
    world = World(pools={P5: 1})
    first, _ = world.container.summaries.get()
    world.now_s -= 3600
    assert world.container.summaries.get()[0] is not first


def test_a_summary_writes_nothing_once_the_pools_are_known() -> None:
    world = World(pools={P5: 1})
    world.submit("a")
    assert isinstance(world.table, MemoryTable)
    before = dict(world.table._items)
    summary(world)
    assert dict(world.table._items) == before


@settings(max_examples=25, deadline=None)
@given(
    jobs=st.lists(
        st.tuples(st.sampled_from([P5, G5]), st.integers(1, 2), st.integers(0, 9)),
        max_size=60,
    )
)
def test_a_summary_agrees_with_the_capacity_and_shows_each_job_once(jobs: list[tuple[str, int, int]]) -> None:
    world = World(pools={P5: 3, G5: 2})
    for number, (pool, count, priority) in enumerate(jobs):
        world.submit(f"j{number}", priority, ResourceConfig=on(count, pool))
        if number % 7 == 3:
            world.tick()
    found = summary(world)
    capacity = world.container.capacity()
    assert [(each.pool, each.allocated, each.free, each.waiting) for each in found.pools] == [
        (each.pool, each.allocated, each.free, each.waiting) for each in capacity.pools
    ]
    assert all(sum(each.by_team.values()) == each.allocated for each in found.pools)
    shown = [*names(found.running), *names(found.waiting)]
    assert len(shown) == len(set(shown))
    assert len(found.waiting) <= MAX_WAITING
    assert found.counts.running + found.counts.stopping == len(found.running) + found.more_running


KNOWN = [
    (None, False),
    ("", False),
    ('"v1"', True),
    ('W/"v1"', True),
    ('"v0", "v1"', True),
    ("*", True),
    ('"v2"', False),
    ("v1", False),
]


@pytest.mark.parametrize(("header", "known"), KNOWN, ids=[str(row[0]) for row in KNOWN])
def test_a_caller_knows_a_version_that_it_names(header: str | None, known: bool) -> None:
    assert is_known("v1", header) is known
