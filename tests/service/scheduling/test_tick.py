"""The rounds of one tick, and their limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from headway.errors import InvariantViolation
from headway.plan import Plan, Start
from headway.reasons import started
from headway_sandbox.errors import AwsError
from headway_service.errors import Conflict
from headway_service.launching import executor
from headway_service.launching.executor import RESERVED_MS
from headway_service.observability.logging import logger
from headway_service.observability.metrics import MetricValue
from headway_service.pools.operations import PoolOperations
from headway_service.ports.table import Delete, Put, Update, Write
from headway_service.sagemaker_api.names import attempt_name
from headway_service.scheduling import tick
from headway_service.scheduling.decide import decide
from headway_service.scheduling.tick import MAX_ROUNDS
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.ledger import PoolRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import get_job
from tests.service.launching.test_backoff import break_sagemaker
from tests.service.world import INVOCATION_S, P5, ROOT, World, on

G5 = "ml.g5.xlarge"


@pytest.fixture
def world() -> World:
    return World(pools={P5: 4, G5: 2})


def test_a_job_starts_though_the_attempt_of_another_job_has_its_next_name(world: World) -> None:
    other = attempt_name("a", 2)
    world.submit(other)
    world.tick()
    world.submit("a")
    job = get_job(world.table, "a")
    world.table.write([job.model_copy(update={"attempt_count": 1, "version": job.version + 1}).put(was=job.version)])
    report = world.tick()
    assert (report.started, report.rejected) == (["a"], 0)
    assert {each.attempt_name for each in read_ledger(world.table).attempts} == {other, attempt_name("a", 3)}


def reject(world: World, times: int, about: str) -> None:
    """Make the next writes with an item of this kind in the ledger conflict."""
    real, left = world.table.write, iter(range(times))

    def write(writes: Sequence[Write]) -> None:
        if any(each.key.sk.startswith(about) for each in writes) and next(left, None) is not None:
            raise Conflict([0])
        real(writes)

    world.table.write = write  # type: ignore[method-assign]


def fail(world: World, operation: str) -> Callable[[], None]:
    """Let each call of an operation of SageMaker fail without an answer. Gives what ends that."""
    real = world.fleet.call

    def call(name: str, body: Any, *, now: float) -> Any:
        if name == operation:
            raise AwsError("ServiceUnavailable", "?", status=503)
        return real(name, body, now=now)

    def end() -> None:
        world.fleet.call = real  # type: ignore[method-assign]

    world.fleet.call = call  # type: ignore[method-assign,assignment]
    return end


def test_a_plan_that_violates_an_invariant_is_not_executed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        world.submit(name, ResourceConfig=on(4))

    def decide_wrongly(*args: Any, **options: Any) -> Any:
        snapshot, _, cut = decide(*args, **options)
        starts = tuple(Start(job=job.name, demand=job.demand, reason=started(job.demand)) for job in snapshot.waiting)
        return snapshot, Plan(actions=starts, waits=()), cut

    monkeypatch.setattr(tick, "decide", decide_wrongly)
    with pytest.raises(InvariantViolation):
        world.tick()
    assert world.called("CreateTrainingJob") == []
    assert world.states("a", "b") == {"a": "pending", "b": "pending"}


def test_a_rejected_action_does_not_prevent_others_of_its_plan(world: World) -> None:
    for name in ("a", "b", "c"):
        world.submit(name)
    reject(world, 2, "attempt#")
    report = world.tick()
    assert (report.rejected, report.rounds) == (2, 2), "what was rejected is decided again"
    assert report.started == ["c", "a", "b"]
    assert world.states("a", "b", "c") == {"a": "running", "b": "running", "c": "running"}


def test_an_executed_plan_is_not_repeated(world: World) -> None:
    world.submit("a")
    report = world.tick()
    assert (report.rounds, report.waiting, report.started) == (1, 1, ["a"])
    assert world.tick().rounds == 1


def test_a_stop_without_an_answer_is_sent_once_per_tick(world: World) -> None:
    for name in ("a", "b"):
        world.submit(name)
    world.tick()
    for name in ("a", "b"):
        world.commands.stop(name, ROOT)
    end = fail(world, "StopTrainingJob")
    report = world.tick()
    assert (report.unclear, report.rounds) == (2, 2)
    assert world.called("StopTrainingJob") == ["a", "b"]
    end()
    assert world.tick().unclear == 0
    assert world.called("StopTrainingJob") == ["a", "b", "a", "b"]


def test_a_launch_that_gets_no_answer_is_followed_by_another_decision(world: World) -> None:
    world.submit("a")
    fail(world, "CreateTrainingJob")
    report = world.tick()
    assert (report.started, report.unclear, report.rounds) == (["a"], 1, 2)


def test_stops_and_launches_settled_concurrently_are_counted_and_skipped(world: World) -> None:
    for name in ("a", "b"):
        world.submit(name)
    world.tick()
    for name in ("a", "b"):
        world.commands.stop(name, ROOT)
    reject(world, 2, "attempt#")
    report = world.tick()
    assert report.rejected == 2
    assert report.rounds == 3


def test_drains_that_conflict_are_counted_and_retried(world: World) -> None:
    pauses = PoolOperations(
        table=world.table, wake=world.wakes.append, clocks=world.clocks, configuration=world.configured
    )
    for name in ("a", "b"):
        world.submit(name)
    world.tick()
    pauses.pause(P5, "user/ada", "move out", stops=True)
    reject(world, 2, "attempt#")
    report = world.tick()
    assert (report.rejected, report.drained) == (2, ["a", "b"])
    assert world.called("StopTrainingJob") == ["a", "b"]


def test_a_tick_has_a_limited_number_of_rounds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "MAX_REJECTIONS", 1000)
    world.submit("a")
    reject(world, 1000, "attempt#")
    report = world.tick()
    assert (report.rounds, report.rejected) == (MAX_ROUNDS, MAX_ROUNDS)


@pytest.mark.parametrize(("left_ms", "rounds"), [(RESERVED_MS, 0), (RESERVED_MS + 1, 1)])
def test_a_tick_starts_no_round_with_little_time_left(world: World, left_ms: int, rounds: int) -> None:
    world.submit("a")
    ticker = world.ticker()
    world.now_s += INVOCATION_S - left_ms / 1000
    report = ticker.run()
    assert (report.rounds, report.started) == (rounds, ["a"] * rounds)


def test_actions_without_remaining_time_are_left_to_the_next_tick(world: World) -> None:
    for name in ("a", "b", "c"):
        world.submit(name)
    real = world.fleet.call

    def slow(name: str, body: Any, *, now: float) -> Any:
        world.now_s += 12
        return real(name, body, now=now)

    world.fleet.call = slow  # type: ignore[method-assign,assignment]
    report = world.tick()
    assert (report.started, report.rounds) == (["a", "b"], 1)
    assert world.called("CreateTrainingJob") == ["a", "b"]
    world.fleet.call = real  # type: ignore[method-assign]
    assert world.tick().started == ["c"]


UNUSUAL = {
    "priority": 7,
    "checkpoints": True,
    "handicap_ms": 5,
    "left_ms": 76_000,
    "attained_ms": 75_000,
    "max_handicap_ms": 74_000,
    "limit_ms": 77_000,
    "on_demand": True,
    "preemptible": False,
    "preemption_count": 3,
    "attempt_count": 4,
}


def test_an_attempt_copies_the_attributes_of_its_job(world: World) -> None:
    world.configuration.write({"pools": {P5: {"size": 4}}, "teams": {"red": {}}})
    world.submit(
        "a", 7, ResourceConfig=on(3), Tags=[{"Key": "team", "Value": "red"}, {"Key": "priority", "Value": "7"}]
    )
    before = JobRecord.parse(world.table.get(JobRecord.key("a")) or {})
    job = before.model_copy(update=UNUSUAL)
    left = [Delete(key=key) for key in before.queue_keys()]
    world.table.write([Put(item=job.put().item), *left, *(entry.put() for entry in job.queue_entries())])
    world.now_s += 60
    ticker = world.ticker()
    ticker.run()
    (attempt,) = read_ledger(world.table).attempts
    for name in ("job_name", "demand", "entry_time", "team", *(UNUSUAL.keys() - {"attempt_count"})):
        assert getattr(attempt, name) == getattr(job, name), name
    assert (attempt.number, attempt.demand, attempt.team) == (5, {P5: 3}, "red")
    assert attempt.mark == world.marks.of(job.job_name, attempt.attempt_name, job.entry_time)
    assert attempt.attempt_name == attempt_name("a", 5) != "a"
    assert attempt.since_ms == attempt.seen_ms == world.clock()
    assert attempt.lease_holder == "launcher-1"
    assert attempt.lease_until_ms > world.clock() + INVOCATION_S * 1000
    assert attempt.ruled, "there are no rules to look at"


def test_a_job_of_a_limited_team_missing_from_the_ledger_is_not_started(world: World) -> None:
    """Starts of such a team are counted in its record, so that two schedulers cannot both start its last job."""
    world.configuration.write({"pools": {P5: {"size": 4}}, "teams": {"red": {"limit": {P5: 2}}}})
    world.submit("a", Tags=[{"Key": "team", "Value": "red"}])
    assert world.intent_to_start("a").writes
    with pytest.raises(Conflict):
        world.intent_to_start("a", replace(read_ledger(world.table), teams=()))


def test_jobs_of_a_limited_team_start_in_one_round(world: World) -> None:
    world.configuration.write({"pools": {P5: {"size": 4}}, "teams": {"red": {"limit": {P5: 3}}}})
    for name in ("a", "b", "c", "d"):
        world.submit(name, Tags=[{"Key": "team", "Value": "red"}])
    report = world.tick()
    assert (report.started, report.rejected, report.rounds) == (["a", "b", "c"], 0, 1)
    (team,) = read_ledger(world.table).teams
    assert team.starts == 3


def test_a_preemption_publishes_the_work_that_is_lost_in_seconds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[MetricValue] = []
    monkeypatch.setattr(tick, "record", found.extend)
    for name in ("low", "low2"):
        world.submit(name, 1, ResourceConfig=on(2))
    world.tick()
    assert [each.metric.name for each in found] == ["TimeToStart"] * 2
    world.now_s += 100
    found.clear()
    world.submit("high", 9, ResourceConfig=on(4))
    world.tick()
    assert [(each.metric.name, each.value) for each in found] == [("WorkLost", 200)] * 2
    found.clear()
    world.tick()
    assert found == []


def test_the_metrics_of_a_failed_tick_are_published(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[MetricValue] = []
    monkeypatch.setattr(tick, "record", found.extend)
    create = world.training_jobs.create
    world.submit("a", 5)
    world.submit("b")
    monkeypatch.setattr(
        world.training_jobs, "create", lambda each: create(each) if each["TrainingJobName"] == "a" else 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        world.tick()
    assert [each.metric.name for each in found] == ["TimeToStart"]


def test_a_back_off_during_a_plan_blocks_only_launches_in_its_pool(world: World) -> None:
    world = World(pools={P5: 3, G5: 2})
    world.submit("low", 1, ResourceConfig=on(2, G5))
    world.tick()
    tried = break_sagemaker(world, P5)
    world.submit("before", 10)
    world.submit("first", 9)
    world.submit("second", 8)
    world.submit("other", 7, ResourceConfig=on(2, G5))
    report = world.tick()
    assert tried == ["before", "first"]
    assert (report.started, report.preempted) == (["before", "first"], ["low"])
    assert report.rounds == 2, "what was held back is decided again"
    assert world.states("second", "low") == {"second": "pending", "low": "stopping"}


@pytest.mark.parametrize("off", [0, 1])
def test_a_counter_that_differs_from_the_sum_of_its_holds_is_reported(
    world: World, off: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, Any]] = []
    monkeypatch.setattr(logger, "warning", lambda message, extra: told.append((message, extra)))
    world.submit("a")
    world.tick()
    world.table.write([Update(key=PoolRecord.key(P5), adds={"free": off})])
    world.tick()
    expected = [("the ledger was read while it changed", {"pool": P5, "free": 4, "summed": 3})]
    assert told == expected * off
