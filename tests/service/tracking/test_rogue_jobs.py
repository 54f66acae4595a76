"""Rogue training jobs: detected, charged, published, stopped if the policy requires it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.request_builder import G5
from headway_service.pools.apply_config import find_applied
from headway_service.ports.table import Key
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.ledger import PoolRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.tracking.rogue_jobs import STOP_AGAIN_S, RogueJobTracker, demand_of
from headway_service.tracking.rogue_scan import MAX_DESCRIBED
from headway_service.tracking.training_job_scan import LONGEST_S, MAX_PAGES, PAGE_INTERVAL_S
from tests.service.world import P5, ROOT, World, on, request

MARKS = [{"Key": JOB_TAG, "Value": "a"}, {"Key": ATTEMPT_TAG, "Value": "mark-1"}]
GROUPS = {
    "InstanceGroups": [
        {"InstanceGroupName": "x", "InstanceType": P5, "InstanceCount": 1},
        {"InstanceGroupName": "y", "InstanceType": G5, "InstanceCount": 2},
        {"InstanceGroupName": "z", "InstanceType": P5, "InstanceCount": 1},
    ],
    "VolumeSizeInGB": 30,
}
LONG = {"SANDBOX_RUN_SECONDS": "20000"}


def world_of(pools: Mapping[str, int] | None = None, **configuration: Any) -> World:
    """A queue that has had its first tick."""
    world = World(pools=pools)
    configure(world, **configuration)
    return world


def configure(world: World, **configuration: Any) -> None:
    world.configuration.write({**world.configuration.document, **configuration})
    world.tick()


def create(world: World, name: str = "rogue", **changes: Any) -> None:
    """Call CreateTrainingJob without the queue."""
    world.fleet.create(request(name, **{"Environment": LONG, **changes}), now=world.now_s)


def rogue_of(world: World, name: str = "rogue") -> RogueJobRecord | None:
    item = world.table.get(RogueJobRecord.key(name))
    return RogueJobRecord.parse(item) if item else None


def rogues(world: World) -> dict[str, dict[str, int]]:
    """What each rogue job is charged."""
    return {each.training_job_name: each.charged for each in read_ledger(world.table).rogues}


def free(world: World, pool: str = P5) -> int:
    world.check()
    item = world.table.get(PoolRecord.key(pool))
    assert item is not None
    return int(item["free"])


def reason(world: World, name: str = "rogue") -> tuple[str, str]:
    rogue = rogue_of(world, name)
    assert rogue is not None
    return str(rogue.reason.code), rogue.reason.message


def test_a_rogue_job_is_recorded_by_its_first_event_and_charged_until_its_end_event() -> None:
    world = world_of()
    create(world)
    world.pass_time(1)
    assert rogues(world) == {"rogue": {P5: 1}}
    assert free(world) == 1
    assert reason(world) == (
        "OutsideTheQueue",
        "did not come through the queue; uses 1 ml.p5.48xlarge of its pools",
    )
    world.fleet.finish("rogue", now=world.now_s)
    world.pass_time(1)
    assert rogues(world) == {}
    assert free(world) == 2


def test_the_scan_finds_a_rogue_job_without_events_and_its_end() -> None:
    world = world_of()
    create(world)
    world.pass_time(60, deliver=False)
    world.patrol()
    assert rogues(world) == {"rogue": {P5: 1}}
    world.fleet.finish("rogue", now=world.now_s)
    world.pass_time(200, deliver=False)
    world.patrol(after_s=300)
    assert rogues(world) == {"rogue": {P5: 1}}, "it was heard of not long ago"
    world.pass_time(100, deliver=False)
    world.wakes.clear()
    world.patrol(after_s=300)
    assert rogues(world) == {}
    assert free(world) == 2
    assert world.wakes == ["the patrol has freed instances"]


def test_the_record_of_a_deleted_rogue_job_is_removed() -> None:
    world = world_of()
    create(world)
    world.pass_time(1)
    world.fleet.finish("rogue", now=world.now_s)
    world.fleet.delete("rogue", now=world.now_s)
    world.pass_time(300, deliver=False)
    world.patrol()
    assert (rogues(world), free(world)) == ({}, 2)


def test_a_training_job_with_the_name_of_a_rogue_one_is_distinguished() -> None:
    world = world_of()
    create(world)
    world.pass_time(1)
    world.fleet.finish("rogue", now=world.now_s)
    world.fleet.delete("rogue", now=world.now_s)
    world.pass_time(300, deliver=False)
    create(world, ResourceConfig=on(2))
    world.patrol()
    world.patrol()
    assert (rogues(world), free(world)) == ({"rogue": {P5: 2}}, 0)


def test_an_attempt_with_the_name_of_a_rogue_job_is_distinguished() -> None:
    world = world_of()
    create(world, "a")
    world.pass_time(1)
    world.fleet.finish("a", now=world.now_s)
    world.fleet.delete("a", now=world.now_s)
    world.pass_time(300, deliver=False)
    world.submit("a")
    world.tick()
    assert world.seen("a").job.live_attempt == "a"
    world.patrol()
    assert (rogues(world), free(world)) == ({}, 1)


def test_repeated_late_or_unordered_events_charge_once_and_release_once() -> None:
    world = world_of()
    create(world)
    details = list(world.fleet.advance(world.now_s))
    world.fleet.finish("rogue", now=world.now_s)
    details += world.fleet.advance(world.now_s)
    assert [each["TrainingJobStatus"] for each in details][::4] == ["InProgress", "Completed"]
    for detail in [*details, *reversed(details), *details]:
        world.on_event(detail)
        assert rogues(world) == {}, "it has ended before anything was heard of it"
    create(world, "other", ResourceConfig=on(2))
    details = list(world.fleet.advance(world.now_s))
    for _ in range(3):
        for detail in details:
            world.on_event(detail)
        assert (rogues(world), free(world)) == ({"other": {P5: 2}}, 0)
    world.fleet.finish("other", now=world.now_s)
    for detail in [*world.fleet.advance(world.now_s) * 2, *details]:
        world.on_event(detail)
        world.check()
    assert (rogues(world), free(world)) == ({}, 2)


@pytest.mark.parametrize(
    "prepare",
    [
        pytest.param(lambda world: world.pass_time(60), id="that runs"),
        pytest.param(lambda world: world.pass_time(5000), id="that has completed"),
        pytest.param(lambda world: (world.commands.stop("a", ROOT), world.tick()), id="that is stopping"),
        pytest.param(
            lambda world: (world.commands.stop("a", ROOT), world.tick(), world.pass_time(500)), id="that was stopped"
        ),
        pytest.param(lambda world: world.pass_time(5000, deliver=False), id="whose end was not told"),
    ],
)
def test_an_attempt_of_the_queue_is_not_rogue(prepare: Callable[[World], object]) -> None:
    world = world_of()
    world.submit("a")
    world.tick()
    details = list(world.fleet.advance(world.now_s))
    prepare(world)
    for detail in details:
        world.on_event(detail)
    world.patrol()
    assert rogues(world) == {}
    world.check()


def test_an_attempt_with_an_unsettled_launch_is_not_rogue() -> None:
    world = world_of()
    world.submit("a")
    world.fleet.faults = Faults(lose_answer={"CreateTrainingJob": 1})
    world.tick()
    assert [job.name for job in world.fleet.jobs(now=world.now_s)] == ["a"]
    world.pass_time(5)
    world.patrol()
    assert rogues(world) == {}


@pytest.mark.parametrize("job", [None, "a"])
def test_a_rogue_job_with_the_queues_tags_is_still_recorded(job: str | None) -> None:
    world = world_of()
    if job is not None:
        world.submit(job)
        world.tick()
    create(world, "forged", Tags=MARKS)
    world.pass_time(1)
    assert rogues(world) == {"forged": {P5: 1}}
    world.check()


def interrupt(owner: object, method: str, *acts: Callable[[], object] | None) -> None:
    """Others act just after each of these calls has got its answer."""
    whole, left = getattr(owner, method), list(acts)

    def call(name: str) -> Any:
        answer = whole(name)
        act = left.pop(0) if left else None
        if act is not None:
            act()
        return answer

    setattr(owner, method, call)


def refuse(
    world: World, operation: str, code: str, which: Callable[[Mapping[str, Any]], bool] = lambda asked: True
) -> None:
    """SageMaker refuses these calls of an operation."""
    whole = world.fleet.call

    def call(asked: str, request: Mapping[str, Any], *, now: float) -> Any:
        if asked == operation and which(request):
            raise AwsError(code, "no")
        return whole(asked, request, now=now)

    world.fleet.call = call  # type: ignore[method-assign,assignment]


def test_an_attempt_launched_during_the_check_of_its_name_is_not_rogue() -> None:
    world = world_of()
    world.submit("a")
    interrupt(world.rogues, "_attempt", world.tick)
    world.rogues.refresh("a", world.clock())
    assert world.states("a") == {"a": "running"}
    assert rogues(world) == {}


@pytest.mark.parametrize("at", [0, 1], ids=["before it is looked up again", "after it is looked up again"])
def test_an_attempt_launched_and_ended_during_the_check_of_its_name_is_not_rogue(at: int) -> None:
    world = world_of()
    world.submit("a")

    def end() -> None:
        world.fleet.finish("a", now=world.now_s)
        world.pass_time(1, tick=False)
        assert world.states("a") == {"a": "completed"}

    def replace() -> None:
        """The described training job is gone, and the queue has launched an attempt of that name."""
        world.fleet.finish("a", now=world.now_s)
        world.fleet.delete("a", now=world.now_s)
        world.now_s += 1
        world.tick()

    if at == 0:
        interrupt(world.rogues, "_attempt", world.tick)
        interrupt(world.training_jobs, "described", end)
    else:
        create(world, "a", Tags=MARKS)
        interrupt(world.rogues, "_attempt", None, replace)
    world.rogues.refresh("a", world.clock())
    assert rogues(world) == {}


def test_a_rogue_job_is_found_if_sagemaker_answers_one_describe_at_a_time() -> None:
    world = world_of()
    create(world)
    world.now_s += VISIBLE_AFTER_S
    world.fleet.faults = Faults(rates={"DescribeTrainingJob": {"per_s": 0.1, "burst": 1}})
    world.rogues.refresh("rogue", world.clock())
    assert rogues(world) == {"rogue": {P5: 1}}


def test_a_new_training_job_is_rogue_only_if_it_is_live_in_two_descriptions() -> None:
    world = world_of()
    create(world)
    world.now_s += VISIBLE_AFTER_S - 1

    interrupt(world.training_jobs, "described", lambda: world.fleet.finish("rogue", now=world.now_s))
    world.rogues.refresh("rogue", world.clock())
    assert rogues(world) == {}


@pytest.mark.parametrize(
    ("resources", "demand"),
    [
        ({"InstanceType": P5, "InstanceCount": 2}, {P5: 2}),
        (GROUPS, {P5: 2, G5: 2}),
        ({"InstancePreferences": [{"InstanceType": P5, "InstanceCount": 2}]}, {}),
        (
            {
                "InstancePreferences": [{"InstanceType": P5}, {"InstanceType": G5}],
                "InstanceCount": 2,
                "SelectedInstanceType": G5,
                "SelectedInstanceCount": 2,
            },
            {G5: 2},
        ),
        (None, {}),
    ],
    ids=["plain", "groups", "preferences, not yet picked", "preferences", "serverless"],
)
def test_the_demand_is_that_of_sagemakers_description(resources: dict[str, Any] | None, demand: dict[str, int]) -> None:
    assert demand_of({} if resources is None else {"ResourceConfig": resources}, {P5, G5}) == demand


def test_a_rogue_job_is_charged_in_all_existing_pools() -> None:
    world = world_of({P5: 2})
    create(world, ResourceConfig=GROUPS)
    world.pass_time(1)
    rogue = rogue_of(world)
    assert rogue is not None
    assert (rogue.demand, rogue.charged) == ({P5: 2, G5: 2}, {P5: 2})
    configure(world, pools={P5: {"size": 2}, G5: {"size": 3}})
    world.patrol()
    assert rogues(world) == {"rogue": {P5: 2, G5: 2}}
    assert (free(world), free(world, G5)) == (0, 1)


def test_a_removed_pool_is_no_longer_charged_and_is_deleted() -> None:
    world = world_of({P5: 2, G5: 2})
    create(world, ResourceConfig=GROUPS)
    world.pass_time(1)
    configure(world, pools={P5: {"size": 2}})
    assert {pool.pool: (pool.size, pool.free) for pool in read_ledger(world.table).pools}[G5] == (0, -2)
    world.patrol()
    assert rogues(world) == {"rogue": {P5: 2}}
    assert free(world, G5) == 0
    configure(world, priority={"default": 1})
    assert [pool.pool for pool in read_ledger(world.table).pools] == [P5]


def test_charging_is_switched_off_and_on_again() -> None:
    world = world_of()
    create(world)
    world.pass_time(1)
    configure(world, rogues={"charge": False})
    world.wakes.clear()
    world.patrol()
    assert (rogues(world), free(world)) == ({"rogue": {}}, 2)
    assert world.wakes == ["the patrol has freed instances"]
    assert reason(world)[1] == "did not come through the queue; uses no instances of any pool"
    configure(world, rogues={"charge": True})
    world.patrol()
    assert (rogues(world), free(world)) == ({"rogue": {P5: 1}}, 1)


def test_a_rogue_job_can_exceed_free_instances_and_blocks_starts_until_it_ends() -> None:
    world = world_of()
    world.submit("a", ResourceConfig=on(2))
    world.tick()
    create(world, ResourceConfig=on(2))
    world.pass_time(1)
    assert free(world) == -2
    use = world.capacity()[0]
    assert (use.size, use.allocated, use.reserved, use.rogue, use.free) == (2, 2, 0, 2, -2)
    world.submit("b")
    world.tick()
    world.fleet.finish("a", now=world.now_s)
    world.pass_time(1)
    assert world.states("a", "b") == {"a": "completed", "b": "pending"}
    world.fleet.finish("rogue", now=world.now_s)
    world.pass_time(1)
    assert world.states("b") == {"b": "running"}
    world.check()


def test_the_explanation_of_a_waiting_job_has_rogue_holders_and_their_ends() -> None:
    world = world_of()
    create(world, StoppingCondition={"MaxRuntimeInSeconds": 3600})
    world.pass_time(1)
    world.submit("a", ResourceConfig=on(2))
    world.tick()
    seen = world.seen("a")
    assert seen.reason.code == "WaitsForCapacity"
    # An hour and the overhead of half an hour from 08:00 on.
    assert seen.reason.message == (
        "needs 1 more ml.p5.48xlarge, held by `rogue` (outside the queue, until 09:30 UTC at the latest); "
        "1 ml.p5.48xlarge of the pool went to training jobs outside the queue (`headway queue --all`); "
        "starts by 09:30 UTC unless a job of higher rank comes"
    )
    assert seen.reason.jobs == ()


def test_a_job_that_fits_beside_a_rogue_one_starts_unless_it_delays_a_blocked_job() -> None:
    world = world_of()
    create(world, StoppingCondition={"MaxRuntimeInSeconds": 3600})
    world.pass_time(1)
    world.submit("large", ResourceConfig=on(2))
    world.submit("long")
    world.submit("short", StoppingCondition={"MaxRuntimeInSeconds": 600})
    world.tick()
    assert world.states("large", "long", "short") == {"large": "pending", "long": "pending", "short": "running"}
    world.check()


def test_a_rogue_job_is_not_preempted_and_causes_no_preemption() -> None:
    world = world_of()
    world.submit("low", 0)
    world.tick()
    create(world)
    world.pass_time(1)
    world.submit("large", 9, ResourceConfig=on(2))
    world.tick()
    assert world.states("low", "large") == {"low": "running", "large": "pending"}
    world.commands.stop("large", ROOT)
    world.submit("small", 5)
    world.tick()
    assert world.states("low", "small") == {"low": "stopping", "small": "pending"}
    assert world.called("StopTrainingJob") == ["low"]
    world.check()


def test_a_rogue_job_may_have_the_name_of_a_waiting_one() -> None:
    world = world_of()
    create(world, "a", ResourceConfig=on(2))
    world.pass_time(1)
    world.submit("a")
    world.tick()
    assert world.states("a") == {"a": "pending"}
    world.fleet.finish("a", now=world.now_s)
    world.pass_time(1)
    assert world.states("a") == {"a": "running"}
    assert world.seen("a").job.live_attempt != "a"
    world.check()


RULES = {"cost": {"require": {"tags": {"project": ["x", "y"]}}}}
STOPPING_RULES = {"cost": {**RULES["cost"], "onStart": "stop"}}


@pytest.mark.parametrize(
    ("configuration", "tags", "code", "told", "stopped"),
    [
        ({}, {}, "OutsideTheQueue", "uses 1 ml.p5.48xlarge of its pools", False),
        ({"rules": RULES}, {"project": "x"}, "OutsideTheQueue", "uses 1 ml.p5.48xlarge of its pools", False),
        (
            {"rules": RULES},
            {"project": "z"},
            "OutsideAndBreaksRules",
            "breaks rules: Tags has 'project' with 'z'; use one of x, y (rule `cost`)",
            False,
        ),
        (
            {"rules": STOPPING_RULES},
            {"project": "z"},
            "OutsideAndStopped",
            "is being stopped, as it breaks rules that no training job may run against",
            True,
        ),
        ({"rules": STOPPING_RULES}, {"project": "y"}, "OutsideTheQueue", "uses 1", False),
        (
            {"rogues": {"action": "stop"}},
            {},
            "OutsideAndStopped",
            "is being stopped, as no training job may run past the queue",
            True,
        ),
    ],
    ids=["nothing", "a rule that is kept", "report", "stop", "a rule with stop that is kept", "all"],
)
def test_a_rogue_job_is_stopped_only_if_the_policy_requires_it(
    configuration: dict[str, Any], tags: dict[str, str], code: str, told: str, stopped: bool
) -> None:
    world = world_of(**configuration)
    create(world, Tags=[{"Key": key, "Value": value} for key, value in tags.items()])
    world.pass_time(1)
    assert reason(world)[0] == code
    assert told in reason(world)[1]
    assert world.called("StopTrainingJob") == [], "what hears of it does not stop it"
    world.patrol()
    assert world.called("StopTrainingJob") == [], "SageMaker may not show all of its tags yet"
    world.pass_time(VISIBLE_AFTER_S)
    world.patrol()
    world.patrol()
    assert world.called("StopTrainingJob") == ["rogue"] * stopped
    world.pass_time(300)
    assert (rogue_of(world) is None) is stopped
    world.check()


def test_a_changed_policy_stops_a_rogue_job_within_the_minute() -> None:
    world = world_of(teams={"research": {}})
    create(world, Tags=[{"Key": "team", "Value": "research"}])
    world.pass_time(VISIBLE_AFTER_S)
    world.patrol()
    rogue = rogue_of(world)
    assert rogue is not None
    assert (rogue.team, rogue.stop) == ("research", False)
    configure(world, rogues={"action": "stop"})
    world.patrol()
    assert world.called("StopTrainingJob") == ["rogue"]


def test_a_rogue_job_that_cannot_be_stopped_reports_it_and_is_retried_rarely() -> None:
    forbidden = (
        "did not come through the queue; should be stopped, as no training job may run past the queue, but the queue "
        "is not allowed to: deploy it with AllowStoppingRogueJobs=true; uses 1 ml.p5.48xlarge of its pools"
    )
    world = world_of(rogues={"action": "stop"})
    refuse(world, "StopTrainingJob", "AccessDeniedException")
    create(world)
    world.pass_time(VISIBLE_AFTER_S)
    for _ in range(STOP_AGAIN_S // 60):
        world.patrol()
        assert reason(world) == ("OutsideAndNotStopped", forbidden)
        world.pass_time(60)
    assert len(world.called("StopTrainingJob")) == 1
    world.patrol()
    assert len(world.called("StopTrainingJob")) == 2
    configure(world, rogues={"action": "report"})
    world.patrol()
    assert reason(world)[0] == "OutsideTheQueue"


def test_the_scan_does_not_stop_jobs_with_the_queues_mark() -> None:
    world = world_of(rogues={"action": "stop"})
    create(world, Tags=MARKS)
    world.pass_time(VISIBLE_AFTER_S)
    world.patrol()
    assert world.called("StopTrainingJob") == []
    assert reason(world)[0] == "OutsideAndNotStopped"
    assert "it carries the tag headway:job" in reason(world)[1]


def test_the_scan_continues_where_it_stopped_and_pauses_between_pages() -> None:
    world = world_of()
    create(world, "old")
    world.pass_time(10, deliver=False)
    for number in range(100 * (MAX_PAGES + 2)):
        create(world, f"done-{number}", ResourceConfig=on(1, "ml.c5.xlarge"))
        world.fleet.finish(f"done-{number}", now=world.now_s)
    began_s = world.now_s
    world.patrol()
    assert rogues(world) == {}
    assert world.pauses == [PAGE_INTERVAL_S] * (MAX_PAGES - 1)
    world.patrol()
    assert rogues(world) == {"old": {P5: 1}}
    lists = [asked for operation, asked in world.calls if operation == "ListTrainingJobs"]
    recent = [asked for asked in lists if asked["CreationTimeAfter"] > began_s - LONGEST_S]
    assert (len(lists), recent) == (MAX_PAGES + 4, [lists[MAX_PAGES]]), "the second run begins with the newest page"
    assert world.table.get(Key("sweep", "sweep")) is None, "it begins anew"


def test_more_rogue_jobs_than_one_run_checks_are_all_found_eventually() -> None:
    world = world_of({P5: 500})
    for number in range(MAX_DESCRIBED + 30):
        create(world, f"r-{number}")
    world.pass_time(1, deliver=False)
    world.patrol()
    assert len(rogues(world)) == MAX_DESCRIBED
    world.patrol()
    assert len(rogues(world)) == MAX_DESCRIBED + 30
    assert free(world) == 500 - MAX_DESCRIBED - 30


@pytest.mark.parametrize(
    ("code", "left"), [("ThrottlingException", True), ("ValidationException", False)], ids=["throttled", "a bad token"]
)
def test_a_refused_listing_continues_or_restarts_in_the_next_minute(code: str, left: bool) -> None:
    world = world_of()
    for number in range(100 * MAX_PAGES):
        create(world, f"done-{number}")
        world.fleet.finish(f"done-{number}", now=world.now_s)
    create(world, "last")
    world.pass_time(1, deliver=False)
    create(world, "first")
    world.patrol()
    assert set(rogues(world)) == {"first", "last"}
    assert world.table.get(Key("sweep", "sweep")) is not None
    refuse(world, "ListTrainingJobs", code, lambda asked: "NextToken" in asked)
    world.patrol()
    assert (world.table.get(Key("sweep", "sweep")) is not None) is left


def test_an_event_is_not_lost_to_an_outage_of_sagemaker() -> None:
    world = world_of()
    create(world)
    (detail, *_) = world.fleet.advance(world.now_s)
    world.fleet.faults = Faults(throttle={"DescribeTrainingJob": 1})
    assert world.on_event(detail) is False
    world.patrol()
    assert rogues(world) == {"rogue": {P5: 1}}


def test_events_and_scans_before_the_first_tick_do_nothing() -> None:
    world = World()
    create(world)
    (detail, *_) = world.fleet.advance(world.now_s)
    assert find_applied(world.table) is None
    assert world.on_event(detail) is False
    assert world.patrol() == 0
    assert world.calls == []


def test_the_end_of_a_rogue_job_observed_twice_is_released_once() -> None:
    world = world_of()
    create(world)
    world.pass_time(1)
    world.fleet.finish("rogue", now=world.now_s)
    (*_, detail) = world.fleet.advance(world.now_s)
    other = RogueJobTracker(world.table, world.training_jobs, world.marks, world.machine_clock)
    # The other one has read the record, then this one gets the end.
    interrupt(other, "_known", lambda: world.on_event(detail))
    assert other.refresh("rogue", world.clock()) is False
    assert (rogues(world), free(world)) == ({}, 2)
