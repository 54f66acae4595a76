"""A customer managed key permits what the queue needs, and no more."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from yaml import load

from tests.template.security.test_network import Plain


@pytest.fixture(scope="module")
def statements(root):
    template = load((root / "deploy" / "key.yaml").read_text(encoding="utf-8"), Plain)
    return {s["Sid"]: s for s in template["Resources"]["Key"]["Properties"]["KeyPolicy"]["Statement"]}


def test_only_services_of_the_queue_may_use_the_key_and_only_for_its_resources(statements):
    services = {sid: s["Principal"]["Service"] for sid, s in statements.items() if "Service" in s["Principal"]}
    assert services == {
        "LogGroupsOfTheQueue": "logs.${AWS::Region}.${AWS::URLSuffix}",
        "RulesOfTheQueue": "events.amazonaws.com",
        "AlarmsOfTheQueue": "cloudwatch.amazonaws.com",
    }
    assert all("${StackName}" in str(statements[sid]["Condition"]) for sid in services)


def test_every_log_group_of_the_queue_may_use_the_key(statements, of_type):
    patterns = statements["LogGroupsOfTheQueue"]["Condition"]["ArnLike"]["kms:EncryptionContext:aws:logs:arn"]
    named = [pattern.rpartition("log-group:")[2].replace("${StackName}", "${AWS::StackName}") for pattern in patterns]
    for group in of_type("AWS::Logs::LogGroup").values():
        name = group["LogGroupName"]["Fn::Sub"]
        assert any(fnmatchcase(name, pattern) for pattern in named), name
