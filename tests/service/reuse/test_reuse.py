"""A job that is submitted for reuse is answered by an equal one of its team and role, or computes by itself."""

from __future__ import annotations

import io
import json
import tarfile
from typing import Any

import pytest

from headway.dependencies import Ending
from headway.lifecycle import JobState
from headway.reasons import ReasonCode
from headway_service.admission import dependencies
from headway_service.admission.submission import Submission
from headway_service.config.authorization import Caller
from headway_service.errors import Conflict, InvalidRequest, NameInUse, QueueFull
from headway_service.jobs.position import JobView
from headway_service.ports.table import Equals
from headway_service.reuse import twins
from headway_service.reuse.twins import MAX_TWINS
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store.ledger import read_ledger
from headway_service.store.records.dependency import EndedJobRecord
from headway_service.store.records.job import JobRecord, request_key
from headway_service.store.records.reuse import ComputedRecord
from headway_service.store.repository import find_request, get_job
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import ADA, BOB, ROOT, World, request

IMAGE = f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/t@sha256:{'a' * 64}"
DATA = "data"
OUTPUTS = "jobs"


@pytest.fixture
def world() -> World:
    world = World()
    world.objects.put(OUTPUTS, "other", b"")
    world.objects.put(DATA, "train/a", b"1")
    return world


def channel(uri: str, name: str = "train", **source: Any) -> dict[str, Any]:
    return {
        "ChannelName": name,
        "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri, **source}},
    }


def document(name: str, **changes: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "AlgorithmSpecification": {"TrainingImage": IMAGE, "TrainingInputMode": "File"},
        "InputDataConfig": [channel("s3://data/train")],
    }
    return request(name, **{**settings, **changes})


NOBODY_ANSWERS = (
    "computes, as no job that was submitted with reuse has the outputs of the same request, sources and inputs"
)


def submit(
    world: World, name: str, caller: Caller = ROOT, *, unpinned: bool = False, **changes: Any
) -> JobView[JobRecord]:
    depends_on = changes.pop("after", None)
    submission = Submission(
        request=document(name, **changes), reuse=True, reuse_unpinned=unpinned, depends_on=depends_on
    )
    return world.submitter.submit(submission, caller)[0]


def run(world: World, name: str, *, outputs: bool = True) -> None:
    """Have a job start and complete, with a model, and have the queue notice."""
    world.tick()
    world.pass_time(1200, tick=False)
    attempt = job(world, name).attempts[-1].attempt_name
    if outputs:
        world.objects.put(OUTPUTS, f"output/{attempt}/output/model.tar.gz", b"model")
    world.tick()
    assert job(world, name).job_state is JobState.COMPLETED


def configure(world: World, members: dict[str, Any]) -> None:
    world.configuration.write({**world.configuration.document, **members})
    world.tick()


def job(world: World, name: str) -> JobRecord:
    return get_job(world.table, name)


def reason(world: World, name: str) -> tuple[ReasonCode, str]:
    told = world.seen(name).reason
    return told.code, told.message


def computed(world: World) -> list[dict[str, Any]]:
    """The records of jobs that compute for others."""
    assert isinstance(world.table, MemoryTable)
    return [dict(item) for key, item in world.table._items.items() if key.pk.startswith("reuse#")]


def archive(*files: tuple[str, bytes], mtime: int = 0, mode: int = 0o644) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode, info.uid = len(content), mtime, mode, mtime
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


# ------------------------------------------------------------------------------------------------------- answered


def test_a_job_that_was_computed_before_ends_at_once_with_the_outputs_of_the_other(world: World):
    submit(world, "first")
    run(world, "first")

    seen = submit(world, "second", Tags=[{"Key": "priority", "Value": "7"}])

    assert (seen.job.job_state, seen.place, seen.job.reused_from) == (JobState.COMPLETED, None, "first")
    assert (seen.reason.code, seen.reason.jobs) == (ReasonCode.REUSED, ("first",))
    assert (
        seen.reason.message == "completed without instances, with the outputs of `first`, which has computed the same"
    )
    assert [step.reason.code for step in seen.job.history] == [ReasonCode.ENTERED, ReasonCode.REUSED]
    assert world.called("CreateTrainingJob") == ["first"]
    assert (seen.job.ended_ms, seen.job.attempts, seen.job.usage.started_ms) == (world.clock(), (), None)
    item = world.table.get(request_key("second"))
    assert item is not None
    assert item["expiresAt"] == seen.job.expires_at == world.machine_clock() // 1000 + 30 * 86_400
    world.check()


