"""Warm pools: which end leaves one, how long it counts, which job takes it, and how it is updated."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.state_machine import SageMakerSettings
from headway_sandbox.sagemaker.warm_pool import LONGEST_LIFE_S
from tests.sandbox.fleets import on, play, request, spot

P5 = "ml.p5.48xlarge"
END_S = 830.0
"""When a job that is created at 0 ends; its run takes 600 s."""
KEPT_S = 600
RELEASE_S = 60.0
QUOTA: dict[str, Any] = {"warm_pool_quotas": {P5: 10}, "warm_pool_release_s": RELEASE_S}


def fleet_with(*, seed: int = 0, **switches: Any) -> FakeSageMaker:
    """Return an account with a quota of warm pools, and without a rate of calls."""
    faults = Faults(**{**QUOTA, **switches})
    return FakeSageMaker(settings=SageMakerSettings(rates={}), faults=faults, rng=random.Random(seed))


def warm(name: str = "a", kept_s: int = KEPT_S, **changes: Any) -> dict[str, Any]:
    config = {**on(P5), "KeepAlivePeriodInSeconds": kept_s}
    return request(name, **{"ResourceConfig": config, **changes})


def pool(fleet: FakeSageMaker, name: str = "a", *, now: float) -> dict[str, Any] | None:
    """Return a job's WarmPoolStatus by DescribeTrainingJob, after a check that ListTrainingJobs has the same."""
    described: dict[str, Any] | None = fleet.describe(name, now=now).get("WarmPoolStatus")
    listed = fleet.call("ListTrainingJobs", {"NameContains": name}, now=now)["TrainingJobSummaries"]
    assert [each.get("WarmPoolStatus") for each in listed if each["TrainingJobName"] == name] == [described]
    return described


def status(fleet: FakeSageMaker, name: str = "a", *, now: float) -> str | None:
    shown = pool(fleet, name, now=now)
    return shown["Status"] if shown else None


def refused(call: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    with pytest.raises(AwsError) as caught:
        call(*arguments, **named)
    return f"{caught.value.code}: {caught.value.message}"


# ------------------------------------------------------------------------------------------------------- requests


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        (warm(kept_s=3601), "KeepAlivePeriodInSeconds must be at most 3600, not 3601."),
        (warm(kept_s=21_601), "'resourceConfig.keepAlivePeriodInSeconds' failed to satisfy constraint"),
        (warm(kept_s=-1), "'resourceConfig.keepAlivePeriodInSeconds' failed to satisfy constraint"),
        (spot("a", ResourceConfig=warm()["ResourceConfig"]), "not supported with managed spot training"),
        (
            request(
                ResourceConfig={
                    "InstanceGroups": [{"InstanceGroupName": "w", "InstanceType": P5, "InstanceCount": 2}],
                    "VolumeSizeInGB": 30,
                    "KeepAlivePeriodInSeconds": 60,
                }
            ),
            "not supported with InstanceGroups",
        ),
    ],
    ids=["over the guide's hour", "over the model's maximum", "negative", "spot", "instance groups"],
)
def test_a_request_for_an_impossible_pool_is_refused(document, sentence):
    told = refused(lambda: fleet_with().create(document, now=0.0))
    assert told.startswith("ValidationException")
    assert sentence in told


def test_the_models_longest_period_is_accepted_if_the_account_has_it():
    fleet = fleet_with(keep_alive_max_s=21_600)
    fleet.create(warm(kept_s=21_600), now=0.0)
    assert status(fleet, now=END_S + 21_599) == "Available"


def test_without_a_quota_of_warm_pools_a_job_runs_and_leaves_none():
    fleet = FakeSageMaker(faults=Faults(quotas={P5: 1}))
    fleet.create(warm(), now=0.0)
    assert (pool(fleet, now=END_S), fleet.kept_warm(now=END_S)) == (None, {})
    fleet.create(request("b"), now=END_S)


