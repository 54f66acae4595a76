"""The spot placement scores that reconcile runs ask for, and the decisions that take them into account."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.admission.submission import Submission
from headway_service.config.document import validate
from headway_service.errors import InvalidConfiguration, RetryLater
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.spot_scores import (
    FRESH_MS,
    KEPT_MS,
    MAX_CONFIGURATIONS,
    REFRESH_MS,
    SpotScore,
    SpotScoresRecord,
)
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.testing.memory_spot_scores import MemorySpotScores
from headway_service.testing.memory_table import MemoryTable
from headway_service.tracking import spot_scores
from headway_service.tracking.spot_scores import MAX_ENTRIES
from tests.service.world import P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
SPOT = f"{G5}.spot"
LONG = {"SANDBOX_RUN_SECONDS": "360000"}


def spot(count: int) -> dict[str, Any]:
    return {
        "ResourceConfig": on(count, G5),
        "EnableManagedSpotTraining": True,
        "StoppingCondition": {"MaxRuntimeInSeconds": 40_000, "MaxWaitTimeInSeconds": 90_000},
    }


def configure(world: World, least: int | None = 4, size: int = 100) -> None:
    pools = {P5: {"size": 1}, SPOT: {"size": size}}
    world.configuration.write({"pools": pools, "spot": {} if least is None else {"minScore": least}})
    world.tick()


def world_of(least: int | None = 4, *, scores: dict[tuple[str, int], int] | None = None, size: int = 100) -> World:
    """A world whose only on-demand instance is taken."""
    world = World()
    world.container.spot_scores = MemorySpotScores(scores)
    configure(world, least, size)
    world.submit("full", Environment=LONG, StoppingCondition={"MaxRuntimeInSeconds": 1_000_000})
    world.tick()
    return world


def submit(world: World, name: str, *counts: int) -> None:
    """Submit a job that can run on spot instances as well."""
    made = request(name, Environment=LONG)
    world.submitter.submit(Submission(request=made, alternatives=[spot(count) for count in counts]), ROOT)


def asked(world: World) -> list[tuple[str, int]]:
    scores = world.container.spot_scores
    assert isinstance(scores, MemorySpotScores)
    return scores.asked


def known(world: World) -> dict[int, int | None]:
    scores = read_ledger(world.table).spot_scores
    return {} if scores is None else {each.count: each.score for each in scores.scores}


def test_a_job_waits_for_on_demand_instances_while_the_score_is_low_and_says_so() -> None:
    world = world_of(scores={(SPOT, 2): 3})
    submit(world, "a", 2)
    world.reconcile()
    world.tick()
    view = world.seen("a")
    assert view.job.job_state == "pending"
    assert view.reason.message.endswith(f"; {SPOT} is passed over, as its spot placement score is 3 of 10")


@pytest.mark.parametrize("scores", [{}, {(SPOT, 2): 4}], ids=["without a score", "with a sufficient score"])
def test_a_job_starts_on_spot_instances(scores: dict[tuple[str, int], int]) -> None:
    world = world_of(scores=scores)
    submit(world, "a", 2)
    world.reconcile()
    world.tick()
    assert world.seen("a").job.demand == {SPOT: 2}


def test_what_runs_on_spot_instances_continues_when_its_score_is_low() -> None:
    world = world_of(scores={(SPOT, 2): 1})
    submit(world, "a", 2)
    world.tick()
    world.reconcile()
    world.tick()
    assert world.states("a")["a"] in {"launching", "running"}


def test_a_stale_score_is_ignored() -> None:
    world = world_of(scores={(SPOT, 2): 3})
    submit(world, "a", 2)
    world.reconcile()
    world.pass_time(FRESH_MS / 1000 - 1, tick=False, deliver=False)
    world.tick()
    assert world.states("a") == {"a": "pending"}
    world.pass_time(1, tick=False, deliver=False)
    world.tick()
    assert world.seen("a").job.demand == {SPOT: 2}


def test_scores_age_in_machine_time() -> None:
    world = world_of(scores={(SPOT, 2): 3})
    submit(world, "a", 2)
    world.reconcile()
    ahead_ms = 10 * FRESH_MS
    now_ms = world.machine_clock() + ahead_ms
    scores = read_ledger(world.table).in_training_time(now_ms, world.machine_clock()).spot_scores
    assert scores is not None
    assert dict(scores.fresh(now_ms)) == {(SPOT, 2): 3}


def test_an_answer_without_a_score_is_no_score() -> None:
    record = SpotScoresRecord(scores=(SpotScore(pool=SPOT, count=1, asked_ms=0), score(2, 0)))
    assert dict(record.fresh(0)) == {(SPOT, 2): 5}


@pytest.mark.parametrize("least", [0, 11, 3.5, "3"])
def test_a_least_score_is_from_1_to_10(least: Any) -> None:
    with pytest.raises(InvalidConfiguration, match=r"spot\.minScore"):
        validate({"pools": {P5: {"size": 1}}, "spot": {"minScore": least}})


def test_without_spot_pools_not_even_the_configuration_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.tick()
    monkeypatch.setattr(spot_scores, "find_applied", lambda _: pytest.fail("read"))
    world.reconcile()


@pytest.mark.parametrize(("least", "with_spot_pool"), [(None, True), (4, False)])
def test_nothing_is_asked_without_a_least_score_or_a_spot_pool(least: int | None, *, with_spot_pool: bool) -> None:
    world = world_of(least)
    if not with_spot_pool:
        world = World()
        world.container.spot_scores = MemorySpotScores()
    else:
        submit(world, "a", 2)
    world.reconcile()
    assert (asked(world), known(world)) == ([], {})


def test_a_score_is_asked_for_once_an_hour_whether_or_not_there_is_one() -> None:
    for scores in ({}, {(SPOT, 2): 3}):
        world = world_of(scores=scores, size=2)
        submit(world, "a", 2)
        world.reconcile()
        world.reconcile()
        assert asked(world) == [(SPOT, 2)]
        world.pass_time(REFRESH_MS / 1000, tick=False, deliver=False)
        world.reconcile()
        assert asked(world) == [(SPOT, 2)] * 2


def test_a_run_asks_for_one_score_at_most() -> None:
    world = world_of()
    submit(world, "a", 2)
    submit(world, "b", 3)
    world.reconcile()
    assert asked(world) == [(SPOT, 2)]
    world.reconcile()
    assert sorted(asked(world)) == [(SPOT, 2), (SPOT, 3)]


def test_only_the_front_of_a_queue_is_looked_at() -> None:
    world = world_of()
    for number in range(MAX_ENTRIES):
        submit(world, f"a{number:02}", 2)
    submit(world, "b", 3)
    world.reconcile()
    world.reconcile()
    assert asked(world) == [(SPOT, 2)]


def test_scores_are_removed_when_they_are_no_longer_used() -> None:
    world = world_of(scores={(SPOT, 2): 3})
    submit(world, "a", 2)
    world.reconcile()
    assert known(world) == {2: 3}
    configure(world, None)
    assert world.seen("a").job.demand == {SPOT: 2}
    world.reconcile()
    assert read_ledger(world.table).spot_scores is None
    assert asked(world) == [(SPOT, 2)]


def test_a_score_that_cannot_be_stored_now_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of(scores={(SPOT, 2): 3})
    submit(world, "a", 2)
    assert isinstance(world.table, MemoryTable)
    write = world.table.write

    def throttled(writes: Any) -> None:
        if any(getattr(each, "key", None) == SpotScoresRecord.key() for each in writes):
            raise RetryLater("throttled")
        write(writes)

    monkeypatch.setattr(world.table, "write", throttled)
    world.reconcile()
    assert known(world) == {}


def score(count: int, asked_ms: int) -> SpotScore:
    return SpotScore(pool=SPOT, count=count, score=5, asked_ms=asked_ms)


class TestDue:
    """What is asked for next."""

    def test_the_oldest_of_those_that_are_due(self) -> None:
        record = SpotScoresRecord(scores=(score(1, 0), score(2, -5), score(3, 10)))
        wanted = [(SPOT, count) for count in (1, 2, 3)]
        assert record.due(wanted, REFRESH_MS) == (SPOT, 2)
        assert record.due(wanted, REFRESH_MS - 6) is None

    def test_one_that_nobody_waits_for_is_not_asked_for(self) -> None:
        record = SpotScoresRecord(scores=(score(1, 0),))
        assert record.due([], REFRESH_MS) is None

    def test_there_are_no_more_than_the_limit_in_a_day(self) -> None:
        record = SpotScoresRecord(scores=tuple(score(count, count) for count in range(MAX_CONFIGURATIONS)))
        assert record.due([(SPOT, 99)], KEPT_MS - 1) is None
        assert record.due([(SPOT, 99)], KEPT_MS) == (SPOT, 99)
        kept = record.with_score(score(99, KEPT_MS))
        assert [each.count for each in kept.scores] == [*range(1, MAX_CONFIGURATIONS), 99]

    def test_a_new_score_replaces_the_known_one(self) -> None:
        record = SpotScoresRecord(scores=(score(1, 0), score(2, 0))).with_score(score(1, 7))
        assert [(each.count, each.asked_ms) for each in record.scores] == [(2, 0), (1, 7)]


def test_nothing_is_asked_for_jobs_without_alternatives() -> None:
    world = world_of(size=1)
    world.submit("b", **spot(1))
    world.submit("c", **spot(1))
    world.tick()
    assert [item["jobName"] for item in world.table.query(QueueEntry.partition(SPOT), limit=9)]
    world.reconcile()
    assert asked(world) == []