def test_dependants_of_a_reused_job_get_the_outputs_of_the_other(world: World):
    submit(world, "first")
    run(world, "first")
    submit(world, "second")

    template = [channel("{{ jobs.second.model }}")]
    submission = Submission(request=request("next", InputDataConfig=template), depends_on=[{"job": "second"}])
    world.submitter.submit(submission, ROOT)

    stored = find_request(world.table, "next")
    assert stored is not None
    assert stored["InputDataConfig"] == [channel("s3://jobs/output/first/output/model.tar.gz")]


def test_a_third_one_gets_the_outputs_of_the_job_that_has_computed_them(world: World):
    submit(world, "first")
    run(world, "first")
    submit(world, "second")
    assert submit(world, "third").job.reused_from == "first"
    assert [item["jobName"] for item in computed(world)] == ["first"]


def test_a_repeated_submission_is_the_same_job_whatever_it_became(world: World):
    submit(world, "first")
    submit(world, "second")
    assert [submit(world, name).job.job_name for name in ("first", "second")] == ["first", "second"]
    run(world, "first")
    assert submit(world, "first").job.reused_from == ""
    assert submit(world, "second").job.reused_from == "first"
    with pytest.raises(NameInUse):
        world.submitter.submit(document("second"), ROOT)


def test_a_full_queue_accepts_a_job_that_needs_no_place_in_it(world: World):
    submit(world, "first")
    run(world, "first")
    configure(world, {"limits": {"waitingPerTeam": 1}})
    world.submit("other")
    with pytest.raises(QueueFull):
        submit(world, "unequal", Environment={"A": "1"})
    assert submit(world, "second").job.job_state is JobState.COMPLETED


def test_a_job_that_none_answers_says_so_at_its_acceptance(world: World):
    submit(world, "first")
    (step,) = job(world, "first").history
    assert step.reason.message == f"entered the queue for 1 ml.p5.48xlarge; {NOBODY_ANSWERS}"
    assert (step.reason, step.job_state) == (job(world, "first").reason, JobState.PENDING)


def test_what_has_no_reuse_is_never_looked_at(world: World):
    submit(world, "first")
    run(world, "first")
    calls = len(world.objects.calls)
    assert world.submitter.submit(document("second"), ROOT)[0].job.job_state is JobState.PENDING
    assert len(world.objects.calls) == calls
    assert len(computed(world)) == 1


def test_an_answer_is_found_before_a_tick_has_noted_the_outputs(world: World):
    submit(world, "first")
    world.tick()
    world.pass_time(1200, tick=False)
    world.objects.put(OUTPUTS, "output/first/output/model.tar.gz", b"model")
    assert [ended.job_name for ended in read_ledger(world.table).ended] == ["first"]
    assert submit(world, "second").job.reused_from == "first"
    world.tick()
    assert read_ledger(world.table).ended == ()
    assert submit(world, "third").job.reused_from == "first"


def test_the_record_of_a_computation_expires_with_its_job(world: World):
    submit(world, "first")
    assert "expiresAt" not in computed(world)[0]
    run(world, "first")
    assert computed(world)[0]["expiresAt"] == job(world, "first").expires_at


# ----------------------------------------------------------------------------------------------- what makes equal

SAME: list[dict[str, Any]] = [
    {"StoppingCondition": {"MaxRuntimeInSeconds": 60}},
    {"Tags": [{"Key": "priority", "Value": "7"}]},
    {"ExperimentConfig": {"ExperimentName": "x"}},
    {"RetryStrategy": {"MaximumRetryAttempts": 3}},
]


@pytest.mark.parametrize("change", SAME, ids=lambda change: next(iter(change)))
def test_what_does_not_change_the_result_may_differ(world: World, change: dict[str, Any]):
    submit(world, "first")
    run(world, "first")
    assert submit(world, "second", **change).job.reused_from == "first"


