"""Training plans: their status by the time, the jobs in them, and what the API shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.capacity.training_plan import Block, TrainingPlan
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.service import FakeSageMaker
from tests.sandbox.fleets import on, request, spot
from tests.sandbox.sagemaker.test_shapes import parsed

P5, G5 = "ml.p5.48xlarge", "ml.g5.48xlarge"
PREFIX = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/"
ARN = f"{PREFIX}spring"
HOUR_S = 3600.0
BLOCKS = ((10 * HOUR_S, 20 * HOUR_S), (30 * HOUR_S, 34 * HOUR_S))
"""Two reserved blocks with a gap."""


def plan(name: str = "spring", blocks: tuple[tuple[float, float], ...] = BLOCKS, **changes: Any) -> TrainingPlan:
    reserved = tuple(Block(start=start, end=end) for start, end in blocks)
    return TrainingPlan(**{"name": name, "instance_type": P5, "instance_count": 2, "blocks": reserved, **changes})


def fleet_with(*plans: TrainingPlan, **switches: Any) -> FakeSageMaker:
    fleet = FakeSageMaker(faults=Faults(**switches))
    for each in plans or (plan(),):
        fleet.put_plan(each, now=0.0)
    return fleet


def planned(name: str = "a", count: int = 1, *, run_s: float = 600, arn: str = ARN, **changes: Any) -> dict[str, Any]:
    limits = {"MaxRuntimeInSeconds": 100 * int(HOUR_S)}
    document = {
        "ResourceConfig": {**on(P5, count), "TrainingPlanArn": arn},
        "StoppingCondition": limits,
        "Environment": {"SANDBOX_RUN_SECONDS": str(run_s)},
    }
    return request(name, **{**document, **changes})


def status(fleet: FakeSageMaker, name: str = "a", *, now: float) -> tuple[str, str]:
    fleet.advance(now)
    answer = fleet.describe(name, now=now)
    return answer["TrainingJobStatus"], answer["SecondaryStatus"]


def reason(fleet: FakeSageMaker, name: str = "a", *, now: float) -> str:
    told: str = fleet.describe(name, now=now).get("FailureReason", "")
    return told


def counts(fleet: FakeSageMaker, *, now: float) -> tuple[int, int, int]:
    """Return a plan's available, used and unhealthy instances."""
    answer = fleet.call("DescribeTrainingPlan", {"TrainingPlanName": "spring"}, now=now)
    return answer["AvailableInstanceCount"], answer["InUseInstanceCount"], answer["UnhealthyInstanceCount"]


# --------------------------------------------------------------------------------------------------------- its status


@pytest.mark.parametrize(
    ("changes", "hour", "expected"),
    [
        ({}, 0, "Scheduled"),
        ({}, 10, "Active"),
        ({}, 19.9, "Active"),
        ({}, 20, "Scheduled"),
        ({}, 30, "Active"),
        ({}, 34, "Expired"),
        ({"ready_at": HOUR_S}, 0.5, "Pending"),
        ({"ready_at": HOUR_S}, 1, "Scheduled"),
        ({"failed": True}, 10, "Failed"),
    ],
)
def test_a_plan_is_active_in_its_blocks_and_scheduled_between_them(changes, hour, expected):
    fleet = fleet_with(plan(**changes))
    for name in ("spring", ARN):
        answer = fleet.call("DescribeTrainingPlan", {"TrainingPlanName": name}, now=hour * HOUR_S)
        assert answer["Status"] == expected


def test_a_description_has_the_shape_of_the_model():
    answer = parsed(
        "DescribeTrainingPlan",
        fleet_with(plan(unhealthy=1)).call("DescribeTrainingPlan", {"TrainingPlanName": ARN}, now=25 * HOUR_S),
    )
    assert (answer["TrainingPlanArn"], answer["TrainingPlanName"], answer["DurationHours"]) == (ARN, "spring", 14)
    assert (answer["StartTime"].timestamp(), answer["EndTime"].timestamp()) == (10 * HOUR_S, 34 * HOUR_S)
    assert [(each["Status"], each["DurationHours"]) for each in answer["ReservedCapacitySummaries"]] == [
        ("Expired", 10),
        ("Scheduled", 4),
    ]
    assert [each["ReservedCapacityArn"].rpartition(":")[2] for each in answer["ReservedCapacitySummaries"]] == [
        "reserved-capacity/spring",
        "reserved-capacity/spring-2",
    ]


