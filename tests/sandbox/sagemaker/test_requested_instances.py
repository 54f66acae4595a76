"""The instances of a request, and the rules between the members of its ResourceConfig."""

from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.requested_instances import choices
from headway_sandbox.sagemaker.service import FakeSageMaker
from tests.sandbox.fleets import on, request

P5, G5, P4 = "ml.p5.48xlarge", "ml.g5.48xlarge", "ml.p4d.24xlarge"
PLAN = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/spring"
GROUP = {"InstanceGroupName": "g", "InstanceType": P5}


def preferring(*preferences: tuple[str, int | None], **more: Any) -> dict[str, Any]:
    listed = [{"InstanceType": kind, **({"InstanceCount": count} if count else {})} for kind, count in preferences]
    return {"InstancePreferences": listed, "VolumeSizeInGB": 30, **more}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (None, [({}, "")]),
        (on(P5, 3), [({P5: 3}, "")]),
        ({"InstanceType": P5}, [({P5: 1}, "")]),
        ({**on(P5), "TrainingPlanArn": PLAN}, [({P5: 1}, PLAN)]),
        (preferring((P5, None), (G5, None), InstanceCount=4), [({P5: 4}, ""), ({G5: 4}, "")]),
        (preferring((P5, 1), (G5, 2)), [({P5: 1}, ""), ({G5: 2}, "")]),
        (
            {"InstancePreferences": [{"InstanceType": P5, "InstanceCount": 1, "TrainingPlanArns": [PLAN]}]},
            [({P5: 1}, PLAN)],
        ),
        ({"InstanceGroups": [{**GROUP, "InstanceCount": 0}]}, [({}, "")]),
        (
            {"InstanceGroups": [{**GROUP, "InstanceCount": 2}, {**GROUP, "InstanceType": G5, "InstanceCount": 1}]},
            [({P5: 2, G5: 1}, "")],
        ),
    ],
)
def test_instances_are_counted_in_every_form_of_a_resource_config(config, expected):
    found = choices({} if config is None else {"ResourceConfig": config})
    assert [(choice.instances, choice.plan) for choice in found] == expected


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (preferring((P5, 1), InstanceType=P5), "cannot be used together with InstanceType."),
        (preferring((P5, 1), InstanceGroups=[{**GROUP, "InstanceCount": 1}]), "InstanceGroups cannot be used together"),
        (preferring((P5, 1), InstancePlacementConfig={"EnableMultipleJobs": True}), "with InstancePlacementConfig."),
        (preferring((P5, 1), (G5, 1), (P5, 2)), "can appear only once"),
        (preferring((P5, 1), (G5, None)), "InstanceCount must be set in every one"),
        (preferring((P5, 1), (G5, 1), InstanceCount=1), "InstanceCount must be set in every one"),
        (preferring((P5, None), (G5, None)), "InstanceCount must be set in every one"),
        (preferring((P5, None), InstanceCount=0), "at least one instance"),
        (
            {
                "InstancePreferences": [
                    {"InstanceType": P5, "InstanceCount": 1},
                    {"InstanceType": G5, "InstanceCount": 0},
                ]
            },
            "at least one instance",
        ),
        (preferring(*((kind, 1) for kind in (P5, G5, P4, "ml.g5.xlarge", "ml.g5.2xlarge", "ml.g5.4xlarge"))), "length"),
        ({**on(P5), "SelectedInstanceType": P5}, "SelectedInstanceType cannot be set"),
        ({**on(P5), "SelectedInstanceCount": 1}, "SelectedInstanceCount cannot be set"),
        (
            {
                "InstancePreferences": [{"InstanceType": P5, "InstanceCount": 1, "TrainingPlanArns": [PLAN]}],
                "TrainingPlanArn": PLAN,
            },
            "cannot be used together with TrainingPlanArn of ResourceConfig",
        ),
        (
            {"InstancePreferences": [{"InstanceType": P5, "InstanceCount": 1, "TrainingPlanArns": [PLAN, PLAN]}]},
            "length",
        ),
    ],
)
def test_preferences_exclude_other_members_and_have_one_count_each(config, sentence):
    with pytest.raises(AwsError) as caught:
        FakeSageMaker().create(request(ResourceConfig={"VolumeSizeInGB": 30, **config}), now=0.0)
    assert caught.value.code == "ValidationException"
    assert sentence in caught.value.message


def test_preferences_exclude_managed_spot_training():
    limits = {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 60}
    document = request(ResourceConfig=preferring((P5, 1)), EnableManagedSpotTraining=True, StoppingCondition=limits)
    with pytest.raises(AwsError, match="cannot be used together with EnableManagedSpotTraining"):
        FakeSageMaker().create(document, now=0.0)