OTHER: list[dict[str, Any]] = [
    {"HyperParameters": {"lr": "0.2"}},
    {"Environment": {"A": "1"}},
    {"RoleArn": "arn:aws:iam::123456789012:role/Other"},
    {"ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2, "VolumeSizeInGB": 30}},
    {"OutputDataConfig": {"S3OutputPath": "s3://jobs/elsewhere"}},
    {"InputDataConfig": [channel("s3://data/train/")]},
    {"AlgorithmSpecification": {"TrainingImage": f"{IMAGE[:-1]}b", "TrainingInputMode": "File"}},
]


@pytest.mark.parametrize("change", OTHER, ids=lambda change: next(iter(change)))
def test_what_may_change_the_result_may_not_differ(world: World, change: dict[str, Any]):
    submit(world, "first")
    run(world, "first")
    seen = submit(world, "second", **change)
    assert (seen.job.job_state, seen.job.reason.code) == (JobState.PENDING, ReasonCode.ENTERED)
    assert seen.job.reason.message.endswith(NOBODY_ANSWERS)


def test_another_team_gets_nothing(world: World):
    configure(world, {"teams": {"a": {}, "b": {}}})
    submit(world, "first", Tags=[{"Key": "team", "Value": "a"}])
    run(world, "first")
    assert submit(world, "second", Tags=[{"Key": "team", "Value": "b"}]).job.reused_from == ""
    assert submit(world, "third", Tags=[{"Key": "team", "Value": "a"}]).job.reused_from == "first"


@pytest.mark.parametrize("when", ["before its end", "after its end"])
def test_who_may_not_see_the_other_job_learns_nothing_about_it(world: World, when: str):
    configure(world, {"access": {"details": "owner"}})
    submit(world, "first", ADA)
    if when == "after its end":
        run(world, "first")
    seen = submit(world, "second", BOB)
    assert (seen.job.job_state, seen.job.reason.code) == (JobState.PENDING, ReasonCode.ENTERED)
    assert (seen.job.depends_on, seen.job.reuse and seen.job.reuse.key) == ((), "")
    assert seen.job.reason.message.endswith(NOBODY_ANSWERS)
    assert all("first" not in step.reason.message for step in seen.job.history)
    assert submit(world, "third", ADA).job.job_name == "third"


@pytest.mark.parametrize("change", ["written again", "another one", "gone", "renamed"])
def test_a_changed_input_is_noticed(world: World, change: str):
    submit(world, "first")
    run(world, "first")
    if change in {"gone", "renamed"}:
        world.objects.delete(DATA, "train/a")
    if change == "renamed":
        world.objects.put(DATA, "train/c", b"1")
    elif change != "gone":
        world.objects.put(DATA, "train/a" if change == "written again" else "train/b", b"2", 5)
    assert submit(world, "second").job.job_state is JobState.PENDING


def test_an_input_that_is_uploaded_again_after_the_end_with_the_same_content_is_the_same(world: World):
    submit(world, "first")
    run(world, "first")
    world.objects.put(DATA, "train/a", b"1", 99)
    assert submit(world, "second").job.reused_from == "first"


@pytest.mark.parametrize("content", [b"1", b"2"])
def test_an_input_that_is_written_while_the_job_runs_spoils_its_answer(world: World, content: bytes):
    submit(world, "first")
    world.tick()
    world.objects.put(DATA, "train/a", content, 5)
    run(world, "first")
    world.objects.put(DATA, "train/a", b"1", 5)
    assert computed(world) == []
    assert submit(world, "second").job.job_state is JobState.PENDING


def test_an_input_that_is_written_while_the_job_runs_spoils_its_answer_also_before_the_tick(world: World):
    submit(world, "first")
    world.tick()
    world.objects.put(DATA, "train/a", b"1", 5)
    world.pass_time(1200, tick=False)
    world.objects.put(OUTPUTS, "output/first/output/model.tar.gz", b"model")
    seen = submit(world, "second")
    assert (seen.job.job_state, seen.reason.code) == (JobState.PENDING, ReasonCode.NOT_REUSED)
    assert seen.job.reason.message == (
        "computes by itself, as `first` cannot answer: its request, or an object that it reads, was changed before it "
        "had ended; entered the queue"
    )
    assert [item["jobName"] for item in computed(world)] == ["second"]
    world.tick()
    assert [item["jobName"] for item in computed(world)] == ["second"]


@pytest.mark.parametrize("change", ["gone", "written again", "another one"])
def test_outputs_that_are_not_as_they_were_answer_nothing(world: World, change: str):
    submit(world, "first")
    run(world, "first")
    place = "output/first/output/model.tar.gz"
    if change == "gone":
        world.objects.delete(OUTPUTS, place)
    else:
        world.objects.put(OUTPUTS, f"{place}{'' if change == 'written again' else '2'}", b"model", 7)
    seen = submit(world, "second")
    assert seen.job.job_state is JobState.PENDING
    assert "`first` cannot answer: its outputs have changed, or are gone" in seen.job.reason.message
    run(world, "second")
    assert submit(world, "third").job.reused_from == "second"


def test_a_job_without_outputs_answers_nothing(world: World):
    submit(world, "first")
    run(world, "first", outputs=False)
    assert computed(world) == []
    assert submit(world, "second").job.job_state is JobState.PENDING


def test_a_changed_request_answers_only_what_it_computes(world: World):
    world.submit("ahead", 9, ResourceConfig={"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2, "VolumeSizeInGB": 1})
    submit(world, "first")
    world.tick()
    world.changes.change("first", RequestChange(instances=2), ROOT)
    world.pass_time(1200)
    run(world, "first")
    assert computed(world) == []
    assert submit(world, "second").job.job_state is JobState.PENDING


# ------------------------------------------------------------------------------------------------ not reusable

NOT: list[tuple[dict[str, Any], str]] = [
    (
        {"AlgorithmSpecification": {"TrainingImage": "image:1", "TrainingInputMode": "File"}},
        "its image may have changed: name the image with its digest (@sha256:...), or submit with --reuse-unpinned",
    ),
    (
        {
            "ModelPackageConfig": {
                "ModelPackageGroupArn": "arn:aws:sagemaker:eu-west-1:123456789012:model-package-group/a"
            }
        },
        "jobs with ModelPackageConfig always do",
    ),
    (
        {"InputDataConfig": [channel("s3://data/train", S3DataType="ManifestFile")]},
        "its channel train reads what other objects name; only S3Prefix is compared",
    ),
    (
        {
            "InputDataConfig": [
                {
                    "ChannelName": "train",
                    "DataSource": {
                        "FileSystemDataSource": {
                            "FileSystemId": "fs-12345678901",
                            "FileSystemAccessMode": "ro",
                            "FileSystemType": "EFS",
                            "DirectoryPath": "/",
                        }
                    },
                }
            ],
            "VpcConfig": {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]},
        },
        "what its channel train reads is not in S3, so a change is not noticed",
    ),
    (
        {"InputDataConfig": [channel("s3://secret/train")]},
        "the bucket `secret` is not among those that the queue may read (parameter ReuseBucketArns)",
    ),
]


@pytest.mark.parametrize(("change", "said"), NOT, ids=lambda value: next(iter(value)))
def test_what_cannot_be_compared_runs_with_a_sentence(world: World, change: dict[str, Any], said: str):
    for name in ("first", "second"):
        seen = submit(world, name, **change)
        assert seen.job.reason.message == f"computes by itself, as {said}; entered the queue"
        assert [step.reason.code for step in seen.job.history] == [ReasonCode.ENTERED, ReasonCode.NOT_REUSED]
    assert computed(world) == []
    run(world, "first")


def test_an_image_without_a_digest_counts_as_the_same_on_request(world: World):
    image: dict[str, Any] = {"AlgorithmSpecification": {"TrainingImage": "image:1", "TrainingInputMode": "File"}}
    submit(world, "first", unpinned=True, **image)
    run(world, "first")
    assert submit(world, "second", unpinned=True, **image).job.reused_from == "first"
    assert submit(world, "third", **image).job.job_state is JobState.PENDING


def test_without_an_answer_of_s3_the_job_runs(world: World):
    submit(world, "first")
    run(world, "first")
    world.objects.unreadable = True
    seen = submit(world, "second")
    said = "what it names in `s3://data` is not there, or may not be read by its training role, or by the queue now"
    assert said in seen.job.reason.message
    world.objects.unreadable = False
    assert submit(world, "third").job.reused_from == "first"


def test_without_buckets_reuse_is_refused(world: World):
    container = world.container
    object.__setattr__(container.settings, "reuse_buckets", ())
    submission = Submission(request=document("first"), reuse=True)
    with pytest.raises(InvalidRequest, match="parameter ReuseBucketArns") as refused:
        container.submitter.submit(submission, ROOT)
    assert [error.field for error in refused.value.fields] == ["reuse"]
    assert container.submitter.submit(document("first"), ROOT)[1]


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"reuse": "yes"}, "reuse"),
        ({"reuse": True, "reuse_unpinned": 1}, "reuseUnpinned"),
        ({"reuse_unpinned": True}, "reuseUnpinned"),
    ],
)
def test_members_of_another_kind_are_refused(world: World, members: dict[str, Any], field: str):
    with pytest.raises(InvalidRequest) as refused:
        world.submitter.submit(Submission(request=document("first"), **members), ROOT)
    assert [error.field for error in refused.value.fields] == [field]