def test_an_unknown_plan_is_not_found():
    for name in ("autumn", f"{PREFIX}autumn"):
        with pytest.raises(AwsError, match="ResourceNotFound"):
            fleet_with().call("DescribeTrainingPlan", {"TrainingPlanName": name}, now=0.0)


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, ["early", "spring", "later"]),
        ({"SortOrder": "Descending"}, ["later", "spring", "early"]),
        ({"SortBy": "TrainingPlanName"}, ["early", "later", "spring"]),
        ({"Filters": [{"Name": "Status", "Value": "Scheduled"}]}, ["spring", "later"]),
        ({"Filters": [{"Name": "Status", "Value": "Active"}]}, ["early"]),
        ({"StartTimeAfter": 10 * HOUR_S}, ["later"]),
        ({"StartTimeBefore": 10 * HOUR_S}, ["early"]),
        ({"MaxResults": 1}, ["early", "spring", "later"]),
    ],
)
def test_plans_are_listed_with_filters_and_pages(asked, names):
    day = 24 * HOUR_S
    fleet = fleet_with(plan(), plan("later", ((2 * day, 3 * day),)), plan("early", ((HOUR_S, day),)))
    found: list[str] = []
    token: dict[str, Any] = {}
    while True:
        answer = fleet.call("ListTrainingPlans", {**asked, **token}, now=2 * HOUR_S)
        parsed("ListTrainingPlans", answer)
        assert len(answer["TrainingPlanSummaries"]) <= asked.get("MaxResults", 10)
        found += [each["TrainingPlanName"] for each in answer["TrainingPlanSummaries"]]
        if "NextToken" not in answer:
            break
        token = {"NextToken": answer["NextToken"]}
    assert found == names


@pytest.mark.parametrize("wrong", [{"MaxResults": 101}, {"Filters": []}, {"Filters": [{"Name": "X", "Value": "a"}]}])
def test_a_list_request_against_the_model_is_refused(wrong):
    with pytest.raises(AwsError, match="ValidationException"):
        fleet_with().call("ListTrainingPlans", wrong, now=0.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"blocks": ()},
        {"blocks": ((5.0, 5.0),)},
        {"blocks": ((5.0, 9.0), (8.0, 12.0))},
        {"blocks": tuple((float(start), start + 1.0) for start in range(6))},
        {"instance_count": 0},
        {"unhealthy": 3},
        {"unhealthy": -1},
        {"instance_type": "ml.c5.4xlarge"},
    ],
)
def test_an_impossible_plan_is_refused(wrong):
    with pytest.raises(ValueError, match=r"spring|No training plan has"):
        fleet_with(plan(**wrong))


# ------------------------------------------------------------------------------------------------------------ requests


@pytest.mark.parametrize(
    ("changes", "hour", "document", "sentence"),
    [
        ({}, 0, planned(arn=f"{PREFIX}autumn"), "autumn does not exist"),
        ({}, 34, planned(), "is in status Expired"),
        ({"failed": True}, 10, planned(), "is in status Failed"),
        ({"ready_at": 5 * HOUR_S}, 0, planned(), "is in status Pending"),
        ({}, 10, planned(ResourceConfig={**on(G5), "TrainingPlanArn": ARN}), "has only ml.p5.48xlarge"),
        ({}, 10, planned(count=3), "has 2 instances only"),
        ({"target": "hyperpod-cluster"}, 10, planned(), "is for hyperpod-cluster, not for training jobs"),
        (
            {},
            10,
            spot("a", ResourceConfig={**on(P5), "TrainingPlanArn": ARN}),
            "cannot be used with managed spot training",
        ),
    ],
)
def test_a_job_for_a_plan_that_it_cannot_use_is_refused(changes, hour, document, sentence):
    with pytest.raises(AwsError) as caught:
        fleet_with(plan(**changes)).create(document, now=hour * HOUR_S)
    assert caught.value.code == "ValidationException"
    assert sentence in caught.value.message


