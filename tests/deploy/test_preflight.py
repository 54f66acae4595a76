"""A deployment that would fail is refused before it changes anything; what would not make it fail is noted."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from deploy import preflight
from headway_client.account.stack import MAX_STACK_NAME_CHARS
from tests.client.account.fake_account import PARAMETERS, TRAINING, FakeAccount
from tests.template.security.test_network import Plain

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "template.yaml"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    text = " ".join(f"{name}={value}" for name, value in PARAMETERS.items())
    path = tmp_path / "samconfig.toml"
    path.write_text(f'[dev.deploy.parameters]\nstack_name = "q"\nparameter_overrides = "{text}"\n')
    return path


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> FakeAccount:
    """An account without the stack."""
    fake = FakeAccount(status=None, items=None)
    monkeypatch.setattr(preflight, "make_clients", lambda **_: fake.client)
    monkeypatch.setattr(preflight, "configured_connection", lambda: None)
    return fake


def run(config: Path) -> int:
    return preflight.main([str(config), "dev", "--template", str(TEMPLATE)])


def test_a_deployment_without_problems_goes_on_silently(
    account: FakeAccount, config: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(config) == 0
    assert capsys.readouterr() == ("", "")


def test_a_deployment_that_would_fail_is_refused_with_each_reason(
    account: FakeAccount, config: Path, capsys: pytest.CaptureFixture[str]
):
    account.items, account.endpoints = 0, {}
    account.quotas[TRAINING] = 0
    assert run(config) == 1
    lines = capsys.readouterr().err.splitlines()
    refused = [line for line in lines if line.startswith("Refused: ")]
    assert refused[0].startswith("Refused: the table sagemaker-queue: it already exists and is empty")
    assert refused[1].startswith("Refused: the VPC endpoint vpce-0123456789abcdef0 (VpcEndpointIds): it does not exist")
    assert {line.partition(": ")[0] for line in lines[:-3]} == {"Note"}
    assert lines[-1] == "Nothing was changed. CHECKS=no deploys without these checks."
    assert f'Note: the quota "{TRAINING}": 0; ' in "\n".join(lines)


def test_what_does_not_make_it_fail_is_noted_with_what_to_change(
    account: FakeAccount, config: Path, capsys: pytest.CaptureFixture[str]
):
    account.quotas[TRAINING] = 1
    assert run(config) == 0
    (note,) = capsys.readouterr().err.splitlines()
    assert note.startswith(f'Note: the quota "{TRAINING}": 1; the pool ml.p5.48xlarge has 2 instances')
    assert "Ask for at least 2" in note


def test_invalid_parameters_are_named_before_the_account_is_read(
    account: FakeAccount, config: Path, capsys: pytest.CaptureFixture[str]
):
    config.write_text(config.read_text().replace("vpce-", "vpc-"))
    account.items = 5
    assert run(config) == 1
    refused, _ = capsys.readouterr().err.splitlines()
    assert refused.startswith('Refused: the parameter VpcEndpointIds: it can\'t be "vpc-0123456789abcdef0".')
    assert {action for action, _ in account.calls} == {"sts:GetCallerIdentity", "cloudformation:DescribeStacks"}


def test_a_deployment_whose_policies_are_too_long_is_refused(
    account: FakeAccount, config: Path, capsys: pytest.CaptureFixture[str]
):
    endpoints = [f"vpce-{number:017x}" for number in range(400)]
    config.write_text(config.read_text().replace(PARAMETERS["VpcEndpointIds"], ",".join(endpoints)))
    assert run(config) == 1
    assert "Refused: the policy of Api: it would have " in capsys.readouterr().err


def test_an_update_needs_no_value_that_the_stack_has(account: FakeAccount, config: Path):
    config.write_text('[dev.deploy.parameters]\nstack_name = "q"\n')
    account.status = "UPDATE_COMPLETE"
    assert run(config) == 0
    account.status = "REVIEW_IN_PROGRESS"
    assert run(config) == 1


def test_missing_credentials_are_told_without_a_traceback(account: FakeAccount, config: Path):
    account.denied.add("sts:GetCallerIdentity")
    with pytest.raises(SystemExit, match="The account can't be checked: An error occurred"):
        run(config)


def test_a_configuration_without_the_environment_is_told(account: FakeAccount, config: Path):
    with pytest.raises(SystemExit, match="names no stack_name for prod"):
        preflight.main([str(config), "prod", "--template", str(TEMPLATE)])


def test_the_longest_name_of_a_stack_leaves_room_for_the_names_of_its_queues():
    resources = yaml.load(TEMPLATE.read_text(encoding="utf-8"), Plain)["Resources"].values()
    names = [each["Properties"]["QueueName"] for each in resources if each["Type"] == "AWS::SQS::Queue"]
    longest = max(len(name.replace("${AWS::StackName}", "")) for name in names)
    assert MAX_STACK_NAME_CHARS + longest == 80