CHECKPOINTS: dict[str, Any] = {"CheckpointConfig": {"S3Uri": "s3://jobs/checkpoints"}}


def test_a_job_that_continues_from_checkpoints_answers_no_other_one(world: World):
    world.objects.put(OUTPUTS, "checkpoints/1", b"")
    seen = submit(world, "first", **CHECKPOINTS)
    assert "there are checkpoints that it continues from (CheckpointConfig)" in seen.job.reason.message
    run(world, "first")
    assert submit(world, "second", **CHECKPOINTS).job.job_state is JobState.PENDING


def test_a_job_that_writes_checkpoints_from_the_beginning_answers_others(world: World):
    submit(world, "first", **CHECKPOINTS)
    world.objects.put(OUTPUTS, "checkpoints/1", b"")
    run(world, "first")
    assert submit(world, "second", **CHECKPOINTS).job.reused_from == "first"


# ------------------------------------------------------------------------------------------------------- sources


def sdk2(place: str) -> dict[str, Any]:
    parameters = {
        "sagemaker_submit_directory": json.dumps(f"s3://data/{place}/source/sourcedir.tar.gz"),
        "sagemaker_job_name": json.dumps(place),
        "lr": "0.1",
    }
    return {"HyperParameters": parameters}


def sdk3(place: str) -> dict[str, Any]:
    return {"InputDataConfig": [channel(f"s3://data/{place}/input/code", "code"), channel("s3://data/train")]}