# ---------------------------------------------------------------------------------------------------- jobs in a plan


def test_a_job_is_pending_until_the_plan_is_active():
    fleet = fleet_with()
    fleet.create(planned(), now=0.0)
    assert status(fleet, now=10 * HOUR_S - 1) == ("InProgress", "Pending")
    assert status(fleet, now=10 * HOUR_S) == ("InProgress", "Downloading")
    assert status(fleet, now=10 * HOUR_S + 650) == ("Completed", "Completed")


def test_jobs_use_the_instances_of_the_plan_and_wait_for_more():
    fleet = fleet_with()
    for name in "abc":
        fleet.create(planned(name, run_s=HOUR_S), now=10 * HOUR_S)
    later = 10 * HOUR_S + 180
    assert [status(fleet, name, now=later)[1] for name in "abc"] == ["Downloading", "Downloading", "Pending"]
    assert counts(fleet, now=later) == (0, 2, 0)
    ended = later + HOUR_S + 50
    assert status(fleet, "c", now=ended)[1] == "Pending"
    assert status(fleet, "c", now=ended + 60)[1] != "Pending"
    assert counts(fleet, now=ended + 60) == (1, 1, 0)


def test_no_job_gets_an_unhealthy_instance():
    fleet = fleet_with(plan(unhealthy=1))
    fleet.create(planned(count=2), now=10 * HOUR_S)
    assert counts(fleet, now=10 * HOUR_S) == (1, 0, 1)
    assert status(fleet, now=11 * HOUR_S) == ("InProgress", "Pending")
    fleet.put_plan(plan(), now=11 * HOUR_S)
    assert status(fleet, now=11 * HOUR_S + 60) == ("InProgress", "Downloading")


@pytest.mark.parametrize("shows", [True, False])
def test_outside_its_blocks_a_plan_shows_its_instances_or_none(shows):
    fleet = fleet_with(plan_counts_while_scheduled=shows)
    found = [counts(fleet, now=hour * HOUR_S)[0] for hour in (0, 10, 25)]
    assert found == ([2, 2, 2] if shows else [0, 2, 0])


@pytest.mark.parametrize("ends_as", ["Stopped", "Failed"])
def test_a_job_is_stopped_half_an_hour_before_the_end_of_its_block(ends_as):
    fleet = fleet_with(plan_end=ends_as)
    fleet.create(planned(run_s=50 * HOUR_S), now=10 * HOUR_S)
    goes = 19.5 * HOUR_S
    assert status(fleet, now=goes - 1) == ("InProgress", "Training")
    assert status(fleet, now=goes) == ("Stopping", "Stopping")
    assert status(fleet, now=goes + 120) == (ends_as, ends_as)
    assert ("training plan" in reason(fleet, now=goes + 120)) == (ends_as == "Failed")


def test_in_the_last_half_hour_of_a_block_no_job_starts_and_then_the_next_block_is_awaited():
    fleet = fleet_with()
    fleet.create(planned(), now=19.5 * HOUR_S)
    assert status(fleet, now=20 * HOUR_S - 1) == ("InProgress", "Pending")
    assert status(fleet, now=30 * HOUR_S - 1) == ("InProgress", "Pending")
    assert status(fleet, now=30 * HOUR_S) == ("InProgress", "Downloading")


def test_a_job_that_no_block_is_left_for_fails():
    fleet = fleet_with()
    fleet.create(planned(), now=33.5 * HOUR_S)
    assert status(fleet, now=34 * HOUR_S) == ("Failed", "Failed")
    assert reason(fleet, now=34 * HOUR_S).startswith("InsufficientCapacityError")


