"""The permissions of each function: exactly these. A new call in the code needs a line here and in the template."""

import json
import re
from fnmatch import fnmatchcase
from typing import Any

import pytest

from headway_service.store.marks import Marks
from headway_service.store.records.feed import FEED
from headway_service.testing.memory_table import MemoryTable
from tests.template.conditions import holding, resolved

CHANGES = {f"dynamodb:{action}" for action in ("DeleteItem", "GetItem", "PutItem", "UpdateItem")}
QUERIES = {"dynamodb:Query"}
STREAM = {f"dynamodb:{action}" for action in ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")}
ALL = CHANGES | {"logs:CreateLogStream", "logs:PutLogEvents"}
SEEN = {"sagemaker:DescribeTrainingJob", "sagemaker:ListTags"}
LETTERS = {
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
}
ACTIONS = {
    "ApiFunctionRole": ALL
    | QUERIES
    | LETTERS
    | {
        "dynamodb:BatchGetItem",
        "dynamodb:ConditionCheckItem",
        "dynamodb:Scan",
        "lambda:InvokeFunction",
        "sqs:SendMessage",
    },
    "ScheduleFunctionRole": ALL
    | QUERIES
    | {
        "dynamodb:BatchGetItem",
        "dynamodb:ConditionCheckItem",
        "iam:PassRole",
        "sagemaker:AddTags",
        "sagemaker:CreateTrainingJob",
        "sagemaker:DescribeTrainingJob",
        "sagemaker:ListTags",
        "sagemaker:StopTrainingJob",
        "sagemaker:UpdateTrainingJob",
        "sqs:DeleteMessage",
        "sqs:GetQueueAttributes",
        "sqs:ReceiveMessage",
    },
    "ObserveFunctionRole": ALL | SEEN | {"sqs:SendMessage"},
    "ReconcileFunctionRole": ALL
    | QUERIES
    | {
        "dynamodb:BatchGetItem",
        "ec2:GetSpotPlacementScores",
        "sagemaker:DescribeTrainingJob",
        "sagemaker:DescribeTrainingPlan",
        "sagemaker:ListTrainingJobs",
        "sqs:SendMessage",
    },
    "PatrolFunctionRole": ALL
    | QUERIES
    | SEEN
    | {"sagemaker:ListTrainingJobs", "sagemaker:StopTrainingJob", "sqs:SendMessage"},
    "WatchFunctionRole": (ALL - CHANGES)
    | QUERIES
    | {
        "cloudwatch:DeleteAlarms",
        "cloudwatch:DescribeAlarms",
        "cloudwatch:GetMetricData",
        "cloudwatch:PutMetricAlarm",
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "sagemaker:DescribeTrainingJob",
        "sqs:SendMessage",
    },
    "TellFunctionRole": (ALL - CHANGES)
    | STREAM
    | {
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:Query",
        "events:PutEvents",
        "sns:Publish",
        "sqs:SendMessage",
    },
}
TRAINING_JOBS = {"Fn::Sub": "arn:${AWS::Partition}:sagemaker:${AWS::Region}:${AWS::AccountId}:training-job/*"}

TRAINING_PLANS = {"Fn::Sub": "arn:${AWS::Partition}:sagemaker:${AWS::Region}:${AWS::AccountId}:training-plan/*"}


def statements(role: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the statements that apply regardless of the parameters."""
    return [s for s in all_statements(role) if "Fn::If" not in s]


def all_statements(role: dict[str, Any]) -> list[dict[str, Any]]:
    return [s for policy in role["Policies"] for s in policy["PolicyDocument"]["Statement"]]


def actions(statement: dict[str, Any]) -> list[str]:
    found = statement["Action"]
    return [found] if isinstance(found, str) else found


@pytest.mark.parametrize("name", ACTIONS)
def test_a_function_has_exactly_the_permissions_it_needs(of_type, name):
    role = of_type("AWS::IAM::Role")[name]
    assert {a for s in statements(role) for a in actions(s)} == ACTIONS[name]
    assert {s["Effect"] for s in statements(role)} == {"Allow"}


@pytest.mark.parametrize("name", ACTIONS)
def test_a_functions_role_has_no_managed_policy_and_is_assumed_by_lambda_alone(of_type, name):
    role = of_type("AWS::IAM::Role")[name]
    assert "ManagedPolicyArns" not in role
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "lambda.amazonaws.com"}


def test_these_are_all_roles_and_none_has_full_access(of_type):
    roles = of_type("AWS::IAM::Role")
    assert set(roles) == {*ACTIONS, "ApiLoggingRole"}
    assert "FullAccess" not in json.dumps(roles)
    assert not [a for r in ACTIONS for s in statements(roles[r]) for a in actions(s) if "*" in a]


def test_every_role_is_below_the_given_path_and_within_the_given_boundary(of_type, template):
    boundary = {"Ref": "PermissionsBoundaryArn"}
    given = holding(template, {"PermissionsBoundaryArn": "arn:aws:iam::123456789012:policy/boundary"})
    for name, role in of_type("AWS::IAM::Role").items():
        assert role["Path"] == {"Ref": "RolePath"}, name
        assert resolved(role, *given)["PermissionsBoundary"] == boundary, name
        assert "PermissionsBoundary" not in resolved(role, *holding(template, {})), name
    assert template["Parameters"]["RolePath"]["Default"] == "/"


def test_the_docs_list_the_services_that_a_boundary_has_to_allow(of_type, template, root):
    roles = [role for role in of_type("AWS::IAM::Role").values() if "Policies" in role]
    granted = [s for role in roles for s in resolved(all_statements(role), *template["Conditions"])]
    services = sorted({action.split(":")[0] for s in granted if s["Effect"] == "Allow" for action in actions(s)})
    page = (root / "docs" / "reference" / "security.md").read_text(encoding="utf-8")
    assert f"actions of {', '.join(f'`{name}`' for name in services)};" in page


@pytest.mark.parametrize("name", ACTIONS)
def test_only_permissions_without_resource_types_are_for_any_resource(of_type, name):
    for statement in statements(of_type("AWS::IAM::Role")[name]):
        if statement["Resource"] == "*":
            assert actions(statement) in (
                ["sagemaker:ListTrainingJobs"],
                ["ec2:GetSpotPlacementScores"],
                ["cloudwatch:GetMetricData"],
            )


@pytest.mark.parametrize("name", ACTIONS)
def test_a_function_may_write_traces_only_if_tracing_is_active(of_type, name):
    (traces,) = [s["Fn::If"] for s in all_statements(of_type("AWS::IAM::Role")[name]) if "xray:" in json.dumps(s)]
    assert (traces[0], traces[2]) == ("IsTraced", {"Ref": "AWS::NoValue"})
    assert traces[1]["Action"] == ["xray:PutTelemetryRecords", "xray:PutTraceSegments"]


def test_only_the_patrol_function_may_stop_jobs_without_the_queues_mark_and_only_if_configured(of_type, template):
    conditional = {
        name: s["Fn::If"]
        for name, role in of_type("AWS::IAM::Role").items()
        for s in (all_statements(role) if "Policies" in role else ())
        # Keys and VPCs: see test_encryption and test_vpc.
        if "Fn::If" in s
        and s["Fn::If"][0] not in {"HasKey", "IsTraced", "ReusesOutputs", "RunsInVpc", "SeesCheckpoints"}
    }
    assert conditional == {
        "PatrolFunctionRole": [
            "MayStopRogueJobs",
            {
                "Sid": "StopUnmarkedJobs",
                "Effect": "Allow",
                "Action": "sagemaker:StopTrainingJob",
                "Resource": TRAINING_JOBS,
                "Condition": {"Null": {"aws:ResourceTag/headway:job": "true"}},
            },
            {"Ref": "AWS::NoValue"},
        ]
    }
    assert template["Conditions"]["MayStopRogueJobs"] == {"Fn::Equals": [{"Ref": "AllowStoppingRogueJobs"}, "true"]}
    assert template["Parameters"]["AllowStoppingRogueJobs"]["Default"] == "false"


def test_only_submissions_and_ticks_may_read_s3_and_only_the_given_buckets(of_type, template):
    """The reconciler may list the buckets of checkpoints, and read nothing."""
    reading = {
        name: [s["Fn::If"] for s in all_statements(role) if "s3:" in json.dumps(s)]
        for name, role in of_type("AWS::IAM::Role").items()
        if "Policies" in role
    }
    buckets = {"Ref": "ReuseBucketArns"}
    objects = {"Fn::Sub": ["${Buckets}/*", {"Buckets": {"Fn::Join": ["/*,", buckets]}}]}
    expected = [
        {"Sid": "ListForReuse", "Effect": "Allow", "Action": "s3:ListBucket", "Resource": buckets},
        {
            "Sid": "ReadForReuse",
            "Effect": "Allow",
            "Action": "s3:GetObject",
            "Resource": {"Fn::Split": [",", objects]},
        },
    ]
    seeing = {
        "Sid": "SeeCheckpoints",
        "Effect": "Allow",
        "Action": "s3:ListBucket",
        "Resource": {"Ref": "CheckpointBucketArns"},
    }
    granted = [["ReusesOutputs", statement, {"Ref": "AWS::NoValue"}] for statement in expected]
    assert {name: found for name, found in reading.items() if found} == {
        "ApiFunctionRole": granted,
        "ScheduleFunctionRole": granted,
        "ReconcileFunctionRole": [["SeesCheckpoints", seeing, {"Ref": "AWS::NoValue"}]],
    }
    for condition, name in (("ReusesOutputs", "ReuseBucketArns"), ("SeesCheckpoints", "CheckpointBucketArns")):
        none_given = {"Fn::Equals": [{"Fn::Join": ["", {"Ref": name}]}, ""]}
        assert template["Conditions"][condition] == {"Fn::Not": [none_given]}
        assert template["Parameters"][name]["Default"] == ""


def test_only_who_reads_s3_may_ask_what_roles_may_do_and_only_about_roles_of_training_jobs(of_type):
    asking = {
        name: [s["Fn::If"] for s in all_statements(role) if "iam:Simulate" in json.dumps(s)]
        for name, role in of_type("AWS::IAM::Role").items()
        if "Policies" in role
    }
    statement = {
        "Sid": "AskWhatRolesMayRead",
        "Effect": "Allow",
        "Action": "iam:SimulatePrincipalPolicy",
        "Resource": {"Ref": "TrainingRoleArns"},
    }
    assert {name: found for name, found in asking.items() if found} == {
        "ApiFunctionRole": [["ReusesOutputs", statement, {"Ref": "AWS::NoValue"}]],
        "ScheduleFunctionRole": [["ReusesOutputs", statement, {"Ref": "AWS::NoValue"}]],
        "ReconcileFunctionRole": [["SeesCheckpoints", statement, {"Ref": "AWS::NoValue"}]],
    }


def test_a_wildcard_resource_has_a_comment_with_the_reason(text):
    lines = text.splitlines()
    stars = [n for n, line in enumerate(lines) if re.search(r"""Resource:\s*\[?\s*["']\*["']""", line)]
    assert stars
    assert [lines[n - 1].strip()[:11] for n in stars] == ['# Why "*": '] * len(stars)


def of_jobs(role: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the statements of a role except the one on training plans."""
    return [statement for statement in statements(role) if statement.get("Sid") != "UseTrainingPlans"]


def test_jobs_may_be_started_in_any_training_plan_of_this_account_and_region_by_the_scheduler_alone(of_type):
    """In addition to the permission to start the job itself, which requires the queue's mark."""
    using = {
        name: statement
        for name in ACTIONS
        for statement in statements(of_type("AWS::IAM::Role")[name])
        if statement.get("Sid") == "UseTrainingPlans"
    }
    assert set(using) == {"ScheduleFunctionRole"}
    of_account = "arn:${AWS::Partition}:sagemaker:${AWS::Region}:${AWS::AccountId}:"
    assert using["ScheduleFunctionRole"] == {
        "Sid": "UseTrainingPlans",
        "Effect": "Allow",
        "Action": "sagemaker:CreateTrainingJob",
        "Resource": [{"Fn::Sub": f"{of_account}{kind}/*"} for kind in ("training-plan", "reserved-capacity")],
    }


@pytest.mark.parametrize("name", ACTIONS)
def test_sagemaker_is_limited_to_training_jobs_and_plans_of_this_account_and_region(of_type, name):
    for statement in of_jobs(of_type("AWS::IAM::Role")[name]):
        if actions(statement) == ["sagemaker:DescribeTrainingPlan"]:
            assert statement["Resource"] == TRAINING_PLANS
            continue
        if any(a.startswith("sagemaker:") for a in actions(statement) if a != "sagemaker:ListTrainingJobs"):
            assert statement["Resource"] == TRAINING_JOBS


@pytest.mark.parametrize("name", ACTIONS)
def test_only_jobs_with_a_mark_of_this_queue_are_started_and_stopped(of_type, name):
    mark = {"Fn::Sub": "${JobsTable}/*"}
    needs = {
        # An action granted with it marks only resources that are being created.
        "sagemaker:AddTags": {
            "StringLike": {"aws:RequestTag/headway:attempt": mark},
            "StringEquals": {"sagemaker:TaggingAction": "CreateTrainingJob"},
        },
        "sagemaker:CreateTrainingJob": {"StringLike": {"aws:RequestTag/headway:attempt": mark}},
        "sagemaker:StopTrainingJob": {"StringLike": {"aws:ResourceTag/headway:attempt": mark}},
        "sagemaker:UpdateTrainingJob": {
            "StringLike": {"aws:ResourceTag/headway:attempt": mark},
            "NumericEquals": {"sagemaker:KeepAlivePeriod": 0},
        },
    }
    for statement in of_jobs(of_type("AWS::IAM::Role")[name]):
        for action in set(actions(statement)) & set(needs):
            assert statement["Condition"] == needs[action]


def test_the_longest_name_of_a_table_leaves_room_for_a_mark_in_the_value_of_a_tag(template):
    longest = "t" * 223
    pattern = template["Parameters"]["TableName"]["AllowedPattern"]
    assert re.match(pattern, longest)
    assert not re.match(pattern, longest + "t")
    mark = Marks(MemoryTable(), longest, lambda: "key").of("a", "a", 1)
    assert len(mark) == 256, "a tag's value has up to 256 characters"
    assert fnmatchcase(mark, f"{longest}/*"), "the conditions of the roles allow it"


def test_the_scheduler_passes_named_roles_to_sagemaker_only(of_type, template):
    (statement,) = [
        s for s in statements(of_type("AWS::IAM::Role")["ScheduleFunctionRole"]) if "iam:PassRole" in actions(s)
    ]
    assert statement["Resource"] == {"Ref": "TrainingRoleArns"}
    assert statement["Condition"] == {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
    pattern = template["Parameters"]["TrainingRoleArns"]["AllowedPattern"]
    assert re.match(pattern, "arn:aws:iam::123456789012:role/service-role/training")
    assert not re.match(pattern, "arn:aws:iam::123456789012:role/*")
    assert "Default" not in template["Parameters"]["TrainingRoleArns"]


def arn(name: str) -> dict[str, list[str]]:
    return {"Fn::GetAtt": [name, "Arn"]}


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        *((action, [arn("EventDeadLetters"), arn("WakeDeadLetters")]) for action in sorted(LETTERS)),
        ("sqs:SendMessage", arn("WakeQueue")),
        ("lambda:InvokeFunction", arn("ObserveFunction")),
    ],
)
def test_the_api_reads_only_the_dead_letter_queues_and_sends_only_to_the_observe_function_and_the_wake_queue(
    of_type, action, resource
):
    found = [s for s in statements(of_type("AWS::IAM::Role")["ApiFunctionRole"]) if action in actions(s)]
    assert [s["Resource"] for s in found] == [resource]


@pytest.mark.parametrize("name", ACTIONS)
def test_a_function_writes_to_its_own_logs_only(of_type, name):
    (logs,) = [s for s in statements(of_type("AWS::IAM::Role")[name]) if "logs:PutLogEvents" in actions(s)]
    assert logs["Resource"] == {"Fn::GetAtt": [name.replace("Role", "Logs"), "Arn"]}


@pytest.mark.parametrize("name", ACTIONS)
def test_a_function_accesses_one_table_only_two_its_index_and_the_tell_function_its_stream(of_type, name):
    found: dict[str, set[str]] = {}
    for s in statements(of_type("AWS::IAM::Role")[name]):
        if any(a.startswith("dynamodb:") for a in actions(s)):
            found.setdefault(json.dumps(s["Resource"]), set()).update(actions(s))
    table = {a for a in ACTIONS[name] if a.startswith("dynamodb:")} - STREAM
    lists = name in {"ApiFunctionRole", "ReconcileFunctionRole"}
    index = {json.dumps({"Fn::Sub": "${JobsTable.Arn}/index/listing"}): QUERIES} if lists else {}
    stream = {
        json.dumps({"Fn::GetAtt": ["JobsTable", "StreamArn"]}): STREAM - {"dynamodb:ListStreams"},
        json.dumps({"Fn::Sub": "${JobsTable.Arn}/stream/*"}): {"dynamodb:ListStreams"},
    }
    streams = stream if name == "TellFunctionRole" else {}
    assert found == {json.dumps({"Fn::GetAtt": ["JobsTable", "Arn"]}): table, **index, **streams}


def test_the_tell_function_accesses_only_the_configuration_and_the_feed(of_type):
    found = {
        action: statement["Condition"]
        for statement in statements(of_type("AWS::IAM::Role")["TellFunctionRole"])
        for action in actions(statement)
        if action.startswith("dynamodb:") and action not in STREAM
    }
    feed = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [FEED]}}
    assert found == {
        "dynamodb:GetItem": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["config", FEED]}},
        "dynamodb:PutItem": feed,
        "dynamodb:Query": feed,
    }


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("events:PutEvents", arn("EventBus")),
        ("sns:Publish", {"Ref": "NotificationTopic"}),
        ("sqs:SendMessage", arn("EventDeadLetters")),
    ],
)
def test_the_tell_function_publishes_only_to_this_bus_and_topic(of_type, action, resource):
    found = [s for s in statements(of_type("AWS::IAM::Role")["TellFunctionRole"]) if action in actions(s)]
    assert [s["Resource"] for s in found] == [resource]


def test_the_watch_function_changes_only_the_queues_alarms(of_type):
    (statement,) = [
        s
        for s in statements(of_type("AWS::IAM::Role")["WatchFunctionRole"])
        if "cloudwatch:PutMetricAlarm" in actions(s)
    ]
    assert statement["Resource"]["Fn::Sub"].endswith(":alarm:${AWS::StackName}-watch/*")
