"""Members of arrays are answered by equal jobs, of their array, of another one, or submitted alone."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import pytest

from headway.lifecycle import JobState
from headway.reasons import ReasonCode
from headway_service.admission.submission import Submission
from headway_service.arrays import advance, comparing, turn
from headway_service.arrays.advance import ArrayAdvancer
from headway_service.config.authorization import Caller
from headway_service.errors import Conflict, ObjectsUnreadable
from headway_service.jobs.position import JobView
from headway_service.ports.table import Delete, Key, Put
from headway_service.store.ledger import read_ledger
from headway_service.store.records.array import ArrayRecord, MembersRecord
from headway_service.store.records.job import JobRecord, request_key
from headway_service.store.records.reuse import ComputedRecord
from headway_service.store.repository import find_job, get_job
from headway_service.store.turns import Turns
from headway_service.testing.memory_objects import MemoryObjects
from tests.service.world import ADA, BOB, ROOT, World, isolation, on, request

IMAGE = f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/t@sha256:{'a' * 64}"
JOB_S = 1000
"""A little more than a training job takes from its start to its end."""


@pytest.fixture
def world() -> World:
    world = World()
    world.objects.put("jobs", "other", b"")
    world.objects.put("data", "train/a", b"1")
    return world


def document(name: str, **changes: Any) -> dict[str, Any]:
    channel = {
        "ChannelName": "train",
        "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://data/train"}},
    }
    settings: dict[str, Any] = {
        "AlgorithmSpecification": {"TrainingImage": IMAGE, "TrainingInputMode": "File"},
        "InputDataConfig": [channel],
    }
    return request(name, **{**settings, **changes})


def sweep(world: World, name: str, seeds: int | list[int], caller: Caller = ROOT, **changes: Any) -> JobView[JobRecord]:
    """Submit an array whose members differ in their seeds."""
    own = {key: changes.pop(key) for key in ("at_once", "max_failures", "depends_on") if key in changes}
    values = list(range(seeds)) if isinstance(seeds, int) else seeds
    grid = {"list": [{"seed": each} for each in values]}
    return world.submitter.submit(Submission(request=document(name, **changes), reuse=True, sweep=grid, **own), caller)[
        0
    ]


def single(world: World, name: str, seed: int, **changes: Any) -> JobView[JobRecord]:
    own = {key: changes.pop(key) for key in ("depends_on",) if key in changes}
    changes.setdefault("HyperParameters", {"seed": str(seed)})
    return world.submitter.submit(Submission(request=document(name, **changes), reuse=True, **own), ROOT)[0]


def long_running(world: World) -> None:
    """Have one of the two instances in use from now on."""
    world.submit("long", 99, Environment={"SANDBOX_RUN_SECONDS": "80000"})
    world.tick()


def job(world: World, name: str) -> JobRecord:
    return get_job(world.table, name)


def numbers(world: World, name: str) -> ArrayRecord:
    found = job(world, name).array
    assert found is not None
    return found


def members(world: World, name: str) -> MembersRecord:
    found = job(world, name).members
    assert found is not None
    return found


def states(world: World, name: str, count: int) -> list[str]:
    found = (find_job(world.table, f"{name}_{index}") for index in range(count))
    return ["-" if each is None else str(each.job_state) for each in found]


def run(world: World, *names: str) -> None:
    """Run until jobs have ended; each attempt leaves a model, as SageMaker has it when the attempt ends."""
    for _ in range(30):
        world.tick()
        world.check()
        for attempt in read_ledger(world.table).attempts:
            world.objects.put("jobs", f"output/{attempt.attempt_name}/output/model.tar.gz", b"model")
        if all(job(world, name).ending is not None for name in names):
            return
        world.pass_time(JOB_S, tick=False)
    raise AssertionError(f"{names} do not end")


def launched(world: World) -> int:
    return len(world.called("CreateTrainingJob"))


def test_an_array_that_was_computed_before_completes_in_one_tick_without_instances(world: World):
    sweep(world, "first", 6, at_once=2, Tags=[{"Key": "priority", "Value": "7"}])
    run(world, "first")
    assert launched(world) == 6

    sweep(world, "second", 6, at_once=1)
    world.tick()

    assert launched(world) == 6
    ended = job(world, "second")
    assert (ended.job_state, numbers(world, "second").completed) == (JobState.COMPLETED, 6)
    found = [job(world, f"second_{index}") for index in range(6)]
    assert [each.reused_from for each in found] == [f"first_{index}" for index in range(6)]
    assert {each.reason.code for each in found} == {ReasonCode.REUSED}
    assert members(world, "second").live == ()
    assert all(world.table.get(request_key(each.job_name)) is None for each in found)
    ledger = read_ledger(world.table)
    assert (ledger.arrays, ledger.ended) == ((), ())
    world.check()


def test_only_members_that_nothing_equals_are_computed(world: World):
    sweep(world, "first", 2)
    run(world, "first")
    sweep(world, "second", [1, 5, 0], at_once=1)
    world.tick()
    assert [job(world, f"second_{index}").reused_from for index in (0, 1)] == ["first_1", ""]
    run(world, "second")
    assert (launched(world), job(world, "second_2").reused_from) == (3, "first_0")
    assert job(world, "second").job_state is JobState.COMPLETED


def test_a_member_and_a_single_job_with_the_same_request_are_equal(world: World):
    single(world, "alone", 1)
    run(world, "alone")
    sweep(world, "array", 2)
    run(world, "array")
    assert job(world, "array_1").reused_from == "alone"
    assert single(world, "later", 0).job.reused_from == "array_0"
    assert launched(world) == 2


def test_the_names_in_checkpoint_locations_do_not_make_members_differ(world: World):
    config = {"S3Uri": "s3://jobs/checkpoints"}
    sweep(world, "first", 2, CheckpointConfig=config)
    run(world, "first")
    sweep(world, "second", 2, CheckpointConfig=config)
    sweep(world, "third", 2, CheckpointConfig={"S3Uri": "s3://jobs/elsewhere"})
    world.tick()
    assert job(world, "second_1").reused_from == "first_1"
    assert job(world, "third_1").reused_from == ""


def test_a_member_with_checkpoints_of_its_own_answers_nobody(world: World):
    world.objects.put("jobs", "checkpoints/first_0/model", b"")
    sweep(world, "first", 2, CheckpointConfig={"S3Uri": "s3://jobs/checkpoints"})
    run(world, "first")
    sweep(world, "second", 2, CheckpointConfig={"S3Uri": "s3://jobs/checkpoints"})
    world.tick()
    assert [job(world, f"second_{index}").reused_from for index in (0, 1)] == ["", "first_1"]


def test_a_member_whose_equal_job_was_stopped_enters_the_queue_in_turn(world: World):
    single(world, "alone", 0)
    world.tick()
    sweep(world, "array", 3, at_once=1)
    world.tick()
    assert states(world, "array", 3) == ["pending", "running", "-"]
    world.commands.stop("alone", ROOT)
    world.tick()
    world.pass_time(200, tick=False)
    world.tick()
    waits = job(world, "array_0")
    assert (waits.job_state, waits.is_set_aside, waits.awaited) == (JobState.PENDING, True, [])
    assert waits.reason.code is ReasonCode.DEPENDENCY_ENDED
    run(world, "array")
    assert numbers(world, "array").completed == 3
    assert job(world, "array_0").usage.started_ms < job(world, "array_2").usage.started_ms  # type: ignore[operator]
    world.check()


def test_a_member_that_enters_the_queue_later_looks_again(world: World):
    sweep(world, "array", 3, at_once=1)
    world.tick()
    world.commands.set_priority("array_2", 9, ROOT)
    single(world, "alone", 2)
    single(world, "next", 9, depends_on=[{"job": "array_2"}])
    run(world, "alone", "array", "next")
    assert job(world, "array_2").reused_from == "alone"
    _, (member,), _ = world.queries.members("array", 2, 1, ROOT)
    assert (member.result and member.result.attempt_name) == "alone"
    assert job(world, "next").job_state is JobState.COMPLETED
    assert numbers(world, "array").completed == 3


def test_a_member_that_enters_the_queue_later_waits_for_its_equal_job(world: World):
    sweep(world, "array", 3, at_once=1)
    world.tick()
    world.commands.set_priority("array_2", 9, ROOT)
    long_running(world)
    single(world, "alone", 2, Tags=[{"Key": "priority", "Value": "9"}])
    world.pass_time(JOB_S)
    world.tick()
    assert job(world, "alone").dependants == ("array_2",)
    assert [each.job_name for each in job(world, "array_2").depends_on] == ["alone"]
    run(world, "array", "alone")
    assert job(world, "array_2").reused_from == "alone"
    assert world.table.get(request_key("array_2")) is None


def test_members_compute_in_the_place_of_an_equal_job_that_is_held(world: World):
    single(world, "alone", 0)
    world.commands.hold("alone", ROOT)
    sweep(world, "array", 2)
    run(world, "array")
    assert job(world, "alone").reused_from == "array_0"
    assert "alone" not in world.called("CreateTrainingJob")


def test_a_member_that_is_taken_in_computes_in_the_place_of_an_equal_job_that_is_held(world: World):
    sweep(world, "array", 3, at_once=1)
    world.tick()
    world.commands.set_priority("array_2", 9, ROOT)
    single(world, "alone", 2)
    world.commands.hold("alone", ROOT)
    run(world, "array")
    assert (job(world, "array_2").reused_from, job(world, "alone").reused_from) == ("", "array_2")


def test_a_member_that_enters_the_queue_later_computes_for_equal_jobs(world: World):
    sweep(world, "array", 3, at_once=1)
    world.tick()
    world.commands.set_priority("array_2", 9, ROOT)
    world.pass_time(JOB_S)
    world.tick()
    assert job(world, "array_2").live_attempt is not None
    assert single(world, "alone", 2).job.twin == "array_2"


def test_an_array_is_never_answered_as_a_whole(world: World):
    single(world, "alone", 0, HyperParameters=None)
    run(world, "alone")
    single(world, "before", 9)
    sweep(world, "array", 2, depends_on=[{"job": "before"}])
    run(world, "array")
    assert (job(world, "array").reused_from, numbers(world, "array").completed) == ("", 2)


def test_all_shared_inputs_are_read_once_in_a_tick(world: World):
    sweep(world, "first", 6)
    run(world, "first")
    sweep(world, "second", 6)
    with mock.patch.object(MemoryObjects, "list", autospec=True, side_effect=MemoryObjects.list) as listed:
        world.tick()
    assert [call.args[1] for call in listed.call_args_list].count("data") == 1
    assert numbers(world, "second").completed == 6


def test_shared_inputs_are_read_again_in_the_next_round_of_a_tick(world: World):
    sweep(world, "first", 2)
    run(world, "first")
    advancer = ArrayAdvancer(
        world.table,
        clocks=world.clocks,
        turns=Turns(world.table, lambda: 1000),
        retention_s=3600,
        configuration=world.configured(),
        metrics_of=lambda _: {},
        reuse=world.container.reuse,
        isolation=isolation(),
    )
    sweep(world, "second", 2)
    advancer.advance(read_ledger(world.table))
    assert states(world, "second", 2) == ["completed", "completed"]
    world.objects.put("data", "train/a", b"2")
    sweep(world, "third", 2)
    advancer.advance(read_ledger(world.table))
    assert states(world, "third", 2) == ["pending", "pending"]


def test_an_input_that_is_written_again_between_the_reading_and_the_end_is_noticed(world: World):
    """What was read for other members stands for no later moment."""
    sweep(world, "first", 2, at_once=1)
    world.tick()
    world.pass_time(100)
    world.objects.put("data", "train/a", b"1", 5)
    run(world, "first")
    sweep(world, "second", 2)
    world.tick()
    assert [job(world, f"second_{index}").reused_from for index in (0, 1)] == ["", "first_1"]


def test_a_tick_compares_a_limited_number_of_members_and_the_next_one_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    sweep(world, "first", 5)
    run(world, "first")
    monkeypatch.setattr(comparing, "MAX_COMPARED", 2)
    sweep(world, "second", 5)
    made = []
    for _ in range(3):
        world.tick()
        made.append(numbers(world, "second").made)
    assert made == [2, 4, 5]
    assert job(world, "second").job_state is JobState.COMPLETED


def test_results_have_the_metrics_of_the_job_that_computed_them(world: World):
    sweep(world, "first", 1)
    world.tick()
    world.pass_time(600)
    world.fleet.put_metric(job(world, "first_0").live_attempt or "", "loss", 0.5, at=world.now_s)
    run(world, "first")
    sweep(world, "second", 1)
    world.tick()
    _, (member,), _ = world.queries.members("second", 0, 1, ROOT)
    assert member.result is not None
    assert member.result.metrics == {"loss": "0.5"}
    assert member.result.attempt_name == job(world, "first_0").attempts[-1].attempt_name


def test_an_array_after_others_is_compared_when_they_have_ended(world: World):
    sweep(world, "first", 2)
    run(world, "first")
    single(world, "before", 9)
    sweep(world, "second", 2, depends_on=[{"job": "before"}])
    single(world, "after", 8, depends_on=[{"job": "second"}])
    run(world, "after")
    assert [job(world, f"second_{index}").reused_from for index in (0, 1)] == ["first_0", "first_1"]
    assert launched(world) == 4


def test_an_equal_job_that_changes_meanwhile_is_read_again(world: World, monkeypatch: pytest.MonkeyPatch):
    single(world, "alone", 0)
    world.tick()
    sweep(world, "array", 1)
    whole, pending = type(world.table).write, [lambda: world.commands.stop("alone", ROOT)]
    refused: list[str] = []

    def write(table: Any, writes: Any) -> None:
        if pending and any("array_0" in str(each) for each in writes):
            pending.pop()()
        try:
            whole(table, writes)
        except Conflict:
            refused.append("array_0")
            raise

    monkeypatch.setattr(type(world.table), "write", write)
    world.tick()
    assert refused == ["array_0"]
    run(world, "array")
    assert job(world, "array").job_state is JobState.COMPLETED


def test_members_wait_for_equal_ones_and_leave_their_places_to_others(world: World):
    sweep(world, "first", 2)
    world.tick()
    sweep(world, "second", [0, 1, 7], at_once=1)
    world.tick()
    assert states(world, "second", 3) == ["pending"] * 3
    assert members(world, "second").set_aside == (0, 1)
    told = world.seen("second_1").reason
    assert (told.code, "waits for `first_1`" in told.message) == (ReasonCode.WAITS_FOR_JOBS, True)
    run(world, "first", "second")
    assert [job(world, f"second_{index}").reused_from for index in range(3)] == ["first_0", "first_1", ""]
    assert launched(world) == 3


def test_a_held_member_that_computes_for_others_enters_again_as_the_same(world: World):
    sweep(world, "first", 3)
    world.tick()
    sweep(world, "second", 3)
    world.tick()
    world.commands.hold("first_2", ROOT)
    world.tick()
    world.commands.release("first_2", ROOT)
    run(world, "first", "second")
    assert [job(world, f"second_{index}").reused_from for index in range(3)] == [f"first_{index}" for index in range(3)]
    assert launched(world) == 3


def test_held_arrays_whose_members_wait_for_each_other_go_on_after_their_release(world: World):
    sweep(world, "first", 5, at_once=2)
    world.tick()
    sweep(world, "second", [2, 0, 1, 3, 4], at_once=2)
    world.tick()
    for name in ("first", "second"):
        world.commands.hold(name, ROOT)
    world.tick()
    for name in ("second", "first"):
        world.commands.release(name, ROOT)
    run(world, "first", "second")
    assert numbers(world, "first").completed == numbers(world, "second").completed == 5
    assert launched(world) == 5


def test_with_many_members_set_aside_no_further_one_is_made(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turn, "MAX_FOLLOWING", 2)
    sweep(world, "first", 4)
    world.tick()
    sweep(world, "second", 4)
    world.tick()
    assert numbers(world, "second").made == 2
    run(world, "first", "second")
    assert launched(world) == 4


def test_a_member_whose_owner_may_not_see_the_equal_job_is_computed(world: World):
    world.configuration.write({**world.configuration.document, "access": {"details": "owner"}})
    sweep(world, "first", 1, ADA)
    run(world, "first")
    sweep(world, "second", 1, BOB)
    sweep(world, "third", 1, ADA)
    world.tick()
    assert [job(world, f"{name}_0").reused_from for name in ("second", "third")] == ["", "first_0"]


def test_an_array_completes_whose_members_were_made_early_and_answered(world: World):
    long_running(world)
    single(world, "before", 9, Tags=[{"Key": "priority", "Value": "5"}])
    single(world, "alone", 0)
    world.commands.hold("before", ROOT)
    world.submit("between", 50)
    world.tick()
    sweep(world, "array", 1, depends_on=[{"job": "before"}])
    # A command about a member makes it.
    world.commands.set_comment("array_0", "look at this one", ROOT)
    world.commands.release("before", ROOT)
    run(world, "before")
    world.tick()
    assert [each.job_name for each in job(world, "array_0").depends_on] == ["alone"]
    assert job(world, "array").job_state is JobState.PENDING

    run(world, "alone", "array")

    assert job(world, "array_0").reused_from == "alone"
    assert job(world, "array").job_state is JobState.COMPLETED


def test_an_array_ends_if_the_tick_that_has_answered_its_last_member_did_not_end_it(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    """Its members are counted and its end is written in two steps: between them it has nothing but its end to do."""
    single(world, "alone", 0)
    run(world, "alone")
    sweep(world, "array", 1)
    with monkeypatch.context() as without:
        without.setattr(turn, "_ends", lambda _: False)
        world.tick()
    assert job(world, "array_0").reused_from == "alone"
    assert job(world, "array").job_state is JobState.RUNNING
    world.tick()
    assert job(world, "array").job_state is JobState.COMPLETED


def preempted_member(world: World) -> None:
    """A member that S3's error has compute by itself, and that is preempted."""
    with mock.patch.object(MemoryObjects, "list", side_effect=ObjectsUnreadable("S3 does not answer")):
        sweep(world, "array", 1)
        world.tick()
    world.pass_time(60)
    world.submit("urgent", 9, ResourceConfig=on(2))
    world.tick()
    world.pass_time(JOB_S // 2)
    found = job(world, "array_0")
    assert (found.job_state, found.attempt_count) == (JobState.PREEMPTED, 1)
    assert found.reuse is not None
    assert found.reuse.key == ""


@pytest.mark.parametrize("is_over", [True, False], ids=["an-equal-job-has-completed", "an-equal-job-waits"])
def test_a_member_that_had_an_attempt_computes_by_itself_after_it_was_set_aside(world: World, is_over: bool):
    if is_over:
        single(world, "alone", 0)
        run(world, "alone")
    preempted_member(world)
    world.commands.hold("array", ROOT)
    world.tick()
    assert job(world, "array_0").is_set_aside
    if not is_over:
        single(world, "alone", 0)

    world.commands.release("array", ROOT)
    run(world, "array")

    found = job(world, "array_0")
    assert (found.job_state, found.reused_from, found.attempt_count) == (JobState.COMPLETED, "", 2)


@pytest.mark.parametrize("held", [2, 5])
def test_held_members_keep_no_other_from_being_made(world: World, monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(turn, "MAX_FOLLOWING", 2)
    sweep(world, "array", held + 3)
    for index in range(held):
        world.commands.hold(f"array_{index}", ROOT)
    for _ in range(6):
        world.tick()
        world.pass_time(JOB_S)
    assert numbers(world, "array").completed == 3
    assert states(world, "array", held + 3) == ["pending"] * held + ["completed"] * 3
    for index in range(held):
        world.commands.release(f"array_{index}", ROOT)
    run(world, "array")
    assert job(world, "array").job_state is JobState.COMPLETED


def test_more_held_members_than_are_read_keep_none_of_the_others_back_for_good(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advance, "MAX_SET_ASIDE_READS", 4)
    sweep(world, "array", 8)
    for index in range(8):
        world.commands.hold(f"array_{index}", ROOT)
    world.commands.release("array_7", ROOT)
    for _ in range(3):
        world.tick()
        world.pass_time(60)
    assert job(world, "array_7").live_attempt is not None


@pytest.mark.parametrize("about", ["missing", "unreadable request", "newer sweep", "newer array"])
def test_an_array_that_cannot_be_read_is_left_alone_and_all_others_go_on(world: World, about: str) -> None:
    sweep(world, "broken", 2)
    sweep(world, "other", 1)
    world.submit("alone", 9)
    if about == "missing":
        world.table.write([Delete(key=request_key("broken"))])
    else:
        damages: dict[str, tuple[Key, dict[str, Any]]] = {
            "unreadable request": (request_key("broken"), {"jobDetails": "{"}),
            "newer sweep": (request_key("broken"), {"sweep": json.dumps({"bayes": {}})}),
            "newer array": (JobRecord.key("broken"), {"schemaVersion": 99}),
        }
        key, changes = damages[about]
        world.table.write([Put(item={**(world.table.get(key) or {}), **changes})])
    report = world.tick()
    assert set(report.started) == {"alone", "other_0"}
    # Nor is the submission of another one refused.
    sweep(world, "later", 1)
    assert (report.failed, report.rounds, report.decisions) == (["broken"], 2, 1)


def test_a_member_that_cannot_be_read_keeps_no_other_from_entering_or_stopping(world: World) -> None:
    sweep(world, "array", 4, at_once=1)
    world.tick()
    for index in (1, 2):
        world.commands.set_priority(f"array_{index}", 9 - index, ROOT)
    key = JobRecord.key("array_1")
    whole = world.table.get(key)
    assert whole is not None
    world.table.write([Put(item={**whole, "schemaVersion": 99})])
    world.pass_time(JOB_S, tick=False)
    report = world.tick()
    assert report.failed == ["array_1"]
    assert job(world, "array_2").live_attempt is not None
    world.commands.set_priority("array", 3, ROOT)
    world.tick()
    assert job(world, "array_2").priority == 3
    assert members(world, "array").is_reprioritized
    world.commands.stop("array", ROOT)
    world.tick()
    assert job(world, "array_2").job_state is JobState.STOPPING
    world.table.write([Put(item=whole)])
    run(world, "array")
    assert job(world, "array").job_state is JobState.STOPPED


@pytest.mark.parametrize("about", ["the job", "its request", "what it computes"])
@pytest.mark.parametrize("ends", [False, True])
def test_a_job_that_equals_one_that_cannot_be_read_computes_by_itself(world: World, about: str, ends: bool) -> None:
    """In an array as well, and it does not replace the other one, which newer code may read."""
    single(world, "alone", 0)
    world.tick()
    if ends:
        world.pass_time(JOB_S, tick=False)
        world.objects.put("jobs", "output/alone/output/model.tar.gz", b"model")
    reuse = job(world, "alone").reuse
    assert reuse is not None
    key = {
        "the job": JobRecord.key("alone"),
        "its request": request_key("alone"),
        "what it computes": ComputedRecord.key(reuse.key),
    }[about]
    damaged = {**(world.table.get(key) or {}), "schemaVersion": 99}
    world.table.write([Put(item=damaged)])
    sweep(world, "array", 1)
    report = world.tick()
    waits = about == "its request" and not ends
    assert report.started == ([] if waits else ["array_0"])
    assert (report.failed, world.table.get(key)) == ([], damaged)