def test_without_a_quota_of_warm_pools_a_job_is_refused_if_the_account_does_so():
    fleet = FakeSageMaker(faults=Faults(warm_pool_over_quota="refused"))
    assert refused(lambda: fleet.create(warm(), now=0.0)).startswith(
        "ResourceLimitExceeded: The account-level service limit 'ml.p5.48xlarge for training warm pool usage' is 0 "
    )
    fleet.create(request("b"), now=0.0)
    fleet.create(warm(kept_s=0), now=0.0)


@pytest.mark.parametrize("over", ["unkept", "refused"])
def test_no_more_instances_are_kept_than_the_quota(over):
    fleet = fleet_with(warm_pool_quotas={P5: 1}, warm_pool_over_quota=over)
    fleet.create(warm("a"), now=0.0)
    if over == "refused":
        assert "current utilization of 1" in refused(lambda: fleet.create(warm("b"), now=0.0))
        return
    fleet.create(warm("b"), now=0.0)
    fleet.advance(END_S)
    assert [status(fleet, name, now=END_S) for name in "ab"] == ["Available", None]


# ---------------------------------------------------------------------------------------------------- life of a pool


def test_a_pool_counts_against_the_quota_until_it_is_terminated():
    fleet = fleet_with(quotas={P5: 1})
    fleet.create(warm(), now=0.0)
    fleet.advance(END_S)
    assert pool(fleet, now=END_S + 10) == {"Status": "Available", "ResourceRetainedBillableTimeInSeconds": 10}
    other = request("b", EnableNetworkIsolation=True)
    for now in (END_S, END_S + KEPT_S, END_S + KEPT_S + RELEASE_S - 1):
        assert status(fleet, now=now) == "Available"
        assert fleet.kept_warm(now=now) == {P5: 1}
        assert "current utilization of 1 Instances" in refused(fleet.create, other, now=now)
    gone = END_S + KEPT_S + RELEASE_S
    assert pool(fleet, now=gone) == {"Status": "Terminated", "ResourceRetainedBillableTimeInSeconds": 660}
    fleet.create(other, now=gone)


def test_spot_jobs_do_not_share_their_quota_with_pools():
    fleet = fleet_with(spot_quotas={P5: 1})
    fleet.create(warm(), now=0.0)
    fleet.create(spot("b"), now=END_S)


def test_no_other_job_gets_the_instances_of_a_pool():
    fleet = fleet_with(capacity={P5: 1}, capacity_wait_s=0.0)
    fleet.create(warm(), now=0.0)
    fleet.create(request("b", EnableNetworkIsolation=True), now=END_S)
    play(fleet)
    assert fleet.describe("b", now=5000.0)["FailureReason"].startswith("CapacityError")


def test_no_other_job_gets_the_instances_of_a_pool_that_a_job_has_taken():
    fleet = fleet_with(capacity={P5: 1}, capacity_wait_s=0.0)
    fleet.create(warm(), now=0.0)
    # Its provisioning ends while `b` is on its way into the pool.
    fleet.create(request("c", EnableNetworkIsolation=True), now=END_S - 170)
    fleet.create(request("b"), now=END_S)
    fleet.advance(END_S + 20)
    assert [fleet.describe(name, now=END_S + 20)["SecondaryStatus"] for name in "bc"] == ["Downloading", "Failed"]


def test_a_terminated_pool_still_counts_if_usage_lags_and_counts_once():
    fleet = fleet_with(quotas={P5: 2}, quota_lag_s=90)
    fleet.create(warm(), now=0.0)
    other = request("b", ResourceConfig=on(P5, 2))
    gone = END_S + KEPT_S + RELEASE_S
    for now in (END_S, gone + 89):
        assert "current utilization of 1 Instances" in refused(fleet.create, other, now=now)
    fleet.create(other, now=gone + 90)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("complete", "Available"),
        ("AlgorithmError: exit code 1", "Available"),
        ("InternalServerError: We encountered an internal error.", None),
        ("ClientError: no channel", None),
        ("CapacityError", None),
    ],
)
def test_only_an_end_that_does_not_harm_the_cluster_leaves_a_pool(outcome, expected):
    fleet = fleet_with()
    fleet.create(warm(Environment={"SANDBOX_OUTCOME": outcome, "SANDBOX_RUN_SECONDS": "600"}), now=0.0)
    fleet.advance(END_S)
    assert status(fleet, now=END_S) == expected


