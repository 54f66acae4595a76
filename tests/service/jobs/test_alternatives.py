"""Jobs that run on whatever is free first: from the submission to the launch, and after each attempt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from headway.lifecycle import AttemptState
from headway.reasons import paused_before_launch
from headway_service.admission.submission import Submission
from headway_service.errors import InvalidRequest, NameInUse, QueueFull
from headway_service.ports.table import Check, Put
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger
from headway_service.store.repository import find_request_of, get_job
from headway_service.store.transitions.shared import keep_for_preemptor
from headway_service.tracking.adoption import adoption
from tests.service.store import builders
from tests.service.world import P5, ROOT, World, on, request

G5, G6 = "ml.g5.xlarge", "ml.g6.xlarge"
SPOT = {
    "ResourceConfig": on(2, G5),
    "EnableManagedSpotTraining": True,
    "StoppingCondition": {"MaxRuntimeInSeconds": 40_000, "MaxWaitTimeInSeconds": 90_000},
}
DAY = {"SANDBOX_RUN_SECONDS": "36000"}


def world_of(pools: Mapping[str, int] | None = None, **document: Any) -> World:
    sizes = pools or {P5: 1, G5: 2}
    world = World(pools=sizes)
    world.configuration.write({"pools": {pool: {"size": size} for pool, size in sizes.items()}, **document})
    return world


def submit(world: World, name: str, *others: Mapping[str, Any], priority: int | None = None, **terms: Any) -> None:
    made = request(name, priority, Environment=DAY, **terms.pop("request", {}))
    world.submitter.submit(Submission(request=made, alternatives=list(others), **terms), ROOT)


def launched(world: World, name: str) -> dict[str, Any]:
    """The newest CreateTrainingJob request of a job."""
    mine = [each for call, each in world.calls if call == "CreateTrainingJob" and _tag(each, "headway:job") == name]
    return mine[-1]


def _tag(made: Mapping[str, Any], key: str) -> str | None:
    return next((tag["Value"] for tag in made["Tags"] if tag["Key"] == key), None)


def free(world: World) -> dict[str, int]:
    return {pool.pool: pool.free for pool in read_ledger(world.table).pools}


def lines(world: World) -> dict[str, list[str]]:
    """The jobs in each queue."""
    pools = [pool.pool for pool in read_ledger(world.table).pools]
    return {pool: [item["jobName"] for item in world.table.query(f"line#{pool}", limit=100)] for pool in pools}


def test_a_job_starts_on_its_first_preference_while_that_is_free() -> None:
    world = world_of()
    submit(world, "a", SPOT)
    assert lines(world) == {P5: ["a"], G5: ["a"]}
    world.tick()
    world.check()
    assert launched(world, "a")["ResourceConfig"] == on(1)
    assert free(world) == {P5: 0, G5: 2}
    assert lines(world) == {P5: [], G5: []}


def test_a_job_takes_its_second_alternative_if_the_first_pool_is_full() -> None:
    world = world_of()
    world.submit("full", Environment=DAY)
    world.tick()
    submit(world, "a", SPOT)
    world.tick()
    world.check()
    job = world.seen("a").job
    assert (job.demand, job.alternative) == ({G5: 2}, 1)
    assert job.limit_ms == (90_000 + world.configured().overhead_seconds) * 1000
    made = launched(world, "a")
    assert {name: made[name] for name in SPOT} == SPOT
    assert made["Environment"] == DAY
    assert free(world) == {P5: 0, G5: 0}
    assert lines(world) == {P5: [], G5: []}


def test_an_alternative_can_remove_a_member() -> None:
    world = world_of({P5: 1, G5: 2})
    world.submit("full", Environment=DAY)
    world.tick()
    submit(world, "a", {"ResourceConfig": on(1, G5), "HyperParameters": None}, request={"HyperParameters": {"tp": "8"}})
    world.tick()
    assert "HyperParameters" not in launched(world, "a")


def test_a_job_waits_for_a_better_alternative_as_long_as_it_says() -> None:
    world = world_of()
    world.submit("full", Environment=DAY, StoppingCondition={"MaxRuntimeInSeconds": 1200})
    world.tick()
    submit(world, "a", SPOT, wait_at_most_s=7200)
    world.tick()
    assert world.states("a") == {"a": "pending"}
    assert "waits" in world.seen("a").reason.message
    world.pass_time(7201, deliver=False)
    world.tick()
    assert world.seen("a").job.demand == {G5: 2}


def test_a_better_alternative_that_is_free_in_time_is_taken() -> None:
    world = world_of()
    world.submit("full")
    world.tick()
    submit(world, "a", SPOT, wait_at_most_s=100_000)
    world.tick()
    world.pass_time(1200)
    world.tick()
    assert world.seen("a").job.demand == {P5: 1}


@pytest.mark.parametrize(("portable", "demand"), [(False, {G5: 2}), (True, {P5: 1})])
def test_a_preempted_job_stays_on_its_alternative_unless_its_checkpoints_are_portable(
    portable: bool, demand: dict[str, int]
) -> None:
    world = world_of()
    world.submit("full", Environment=DAY)
    world.tick()
    submit(world, "a", SPOT, portable_checkpoint=portable)
    world.tick()
    world.pass_time(300)
    world.submit("urgent", 9, ResourceConfig=on(2, G5), Environment=DAY)
    world.tick()
    world.pass_time(300)
    world.check()
    assert world.states("a", "urgent") == {"a": "preempted", "urgent": "running"}
    job = get_job(world.table, "a")
    assert lines(world) == ({P5: ["a"], G5: ["a"]} if portable else {P5: [], G5: ["a"]})
    # Both places become free: the first preference is taken by a job that may choose again.
    for name in ("full", "urgent"):
        world.commands.stop(name, ROOT)
    world.tick()
    world.pass_time(300)
    world.tick()
    world.check()
    assert job.bound is not portable
    assert world.seen("a").job.demand == demand
    assert launched(world, "a")["ResourceConfig"] == (on(1) if portable else on(2, G5))


def test_a_job_that_got_no_instances_may_take_another_alternative() -> None:
    world = world_of(retries={"capacity": {"maxPerJob": 3, "backoffSeconds": 60}})
    submit(world, "a", {"ResourceConfig": on(1, G5)})
    world.fleet.faults = world.fleet.faults.with_changes({"capacity": {P5: 0}})
    world.tick()
    assert world.seen("a").job.demand == {P5: 1}
    world.pass_time(3600)
    world.check()
    job = get_job(world.table, "a")
    assert (job.retried, job.bound, job.demand) == ({"capacity": 1}, False, {P5: 1})
    assert lines(world) == {P5: ["a"], G5: ["a"]}


@pytest.mark.parametrize("portable", [False, True])
def test_a_spot_alternative_that_got_no_instances_runs_on_demand(portable: bool) -> None:
    world = world_of({P5: 1, f"{G5}.spot": 2, G5: 2})
    world.submit("full", Environment=DAY)
    world.tick()
    submit(world, "a", SPOT, portable_checkpoint=portable)
    world.fleet.faults = world.fleet.faults.with_changes({"capacity": {G5: 0}, "capacity_wait_s": 1_000_000})
    world.tick()
    assert world.seen("a").job.demand == {f"{G5}.spot": 2}
    world.pass_time(90_300)
    world.fleet.faults = world.fleet.faults.with_changes({"capacity": {}})
    world.tick()
    world.check()
    job = world.seen("a").job
    assert (job.on_demand, job.bound, job.demand) == (True, True, {G5: 2})
    assert "EnableManagedSpotTraining" not in launched(world, "a")


def test_a_launch_whose_answer_is_lost_binds_the_job_as_it_may_have_run() -> None:
    world = world_of()
    submit(world, "a", SPOT)
    world.fleet.faults = world.fleet.faults.with_changes({"lose_answer": {"CreateTrainingJob": 1}})
    world.tick()
    (attempt,) = read_ledger(world.table).attempts
    unclear = attempt.model_copy(update={"unanswered_ms": 1})
    terms: dict[str, Any] = {"failed": None, "now_ms": 0, "name_is_free": False, "machine_ms": 0}
    for launching, bound in ((attempt, False), (unclear, True)):
        job = get_job(world.table, "a")
        writes = transitions.defer_launch(job, launching, paused_before_launch(), **terms)
        assert writes[0].item.get("summary", {}).get("bound", False) is bound  # type: ignore[union-attr]


def test_a_postponed_launch_leaves_the_choice() -> None:
    world = world_of()
    world.submit("full", Environment=DAY)
    world.tick()
    world.fleet.faults = world.fleet.faults.with_changes({"quotas": {G5: 0}})
    submit(world, "a", {"ResourceConfig": on(1, G5)})
    world.tick()
    world.check()
    job = get_job(world.table, "a")
    assert (job.job_state, job.alternative, job.demand, job.bound) == ("pending", 0, {P5: 1}, False)
    assert lines(world) == {P5: ["a"], G5: ["a"]}


def test_a_pool_that_backs_off_does_not_hold_back_the_other_alternatives() -> None:
    world = world_of()
    submit(world, "a", {"ResourceConfig": on(1, G5)})
    until_ms = world.machine_clock() + 600_000
    pool = next(each for each in read_ledger(world.table).pools if each.pool == P5)
    held = pool.model_copy(update={"backoff_until_ms": until_ms, "backoffs": 1, "backoff_cause": "an outage"})
    world.table.write(transitions.back_off(held))
    world.tick()
    assert world.seen("a").job.demand == {G5: 1}


def test_attempts_are_stopped_for_an_alternative_only_where_the_job_cannot_start() -> None:
    world = world_of()
    world.submit("low1", 0, Environment=DAY)
    world.submit("low2", 0, ResourceConfig=on(2, G5), Environment=DAY)
    world.tick()
    world.pass_time(300)
    submit(world, "a", {"ResourceConfig": on(2, G5)}, priority=9)
    world.tick()
    world.pass_time(300)
    world.check()
    assert world.states("low1", "low2", "a") == {"low1": "preempted", "low2": "running", "a": "running"}


def test_a_job_is_preempted_for_the_second_alternative_of_another() -> None:
    world = world_of()
    world.submit("high", 9, Environment=DAY)
    world.submit("low", 0, ResourceConfig=on(2, G5), Environment=DAY)
    world.tick()
    world.pass_time(300)
    submit(world, "a", {"ResourceConfig": on(2, G5)}, priority=5)
    world.tick()
    (stopping,) = [each for each in read_ledger(world.table).attempts if each.attempt_state is AttemptState.STOPPING]
    assert (stopping.job_name, stopping.freed_for, stopping.freed) == ("low", "a", {G5: 2})
    world.pass_time(300)
    world.check()
    assert world.seen("a").job.demand == {G5: 2}
    assert world.states("high", "low") == {"high": "running", "low": "preempted"}


def test_an_attempt_is_stopped_for_the_limit_of_a_team_though_the_first_preference_is_paused() -> None:
    sizes = {P5: 1, G5: 4}
    world = world_of(sizes, teams={"a": {"limit": {G5: 2}}, "default": {}})
    team = [{"Key": "team", "Value": "a"}]
    world.submit("low", ResourceConfig=on(2, G5), Tags=[*team, {"Key": "priority", "Value": "0"}], Environment=DAY)
    world.tick()
    world.pass_time(300)
    world.container.pool_operations.pause(P5, "user/ada", "maintenance")
    high = [*team, {"Key": "priority", "Value": "9"}]
    submit(world, "a", {"ResourceConfig": on(2, G5)}, request={"Tags": high})
    assert not world.tick().rejected
    world.pass_time(300)
    world.check()
    assert world.states("low", "a") == {"low": "preempted", "a": "running"}


def test_a_start_that_is_not_as_it_was_decided_is_refused() -> None:
    world = world_of()
    world.submit("full", Environment=DAY)
    world.tick()
    submit(world, "a", SPOT)

    def change_limit() -> None:
        job = get_job(world.table, "a")
        first, other = job.choices
        choices = (first, other.model_copy(update={"limit_ms": 1}))
        world.table.write(
            [job.model_copy(update={"choices": choices, "version": job.version + 1}).put(was=job.version)]
        )

    report = world.interrupted_tick(change_limit)
    world.check()
    assert report.rejected
    assert world.states("a") == {"a": "pending"}


def test_a_preemption_requires_the_job_in_the_queue_of_the_alternative_that_it_is_for() -> None:
    world = world_of()
    submit(world, "a", SPOT)
    preemptor = get_job(world.table, "a")
    victim = builders.job(demand={G5: 2}, job_name="b")
    attempt = builders.attempt(demand={G5: 2}, job_name="b")
    _, writes = transitions.preempt(victim, attempt, preemptor.waiting(), {G5: 2}, builders.REASON, 0)
    assert [write.key.pk for write in writes if isinstance(write, Check) and write.key.pk.startswith("line")] == [
        f"line#{G5}"
    ]


def test_what_is_freed_for_an_alternative_is_reserved_for_it() -> None:
    world = world_of()
    submit(world, "a", SPOT)
    kept, writes = keep_for_preemptor({G5: 2}, get_job(world.table, "a"), None)
    assert kept == {G5: 2}
    assert len(writes) == 1


def test_a_lost_attempt_is_adopted_on_the_alternative_that_it_runs_on() -> None:
    world = world_of()
    submit(world, "a", SPOT)
    rogue, described = builders.rogue(demand={G5: 2}, charged={G5: 2}), {"ResourceConfig": on(2, G5)}
    ledger = read_ledger(world.table)
    writes = adoption(ledger, world.configured(), rogue, described, get_job(world.table, "a"), "m", 0, 0)
    assert writes is not None
    found = [write.item for write in writes if isinstance(write, Put) and "attemptState" in write.item]
    assert [(item["demand"], item["alternative"]) for item in found] == [({G5: 2}, 1)]


def test_a_start_in_a_pool_with_a_calendar_is_counted_there() -> None:
    world = world_of()
    schedule = [{"days": ["mon"], "from": "08:00", "to": "20:00", "size": 3}]
    pools = {P5: {"size": 1}, G5: {"size": 2, "schedule": schedule}}
    world.configuration.write({"pools": pools})
    world.submit("full", Environment=DAY)
    world.tick()
    before = read_ledger(world.table).calendars[0].version
    submit(world, "a", SPOT)
    world.tick()
    assert world.seen("a").job.demand == {G5: 2}
    assert read_ledger(world.table).calendars[0].version == before + 1


def test_jobs_with_alternatives_do_not_hide_those_behind_them() -> None:
    world = world_of({P5: 1, G6: 1, G5: 1}, backfill={"enabled": False})
    submit(world, "a", {"ResourceConfig": on(1, G5)})
    submit(world, "b", {"ResourceConfig": on(1, G5)}, request={"ResourceConfig": on(1, G6)})
    world.submit("c", ResourceConfig=on(1, G5))
    world.tick()
    world.check()
    assert world.states("a", "b", "c") == {"a": "running", "b": "running", "c": "running"}


def test_the_guarantee_of_a_team_counts_in_each_queue() -> None:
    teams = {"a": {"guaranteed": {P5: 1, G5: 2}}, "default": {}}
    world = world_of(teams=teams)
    team = {"Tags": [{"Key": "team", "Value": "a"}]}
    submit(world, "a", {"ResourceConfig": on(2, G5)}, request=team)
    submit(world, "b", {"ResourceConfig": on(2, G5)}, request=team)
    world.tick()
    world.check()
    assert [world.seen(name).job.demand for name in ("a", "b")] == [{P5: 1}, {G5: 2}]


def test_the_request_of_an_attempt_is_that_of_its_alternative() -> None:
    world = world_of()
    world.submit("full", Environment=DAY)
    world.tick()
    submit(world, "a", SPOT)
    world.tick()
    attempt = next(each for each in read_ledger(world.table).attempts if each.job_name == "a")
    made = find_request_of(world.table, attempt)
    assert made is not None
    assert made["ResourceConfig"] == on(2, G5)


def test_the_request_of_a_job_with_alternatives_cannot_change() -> None:
    world = world_of()
    submit(world, "a", SPOT)
    with pytest.raises(InvalidRequest, match="has alternatives: stop it"):
        world.changes.change("a", RequestChange(instances=1), ROOT)


def test_a_repeated_submission_is_the_same_job() -> None:
    world = world_of()
    submit(world, "a", SPOT)
    submit(world, "a", SPOT)
    assert lines(world) == {P5: ["a"], G5: ["a"]}


@pytest.mark.parametrize(
    ("others", "terms"),
    [
        ([{"ResourceConfig": on(1, G5)}], {}),
        ([SPOT], {"wait_at_most_s": 1}),
        ([SPOT], {"portable_checkpoint": True}),
    ],
)
def test_other_alternatives_make_another_request(others: list[Any], terms: dict[str, Any]) -> None:
    world = world_of()
    submit(world, "a", SPOT)
    with pytest.raises(NameInUse):
        submit(world, "a", *others, **terms)


def test_a_request_without_its_alternatives_is_another_one() -> None:
    world = world_of()
    submit(world, "a", SPOT)
    with pytest.raises(NameInUse):
        world.submit("a", Environment=DAY)


def test_each_pool_of_a_job_counts_for_the_limits_of_queues() -> None:
    world = world_of(limits={"waitingPerTeam": 1})
    world.submit("b", ResourceConfig=on(1, G5))
    with pytest.raises(QueueFull, match=G5):
        submit(world, "a", SPOT)


def test_a_held_job_leaves_all_queues_and_returns_to_them() -> None:
    world = world_of()
    submit(world, "a", SPOT)
    world.commands.hold("a", ROOT)
    assert lines(world) == {P5: [], G5: []}
    world.commands.release("a", ROOT)
    assert lines(world) == {P5: ["a"], G5: ["a"]}
    world.commands.set_priority("a", 7, ROOT)
    assert lines(world) == {P5: ["a"], G5: ["a"]}
    world.commands.stop("a", ROOT)
    assert lines(world) == {P5: [], G5: []}


def test_a_dry_run_and_a_forecast_know_the_alternatives() -> None:
    world = world_of()
    world.submit("full", Environment=DAY)
    world.tick()
    made = request("a", Environment=DAY)
    found = world.forecast_service.dry_run(Submission(request=made, alternatives=[SPOT]), ROOT)
    assert found.expected_start_ms == world.clock()
    submit(world, "a", SPOT)
    (expected,) = world.forecast_service.forecast("a", 1).jobs
    assert expected.start_ms == world.clock()
    assert {use.pool for use in world.forecast_service.explain("a").pools} == {P5, G5}