def test_sources_are_the_same_if_their_contents_are(world: World):
    for i, name in enumerate(("first", "second", "third")):
        content = archive(("train.py", b"1" if i < 2 else b"2"), ("a", b""), mtime=i)
        world.objects.put(DATA, f"{name}/source/sourcedir.tar.gz", content, i)
    submit(world, "first", **sdk2("first"))
    run(world, "first")
    assert submit(world, "second", **sdk2("second")).job.reused_from == "first"
    assert submit(world, "third", **sdk2("third")).job.job_state is JobState.PENDING


def test_source_files_in_a_channel_are_the_same_if_their_contents_are(world: World):
    for i, name in enumerate(("first", "second", "third")):
        world.objects.put(DATA, f"{name}/input/code/train.py", b"1" if i < 2 else b"2", i)
    submit(world, "first", **sdk3("first"))
    run(world, "first")
    assert submit(world, "second", **sdk3("second")).job.reused_from == "first"
    assert submit(world, "third", **sdk3("third")).job.job_state is JobState.PENDING


def test_a_source_that_is_replaced_while_the_job_runs_spoils_its_answer(world: World):
    world.objects.put(DATA, "first/source/sourcedir.tar.gz", archive(("train.py", b"1")))
    submit(world, "first", **sdk2("first"))
    world.tick()
    world.objects.put(DATA, "first/source/sourcedir.tar.gz", archive(("train.py", b"1")), 5)
    run(world, "first")
    assert computed(world) == []


# ------------------------------------------------------------------------------------------------------ two at once


def test_of_two_at_once_the_second_waits_for_the_first_and_gets_its_outputs(world: World):
    submit(world, "first")
    seen = submit(world, "second")
    said = (
        "waits for `first`, which computes the same, and completes with its outputs; if `first` does not complete, "
        "enters the queue"
    )
    assert seen.job.reason.message == f"accepted; {said}"
    assert reason(world, "second") == (ReasonCode.WAITS_FOR_JOBS, said)
    assert (seen.place, job(world, "first").dependants) == (None, ("second",))

    run(world, "first")

    assert reason(world, "second")[0] is ReasonCode.REUSED
    assert job(world, "second").depends_on[0].ended is Ending.COMPLETED
    assert world.called("CreateTrainingJob") == ["first"]
    assert (world.table.get(request_key("second")) or {})["expiresAt"] == job(world, "second").expires_at
    world.check()