@pytest.mark.parametrize(("stopped_at", "expected"), [(60.0, None), (300.0, "Available")])
def test_a_stopped_job_leaves_a_pool_if_it_had_instances(stopped_at, expected):
    fleet = fleet_with()
    fleet.create(warm(), now=0.0)
    fleet.stop("a", now=stopped_at)
    assert status(fleet, now=stopped_at + 120) == expected


def test_a_pool_is_not_shown_at_once_but_counts_and_is_taken_at_once():
    fleet = fleet_with(warm_pool_lag_s=30, quotas={P5: 1})
    fleet.create(warm(), now=0.0)
    fleet.advance(END_S)
    assert [status(fleet, now=END_S + after) for after in (0, 29, 30)] == [None, None, "Available"]
    assert fleet.kept_warm(now=END_S) == {P5: 1}
    fleet.create(request("b"), now=END_S + 30)


def test_events_do_not_show_the_pool():
    fleet = fleet_with()
    fleet.create(warm(), now=0.0)
    assert not any("WarmPoolStatus" in event for event in play(fleet))


def test_an_available_pool_keeps_its_job_from_being_deleted():
    fleet = fleet_with()
    fleet.create(warm(), now=0.0)
    assert refused(lambda: fleet.delete("a", now=END_S)).startswith("ResourceInUse")
    fleet.delete("a", now=END_S + KEPT_S + RELEASE_S)


# ---------------------------------------------------------------------------------------------------------- reuse


def test_a_matching_job_takes_the_pool_and_starts_fast():
    fleet = fleet_with(quotas={P5: 1}, capacity={P5: 1})
    fleet.create(warm(), now=0.0)
    fleet.advance(1000.0)
    fleet.create(request("b"), now=1000.0)
    assert pool(fleet, now=1010.0) == {"Status": "InUse", "ResourceRetainedBillableTimeInSeconds": 170}
    assert fleet.kept_warm(now=1010.0) == {}
    assert pool(fleet, now=1020.0) == {
        "Status": "Reused",
        "ResourceRetainedBillableTimeInSeconds": 170,
        "ReusedByJob": "b",
    }
    assert fleet.describe("b", now=1020.0)["SecondaryStatus"] == "Downloading"


def test_the_pool_ends_with_the_next_job_if_that_has_no_period():
    fleet = fleet_with(quotas={P5: 1})
    fleet.create(warm(), now=0.0)
    fleet.create(request("b"), now=END_S)
    ended = END_S + 20 + 650
    assert status(fleet, "b", now=ended) is None
    fleet.create(request("c"), now=ended)


def test_the_next_jobs_period_replaces_the_old_one():
    fleet = fleet_with()
    fleet.create(warm(), now=0.0)
    fleet.create(warm("b", 100), now=END_S)
    ended = END_S + 20 + 650
    assert [status(fleet, "b", now=ended + after) for after in (0, 159, 160)] == [
        "Available",
        "Available",
        "Terminated",
    ]
    assert status(fleet, "a", now=ended) == "Reused"


def test_the_same_instances_serve_for_28_days_at_most():
    fleet = fleet_with()
    day = 86_400
    long: dict[str, Any] = {"StoppingCondition": {"MaxRuntimeInSeconds": 28 * day}}
    fleet.create(warm(), now=0.0)
    run = {"SANDBOX_RUN_SECONDS": str(28 * day - 1000)}
    fleet.create(warm("b", Environment=run, **long), now=END_S)
    since = 180.0
    ended = END_S + 20 + 30 + 28 * day - 1000 + 20
    ends = since + LONGEST_LIFE_S
    assert ended < ends < ended + KEPT_S
    assert [status(fleet, "b", now=ends + RELEASE_S + after) for after in (-1, 0)] == ["Available", "Terminated"]


