"""No update of the stack replaces or removes the table; all others pass."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
import yaml

from deploy import stack_policy as deployed
from headway_sandbox.emulator import stack_policy

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("name", "action", "passes"),
    [
        ("JobsTable", "Update:Modify", True),
        ("JobsTable", "Update:Replace", False),
        ("JobsTable", "Update:Delete", False),
        # Where the configuration once was: it may follow other parameters and tags now.
        ("ConfigParameter", "Update:Modify", True),
        ("ApiFunction", "Update:Replace", True),
    ],
)
def test_the_stack_policy_protects_the_table(name: str, action: str, passes: bool):
    policy = deployed.POLICY.read_text(encoding="utf-8")
    said = stack_policy.refusal(policy, action=action, logical_id=name, resource_type="AWS::Any::Type")
    assert (said is None) == passes


def test_the_table_has_that_name_in_the_template():
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    nodes = {key.value: value for key, value in yaml.compose(text, yaml.SafeLoader).value}  # type: ignore[union-attr]  # a template is a mapping
    assert "JobsTable" in {key.value for key, _value in nodes["Resources"].value}


def test_the_policy_is_set_for_the_stack_that_sam_deploys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    config = tmp_path / "samconfig.toml"
    config.write_text('[dev.global.parameters]\nstack_name = "a"\nregion = "eu-west-1"\nprofile = "ml"\n')
    session = Mock()
    made = Mock(return_value=session)
    monkeypatch.setattr("boto3.Session", made)
    deployed.main([str(config), "dev"])
    assert made.call_args.kwargs == {"region_name": "eu-west-1", "profile_name": "ml"}
    set_policy = session.client.return_value.set_stack_policy.call_args.kwargs
    assert set_policy == {"StackName": "a", "StackPolicyBody": deployed.POLICY.read_text(encoding="utf-8")}


def test_a_part_that_the_configuration_lacks_is_refused():
    with pytest.raises(SystemExit, match="names no stack_name for production"):
        deployed.main([str(ROOT / "samconfig.toml"), "production"])
