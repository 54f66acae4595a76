from __future__ import annotations

import json
import random

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.clock import Clock
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.state_machine import SageMakerSettings
from headway_sandbox.sagemaker.token_bucket import Rate
from headway_sandbox.sagemaker.training_job import SPOT_BILLED
from tests.sandbox.fleets import on, play, request, spot, statuses

P5 = "ml.p5.48xlarge"


@pytest.fixture
def fleet() -> FakeSageMaker:
    return FakeSageMaker()


def status(fleet: FakeSageMaker, name: str = "train-1", *, now: float) -> tuple[str, str]:
    answer = fleet.describe(name, now=now)
    return answer["TrainingJobStatus"], answer["SecondaryStatus"]


def refused(call) -> AwsError:
    with pytest.raises(AwsError) as caught:
        call()
    return caught.value


# --------------------------------------------------------------------------------------------------------- lifecycle


def test_a_job_passes_through_the_stages_and_each_sends_an_event(fleet):
    fleet.create(request(), now=0.0)
    assert statuses(play(fleet)) == ["Starting", "Pending", "Downloading", "Training", "Uploading", "Completed"]
    answer = fleet.describe("train-1", now=1000.0)
    assert (answer["TrainingJobStatus"], answer["SecondaryStatus"]) == ("Completed", "Completed")
    moments = [
        (entry["Status"], entry["StartTime"], entry["EndTime"]) for entry in answer["SecondaryStatusTransitions"]
    ]
    assert moments == [
        ("Starting", 0.0, 18.0),
        ("Pending", 18.0, 180.0),
        ("Downloading", 180.0, 210.0),
        ("Training", 210.0, 810.0),
        ("Uploading", 810.0, 830.0),
        ("Completed", 830.0, 830.0),
    ]
    assert answer["TrainingStartTime"] == 180.0
    assert answer["TrainingEndTime"] == 830.0
    assert answer["BillableTimeInSeconds"] == answer["TrainingTimeInSeconds"] == 650


def test_nothing_is_running_once_all_jobs_have_ended(fleet):
    fleet.create(request(), now=0.0)
    play(fleet)
    assert fleet.next_due() is None
    assert fleet.in_use() == {}


def test_calls_are_throttled_by_machine_time():
    rates = {"ListTrainingJobs": Rate(per_s=1, burst=1)}
    fleet = FakeSageMaker(settings=SageMakerSettings(clock=Clock(speed=60), rates=rates))
    fleet.list_jobs(now=0.0)
    with pytest.raises(AwsError):
        fleet.list_jobs(now=59.0)
    fleet.list_jobs(now=60.0)


@pytest.mark.parametrize(
    ("outcome", "fails_at", "reason"),
    [
        ("AlgorithmError: exit code 1", 810.0, "AlgorithmError: exit code 1"),
        ("ClientError: no channel", 810.0, "ClientError: no channel"),
        ("InternalServerError: We encountered an internal error.", 810.0, "InternalServerError: We encountered"),
        ("CapacityError", 180.0, "CapacityError: Unable to provision requested ML compute capacity."),
    ],
)
def test_a_run_fails_as_scripted(fleet, outcome, fails_at, reason):
    environment = {"SANDBOX_RUN_SECONDS": "600", "SANDBOX_OUTCOME": outcome}
    fleet.create(request(Environment=environment), now=0.0)
    events = play(fleet)
    assert events[-1]["TrainingJobStatus"] == "Failed"
    assert events[-1]["FailureReason"].startswith(reason)
    assert fleet.describe("train-1", now=fails_at)["SecondaryStatusTransitions"][-1]["StartTime"] == fails_at


