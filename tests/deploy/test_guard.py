"""No update replaces, removes or overwrites the queue's stored data, unless it is requested."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import yaml

from deploy import guard
from headway_sandbox.emulator import stack_policy

ROOT = Path(__file__).resolve().parents[2]


def change(name: str = "JobsTable", action: str = "Modify", **more: Any) -> dict[str, Any]:
    return {"LogicalResourceId": name, "Action": action, "PhysicalResourceId": "queue", **more}


def modified(replacement: str, *properties: tuple[str, str], name: str = "JobsTable") -> dict[str, Any]:
    """Return a change of properties, each with whether it requires a replacement."""
    targets = [{"Attribute": "Properties", "Name": each, "RequiresRecreation": when} for each, when in properties]
    return change(name, Replacement=replacement, Details=[{"Target": target} for target in targets])


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (change(action="Add"), []),
        (change("WakeQueue", action="Remove"), []),
        (change(action="Remove"), ["would remove JobsTable, queue."]),
        (modified("False", ("TimeToLiveSpecification", "Never")), []),
        (modified("True", ("QueueName", "Always"), name="WakeQueue"), []),
        (modified("True", ("TableName", "Always"), ("Tags", "Never")), ["would replace JobsTable, queue (TableName)."]),
        (modified("True"), ["would replace JobsTable, queue."]),
        (modified("Conditional", ("KeySchema", "Conditionally")), ["would replace JobsTable, queue (KeySchema)."]),
        (modified("Conditional", ("AttributeDefinitions", "Conditionally")), []),
        (change("ConfigParameter", action="Add"), []),
        (change("ConfigParameter", action="Remove"), ["would remove ConfigParameter, queue."]),
        (
            modified("False", ("Value", "Never"), ("Description", "Never"), name="ConfigParameter"),
            ["would overwrite ConfigParameter, queue (Description, Value)."],
        ),
        (
            modified("True", ("Name", "Always"), name="ConfigParameter"),
            ["would replace ConfigParameter, queue (Name)."],
        ),
        (
            change(
                "ConfigParameter",
                Replacement="False",
                Details=[{"Target": {"Attribute": "Tags", "RequiresRecreation": "Never"}}],
            ),
            ["would overwrite ConfigParameter, queue (Tags)."],
        ),
    ],
)
def test_an_update_is_refused_if_it_replaces_or_removes_a_retained_resource(made: dict[str, Any], said: list[str]):
    found = list(guard.find_losses([made], guard.protected()))
    assert len(found) == len(said)
    assert all(part in sentence for part, sentence in zip(said, found, strict=True))


def test_a_permitted_replacement_passes():
    losing = [change(action="Remove"), modified("True", ("TableName", "Always"))]
    assert list(guard.find_losses(losing, {"ConfigParameter": guard.protected()["ConfigParameter"]})) == []


def test_the_policy_protects_resources_of_the_template(template_names: set[str]):
    assert guard.protected().keys() == {"JobsTable", "ConfigParameter"}
    assert guard.protected().keys() <= template_names


@pytest.mark.parametrize(
    ("name", "action", "passes"),
    [
        ("ConfigParameter", "Update:Modify", False),
        ("ConfigParameter", "Update:Replace", False),
        ("ConfigParameter", "Update:Delete", False),
        ("JobsTable", "Update:Modify", True),
        ("JobsTable", "Update:Replace", False),
        ("JobsTable", "Update:Delete", False),
        ("ApiFunction", "Update:Modify", True),
    ],
)
def test_the_stack_policy_protects_the_same_resources_as_the_guard(name: str, action: str, passes: bool):
    policy = guard.POLICY.read_text(encoding="utf-8")
    said = stack_policy.refusal(policy, action=action, logical_id=name, resource_type="AWS::Any::Type")
    assert (said is None) == passes
    assert (action in guard.protected().get(name, ())) != passes


class Formation:
    """CloudFormation with one change set created by sam."""

    def __init__(self, *changes: dict[str, Any]) -> None:
        self.changes = changes
        self.policies: list[str] = []
        self.deleted: list[str] = []

    def get_paginator(self, operation: str) -> Any:
        made = {
            "ChangeSetName": "samcli-deploy1",
            "ChangeSetId": "1",
            "ExecutionStatus": "AVAILABLE",
            "CreationTime": 1,
        }
        pages = {
            "list_change_sets": {"Summaries": [made]},
            "describe_change_set": {"Changes": [{"ResourceChange": each} for each in self.changes]},
        }
        return Mock(paginate=lambda **_: [pages[operation]])

    def delete_change_set(self, ChangeSetName: str) -> None:  # noqa: N803 - boto3's name
        self.deleted.append(ChangeSetName)

    def set_stack_policy(self, StackName: str, StackPolicyBody: str) -> None:  # noqa: N803 - boto3's names
        self.policies.append(StackPolicyBody)


OVERWRITING = modified("False", ("Value", "Never"), name="ConfigParameter")


@pytest.mark.parametrize(
    ("changes", "options", "code", "lifted"),
    [
        ([change("ConfigParameter", action="Add"), change(action="Add")], (), 0, False),
        ([modified("False", ("Environment", "Never"), name="ApiFunction")], (), 0, False),
        ([OVERWRITING], (), 1, False),
        ([OVERWRITING], ("--replace", "JobsTable"), 1, False),
        ([OVERWRITING], ("--replace", "ConfigParameter"), 0, True),
    ],
    ids=["first deployment", "other resources", "refused", "another is named", "asked for"],
)
def test_an_update_that_overwrites_the_configuration_passes_only_on_request(
    monkeypatch: pytest.MonkeyPatch, changes: list[dict[str, Any]], options: tuple[str, ...], code: int, lifted: bool
):
    formation = Formation(*changes)
    monkeypatch.setattr("boto3.Session", Mock(return_value=Mock(client=Mock(return_value=formation))))
    assert guard.main(["check", str(ROOT / "samconfig.toml"), "dev", *options]) == code
    assert (bool(formation.policies), formation.deleted) == (lifted, ["1"])


@pytest.fixture
def template_names() -> set[str]:
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    nodes = {key.value: value for key, value in yaml.compose(text, yaml.SafeLoader).value}  # type: ignore[union-attr]  # a template is a mapping
    return {key.value for key, _value in nodes["Resources"].value}


@pytest.mark.parametrize(("env", "stack"), [("dev", "headway-dev"), ("prod", "headway")])
def test_the_stack_is_the_one_that_sam_deploys(env: str, stack: str):
    assert guard.read_config(ROOT / "samconfig.toml", env).stack == stack


def test_the_region_and_the_profile_are_those_that_sam_deploys_with(tmp_path: Path):
    config = tmp_path / "samconfig.toml"
    config.write_text('[dev.global.parameters]\nstack_name = "a"\nregion = "eu-west-1"\nprofile = "ml"\n')
    assert guard.read_config(config, "dev") == guard.Target(stack="a", region="eu-west-1", profile="ml")
    with pytest.raises(SystemExit, match="ENV=dev or ENV=prod"):
        guard.read_config(config, "production")
