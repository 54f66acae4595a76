"""No update replaces or removes what keeps the queue, unless somebody says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy import guard

ROOT = Path(__file__).resolve().parents[2]


def change(name: str = "JobsTable", action: str = "Modify", **more: Any) -> dict[str, Any]:
    return {"LogicalResourceId": name, "Action": action, "PhysicalResourceId": "queue", **more}


def modified(replacement: str, *properties: tuple[str, str], name: str = "JobsTable") -> dict[str, Any]:
    """A change of properties, each with whether it takes a new resource."""
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
    ],
)
def test_an_update_is_refused_if_it_replaces_or_removes_what_is_kept(made: dict[str, Any], said: list[str]):
    found = list(guard.find_losses([made], {"JobsTable"}))
    assert len(found) == len(said)
    assert all(part in sentence for part, sentence in zip(said, found, strict=True))


def test_what_may_be_replaced_this_once_passes():
    losing = [change(action="Remove"), modified("True", ("TableName", "Always"))]
    assert list(guard.find_losses(losing, guard.protected() - {"JobsTable"})) == []


def test_the_policy_protects_what_the_template_has(template_names: set[str]):
    assert guard.protected() >= {"JobsTable", "ConfigParameter"}
    assert guard.protected() <= template_names


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