@pytest.mark.parametrize(
    "environment",
    [
        {"SANDBOX_OUTCOME": "completed"},
        {"SANDBOX_RUN_SECONDS": "ten"},
        {"SANDBOX_RUN_SECONDS": "-1"},
        {"SANDBOX_STOP_SECONDS": "nan"},
        {"SANDBOX_METRICS": ""},
        {"SANDBOX_METRICS": "loss"},
        {"SANDBOX_METRICS": "=0.3"},
        {"SANDBOX_METRICS": "loss=lr"},
        {"SANDBOX_METRICS": "loss=0.3,accuracy=inf"},
    ],
)
def test_an_invalid_run_script_is_refused_immediately(fleet, environment):
    error = refused(lambda: fleet.create(request(Environment=environment), now=0.0))
    assert error.code == "ValidationException"
    assert next(iter(environment)) in error.message


def metrics(fleet: FakeSageMaker, now: float) -> dict[str, float]:
    answer = fleet.describe("train-1", now=now)
    return {each["MetricName"]: each["Value"] for each in answer.get("FinalMetricDataList", [])}


def test_a_run_that_completes_has_the_metrics_of_its_environment_and_hyperparameters(fleet):
    environment = {"SANDBOX_METRICS": "validation:loss=lr, accuracy=0.9"}
    fleet.create(request(Environment=environment, HyperParameters={"lr": "1e-3"}), now=0.0)
    assert metrics(fleet, 500.0) == {}
    details = play(fleet)
    assert metrics(fleet, 10_000.0) == {"validation:loss": 0.001, "accuracy": 0.9}
    assert [each["Value"] for each in details[-1]["FinalMetricDataList"]] == [0.001, 0.9]


def test_a_run_that_fails_has_no_metrics(fleet):
    environment = {"SANDBOX_METRICS": "loss=0.3", "SANDBOX_OUTCOME": "AlgorithmError: exit code 1"}
    fleet.create(request(Environment=environment), now=0.0)
    play(fleet)
    assert metrics(fleet, 10_000.0) == {}


# ------------------------------------------------------------------------------------------------------- stopping


def test_a_stopped_job_keeps_its_instances_until_its_grace_is_over(fleet):
    fleet.create(request(), now=0.0)
    fleet.advance(300.0)
    fleet.stop("train-1", now=300.0)
    assert status(fleet, now=300.0) == ("Stopping", "Stopping")
    assert fleet.in_use() == {P5: 1}
    assert status(fleet, now=419.9) == ("Stopping", "Stopping")
    assert status(fleet, now=420.0) == ("Stopped", "Stopped")
    assert fleet.in_use() == {}
    assert statuses(fleet.advance(420.0)) == ["Stopping", "Stopped"]


def test_a_run_may_end_before_its_grace_is_over_but_never_later(fleet):
    for name, seconds in (("quick", "5"), ("slow", "5000")):
        fleet.create(request(name, Environment={"SANDBOX_STOP_SECONDS": seconds}), now=0.0)
    fleet.advance(300.0)
    for name in ("quick", "slow"):
        fleet.stop(name, now=300.0)
    assert status(fleet, "quick", now=305.0)[0] == "Stopped"
    assert status(fleet, "slow", now=419.0)[0] == "Stopping"
    assert status(fleet, "slow", now=420.0)[0] == "Stopped"


def test_a_job_without_instances_yet_stops_without_the_grace_and_was_never_training(fleet):
    fleet.create(request(), now=0.0)
    fleet.stop("train-1", now=60.0)
    assert status(fleet, now=90.0) == ("Stopped", "Stopped")
    assert "TrainingStartTime" not in fleet.describe("train-1", now=90.0)


def test_stopping_an_ended_job_is_refused_in_aws_words(fleet):
    fleet.create(request(), now=0.0)
    error = refused(lambda: fleet.stop("train-1", now=5000.0))
    assert (error.code, error.status) == ("ValidationException", 400)
    assert error.message == "The request was rejected because the training job is in status Completed."


def test_stopping_a_job_that_is_stopping_is_refused(fleet):
    fleet.create(request(), now=0.0)
    fleet.stop("train-1", now=200.0)
    assert refused(lambda: fleet.stop("train-1", now=201.0)).message.endswith("in status Stopping.")


@pytest.mark.parametrize("operation", ["DescribeTrainingJob", "StopTrainingJob", "DeleteTrainingJob"])
def test_an_unknown_name_is_a_validation_exception(fleet, operation):
    error = refused(lambda: fleet.call(operation, {"TrainingJobName": "nobody"}, now=0.0))
    assert (error.code, error.message) == ("ValidationException", "Requested resource not found.")


