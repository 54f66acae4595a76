"""Which one of its InstancePreferences a training job gets, and what it counts for before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.service import FakeSageMaker
from tests.sandbox.fleets import on, play, request

P5, G5, CPU = "ml.p5.48xlarge", "ml.g5.48xlarge", "ml.c5.4xlarge"
PROVISIONED_S = 180.0


def choosy(name: str = "a", kinds: tuple[str, ...] = (P5, G5), **changes: Any) -> dict[str, Any]:
    """Return a request for 2 instances of the first type, or 4 of the second."""
    listed = [{"InstanceType": kind, "InstanceCount": 2 + 2 * number} for number, kind in enumerate(kinds)]
    return request(name, **{"ResourceConfig": {"InstancePreferences": listed, "VolumeSizeInGB": 30}, **changes})


def selected(fleet: FakeSageMaker, name: str = "a", *, now: float) -> tuple[str, int] | None:
    config = fleet.describe(name, now=now)["ResourceConfig"]
    if "SelectedInstanceType" not in config:
        return None
    return config["SelectedInstanceType"], config["SelectedInstanceCount"]


@pytest.mark.parametrize(
    ("capacity", "expected"),
    [({}, (P5, 2)), ({P5: 1}, (G5, 4)), ({P5: 2, G5: 0}, (P5, 2)), ({P5: 1, G5: 4}, (G5, 4))],
)
def test_the_first_preference_with_capacity_is_selected_after_the_provisioning(capacity, expected):
    fleet = FakeSageMaker(faults=Faults(capacity=capacity))
    fleet.create(choosy(), now=0.0)
    assert selected(fleet, now=PROVISIONED_S - 1) is None
    assert fleet.in_use() == {}
    assert selected(fleet, now=PROVISIONED_S) == expected
    assert fleet.in_use() == dict([expected])
    play(fleet)
    assert selected(fleet, now=5000.0) == expected


def test_without_capacity_for_any_it_is_pending_until_one_has_some():
    fleet = FakeSageMaker(faults=Faults(capacity={P5: 1, G5: 3}, capacity_wait_s=3600))
    fleet.create(choosy(), now=0.0)
    fleet.advance(1000.0)
    assert fleet.describe("a", now=1000.0)["SecondaryStatus"] == "Pending"
    assert selected(fleet, now=1000.0) is None
    fleet.faults = fleet.faults.with_changes({"capacity": {P5: 1, G5: 4}})
    assert selected(fleet, now=1060.0) == (G5, 4)


@pytest.mark.parametrize(("kinds", "expected"), [((P5, G5), "Stopped"), ((P5, CPU), "Failed")])
def test_the_pending_time_bounds_the_whole_list_if_all_its_types_are_accelerated(kinds, expected):
    limits = {"MaxRuntimeInSeconds": 60, "MaxPendingTimeInSeconds": 1800}
    fleet = FakeSageMaker(faults=Faults(capacity=dict.fromkeys(kinds, 0), capacity_wait_s=3600))
    fleet.create(choosy(kinds=kinds, StoppingCondition=limits), now=0.0)
    fleet.advance(3600.0)
    assert fleet.describe("a", now=3600.0)["TrainingJobStatus"] == expected


@pytest.mark.parametrize("quotas", [{P5: 1}, {G5: 3}, {P5: 0, G5: 10}])
def test_every_preference_has_to_fit_its_quota(quotas):
    fleet = FakeSageMaker(faults=Faults(quotas=quotas))
    with pytest.raises(AwsError, match="ResourceLimitExceeded"):
        fleet.create(choosy(), now=0.0)


def fits(fleet: FakeSageMaker, kind: str, count: int, now: float) -> bool:
    try:
        fleet.create(request(f"other-{kind.replace('.', '-')}-{now:.0f}", ResourceConfig=on(kind, count)), now=now)
    except AwsError as error:
        assert error.code == "ResourceLimitExceeded"  # noqa: PT017
        return False
    return True


@pytest.mark.parametrize(
    ("count", "before", "after"), [("selected", [True, True], [False, True]), ("all", [False, False], [False, True])]
)
def test_before_the_selection_a_job_counts_for_nothing_or_for_all_of_them(count, before, after):
    for now, expected in ((1.0, before), (PROVISIONED_S, after)):
        fleet = FakeSageMaker(faults=Faults(quotas={P5: 2, G5: 4}, preferences_count=count))
        fleet.create(choosy(), now=0.0)
        assert [fits(fleet, P5, 1, now), fits(fleet, G5, 4, now)] == expected


def test_a_job_that_ended_before_the_selection_counts_for_nothing_even_if_usage_lags():
    fleet = FakeSageMaker(faults=Faults(quotas={P5: 2, G5: 4}, preferences_count="all", quota_lag_s=90))
    fleet.create(choosy(), now=0.0)
    fleet.stop("a", now=1.0)
    assert not fits(fleet, P5, 2, now=2.0)
    assert fits(fleet, P5, 2, now=31.0)


def test_a_preference_whose_quota_others_have_used_up_since_is_not_selected():
    fleet = FakeSageMaker(faults=Faults(quotas={P5: 2, G5: 4}))
    fleet.create(choosy(), now=0.0)
    assert fits(fleet, P5, 1, now=1.0)
    assert selected(fleet, now=PROVISIONED_S) == (G5, 4)


@pytest.mark.parametrize("hides", [False, True])
def test_events_show_the_selection_or_do_not(hides):
    fleet = FakeSageMaker(faults=Faults(event_hides_selection=hides))
    fleet.create(choosy(), now=0.0)
    shown = ["SelectedInstanceType" in event["ResourceConfig"] for event in play(fleet)]
    assert shown == [False, False, *[not hides] * 4]
    assert selected(fleet, now=5000.0) == (P5, 2)


def test_a_job_that_is_stopped_before_the_selection_has_no_instances():
    fleet = FakeSageMaker()
    fleet.create(choosy(), now=0.0)
    fleet.stop("a", now=1.0)
    assert selected(fleet, now=100.0) is None


def test_a_tester_finishes_a_job_before_its_selection():
    fleet = FakeSageMaker()
    fleet.create(choosy(), now=0.0)
    fleet.finish("a", now=1.0)
    assert selected(fleet, now=1.0) == (P5, 2)


def test_the_selection_is_saved_and_loaded():
    fleet = FakeSageMaker(faults=Faults(capacity={P5: 1}))
    fleet.create(choosy(), now=0.0)
    fleet.advance(PROVISIONED_S)
    again = FakeSageMaker()
    again.load(json.loads(json.dumps(list(fleet.pop_changes().values()))), fleet.to_document())
    assert selected(again, now=PROVISIONED_S) == (G5, 4)
    assert again.in_use() == {G5: 4}


def test_a_utilization_that_one_of_the_preferences_cannot_have_is_refused():
    run = {"SANDBOX_GPU_UTILIZATION": "0:800"}
    fleet = FakeSageMaker()
    fleet.create(choosy("a", (P5, G5), Environment=run), now=0.0)
    with pytest.raises(AwsError, match=r"at most 100 for ml.g5.xlarge"):
        fleet.create(choosy("b", (P5, "ml.g5.xlarge"), Environment=run), now=0.0)