NETWORK = {"SecurityGroupIds": ["sg-1", "sg-2"], "Subnets": ["subnet-1"]}


@pytest.mark.parametrize(
    ("changes", "takes"),
    [
        ({}, True),
        ({"HyperParameters": {"epochs": "3"}}, True),
        ({"VpcConfig": {"SecurityGroupIds": ["sg-2", "sg-1"], "Subnets": ["subnet-1"]}}, True),
        ({"EnableNetworkIsolation": False}, True),
        ({"RoleArn": "arn:aws:iam::123456789012:role/Other"}, False),
        ({"ResourceConfig": on(P5, 2)}, False),
        ({"ResourceConfig": on("ml.p4d.24xlarge")}, False),
        ({"ResourceConfig": {**on(P5), "VolumeSizeInGB": 31}}, False),
        ({"ResourceConfig": {**on(P5), "VolumeKmsKeyId": "key"}}, False),
        ({"VpcConfig": {**NETWORK, "SecurityGroupIds": ["sg-1"]}}, False),
        ({"VpcConfig": {**NETWORK, "Subnets": ["subnet-2"]}}, False),
        ({"VpcConfig": None}, False),
        ({"EnableInterContainerTrafficEncryption": True}, False),
        ({"EnableNetworkIsolation": True}, False),
    ],
)
def test_only_a_job_with_the_same_resources_takes_a_pool(changes, takes):
    fleet = fleet_with()
    fleet.create(warm(VpcConfig=NETWORK), now=0.0)
    fleet.create(request("b", **{"VpcConfig": NETWORK, **changes}), now=END_S)
    assert status(fleet, now=END_S) == ("InUse" if takes else "Available")


def test_a_spot_job_takes_no_pool():
    fleet = fleet_with()
    fleet.create(warm(), now=0.0)
    fleet.create(spot("b"), now=END_S)
    assert status(fleet, now=END_S) == "Available"


def test_a_pool_whose_period_is_over_is_not_taken():
    fleet = fleet_with()
    fleet.create(warm(), now=0.0)
    fleet.create(request("b"), now=END_S + KEPT_S)
    assert status(fleet, now=END_S + KEPT_S) == "Available"


@pytest.mark.parametrize(("choice", "taken"), [("oldest", {"a"}), ("any", {"a", "b", "c"}), ("none", set())])
def test_the_account_selects_the_pool(choice, taken):
    found = set()
    for seed in range(20):
        fleet = fleet_with(seed=seed, warm_pool_choice=choice)
        for number, name in enumerate("abc"):
            fleet.create(warm(name), now=float(number))
        fleet.create(request("d"), now=END_S + 2)
        found |= {name for name in "abc" if fleet.describe(name, now=END_S + 2)["WarmPoolStatus"]["Status"] == "InUse"}
    assert found == taken


def test_a_job_that_takes_no_pool_needs_room_in_the_quota_beside_it():
    fleet = fleet_with(quotas={P5: 1}, warm_pool_choice="none")
    fleet.create(warm(), now=0.0)
    assert "current utilization of 1" in refused(lambda: fleet.create(request("b"), now=END_S))


def test_a_refused_job_takes_no_pool():
    fleet = fleet_with()
    fleet.create(warm(), now=0.0)
    refused(lambda: fleet.create(request("a"), now=END_S))
    assert status(fleet, now=END_S) == "Available"