def test_a_job_over_its_max_runtime_is_stopped_with_grace_and_a_reason(fleet):
    condition = {"MaxRuntimeInSeconds": 100}
    fleet.create(request(StoppingCondition=condition), now=0.0)
    assert status(fleet, now=279.0) == ("InProgress", "Training")
    assert status(fleet, now=280.0) == ("Stopping", "Stopping")
    assert status(fleet, now=400.0) == ("Stopped", "MaxRuntimeExceeded")


# ------------------------------------------------------------------------------------------------- names and tags


def test_a_name_stays_in_use_after_the_job_has_ended_until_it_is_deleted(fleet):
    fleet.create(request(), now=0.0)
    for now in (0.0, 5000.0):
        error = refused(lambda now=now: fleet.create(request(), now=now))
        assert error.code == "ResourceInUse"
        assert error.message == (
            "Training job names must be unique within an AWS account and region, and a training job with this "
            "name already exists (arn:aws:sagemaker:eu-west-1:123456789012:training-job/train-1)"
        )
    fleet.delete("train-1", now=5000.0)
    assert fleet.create(request(), now=5001.0)["TrainingJobArn"].endswith("training-job/train-1")


def test_a_name_in_use_is_reported_before_an_exceeded_quota(fleet):
    fleet.faults = Faults(quotas={P5: 1})
    fleet.create(request(), now=0.0)
    assert refused(lambda: fleet.create(request(), now=0.0)).code == "ResourceInUse"


def test_a_running_job_cannot_be_deleted(fleet):
    fleet.create(request(), now=0.0)
    assert refused(lambda: fleet.delete("train-1", now=1.0)).code == "ResourceInUse"


def test_tags_come_from_the_request_and_add_tags_but_are_not_in_the_description(fleet):
    arn = fleet.create(request(), now=0.0)["TrainingJobArn"]
    fleet.add_tags(arn, {"team": "audio", "headway:job": "a"}, now=1.0)
    assert fleet.list_tags(arn, now=1.0) == {
        "Tags": [{"Key": "team", "Value": "audio"}, {"Key": "headway:job", "Value": "a"}]
    }
    assert "Tags" not in fleet.describe("train-1", now=1.0)
    fleet.call("DeleteTags", {"ResourceArn": arn, "TagKeys": ["team"]}, now=2.0)
    assert fleet.tags_of(arn) == {"headway:job": "a"}


# -------------------------------------------------------------------------------------------- quota and capacity


def test_the_quota_counts_jobs_that_have_not_ended_and_refuses_with_aws_wording(fleet):
    fleet.faults = Faults(quotas={P5: 2})
    fleet.create(request("a"), now=0.0)
    fleet.create(request("b"), now=0.0)
    fleet.advance(300.0)
    fleet.stop("b", now=300.0)
    error = refused(lambda: fleet.create(request("c"), now=301.0))
    assert error.code == "ResourceLimitExceeded"
    assert error.message.startswith(
        "The account-level service limit 'ml.p5.48xlarge for training job usage' is 2 Instances, with current "
        "utilization of 2 Instances and a request delta of 1 Instances. Please use AWS Service Quotas"
    )
    fleet.create(request("c"), now=420.0)


def test_the_name_of_a_refused_job_stays_free(fleet):
    fleet.faults = Faults(quotas={P5: 0})
    refused(lambda: fleet.create(request(), now=0.0))
    fleet.faults = Faults()
    fleet.create(request(), now=1.0)


def test_other_types_are_not_blocked_by_a_quota(fleet):
    fleet.faults = Faults(quotas={P5: 0})
    fleet.create(request(ResourceConfig=on("ml.g5.xlarge", 9)), now=0.0)
    assert fleet.in_use() == {"ml.g5.xlarge": 9}