def test_a_twin_that_is_stopped_releases_the_first_that_waits_and_the_others_wait_for_that(world: World):
    submit(world, "first")
    submit(world, "second")
    submit(world, "third")
    world.commands.stop("first", ROOT)
    world.tick()

    assert world.states("second", "third") == {"second": "running", "third": "pending"}
    assert [step.reason.message for step in job(world, "second").history][1] == "`first` was stopped; entered the queue"
    assert job(world, "third").history[-1].reason.message.startswith("`first` was stopped; waits for `second`")
    assert job(world, "third").twin == "second"
    assert [item["jobName"] for item in computed(world)] == ["second"]
    run(world, "second")
    assert job(world, "third").reused_from == "second"
    assert world.called("CreateTrainingJob") == ["second"]


def test_inputs_that_changed_while_a_job_waited_are_noticed(world: World):
    submit(world, "first")
    submit(world, "second")
    world.tick()
    world.pass_time(1200, tick=False)
    world.objects.put(OUTPUTS, "output/first/output/model.tar.gz", b"model")
    world.objects.put(DATA, "train/a", b"2", 5)
    world.tick()

    assert world.states("second") == {"second": "running"}
    assert "computes by itself, as its outputs cannot be used, or inputs have changed meanwhile" in (
        job(world, "second").history[1].reason.message
    )
    run(world, "second")
    assert submit(world, "third").job.reused_from == "second"


def test_a_held_job_is_answered_too(world: World):
    submit(world, "first")
    submit(world, "second")
    world.commands.hold("second", ROOT)
    assert reason(world, "second")[0] is ReasonCode.HELD
    run(world, "first")
    found = job(world, "second")
    assert (found.job_state, found.held, found.reused_from) == (JobState.COMPLETED, False, "first")
    assert found.ended() == []


def test_a_held_job_whose_twin_is_stopped_stays_held(world: World):
    for name in ("first", "second", "third"):
        submit(world, name)
    for name in ("second", "third"):
        world.commands.hold(name, ROOT)
    world.commands.stop("first", ROOT)
    world.tick()
    assert [job(world, name).held for name in ("second", "third")] == [True, True]
    assert [job(world, name).reason.code for name in ("second", "third")] == [ReasonCode.HELD, ReasonCode.HELD]


def test_a_job_that_waits_can_be_stopped_and_gets_nothing(world: World):
    submit(world, "first")
    submit(world, "second")
    world.commands.stop("second", ROOT)
    run(world, "first")
    assert job(world, "second").job_state is JobState.STOPPED


def test_a_job_that_waits_may_be_changed_and_computes_by_itself(world: World):
    submit(world, "first")
    submit(world, "second")
    world.changes.change("second", RequestChange(instances=2), ROOT)
    run(world, "first")
    assert world.states("second") == {"second": "running"}