def limited(pending_s: float) -> dict[str, Any]:
    return {"StoppingCondition": {"MaxRuntimeInSeconds": 360_000, "MaxPendingTimeInSeconds": int(pending_s)}}


@pytest.mark.parametrize("ends_as", ["Stopped", "Failed"])
def test_the_pending_time_stands_still_until_the_plan_is_active_and_between_its_blocks(ends_as):
    fleet = fleet_with(pending_expiry=ends_as)
    fleet.create(planned("holds", 2, run_s=50 * HOUR_S), now=0.0)
    fleet.create(planned("waits", **limited(11 * HOUR_S)), now=0.0)
    fleet.create(planned("holds-too", 2, run_s=50 * HOUR_S), now=20 * HOUR_S)
    # 10 hours of the first block, then 1 of the second: it looks every minute, after the others.
    fleet.put_plan(plan(unhealthy=2), now=29 * HOUR_S)
    assert status(fleet, "waits", now=31 * HOUR_S - 1) == ("InProgress", "Pending")
    assert status(fleet, "waits", now=31 * HOUR_S) == (ends_as, ends_as)


def test_a_job_fails_after_two_days_in_an_active_plan_without_instances():
    day = 24 * HOUR_S
    fleet = fleet_with(plan(blocks=((day, 10 * day),), unhealthy=2))
    fleet.create(planned(), now=0.0)
    assert status(fleet, now=3 * day - 1) == ("InProgress", "Pending")
    assert status(fleet, now=3 * day) == ("Failed", "Failed")
    assert reason(fleet, now=3 * day).startswith("InsufficientCapacityError")


def test_the_pending_time_runs_in_the_last_half_hour_of_a_block_although_no_job_starts():
    fleet = fleet_with()
    created = 19.5 * HOUR_S - 180
    fleet.create(planned(**limited(1800)), now=created)
    assert status(fleet, now=created + 1799) == ("InProgress", "Pending")
    assert status(fleet, now=created + 1800) == ("Stopped", "Stopped")


def test_a_job_that_no_block_is_left_for_fails_before_its_pending_time_is_over():
    fleet = fleet_with()
    fleet.create(planned(**limited(11 * HOUR_S)), now=33.5 * HOUR_S)
    assert status(fleet, now=34 * HOUR_S) == ("Failed", "Failed")
    assert reason(fleet, now=34 * HOUR_S).startswith("InsufficientCapacityError")


@pytest.mark.parametrize("counts_too", [False, True])
def test_instances_of_a_plan_count_against_the_quota_or_do_not(counts_too):
    fleet = fleet_with(quotas={P5: 1}, plan_counts_to_quota=counts_too)
    fleet.create(planned("a"), now=10 * HOUR_S)
    for document in (planned("b"), request("c")):
        if counts_too:
            with pytest.raises(AwsError, match="ResourceLimitExceeded"):
                fleet.create(document, now=10 * HOUR_S)
        else:
            fleet.create(document, now=10 * HOUR_S)


def test_capacity_on_demand_and_in_plans_are_separate():
    fleet = fleet_with(capacity={P5: 1})
    for name in "ab":
        fleet.create(planned(name, run_s=HOUR_S), now=10 * HOUR_S)
    fleet.create(request("c"), now=10 * HOUR_S)
    assert [status(fleet, name, now=10 * HOUR_S + 180)[1] for name in "abc"] == ["Downloading"] * 3


def preferring_the_plan(name: str = "a") -> dict[str, Any]:
    listed = [{"InstanceType": P5, "TrainingPlanArns": [ARN]}, {"InstanceType": G5}]
    return planned(name, ResourceConfig={"InstancePreferences": listed, "InstanceCount": 2, "VolumeSizeInGB": 30})