def test_instance_groups_count_each_type(fleet):
    groups = [
        {"InstanceGroupName": "w", "InstanceType": P5, "InstanceCount": 2},
        {"InstanceGroupName": "d", "InstanceType": "ml.c5.4xlarge", "InstanceCount": 3},
        {"InstanceGroupName": "e", "InstanceType": "ml.c5.4xlarge", "InstanceCount": 1},
    ]
    fleet.create(request(ResourceConfig={"InstanceGroups": groups, "VolumeSizeInGB": 30}), now=0.0)
    assert fleet.in_use() == {P5: 2, "ml.c5.4xlarge": 4}


def test_lack_of_capacity_shows_later_as_a_failed_job(fleet):
    fleet.faults = Faults(capacity={P5: 1}, capacity_wait_s=0.0)
    fleet.create(request("a"), now=0.0)
    fleet.create(request("b"), now=1.0)
    events = play(fleet, until=200.0)
    assert status(fleet, "a", now=200.0) == ("InProgress", "Downloading")
    assert status(fleet, "b", now=200.0) == ("Failed", "Failed")
    (failed,) = [event for event in events if event["TrainingJobStatus"] == "Failed"]
    assert failed["FailureReason"].startswith("CapacityError: Unable to provision requested ML compute capacity.")


def test_by_default_a_job_without_instances_is_pending_for_a_quarter_of_an_hour_again_and_again(fleet):
    fleet.faults = Faults(capacity={P5: 3})
    for number in range(8):  # two hours of them
        name, now = f"big-{number}", number * 900.0
        fleet.create(request(name, ResourceConfig=on(P5, 4)), now=now)
        assert status(fleet, name, now=now + 899.0) == ("InProgress", "Pending")
        assert status(fleet, name, now=now + 900.0) == ("Failed", "Failed")
        answer = fleet.describe(name, now=now + 900.0)
        assert answer["FailureReason"].startswith("CapacityError: ")
        assert answer.get("BillableTimeInSeconds") is None


HOUR_S = 3600


def pending(name: str, pending_s: int = HOUR_S, kind: str = P5):
    limit = {"MaxRuntimeInSeconds": HOUR_S, "MaxPendingTimeInSeconds": pending_s}
    return request(name, StoppingCondition=limit, ResourceConfig=on(kind))


def test_a_job_with_a_pending_time_waits_for_instances_and_gets_those_that_become_free(fleet):
    fleet.faults = Faults(capacity={P5: 1})
    fleet.create(request("a"), now=0.0)
    fleet.create(pending("b"), now=1.0)
    fleet.advance(800.0)
    assert status(fleet, "b", now=800.0) == ("InProgress", "Pending")
    fleet.advance(900.0)
    assert status(fleet, "a", now=900.0) == ("Completed", "Completed")
    assert status(fleet, "b", now=900.0) == ("InProgress", "Training")


@pytest.mark.parametrize(("ends_as", "reason"), [("Stopped", None), ("Failed", "MaxPendingTimeInSeconds")])
def test_it_ends_after_its_pending_time_in_either_way_without_training_time(fleet, ends_as, reason):
    fleet.faults = Faults(capacity={P5: 0}, pending_expiry=ends_as)
    fleet.create(pending("a"), now=0.0)
    fleet.advance(HOUR_S - 1)
    assert status(fleet, "a", now=HOUR_S - 1) == ("InProgress", "Pending")
    fleet.advance(HOUR_S)
    assert status(fleet, "a", now=HOUR_S) == (ends_as, ends_as)
    answer = fleet.describe("a", now=HOUR_S)
    assert (reason or "") in answer.get("FailureReason", "")
    assert "TrainingTimeInSeconds" not in answer
    assert fleet.next_due() is None


@pytest.mark.parametrize("job", [pending("a", kind="ml.c5.4xlarge"), request("a", ResourceConfig=on("ml.c5.4xlarge"))])
def test_a_job_without_an_effective_pending_time_waits_as_long_as_the_account_lets_it(fleet, job):
    fleet.faults = Faults(capacity={"ml.c5.4xlarge": 0}, capacity_wait_s=500)
    fleet.create(job, now=0.0)
    fleet.advance(499.0)
    assert status(fleet, "a", now=499.0) == ("InProgress", "Pending")
    fleet.advance(500.0)
    assert status(fleet, "a", now=500.0) == ("Failed", "Failed")
    assert fleet.describe("a", now=500.0)["FailureReason"].startswith("CapacityError")


