"""Members of an array become jobs in turn, follow the array, and are counted at their end."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from headway.errors import InvalidTransition
from headway.lifecycle import JobState
from headway.reasons import ReasonCode
from headway_service.admission.submission import Submission
from headway_service.arrays import advance
from headway_service.arrays.turn import next_turn
from headway_service.config.authorization import Caller
from headway_service.errors import InvalidRequest, JobEnded, JobNotFound, NameInUse, NotWaiting, QueueFull
from headway_service.jobs.position import JobView
from headway_service.ports.table import Delete, Key
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.scheduling.dependants import DependantNotifier
from headway_service.store.ledger import read_ledger
from headway_service.store.records.array import ArrayRecord, MembersRecord
from headway_service.store.records.dependency import EndedJobRecord
from headway_service.store.records.job import JobRecord, request_key
from headway_service.store.repository import find_job, find_request, get_job
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import ADA, BOB, P5, ROOT, World, on, request

JOB_S = 1000
"""A little more than a training job takes from its start to its end."""

GRID = {"grid": {"lr": [0.1, 0.01, 0.001], "layers": [2, 4]}}


@pytest.fixture
def world() -> World:
    return World()


def sweep(world: World, name: str = "sweep", caller: Caller = ROOT, **changes: Any) -> JobView[JobRecord]:
    """Submit an array of six members."""
    return world.submitter.submit(submission(name, **changes), caller)[0]


def submission(name: str = "sweep", **changes: Any) -> Submission:
    own = {key: changes.pop(key) for key in ("at_once", "max_failures", "depends_on", "alternatives") if key in changes}
    document = changes.pop("document", GRID)
    return Submission(request=request(name, **changes), sweep=document, **own)


def array(world: World, name: str = "sweep") -> JobRecord:
    return get_job(world.table, name)


def numbers(world: World, name: str = "sweep") -> ArrayRecord:
    found = array(world, name).array
    assert found is not None
    return found


def members(world: World, name: str = "sweep") -> MembersRecord:
    found = array(world, name).members
    assert found is not None
    return found


def queued(world: World, name: str = "sweep") -> list[str]:
    """The members in the queue."""
    found = (find_job(world.table, f"{name}_{index}") for index in members(world, name).live)
    return [each.job_name for each in found if each is not None and each.is_queued]


def running(world: World) -> list[str]:
    return sorted(each.job_name for each in read_ledger(world.table).attempts)


def measure(world: World, name: str, loss: float) -> None:
    """Let the script of a running member print a metric."""
    world.pass_time(600)
    world.fleet.put_metric(get_job(world.table, name).live_attempt or "", "loss", loss, at=world.now_s)


def run_to_the_end(world: World, name: str = "sweep") -> JobRecord:
    for _ in range(40):
        world.pass_time(JOB_S)
        world.tick()
        world.check()
        if array(world, name).ending is not None:
            break
    return array(world, name)


def test_a_submission_writes_three_items_whatever_the_number_of_members(world: World) -> None:
    with mock.patch.object(MemoryTable, "write", autospec=True, side_effect=MemoryTable.write) as write:
        sweep(world, document={"grid": {"seed": list(range(500))}})
    assert len(write.call_args.args[1]) == 3
    assert [each.job_name for each in read_ledger(world.table).arrays] == ["sweep"]


def test_as_many_members_are_made_as_could_start_and_one_more(world: World) -> None:
    assert sweep(world).job.job_state is JobState.PENDING
    world.tick()
    assert running(world) == ["sweep_0", "sweep_1"]
    assert queued(world) == ["sweep_2"]
    assert (numbers(world).made, array(world).job_state) == (3, JobState.RUNNING)


def test_a_member_has_its_own_hyperparameters_name_and_checkpoints_and_the_place_of_the_array(world: World) -> None:
    sweep(
        world,
        priority=4,
        HyperParameters={"lr": "9", "epochs": "3"},
        CheckpointConfig={"S3Uri": "s3://b/c/"},
        Tags=[{"Key": "priority", "Value": "4"}],
    )
    submitted_ms = world.clock()
    world.now_s += 100
    world.tick()
    (first, _), created = world.called("CreateTrainingJob"), [each for name, each in world.calls if "Create" in name]
    assert first.startswith("sweep-0-")
    assert len(first) <= 63
    assert created[1]["HyperParameters"] == {"lr": "0.1", "epochs": "3", "layers": "4"}
    assert created[1]["CheckpointConfig"]["S3Uri"] == "s3://b/c/sweep_1"
    member = get_job(world.table, "sweep_2")
    assert (member.priority, member.entry_time, member.member_of, member.index) == (4, submitted_ms, "sweep", 2)


def test_all_members_run_in_turn_and_the_array_completes(world: World) -> None:
    sweep(world)
    world.tick()
    ended = run_to_the_end(world)
    assert (ended.job_state, ended.reason.message) == (JobState.COMPLETED, "all 6 members have completed")
    assert numbers(world).completed == 6
    world.tick()
    ledger = read_ledger(world.table)
    assert (ledger.arrays, ledger.ended, members(world).live) == ((), (), ())


def test_the_limit_at_once_counts_members_in_the_queue_and_running(world: World) -> None:
    sweep(world, at_once=1)
    world.tick()
    assert (running(world), queued(world)) == (["sweep_0"], [])
    world.pass_time(JOB_S)
    world.tick()
    assert running(world) == ["sweep_1"]


@pytest.mark.parametrize(("most", "state", "made"), [(0, "failed", 2), (1, "failed", 3), (None, "failed", 6)])
def test_no_further_member_starts_after_too_many_failures(
    world: World, most: int | None, state: str, made: int
) -> None:
    failing = {"SANDBOX_RUN_SECONDS": "600", "SANDBOX_OUTCOME": "AlgorithmError: boom"}
    sweep(world, at_once=1, max_failures=most, Environment=failing)
    world.tick()
    ended = run_to_the_end(world)
    assert str(ended.job_state) == state
    assert numbers(world).failed == {0: 1, 1: 2, None: 6}[most]
    assert numbers(world).unmade == 6 - numbers(world).made


def test_waiting_members_are_stopped_when_too_many_have_failed_and_running_ones_continue(world: World) -> None:
    sweep(world, max_failures=0, Environment={"SANDBOX_RUN_SECONDS": "6000"})
    world.tick()
    world.pass_time(600)
    world.fleet.fail(get_job(world.table, "sweep_0").live_attempt or "", "AlgorithmError: boom", now=world.now_s)
    world.pass_time(100)
    world.tick()
    assert running(world) == ["sweep_1"]
    stopped = get_job(world.table, "sweep_2")
    assert (stopped.job_state, "1 member failed, and 0 may" in stopped.reason.message) == (JobState.STOPPED, True)
    ended = run_to_the_end(world)
    assert (ended.job_state, numbers(world).completed, numbers(world).unmade) == (JobState.FAILED, 1, 3)


def test_a_stop_of_the_array_stops_all_members_and_makes_no_further_one(world: World) -> None:
    sweep(world)
    world.tick()
    seen, stopping = world.commands.stop("sweep", ROOT, "a bad idea")
    assert (seen.job.job_state, stopping) == (JobState.STOPPING, True)
    world.tick()
    ended = run_to_the_end(world)
    assert ended.job_state is JobState.STOPPED
    assert world.states("sweep_0", "sweep_2", "sweep_5") == dict.fromkeys(("sweep_0", "sweep_2", "sweep_5"), "stopped")
    assert "a bad idea" in get_job(world.table, "sweep_2").reason.message
    assert numbers(world).unmade == 3


def test_an_array_without_members_stops_at_once(world: World) -> None:
    sweep(world)
    assert world.commands.stop("sweep", ROOT)[1] is False
    world.tick()
    assert (array(world).job_state, read_ledger(world.table).arrays) == (JobState.STOPPED, ())
    expires_at = (world.table.get(request_key("sweep")) or {})["expiresAt"]
    assert expires_at == array(world).expires_at, "it is in no sum of usage, with which other requests are"


MODEL = {
    "ChannelName": "model",
    "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "{{ jobs.prepare.model }}"}},
}


@pytest.mark.parametrize("others", [("prepare", "sweep:any"), ("sweep:any", "prepare")], ids="-".join)
def test_a_job_that_needs_the_outputs_of_another_job_only_waits_for_the_end_of_an_array(
    world: World, others: tuple[str, str]
) -> None:
    world.submit("prepare", Environment={"SANDBOX_RUN_SECONDS": "90000"})
    sweep(world)
    listed = [dict(zip(("job", "condition"), each.split(":"), strict=False)) for each in others]
    world.submitter.submit(Submission(request=request("train", InputDataConfig=[MODEL]), depends_on=listed), ROOT)
    world.commands.stop("sweep", ROOT)
    world.tick()
    assert world.states("sweep", "train") == {"sweep": "stopped", "train": "pending"}
    assert [each.job_name for each in get_job(world.table, "train").depends_on if each.ended is None] == ["prepare"]


def test_the_outputs_of_an_array_are_refused(world: World) -> None:
    sweep(world, name="prepare")
    wanted = Submission(request=request("train", InputDataConfig=[MODEL]), depends_on=[{"job": "prepare"}])
    with pytest.raises(InvalidRequest, match="`prepare` is an array: name one of its members, such as `prepare_0`"):
        world.submitter.submit(wanted, ROOT)


def test_a_held_array_leaves_the_queue_and_returns(world: World) -> None:
    sweep(world)
    world.tick()
    assert world.commands.hold("sweep", ROOT).job.held
    world.tick()
    assert (queued(world), running(world)) == ([], ["sweep_0", "sweep_1"])
    assert get_job(world.table, "sweep_2").is_set_aside
    world.pass_time(JOB_S)
    world.tick()
    assert running(world) == []
    world.commands.release("sweep", ROOT)
    world.tick()
    assert running(world) == ["sweep_2", "sweep_3"]


def test_a_new_priority_of_the_array_reaches_members_that_are_made_and_those_to_come(world: World) -> None:
    sweep(world)
    world.tick()
    world.commands.set_priority("sweep", 7, ROOT)
    world.tick()
    priorities = {name: get_job(world.table, name).priority for name in ("sweep_0", "sweep_2", "sweep_5")}
    assert priorities == {"sweep_0": 7, "sweep_2": 7, "sweep_5": 7}
    assert not members(world).is_reprioritized
    assert read_ledger(world.table).attempts[0].priority == 7


def test_a_member_to_come_can_be_stopped(world: World) -> None:
    sweep(world)
    world.tick()
    world.commands.stop("sweep_4", ROOT)
    assert run_to_the_end(world).job_state is JobState.STOPPED
    assert (numbers(world).stopped, numbers(world).completed) == (1, 5)
    assert "sweep-4" not in " ".join(world.called("CreateTrainingJob"))


def test_a_member_to_come_that_gets_a_higher_priority_enters_the_queue_first(world: World) -> None:
    sweep(world, at_once=1)
    world.tick()
    world.commands.set_priority("sweep_5", 3, ROOT)
    assert world.seen("sweep_5").reason.code is ReasonCode.WAITS_FOR_ARRAY
    world.pass_time(JOB_S)
    world.tick()
    assert running(world) == ["sweep_5"]
    assert run_to_the_end(world).job_state is JobState.COMPLETED


def test_a_held_member_leaves_its_place_to_others_until_it_is_released(world: World) -> None:
    sweep(world, at_once=2)
    world.submit("other", 9, ResourceConfig=on(2))
    world.tick()
    assert queued(world) == ["sweep_0", "sweep_1"]
    world.commands.hold("sweep_0", ROOT)
    world.tick()
    assert queued(world) == ["sweep_1", "sweep_2"]
    world.commands.release("sweep_0", ROOT)
    world.tick()
    assert queued(world) == ["sweep_1", "sweep_2"]
    assert run_to_the_end(world).job_state is JobState.COMPLETED


def test_the_request_of_one_waiting_member_can_change_and_that_of_the_array_cannot(world: World) -> None:
    sweep(world)
    world.tick()
    world.changes.change("sweep_2", RequestChange(max_runtime_s=60, instances=None, tags={}, removed_tags=[]), ROOT)
    changed = find_request(world.table, "sweep_2") or {}
    assert changed["StoppingCondition"] == {"MaxRuntimeInSeconds": 60}
    assert changed["HyperParameters"] == {"lr": "0.01", "layers": "2"}
    with pytest.raises(NotWaiting, match="is an array"):
        world.changes.change("sweep", RequestChange(max_runtime_s=60, instances=None, tags={}, removed_tags=[]), ROOT)


def test_members_are_named_with_or_without_leading_zeros(world: World) -> None:
    sweep(world, document={"grid": {"seed": list(range(12))}})
    assert world.seen("sweep_7").job.job_name == "sweep_07"
    world.tick()
    assert world.seen("sweep_1").job.job_name == "sweep_01"
    with pytest.raises(JobNotFound, match="there is no member 12 in `sweep`, which has 12: use an index from 0 to 11"):
        world.seen("sweep_12")


def test_the_members_of_an_array_are_listed_with_their_results(world: World) -> None:
    sweep(world)
    world.tick()
    measure(world, "sweep_0", 0.25)
    world.pass_time(400)
    _, found, following = world.queries.members("sweep", 0, 4, ROOT)
    assert following == 4
    assert [each.parameters["lr"] for each in found] == ["0.1", "0.1", "0.01", "0.01"]
    assert [each.result.metrics if each.result else None for each in found[:2]] == [{"loss": "0.25"}, {}]
    assert [each.job.is_made if each.job else None for each in found] == [None, None, True, True]
    assert world.queries.members("sweep", 4, 4, ROOT)[2] is None
    with pytest.raises(InvalidRequest, match="is no array"):
        world.queries.members("sweep_0", 0, 1, ROOT)


JOB, REQUEST = JobRecord.key("sweep"), request_key("sweep")
FORGOTTEN: list[tuple[str, list[Key], int, dict[str, str] | None, dict[str, str] | None]] = [
    # what the table has forgotten, members of a new array of that name, parameters, hyperparameters of the request
    ("nothing", [], 0, {"seed": "4"}, {"seed": "4"}),
    ("the array", [JOB], 0, None, {"seed": "4"}),
    ("the request of the array", [REQUEST], 0, {}, None),
    ("the array and its request", [JOB, REQUEST], 0, None, None),
    ("the array, and a smaller one has its name", [JOB], 2, None, None),
    ("the array, and an equal one has its name", [JOB], 12, None, None),
]


@pytest.mark.parametrize(
    ("gone", "count", "parameters", "shown"), [row[1:] for row in FORGOTTEN], ids=[row[0] for row in FORGOTTEN]
)
@pytest.mark.parametrize("is_changed", [False, True], ids=["", "with a request of its own"])
def test_a_member_is_shown_after_the_table_has_forgotten_its_array(
    gone: list[Key],
    count: int,
    parameters: dict[str, str] | None,
    shown: dict[str, str] | None,
    *,
    is_changed: bool,
) -> None:
    world = World(pools={P5: 12})
    sweep(world, document={"grid": {"seed": list(range(12))}})
    if is_changed:
        world.changes.change("sweep_04", RequestChange(max_runtime_s=3600), ROOT)
    run_to_the_end(world)
    for key in gone:
        world.table.write([Delete(key=key)])
    if count:
        sweep(world, document={"grid": {"seed": list(range(50, 50 + count))}})
    seen, _, found, _, member = world.queries.show("sweep_04", ROOT)
    assert seen.job.job_state is JobState.COMPLETED
    assert (None if member is None else member.parameters) == parameters
    assert found.request.get("HyperParameters") == ({"seed": "4"} if is_changed else shown)


@pytest.mark.parametrize(
    ("gone", "is_again", "seed"),
    [([], False, "4"), ([JOB, REQUEST], False, "4"), ([JOB], True, "54"), ([JOB, REQUEST], True, "54")],
    ids=["nothing", "the array", "the array, and another one has its name", "all of it, and another one has its name"],
)
def test_a_request_that_is_left_of_a_member_is_not_that_of_a_later_one(
    gone: list[Key], seed: str, *, is_again: bool
) -> None:
    world = World(pools={P5: 12})
    sweep(world, document={"grid": {"seed": list(range(12))}})
    world.changes.change("sweep_04", RequestChange(max_runtime_s=3600), ROOT)
    run_to_the_end(world)
    for key in gone:
        world.table.write([Delete(key=key)])
    if is_again:
        sweep(world, document={"grid": {"seed": list(range(50, 62))}})
    found = find_request(world.table, "sweep_04")
    assert found is not None
    assert found["HyperParameters"] == {"seed": seed}


@pytest.mark.parametrize("gone", [False, True], ids=["whole", "its request is forgotten"])
def test_the_members_of_an_array_are_listed_without_its_request(world: World, *, gone: bool) -> None:
    sweep(world)
    run_to_the_end(world)
    if gone:
        world.table.write([Delete(key=REQUEST)])
    _, found, _ = world.queries.members("sweep", 0, 1, ROOT)
    assert [each.parameters for each in found] == [{} if gone else {"lr": "0.1", "layers": "2"}]
    assert [each.result is not None for each in found] == [True]


@pytest.mark.parametrize("hides", [False, True])
def test_metrics_that_events_do_not_have_are_asked_for_once(hides: bool) -> None:
    world = World()
    world.fleet.faults = world.fleet.faults.with_changes({"event_hides_metrics": hides})
    sweep(world, at_once=1)
    world.tick()
    measure(world, "sweep_0", 0.5)
    described = len(world.called("DescribeTrainingJob"))
    world.pass_time(400)
    _, (member,), _ = world.queries.members("sweep", 0, 1, ROOT)
    assert member.result is not None
    assert member.result.metrics == {"loss": "0.5"}
    assert len(world.called("DescribeTrainingJob")) - described == hides


def test_others_do_not_see_the_hyperparameters_of_members() -> None:
    world = World()
    world.configuration.write({"pools": {P5: {"size": 2}}, "access": {"details": "owner"}})
    sweep(world, caller=ADA)
    seen = {caller: world.queries.members("sweep", 0, 1, caller)[1][0].parameters for caller in (ADA, BOB)}
    assert seen == {ADA: {"lr": "0.1", "layers": "2"}, BOB: {}}


def test_an_array_whose_members_were_all_made_before_their_turn_runs_and_completes(world: World) -> None:
    sweep(world)
    count = numbers(world).count
    for index in range(count):
        world.commands.set_priority(f"sweep_{index}", 5, ROOT)
    assert (numbers(world).unmade, world.states("sweep")) == (0, {"sweep": "pending"})
    world.tick()
    array = get_job(world.table, "sweep")
    assert (array.job_state, array.usage.started_ms) == ("running", world.clock())
    ended = run_to_the_end(world)
    assert ended.job_state == "completed"
    assert [step.job_state for step in ended.history] == ["pending", "running", "completed"]


def test_an_array_waits_for_other_jobs_and_others_wait_for_it(world: World) -> None:
    world.submit("prepare")
    sweep(world, depends_on=[{"job": "prepare"}])
    world.submitter.submit(Submission(request=request("report"), depends_on=[{"job": "sweep"}]), ROOT)
    world.tick()
    assert (running(world), numbers(world).made) == (["prepare"], 0)
    world.pass_time(JOB_S)
    assert running(world) == ["sweep_0", "sweep_1"]
    ended_ms = run_to_the_end(world).ended_ms
    world.tick()
    assert get_job(world.table, "report").usage.started_ms == ended_ms


def test_a_stopped_dependency_stops_the_array_and_members_that_were_set_aside(world: World) -> None:
    world.submit("prepare", ResourceConfig=on(2))
    sweep(world, depends_on=[{"job": "prepare"}])
    world.commands.set_priority("sweep_3", 5, ROOT)
    world.commands.stop("prepare", ROOT)
    for _ in range(3):
        world.tick()
    assert world.states("sweep", "sweep_3", "sweep_0") == dict.fromkeys(("sweep", "sweep_3", "sweep_0"), "stopped")
    assert (read_ledger(world.table).arrays, members(world).live) == ((), ())


def test_a_job_may_depend_on_a_member(world: World) -> None:
    sweep(world)
    world.tick()
    world.submitter.submit(Submission(request=request("after"), depends_on=[{"job": "sweep_0"}]), ROOT)
    world.pass_time(JOB_S)
    world.tick()
    assert find_job(world.table, "after").depends_on[0].ended == "completed"  # type: ignore[union-attr]
    assert numbers(world).completed == 2


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("sweep_5", "cannot depend on `sweep_5`, which is no job before its turn: depend on `sweep`, which has it"),
        ("sweep_6", "there is no member 6 in `sweep`, which has 6"),
    ],
)
def test_a_job_may_not_depend_on_a_member_before_its_turn(world: World, other: str, message: str) -> None:
    sweep(world)
    world.tick()
    with pytest.raises(InvalidRequest, match=message):
        world.submitter.submit(Submission(request=request("after"), depends_on=[{"job": other}]), ROOT)


def test_a_dependency_on_a_member_needs_no_leading_zeros(world: World) -> None:
    sweep(world, document={"grid": {"seed": list(range(12))}})
    world.tick()
    world.submitter.submit(Submission(request=request("after"), depends_on=[{"job": "sweep_1"}]), ROOT)
    assert get_job(world.table, "after").depends_on[0].job_name == "sweep_01"


def test_the_same_array_is_the_same_job_and_another_sweep_is_another(world: World) -> None:
    sweep(world)
    assert world.submitter.submit(submission(), ROOT, "k")[1] is False
    with pytest.raises(NameInUse):
        sweep(world, document={"grid": {"lr": [1, 2]}})


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"waitingPerTeam": 11, "waitingPerOwner": 11}, r"^6 jobs wait for .*, and 11 may .*so 6 more do not fit"),
        ({"waitingPerTeam": 12, "waitingPerOwner": 11}, r"^6 of your jobs wait for .*, and 11 may .*so 6 more"),
    ],
)
@pytest.mark.parametrize("ticks", [False, True])
def test_all_members_count_against_the_limits_and_all_enter_or_none(
    limits: dict[str, int], message: str, ticks: bool
) -> None:
    world = World()
    world.configuration.write({"pools": {P5: {"size": 2}}, "limits": limits})
    sweep(world, caller=ADA, ResourceConfig=on(2))
    if ticks:
        world.submit("first", 9, ResourceConfig=on(2))
        world.tick()
    with pytest.raises(QueueFull, match=message):
        sweep(world, "second", caller=ADA)
    assert find_job(world.table, "second") is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"at_once": 0}, "atOnce is 0; it is a whole number from 1 to 10000"),
        ({"at_once": True}, "atOnce is True"),
        ({"max_failures": -1}, "maxFailures is -1; it is a whole number from 0 to 10000"),
        ({"document": None, "at_once": 3}, "atOnce is for arrays: add a sweep, or remove it"),
        ({"document": {"grid": {"lr": []}}}, "sweep.grid.lr"),
        ({"document": {"grid": {"a": list(range(1000)), "b": list(range(1000))}}}, "10,?000"),
        ({"HyperParameters": {f"p{i}": "1" for i in range(99)}}, "HyperParameters"),
    ],
)
def test_a_wrong_array_is_refused_with_what_to_change(world: World, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        sweep(world, **changes)


def test_a_member_that_never_entered_the_queue_cannot_be_changed(world: World) -> None:
    sweep(world)
    world.commands.stop("sweep", ROOT)
    world.tick()
    with pytest.raises(JobEnded, match="never entered the queue"):
        world.commands.set_comment("sweep_3", "late", ROOT)


def test_an_end_that_is_counted_twice_counts_once(world: World) -> None:
    sweep(world, at_once=1)
    world.tick()
    world.pass_time(JOB_S)
    assert isinstance(world.table, MemoryTable)
    late = EndedJobRecord(job_name="sweep_0", ending="completed", member_of="sweep", index=0)  # type: ignore[arg-type]
    world.table.write([late.put()])
    world.tick()
    assert (numbers(world).completed, read_ledger(world.table).ended) == (1, ())


def test_held_members_hide_none_that_is_set_aside(world: World):
    held = 120
    sweep(world, document={"list": [{"seed": each} for each in range(held + 3)]}, at_once=2)
    for index in range(2, held + 2):
        world.commands.hold(f"sweep_{index:03}", ROOT)
    # A command makes the last one, too, behind all that are held.
    world.commands.set_priority(f"sweep_{held + 2:03}", 9, ROOT)
    for _ in range(3):
        world.tick()
        world.pass_time(JOB_S)

    assert get_job(world.table, f"sweep_{held + 2:03}").job_state is JobState.COMPLETED
    assert members(world).active == 0


def test_more_held_members_than_a_step_reads_hide_none_that_is_set_aside_for_ever(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(advance, "MAX_SET_ASIDE_READS", 4)
    held = 13
    sweep(world, document={"list": [{"seed": each} for each in range(held + 3)]}, at_once=2)
    for index in range(2, held + 2):
        world.commands.hold(f"sweep_{index:02}", ROOT)
    world.commands.set_priority(f"sweep_{held + 2:02}", 9, ROOT)
    world.tick()
    world.pass_time(JOB_S)
    # Of 14 that are set aside, a step reads the first two, and two others in each minute.
    for _ in range(6):
        world.now_s += 60
        world.tick()

    assert get_job(world.table, f"sweep_{held + 2:02}").job_state is JobState.RUNNING


def test_null_hyperparameters_are_none(world: World):
    without = {**request("sweep"), "HyperParameters": None}
    world.submitter.submit(Submission(request=without, sweep=GRID), ROOT)
    world.tick()

    request_of_member = find_request(world.table, "sweep_0")
    assert request_of_member is not None
    assert set(request_of_member["HyperParameters"]) == {"lr", "layers"}


def test_an_array_that_cannot_be_advanced_keeps_no_other_job_from_starting(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    whole = next_turn

    def fails_once(array: JobRecord, *args: Any, **options: Any) -> Any:
        if array.job_name == "broken":
            raise InvalidTransition("pending", "complete")
        return whole(array, *args, **options)

    monkeypatch.setattr(advance, "next_turn", fails_once)
    for name in ("broken", "sweep"):
        sweep(world, name, at_once=1)
    world.submit("alone", 9)

    report = world.tick()

    assert report.started == ["alone", "sweep_0"]
    assert set(report.failed) == {"broken"}


def test_dependants_that_cannot_be_notified_keep_no_other_job_from_starting(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    world.submit("before")
    world.submitter.submit(Submission(request=request("after"), depends_on=[{"job": "before"}]), ROOT)
    world.tick()
    world.submit("alone")

    def fails(*_: Any) -> None:
        raise InvalidTransition("preempted", "reuse")

    monkeypatch.setattr(DependantNotifier, "notify", fails)
    world.pass_time(JOB_S, tick=False)
    world.submit("other")
    report = world.tick()

    assert "other" in report.started
    assert set(report.failed) == {"before"}
