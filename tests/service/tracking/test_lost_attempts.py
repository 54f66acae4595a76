"""Attempts of this queue without a record: detection, adoption, and stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headway_sandbox.sagemaker.faults import Faults
from headway_service.jobs.rogue_stops import RogueJobStops
from headway_service.ports.table import Delete, Equals
from headway_service.sagemaker_api.names import attempt_name
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store.ledger import read_ledger
from headway_service.store.marks import Marks
from headway_service.store.records.capacity.attempt import AttemptRecord, GivenUpRecord
from headway_service.store.records.capacity.ledger import PoolRecord
from headway_service.store.records.job import JobRecord
from headway_service.tracking.lost_attempts import Lost, Origin, origin_of
from tests.service.tracking.test_restored import put_back, state_of, until
from tests.service.tracking.test_rogue_jobs import configure, create, interrupt, reason, rogue_of, rogues
from tests.service.tracking.test_stored_preferences import keep_preferences
from tests.service.world import P5, ROOT, World, on

LONG = {"SANDBOX_RUN_SECONDS": "80000"}

ORPHAN_S = 900
"""A lost attempt is charged within this time of becoming visible."""


def job_of(world: World, name: str) -> JobRecord:
    item = world.table.get(JobRecord.key(name))
    assert item is not None
    return JobRecord.parse(item)


def tags(job: str, mark: str) -> list[dict[str, str]]:
    return [{"Key": JOB_TAG, "Value": job}, {"Key": ATTEMPT_TAG, "Value": mark}]


def origin(world: World, name: str, job: str, mark: str) -> Lost:
    return origin_of(world.table, world.marks, name, {JOB_TAG: job, ATTEMPT_TAG: mark})


def mark_of(world: World, job: str, number: int = 1) -> str:
    """The mark of an attempt of a job."""
    return world.marks.of(job, attempt_name(job, number), job_of(world, job).entry_time)


def lose(world: World, job: str, **changes: Any) -> None:
    """SageMaker runs the next attempt of a waiting job, and the queue does not know that."""
    known = job_of(world, job)
    number = known.attempt_count + 1
    create(world, attempt_name(job, number), Tags=tags(job, mark_of(world, job, number)), **changes)


def world_with(*jobs: str, pools: dict[str, int] | None = None, **configuration: Any) -> World:
    """A queue with jobs that wait."""
    world = World(pools=pools)
    world.configuration.write({**world.configuration.document, **configuration})
    world.tick()
    for job in jobs:
        world.submit(job)
    return world


def held(world: World) -> dict[str, int]:
    """What each live attempt holds."""
    return {each.attempt_name: each.demand.get(P5, 0) for each in read_ledger(world.table).attempts}


# ------------------------------------------------------------------------------------------------------- whose they are


def test_an_attempt_that_its_job_waits_for_is_awaited() -> None:
    world = world_with("a")
    found = origin(world, "a", "a", mark_of(world, "a"))
    assert (found.origin, found.job_name) == (Origin.AWAITED, "a")
    assert found.job == job_of(world, "a")


def forged(world: World) -> dict[str, tuple[str, str, str]]:
    """Name, job and mark of training jobs with forged claims."""
    mark = mark_of(world, "a")
    return {
        "a mark of a's first attempt on another training job": ("other", "a", mark),
        "a mark of a's first attempt on the name of its second": (attempt_name("a", 2), "a", mark),
        "a mark of a's first attempt that names another job": ("a", "b", mark),
        "a mark of a's second attempt on its first": ("a", "a", mark_of(world, "a", 2)),
        "a made-up code": ("a", "a", "queue/" + "0" * 32),
        "the prefix alone": ("a", "a", "queue/"),
    }


@pytest.mark.parametrize("case", list(forged(world_with("a"))))
def test_a_mark_that_was_copied_or_forged_proves_nothing(case: str) -> None:
    world = world_with("a", "b")
    name, job, mark = forged(world)[case]
    assert origin(world, name, job, mark).origin is Origin.STRAY
    create(world, name, Tags=tags(job, mark))
    world.pass_time(VISIBLE_AFTER_S, tick=False)
    world.patrol()
    world.patrol()
    assert rogues(world) == {name: {P5: 1}}
    assert world.called("StopTrainingJob") == []
    assert world.states("a", "b") == {"a": "pending", "b": "pending"}


@pytest.mark.parametrize(
    "mark",
    ["", "a-users-own", "other-queue/" + "0" * 32, "queue-2/" + "0" * 32],
    ids=["no mark", "a tag of a user", "another queue", "a queue whose name begins alike"],
)
def test_a_mark_of_another_queue_or_user_is_never_accepted(mark: str) -> None:
    world = world_with("a")
    assert origin(world, "a", "a", mark) == Lost(origin=Origin.OUTSIDE, job_name="a")
    create(world, "a", Tags=tags("a", mark))
    world.pass_time(VISIBLE_AFTER_S, tick=False)
    world.patrol()
    assert rogues(world) == {"a": {P5: 1}}
    assert reason(world, "a")[1].startswith("did not come through the queue;")


def test_another_deployment_has_another_key() -> None:
    one, other = world_with("a"), world_with("a")
    theirs = Marks(other.table, "other-queue", lambda: "another key")
    mark = theirs.of("a", "a", job_of(other, "a").entry_time).replace("other-queue/", "queue/")
    assert origin(one, "a", "a", mark).origin is Origin.STRAY


def test_an_attempt_of_an_earlier_job_of_the_same_name_is_not_of_the_later_one() -> None:
    world = world_with("a")
    mark = mark_of(world, "a")
    world.commands.stop("a", ROOT)
    # The table forgets an ended job after a while.
    world.table.write([Delete(key=JobRecord.key("a"))])
    world.now_s += 1
    world.submit("a")
    assert job_of(world, "a").job_state == "pending"
    assert origin(world, "a", "a", mark).origin is Origin.STRAY
    create(world, "a", Tags=tags("a", mark))
    world.pass_time(VISIBLE_AFTER_S, tick=False)
    world.patrol()
    assert rogues(world) == {"a": {P5: 1}}
    world.tick()
    world.patrol()
    assert world.seen("a").job.live_attempt == attempt_name("a", 2)
    assert rogues(world) == {"a": {P5: 1}}
    world.check()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda world: world.commands.hold("a", ROOT), id="is held"),
        pytest.param(lambda world: world.commands.stop("a", ROOT), id="was stopped"),
        pytest.param(lambda world: world.tick(), id="runs already"),
    ],
)
def test_nothing_is_awaited_by_a_job_that(change: Callable[[World], object]) -> None:
    world = world_with("a")
    mark = mark_of(world, "a")
    change(world)
    assert origin(world, "a", "a", mark).origin is Origin.STRAY


def test_a_record_of_an_abandoned_launch_is_proof_for_its_mark_only() -> None:
    world = world_with("a")
    mark = mark_of(world, "a")
    given_up = GivenUpRecord(attempt_name="a", job_name="a", mark=mark, given_up_ms=1, expires_at=2_000_000_000)
    world.table.write([given_up.put()])
    assert origin(world, "a", "a", mark).origin is Origin.GIVEN_UP
    assert origin(world, "a", "a", "queue/" + "0" * 32).origin is Origin.STRAY
    assert origin(world, "a", "a", "").origin is Origin.OUTSIDE
    assert origin(world, "b", "a", mark).origin is Origin.STRAY


# ------------------------------------------------------------------------------------------------------------- given up


@pytest.mark.parametrize("stop", [False, True], ids=["that goes on", "that was stopped"])
def test_an_abandoned_launch_that_appears_late_is_charged_and_stopped_and_its_job_is_trained_once(
    stop: bool,
) -> None:
    world = World(pools={P5: 2})
    world.fleet.faults = Faults(
        describe_lag_s=9000,
        list_lag_s=9000,
        quota_before_name=True,
        quotas={P5: 1},
        lose_answer={"CreateTrainingJob": 1},
    )
    world.submit("a", Environment={"SANDBOX_RUN_SECONDS": "20000"})
    world.tick()
    if stop:
        world.commands.stop("a", ROOT)
    until_given_up(world)
    # From now on SageMaker shows it. Events are lost.
    shown_s = world.now_s
    world.fleet.faults = Faults()
    second = attempt_name("a", 2)
    while rogue_of(world, "a") is None:
        assert world.now_s <= shown_s + ORPHAN_S
        minute(world)
    assert rogues(world) == {"a": {P5: 1}}
    while world.fleet.jobs(now=world.now_s)[0].status == "InProgress":
        assert world.now_s <= shown_s + ORPHAN_S
        minute(world)
    assert world.called("StopTrainingJob") == ["a"]
    for _ in range(12):
        minute(world)
    assert rogues(world) == {}
    if stop:
        assert world.states("a") == {"a": "stopped"}
        return
    assert world.seen("a").job.live_attempt == second
    world.fleet.finish(second, now=world.now_s)
    world.pass_time(5)
    assert world.states("a") == {"a": "completed"}
    assert {job.name: job.status for job in world.fleet.jobs(now=world.now_s)} == {"a": "Stopped", second: "Completed"}


def until_given_up(world: World) -> None:
    while world.table.get(GivenUpRecord.key("a")) is None:
        world.now_s += 30
        world.tick()


def minute(world: World) -> None:
    world.pass_time(60, deliver=False)
    world.reconcile()
    world.patrol()
    world.tick()


# ------------------------------------------------------------------------------------------------------------- adoption


def adopted(world: World) -> bool:
    world.pass_time(5, tick=False, deliver=False)
    world.patrol()
    world.check()
    return "a" in held(world)


def free(world: World) -> int:
    item = world.table.get(PoolRecord.key(P5))
    assert item is not None
    return int(item["free"])


def test_an_attempt_is_adopted_with_its_holds_and_the_rogue_record_is_deleted() -> None:
    world = world_with("a")
    lose(world, "a")
    world.pass_time(5, tick=False)
    assert (held(world), rogues(world), free(world)) == ({"a": 1}, {}, 1)
    assert world.states("a") == {"a": "running"}
    assert world.seen("a").job.reason.code == "Adopted"
    world.fleet.finish("a", now=world.now_s)
    world.pass_time(5)
    assert world.states("a") == {"a": "completed"}
    assert free(world) == 2


@pytest.mark.parametrize(("asked", "runs"), [(1, 3), (3, 1)])
def test_an_attempt_is_adopted_with_the_instances_and_the_limit_that_sagemaker_reports(asked: int, runs: int) -> None:
    world = world_with(pools={P5: 4}, maxPendingSeconds=600)
    world.submit("a", ResourceConfig=on(asked), StoppingCondition={"MaxRuntimeInSeconds": 1000})
    # Its request was changed from `asked` to `runs` instances, and the table was restored to before that.
    lose(world, "a", ResourceConfig=on(runs), StoppingCondition={"MaxRuntimeInSeconds": 5000})
    assert adopted(world)
    assert (held(world), rogues(world), free(world)) == ({"a": runs}, {}, 4 - runs)
    (attempt,) = read_ledger(world.table).attempts
    assert attempt.limit_ms == (5000 + 600 + world.configured().overhead_seconds) * 1000
    world.submit("b", ResourceConfig=on(5 - runs))
    world.tick()
    assert world.states("b") == {"b": "pending"}, "no instance is given out twice"
    world.fleet.finish("a", now=world.now_s)
    world.pass_time(5, tick=False)
    assert (world.states("a"), free(world)) == ({"a": "completed"}, 4)
    assert world.seen("a").job.attempts[-1].demand == {P5: runs}


def test_an_adopted_attempt_with_other_instances_than_its_job_asks_for_needs_room_for_its_own() -> None:
    world = world_with("full", pools={P5: 3})
    world.tick()
    world.submit("a", ResourceConfig=on(1))
    lose(world, "a", ResourceConfig=on(3))
    assert not adopted(world)
    assert (rogues(world), free(world)) == ({"a": {P5: 3}}, -1)
    world.fleet.finish("full", now=world.now_s)
    world.pass_time(5, tick=False)
    world.pass_time(300, tick=False, deliver=False)
    assert adopted(world)
    assert (held(world), free(world)) == ({"a": 3}, 0)


def test_a_team_at_its_limit_is_judged_by_the_instances_that_sagemaker_reports() -> None:
    world = world_with(pools={P5: 4}, teams={"red": {"limit": {P5: 2}}})
    world.submit("a", Tags=[{"Key": "team", "Value": "red"}], ResourceConfig=on(1))
    lose(world, "a", ResourceConfig=on(3))
    assert not adopted(world)
    assert (held(world), rogues(world)) == ({}, {"a": {P5: 3}})


def test_an_adopted_attempt_matches_warm_pools_by_the_instances_that_sagemaker_reports() -> None:
    world = world_with(pools={P5: 4}, warmPools={})
    for name, count in (("a", 1), ("other", 3)):
        world.submit(name, ResourceConfig=on(count))
    lose(world, "a", ResourceConfig=on(3))
    assert adopted(world)
    (attempt,) = [each for each in read_ledger(world.table).attempts if each.job_name == "a"]
    assert attempt.warm_key == job_of(world, "other").warm_key != ""


def test_without_warm_pools_an_adopted_attempt_matches_none() -> None:
    world = world_with("a")
    lose(world, "a")
    assert adopted(world)
    assert read_ledger(world.table).attempts[0].warm_key == ""


@pytest.mark.parametrize("limit_s", [1000, 90_000], ids=["a shorter limit", "a longer limit"])
@pytest.mark.parametrize("runs", [1, 3])
def test_a_start_of_an_attempt_that_runs_already_takes_over_what_is_charged_for_it(runs: int, limit_s: int) -> None:
    world = world_with(pools={P5: 6})
    world.submit("a", ResourceConfig=on(2), Environment=LONG)
    asked_ms = job_of(world, "a").limit_ms
    lose(world, "a", ResourceConfig=on(runs), StoppingCondition={"MaxRuntimeInSeconds": limit_s}, Environment=LONG)
    # While its job is held, the patrol does not adopt it.
    world.commands.hold("a", ROOT)
    assert not adopted(world)
    assert (rogues(world), free(world)) == ({"a": {P5: runs}}, 6 - runs)
    world.commands.release("a", ROOT)
    world.tick()
    assert (held(world), rogues(world), free(world)) == ({"a": runs}, {}, 6 - runs)
    (attempt,) = read_ledger(world.table).attempts
    assert asked_ms is not None
    assert attempt.limit_ms == max(asked_ms, (limit_s + world.configured().overhead_seconds) * 1000)
    world.check()
    world.fleet.finish("a", now=world.now_s)
    world.pass_time(5, tick=False)
    assert (world.states("a"), free(world)) == ({"a": "completed"}, 6)


def test_a_start_takes_over_no_charge_while_no_instance_type_is_selected() -> None:
    cpu = "ml.c5.xlarge"
    world = world_with(pools={P5: 4, cpu: 4})
    world.fleet.faults = Faults(capacity={P5: 0, cpu: 0}, capacity_wait_s=9000)
    preferences = [{"InstanceType": kind, "InstanceCount": 1} for kind in (P5, cpu)]
    resources = {"InstancePreferences": preferences, "VolumeSizeInGB": 30}
    keep_preferences(world, "a", resources)
    lose(world, "a", ResourceConfig=resources)
    world.commands.hold("a", ROOT)
    assert not adopted(world)
    assert rogues(world) == {"a": {}}
    world.commands.release("a", ROOT)
    world.tick()
    (attempt,) = read_ledger(world.table).attempts
    assert attempt.demand == {P5: 1, cpu: 1}


def test_a_start_takes_over_no_charge_of_an_earlier_training_job_with_its_name() -> None:
    world = world_with(pools={P5: 6})
    world.submit("a", ResourceConfig=on(2), Environment=LONG)
    lose(world, "a", ResourceConfig=on(1), Environment=LONG)
    world.commands.hold("a", ROOT)
    assert not adopted(world)
    rogue = rogue_of(world, "a")
    assert rogue is not None
    earlier = rogue.model_copy(update={"created_ms": rogue.created_ms - 9000})
    world.table.write([earlier.put(requires=Equals("version", rogue.version))])
    world.commands.release("a", ROOT)
    world.tick()
    assert (held(world), rogues(world), free(world)) == ({"a": 2}, {"a": {P5: 1}}, 3)


def test_an_attempt_in_a_pool_that_is_full_is_adopted_when_there_is_room_again() -> None:
    world = world_with("full", pools={P5: 1})
    world.tick()
    world.submit("a")
    lose(world, "a")
    assert not adopted(world)
    assert (rogues(world), free(world)) == ({"a": {P5: 1}}, -1)
    world.fleet.finish("full", now=world.now_s)
    world.pass_time(5, tick=False)
    assert free(world) == 0
    world.pass_time(300, tick=False, deliver=False)
    assert adopted(world)
    assert (rogues(world), free(world)) == ({}, 0)


def test_an_attempt_is_adopted_in_the_pool_that_sagemaker_has_selected() -> None:
    cpu = "ml.c5.xlarge"
    world = world_with(pools={P5: 2, cpu: 1})
    world.submit("full", ResourceConfig=on(1, cpu))
    world.tick()
    preferences = [{"InstanceType": kind, "InstanceCount": 1} for kind in (P5, cpu)]
    resources = {"InstancePreferences": preferences, "VolumeSizeInGB": 30}
    keep_preferences(world, "a", resources)
    lose(world, "a", ResourceConfig=resources)
    world.pass_time(300, tick=False, deliver=False)
    assert adopted(world)
    (attempt,) = [each for each in read_ledger(world.table).attempts if each.job_name == "a"]
    assert attempt.demand == {P5: 1}


@pytest.mark.parametrize("now", [{P5: 1}, {P5: 2}], ids=["as it asks", "another number"])
def test_an_attempt_without_a_selected_instance_type_is_adopted_when_one_is_selected(
    now: dict[str, int],
) -> None:
    cpu = "ml.c5.xlarge"
    world = world_with(pools={P5: 4, cpu: 4})
    world.fleet.faults = Faults(capacity={P5: 0, cpu: 0}, capacity_wait_s=9000)

    def preferring(count: int) -> dict[str, Any]:
        preferences = [{"InstanceType": kind, "InstanceCount": count} for kind in (P5, cpu)]
        return {"InstancePreferences": preferences, "VolumeSizeInGB": 30}

    keep_preferences(world, "a", preferring(1))
    lose(world, "a", ResourceConfig=preferring(now[P5]))
    assert not adopted(world)
    assert rogues(world) == {"a": {}}
    world.fleet.faults = Faults(capacity={cpu: 0})
    world.pass_time(600, tick=False)
    assert adopted(world)
    (attempt,) = read_ledger(world.table).attempts
    assert attempt.demand == now
    world.check()


def test_an_attempt_beyond_the_limit_of_its_team_is_not_adopted_before_there_is_room() -> None:
    world = world_with(pools={P5: 4}, teams={"red": {"limit": {P5: 2}}})
    team = [{"Key": "team", "Value": "red"}]
    for name, count in (("r", 1), ("a", 2)):
        world.submit(name, Tags=team, ResourceConfig=on(count))
        if name == "r":
            world.tick()
    lose(world, "a", ResourceConfig=on(2))
    assert not adopted(world)
    assert (held(world), rogues(world)) == ({"r": 1}, {"a": {P5: 2}})
    world.fleet.finish("r", now=world.now_s)
    world.pass_time(5, tick=False)
    world.pass_time(300, tick=False, deliver=False)
    assert adopted(world)


def test_a_concurrent_start_of_the_team_is_detected() -> None:
    world = world_with(pools={P5: 4}, teams={"red": {"limit": {P5: 2}}})
    team = [{"Key": "team", "Value": "red"}]
    world.submit("a", Tags=team, ResourceConfig=on(2))
    lose(world, "a", ResourceConfig=on(2))

    def start_another() -> None:
        world.submit("r", Tags=[*team, {"Key": "priority", "Value": "9"}])
        world.tick()
        assert world.states("r") == {"r": "running"}

    with pytest.MonkeyPatch.context() as patched:
        after(patched, "headway_service.tracking.rogue_jobs.read_ledger", start_another)
        world.pass_time(5, tick=False, deliver=False)
        world.patrol()
    assert held(world) == {"r": 1}
    assert rogues(world) == {"a": {P5: 2}}
    world.check()


def after(patched: pytest.MonkeyPatch, name: str, act: Callable[[], object]) -> None:
    """Others act once, just after the ledger was read."""
    left = [act]

    def read(table: Any) -> Any:
        found = read_ledger(table)
        if left:
            left.pop()()
        return found

    patched.setattr(name, read)


def test_a_concurrent_start_of_the_same_job_wins_and_finds_the_attempt() -> None:
    world = world_with("a", pools={P5: 4})
    lose(world, "a")
    with pytest.MonkeyPatch.context() as patched:
        after(patched, "headway_service.tracking.rogue_jobs.read_ledger", world.tick)
        world.pass_time(5, tick=False, deliver=False)
        world.patrol()
    assert held(world) == {"a": 1}
    world.pass_time(300, tick=False, deliver=False)
    world.patrol()
    assert (held(world), rogues(world), free(world)) == ({"a": 1}, {}, 3)
    assert [job.name for job in world.fleet.jobs(now=world.now_s)] == ["a"]
    world.check()


def test_a_start_between_two_checks_adopts_the_attempt_and_deletes_the_rogue_record() -> None:
    world = world_with("a", pools={P5: 4})
    lose(world, "a")
    interrupt(world.rogues, "_known", world.tick)
    world.rogues.refresh("a", world.clock())
    world.pass_time(300, tick=False, deliver=False)
    world.patrol()
    assert (held(world), rogues(world), free(world)) == ({"a": 1}, {}, 3)


def test_the_reservation_of_a_job_is_released_when_its_attempt_is_adopted() -> None:
    world = world_with("small", pools={P5: 2})
    world.tick()
    world.submit("other", 1)
    world.tick()
    world.submit("a", 9, ResourceConfig=on(2))
    world.tick()
    world.fleet.finish("other", now=world.now_s)
    world.pass_time(400, tick=False)
    assert read_ledger(world.table).reservation_of("a") is not None
    lose(world, "a", ResourceConfig=on(2))
    world.pass_time(1000, tick=False)
    world.patrol()
    assert adopted(world)
    assert read_ledger(world.table).reservations == ()
    world.check()


def test_a_job_with_a_changed_priority_keeps_it_when_its_attempt_is_adopted() -> None:
    world = world_with("a", pools={P5: 4})
    lose(world, "a")
    with pytest.MonkeyPatch.context() as patched:
        after(
            patched,
            "headway_service.tracking.rogue_jobs.read_ledger",
            lambda: world.commands.set_priority("a", 7, ROOT),
        )
        world.pass_time(5, tick=False, deliver=False)
        world.patrol()
    assert held(world) == {}, "the job has changed since it was read"
    world.pass_time(300, tick=False, deliver=False)
    assert adopted(world)
    item = world.table.get(AttemptRecord.key("a"))
    assert item is not None
    assert AttemptRecord.parse(item).priority == 7
    world.submit("b", 9, ResourceConfig=on(4))
    world.tick()
    assert world.states("a") == {"a": "stopping"}


def test_an_attempt_stopped_by_an_operator_is_not_adopted() -> None:
    world = world_with("full", pools={P5: 1})
    world.tick()
    world.submit("a")
    lose(world, "a")
    assert not adopted(world)
    RogueJobStops(world.table, world.clocks).ask("a", "user/ada")
    world.fleet.finish("full", now=world.now_s)
    world.pass_time(VISIBLE_AFTER_S, tick=False)
    assert not adopted(world)
    assert world.called("StopTrainingJob") == ["a"]
    until(world, 30, lambda: world.seen("a").job.live_attempt == attempt_name("a", 2))
    assert world.seen("a").job.live_attempt == attempt_name("a", 2)


def test_an_attempt_of_this_queue_is_charged_even_without_charging_of_rogue_jobs() -> None:
    world = world_with("a", rogues={"charge": False})
    create(world, "past")
    create(world, "lost", Tags=tags("forgotten", "queue/" + "0" * 32))
    world.pass_time(5, tick=False)
    assert rogues(world) == {"past": {}, "lost": {P5: 1}}


def test_a_policy_that_stops_rogue_jobs_stops_no_attempt_of_this_queue() -> None:
    world = world_with("a")
    configure(world, rogues={"action": "stop"})
    create(world, "past")
    create(world, "lost", Tags=tags("forgotten", "queue/" + "0" * 32))
    world.pass_time(VISIBLE_AFTER_S)
    world.patrol()
    assert world.called("StopTrainingJob") == ["past"]


def test_the_table_is_restored_to_before_an_abandoned_launch() -> None:
    """Without the record nothing may be stopped."""
    world = World(pools={P5: 2})
    world.fleet.faults = Faults(
        describe_lag_s=900, list_lag_s=900, quota_before_name=True, quotas={P5: 1}, lose_answer={"CreateTrainingJob": 1}
    )
    world.submit("a", Environment={"SANDBOX_RUN_SECONDS": "20000"})
    before = state_of(world)
    world.tick()
    until_given_up(world)
    world.now_s += 1000
    put_back(world, before)
    world.fleet.faults = Faults()
    until(world, 10)
    assert world.called("StopTrainingJob") == []
    assert held(world) == {"a": 1}, "its job waits for it again"


def test_a_start_waits_for_a_stopping_attempt_and_uses_the_next_name() -> None:
    world = world_with("a")
    lose(world, "a")
    world.pass_time(400, tick=False, deliver=False)
    world.fleet.stop("a", now=world.now_s)
    world.tick()
    assert (held(world), world.states("a")) == ({"a": 1}, {"a": "running"}), "its instances are not free yet"
    while world.fleet.jobs(now=world.now_s)[0].status == "Stopping":
        assert held(world) == {"a": 1}
        world.now_s += 11
        world.tick()
    assert held(world) == {attempt_name("a", 2): 1}
    assert world.states("a") == {"a": "running"}


def test_a_launch_without_an_answer_stopped_outside_the_queue_ends_its_job() -> None:
    """The queue knows of this launch, so it has not forgotten a preemption."""
    world = world_with("a")
    world.fleet.faults = Faults(lose_answer={"CreateTrainingJob": 1})
    world.tick()
    world.fleet.stop("a", now=world.now_s)
    world.pass_time(400, deliver=False)
    world.tick()
    assert world.states("a") == {"a": "stopped"}


def test_a_job_named_like_another_jobs_attempt_has_different_marks() -> None:
    world = World()
    name = attempt_name("a", 2)
    assert world.marks.of("a", name, 1) != world.marks.of(name, name, 1)