def test_a_pending_job_can_be_stopped_and_waits_on_after_a_restart(fleet):
    fleet.faults = Faults(capacity={P5: 0})
    fleet.create(pending("a"), now=0.0)
    fleet.create(pending("b"), now=0.0)
    fleet.advance(1000.0)
    again = FakeSageMaker()
    again.load([job.to_document() for job in fleet.jobs(now=1000.0)], fleet.to_document())
    again.stop("a", now=1000.0)
    again.faults = Faults()
    again.advance(1100.0)
    assert status(again, "a", now=1100.0) == ("Stopped", "Stopped")
    assert status(again, "b", now=1100.0)[0] == "InProgress" != status(again, "b", now=1100.0)[1] != "Pending"


@pytest.mark.parametrize("wrong", [{"pending_expiry": "Completed"}, {"capacity_wait_s": -1}])
def test_a_wrong_switch_of_pending_jobs_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Faults(**wrong)


# ------------------------------------------------------------------------------------------------------------ spot


def test_an_interrupted_spot_job_stays_in_progress_and_starts_again_from_the_beginning(fleet):
    fleet.create(spot(), now=0.0)
    fleet.advance(310.0)
    fleet.interrupt("train-1", now=310.0)
    assert status(fleet, now=310.0) == ("InProgress", "Interrupted")
    assert statuses(play(fleet)) == [
        "Interrupted", "Restarting", "Downloading", "Training", "Uploading", "Completed",
    ]  # fmt: skip
    training = [
        entry
        for entry in fleet.describe("train-1", now=9e9)["SecondaryStatusTransitions"]
        if entry["Status"] == "Training"
    ]
    assert [entry["EndTime"] - entry["StartTime"] for entry in training] == [100.0, 600.0]


def test_a_job_with_a_checkpoint_resumes_and_only_held_instances_are_billed(fleet):
    fleet.create(spot(CheckpointConfig={"S3Uri": "s3://jobs/checkpoints"}), now=0.0)
    fleet.advance(310.0)
    fleet.interrupt("train-1", now=310.0)
    play(fleet)
    answer = fleet.describe("train-1", now=9e9)
    assert (
        answer["SecondaryStatusTransitions"][-3]["EndTime"] - answer["SecondaryStatusTransitions"][-3]["StartTime"]
        == 500
    )
    assert answer["BillableTimeInSeconds"] == round(SPOT_BILLED * (130 + 30 + 500 + 20))
    assert answer["TrainingTimeInSeconds"] > answer["BillableTimeInSeconds"]


def test_a_spot_job_that_waits_too_long_is_stopped(fleet):
    condition = {"MaxRuntimeInSeconds": 700, "MaxWaitTimeInSeconds": 700}
    fleet.create(spot(StoppingCondition=condition), now=0.0)
    fleet.advance(310.0)
    fleet.interrupt("train-1", now=310.0)
    assert status(fleet, now=700.0) == ("Stopping", "Stopping")
    assert status(fleet, now=730.0) == ("Stopped", "MaxWaitTimeExceeded")


def test_only_a_spot_job_with_instances_is_interrupted(fleet):
    fleet.create(request("ondemand"), now=0.0)
    fleet.create(spot("early"), now=0.0)
    for name in ("ondemand", "early"):
        assert "is not a spot job with instances" in refused(lambda n=name: fleet.interrupt(n, now=1.0)).message


# ------------------------------------------------------------------------------------------------ actions of testers


