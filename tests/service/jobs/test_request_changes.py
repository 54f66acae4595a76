"""The request of a waiting job is changed: its place, its reservation, and what starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headway_sandbox.sagemaker.request_builder import G5
from headway_service.errors import (
    ImpossibleDemand,
    InvalidRequest,
    JobEnded,
    JobNotFound,
    NameInUse,
    NotAllowed,
    NotWaiting,
    QueueFull,
    RestoreUnfinished,
    RuleViolation,
)
from headway_service.events.job_events import job_event
from headway_service.jobs.position import JobView
from headway_service.pools.apply_config import apply_configuration
from headway_service.ports.table import Absent
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_request, get_job
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import ADA, BOB, P5, ROOT, World, on, request

LONG = {"SANDBOX_RUN_SECONDS": "7200"}
DAY_S = 86_400


@pytest.fixture
def world() -> World:
    """Pools that are full, so that submitted jobs wait."""
    world = World(pools={P5: 4})
    world.submit("runs", 9, ResourceConfig=on(4), Environment=LONG)
    world.tick()
    return world


def change(world: World, name: str = "a", **wanted: Any) -> JobView[JobRecord]:
    seen = world.changes.change(name, RequestChange(**wanted), ROOT)
    world.check()
    return seen


def configure(world: World, **parts: Any) -> None:
    world.configuration.write({"pools": {P5: {"size": 4}}, **parts})
    apply_configuration(world.table, world.configuration.first, world.clocks)


def line(world: World) -> list[tuple[str, int]]:
    """The jobs in the queue, in its order, with their instances."""
    assert isinstance(world.table, MemoryTable)
    entries = sorted((item for item in world.table.items() if item["pk"].startswith("line#")), key=lambda i: i["sk"])
    return [(item["jobName"], sum(item["demand"].values())) for item in entries]


def three(world: World) -> None:
    for name in ("a", "b", "c"):
        world.submit(name, ResourceConfig=on(2))
        world.now_s += 1


# --------------------------------------------------------------------------------------------------------------- place


@pytest.mark.parametrize(
    ("wanted", "order"),
    [
        ({"instances": 1}, [("a", 1), ("b", 2), ("c", 2)]),
        ({"max_runtime_s": DAY_S - 1}, [("a", 2), ("b", 2), ("c", 2)]),
        ({"instances": 1, "max_runtime_s": 60}, [("a", 1), ("b", 2), ("c", 2)]),
        ({"instances": 3}, [("b", 2), ("c", 2), ("a", 3)]),
        ({"max_runtime_s": DAY_S + 1}, [("b", 2), ("c", 2), ("a", 2)]),
        ({"instances": 1, "max_runtime_s": DAY_S + 1}, [("b", 2), ("c", 2), ("a", 1)]),
        ({"instances": 3, "max_runtime_s": 60}, [("b", 2), ("c", 2), ("a", 3)]),
    ],
    ids=str,
)
def test_a_job_keeps_its_place_only_if_it_asks_for_no_more(
    world: World, wanted: dict[str, Any], order: list[tuple[str, int]]
) -> None:
    three(world)
    accepted_ms = get_job(world.table, "a").entry_time
    seen = change(world, **wanted)
    assert line(world) == order
    assert (seen.place, seen.job.demand) == (1 + [name for name, _ in order].index("a"), {P5: dict(order)["a"]})
    assert seen.job.accepted_time == accepted_ms
    kept = order[0][0] == "a"
    assert seen.job.entry_time == (accepted_ms if kept else world.clock())
    assert seen.job.history[-1].reason.message.endswith(
        "it keeps its place in the queue" if kept else "as it asks for more, it waits as if submitted now"
    )
    assert world.wakes[-1] == "request changed"


def test_a_job_that_asks_for_more_has_the_place_that_the_same_job_submitted_now_would_have(world: World) -> None:
    configure(world, priority={"order": "short"})
    three(world)
    change(world, "a", max_runtime_s=2 * DAY_S)
    world.submit("new", ResourceConfig=on(2), StoppingCondition={"MaxRuntimeInSeconds": 2 * DAY_S})
    changed, new = get_job(world.table, "a"), get_job(world.table, "new")
    assert (changed.entry_time, changed.handicap_ms, changed.limit_ms) == (
        new.entry_time,
        new.handicap_ms,
        new.limit_ms,
    )


def test_a_job_that_asks_for_more_has_all_of_its_new_limit_left(world: World) -> None:
    configure(world, priority={"order": "shortest-remaining"})
    three(world)
    change(world, "a", max_runtime_s=2 * DAY_S)
    changed = get_job(world.table, "a")
    assert changed.left_ms == changed.limit_ms == (2 * DAY_S + 1800) * 1000


def test_a_job_that_asks_for_more_keeps_its_service_and_gets_the_bound_of_its_new_limit(world: World) -> None:
    configure(world, priority={"order": "shared"})
    three(world)
    before = get_job(world.table, "a")
    assert (before.attained_ms, before.handicap_ms) == (0, 0)
    assert before.max_handicap_ms == 100 * (before.limit_ms or 0)
    hour_ms = 3_600_000
    served = before.model_copy(update={"attained_ms": 2 * hour_ms, "handicap_ms": 200 * hour_ms})
    world.table.write([served.put(), *(entry.put() for entry in served.queue_entries())])
    change(world, "a", max_runtime_s=2 * DAY_S)
    changed = get_job(world.table, "a")
    assert (changed.attained_ms, changed.handicap_ms) == (2 * hour_ms, 200 * hour_ms)
    assert changed.max_handicap_ms == 100 * (2 * DAY_S + 1800) * 1000


def test_a_job_that_asks_for_less_keeps_its_turn_among_equals(world: World) -> None:
    configure(world, priority={"order": "short"})
    three(world)
    before = get_job(world.table, "b")
    after = change(world, "b", max_runtime_s=60).job
    assert after.rank() == before.rank()
    assert after.limit_ms is not None
    assert before.limit_ms is not None
    assert after.limit_ms == before.limit_ms - (DAY_S - 60) * 1000


def test_a_greater_overhead_than_at_the_submission_does_not_cost_the_place(world: World) -> None:
    three(world)
    configure(world, overheadSeconds=3600)
    change(world, "a", instances=1)
    assert line(world)[0] == ("a", 1)


def test_a_limit_on_the_wait_for_instances_set_since_applies_and_does_not_cost_the_place(world: World) -> None:
    three(world)
    before = get_job(world.table, "a")
    configure(world, maxPendingSeconds=3600)
    change(world, "a", instances=1)
    after = get_job(world.table, "a")
    assert line(world)[0] == ("a", 1)
    assert before.limit_ms is not None
    assert (after.pending_limit_s, after.limit_ms) == (3600, before.limit_ms + 3600 * 1000)


def test_the_change_is_in_the_history_with_who_made_it_and_in_the_event(world: World) -> None:
    world.submit("a", ResourceConfig=on(2))
    before = get_job(world.table, "a")
    change(world, instances=1, max_runtime_s=60)
    after = get_job(world.table, "a")
    event = job_event(after, before)
    assert event is not None
    assert (event.code, event.job_state) == ("Changed", "pending")
    what = "run time limit from 86400 s to 60 s and instances from 2 to 1"
    assert event.message == f"{what} changed by root; it keeps its place in the queue"


def test_to_change_nothing_writes_nothing_and_wakes_nobody(world: World) -> None:
    world.submit("a", ResourceConfig=on(2))
    world.wakes.clear()
    assert change(world, instances=2, max_runtime_s=DAY_S).job.version == 1
    assert world.wakes == []
    assert change(world, instances=1).job.version == change(world, instances=1).job.version == 2


def test_a_held_job_can_be_changed_and_stays_held(world: World) -> None:
    three(world)
    world.commands.hold("a", ROOT)
    seen = change(world, "a", instances=1)
    assert (seen.job.held, seen.reason.code, seen.place) == (True, "Held", None)
    assert line(world) == [("b", 2), ("c", 2)]
    world.commands.release("a", ROOT)
    assert line(world) == [("a", 1), ("b", 2), ("c", 2)]


# -------------------------------------------------------------------------------------------------------------- starts


def test_a_job_starts_with_the_changed_request(world: World) -> None:
    world.submit("a", ResourceConfig=on(2))
    change(world, instances=1, max_runtime_s=60)
    world.commands.stop("runs", ROOT)
    world.tick()
    world.pass_time(150)
    world.tick()
    world.check()
    (launched,) = [request for name, request in world.calls if name == "CreateTrainingJob"][1:]
    assert launched["ResourceConfig"]["InstanceCount"] == 1
    assert launched["StoppingCondition"]["MaxRuntimeInSeconds"] == 60
    (attempt,) = read_ledger(world.table).attempts
    assert (attempt.demand, attempt.limit_ms) == ({P5: 1}, get_job(world.table, "a").limit_ms)


@pytest.mark.parametrize("wanted", [{"instances": 1}, {"max_runtime_s": 60}, {"instances": 3}], ids=str)
def test_a_change_between_a_decision_and_its_start_lets_another_decision_start_the_changed_job(
    wanted: dict[str, Any],
) -> None:
    world = World(pools={P5: 4})
    world.submit("a", ResourceConfig=on(2))
    report = world.interrupted_tick(lambda: change(world, **wanted))
    world.check()
    assert (report.rejected, report.started) == (1, ["a"])
    (attempt,) = read_ledger(world.table).attempts
    assert attempt.demand == {P5: wanted.get("instances", 2)}
    assert attempt.limit_ms == get_job(world.table, "a").limit_ms


def test_a_job_that_may_no_longer_use_a_warm_pool_is_decided_on_again() -> None:
    world = World(pools={P5: 4})
    configure(world, warmPools={})
    world.submit("a", ResourceConfig={**on(2), "KeepAlivePeriodInSeconds": 600})

    def act() -> None:
        configure(world)
        change(world, tags={"cost-center": "7"})

    report = world.interrupted_tick(act)
    world.check()
    assert (report.rejected, report.started) == (1, ["a"])
    (attempt,) = read_ledger(world.table).attempts
    assert attempt.warm_key == ""


def test_a_limit_of_a_team_holds_if_a_job_is_changed_between_a_decision_and_its_start() -> None:
    world = World(pools={P5: 4})
    configure(world, teams={"x": {"limit": {P5: 3}}, "default": {}})
    team: dict[str, Any] = {"Tags": [{"Key": "team", "Value": "x"}]}
    for name in ("a", "b"):
        world.submit(name, ResourceConfig=on(1), **team)
    world.interrupted_tick(lambda: change(world, "b", instances=3))
    world.check()
    assert world.states("a", "b") == {"a": "running", "b": "pending"}


def test_a_job_that_started_before_the_change_keeps_its_request_and_the_change_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pools={P5: 4})
    world.submit("a", ResourceConfig=on(2))
    write, pending = world.table.write, [world.tick]

    def interrupted(writes: Any) -> None:
        if pending:
            pending.pop()()
        write(writes)

    monkeypatch.setattr(world.table, "write", interrupted)
    with pytest.raises(NotWaiting, match="`a` is running, and only the request of a job that waits can be changed"):
        change(world, instances=1)
    world.check()
    stored = find_request(world.table, "a")
    assert stored is not None
    assert stored["ResourceConfig"]["InstanceCount"] == 2


def test_a_preempted_job_continues_with_the_changed_request(world: World) -> None:
    world = World(pools={P5: 2})
    world.submit("a", 1, ResourceConfig=on(2), Environment=LONG)
    world.tick()
    world.submit("high", 5, ResourceConfig=on(2))
    world.tick()
    world.pass_time(150)
    assert world.states("a", "high") == {"a": "preempted", "high": "running"}
    mark = world.marks.of("a", "a", get_job(world.table, "a").accepted_time)
    change(world, max_runtime_s=2 * DAY_S)
    assert world.marks.of("a", "a", get_job(world.table, "a").accepted_time) == mark, "its training jobs stay its own"
    world.pass_time(1000)
    world.check()
    launched = [request for name, request in world.calls if name == "CreateTrainingJob"]
    assert launched[-1]["StoppingCondition"]["MaxRuntimeInSeconds"] == 2 * DAY_S
    assert world.states("a") == {"a": "running"}
    (attempt,) = read_ledger(world.table).attempts
    assert attempt.mark == world.marks.of("a", attempt.attempt_name, get_job(world.table, "a").accepted_time)


def stopping_for_high(world: World) -> None:
    """Two jobs are being stopped for a larger one."""
    for name in ("x", "y"):
        world.submit(name, 1, Environment=LONG, ResourceConfig=on(1))
    world.tick()
    world.pass_time(300)
    world.submit("high", 5, ResourceConfig=on(2))
    world.tick()
    assert world.states("x", "y", "high") == {"x": "stopping", "y": "stopping", "high": "pending"}


@pytest.mark.parametrize(
    ("wanted", "reserved"),
    [({"instances": 1}, 0), ({"max_runtime_s": 2 * DAY_S}, 0), ({"max_runtime_s": 60}, 1)],
    ids=str,
)
def test_a_reservation_is_released_if_the_demand_changes_or_the_place_is_lost(
    wanted: dict[str, Any], reserved: int
) -> None:
    world = World(pools={P5: 2})
    stopping_for_high(world)
    attempts = {each.job_name: each.attempt_name for each in read_ledger(world.table).attempts}
    world.fleet.finish(attempts["x"], now=world.now_s)
    world.pass_time(1, tick=False)
    assert [each.demand for each in read_ledger(world.table).reservations] == [{P5: 1}]
    change(world, "high", **wanted)
    (pool,) = world.capacity()
    assert (pool.reserved, pool.free) == (reserved, 1 - reserved)


def test_no_more_is_reserved_for_a_job_than_it_still_demands() -> None:
    world = World(pools={P5: 2})
    stopping_for_high(world)
    change(world, "high", instances=1)
    attempts = [each.attempt_name for each in read_ledger(world.table).attempts]
    for attempt in attempts:
        world.fleet.finish(attempt, now=world.now_s)
    world.pass_time(1, tick=False)
    world.check()
    assert [each.demand for each in read_ledger(world.table).reservations] == [{P5: 1}]
    world.tick()
    world.check()
    assert world.states("high") == {"high": "running"}


@pytest.mark.parametrize("wanted", [{"instances": 1}, {"max_runtime_s": 2 * DAY_S}], ids=str)
def test_no_job_is_stopped_for_a_demand_that_has_changed_since_the_decision(wanted: dict[str, Any]) -> None:
    world = World(pools={P5: 2})
    for name in ("x", "y"):
        world.submit(name, 1, Environment=LONG, ResourceConfig=on(1))
    world.tick()
    world.submit("high", 5, ResourceConfig=on(2))
    before = world.now_s

    def act() -> None:
        world.now_s = before + 1
        change(world, "high", **wanted)

    report = world.interrupted_tick(act)
    world.check()
    assert report.rejected == 2
    assert len(report.preempted) == wanted.get("instances", 2)


# ------------------------------------------------------------------------------------------------------------ refusals


def bring_to_run(world: World) -> None:
    world.commands.stop("runs", ROOT)
    world.tick()
    world.pass_time(150)
    world.tick()


def bring_to_stop(world: World) -> None:
    bring_to_run(world)
    world.commands.stop("a", ROOT)


def bring_to_end(world: World) -> None:
    world.commands.stop("a", ROOT)


@pytest.mark.parametrize(
    ("bring", "error", "message"),
    [
        (bring_to_run, NotWaiting, "`a` is running, and only the request of a job that waits can be changed: stop it"),
        (bring_to_stop, NotWaiting, "`a` is stopping, and only"),
        (bring_to_end, JobEnded, "`a` has stopped already: submit the changed request under a new name"),
    ],
)
def test_a_job_that_does_not_wait_cannot_be_changed(
    world: World, bring: Callable[[World], None], error: type[Exception], message: str
) -> None:
    world.submit("a", ResourceConfig=on(2))
    bring(world)
    with pytest.raises(error, match=message):
        change(world, instances=1)


def tags(world: World, name: str = "a") -> list[tuple[str, str]]:
    stored = find_request(world.table, name)
    assert stored is not None
    return [(tag["Key"], tag["Value"]) for tag in stored.get("Tags", [])]


@pytest.mark.parametrize(
    ("wanted", "after"),
    [
        ({"tags": {"project": "b"}}, [("project", "b"), ("cost", "7")]),
        ({"tags": {"new": "1"}}, [("project", "a"), ("cost", "7"), ("new", "1")]),
        ({"removed_tags": ["project", "unknown"]}, [("cost", "7")]),
        ({"tags": {"new": "1"}, "removed_tags": ["cost", "project"]}, [("new", "1")]),
    ],
    ids=str,
)
def test_a_job_keeps_its_place_with_other_tags(
    world: World, wanted: dict[str, Any], after: list[tuple[str, str]]
) -> None:
    world.submit("a", Tags=[{"Key": "project", "Value": "a"}, {"Key": "cost", "Value": "7"}])
    before = get_job(world.table, "a")
    world.now_s += 5
    job = change(world, **wanted).job
    assert tags(world) == after
    assert (job.rank(), job.version) == (before.rank(), before.version + 1)
    assert job.history[-1].reason.message.startswith("tags `")


def test_a_repeated_submission_is_the_same_job_after_a_change_of_tags(world: World) -> None:
    first = request("a", Tags=[{"Key": "project", "Value": "a"}])
    world.submitter.submit(first, ROOT)
    change(world, tags={"project": "b"})
    _, is_new = world.submitter.submit(first, ROOT)
    assert not is_new
    assert tags(world) == [("project", "b")]


def test_a_required_tag_can_get_another_allowed_value_only(world: World) -> None:
    world.submit("a", Tags=[{"Key": "project", "Value": "a"}])
    configure(world, rules={"tagged": {"require": {"tags": {"project": ["a*"]}}}})
    for wanted in ({"removed_tags": ["project"]}, {"tags": {"project": "b"}}):
        with pytest.raises(RuleViolation, match="project"):
            change(world, **wanted)
    change(world, tags={"project": "ab"})
    assert tags(world) == [("project", "ab")]


def test_another_team_by_tag_needs_the_right_and_costs_the_place(world: World) -> None:
    teams = {"x": {"members": ["user/ada"]}, "y": {"members": ["user/ada"]}, "z": {"members": ["user/eve"]}}
    configure(world, teams={**teams, "default": {}})
    world.submitter.submit(request("a", Tags=[{"Key": "team", "Value": "x"}]), ADA)
    entry_ms = get_job(world.table, "a").entry_time
    world.now_s += 5
    with pytest.raises(NotAllowed, match="not a member of team z"):
        change(world, tags={"team": "z"})
    job = change(world, tags={"team": "y"}).job
    assert (job.team, job.entry_time) == ("y", entry_ms + 5000)


@pytest.mark.parametrize("key", ["headway:job", "headway:preemptible", "headway:team", "priority", "headway:priority"])
def test_tags_by_which_the_queue_schedules_stay(world: World, key: str) -> None:
    world.submit("a")
    for wanted in ({"tags": {key: "1"}}, {"removed_tags": [key]}):
        with pytest.raises(InvalidRequest, match=f"{key} cannot change"):
            change(world, **wanted)


def test_the_history_names_some_of_many_tags(world: World) -> None:
    world.submit("a")
    message = change(world, tags={f"k{number}": "v" for number in range(7)}).job.history[-1].reason.message
    assert "tags `k0`, `k1`, `k2`, `k3`, `k4` and 2 more" in message


def test_an_unknown_job_cannot_be_changed(world: World) -> None:
    with pytest.raises(JobNotFound):
        change(world, "nobody", instances=1)


RULE = {"short": {"require": {"maxRunTimeSeconds": 100_000}}}


@pytest.mark.parametrize(
    ("document", "wanted", "error", "message"),
    [
        ({}, {"instances": 5}, ImpossibleDemand, "the pool ml.p5.48xlarge has 4 instances, not 5"),
        ({}, {"max_runtime_s": 10**9}, InvalidRequest, "MaxRuntimeInSeconds"),
        ({"rules": RULE}, {"max_runtime_s": 100_001}, RuleViolation, "MaxRuntimeInSeconds"),
        (
            {"teams": {"default": {"limit": {P5: 3}}}},
            {"instances": 4},
            ImpossibleDemand,
            "the team default may use 3 instances",
        ),
        (
            {"access": {"trainingRoles": [{"roles": ["arn:aws:iam::*:role/Other"], "callers": ["*"]}]}},
            {"instances": 1},
            NotAllowed,
            "RoleArn",
        ),
    ],
    ids=["pool", "request", "rule", "team", "role"],
)
def test_a_change_is_admitted_like_a_submission(
    world: World, document: dict[str, Any], wanted: dict[str, Any], error: type[Exception], message: str
) -> None:
    world.submit("a", ResourceConfig=on(2))
    configure(world, **document)
    before = get_job(world.table, "a")
    with pytest.raises(error, match=message):
        change(world, **wanted)
    assert get_job(world.table, "a") == before


def test_the_job_is_admitted_as_its_owners_and_stays_in_its_team_whoever_changes_it(world: World) -> None:
    configure(world, teams={"x": {"members": ["user/ada"], "leads": ["user/bob"]}, "default": {}})
    world.submitter.submit(request("a", ResourceConfig=on(2)), ADA)
    assert get_job(world.table, "a").team == "x"
    assert change(world, instances=1).job.team == "x"
    configure(world, teams={"x": {"members": ["user/eve"], "leads": ["user/bob"]}, "default": {}})
    with pytest.raises(NotAllowed, match="user/ada is not a member of team x"):
        world.changes.change("a", RequestChange(max_runtime_s=60), BOB)


PRIORITIES: list[tuple[str, dict[str, Any], int | None, dict[str, Any], dict[str, Any], str]] = [
    # of the submission, set since, configuration since, change, what it is refused with
    ("lowered, and the maximum is lower now", {"priority": 50}, 5, {"priority": {"maximum": 10}}, {"instances": 1}, ""),
    (
        "not lowered, and the maximum is lower now",
        {"priority": 50},
        None,
        {"priority": {"maximum": 10}},
        {"instances": 1},
        "priority of the job is 50, and the highest is 10: lower it first, then change the job",
    ),
    ("lowered, and goes to a team with a lower maximum", {"priority": 50}, 5, {}, {"tags": {"team": "y"}}, ""),
    (
        "goes to a team with a lower maximum",
        {"priority": 50},
        None,
        {},
        {"tags": {"team": "y"}},
        "priority of the job is 50, and the highest for the team y is 10: lower it first, then change the job",
    ),
    (
        "raised, and goes to a team with a lower maximum",
        {"priority": 5},
        50,
        {},
        {"tags": {"team": "y"}},
        "priority of the job is 50, and the highest for the team y is 10",
    ),
    (
        "raised without a tag, and goes to a team with a lower maximum",
        {},
        50,
        {},
        {"tags": {"team": "y"}},
        "priority of the job is 50, and the highest for the team y is 10",
    ),
]


@pytest.mark.parametrize(
    ("submitted", "since", "document", "wanted", "refusal"),
    [row[1:] for row in PRIORITIES],
    ids=[row[0] for row in PRIORITIES],
)
def test_the_priority_that_a_job_has_and_not_that_of_its_tags_has_to_be_allowed(
    world: World,
    submitted: dict[str, int],
    since: int | None,
    document: dict[str, Any],
    wanted: dict[str, Any],
    refusal: str,
) -> None:
    teams = {"x": {}, "y": {"maxPriority": 10}}
    configure(world, teams=teams)
    given = [{"Key": key, "Value": str(value)} for key, value in submitted.items()]
    world.submit("a", ResourceConfig=on(2), Tags=[{"Key": "team", "Value": "x"}, *given])
    if since is not None:
        world.commands.set_priority("a", since, ROOT)
    configure(world, teams=teams, **document)
    if refusal:
        with pytest.raises(InvalidRequest, match=refusal):
            change(world, **wanted)
        world.commands.set_priority("a", 10, ROOT)
    change(world, **wanted)
    assert get_job(world.table, "a").priority == (10 if refusal else since)


def test_a_job_that_enters_the_queue_of_another_team_needs_room_there_and_loses_its_place(world: World) -> None:
    three(world)
    teams: dict[str, Any] = {"default": {}}
    configure(world, teams=teams, limits={"waitingPerTeam": 1})
    world.submit("d")
    with pytest.raises(QueueFull):
        change(world, "a", instances=1)
    configure(world, teams=teams)
    seen = change(world, "a", instances=1)
    assert (seen.job.team, seen.job.entry_time) == ("default", world.clock())


def test_a_full_queue_does_not_prevent_the_change_of_a_job_in_it(world: World) -> None:
    three(world)
    configure(world, limits={"waitingPerTeam": 1, "waitingPerOwner": 1})
    assert change(world, "a", instances=3).place == 3


def test_nothing_is_changed_until_a_restored_table_is_compared_with_sagemaker(world: World) -> None:
    world.submit("a", ResourceConfig=on(2))
    pause = PauseRecord(pool=PauseRecord.EVERYTHING, by="x", reason="r", since_ms=1, restored_ms=1)
    world.table.write([pause.put(requires=Absent())])
    with pytest.raises(RestoreUnfinished, match="`a` may run already"):
        change(world, instances=1)


# --------------------------------------------------------------------------------------------------------- submissions


def test_a_repeat_of_the_first_submission_is_the_changed_job_and_the_changed_request_another(world: World) -> None:
    world.submit("a", ResourceConfig=on(2))
    change(world, instances=1)
    seen, created = world.submitter.submit(request("a", ResourceConfig=on(2)), ROOT)
    assert (created, seen.job.demand) == (False, {P5: 1})
    with pytest.raises(NameInUse):
        world.submitter.submit(request("a", ResourceConfig=on(1)), ROOT)


# ----------------------------------------------------------------------------------------------------------- instances


def test_a_spot_job_waits_for_instances_as_long_as_before(world: World) -> None:
    spot: dict[str, Any] = {
        "EnableManagedSpotTraining": True,
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 5000},
    }
    world.submit("a", **spot)
    before = get_job(world.table, "a")
    after = change(world, max_runtime_s=600).job
    stored = find_request(world.table, "a")
    assert stored is not None
    assert stored["StoppingCondition"] == {"MaxRuntimeInSeconds": 600, "MaxWaitTimeInSeconds": 2000}
    assert before.limit_ms is not None
    assert before.on_demand_limit_ms is not None
    assert after.limit_ms == before.limit_ms - 3_000_000
    assert after.on_demand_limit_ms == before.on_demand_limit_ms - 3_000_000
    assert after.rank() == before.rank()


@pytest.mark.parametrize(("wait_s", "expected"), [(5000, 600), (86_400, 600), (90_000, 4200)])
def test_a_spot_job_without_a_run_time_of_its_own_waits_at_least_as_long_as_it_may_run(
    wait_s: int, expected: int
) -> None:
    # An earlier version accepted a wait below the default run time, so such requests are stored.
    stored = request("a", EnableManagedSpotTraining=True, StoppingCondition={"MaxWaitTimeInSeconds": wait_s})
    changed = RequestChange(max_runtime_s=600).apply(stored)
    assert changed["StoppingCondition"] == {"MaxRuntimeInSeconds": 600, "MaxWaitTimeInSeconds": expected}


def test_a_job_that_continues_on_demand_has_the_limit_of_that(world: World) -> None:
    spot: dict[str, Any] = {
        "EnableManagedSpotTraining": True,
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 5000},
    }
    world.submit("a", **spot)
    known = get_job(world.table, "a")
    changed = known.model_copy(
        update={"on_demand": True, "limit_ms": known.on_demand_limit_ms, "version": known.version + 1}
    )
    world.table.write([changed.put(was=known.version), *(entry.put() for entry in changed.queue_entries())])
    after = change(world, max_runtime_s=600).job
    assert known.on_demand_limit_ms is not None
    assert after.limit_ms == after.on_demand_limit_ms == known.on_demand_limit_ms - 3_000_000


def test_the_instances_of_a_job_with_instance_groups_cannot_change_but_its_run_time(world: World) -> None:
    world = World(pools={P5: 4, G5: 2})
    groups = [{"InstanceType": pool, "InstanceCount": 1, "InstanceGroupName": pool[3:5]} for pool in (P5, G5)]
    world.submit("a", ResourceConfig={"InstanceGroups": groups, "VolumeSizeInGB": 30})
    with pytest.raises(InvalidRequest, match="has instance groups: stop it, and submit the changed request"):
        change(world, instances=2)
    assert change(world, max_runtime_s=60).job.demand == {P5: 1, G5: 1}
