"""Who may assume a role, and what the scheduler is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from headway_client.account.roles import Trust, questions, trust_of
from headway_client.account.seen import Identity
from headway_service.sagemaker_api.tags import ATTEMPT_TAG
from tests.client.account.fake_account import ROLE
from tests.template.security.test_network import Plain

TEMPLATE = Path(__file__).resolve().parents[3] / "template.yaml"
SERVICE = {"Service": "sagemaker.amazonaws.com"}
ALLOW = {"Effect": "Allow", "Principal": SERVICE, "Action": "sts:AssumeRole"}
DENY = {**ALLOW, "Effect": "Deny"}
IF = {"Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}, "ArnLike": {"aws:SourceArn": "x"}}}
YES, NO = Trust(granted=True), Trust(granted=False)

POLICIES: dict[str, tuple[Any, Trust]] = {
    "one statement": (ALLOW, YES),
    "one of several statements": ([{**ALLOW, "Principal": {"Service": "ec2.amazonaws.com"}}, ALLOW], YES),
    "one of several services": ({**ALLOW, "Principal": {"Service": ["ec2.amazonaws.com", *SERVICE.values()]}}, YES),
    "all actions of STS": ({**ALLOW, "Action": ["sts:*"]}, YES),
    "an action in other letters": ({**ALLOW, "Action": "STS:assumeRole"}, YES),
    "another service": ({**ALLOW, "Principal": {"Service": "ec2.amazonaws.com"}}, NO),
    "a principal of the account": ({**ALLOW, "Principal": {"AWS": "arn:aws:iam::123456789012:root"}}, NO),
    "another action": ({**ALLOW, "Action": "sts:TagSession"}, NO),
    "no statement": ([], NO),
    "a denial": ([ALLOW, DENY], NO),
    "a denial of all other actions": (
        [ALLOW, {"Effect": "Deny", "Principal": "*", "NotAction": "sts:AssumeRole"}],
        YES,
    ),
    "a denial of all but another action": (
        [ALLOW, {"Effect": "Deny", "Principal": "*", "NotAction": "sts:TagSession"}],
        NO,
    ),
    "a condition": ({**ALLOW, **IF}, Trust(granted=True, conditions=("aws:SourceAccount", "aws:SourceArn"))),
    "a condition that another statement makes needless": ([{**ALLOW, **IF}, ALLOW], YES),
    "a denial under a condition": (
        [ALLOW, {**DENY, **IF}],
        Trust(granted=True, conditions=("aws:SourceAccount", "aws:SourceArn")),
    ),
    "everybody, which may not mean services": (
        {**ALLOW, "Principal": "*"},
        Trust(granted=True, conditions=('the principal "*"',)),
    ),
}


@pytest.mark.parametrize(("statement", "expected"), POLICIES.values(), ids=POLICIES)
def test_a_trust_policy_with(statement: Any, expected: Trust):
    assert trust_of({"Version": "2012-10-17", "Statement": statement}) == expected


def test_the_simulated_calls_have_the_condition_keys_of_the_template():
    resources = yaml.load(TEMPLATE.read_text(encoding="utf-8"), Plain)["Resources"]
    (policy,) = resources["ScheduleFunctionRole"]["Properties"]["Policies"]
    identity = Identity(account="123456789012", region="eu-west-1", arn="arn:aws:iam::123456789012:user/ada")
    for question in questions(identity, table="queue", training_roles=[ROLE]):
        granting = [
            each
            for each in policy["PolicyDocument"]["Statement"]
            if isinstance(each, dict) and question.action in each.get("Action", ()) and "Condition" in each
        ]
        assert granting, question.action
        keys = {key for each in granting for of in each["Condition"].values() for key in of}
        assert keys <= question.context.keys(), question.action


def test_the_simulated_mark_is_one_of_the_queues():
    identity = Identity(account="123456789012", region="eu-west-1")
    create = questions(identity, table="queue", training_roles=[ROLE])[0]
    assert create.context[f"aws:RequestTag/{ATTEMPT_TAG}"].startswith("queue/")
    assert create.resources == ["arn:aws:sagemaker:eu-west-1:123456789012:training-job/headway-doctor"]
