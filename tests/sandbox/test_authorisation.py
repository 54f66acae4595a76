from __future__ import annotations

import pytest

from headway_sandbox.authorisation import denied, permissions
from tests.sandbox.fleets import ROLE, request

PREFIX = "arn:aws:sagemaker:eu-west-1:123456789012:training-job/"


def needed(operation, document) -> list[tuple[str, str]]:
    return [(entry.action, entry.resource) for entry in permissions(operation, document, arn_prefix=PREFIX)]


def test_creating_a_tagged_job_takes_three_permissions():
    assert needed("CreateTrainingJob", request()) == [
        ("sagemaker:CreateTrainingJob", f"{PREFIX}train-1"),
        ("sagemaker:AddTags", f"{PREFIX}train-1"),
        ("iam:PassRole", ROLE),
    ]


def test_without_tags_no_tagging_is_asked_for():
    assert ("sagemaker:AddTags", f"{PREFIX}train-1") not in needed("CreateTrainingJob", request(Tags=[]))


def test_a_role_is_passed_to_sagemaker_and_tags_can_be_asked_for():
    create, tag, give = permissions("CreateTrainingJob", request(), arn_prefix=PREFIX)
    assert create.context == {"aws:RequestTag/team": "vision", "aws:TagKeys": ["team"]}
    assert tag.context == {**create.context, "sagemaker:TaggingAction": "CreateTrainingJob"}
    assert give.context == {"iam:PassedToService": "sagemaker.amazonaws.com"}


@pytest.mark.parametrize(
    ("operation", "document", "resource"),
    [
        ("StopTrainingJob", {"TrainingJobName": "a"}, f"{PREFIX}a"),
        ("DescribeTrainingJob", {"TrainingJobName": "a"}, f"{PREFIX}a"),
        ("DeleteTrainingJob", {"TrainingJobName": "a"}, f"{PREFIX}a"),
        ("ListTrainingJobs", {}, "*"),
        ("ListTags", {"ResourceArn": f"{PREFIX}a"}, f"{PREFIX}a"),
        ("AddTags", {"ResourceArn": f"{PREFIX}a", "Tags": [{"Key": "k", "Value": "v"}]}, f"{PREFIX}a"),
    ],
)
def test_other_calls_take_one_permission(operation, document, resource):
    assert needed(operation, document) == [(f"sagemaker:{operation}", resource)]


def test_tags_put_on_what_is_there_already_are_told_from_those_of_a_request():
    (tag,) = permissions(
        "AddTags", {"ResourceArn": f"{PREFIX}a", "Tags": [{"Key": "k", "Value": "v"}]}, arn_prefix=PREFIX
    )
    assert tag.context == {"aws:RequestTag/k": "v", "aws:TagKeys": ["k"]}


@pytest.mark.parametrize("tags", [None, "x", [5], [{"Key": "k"}]])
def test_a_malformed_request_is_still_asked_permission_for(tags):
    assert needed("CreateTrainingJob", {"Tags": tags})[0] == ("sagemaker:CreateTrainingJob", PREFIX)


@pytest.mark.parametrize(
    ("explicit", "end"),
    [
        (False, "because no identity-based policy allows the iam:PassRole action"),
        (True, "with an explicit deny in an identity-based policy"),
    ],
)
def test_a_denial_names_who_what_and_why(explicit, end):
    (*_, give) = permissions("CreateTrainingJob", request(), arn_prefix=PREFIX)
    error = denied(give, principal="arn:aws:iam::123456789012:user/ann", explicit=explicit)
    assert error.code == "AccessDeniedException"
    assert error.message == (
        f"User: arn:aws:iam::123456789012:user/ann is not authorized to perform: iam:PassRole on resource: {ROLE} {end}"
    )
