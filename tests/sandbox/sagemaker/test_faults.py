from __future__ import annotations

import random
from collections import Counter

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.raw_answers import BODIES
from headway_sandbox.sagemaker.service import FakeSageMaker
from tests.sandbox.fleets import play, request, statuses

LIFE = ["Starting", "Pending", "Downloading", "Training", "Uploading", "Completed"]


def test_the_next_calls_of_an_operation_are_throttled_and_change_nothing():
    fleet = FakeSageMaker(faults=Faults(throttle={"CreateTrainingJob": 2}))
    for _ in range(2):
        with pytest.raises(AwsError) as caught:
            fleet.create(request(), now=0.0)
        assert (caught.value.code, caught.value.message) == ("ThrottlingException", "Rate exceeded")
    assert fleet.list_jobs(now=0.0)["TrainingJobSummaries"] == []
    fleet.create(request(), now=0.0)
    assert fleet.faults.throttle == {}


def test_a_call_with_a_lost_answer_takes_effect():
    fleet = FakeSageMaker(faults=Faults(lose_answer={"CreateTrainingJob": 1}))
    with pytest.raises(AwsError) as caught:
        fleet.create(request(), now=0.0)
    assert (caught.value.code, caught.value.status) == ("InternalFailure", 500)
    assert fleet.describe("train-1", now=0.0)["TrainingJobStatus"] == "InProgress"
    with pytest.raises(AwsError, match="ResourceInUse"):
        fleet.create(request(), now=1.0)


def test_a_refusal_is_not_a_lost_answer():
    fleet = FakeSageMaker(faults=Faults(lose_answer={"StopTrainingJob": 1}))
    with pytest.raises(AwsError, match="not found"):
        fleet.stop("nobody", now=0.0)
    assert fleet.faults.lose_answer == {"StopTrainingJob": 1}


def test_an_intermediary_answers_as_often_as_configured():
    faults = Faults(raw_answers={"GetItem": {"status": 502, "body": "html", "count": 2}, "Query": {"status": 200}})
    for left in (1, None):
        raw, after, faults = faults.raw_answer("GetItem")
        assert raw is not None
        assert (raw.status, raw.body, after) == (502, BODIES["html"], False)
        assert faults.raw_answers.get("GetItem", {}).get("count") == left
    assert faults.raw_answer("GetItem") == (None, False, faults)
    assert faults.raw_answers == {"Query": {"status": 200}}


def test_an_intermediary_answers_with_an_empty_body_before_the_effect_by_default():
    raw, after, _ = Faults(raw_answers={"Query": {"status": 503}}).raw_answer("Query")
    assert raw is not None
    assert (raw.status, raw.body, after) == (503, b"", False)
    assert Faults(raw_answers={"Query": {"status": 503, "after": True}}).raw_answer("Query")[1]


@pytest.mark.parametrize(
    "wrong",
    [{}, {"status": 199}, {"status": 600}, {"status": "502"}, {"status": 502, "body": "xml"}]
    + [{"status": 502, "count": count} for count in (0, -1, "2")]
    + [{"status": 502, "effect": True}],
)
def test_invalid_raw_answers_are_refused(wrong):
    with pytest.raises(ValueError, match="raw_answers"):
        Faults(raw_answers={"Query": wrong})


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        (Faults(), Counter(LIFE)),
        (Faults(event_drop=1.0), Counter()),
        (Faults(event_duplicate=1.0), Counter(LIFE * 2)),
        (Faults(event_delay=1.0), Counter(LIFE)),
        (Faults(event_shuffle=1.0), Counter(LIFE)),
    ],
)
def test_events_are_dropped_duplicated_or_kept_as_configured(faults, expected):
    fleet = FakeSageMaker(faults=faults)
    fleet.create(request(), now=0.0)
    assert Counter(statuses(play(fleet))) == expected


def test_delayed_events_are_overtaken():
    fleet = FakeSageMaker(faults=Faults(event_delay=0.5, event_delay_s=1000.0), rng=random.Random(3))
    fleet.create(request(), now=0.0)
    assert statuses(play(fleet)) != LIFE


def test_events_that_come_due_together_can_change_places():
    fleet = FakeSageMaker(faults=Faults(event_shuffle=1.0), rng=random.Random(1))
    fleet.create(request(), now=0.0)
    assert statuses(fleet.advance(5000.0)) != LIFE


def test_increasing_one_fault_does_not_change_another():
    def delivered(faults: Faults) -> list[str]:
        fleet = FakeSageMaker(faults=faults, rng=random.Random(9))
        for number in range(20):
            fleet.create(request(f"j-{number}"), now=0.0)
        return sorted(event["TrainingJobName"] + event["SecondaryStatus"] for event in play(fleet))

    assert delivered(Faults(event_drop=0.3)) == delivered(Faults(event_drop=0.3, event_delay=0.5))


@pytest.mark.parametrize(
    "changes",
    [
        {"event_drop": 1.5},
        {"event_delay_s": -1},
        {"quotas": {"ml.p5.48xlarge": -1}},
        {"spot_quotas": {"ml.p5.48xlarge": -1}},
        {"account_limits": {"Number of instances across all training jobs": -1}},
        {"account_limits": {"Number of dreams": 1}},
        {"denials": {"all": {}}},
        {"quota_lag_s": -1},
        {"rates": {"StopTrainingJob": {"per_s": 1}}},
        {"no_such": 1},
    ],
)
def test_an_invalid_switch_is_refused(changes):
    with pytest.raises(ValueError, match="|".join(changes)):
        Faults().with_changes(changes)


def test_switches_survive_as_a_document():
    faults = Faults(
        quotas={"ml.p5.48xlarge": 2},
        account_limits={"Longest run time for a training job": 432_000},
        denials={"eve": {"name_prefix": "eve-"}},
        throttle={"StopTrainingJob": 1},
        rates={"ListTags": {"per_s": 1, "burst": 1}},
        event_drop=0.5,
    )
    assert Faults(**faults.to_document()) == faults
