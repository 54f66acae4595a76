"""The rules of cfn-guard hold, and each of them can be broken."""

import copy
import json
import os
import subprocess
import sys

import pytest

from tests.template.conditions import deployed

WITHOUT_GUARD = "cfn-guard has no wheel for Python 3.13 (requirements/template.in)"
ROLE = ("Resources", "ApiFunctionRole", "Properties")
FIRST = (*ROLE, "Policies", 0, "PolicyDocument", "Statement", 0)
TABLE = ("Resources", "JobsTable")
KEPT = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}

# The change, and the rule that has to detect it. The last element of a path is set; None removes it.
BROKEN = {
    "another name of the table": (TABLE, "Properties.TableName", "jobs", "nothing_replaces_the_table"),
    "another key": (TABLE, "Properties.KeySchema", [{"AttributeName": "pk"}], "nothing_replaces_the_table"),
    "a table that goes": (TABLE, "DeletionPolicy", "Delete", "a_table_is_kept_and_can_be_restored"),
    "a table that is replaced": (TABLE, "UpdateReplacePolicy", "Delete", "a_table_is_kept_and_can_be_restored"),
    "no recovery": (TABLE, "Properties.PointInTimeRecoverySpecification", None, "a_table_is_kept_and_can_be_restored"),
    "no protection": (TABLE, "Properties.DeletionProtectionEnabled", None, "a_table_is_kept_and_can_be_restored"),
    "a plain table": (TABLE, "Properties.SSESpecification", None, "tables_queues_and_topics_are_encrypted"),
    "a plain queue": (
        ("Resources", "WakeQueue", "Properties"),
        "SqsManagedSseEnabled",
        False,
        "tables_queues_and_topics_are_encrypted",
    ),
    "a plain topic": (
        ("Resources", "NotificationTopic", "Properties"),
        "KmsMasterKeyId",
        None,
        "tables_queues_and_topics_are_encrypted",
    ),
    "a key that stays": (
        ("Resources",),
        "Key",
        {**KEPT, "Type": "AWS::KMS::Key", "Properties": {"EnableKeyRotation": False}},
        "tables_queues_and_topics_are_encrypted",
    ),
    "a log for ever": (("Resources", "ApiFunctionLogs", "Properties"), "RetentionInDays", None, "logs_are_forgotten"),
    "a log without a word": (
        ("Resources", "ApiFunctionLogs"),
        "DeletionPolicy",
        None,
        "what_keeps_data_says_what_becomes_of_it",
    ),
    "a public API": (
        ("Resources", "Api", "Properties"),
        "EndpointConfiguration.Types",
        ["REGIONAL"],
        "no_api_is_public",
    ),
    "an API without a policy": (
        ("Resources", "Api", "Properties", "Body"),
        "x-amazon-apigateway-policy",
        None,
        "no_api_is_public",
    ),
    "a function with an URL": (("Resources",), "Url", {"Type": "AWS::Lambda::Url"}, "no_api_is_public"),
    "any action on the table": (FIRST, "Action", ["dynamodb:*"], "no_role_is_granted_actions_by_wildcard"),
    "any action": (FIRST, "Action", "*", "no_role_is_granted_actions_by_wildcard"),
    "full access": (
        ROLE,
        "ManagedPolicyArns",
        [{"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/AmazonSageMakerFullAccess"}],
        "no_role_has_policies_that_others_change",
    ),
    "full access by its name": (
        ROLE,
        "ManagedPolicyArns",
        ["arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess"],
        "no_role_has_policies_that_others_change",
    ),
    "a role passed to anybody": (
        FIRST,
        "",
        {"Effect": "Allow", "Action": "iam:PassRole", "Resource": {"Ref": "TrainingRoleArns"}},
        "roles_are_passed_to_sagemaker_only",
    ),
    "any role passed": (
        FIRST,
        "",
        {
            "Effect": "Allow",
            "Action": ["iam:GetRole", "iam:PassRole"],
            "Resource": "*",
            "Condition": {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
        },
        "roles_are_passed_to_sagemaker_only",
    ),
}
BROKEN_WITH_KEY = {
    f"a plain {kind}": (("Resources", name, "Properties"), key, "x", "a_key_of_ones_own_is_used_for_all")
    for kind, name, key in (
        ("queue", "WakeQueue", "KmsMasterKeyId"),
        ("topic", "WatchTopic", "KmsMasterKeyId"),
        ("log", "ApiAccessLogs", "KmsKeyId"),
        ("environment", "TellFunction", "KmsKeyArn"),
    )
}


def changed(template, path, inner, value):
    """Return a copy of the template with a value set or removed at the path."""
    template = copy.deepcopy(template)
    keys = [*path, *inner.split(".")] if inner else [*path]
    holder = template
    for key in keys[:-1]:
        holder = holder[key]
    if value is None:
        del holder[keys[-1]]
    else:
        holder[keys[-1]] = value
    return template


@pytest.fixture(scope="module")
def found(root, template):
    """Return the broken rules of all templates, from one run of the guard."""
    if sys.version_info >= (3, 13):
        pytest.skip(WITHOUT_GUARD)
    with_key = {"KmsKeyArn": "arn:aws:kms:eu-west-1:123456789012:key/0"}
    watched = {"Alarms": "all", "CreateDashboard": "true"}
    plain, own = deployed(template, **watched), deployed(template, **watched, **with_key)
    cases = {"as it is": plain, "as it is, with a key": own}
    cases |= {name: changed(plain, *rest[:3]) for name, rest in BROKEN.items()}
    cases |= {f"{name}, with a key": changed(own, *rest[:3]) for name, rest in BROKEN_WITH_KEY.items()}
    done = subprocess.run(
        [root / ".envs" / "template" / "bin" / "python", "-m", "tests.template.guard"],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert (done.returncode, done.stderr) == (1, "")
    return json.loads(done.stdout)


def test_the_template_keeps_all_rules_with_a_key_and_without(found):
    assert (found["as it is"], found["as it is, with a key"]) == ([], [])


@pytest.mark.parametrize("name", BROKEN)
def test_broken_rules_are_detected(found, name):
    assert found[name] == [BROKEN[name][3]]


@pytest.mark.parametrize("name", BROKEN_WITH_KEY)
def test_omissions_of_a_customer_managed_key_are_detected(found, name):
    assert found[f"{name}, with a key"] == [BROKEN_WITH_KEY[name][3]]


def test_every_rule_is_broken_in_the_tests(root):
    rules = [
        line.split()[1]
        for line in (root / "deploy" / "rules.guard").read_text(encoding="utf-8").splitlines()
        if line.startswith("rule ")
    ]
    assert set(rules) == {rest[3] for rest in (*BROKEN.values(), *BROKEN_WITH_KEY.values())}