def test_a_job_with_many_dependants_gets_no_further_twin(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(twins, "MAX_TWINS", 1)
    submit(world, "first")
    submit(world, "second")
    seen = submit(world, "third")
    assert seen.job.reason.message == "computes by itself, as 1 jobs wait for `first` already; entered the queue"
    assert MAX_TWINS == 50


def test_a_job_after_others_is_answered_when_they_have_ended(world: World):
    submit(world, "first")
    run(world, "first")
    world.submit("other")
    seen = submit(world, "second", after=[{"job": "other"}])
    assert seen.job.job_state is JobState.PENDING
    run(world, "other")
    assert job(world, "second").reused_from == "first"


def test_a_job_with_a_template_is_answered_with_the_outputs_filled_in(world: World):
    for round_ in ("1", "2"):
        submit(world, f"prepare{round_}", HyperParameters={"of": "both"})
        template = [channel(f"{{{{ jobs.prepare{round_}.output }}}}/x")]
        submit(world, f"train{round_}", InputDataConfig=template, after=[{"job": f"prepare{round_}"}])
        if round_ == "1":
            run(world, "prepare1")
            run(world, "train1")
    assert (job(world, "prepare2").reused_from, job(world, "train2").reused_from) == ("prepare1", "train1")
    assert world.called("CreateTrainingJob") == ["prepare1", "train1"]


def test_a_template_is_filled_in_also_for_a_job_that_goes_on_waiting_for_a_twin(world: World):
    world.submit("prepare")
    for name in ("one", "two"):
        template = [channel("{{ jobs.prepare.output }}/x")]
        submit(world, name, InputDataConfig=template, after=[{"job": "prepare"}])
    run(world, "prepare")
    filled = find_request(world.table, "two")
    assert filled is not None
    assert filled["InputDataConfig"] == [channel("s3://jobs/output/prepare/output/x")]
    assert job(world, "two").twin == "one"
    run(world, "one")
    assert job(world, "two").reused_from == "one"


# --------------------------------------------------------------------------------------------- at the same moment


def test_of_two_acceptances_at_once_one_computes(world: World, monkeypatch: pytest.MonkeyPatch):
    raced: list[bool] = []
    whole = type(world.table).write

    def write(table: Any, writes: Any) -> None:
        if not raced:
            raced.append(True)
            submit(world, "faster")
        whole(table, writes)

    monkeypatch.setattr(type(world.table), "write", write)
    submit(world, "slower")
    assert job(world, "slower").twin == "faster"
    assert [item["jobName"] for item in computed(world)] == ["faster"]


def test_a_twin_that_ends_while_the_other_is_accepted_is_not_missed(world: World, monkeypatch: pytest.MonkeyPatch):
    submit(world, "first")
    raced: list[bool] = []
    whole = type(world.table).write

    def write(table: Any, writes: Any) -> None:
        if not raced:
            raced.append(True)
            run(world, "first")
        whole(table, writes)

    monkeypatch.setattr(type(world.table), "write", write)
    assert submit(world, "second").job.reused_from == "first"


def test_an_end_that_was_settled_before_changes_nothing(world: World):
    submit(world, "first")
    run(world, "first")
    before = computed(world)
    world.objects.put(DATA, "train/a", b"1", 99)
    world.container.reuse.note_outputs(EndedJobRecord(job_name="first", ending=Ending.COMPLETED, dependants=()))
    assert computed(world) == before


def test_an_end_is_not_noted_for_a_computation_that_is_another_jobs_by_now(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    submit(world, "first")
    world.commands.stop("first", ROOT)
    ended = read_ledger(world.table).ended[0]
    submit(world, "second")
    world.container.reuse.note_outputs(ended)
    assert [item["jobName"] for item in computed(world)] == ["second"]


def test_a_tick_without_time_leaves_the_rest_to_the_next_one(world: World):
    submit(world, "first")
    submit(world, "second")
    world.commands.stop("first", ROOT)
    ended = read_ledger(world.table).ended[0]
    assert not world.dependants().notify(ended, lambda: False)
    assert job(world, "second").twin == "first"
    assert read_ledger(world.table).ended == (ended,)


@pytest.mark.parametrize("reuse", [True, False])
def test_a_record_that_names_another_job_by_now_answers_nothing(world: World, reuse: bool):
    """The name of a job may be used again when the queue has forgotten it."""
    submit(world, "first")
    key = str(computed(world)[0]["keyDigest"])
    world.submitter.submit(Submission(request=document("other", Environment={"A": "1"}), reuse=reuse), ROOT)
    world.table.write([ComputedRecord(key_digest=key, job_name="other").put(requires=Equals("jobName", "first"))])
    seen = submit(world, "second")
    assert (seen.job.twin, seen.job.reason.code) == ("", ReasonCode.ENTERED)
    assert "second" in [item["jobName"] for item in computed(world)]


def test_a_record_of_a_job_that_is_gone_answers_nothing(world: World):
    submit(world, "first")
    key = str(computed(world)[0]["keyDigest"])
    world.table.write([ComputedRecord(key_digest=key, job_name="gone").put(requires=Equals("jobName", "first"))])
    assert submit(world, "second").job.reason.code is ReasonCode.ENTERED


def test_a_job_that_was_stopped_answers_nothing_whatever_it_has_left(world: World):
    submit(world, "first")
    world.tick()
    world.pass_time(300, tick=False)
    world.objects.put(OUTPUTS, "output/first/output/output.tar.gz", b"")
    world.commands.stop("first", ROOT)
    world.tick()
    world.pass_time(300, tick=False)
    assert job(world, "first").ending is Ending.STOPPED
    world.container.reuse.note_outputs(EndedJobRecord(job_name="first", ending=Ending.STOPPED, dependants=()))
    assert computed(world) == []


def test_after_a_job_that_was_stopped_the_next_one_computes_without_another_reason(world: World):
    submit(world, "first")
    world.commands.stop("first", ROOT)
    assert submit(world, "second").job.reason.code is ReasonCode.ENTERED


def test_a_conflict_about_an_end_is_left_to_the_other_invocation(world: World, monkeypatch: pytest.MonkeyPatch):
    submit(world, "first")
    world.commands.stop("first", ROOT)
    ended = read_ledger(world.table).ended[0]

    def write(*_: Any) -> None:
        raise Conflict([0])

    with monkeypatch.context() as patch:
        patch.setattr(type(world.table), "write", write)
        world.container.reuse.note_outputs(ended)
    assert [item["jobName"] for item in computed(world)] == ["first"]


def test_a_job_after_others_that_nothing_equals_enters_as_any_other(world: World):
    world.submit("other")
    submit(world, "first", after=[{"job": "other"}])
    run(world, "other")
    assert [step.reason.code for step in job(world, "first").history][:2] == [
        ReasonCode.ENTERED,
        ReasonCode.DEPENDENCY_ENDED,
    ]
    assert [item["jobName"] for item in computed(world)] == ["first"]


def test_a_job_after_two_others_waits_for_both(world: World):
    world.submit("one")
    world.submit("two", Environment={"SANDBOX_RUN_SECONDS": "90000"})
    submit(world, "first", after=[{"job": "one"}, {"job": "two"}])
    run(world, "one")
    assert [name for name, _ in job(world, "first").awaited] == ["two"]
    assert computed(world) == []


def test_a_dependant_without_reuse_is_not_compared(world: World):
    world.submit("other")
    submission = Submission(request=document("first"), depends_on=[{"job": "other"}])
    world.submitter.submit(submission, ROOT)
    run(world, "other")
    assert (world.objects.calls, computed(world)) == ([], [])
    assert job(world, "first").history[1].reason.code is ReasonCode.DEPENDENCY_ENDED


def test_an_answered_job_takes_no_place_from_the_rest_of_its_batch(world: World):
    submit(world, "first")
    run(world, "first")
    configure(world, {"limits": {"waitingPerTeam": 1}})
    context = world.submitter.context(ROOT)
    for name, reuse in (("second", True), ("other", False)):
        submission = Submission(request=document(name), reuse=reuse)
        assert world.submitter.enqueue(submission, context).created


def test_a_job_that_waits_for_an_equal_one_may_be_changed_whatever_it_depended_on(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(dependencies, "MAX_DEPENDENCIES", 1)
    world.submit("other")
    run(world, "other")
    submit(world, "first")
    submit(world, "second", after=[{"job": "other"}])
    assert job(world, "second").twin == "first"
    world.changes.change("second", RequestChange(instances=2), ROOT)
    assert job(world, "second").twin == "first"


def with_alternatives(name: str, **members: Any) -> Submission:
    resources = {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1}
    return Submission(request=document(name), alternatives=[{"ResourceConfig": resources, **members}], reuse=True)


def test_alternatives_are_compared_too():
    world = World(pools={"ml.p5.48xlarge": 2, "ml.g5.xlarge": 2})
    world.objects.put(OUTPUTS, "other", b"")
    world.objects.put(DATA, "train/a", b"1")
    for name in ("first", "second"):
        world.submitter.submit(with_alternatives(name), ROOT)
    submit(world, "third")
    assert [job(world, name).twin for name in ("second", "third")] == ["first", ""]
    sources = {"HyperParameters": {"sagemaker_submit_directory": "s3://data/x.tar.gz"}}
    seen = world.submitter.submit(with_alternatives("fourth", **sources), ROOT)[0]
    assert "its alternatives have sources of their own" in seen.job.reason.message


def test_another_object_beside_the_archive_of_sources_does_not_matter(world: World):
    for name in ("first", "second"):
        world.objects.put(DATA, f"{name}/source/sourcedir.tar.gz", archive(("train.py", b"1")))
    submit(world, "first", **sdk2("first"))
    world.objects.put(DATA, "second/source/sourcedir.tar.gz.bak", b"")
    assert submit(world, "second", **sdk2("second")).job.twin == "first"
