"""A job that depends on others is in no queue until they have ended, and ends if they end otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from headway.dependencies import Ending
from headway.errors import InvalidTransition
from headway.forecasting.forecast import Cancel, Reprioritize
from headway.lifecycle import WAITING
from headway.reasons import Reason, ReasonCode, started
from headway_service.admission.dependencies import MAX_DEPENDENCIES
from headway_service.admission.submission import Submission
from headway_service.config.authorization import Caller
from headway_service.errors import Conflict, InvalidRequest, NameInUse, NotAllowed, QueueFull, RetryLater
from headway_service.forecast.service import SubmitRequest
from headway_service.jobs import dependencies
from headway_service.jobs.dependencies import MAX_DEPENDANTS
from headway_service.jobs.position import JobView
from headway_service.pools.apply_config import TEAM_KEPT_MS
from headway_service.ports.table import Delete
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store import transitions
from headway_service.store.job_filter import JobFilter
from headway_service.store.ledger import read_ledger
from headway_service.store.policy_actions import PolicyAction
from headway_service.store.records.capacity.attempt import AttemptRecord, StopCause
from headway_service.store.records.capacity.ledger import TeamRecord
from headway_service.store.records.dependency import EndedJobRecord
from headway_service.store.records.job import JobRecord, request_key
from headway_service.store.repository import find_attempt, find_job, find_request, get_job
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import ADA, BOB, P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
LONG = {"SANDBOX_RUN_SECONDS": "90000"}


@pytest.fixture
def world() -> World:
    return World()


def after(world: World, name: str, *others: str, caller: Caller = ROOT, **changes: Any) -> JobView[JobRecord]:
    """Submit a job after others, each as ``JOB`` or ``JOB:CONDITION``."""
    return world.submitter.submit(submission(name, *others, **changes), caller)[0]


def submission(name: str, *others: str, **changes: Any) -> Submission:
    listed = [dict(zip(("job", "condition"), each.split(":"), strict=False)) for each in others]
    return Submission(request=request(name, **changes), depends_on=listed)


def partitions(world: World) -> list[tuple[str, str]]:
    """Where jobs have entries."""
    assert isinstance(world.table, MemoryTable)
    kinds = ("line#", "after#")
    return sorted((item["pk"], item["jobName"]) for item in world.table.items() if item["pk"].startswith(kinds))


def ended(world: World) -> tuple[EndedJobRecord, ...]:
    return read_ledger(world.table).ended


def finish(world: World, name: str, how: str) -> None:
    """Start a job, and end it in some way; the next tick notifies the dependants."""
    world.tick()
    attempt = world.seen(name).job.live_attempt
    assert attempt is not None
    world.pass_time(300, tick=False)
    match how:
        case "completed":
            world.fleet.finish(attempt, now=world.now_s)
        case "failed":
            world.fleet.fail(attempt, "AlgorithmError: x", now=world.now_s)
        case "timed out":
            world.pass_time(1200, tick=False)
        case "stopped":
            world.commands.stop(name, ROOT)
            world.tick()
            world.pass_time(200, tick=False)
        case _:
            stop_by_policy(world, attempt)
    world.pass_time(1, tick=False)
    assert world.seen(name).job.ending is not None


def stop_by_policy(world: World, attempt: str) -> None:
    """The policy stops a job, which reaches its own limit before it has stopped."""
    record = find_attempt(world.table, attempt)
    assert record is not None
    reason = Reason(code=ReasonCode.BREAKS_RULES, message="stopping")
    action = PolicyAction(cause=StopCause.POLICY, reason=reason, ends="broke rules")
    job = get_job(world.table, record.job_name)
    world.table.write(transitions.apply_policy_action(job, record, action, world.clock()))
    world.pass_time(1200, tick=False)


SHORT: dict[str, Any] = {"StoppingCondition": {"MaxRuntimeInSeconds": 900}, "Environment": LONG}
ENDS = ["completed", "failed", "timed out", "stopped", "stopped by the policy"]


def test_a_job_with_an_open_dependency_is_pending_in_no_queue_and_says_what_it_waits_for(world: World) -> None:
    world.submit("prepare")
    seen = after(world, "train", "prepare")
    assert (seen.job.job_state, seen.place) == ("pending", None)
    assert seen.reason.message == "accepted; enters the queue for 1 ml.p5.48xlarge when `prepare` has completed"
    world.tick()
    world.check()
    assert world.states("prepare", "train") == {"prepare": "running", "train": "pending"}
    assert partitions(world) == [(f"after#{P5}", "train")]
    seen = world.seen("train")
    assert (seen.place, seen.reason.code, seen.reason.jobs) == (None, ReasonCode.WAITS_FOR_JOBS, ("prepare",))
    world.submit("other", ResourceConfig=on(2))
    told = {view.job.job_name: view.reason.code for view in world.queries.jobs(JobFilter(states=WAITING), 10, None)[0]}
    assert told == {"train": ReasonCode.WAITS_FOR_JOBS, "other": ReasonCode.WAITS_FOR_CAPACITY}


def test_it_enters_the_queue_when_its_dependency_ends_with_that_as_its_entry_time(world: World) -> None:
    world.submit("prepare")
    accepted_ms = world.clock()
    after(world, "train", "prepare", Environment=LONG)
    finish(world, "prepare", "completed")
    world.now_s += 60
    entered_ms = world.clock()
    world.tick()
    job = world.seen("train").job
    assert (job.job_state, job.accepted_time, job.entry_time) == ("running", accepted_ms, entered_ms)
    assert [(step.reason.code, step.reason.message) for step in job.history][1:] == [
        (ReasonCode.DEPENDENCY_ENDED, "`prepare` has completed; entered the queue"),
        (ReasonCode.STARTED, "started on 1 ml.p5.48xlarge"),
    ]
    assert [each.ended for each in job.depends_on] == [Ending.COMPLETED]
    assert (partitions(world), ended(world)) == ([], ())


@pytest.mark.parametrize("condition", ["ok", "any", "failed"])
@pytest.mark.parametrize("how", ENDS)
def test_how_a_job_ends_decides_whether_the_other_starts_or_ends(world: World, how: str, condition: str) -> None:
    met = {
        "ok": ["completed"],
        "any": ENDS,
        "failed": ["failed", "timed out"],
    }
    world.submit("first", **SHORT)
    after(world, "second", f"first:{condition}", Environment=LONG)
    finish(world, "first", how)
    world.tick()
    world.check()
    job = world.seen("second").job
    expected = "running" if how in met[condition] else "stopped"
    assert job.job_state == expected
    assert partitions(world) == []
    # The same holds for a job that is submitted now.
    if how in met[condition]:
        assert after(world, "late", f"first:{condition}").place == 1
    else:
        assert job.reason.code is ReasonCode.DEPENDENCY_UNMET
        with pytest.raises(InvalidRequest, match="the job cannot depend on `first`: `first` "):
            after(world, "late", f"first:{condition}")


def test_a_job_that_reached_its_limit_and_was_stopped_while_it_waited_again_was_stopped() -> None:
    world = World()
    world.configuration.write(
        {"pools": {P5: {"size": 2}}, "retries": {"time": {"maxPerJob": 3, "backoffSeconds": 600}}}
    )
    world.submit("first", **SHORT)
    world.tick()
    world.pass_time(2000, tick=False)
    assert world.states("first") == {"first": "pending"}
    world.commands.stop("first", ROOT)
    assert get_job(world.table, "first").ending is Ending.STOPPED


def test_a_preempted_job_and_one_that_is_tried_again_have_not_ended(world: World) -> None:
    world.submit("first", 1, Environment=LONG)
    after(world, "second", "first:any")
    world.tick()
    world.pass_time(300)
    world.submit("high", 5, ResourceConfig=on(2), Environment=LONG)
    world.tick()
    world.pass_time(300)
    assert world.states("first", "second") == {"first": "preempted", "second": "pending"}
    world.commands.stop("high", ROOT)
    world.tick()
    world.pass_time(600)
    attempt = world.seen("first").job.live_attempt
    assert attempt is not None
    world.fleet.fail(attempt, "InternalServerError: x", now=world.now_s)
    world.pass_time(1)
    assert world.states("first", "second") == {"first": "pending", "second": "pending"}
    assert partitions(world) == [(f"after#{P5}", "second"), (f"line#{P5}", "first")]


def test_a_job_waits_for_all_its_dependencies(world: World) -> None:
    world.submit("a")
    world.submit("b")
    after(world, "both", "a", "b:any")
    finish(world, "a", "completed")
    world.tick()
    seen = world.seen("both")
    assert seen.reason.message == "waits until `b` has ended; then it enters the queue"
    assert seen.job.history[-1].reason.message == "`a` has completed; waits until `b` has ended"
    assert partitions(world) == [(f"after#{P5}", "both")]
    finish(world, "b", "stopped")
    world.tick()
    assert world.states("both") == {"both": "running"}


def test_a_job_whose_dependencies_have_ended_as_required_enters_the_queue_at_once(world: World) -> None:
    world.submit("first", Environment=LONG)
    finish(world, "first", "completed")
    seen = after(world, "second", "first")
    assert (seen.place, seen.reason.code, seen.job.accepted_ms) == (1, ReasonCode.ENTERED, None)
    assert get_job(world.table, "first").dependants == ()


def test_the_end_of_a_job_that_can_no_longer_start_ends_those_that_depend_on_it(world: World) -> None:
    world.submit("a")
    after(world, "b", "a")
    after(world, "c", "b")
    after(world, "d", "c:any")
    world.commands.stop("a", ROOT)
    assert [each.job_name for each in ended(world)] == ["a"]
    world.tick()
    assert world.states("a", "b", "c", "d") == {"a": "stopped", "b": "stopped", "c": "stopped", "d": "running"}
    job = world.seen("c").job
    assert job.reason.message == "stopped, as `b` was stopped, and had to complete first (condition ok)"
    assert job.expires_at is not None
    assert ended(world) == ()


def test_a_job_may_be_stopped_held_released_and_reprioritised_while_it_waits_for_others(world: World) -> None:
    world.submit("prepare")
    after(world, "train", "prepare")
    world.commands.hold("train", ROOT)
    assert partitions(world) == [(f"line#{P5}", "prepare")]
    assert world.seen("train").reason.code is ReasonCode.HELD
    world.commands.set_priority("train", 7, ROOT)
    world.commands.release("train", ROOT)
    seen = world.commands.set_priority("train", 8, ROOT)
    assert seen.reason.code is ReasonCode.WAITS_FOR_JOBS
    assert partitions(world) == [(f"after#{P5}", "train"), (f"line#{P5}", "prepare")]
    world.commands.stop("train", ROOT)
    assert partitions(world) == [(f"line#{P5}", "prepare")]
    finish(world, "prepare", "completed")
    world.tick()
    seen = world.seen("train")
    assert (seen.job.job_state, seen.reason.code, ended(world)) == ("stopped", ReasonCode.STOPPED, ())
    assert seen.job.history[-1].reason == seen.reason


def test_a_held_job_stays_held_when_its_dependency_ends(world: World) -> None:
    world.submit("prepare")
    after(world, "train", "prepare")
    world.commands.hold("train", ROOT)
    finish(world, "prepare", "completed")
    world.tick()
    assert (world.states("train"), partitions(world)) == ({"train": "pending"}, [])
    assert world.seen("train").reason.code is ReasonCode.HELD
    world.commands.release("train", ROOT)
    world.tick()
    assert world.states("train") == {"train": "running"}


def test_a_job_that_waits_for_others_is_not_started_nor_adopted(world: World) -> None:
    world.submit("prepare")
    job = after(world, "train", "prepare").job
    attempt = AttemptRecord.next_of(
        job,
        attempt_name="a",
        number=1,
        attempt_state="launching",
        mark="m",
        since_ms=0,
        lease_holder="x",
        lease_until_ms=0,
        seen_ms=0,
    )
    with pytest.raises(InvalidTransition):
        transitions.start(job, attempt, None, started(job.demand), 0)


def test_a_team_that_has_left_is_kept_for_a_job_that_enters_its_queue() -> None:
    world = World()
    teams: dict[str, Any] = {"research": {}}
    world.configuration.write({"pools": {P5: {"size": 2}}, "teams": teams})
    world.tick()
    tags: dict[str, Any] = {"Tags": [{"Key": "team", "Value": "research"}]}
    world.submit("prepare", Environment=LONG, **tags)
    after(world, "train", "prepare", Environment=LONG, **tags)
    world.tick()
    world.configuration.write({"pools": {P5: {"size": 2}}})
    world.tick()
    world.now_s += TEAM_KEPT_MS / 1000 - 3600
    finish(world, "prepare", "completed")
    world.tick()
    team = world.table.get(TeamRecord.key("research"))
    assert team is not None
    assert team["leftMs"] >= world.machine_clock() - 3_600_000
    assert world.states("train") == {"train": "running"}


@pytest.mark.parametrize(
    ("depends_on", "message"),
    [
        ([], "dependsOn has to be a list of 1 to 20 objects"),
        ({"job": "a"}, "dependsOn has to be a list of 1 to 20 objects"),
        ([{"job": f"j{i}"} for i in range(MAX_DEPENDENCIES + 1)], "dependsOn has to be a list of 1 to 20 objects"),
        (["prepare"], 'dependsOn[0] has to be an object with a "job"'),
        ([{"condition": "ok"}], 'dependsOn[0] has to be an object with a "job"'),
        ([{"job": "prepare", "when": "ok"}], 'dependsOn[0] has to be an object with a "job"'),
        ([{"job": 5}], "dependsOn[0].job has to be the name of a job in the queue"),
        ([{"job": ""}], "dependsOn[0].job has to be the name of a job in the queue"),
        ([{"job": "x" * 69}], "dependsOn[0].job has 69 characters; the name of a job has at most 68"),
        ([{"job": "x" * 3000}], "dependsOn[0].job has 3000 characters; the name of a job has at most 68"),
        (
            [{"job": "prepare", "condition": "done"}],
            "dependsOn[0].condition is 'done'; a condition is one of ok, ",
        ),
        (
            [{"job": "prepare", "condition": ["ok"]}],
            "dependsOn[0].condition is ['ok']; a condition is one of ok, ",
        ),
        ([{"job": "train"}], "dependsOn[0].job is this job itself"),
        ([{"job": "prepare"}, {"job": "prepare", "condition": "any"}], "dependsOn[1].job names `prepare` again"),
    ],
)
def test_what_is_wrong_with_dependencies_is_said(world: World, depends_on: Any, message: str) -> None:
    world.submit("prepare")
    wrong = Submission(request=request("train"), depends_on=depends_on)
    with pytest.raises(InvalidRequest) as refusal:
        world.submitter.submit(wrong, ROOT)
    assert str(refusal.value).startswith(message)
    assert refusal.value.fields[0].field == message.split(" ", maxsplit=1)[0]


def test_a_dependency_on_no_job_is_refused_in_words_that_need_no_field(world: World) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        after(world, "train", "missing")
    said = "the job cannot depend on `missing`, which is not in the queue: submit that job first, or check the name"
    assert str(refusal.value) == said
    assert [(each.field, each.message) for each in refusal.value.fields] == [("dependsOn[0].job", said)]


def test_a_caller_who_may_not_see_the_details_of_a_job_may_not_depend_on_it(world: World) -> None:
    world.configuration.write({"pools": {P5: {"size": 2}}, "access": {"details": "owner"}})
    world.submitter.submit(request("prepare"), ADA)
    with pytest.raises(NotAllowed, match=r"depend on `prepare`, whose details user/bob may not see \(access.details\)"):
        after(world, "train", "prepare", caller=BOB)
    after(world, "train", "prepare", caller=ADA)


def test_one_job_has_a_limited_number_of_dependants(world: World) -> None:
    world.submit("prepare")
    record = get_job(world.table, "prepare")
    world.table.write([record.model_copy(update={"dependants": ("x",) * (MAX_DEPENDANTS - 1)}).put()])
    after(world, "last", "prepare")
    with pytest.raises(InvalidRequest, match=f"which has {MAX_DEPENDANTS} dependants already"):
        after(world, "more", "prepare")


def test_the_same_submission_again_is_the_same_job_whatever_has_ended_since(world: World) -> None:
    world.submit("prepare")
    after(world, "train", "prepare")
    world.commands.stop("prepare", ROOT)
    assert after(world, "train", "prepare").job.job_name == "train"
    for other in (["prepare:any"], []):
        with pytest.raises(NameInUse):
            world.submitter.submit(submission("train", *other) if other else request("train"), ROOT)


def test_a_job_that_waits_for_others_has_to_fit_into_its_queue_with_all_that_wait_to_enter_it() -> None:
    world = World()
    limits = {"waitingPerTeam": 4, "waitingPerOwner": 3}
    world.configuration.write({"pools": {P5: {"size": 1}}, "limits": limits})
    world.submitter.submit(request("a", Environment=LONG), ADA)
    world.tick()
    after(world, "b", "a", caller=ADA)
    after(world, "c", "a", caller=ADA)
    world.submitter.submit(request("d"), ADA)
    with pytest.raises(QueueFull, match=f"3 of your jobs wait for {P5}, and 3 may"):
        after(world, "e", "a", caller=ADA)
    world.submitter.submit(request("e"), BOB)
    with pytest.raises(QueueFull, match=f"4 jobs wait for {P5}, and 4 may"):
        after(world, "f", "a", caller=BOB)
    for name in ("g", "h"):
        world.submitter.submit(request(name), ADA)
    with pytest.raises(QueueFull, match=f"4 jobs wait for {P5}, and 4 may"):
        world.submitter.submit(request("i"), BOB)


def test_a_dependency_that_ends_while_its_dependant_is_accepted_is_not_missed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.submit("prepare")
    read, pending = find_job, [lambda: world.commands.stop("prepare", ROOT)]

    def find_and_end(*args: Any) -> JobRecord | None:
        found = read(*args)
        if pending:
            pending.pop()()
        return found

    monkeypatch.setattr(dependencies, "find_job", find_and_end)
    with pytest.raises(InvalidRequest, match="`prepare` was stopped, and had to complete first"):
        after(world, "train", "prepare")
    assert world.table.get(JobRecord.key("train")) is None


def test_a_dependency_that_keeps_changing_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.submit("prepare")
    read = find_job

    def find_and_change(*args: Any) -> JobRecord | None:
        found = read(*args)
        world.commands.set_comment("prepare", str(world.clock() + len(world.wakes)), ROOT)
        world.now_s += 1
        return found

    monkeypatch.setattr(dependencies, "find_job", find_and_change)
    with pytest.raises(RetryLater, match="a job that `train` depends on keeps changing"):
        after(world, "train", "prepare")


def test_a_tick_that_is_interrupted_notifies_the_other_dependants_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.submit("prepare", Environment=LONG)
    for name in ("b", "c"):
        after(world, name, "prepare:any", Environment=LONG)
    world.commands.stop("prepare", ROOT)
    whole = transitions.meet_dependency

    def meet(job: JobRecord, *args: Any, **more: Any) -> Any:
        if job.job_name == "c":
            raise Conflict([0])
        return whole(job, *args, **more)

    monkeypatch.setattr(transitions, "meet_dependency", meet)
    report = world.tick()
    assert (report.rejected, report.started, report.failed) == (3, ["b"], ["c"])
    assert [each.job_name for each in ended(world)] == ["prepare"]
    monkeypatch.undo()
    assert world.tick().started == ["c"]
    assert ended(world) == ()


def test_a_stopped_job_is_not_notified_that_its_dependency_can_no_longer_be_met(world: World) -> None:
    world.submit("prepare")
    after(world, "train", "prepare")
    world.commands.stop("train", ROOT)
    world.commands.stop("prepare", ROOT)
    world.tick()
    assert (world.seen("train").reason.code, ended(world)) == (ReasonCode.STOPPED, ())


def test_a_dependant_that_is_notified_again_does_not_change(world: World) -> None:
    for name in ("a", "b"):
        world.submit(name)
    after(world, "both", "a:any", "b")
    world.commands.stop("a", ROOT)
    (record,) = ended(world)
    world.tick()
    job = get_job(world.table, "both")
    world.table.write([record.put()])
    world.tick()
    assert (get_job(world.table, "both"), ended(world)) == (job, ())


def test_a_tick_without_time_leaves_the_dependants_to_the_next(world: World) -> None:
    world.submit("prepare")
    after(world, "train", "prepare:any")
    world.commands.stop("prepare", ROOT)
    (left,) = ended(world)
    assert not world.dependants().notify(left, lambda: False)
    assert [each.job_name for each in ended(world)] == ["prepare"]


def test_the_record_of_a_job_without_dependencies_has_no_trace_of_them(world: World) -> None:
    world.submit("prepare")
    item = world.table.get(JobRecord.key("prepare"))
    assert item is not None
    assert not {"dependants", "dependsOn"} & (item.keys() | item["summary"].keys())
    entry = world.table.query(f"line#{P5}", limit=1)[0]
    assert "waitsForJobs" not in entry


def test_a_forecast_has_no_start_of_a_job_that_waits_for_others(world: World) -> None:
    world.submit("prepare")
    wanted = submission("train", "prepare")
    run = world.forecast_service.dry_run(wanted, ROOT)
    assert (run.seen.place, run.expected_start_ms, run.note) == (
        None,
        None,
        "It is in no queue until these jobs have ended: `prepare`. Its start is not forecast before.",
    )
    assert world.forecast_service.what_if([SubmitRequest(request=wanted)], ROOT).starts == ("prepare",)
    world.submitter.submit(wanted, ROOT)
    assert world.forecast_service.explain("train").note == run.note
    (outlook,) = world.forecast_service.forecast("train", 1).jobs
    assert (outlook.start_ms, outlook.seen.job.awaited) == (None, [("prepare", "ok")])
    for change in (Cancel(job="train"), Reprioritize(job="train", priority=7)):
        with pytest.raises(InvalidRequest, match="`train` waits for other jobs and is in no queue"):
            world.forecast_service.what_if([change], ROOT)


# ------------------------------------------------------------------------------------------------------------- outputs


def channels(*uris: str) -> list[dict[str, Any]]:
    sources = [{"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri}} for uri in uris]
    return [{"ChannelName": f"c{i}", "DataSource": source} for i, source in enumerate(sources)]


def stored_channels(world: World, name: str) -> list[dict[str, Any]]:
    request_of_job = find_request(world.table, name)
    assert request_of_job is not None
    found: list[dict[str, Any]] = request_of_job["InputDataConfig"]
    return found


def fail_once(world: World, name: str) -> None:
    """Let the first attempt of a job fail, and the second one start."""
    world.tick()
    world.pass_time(300)
    world.fleet.fail(name, "InternalServerError: x", now=world.now_s)
    world.pass_time(100)
    world.tick()


MORE = {f"l{i}": "x" * 2500 for i in range(14)}
"""Hyperparameters, so that a request is large."""

TEMPLATES = channels("{{ jobs.a.model }}", "{{ jobs.b.output }}/part", "s3://data/x")


def test_outputs_of_ended_jobs_are_filled_in_and_launched(world: World) -> None:
    world.submit("a", Environment=LONG)
    world.submit("b", Environment=LONG)
    after(world, "train", "a", "b", InputDataConfig=TEMPLATES)
    assert stored_channels(world, "train") == TEMPLATES
    finish(world, "a", "completed")
    world.tick()
    filled = channels("s3://jobs/output/a/output/model.tar.gz", "{{ jobs.b.output }}/part", "s3://data/x")
    assert stored_channels(world, "train") == filled
    finish(world, "b", "completed")
    world.tick()
    launched = next(each for name, each in world.calls if each.get("TrainingJobName") == "train")
    assert launched["InputDataConfig"] == channels(
        "s3://jobs/output/a/output/model.tar.gz", "s3://jobs/output/b/output/part", "s3://data/x"
    )


def test_outputs_are_those_of_the_attempt_that_has_completed(world: World) -> None:
    world.submit("a", Environment=LONG)
    after(world, "train", "a", InputDataConfig=channels("{{ jobs.a.model }}"))
    fail_once(world, "a")
    finish(world, "a", "completed")
    world.tick()
    attempt = world.seen("a").job.attempts[-1].attempt_name
    assert attempt != "a"
    assert stored_channels(world, "train") == channels(f"s3://jobs/output/{attempt}/output/model.tar.gz")


def test_outputs_of_a_job_that_has_completed_before_are_filled_in_at_the_submission(world: World) -> None:
    world.submit("a", Environment=LONG)
    finish(world, "a", "completed")
    wanted = channels("{{ jobs.a.output }}")
    after(world, "train", "a", InputDataConfig=wanted)
    assert stored_channels(world, "train") == channels("s3://jobs/output/a/output")
    # The same submission again is the same job.
    assert after(world, "train", "a", InputDataConfig=wanted).job.job_name == "train"


@pytest.mark.parametrize(
    ("others", "uri", "message"),
    [
        ([], "{{ jobs.a.model }}", "names `a`, which need not complete first"),
        (["a:any"], "{{ jobs.a.model }}", "names `a`, which need not complete first"),
        (["a"], "{{ jobs.a.modle }}", "is '{{ jobs.a.modle }}'; write {{ jobs.NAME.model }} or"),
    ],
)
def test_a_template_that_can_never_be_filled_in_is_refused(
    world: World, others: list[str], uri: str, message: str
) -> None:
    world.submit("a")
    wanted = request("train", InputDataConfig=channels(uri))
    with pytest.raises(InvalidRequest) as refusal:
        world.submitter.submit(submission("train", *others, InputDataConfig=channels(uri)) if others else wanted, ROOT)
    assert refusal.value.fields[0].field == "InputDataConfig[0].DataSource.S3DataSource.S3Uri"
    assert message in str(refusal.value)


def test_the_rest_of_a_request_with_templates_is_checked(world: World) -> None:
    world.submit("a")
    wrong = [*channels("{{ jobs.a.model }}"), {"ChannelName": "c0", "DataSource": {}}]
    with pytest.raises(InvalidRequest, match="has the channel 'c0' twice"):
        after(world, "train", "a", InputDataConfig=wrong)


def test_outputs_that_would_not_fit_are_refused(world: World) -> None:
    path = "s3://b/" + "x" * 900
    world.submit("a", OutputDataConfig={"S3OutputPath": path})
    rest = "/" + "y" * (1024 - len(f"{path}/a/output/"))
    after(world, "fits", "a", InputDataConfig=channels("{{ jobs.a.output }}" + rest))
    with pytest.raises(InvalidRequest, match=r"InputDataConfig\[0\]\..*S3Uri would have more than 1024 characters"):
        after(world, "more", "a", InputDataConfig=channels("{{ jobs.a.output }}" + rest + "y"))


def test_outputs_of_a_later_attempt_that_do_not_fit_end_the_job(world: World) -> None:
    path = "s3://b/" + "x" * 900
    world.submit("a", Environment=LONG, OutputDataConfig={"S3OutputPath": path})
    rest = "/" + "y" * (1024 - len(f"{path}/a/output/"))
    after(world, "train", "a", InputDataConfig=channels("{{ jobs.a.output }}" + rest))
    fail_once(world, "a")
    finish(world, "a", "completed")
    world.tick()
    seen = world.seen("train")
    assert (seen.job.job_state, seen.reason.code) == ("stopped", ReasonCode.DEPENDENCY_UNMET)
    assert seen.reason.message.startswith("stopped, as the outputs of `a` cannot be filled in: InputDataConfig[0].")


def test_outputs_that_would_be_too_large_for_the_table_are_refused() -> None:
    world = World(pools={P5: 2, G5: 2})
    world.submit("a", OutputDataConfig={"S3OutputPath": "s3://b/" + "x" * 900})
    padding = {f"k{i}": "x" * 2500 for i in range(70)}
    for name, alternatives in (("fits", None), ("more", [{"ResourceConfig": on(1, G5), "HyperParameters": padding}])):
        wanted = Submission(
            request=request(
                name, InputDataConfig=channels(*["{{ jobs.a.output }}"] * 20), HyperParameters={**padding, **MORE}
            ),
            alternatives=alternatives,
            depends_on=[{"job": "a"}],
        )
        if alternatives is None:
            world.submitter.submit(wanted, ROOT)
            continue
        with pytest.raises(InvalidRequest, match="the request would be too large for the table"):
            world.submitter.submit(wanted, ROOT)


def test_the_model_of_a_job_without_compression_is_refused(world: World) -> None:
    world.submit("a", OutputDataConfig={"S3OutputPath": "s3://b", "CompressionType": "NONE"})
    with pytest.raises(InvalidRequest, match=r"its model is no archive \(CompressionType NONE\); use its output"):
        after(world, "train", "a", InputDataConfig=channels("{{ jobs.a.model }}"))
    after(world, "train", "a", InputDataConfig=channels("{{ jobs.a.output }}"))


def test_a_job_whose_dependency_is_forgotten_meanwhile_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.submit("a", Environment=LONG)
    after(world, "train", "a", InputDataConfig=channels("{{ jobs.a.model }}"))
    finish(world, "a", "completed")
    world.table.write([Delete(key=request_key("a"))])
    world.tick()
    assert world.seen("train").reason.message.endswith("cannot be filled in: the queue no longer has its request")


def test_a_job_with_templates_can_be_changed_while_it_waits(world: World) -> None:
    world.submit("a", Environment=LONG)
    after(world, "train", "a", InputDataConfig=channels("{{ jobs.a.model }}"))
    world.changes.change("train", RequestChange(max_runtime_s=600), ROOT)
    assert partitions(world)[0] == (f"after#{P5}", "train")
    finish(world, "a", "completed")
    world.tick()
    assert stored_channels(world, "train") == channels("s3://jobs/output/a/output/model.tar.gz")
    assert world.seen("train").job.limit_ms == 2_400_000