def test_a_job_that_is_stopped_before_it_has_the_instances_leaves_none():
    fleet = fleet_with(quotas={P5: 1}, capacity={P5: 1})
    fleet.create(warm(), now=0.0)
    fleet.create(warm("b"), now=END_S)
    fleet.stop("b", now=END_S + 1)
    assert (status(fleet, "a", now=END_S + 31), status(fleet, "b", now=END_S + 31)) == ("Reused", None)
    fleet.create(request("c"), now=END_S + 31)


# --------------------------------------------------------------------------------------------------------- updates


def test_a_period_of_zero_releases_the_pool_which_counts_until_it_is_terminated():
    fleet = fleet_with(quotas={P5: 1})
    fleet.create(warm(), now=0.0)
    fleet.keep_alive("a", 0, now=END_S + 5)
    assert status(fleet, now=END_S + 5) == "Available"
    assert "current utilization of 1" in refused(lambda: fleet.create(request("b"), now=END_S + 5))
    fleet.keep_alive("a", 0, now=END_S + 6)
    assert status(fleet, now=END_S + 5 + RELEASE_S) == "Terminated"
    assert fleet.describe("a", now=END_S + 65)["ResourceConfig"]["KeepAlivePeriodInSeconds"] == 0
    fleet.create(request("b"), now=END_S + 65)


def test_a_longer_period_begins_with_the_update():
    fleet = fleet_with()
    fleet.create(warm(), now=0.0)
    fleet.keep_alive("a", 3600, now=END_S + 500)
    assert [status(fleet, now=END_S + 500 + 3660 + after) for after in (-1, 0)] == ["Available", "Terminated"]


def reused(fleet: FakeSageMaker) -> None:
    fleet.create(request("b"), now=END_S)


@pytest.mark.parametrize(
    ("prepare", "now", "period_s", "error"),
    [
        (
            lambda _: None,
            100.0,
            0,
            "ValidationException: The request was rejected because the training job is in status",
        ),
        (lambda _: None, END_S + 10, 0, "in status Completed. Only"),
        (lambda _: None, END_S + 30, 3601, "must be at most 3600"),
        (lambda _: None, END_S + KEPT_S, 60, "with a warm pool in status Available"),
        (lambda _: None, END_S + KEPT_S + RELEASE_S, 0, "with a warm pool in status Terminated"),
        (reused, END_S + 30, 0, "with a warm pool in status Reused"),
        (
            lambda fleet: setattr(fleet, "faults", fleet.faults.with_changes({"warm_pool_quotas": {}})),
            END_S + 30,
            60,
            "ResourceLimitExceeded: The account-level service limit 'ml.p5.48xlarge for training warm pool usage' is 0",
        ),
    ],
    ids=["running", "not shown yet", "too long", "period over", "terminated", "reused", "quota"],
)
def test_an_update_is_refused_unless_the_pool_is_available(prepare, now, period_s, error):
    fleet = fleet_with(warm_pool_lag_s=30)
    fleet.create(warm(), now=0.0)
    if now >= END_S:
        fleet.advance(END_S)
        prepare(fleet)
    assert error in refused(lambda: fleet.keep_alive("a", period_s, now=now))


def test_an_update_of_an_unknown_job_is_not_found():
    assert refused(lambda: fleet_with().keep_alive("a", 0, now=0.0)).startswith("ResourceNotFound")


@pytest.mark.parametrize("more", [{}, {"ProfilerConfig": {"DisableProfiler": True}, "ResourceConfig": None}])
def test_an_update_of_anything_else_is_refused(more):
    fleet = fleet_with()
    fleet.create(warm(), now=0.0)
    told = refused(lambda: fleet.call("UpdateTrainingJob", {"TrainingJobName": "a", **more}, now=END_S))
    assert "UpdateTrainingJob changes ResourceConfig only" in told


