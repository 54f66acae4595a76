"""What may enter the queue, and the sentence with which the rest is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway.jobpolicy.rules import violations
from headway.jobpolicy.training_job import tags_in
from headway_service.admission.admit import admit
from headway_service.admission.checks.draft import Draft
from headway_service.admission.kept import MAX_REQUEST_BYTES
from headway_service.admission.policy_view import job_for_rules
from headway_service.admission.review import MAX_REPORTED_FIELDS, Review, review
from headway_service.admission.submission import Submission
from headway_service.config.authorization import Caller
from headway_service.config.document import DEFAULT_TEAM, Configuration, validate
from headway_service.errors import (
    ImpossibleDemand,
    InvalidRequest,
    NotAllowed,
    RequestError,
    RequestTooLarge,
    RuleViolation,
)
from headway_service.sagemaker_api import request_schema
from headway_service.sagemaker_api.training_request import TrainingRequest
from tests.service.admission.drafts import tagged, told
from tests.service.world import ADA, BOB, P5, ROOT, on, request

CONFIGURATION = validate(
    {"pools": {P5: {"size": 2}, "ml.g5.xlarge": {"size": 8}}, "priority": {"default": 3, "maximum": 100}}
)


TEAMS = validate(
    {
        "pools": {P5: {"size": 2}, "ml.g5.xlarge": {"size": 8}},
        "priority": {"default": 3, "maximum": 100},
        "teams": {"a": {"maxPriority": 2}, "b": {"limit": {"ml.g5.xlarge": 4}}},
        "preemption": {"optOut": True},
    }
)
TEAMS_WITH_DEFAULT = validate({"pools": {P5: {"size": 2}}, "teams": {"a": {}, "default": {"maxPriority": 9}}})


def reviewed(request: dict[str, Any]) -> Review:
    """What is wrong with a request, whoever submits it."""
    return review(
        Draft(request=TrainingRequest.parse(request), configuration=CONFIGURATION, caller=None, home=DEFAULT_TEAM)
    )


def told_by(refusal: pytest.ExceptionInfo[RequestError]) -> list[tuple[str, str]]:
    return told(refusal.value.fields)


def grouped(*groups: tuple[str, int], **more: Any) -> dict[str, Any]:
    named = [
        {"InstanceGroupName": f"g{i}", "InstanceType": kind, "InstanceCount": count}
        for i, (kind, count) in enumerate(groups)
    ]
    return {"ResourceConfig": {"InstanceGroups": named, "VolumeSizeInGB": 30, **more}}


SERVERLESS = {
    "BaseModelArn": "arn:aws:sagemaker:eu-west-1:aws:hub-content/SageMakerPublicHub/Model/m/1.0.0",
    "JobType": "FineTuning",
}


def algorithm(**members: str) -> dict[str, Any]:
    return {"AlgorithmSpecification": {"TrainingInputMode": "File", **members}}


S3 = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/c"}}
FILE_SYSTEM = {
    "FileSystemDataSource": {
        "FileSystemId": "fs-0123456789abcdef0",
        "FileSystemAccessMode": "ro",
        "FileSystemType": "EFS",
        "DirectoryPath": "/d",
    }
}
VPC = {"VpcConfig": {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}}


def channels(*sources: dict[str, Any]) -> dict[str, Any]:
    return {"InputDataConfig": [{"ChannelName": "c", "DataSource": source} for source in sources]}


@pytest.mark.parametrize(
    "changes",
    [
        algorithm(AlgorithmName="a"),
        algorithm(TrainingImage="i"),
        channels(S3),
        {**channels(FILE_SYSTEM), **VPC},
        {"SessionChainingConfig": {"EnableSessionTagChaining": False}},
    ],
)
def test_a_request_that_sagemaker_takes_is_admitted(changes: dict[str, Any]) -> None:
    assert admit(request("a", **changes), CONFIGURATION, ROOT).name == "a"


CHECKPOINTS = {"S3Uri": "s3://bucket/checkpoints"}
CHECKPOINTED = {"CheckpointConfig": CHECKPOINTS}


@pytest.mark.parametrize("interval_s", [1, 600, 2_592_000])
def test_a_request_may_say_how_often_its_job_writes_a_checkpoint(interval_s: int) -> None:
    changes = {**CHECKPOINTED, **tagged(("headway:checkpoint-interval-s", str(interval_s)))}
    assert admit(request("a", **changes), CONFIGURATION, ROOT).terms.checkpoints_every_ms == interval_s * 1000
    assert admit(request("a", CheckpointConfig=CHECKPOINTS), CONFIGURATION, ROOT).terms.checkpoints_every_ms is None


def test_an_admitted_request_has_its_demand() -> None:
    admitted = admit(request("a", 7, ResourceConfig=on(2), CheckpointConfig={"S3Uri": "s3://c/x"}), CONFIGURATION, ROOT)
    assert (admitted.name, dict(admitted.demand), admitted.terms.priority) == ("a", {P5: 2}, 7)
    assert admitted.terms.checkpoints


PRIORITIES: list[tuple[str, dict[str, Any], int]] = [
    ("no tag means the default", {}, 3),
    ("the article's tag", tagged(("priority", "5")), 5),
    ("the queue's own tag", tagged(("headway:priority", "6")), 6),
    ("zero counts", tagged(("priority", "0")), 0),
    ("both tags with one value", tagged(("priority", "4"), ("headway:priority", "4")), 4),
]


@pytest.mark.parametrize(("changes", "expected"), [r[1:] for r in PRIORITIES], ids=[r[0] for r in PRIORITIES])
def test_the_priority_of_a_request(changes: dict[str, Any], expected: int) -> None:
    assert admit(request("a", **changes), CONFIGURATION, ROOT).terms.priority == expected


def test_the_order_of_keys_makes_no_difference_to_the_digest() -> None:
    document = request("a")
    assert (
        admit(document, CONFIGURATION, ROOT).digest
        == admit(dict(reversed(document.items())), CONFIGURATION, ROOT).digest
    )
    assert admit(request("a", 1), CONFIGURATION, ROOT).digest != admit(request("a", 2), CONFIGURATION, ROOT).digest


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "a name of 70 characters",
        {"TrainingJobName": "x" * 70},
        "TrainingJobName",
        "has 70 characters; shorten it to at most 63",
    ),
    (
        "a name with a space",
        {"TrainingJobName": "a b"},
        "TrainingJobName",
        "is 'a b'; use up to 63 letters, digits and hyphens, with a letter or a digit at both ends",
    ),
    (
        "an empty name",
        {"TrainingJobName": ""},
        "TrainingJobName",
        "is too short: its length is 0, at least 1 is needed",
    ),
    ("an empty role", {"RoleArn": ""}, "RoleArn", "is too short: its length is 0, at least 20 is needed"),
    ("a missing name", {"TrainingJobName": None}, "TrainingJobName", "is required: add it"),
    ("a missing role", {"RoleArn": None}, "RoleArn", "is required: add it"),
    (
        "a role that is no ARN",
        {"RoleArn": "my-role-that-is-no-arn-at-all"},
        "RoleArn",
        "is 'my-role-that-is-no-arn-at-all'; use a role's ARN, such as arn:aws:iam::123456789012:role/Training",
    ),
    ("a missing output", {"OutputDataConfig": {}}, "OutputDataConfig.S3OutputPath", "is required: add it"),
    (
        "no instances",
        {"ResourceConfig": on(0)},
        "ResourceConfig.InstanceCount",
        "is 0; a job needs at least 1 instance",
    ),
    (
        "a misspelt parameter",
        {"TrainingJobname": "x"},
        "TrainingJobname",
        "is not a parameter of CreateTrainingJob: remove it, or check its spelling",
    ),
    (
        "a misspelt inner parameter",
        {"ResourceConfig": {**on(1), "Count": 1}},
        "ResourceConfig.Count",
        "is not a parameter of CreateTrainingJob: remove it, or check its spelling",
    ),
    ("no resources", {"ResourceConfig": None}, "ResourceConfig", "is required: name an instance type and a count"),
    ("no group", grouped(), "ResourceConfig.InstanceGroups", "is empty: name at least one group"),
    (
        "an empty group",
        grouped((P5, 1), (P5, 0)),
        "ResourceConfig.InstanceGroups[1].InstanceCount",
        "is 0; a group needs at least 1 instance",
    ),
    ("six groups", grouped(*[(P5, 1)] * 6), "ResourceConfig.InstanceGroups", "has 6 entries; shorten it to at most 5"),
    (
        "groups and a type",
        grouped((P5, 1), InstanceType=P5),
        "ResourceConfig.InstanceType",
        "cannot be combined with InstanceGroups: keep one of the two",
    ),
    (
        "groups and a count",
        grouped((P5, 1), InstanceCount=1),
        "ResourceConfig.InstanceCount",
        "cannot be combined with InstanceGroups: keep one of the two",
    ),
    (
        "groups and a warm pool",
        grouped((P5, 1), KeepAlivePeriodInSeconds=60),
        "ResourceConfig.KeepAlivePeriodInSeconds",
        "asks for a warm pool, which instance groups cannot have: remove it",
    ),
    (
        "instance preferences without a number of instances",
        {"ResourceConfig": {"InstancePreferences": [{"InstanceType": P5}]}},
        "ResourceConfig.InstancePreferences.InstanceCount",
        "is required with each preference, or once in ResourceConfig for all of them",
    ),
    (
        "a place on UltraServers",
        {"ResourceConfig": {**on(1), "InstancePlacementConfig": {"EnableMultipleJobs": True}}},
        "ResourceConfig.InstancePlacementConfig",
        "is not supported by this version of the queue, which does not start jobs on UltraServers: remove it",
    ),
    (
        "serverless training with instances",
        {"ServerlessJobConfig": SERVERLESS},
        "ResourceConfig",
        "cannot be combined with ServerlessJobConfig: keep one of the two",
    ),
    (
        "chained session tags",
        {"SessionChainingConfig": {"EnableSessionTagChaining": True}},
        "SessionChainingConfig.EnableSessionTagChaining",
        "is not possible: it would pass on the session tags of the scheduler, not of the job's submitter: remove it",
    ),
    (
        "an opt-out that is not allowed",
        tagged(("headway:preemptible", "false")),
        "Tags[0].Value",
        "is 'false', but this queue lets no job opt out of preemption (preemption.optOut): remove the tag",
    ),
    (
        "an opt-out in other words",
        tagged(("headway:preemptible", "no")),
        "Tags[0].Value",
        "is 'no'; headway:preemptible is 'true' or 'false'",
    ),
    (
        "an interval in words",
        {**CHECKPOINTED, **tagged(("headway:checkpoint-interval-s", "ten"))},
        "Tags[0].Value",
        "is 'ten'; it is a number of seconds, from 1 to 2592000",
    ),
    (
        "no interval",
        {**CHECKPOINTED, **tagged(("headway:checkpoint-interval-s", "0"))},
        "Tags[0].Value",
        "is '0'; it is a number of seconds, from 1 to 2592000",
    ),
    (
        "an interval that is too long",
        {**CHECKPOINTED, **tagged(("headway:checkpoint-interval-s", "2592001"))},
        "Tags[0].Value",
        "is '2592001'; it is a number of seconds, from 1 to 2592000",
    ),
    (
        "an interval of more digits than Python converts",
        {**CHECKPOINTED, **tagged(("headway:checkpoint-interval-s", "9" * 5000))},
        "Tags[0].Value",
        "has 5000 characters; shorten it to at most 256",
    ),
    (
        "an interval in other digits",
        {**CHECKPOINTED, **tagged(("headway:checkpoint-interval-s", "٣"))},
        "Tags[0].Value",
        "is '٣'; it is a number of seconds, from 1 to 2592000",
    ),
    (
        "an interval without checkpoints",
        tagged(("headway:checkpoint-interval-s", "60")),
        "Tags[0].Key",
        "is 'headway:checkpoint-interval-s', which needs a CheckpointConfig: add one, or remove the tag",
    ),
    (
        "a priority in words",
        tagged(("priority", "high")),
        "Tags[0].Value",
        "is 'high'; a priority is a whole number from 0 to 100, higher goes first",
    ),
    (
        "a negative priority",
        tagged(("priority", "-1")),
        "Tags[0].Value",
        "is '-1'; a priority is a whole number from 0 to 100, higher goes first",
    ),
    (
        "a priority above the maximum",
        tagged(("priority", "101")),
        "Tags[0].Value",
        "is '101'; a priority is a whole number from 0 to 100, higher goes first",
    ),
    (
        "a priority in other digits",
        tagged(("priority", "٣")),
        "Tags[0].Value",
        "is '٣'; a priority is a whole number from 0 to 100, higher goes first",
    ),
    (
        "two priorities",
        tagged(("priority", "1"), ("headway:priority", "2")),
        "Tags",
        "gives two different priorities: keep one of 'priority', 'headway:priority'",
    ),
    (
        "a tag twice",
        tagged(("team", "a"), ("team", "b")),
        "Tags",
        "holds the key 'team' twice; SageMaker takes a key once",
    ),
    (
        "the tag with the job's name",
        tagged(("headway:job", "x")),
        "Tags[0].Key",
        "is 'headway:job', which the queue sets itself: remove it",
    ),
    (
        "the tag with the attempt's mark",
        tagged(("headway:attempt", "x")),
        "Tags[0].Key",
        "is 'headway:attempt', which the queue sets itself: remove it",
    ),
    ("a tag of AWS", tagged(("aws:x", "y")), "Tags[0].Key", "is 'aws:x'; keys that begin with 'aws:' are AWS's own"),
    (
        "49 tags",
        tagged(*((f"k{i}", "v") for i in range(49))),
        "Tags",
        "has 49 entries; the queue adds 2 to SageMaker's 50, so use at most 48",
    ),
    (
        "a count as a boolean",
        {"ResourceConfig": {**on(1), "InstanceCount": True}},
        "ResourceConfig.InstanceCount",
        "is true; use a whole number",
    ),
    (
        "a time as a boolean",
        {"StoppingCondition": {"MaxRuntimeInSeconds": True}},
        "StoppingCondition.MaxRuntimeInSeconds",
        "is true; use a whole number",
    ),
    (
        "an empty image",
        algorithm(TrainingImage=""),
        "AlgorithmSpecification.TrainingImage",
        "is required: name the image of the container, or an algorithm in AlgorithmName",
    ),
    (
        "neither an image nor an algorithm",
        algorithm(),
        "AlgorithmSpecification.TrainingImage",
        "is required: name the image of the container, or an algorithm in AlgorithmName",
    ),
    (
        "no algorithm",
        {"AlgorithmSpecification": None},
        "AlgorithmSpecification.TrainingImage",
        "is required: name the image of the container, or an algorithm in AlgorithmName",
    ),
    (
        "an image and an algorithm",
        algorithm(TrainingImage="i", AlgorithmName="a"),
        "AlgorithmSpecification.AlgorithmName",
        "cannot be combined with TrainingImage: keep one of the two",
    ),
    ("a channel twice", channels(S3, S3), "InputDataConfig", "has the channel 'c' twice: rename one"),
    (
        "a file system without a VPC",
        channels(FILE_SYSTEM),
        "InputDataConfig[0].DataSource.FileSystemDataSource",
        "needs VpcConfig: SageMaker reaches file systems only through a VPC",
    ),
    (
        "spot without a waiting time",
        {"EnableManagedSpotTraining": True},
        "StoppingCondition.MaxWaitTimeInSeconds",
        "is required when EnableManagedSpotTraining is true",
    ),
    (
        "a waiting time without spot",
        {"StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 60}},
        "StoppingCondition.MaxWaitTimeInSeconds",
        "is only for spot or with RetryStrategy: remove it, or set EnableManagedSpotTraining to true",
    ),
    (
        "a waiting time below the run time",
        {
            "EnableManagedSpotTraining": True,
            "StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 59},
        },
        "StoppingCondition.MaxWaitTimeInSeconds",
        "is 59; it must be at least MaxRuntimeInSeconds",
    ),
    (
        "an unknown input mode",
        {"AlgorithmSpecification": {"TrainingInputMode": "Tape", "TrainingImage": "i"}},
        "AlgorithmSpecification.TrainingInputMode",
        "is 'Tape'; use one of Pipe, File, FastFile",
    ),
]


@pytest.mark.parametrize(("changes", "field", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_bad_request_is_refused_with_the_field_and_what_to_change(
    changes: dict[str, Any], field: str, message: str
) -> None:
    with pytest.raises(InvalidRequest) as raised:
        admit(request("a", **changes), CONFIGURATION, ROOT)
    assert told_by(raised) == [(field, message)]
    assert str(raised.value) == f"{field} {message}"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"ResourceConfig": on(-1)}, "ResourceConfig.InstanceCount"),
        ({"ResourceConfig": {**on(1), "InstanceCount": "1"}}, "ResourceConfig.InstanceCount"),
        ({"Environment": {"A": 1}}, "Environment.A"),
    ],
    ids=["a negative count", "a count as text", "an environment of a number"],
)
def test_a_value_that_the_service_model_does_not_have_is_refused_by_its_field(
    changes: dict[str, Any], field: str
) -> None:
    (error,) = reviewed(request("a", **changes)).invalid
    assert error.field == field
    # What follows is botocore's.
    assert error.message.startswith("is not valid: ")


def test_a_refusal_names_the_first_invalid_fields_only() -> None:
    wrong = {f"k{number:02}": number for number in range(MAX_REPORTED_FIELDS + 1)}
    with pytest.raises(InvalidRequest) as raised:
        admit(request("a", HyperParameters=wrong), CONFIGURATION, ROOT)
    assert [error.field for error in raised.value.fields] == [f"HyperParameters.{key}" for key in [*wrong][:-1]]


def test_all_invalid_fields_are_named_together() -> None:
    wrong = request("x" * 70, RoleArn=None, Bogus=1, ResourceConfig=on(0), **tagged(("priority", "high")))
    with pytest.raises(InvalidRequest) as raised:
        admit(wrong, CONFIGURATION, ROOT)
    assert str(raised.value) == "RoleArn is required: add it (and 4 more)"
    assert [error.field for error in raised.value.fields] == [
        "RoleArn",
        "Bogus",
        "TrainingJobName",
        "Tags[0].Value",
        "ResourceConfig.InstanceCount",
    ]


@pytest.mark.parametrize("body", [None, [], "text", 5], ids=repr)
def test_a_body_that_is_not_an_object_is_refused(body: Any) -> None:
    with pytest.raises(InvalidRequest) as raised:
        admit(body, CONFIGURATION, ROOT)
    assert str(raised.value) == "the body must be a JSON object: the parameters of CreateTrainingJob"


UP_TO = "a job may have up to 8 ml.g5.xlarge or 2 ml.p5.48xlarge"
IMPOSSIBLE: list[tuple[str, dict[str, Any], str, str]] = [
    ("an unknown pool", on(1, "ml.g5.2xlarge"), "InstanceType", f"there is no pool ml.g5.2xlarge; {UP_TO}"),
    (
        "more than the pool holds",
        on(3),
        "InstanceCount",
        f"the pool ml.p5.48xlarge has 2 instances, not 3; {UP_TO}",
    ),
]


@pytest.mark.parametrize(
    ("resources", "member", "message"), [row[1:] for row in IMPOSSIBLE], ids=[row[0] for row in IMPOSSIBLE]
)
def test_an_impossible_demand_is_refused_with_the_possible_ones(
    resources: dict[str, Any], member: str, message: str
) -> None:
    with pytest.raises(ImpossibleDemand) as raised:
        admit(request("a", ResourceConfig=resources), CONFIGURATION, ROOT)
    assert told_by(raised) == [(f"ResourceConfig.{member}", message)]
    assert str(raised.value) == message


def test_a_request_of_the_maximum_size_is_accepted_and_one_byte_more_is_not() -> None:
    def sized(extra: int) -> dict[str, Any]:
        # SageMaker's model allows 2048 channels; their text is what makes a request large.
        document = request("a", HyperParameters={f"p{i:03d}": "x" * 2500 for i in range(100)})
        document["Environment"] = {f"E{i:03d}": "x" * 512 for i in range(100)}
        return {**document, "ExperimentConfig": {"ExperimentName": "e" * extra}}

    small = len(admit(sized(1), CONFIGURATION, ROOT).request.encode())
    assert small < MAX_REQUEST_BYTES
    with pytest.raises(RequestTooLarge, match="move large hyperparameters"):
        admit(request("a", HyperParameters={f"p{i:03d}": "x" * 4100 for i in range(100)}), CONFIGURATION, ROOT)


REFUSED_OF_TEAMS: list[tuple[str, dict[str, Any], str, str]] = [
    ("no team", {}, "Tags", "names no team: add the tag 'team' with one of a, b"),
    ("an unknown team", tagged(("team", "c")), "Tags[0].Value", "is 'c', which is no team: use one of a, b"),
    (
        "two teams",
        tagged(("team", "a"), ("headway:team", "b")),
        "Tags",
        "names two different teams: keep one of 'team', 'headway:team'",
    ),
    (
        "a priority above the team's",
        tagged(("team", "a"), ("priority", "3")),
        "Tags[1].Value",
        "is '3'; a priority is a whole number from 0 to 2 for the team a, higher goes first",
    ),
    (
        "a priority above all",
        tagged(("team", "b"), ("priority", "101")),
        "Tags[1].Value",
        "is '101'; a priority is a whole number from 0 to 100, higher goes first",
    ),
]


@pytest.mark.parametrize(
    ("changes", "field", "message"), [row[1:] for row in REFUSED_OF_TEAMS], ids=[row[0] for row in REFUSED_OF_TEAMS]
)
def test_a_request_must_name_a_team_if_there_are_teams_and_follow_its_rules(
    changes: dict[str, Any], field: str, message: str
) -> None:
    with pytest.raises(InvalidRequest) as raised:
        admit(request("x", **changes), TEAMS, ROOT)
    assert told_by(raised) == [(field, message)]


ADMITTED_OF_TEAMS: list[tuple[str, dict[str, Any], Any, str, int]] = [
    ("without teams the tag is just a tag", tagged(("team", "c")), CONFIGURATION, "", 3),
    ("a team's maximum lowers the default", tagged(("team", "a")), TEAMS, "a", 2),
    ("another team has the default", tagged(("team", "b")), TEAMS, "b", 3),
    ("the queue's own tag", tagged(("headway:team", "b")), TEAMS, "b", 3),
    ("the default team takes who names none", {}, TEAMS_WITH_DEFAULT, "default", 0),
    ("the default team can be named", tagged(("team", "default")), TEAMS_WITH_DEFAULT, "default", 0),
]


@pytest.mark.parametrize(
    ("changes", "configuration", "team", "priority"),
    [row[1:] for row in ADMITTED_OF_TEAMS],
    ids=[row[0] for row in ADMITTED_OF_TEAMS],
)
def test_the_team_of_a_request_and_its_priority(
    changes: dict[str, Any], configuration: Configuration, team: str, priority: int
) -> None:
    admitted = admit(request("x", **changes), configuration, ROOT)
    assert (admitted.terms.team, admitted.terms.priority) == (team, priority)


@pytest.mark.parametrize(("value", "preemptible"), [("true", True), ("false", False), (None, True)])
def test_a_request_may_exclude_its_job_from_preemption(value: str | None, preemptible: bool) -> None:
    tags = [("team", "b")] + ([("headway:preemptible", value)] if value else [])
    assert admit(request("x", **tagged(*tags)), TEAMS, ROOT).terms.preemptible is preemptible


def test_instance_groups_demand_instances_of_several_pools_and_counts_of_one_type_add_up() -> None:
    admitted = admit(request("x", **grouped((P5, 1), ("ml.g5.xlarge", 3), (P5, 1))), CONFIGURATION, ROOT)
    assert dict(admitted.demand) == {P5: 2, "ml.g5.xlarge": 3}


UP_TO_FOR_B = "a job may have up to 4 ml.g5.xlarge or 2 ml.p5.48xlarge"
IMPOSSIBLE_GROUPS: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    (
        "two groups of one type that exceed the pool together",
        grouped((P5, 1), (P5, 2)),
        [("InstanceGroups[0].InstanceCount", "the pool ml.p5.48xlarge has 2 instances, not 3")],
    ),
    (
        "every pool that cannot give it is named",
        grouped(("ml.x.y", 1), (P5, 3)),
        [
            ("InstanceGroups[0].InstanceType", "there is no pool ml.x.y"),
            ("InstanceGroups[1].InstanceCount", "the pool ml.p5.48xlarge has 2 instances, not 3"),
        ],
    ),
    (
        "more than the team may have",
        {"ResourceConfig": on(5, "ml.g5.xlarge")},
        [("InstanceCount", "the team b may use 4 instances of the pool ml.g5.xlarge, not 5")],
    ),
]


@pytest.mark.parametrize(
    ("changes", "told"), [row[1:] for row in IMPOSSIBLE_GROUPS], ids=[row[0] for row in IMPOSSIBLE_GROUPS]
)
def test_a_demand_has_to_fit_every_pool_and_the_limit_of_the_team(
    changes: dict[str, Any], told: list[tuple[str, str]]
) -> None:
    with pytest.raises(ImpossibleDemand) as raised:
        admit(request("x", **changes, **tagged(("team", "b"))), TEAMS, ROOT)
    assert told_by(raised) == [(f"ResourceConfig.{field}", f"{message}; {UP_TO_FOR_B}") for field, message in told]


RULES = validate(
    {
        "pools": {P5: {"size": 2}, "ml.g5.xlarge": {"size": 8}},
        "teams": {"a": {}, "b": {}, "default": {}},
        "preemption": {"optOut": True},
        "rules": {
            "small": {"when": {"teams": ["a"]}, "require": {"maxInstances": 1}, "message": "ask Ada"},
            "tags": {"require": {"tags": {"project": ["*"]}}},
            "spot": {"when": {"spot": True, "preemptible": True}, "require": {"checkpoints": True}},
        },
    }
)
SPOT: dict[str, Any] = {
    "EnableManagedSpotTraining": True,
    "StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 60},
}


def test_a_request_that_breaks_rules_is_refused_with_every_violation() -> None:
    wrong = request("x", ResourceConfig=on(2), **SPOT, **tagged(("headway:team", "a")))
    with pytest.raises(RuleViolation, match=r"use at most 1 \(rule `small`: ask Ada\) \(and 2 more\)") as raised:
        admit(wrong, RULES, ROOT)
    assert told_by(raised) == [
        ("ResourceConfig.InstanceCount", "asks for 2 instances; use at most 1 (rule `small`: ask Ada)"),
        ("CheckpointConfig", "is missing: add it (rule `spot`)"),
        ("Tags", "has no 'project': add it (rule `tags`)"),
    ]


KEPT: list[tuple[str, dict[str, Any]]] = [
    ("another team", {"ResourceConfig": on(2), **tagged(("team", "b"), ("project", "x"))}),
    ("the team that takes who names none", {"ResourceConfig": on(2), **tagged(("project", "x"))}),
    ("spot with checkpoints", {**SPOT, "CheckpointConfig": {"S3Uri": "s3://b/c"}, **tagged(("project", "x"))}),
    ("spot without preemption", {**SPOT, **tagged(("project", "x"), ("headway:preemptible", "false"))}),
]


@pytest.mark.parametrize("changes", [row[1] for row in KEPT], ids=[row[0] for row in KEPT])
def test_a_request_that_satisfies_the_applicable_rules_is_admitted(changes: dict[str, Any]) -> None:
    assert admit(request("x", **changes), RULES, ROOT).name == "x"


def test_violated_rules_are_reported_with_other_errors() -> None:
    with pytest.raises(InvalidRequest, match=r"^RoleArn is required: add it \(and 1 more\)") as raised:
        admit(request("x", RoleArn=None), RULES, ROOT)
    assert [field for field, _ in told_by(raised)] == ["RoleArn", "Tags"]
    with pytest.raises(RuleViolation) as raised_by_rule:
        admit(request("x", ResourceConfig=on(3)), RULES, ROOT)
    assert [field for field, _ in told_by(raised_by_rule)] == ["Tags", "ResourceConfig.InstanceCount"]


def test_a_request_of_the_wrong_shape_is_refused_before_rules_are_evaluated() -> None:
    with pytest.raises(InvalidRequest) as raised:
        admit({"TrainingJobName": 1, "Tags": "no", "ResourceConfig": [], "StoppingCondition": 5}, RULES, ROOT)
    assert {"TrainingJobName", "Tags", "ResourceConfig", "StoppingCondition"} <= {each for each, _ in told_by(raised)}


def test_a_violation_reveals_no_secret_of_the_request() -> None:
    secret: dict[str, Any] = {"HyperParameters": {"token": "hunter2"}, "Environment": {"TOKEN": "hunter2"}}
    with pytest.raises(RuleViolation) as raised:
        admit(request("x", **secret), RULES, ROOT)
    assert "hunter2" not in f"{raised.value} {told_by(raised)}"


def test_a_running_training_job_is_evaluated_like_its_request() -> None:
    asked = request("x", ResourceConfig=on(2), **tagged(("team", "a")))
    tags = tags_in(asked.pop("Tags"))
    described = {**asked, "TrainingJobStatus": "InProgress", "TrainingJobArn": "arn:aws:sagemaker:::training-job/x"}
    found = violations(RULES.job_rules(), job_for_rules(described, tags, RULES))
    assert [(each.rule, each.field) for each in found] == [("small", "ResourceConfig.InstanceCount"), ("tags", "Tags")]


LIMITS: list[tuple[str, dict[str, Any], int]] = [
    ("the run time", {"StoppingCondition": {"MaxRuntimeInSeconds": 60}}, 60),
    ("SageMaker's default without one", {"StoppingCondition": {}}, 86_400),
    ("SageMaker's default without a condition", {"StoppingCondition": None}, 86_400),
    (
        "the waiting time of spot, which takes in the run time",
        {
            "EnableManagedSpotTraining": True,
            "StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 100},
        },
        100,
    ),
    (
        "the pending time comes on top",
        {"StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxPendingTimeInSeconds": 7200}},
        7260,
    ),
]


@pytest.mark.parametrize(("changes", "limit_s"), [row[1:] for row in LIMITS], ids=[row[0] for row in LIMITS])
def test_the_maximum_time_for_which_a_job_holds_its_instances(changes: dict[str, Any], limit_s: int) -> None:
    overhead_s = 1800
    assert admit(request("x", **changes), CONFIGURATION, ROOT).terms.limit_ms == (limit_s + overhead_s) * 1000


PENDING: list[tuple[str, dict[str, Any], int, int | None]] = [
    ("the limit of the policy", {"StoppingCondition": {"MaxRuntimeInSeconds": 60}}, 660, 600),
    (
        "its own, which is longer",
        {"StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxPendingTimeInSeconds": 7200}},
        660,
        600,
    ),
    ("no condition", {"StoppingCondition": None}, 86_400 + 600, 600),
    (
        "spot, which has a limit of its own",
        {
            "EnableManagedSpotTraining": True,
            "StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 100},
        },
        100,
        600,
    ),
]


@pytest.mark.parametrize(
    ("changes", "limit_s", "pending_s"), [row[1:] for row in PENDING], ids=[row[0] for row in PENDING]
)
def test_the_limit_on_the_wait_for_instances_counts_as_time_for_which_a_job_holds_them(
    changes: dict[str, Any], limit_s: int, pending_s: int | None
) -> None:
    configuration = CONFIGURATION.model_copy(update={"max_pending_seconds": 600})
    admitted = admit(request("x", **changes), configuration, ROOT)
    assert (admitted.terms.limit_ms, admitted.pending_limit_s) == ((limit_s + 1800) * 1000, pending_s)
    if "EnableManagedSpotTraining" in changes:
        assert admitted.on_demand_limit_ms == (60 + 600 + 1800) * 1000


def test_a_pending_time_of_its_own_that_is_shorter_than_that_of_the_policy_counts() -> None:
    configuration = CONFIGURATION.model_copy(update={"max_pending_seconds": 9000})
    own = {"MaxRuntimeInSeconds": 60, "MaxPendingTimeInSeconds": 7200}
    admitted = admit(request("x", StoppingCondition=own), configuration, ROOT)
    assert (admitted.terms.limit_ms, admitted.pending_limit_s) == ((60 + 7200 + 1800) * 1000, 7200)


@pytest.mark.parametrize(
    ("key", "taken"),
    [
        ("Kosten-Stelle_1 ä日本 ٣:/=+@.", True),
        ("bell\x07", False),
        ("\x1b[2J", False),
        ("nul\x00", False),
        ("line\nbreak", False),
        ("right\u202eleft", False),
        ("=1;2", False),
    ],
)
def test_a_tag_fits_into_sagemakers_limit(key: str, taken: bool) -> None:
    for tag in ({"Key": key, "Value": "v"}, {"Key": "k", "Value": key}):
        fields = [error.field for error in reviewed(request("a", Tags=[tag])).invalid]
        assert bool(fields) is not taken
        assert all(field.startswith("Tags[0].") for field in fields)


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ({"MaxRuntimeInSeconds": request_schema.MAX_RUN_TIME_S}, True),
        ({"MaxRuntimeInSeconds": request_schema.MAX_RUN_TIME_S + 1}, False),
        ({"MaxRuntimeInSeconds": 60, "MaxPendingTimeInSeconds": 2**53}, False),
    ],
)
def test_a_time_that_has_no_date_is_refused(condition: dict[str, Any], taken: bool) -> None:
    found = reviewed(request("a", StoppingCondition=condition)).invalid
    assert [error.field for error in found] == ([] if taken else [f"StoppingCondition.{list(condition)[-1]}"])


def test_a_refusal_quotes_no_more_than_a_line_of_a_wrong_value() -> None:
    (problem,) = reviewed(request("a", RoleArn=["x" * 100_000])).invalid
    assert problem.field == "RoleArn"
    assert len(problem.message) < 300


WARM: dict[str, Any] = {"ResourceConfig": {**on(1), "KeepAlivePeriodInSeconds": 600}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [(WARM, True), ({}, False), ({"ResourceConfig": {**on(1), "KeepAlivePeriodInSeconds": 0}}, False)],
    ids=["a warm pool", "none", "one for no time"],
)
def test_a_request_for_a_warm_pool_is_accepted_unchanged(changes: dict[str, Any], expected: bool) -> None:
    wanted = request("a", **changes)
    admitted = admit(wanted, CONFIGURATION, ROOT)
    assert admitted.warm_pool is expected
    assert json.loads(admitted.request) == wanted


def test_a_warm_pool_is_refused_if_configured() -> None:
    refusing = validate({"pools": {P5: {"size": 2}}, "warmPools": "refuse"})
    with pytest.raises(InvalidRequest) as raised:
        admit(request("a", **WARM), refusing, ROOT)
    (problem,) = raised.value.fields
    assert problem.field == "ResourceConfig.KeepAlivePeriodInSeconds"
    assert problem.message.endswith("(warmPools): remove it")
    assert not admit(request("a"), refusing, ROOT).warm_pool


KEEPS: dict[str, Any] = {
    "pools": {P5: {"size": 4}, "ml.g5.xlarge": {"size": 4}},
    "teams": {"red": {}, "blue": {}},
    "warmPools": {"maxSeconds": 900, "teams": ["red"]},
}
OF_RED: dict[str, Any] = {"Tags": [{"Key": "team", "Value": "red"}]}


def kept(seconds: int, **more: Any) -> dict[str, Any]:
    return {"ResourceConfig": {**on(1), "KeepAlivePeriodInSeconds": seconds, **more}}


def test_a_warm_pool_within_the_policy_is_kept() -> None:
    admitted = admit(request("a", **OF_RED, **kept(900)), validate(KEEPS), ROOT)
    assert (admitted.terms.keep_ms, admitted.warm_pool) == (900_000, False)
    assert admitted.terms.warm_key


def test_a_job_without_a_warm_pool_of_its_own_matches_those_of_others() -> None:
    keeps = admit(request("a", **OF_RED, **kept(900)), validate(KEEPS), ROOT)
    plain = admit(request("b", **OF_RED), validate(KEEPS), ROOT)
    assert (plain.terms.keep_ms, plain.terms.warm_key) == (0, keeps.terms.warm_key)


SPOT = {
    "EnableManagedSpotTraining": True,
    "StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 60},
}
GROUPS = {
    "ResourceConfig": {
        "InstanceGroups": [{"InstanceGroupName": "a", "InstanceType": P5, "InstanceCount": 1}],
        "VolumeSizeInGB": 30,
        "KeepAlivePeriodInSeconds": 60,
    }
}
PLAN = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/mine"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (kept(901), "is 901; this queue keeps warm pools for at most 900 s (warmPools.maxSeconds)"),
        (
            {**kept(60), "Tags": [{"Key": "team", "Value": "blue"}]},
            "asks for a warm pool, which jobs of the team blue may not keep (warmPools.teams): remove it",
        ),
        ({**kept(60), **SPOT}, "asks for a warm pool, which SageMaker keeps of no spot instances: remove it"),
        (GROUPS, "asks for a warm pool, which instance groups cannot have: remove it"),
        (
            kept(60, TrainingPlanArn=PLAN),
            "asks for a warm pool, which is kept of one instance type without a plan only: remove it",
        ),
    ],
    ids=["too long", "another team", "spot", "instance groups", "a training plan"],
)
def test_a_warm_pool_beyond_the_policy_is_refused_with_a_sentence(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        admit(request("a", **{**OF_RED, **changes}), validate(KEEPS), ROOT)
    (problem,) = raised.value.fields
    assert (problem.field, problem.message) == ("ResourceConfig.KeepAlivePeriodInSeconds", expected)


HALF = "\ud800"


@pytest.mark.parametrize(
    ("submission", "field"),
    [
        (request("a", HyperParameters={"b": HALF}), "HyperParameters.b"),
        (request("a", HyperParameters={HALF: "b"}), r"HyperParameters.\ud800"),
        (request("a", Environment={"b": f"x{HALF}y"}), "Environment.b"),
        (request("a", Tags=[{"Key": "b", "Value": HALF}]), "Tags[0].Value"),
        (
            Submission(request=request("a"), alternatives=[{"HyperParameters": {"b": HALF}}]),
            "alternatives[0].HyperParameters.b",
        ),
        (Submission(request=request("a"), sweep={"grid": {"b": [HALF]}}), "sweep.grid.b[0]"),
        (
            Submission(request=request("a", HyperParameters={"b": HALF}), sweep={"grid": {"c": [1]}}),
            "HyperParameters.b",
        ),
    ],
)
def test_text_without_an_encoding_is_refused_by_its_member(submission: Any, field: str) -> None:
    """It could be neither stored nor sent. The body of a call is refused before, wherever it has any."""
    with pytest.raises(InvalidRequest) as refused:
        admit(submission, CONFIGURATION, ROOT)
    assert [each.field for each in refused.value.fields] == [field]
    assert "surrogate pair" in refused.value.fields[0].message
    assert str(refused.value).encode()


def uri(template: str) -> dict[str, Any]:
    """A channel whose data are the output of another job."""
    return {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": template}}


def test_all_that_is_wrong_with_a_submission_is_named_in_one_order() -> None:
    submission = Submission(
        request=request("a", ResourceConfig=on(0), **channels(uri("{{ jobs.x.model }}"))),
        alternatives=[{"ResourceConfig": {**on(1), "Count": 1}}],
        wait_at_most_s=-1,
        depends_on=[{"job": "a"}],
        at_once=1,
        reuse=1,
    )
    with pytest.raises(InvalidRequest) as raised:
        admit(submission, CONFIGURATION, ROOT)
    assert told_by(raised) == [
        ("dependsOn[0].job", "is this job itself: name another one"),
        (
            "InputDataConfig[0].DataSource.S3DataSource.S3Uri",
            "names `x`, which need not complete first: add it to dependsOn, with the condition ok",
        ),
        ("atOnce", "is for arrays: add a sweep, or remove it"),
        ("reuse", "is 1; it is true or false"),
        ("ResourceConfig.InstanceCount", "is 0; a job needs at least 1 instance"),
        ("waitAtMostSeconds", "is -1; it is a whole number of seconds from 0 to 2592000"),
    ]


def test_a_template_of_a_job_that_completes_first_is_kept_as_it_is_written() -> None:
    made = request("a", **channels(uri("{{ jobs.x.output }}/part")))
    admitted = admit(Submission(request=made, depends_on=[{"job": "x"}]), CONFIGURATION, ROOT)
    assert json.loads(admitted.request) == made
    assert [each.job_name for each in admitted.depends_on] == ["x"]


def test_the_rest_of_a_request_with_a_template_is_checked_too() -> None:
    made = request("a", ResourceConfig=on(0), **channels(uri("{{ jobs.x.model }}")))
    with pytest.raises(InvalidRequest) as raised:
        admit(Submission(request=made, depends_on=[{"job": "x"}]), CONFIGURATION, ROOT)
    assert told_by(raised) == [("ResourceConfig.InstanceCount", "is 0; a job needs at least 1 instance")]


def test_members_of_an_array_are_checked_with_their_hyperparameters() -> None:
    made = request("a", HyperParameters={f"k{i:03}": "v" for i in range(100)})
    with pytest.raises(InvalidRequest) as raised:
        admit(Submission(request=made, sweep={"grid": {"one-more": ["1"]}}), CONFIGURATION, ROOT)
    assert told_by(raised) == [("HyperParameters", "has 101 entries; shorten it to at most 100")]


MEMBERS = validate(
    {
        "pools": {P5: {"size": 2}, f"{P5}.spot": {"size": 4}},
        "teams": {"a": {"members": ["user/ada"]}, "b": {"members": ["user/bob"], "maxPriority": 5}},
    }
)


@pytest.mark.parametrize(
    ("caller", "home", "team"), [(ADA, None, "a"), (BOB, None, "b"), (ROOT, "b", "b")], ids=["ada", "bob", "given"]
)
def test_a_job_that_names_no_team_is_of_the_callers_or_of_the_given_one(
    caller: Caller, home: str | None, team: str
) -> None:
    assert admit(request("x"), MEMBERS, caller, home).terms.team == team


def test_the_caller_must_belong_to_the_team() -> None:
    with pytest.raises(NotAllowed) as raised:
        admit(request("x", **tagged(("team", "b"))), MEMBERS, ADA)
    assert [field for field, _ in told_by(raised)] == ["Tags[0].Value"]


def test_a_job_that_has_left_spot_is_checked_and_counted_as_one_on_demand() -> None:
    made = request("x", ResourceConfig=on(2), **SPOT)
    assert admit(made, MEMBERS, ADA).demand == {f"{P5}.spot": 2}
    assert admit(made, MEMBERS, ADA, left_spot=True).demand == {P5: 2}


def test_the_priority_that_a_job_has_counts_in_place_of_that_of_its_tags() -> None:
    made = request("x", **tagged(("priority", "9")))
    assert admit(made, MEMBERS, BOB, priority=5).name == "x"
    with pytest.raises(InvalidRequest) as raised:
        admit(made, MEMBERS, BOB, priority=6)
    assert [field for field, _ in told_by(raised)] == ["priority"]