@pytest.mark.parametrize("now", [1.0, 100.0, 190.0, 400.0, 820.0])
def test_a_job_can_be_finished_wherever_it_is(fleet, now):
    fleet.create(request(), now=0.0)
    fleet.advance(now)
    fleet.finish("train-1", now=now)
    assert statuses(fleet.advance(now))[-1] == "Completed"
    shown = [entry["Status"] for entry in fleet.describe("train-1", now=now)["SecondaryStatusTransitions"]]
    assert shown[-4:] == ["Downloading", "Training", "Uploading", "Completed"]
    assert fleet.next_due() is None


def test_a_job_can_be_failed_and_an_ended_one_cannot(fleet):
    fleet.create(request(), now=0.0)
    fleet.fail("train-1", "AlgorithmError: because", now=50.0)
    assert fleet.describe("train-1", now=50.0)["FailureReason"] == "AlgorithmError: because"
    assert refused(lambda: fleet.finish("train-1", now=51.0)).message.endswith("status Failed.")


# ---------------------------------------------------------------------------------------------------- determinism


def busy(fleet: FakeSageMaker, *, start: int = 0, jobs: int = 30) -> list[str]:
    """Run some jobs with all faults; return the events as text."""
    story = []
    for number in range(start, start + jobs):
        now = number * 37.0
        story += [json.dumps(event) for event in fleet.advance(now)]
        fleet.create(request(f"job-{number}"), now=now)
        if number % 3 == 0:
            fleet.stop(f"job-{number}", now=now)
    return story


CHAOS = Faults(event_drop=0.2, event_duplicate=0.3, event_delay=0.5, event_delay_s=300, event_shuffle=0.5)


def test_the_same_seed_reproduces_the_run():
    stories = []
    for seed in (1, 1, 2):
        fleet = FakeSageMaker(faults=CHAOS, rng=random.Random(seed))
        stories.append(busy(fleet) + [json.dumps(event) for event in play(fleet)])
    assert stories[0] == stories[1]
    assert stories[0] != stories[2]


def test_a_fleet_continues_exactly_where_it_was_saved():
    kept = FakeSageMaker(faults=Faults(event_delay=1, event_delay_s=300), rng=random.Random(5))
    saved: dict[str, object] = {}
    busy(kept, jobs=15)
    saved |= kept.pop_changes()
    busy(kept, start=15, jobs=15)
    saved |= kept.pop_changes()
    assert kept.pop_changes() == {}
    # The random state is not saved: events that come later have the same delays by the same seed.
    loaded, kept._events._rng = FakeSageMaker(rng=random.Random(6)), random.Random(6)
    jobs = [job for job in json.loads(json.dumps(saved)).values() if job is not None]
    loaded.load(jobs, json.loads(json.dumps(kept.to_document())))
    assert loaded.to_document() == kept.to_document()
    assert busy(loaded, start=30) == busy(kept, start=30)
    assert play(loaded) == play(kept)
    assert loaded.in_use() == kept.in_use() == {}


def test_time_may_advance_in_one_step_or_in_many():
    once, often = FakeSageMaker(), FakeSageMaker()
    for fleet in (once, often):
        fleet.create(request("a"), now=0.0)
        fleet.create(spot("b", StoppingCondition={"MaxRuntimeInSeconds": 50, "MaxWaitTimeInSeconds": 50}), now=5.0)
    assert once.advance(5000.0) == play(often)


def test_changing_a_request_or_an_answer_does_not_change_a_job():
    fleet = FakeSageMaker()
    mine = request()
    fleet.create(mine, now=0.0)
    mine["ResourceConfig"]["InstanceCount"] = 50
    fleet.describe("train-1", now=0.0)["ResourceConfig"]["InstanceCount"] = 60
    assert fleet.describe("train-1", now=0.0)["ResourceConfig"]["InstanceCount"] == 1
    assert fleet.in_use() == {P5: 1}


@pytest.mark.parametrize("operation", ["CreateTrainingJob", "DescribeTrainingJob"])
@pytest.mark.parametrize("body", ["", [], 1, None])
def test_a_request_that_is_no_object_is_refused(fleet, operation, body):
    fleet.faults = Faults(denials={"all": {"name_prefix": "a", "policy": "identity"}})
    assert refused(lambda: fleet.call(operation, body, now=0.0)).code == "SerializationException"