@pytest.mark.parametrize(("hour", "expected"), [(0, G5), (10, P5)])
def test_of_preferences_one_with_a_plan_is_selected_in_its_blocks_only(hour, expected):
    fleet = fleet_with(quotas={P5: 0})
    fleet.create(preferring_the_plan(), now=hour * HOUR_S)
    later = hour * HOUR_S + 180
    assert fleet.describe("a", now=later)["ResourceConfig"]["SelectedInstanceType"] == expected
    assert counts(fleet, now=later)[1] == (2 if expected == P5 else 0)


def test_a_plan_that_is_extended_keeps_its_jobs_longer():
    fleet = fleet_with()
    fleet.create(planned(run_s=50 * HOUR_S), now=10 * HOUR_S)
    fleet.advance(12 * HOUR_S)
    fleet.put_plan(plan(blocks=((10 * HOUR_S, 25 * HOUR_S),)), now=12 * HOUR_S)
    assert status(fleet, now=24.5 * HOUR_S - 1) == ("InProgress", "Training")
    assert status(fleet, now=24.5 * HOUR_S) == ("Stopping", "Stopping")


def test_a_plan_that_fails_takes_its_instances_from_running_and_pending_jobs():
    fleet = fleet_with()
    fleet.create(planned("runs", 2, run_s=50 * HOUR_S), now=10 * HOUR_S)
    fleet.create(planned("waits"), now=10 * HOUR_S)
    fleet.advance(12 * HOUR_S)
    fleet.put_plan(plan(failed=True), now=12 * HOUR_S)
    assert status(fleet, "runs", now=12 * HOUR_S) == ("Stopping", "Stopping")
    assert status(fleet, "waits", now=12 * HOUR_S + 60) == ("Failed", "Failed")


def test_a_new_block_that_begins_earlier_is_used_by_jobs_that_wait():
    fleet = fleet_with()
    fleet.create(planned(), now=0.0)
    fleet.advance(HOUR_S)
    fleet.put_plan(plan(blocks=((2 * HOUR_S, 5 * HOUR_S),)), now=HOUR_S)
    assert status(fleet, now=2 * HOUR_S) == ("InProgress", "Downloading")


def test_a_job_in_a_plan_leaves_no_warm_pool():
    fleet = fleet_with(warm_pool_quotas={P5: 9})
    config = {**on(P5), "TrainingPlanArn": ARN, "KeepAlivePeriodInSeconds": 600}
    fleet.create(planned(ResourceConfig=config), now=10 * HOUR_S)
    ended = 10 * HOUR_S + 830
    assert status(fleet, now=ended)[0] == "Completed"
    assert fleet.kept_warm(now=ended) == {}


def test_jobs_are_listed_by_their_plan():
    fleet = fleet_with()
    fleet.create(planned("a"), now=10 * HOUR_S)
    fleet.create(request("b"), now=10 * HOUR_S)
    fleet.create(preferring_the_plan("c"), now=12 * HOUR_S)
    later = 13 * HOUR_S
    found = fleet.call("ListTrainingJobs", {"TrainingPlanArnEquals": ARN}, now=later)["TrainingJobSummaries"]
    assert [(each["TrainingJobName"], each["TrainingPlanArn"]) for each in found] == [("a", ARN), ("c", ARN)]
    parsed("ListTrainingJobs", fleet.call("ListTrainingJobs", {}, now=later))


@pytest.mark.parametrize("hour", [5, 15, 25])
def test_plans_and_their_jobs_continue_after_a_restart(hour):
    fleet = fleet_with()
    fleet.create(planned("a", run_s=50 * HOUR_S), now=0.0)
    fleet.create(planned("b", 2, run_s=50 * HOUR_S), now=0.0)
    fleet.advance(hour * HOUR_S)
    again = FakeSageMaker()
    again.load(json.loads(json.dumps(list(fleet.pop_changes().values()))), json.loads(json.dumps(fleet.to_document())))
    assert again.to_document() == fleet.to_document()
    for now in (hour * HOUR_S, 19.5 * HOUR_S + 300, 31 * HOUR_S, 34 * HOUR_S):
        if now >= hour * HOUR_S:
            assert [status(again, name, now=now) for name in "ab"] == [status(fleet, name, now=now) for name in "ab"]
