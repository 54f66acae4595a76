"""The main story and its accidents, over the whole service layer on virtual time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.lifecycle import ACTIVE, WAITING
from headway.plan import Plan, Release, Start
from headway.reasons import started
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from headway_service.admission.submission import Submission
from headway_service.errors import Conflict, JobEnded, NameInUse
from headway_service.launching.decision import Decision
from headway_service.ports.table import Update
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.sagemaker_api.status import parse_status
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store import transitions
from headway_service.store.job_filter import JobFilter
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.ledger import PoolRecord, ReservationRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.snapshot import read_snapshot
from headway_service.tracking.observer import StatusOutcome
from tests.service.world import P5, ROOT, World, on, request


@pytest.fixture
def world() -> World:
    return World()


def line(world: World) -> list[str]:
    return [seen.job.job_name for seen in world.queries.jobs(JobFilter(states=WAITING), 100, None)[0]]


def test_the_founding_story_plays_from_submit_to_an_empty_queue(world: World) -> None:
    long = {"Environment": {"SANDBOX_RUN_SECONDS": "3000"}}
    middling = {"Environment": {"SANDBOX_RUN_SECONDS": "1200"}}
    for name, priority in (("job1", 1), ("job2", 2), ("job3", 1)):
        world.submit(name, priority, **(long if name == "job1" else middling))
        world.tick()
        world.check()
        world.now_s += 1
    assert world.states("job1", "job2", "job3") == {"job1": "running", "job2": "running", "job3": "pending"}

    world.pass_time(300)
    world.submit("job4", 3, **long)
    world.tick()
    world.check()
    assert world.states("job1", "job4") == {"job1": "stopping", "job4": "pending"}
    assert "`job1`" in world.seen("job4").reason.message
    assert world.called("StopTrainingJob") == ["job1"]

    world.pass_time(60)
    assert world.states("job4") == {"job4": "pending"}, "job4 starts only when the instance is really free"
    world.pass_time(70)
    world.check()
    assert world.states("job1", "job4") == {"job1": "preempted", "job4": "running"}
    assert line(world) == ["job1", "job3"]
    assert world.seen("job1").place == 1

    world.pass_time(1000)
    world.check()
    assert world.states("job2", "job1", "job3") == {"job2": "completed", "job1": "running", "job3": "pending"}
    assert world.called("CreateTrainingJob")[-1].startswith("job1-")

    world.pass_time(20_000)
    world.check()
    assert set(world.states("job1", "job2", "job3", "job4").values()) == {"completed"}
    assert world.queries.jobs(JobFilter(states=WAITING | ACTIVE), 100, None) == ([], None)
    assert world.called("CreateTrainingJob")[-1] == "job3"
    ledger = read_ledger(world.table)
    assert not ledger.attempts
    assert not ledger.reservations


def test_the_history_of_a_preempted_job_has_changes_and_reasons(world: World) -> None:
    world.submit("low", 1, ResourceConfig=on(2))
    world.tick()
    world.submit("high", 5, ResourceConfig=on(2))
    world.tick()
    world.pass_time(10_000)
    job = world.seen("low").job
    assert [(str(step.job_state), str(step.reason.code)) for step in job.history] == [
        ("pending", "Entered"),
        ("running", "Started"),
        ("stopping", "Preempted"),
        ("preempted", "ReturnedToLine"),
        ("running", "Started"),
        ("completed", "Completed"),
    ]
    assert [attempt.number for attempt in job.attempts] == [1, 2]
    assert job.attempts[0].attempt_name == "low"


def test_freed_instances_are_held_for_the_job_they_were_freed_for(world: World) -> None:
    world.submit("x", 1)
    world.submit("y", 1)
    world.tick()
    world.pass_time(300)
    world.submit("big", 5, ResourceConfig=on(2))
    world.tick()
    assert world.states("x", "y") == {"x": "stopping", "y": "stopping"}
    # One ends at once, the other later: the freed instances must not go to another job.
    world.fleet.finish("x", now=world.now_s)
    world.pass_time(1)
    world.submit("small", 4)
    world.tick()
    world.check()
    assert world.states("big", "small") == {"big": "pending", "small": "pending"}
    world.pass_time(130)
    world.check()
    assert world.states("big", "small") == {"big": "running", "small": "pending"}


def test_a_leaving_preemptors_reservation_passes_to_the_next_job(world: World) -> None:
    world.submit("x", 1, ResourceConfig=on(2))
    world.tick()
    world.submit("high", 5, ResourceConfig=on(2))
    world.tick()
    world.commands.stop("high", ROOT)
    world.pass_time(130)
    world.check()
    assert world.states("high", "x") == {"high": "stopped", "x": "running"}
    assert not read_ledger(world.table).reservations


def test_the_reservation_of_a_preemptor_that_leaves_is_released(world: World) -> None:
    world.submit("x", 1)
    world.submit("y", 1)
    world.tick()
    world.pass_time(300)
    world.submit("big", 5, ResourceConfig=on(2))
    world.tick()
    world.fleet.finish("x", now=world.now_s)
    world.pass_time(1)
    assert read_ledger(world.table).reservation_of("big") is not None
    world.commands.stop("big", ROOT)
    world.check()
    assert read_ledger(world.table).reservation_of("big") is None


def test_a_job_that_completes_while_it_is_being_preempted_is_completed(world: World) -> None:
    world.submit("x", 1, ResourceConfig=on(2))
    world.tick()
    world.submit("high", 5, ResourceConfig=on(2))
    world.tick()
    world.fleet.finish("x", now=world.now_s)
    world.pass_time(5)
    assert world.states("x", "high") == {"x": "completed", "high": "running"}


def test_stopping_a_job_during_its_preemption_ends_it(world: World) -> None:
    world.submit("x", 1, ResourceConfig=on(2))
    world.tick()
    world.submit("high", 5, ResourceConfig=on(2))
    world.tick()
    _, still = world.commands.stop("x", ROOT)
    assert still
    world.pass_time(130)
    world.check()
    assert world.states("x", "high") == {"x": "stopped", "high": "running"}


def test_stopping_a_running_job_frees_its_instances_only_when_it_has_ended(world: World) -> None:
    world.submit("x", ResourceConfig=on(2))
    world.tick()
    world.pass_time(300)
    world.submit("y")
    world.commands.stop("x", ROOT)
    world.tick()
    world.check()
    assert world.states("x", "y") == {"x": "stopping", "y": "pending"}
    world.pass_time(130)
    assert world.states("x", "y") == {"x": "stopped", "y": "running"}


def test_stopping_twice_is_no_error_but_stopping_a_completed_job_is(world: World) -> None:
    world.submit("x")
    assert world.commands.stop("x", ROOT)[1] is False
    assert world.commands.stop("x", ROOT)[1] is False
    world.submit("y")
    world.tick()
    world.commands.stop("y", ROOT)
    assert world.commands.stop("y", ROOT)[1] is True
    world.submit("z")
    world.tick()
    world.pass_time(2000)
    with pytest.raises(JobEnded, match="completed already"):
        world.commands.stop("z", ROOT)


def test_the_same_request_again_is_the_same_job_and_another_one_is_refused(world: World) -> None:
    first, new = world.submitter.submit(request("a", 1), ROOT)
    again, new_again = world.submitter.submit(request("a", 1), ROOT)
    assert (new, new_again) == (True, False)
    assert again.job.entry_time == first.job.entry_time
    with pytest.raises(NameInUse, match="choose a new name"):
        world.submitter.submit(request("a", 2), ROOT)


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"priority": 2}, ["Tags.priority"]),
        ({"Tags": [{"Key": "run", "Value": "7"}]}, ["Tags.priority", "Tags.run"]),
        ({"StoppingCondition": {"MaxRuntimeInSeconds": 60}}, ["StoppingCondition.MaxRuntimeInSeconds"]),
        ({"HyperParameters": {"a": "2", "b": "1"}}, ["HyperParameters.a", "HyperParameters.b"]),
        ({"HyperParameters": {str(n): "" for n in range(9)}}, [f"HyperParameters.{n}" for n in range(5)]),
    ],
)
def test_the_owner_of_a_job_is_told_what_another_request_with_its_name_changes(
    world: World, changes: dict[str, Any], fields: list[str]
) -> None:
    world.submit("a", 1, HyperParameters={"a": "1"})
    changed = {"priority": 1, "HyperParameters": {"a": "1"}, **changes}
    with pytest.raises(NameInUse) as refused:
        world.submit("a", **changed)
    assert sorted(each.field for each in refused.value.fields) == sorted(fields)
    assert all(f"`{field}`" in str(refused.value) for field in fields)


def test_the_owner_of_a_job_that_gives_another_priority_is_told_how_to_change_it(world: World) -> None:
    world.submit("a", 1)
    way = "in `Tags.priority`: change its priority with `headway priority a 2`, or choose a new name for another job"
    with pytest.raises(NameInUse, match=way):
        world.submit("a", 2)
    with pytest.raises(NameInUse, match=r"in `Tags\.priority`, `Tags\.run`: choose a new name"):
        world.submit("a", Tags=[{"Key": "run", "Value": "7"}])
    world.tick()
    world.pass_time(2000)
    with pytest.raises(NameInUse, match=r"\(completed\), in `Tags\.priority`: choose a new name"):
        world.submit("a", 2)


def test_of_tags_in_another_order_that_is_told(world: World) -> None:
    tags = [{"Key": "priority", "Value": "1"}, {"Key": "run", "Value": "7"}]
    world.submit("a", Tags=tags)
    with pytest.raises(NameInUse, match="in `Tags`: choose a new name"):
        world.submit("a", Tags=tags[::-1])


def test_of_a_request_that_differs_beside_its_fields_only_that_is_said(world: World) -> None:
    world.submit("other")
    world.submit("a")
    with pytest.raises(NameInUse, match="what it has beside its CreateTrainingJob request"):
        world.submitter.submit(Submission(request=request("a"), depends_on=[{"job": "other"}]), ROOT)


@pytest.mark.parametrize(
    ("first", "again", "new"),
    [("k", "k", True), ("k", "l", False), ("k", None, False), (None, "k", False), (None, None, False)],
)
def test_a_repeated_call_with_the_same_key_counts_as_the_creating_call(
    world: World, first: str | None, again: str | None, new: bool
) -> None:
    assert world.submitter.submit(request("a", 1), ROOT, first)[1] is True
    assert world.submitter.submit(request("a", 1), ROOT, again)[1] is new
    with pytest.raises(NameInUse):
        world.submitter.submit(request("a", 2), ROOT, again)


def test_a_higher_priority_moves_a_waiting_job_to_the_front(world: World) -> None:
    world.submit("x", 5, ResourceConfig=on(2))
    world.tick()
    world.submit("a", 1)
    world.submit("b", 1)
    world.commands.set_priority("b", 3, ROOT)
    assert line(world) == ["b", "a"]
    world.tick()
    assert world.states("b") == {"b": "pending"}
    world.commands.set_priority("b", 6, ROOT)
    world.tick()
    world.pass_time(130)
    world.check()
    assert world.states("x", "b") == {"x": "preempted", "b": "running"}


def test_a_running_job_given_a_lower_priority_can_be_preempted(world: World) -> None:
    world.submit("x", 5, ResourceConfig=on(2))
    world.tick()
    world.submit("a", 3)
    world.commands.set_priority("x", 1, ROOT)
    world.tick()
    assert world.states("x") == {"x": "stopping"}


def test_two_concurrent_ticks_launch_every_job_once(world: World) -> None:
    """The second tick runs wholly inside the first, between its decision and its first write."""
    for name in ("a", "b", "c"):
        world.submit(name)

    report = world.interrupted_tick(world.tick)
    world.check()
    assert report.rejected == 2
    assert sorted(world.called("CreateTrainingJob")) == ["a", "b"]


@pytest.mark.parametrize("repeats", [1, 3])
def test_repeated_and_late_events_change_nothing(world: World, repeats: int) -> None:
    world.submit("a")
    world.tick()
    details = []
    while (due := world.fleet.next_due()) is not None:
        world.now_s = due
        details += world.fleet.advance(due)
    sightings = [parse_status(detail) for detail in details]
    for _ in range(repeats):
        for sighting in reversed(sightings):
            world.observer.apply_status(sighting, world.clock())
    world.check()
    job = world.seen("a").job
    assert str(job.job_state) == "completed"
    assert len(job.attempts) == 1
    assert [str(step.job_state) for step in job.history] == ["pending", "running", "completed"]


def test_an_older_status_does_not_replace_a_newer_one(world: World) -> None:
    world.submit("a")
    world.tick()

    def seen(secondary: str, at_ms: int) -> str | None:
        sighting = TrainingJobStatus(attempt="a", status="InProgress", secondary_status=secondary, modified_ms=at_ms)
        world.observer.apply_status(sighting, world.clock())
        attempt = world.queries.show("a", ROOT)[1]
        return attempt.secondary_status if attempt else None

    assert seen("Training", 2000) == "Training"
    assert seen("Downloading", 1000) == "Training"
    assert seen("Training", 2000) == "Training"
    assert seen("Interrupted", 3000) == "Interrupted"


def test_events_of_other_training_jobs_are_ignored(world: World) -> None:
    sighting = TrainingJobStatus(attempt="somebody", status="Completed", secondary_status="Completed", modified_ms=1)
    assert world.observer.apply_status(sighting, world.clock()) is StatusOutcome.NOT_OURS


@pytest.mark.parametrize(
    ("later", "written"),
    [
        ({"secondary_status": "Downloading"}, False),
        ({"secondary_status": "Training"}, True),
        ({"secondary_status": "Training", "training_since_ms": 1500}, True),
        ({"secondary_status": "Starting", "status": "Stopping"}, True),
        ({"secondary_status": "Starting", "interruptions": 1}, True),
    ],
)
def test_the_steps_of_a_start_are_not_written_one_by_one(world: World, later: dict[str, Any], written: bool) -> None:
    world.submit("a")
    world.tick()

    def version() -> int:
        return read_ledger(world.table).attempts[0].version

    begins = TrainingJobStatus(attempt="a", status="InProgress", secondary_status="Starting", modified_ms=1000)
    world.observer.apply_status(begins, world.clock())
    before = version()
    world.observer.apply_status(replace(begins, modified_ms=2000, **later), world.clock())
    assert (version() > before) is written


def test_reconcile_finds_an_attempt_whose_event_was_lost(world: World) -> None:
    world.submit("a")
    world.tick()
    world.pass_time(5000, deliver=False)
    assert world.states("a") == {"a": "running"}
    assert world.reconcile() == 1
    assert world.states("a") == {"a": "completed"}
    assert world.wakes[-1] == "reconcile has asked SageMaker"
    world.check()


def test_reconcile_skips_recently_confirmed_attempts(world: World) -> None:
    world.submit("a")
    world.tick()
    world.now_s += 200
    assert world.reconcile(after_s=300) == 0
    assert world.called("DescribeTrainingJob") == []
    world.now_s += 200
    world.reconcile(after_s=300)
    world.reconcile(after_s=300)
    assert world.called("DescribeTrainingJob") == ["a"], "an answer counts as news"


def test_a_training_job_deleted_outside_the_queue_fails_with_a_reason(world: World) -> None:
    world.submit("a")
    world.tick()
    world.fleet.finish("a", now=world.now_s)
    world.fleet.delete("a", now=world.now_s)
    world.now_s += 400
    world.reconcile()
    assert world.states("a") == {"a": "running"}, "one answer that it is missing proves nothing"
    world.now_s += VISIBLE_AFTER_S
    world.reconcile()
    seen = world.seen("a")
    assert str(seen.job.job_state) == "failed"
    assert "deleted outside the queue" in seen.reason.message


def test_a_training_job_stopped_outside_the_queue_stops_its_job(world: World) -> None:
    world.submit("a")
    world.tick()
    world.pass_time(300)
    world.fleet.stop("a", now=world.now_s)
    world.pass_time(130)
    seen = world.seen("a")
    assert str(seen.job.job_state) == "stopped"
    assert "outside the queue" in seen.reason.message


def test_a_failed_job_has_sagemakers_reason(world: World) -> None:
    world.submit("a", Environment={"SANDBOX_OUTCOME": "AlgorithmError: exit code 1", "SANDBOX_RUN_SECONDS": "5"})
    world.tick()
    world.pass_time(1000)
    seen = world.seen("a")
    assert str(seen.job.job_state) == "failed"
    assert "AlgorithmError: exit code 1" in seen.reason.message
    assert seen.job.attempts[0].failure_reason == "AlgorithmError: exit code 1"


def test_a_job_that_fails_during_its_preemption_is_requeued(world: World) -> None:
    """Not every script takes SIGTERM well; that it was stopped is the queue's doing, not the job's fault."""
    world.submit("x", 1, ResourceConfig=on(2))
    world.tick()
    world.submit("high", 5, ResourceConfig=on(2))
    world.tick()
    world.fleet.fail("x", "AlgorithmError: killed", now=world.now_s)
    world.pass_time(1)
    assert world.states("x") == {"x": "preempted"}


def test_a_job_that_reached_its_limit_has_that_reason(world: World) -> None:
    world.submit("a", StoppingCondition={"MaxRuntimeInSeconds": 60})
    world.tick()
    world.pass_time(1000)
    seen = world.seen("a")
    assert str(seen.job.job_state) == "stopped"
    assert "MaxRuntimeInSeconds" in seen.reason.message


@pytest.mark.parametrize("started", [False, True])
def test_an_ended_job_expires_after_the_retention_time(world: World, started: bool) -> None:
    world.submit("a")
    if started:
        world.tick()
        assert stored_expiry(world, "a") is None, "it has not ended"
        world.pass_time(1000, tick=False)
        ended_s = int((world.seen("a").job.ended_ms or 0) / 1000)
    else:
        world.commands.stop("a", ROOT)
        ended_s = int(world.now_s)
    # DynamoDB takes seconds since the epoch; it would keep what has milliseconds for 57,000 years.
    assert stored_expiry(world, "a") == ended_s + 30 * 86_400


def test_a_job_does_not_expire_with_an_ended_attempt(world: World) -> None:
    world.submit("low", 1, ResourceConfig=on(2))
    world.tick()
    world.submit("high", 9, ResourceConfig=on(2))
    world.tick()
    world.pass_time(300)
    assert world.states("low") == {"low": "preempted"}
    assert stored_expiry(world, "low") is None


def stored_expiry(world: World, name: str) -> Any:
    """When the table may forget a job."""
    job = world.table.get(JobRecord.key(name)) or {}
    assert job
    return job.get("expiresAt")


def test_stopping_a_job_wakes_the_scheduler_also_when_it_is_stopped_again(world: World) -> None:
    world.submit("a", 1)
    world.tick()
    world.submit("b", 1, ResourceConfig=on(2))
    world.wakes.clear()
    world.commands.stop("b", ROOT)
    assert world.wakes == ["stop requested"], "those behind it may go first now"
    for _ in range(2):
        world.commands.stop("a", ROOT)
    assert world.wakes[1:] == ["stop requested"] * 2, "the first call may have died before it woke anybody"


def test_submitting_a_job_wakes_the_scheduler_also_when_it_is_submitted_again(world: World) -> None:
    for _ in range(2):
        world.submit("a")
    assert world.wakes == ["submitted", "submitted again"], "the first call may have died before it woke anybody"


def test_a_pool_can_be_enlarged_without_a_redeploy(world: World) -> None:
    world.submit("a", ResourceConfig=on(2))
    world.submit("b", ResourceConfig=on(2))
    world.tick()
    assert world.states("a", "b") == {"a": "running", "b": "pending"}
    world.configuration.write({"pools": {"ml.p5.48xlarge": {"size": 4}}})
    world.tick()
    world.check()
    assert world.states("b") == {"b": "running"}


def test_a_pool_shrunk_below_its_use_keeps_running_jobs_and_starts_nothing(world: World) -> None:
    world.submit("a")
    world.submit("b")
    world.tick()
    world.configuration.write({"pools": {"ml.p5.48xlarge": {"size": 1}}})
    world.submit("c")
    world.tick()
    assert world.states("a", "b", "c") == {"a": "running", "b": "running", "c": "pending"}
    world.fleet.finish("a", now=world.now_s)
    world.pass_time(1)
    assert world.states("b", "c") == {"b": "running", "c": "pending"}
    world.fleet.finish("b", now=world.now_s)
    world.pass_time(1)
    world.check()
    assert world.states("c") == {"c": "running"}


def test_jobs_of_a_removed_pool_wait_with_that_reason(world: World) -> None:
    world.submit("a", ResourceConfig=on(2))
    world.submit("b")
    world.tick()
    world.configuration.write({"pools": {"ml.g5.xlarge": {"size": 1}}})
    world.tick()
    assert world.states("a", "b") == {"a": "running", "b": "pending"}
    assert "the pools hold 0" in world.seen("b").reason.message
    world.pass_time(2000)
    world.configuration.write({"pools": {"ml.g5.xlarge": {"size": 2}}})
    world.tick()
    assert {pool.pool for pool in read_ledger(world.table).pools} == {"ml.g5.xlarge"}
    assert "there is no pool ml.p5.48xlarge any more" in world.seen("b").reason.message


def test_capacity_counts_what_is_held_stopping_reserved_free_and_waiting(world: World) -> None:
    world.submit("x", 1)
    world.submit("y", 1)
    world.tick()
    world.pass_time(300)
    world.submit("big", 5, ResourceConfig=on(2))
    world.tick()
    world.fleet.finish("x", now=world.now_s)
    world.pass_time(1)
    (use,) = world.capacity()
    assert (use.pool, use.size, use.allocated, use.stopping, use.reserved, use.free, use.waiting) == (
        P5, 2, 1, 1, 1, 0, 1,
    )  # fmt: skip


def test_a_stale_write_is_refused_completely(world: World) -> None:
    world.submit("a")
    world.tick()
    job = world.seen("a").job
    world.commands.stop("a", ROOT)
    attempt = read_ledger(world.table).attempts[0]
    with pytest.raises(Conflict):
        world.table.write(
            transitions.defer_launch(
                job, attempt, started({}), world.clock(), failed=None, name_is_free=True, machine_ms=0
            ),
        )
    world.check()


def test_a_job_far_back_has_the_number_of_jobs_ahead_of_it(world: World) -> None:
    world.submit("x", 9, ResourceConfig=on(2))
    world.tick()
    for i in range(120):
        world.submit(f"j{i:03d}")
        world.now_s += 1
    near, far = world.seen("j099"), world.seen("j119")
    assert (near.place, far.place) == (100, 120)
    assert "99 waiting jobs ahead" in near.reason.message
    assert far.reason.message == "waits behind 119 jobs in the queue"
    listed, token = world.queries.jobs(JobFilter(states=WAITING), 100, None)
    assert [seen.place for seen in listed] == list(range(1, 101))
    assert [seen.place for seen in world.queries.jobs(JobFilter(states=WAITING), 100, token)[0]] == list(
        range(101, 121)
    )


def test_a_job_started_during_the_snapshot_read_is_not_started_again(world: World) -> None:
    """The ledger is read before the lines; a job that yields in between shows in both."""
    world.submit("a", 1)
    world.tick()
    before = read_ledger(world.table)
    world.commands.stop("a", ROOT)
    world.table.write(
        [entry.put() for entry in world.seen("a").job.model_copy(update={"job_state": "pending"}).queue_entries()]
    )
    snapshot = read_snapshot(world.table, before, world.clock())
    assert [job.name for job in snapshot.waiting] == []
    check_plan(snapshot, schedule(snapshot))


def test_a_job_may_lose_its_reservation_and_start_elsewhere_in_one_plan(world: World) -> None:
    job = world.submit("a").job
    world.table.write([ReservationRecord(job_name="a", demand={P5: 1}).put(was=None)])
    world.table.write([Update(key=PoolRecord.key(P5), adds={"free": -1})])
    ledger, executor = read_ledger(world.table), world.executor()
    why = started({P5: 1})
    plan = Plan(
        actions=(Release(job="a", demand={P5: 1}, reason=why), Start(job="a", demand={P5: 1}, reason=why)), waits=()
    )
    assert executor.apply(Decision(plan=plan, ledger=ledger, waiting={"a": job.waiting()}))
    report = executor.report
    assert (report.released, report.started, report.rejected) == (["a"], ["a"], 0)
    assert [(pool.free, pool.size) for pool in read_ledger(world.table).pools] == [(1, 2)]