@pytest.mark.parametrize("completed_only", [False, True])
@pytest.mark.parametrize("ends", ["stop", "fail"])
def test_the_account_decides_whether_the_pool_of_a_stopped_or_failed_job_can_be_updated(completed_only, ends):
    fleet = fleet_with(warm_pool_update_completed_only=completed_only)
    fleet.create(warm(), now=0.0)
    fleet.advance(300.0)
    if ends == "stop":
        fleet.stop("a", now=300.0)
    else:
        fleet.fail("a", "AlgorithmError: no", now=300.0)
    if completed_only:
        assert refused(lambda: fleet.keep_alive("a", 0, now=420.0)).startswith("ValidationException")
    else:
        fleet.keep_alive("a", 0, now=420.0)
    assert status(fleet, now=480.0) == ("Available" if completed_only else "Terminated")


def test_an_update_takes_effect_although_its_answer_is_lost():
    fleet = fleet_with(lose_answer={"UpdateTrainingJob": 1}, throttle={"UpdateTrainingJob": 1})
    fleet.create(warm(), now=0.0)
    assert "ThrottlingException" in refused(lambda: fleet.keep_alive("a", 0, now=END_S))
    assert "InternalFailure" in refused(lambda: fleet.keep_alive("a", 0, now=END_S))
    assert status(fleet, now=END_S + RELEASE_S) == "Terminated"


# ------------------------------------------------------------------------------------------------- lists, save and load


def test_a_list_can_be_filtered_by_the_status_of_the_pool_after_paging():
    fleet = fleet_with()
    for number in range(6):
        fleet.create(warm(f"warm-{number}") if number % 3 == 0 else request(f"cold-{number}"), now=float(number))
    asked = {"WarmPoolStatusEquals": "Available", "MaxResults": 3}
    first = fleet.call("ListTrainingJobs", asked, now=END_S + 10)
    second = fleet.call("ListTrainingJobs", {**asked, "NextToken": first["NextToken"]}, now=END_S + 10)
    names = [[each["TrainingJobName"] for each in page["TrainingJobSummaries"]] for page in (first, second)]
    assert names == [["warm-0"], ["warm-3"]]


def test_pools_are_saved_and_loaded():
    fleet = fleet_with(quotas={P5: 3})
    for name in "ab":
        fleet.create(warm(name), now=0.0)
    saved = fleet.pop_changes()
    fleet.create(request("c"), now=END_S)
    saved |= fleet.pop_changes()
    fleet.keep_alive("b", 60, now=END_S)
    saved |= fleet.pop_changes()
    fleet.advance(END_S + 20)
    saved |= fleet.pop_changes()
    again = FakeSageMaker()
    again.load(json.loads(json.dumps(list(saved.values()))), json.loads(json.dumps(fleet.to_document())))
    for each in (fleet, again):
        assert [status(each, name, now=END_S + 20) for name in "ab"] == ["Reused", "Available"]
        assert each.kept_warm(now=END_S + 20) == {P5: 1}
    for each in (fleet, again):
        assert status(each, "b", now=END_S + 120) == "Terminated"


def test_a_job_on_its_way_into_a_pool_has_it_after_a_restart():
    fleet = fleet_with(quotas={P5: 1}, capacity={P5: 1})
    fleet.create(warm(), now=0.0)
    fleet.advance(END_S)
    saved = fleet.pop_changes()
    fleet.create(request("b"), now=END_S)
    saved |= fleet.pop_changes()
    again = FakeSageMaker()
    again.load(json.loads(json.dumps(list(saved.values()))), fleet.to_document())
    assert status(again, now=END_S + 10) == "InUse"
    again.advance(END_S + 20)
    assert (status(again, now=END_S + 20), again.describe("b", now=END_S + 20)["SecondaryStatus"]) == (
        "Reused",
        "Downloading",
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"warm_pool_over_quota": "kept"},
        {"warm_pool_choice": "newest"},
        {"warm_pool_lag_s": -1},
        {"warm_pool_release_s": -1},
        {"keep_alive_max_s": -1},
        {"warm_pool_quotas": {P5: -1}},
    ],
)
def test_a_wrong_switch_of_warm_pools_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Faults(**wrong)
