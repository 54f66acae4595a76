"""A deployment that would fail is refused before it changes anything, with a sentence on what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml
from botocore.exceptions import NoCredentialsError

from deploy import parameters, preflight
from deploy.account import NO_STACK, Account, Endpoint, Stack
from tests.deploy.test_parameters import NEEDED
from tests.template.security.test_network import Plain

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "template.yaml"
DECLARED = parameters.read_declared(TEMPLATE)
ID = NEEDED["VpcEndpointIds"]
ENDPOINT = Endpoint(service="com.amazonaws.eu-west-1.execute-api", state="available", private_names=True)
READY = Account(
    id="123456789012", region="eu-west-1", unreserved=1000, endpoints={ID: ENDPOINT}, logs_apis=True
)  # fmt: skip
LIVE = Stack(status="UPDATE_COMPLETE")


def problems(
    account: Account = READY, stack: Stack = NO_STACK, given: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    wanted = parameters.values({**NEEDED, **given}, {}, DECLARED)
    return list(preflight.find_problems(wanted, stack, account))


def test_an_account_that_is_ready_has_no_problems():
    assert problems() == []
    assert list(preflight.find_notes(READY)) == []


@pytest.mark.parametrize("stack", [NO_STACK, Stack(status="REVIEW_IN_PROGRESS"), Stack(status="ROLLBACK_COMPLETE")])
@pytest.mark.parametrize(
    ("has_items", "said"),
    [
        (False, "The table sagemaker-queue already exists and is empty, as a first deployment that failed leaves it. "),
        (True, "The table sagemaker-queue already exists and has items, perhaps of a deleted queue. "),
    ],
)
def test_a_table_of_that_name_blocks_a_first_deployment(stack: Stack, has_items: bool, said: str):
    (sentence,) = problems(replace(READY, table_has_items=has_items), stack)
    assert sentence.startswith(said)
    assert ("delete-table --table-name sagemaker-queue" in sentence) is not has_items


@pytest.mark.parametrize("stack", [LIVE, Stack()])
def test_the_table_of_a_stack_that_exists_or_is_unknown_is_its_own(stack: Stack):
    assert problems(replace(READY, table_has_items=True), stack) == []


@pytest.mark.parametrize(
    ("unreserved", "before", "wanted", "refused"),
    [
        (1000, 0, 2, False),
        (102, 0, 2, False),
        (101, 0, 2, True),
        (10, 0, 2, True),
        (10, 0, 0, False),
        (None, 0, 2, False),
        (100, 2, 2, False),
        (100, 2, 3, True),
        (100, 3, 2, False),
    ],
)
def test_concurrency_is_reserved_only_if_lambda_keeps_enough_for_others(
    unreserved: int | None, before: int, wanted: int, refused: bool
):
    stack = replace(LIVE, parameters={"ScheduleConcurrency": str(before)}) if before else NO_STACK
    found = problems(replace(READY, unreserved=unreserved), stack, {"ScheduleConcurrency": str(wanted)})
    sentence = (
        f"ScheduleConcurrency={wanted} can't be reserved: {unreserved} concurrent executions are unreserved in this "
        "account and region, and Lambda keeps 100 of them. Set ScheduleConcurrency=0, or ask for a higher quota."
    )
    assert found == ([sentence] if refused else [])


def test_the_concurrency_of_an_unknown_stack_counts_as_reserved():
    assert problems(replace(READY, unreserved=10), Stack(), {"ScheduleConcurrency": "2"}) == []


def test_no_concurrency_is_reserved_by_default():
    assert problems(replace(READY, unreserved=10)) == []


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [
        (None, "does not exist in account 123456789012, eu-west-1."),
        (replace(ENDPOINT, service="com.amazonaws.eu-west-1.sqs"), "is for com.amazonaws.eu-west-1.sqs: name one for "),
        (replace(ENDPOINT, state="pendingAcceptance"), "is pendingAcceptance: it must be available."),
        (replace(ENDPOINT, state="Available"), None),
    ],
)
def test_each_endpoint_has_to_exist_for_the_api(endpoint: Endpoint | None, said: str | None):
    other = "vpce-0fedcba9876543210"
    endpoints = {ID: ENDPOINT, **({other: endpoint} if endpoint else {})}
    found = problems(replace(READY, endpoints=endpoints), given={"VpcEndpointIds": f"{ID},{other}"})
    assert [each.startswith(f"The VPC endpoint {other} (VpcEndpointIds) {said}") for each in found] == [True] * bool(
        said
    )


def test_endpoints_that_could_not_be_read_are_no_problem():
    assert problems(replace(READY, endpoints=None)) == []


KEY = "arn:aws:kms:eu-central-1:123456789012:key/00000000-0000-4000-8000-000000000000"
TOPIC = "arn:aws:sns:eu-central-1:123456789012:alarms"
FOREIGN = "arn:aws:iam::210987654321:role/a"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"KmsKeyArn": KEY}, f"{KEY} (KmsKeyArn) is in eu-central-1, and the queue in eu-west-1: name one there."),
        ({"KmsKeyArn": KEY.replace("central", "west")}, None),
        ({"KmsKeyArn": KEY.replace("central", "west").replace("123456789012", "210987654321")}, None),
        ({"AlarmTopicArn": TOPIC}, f"{TOPIC} (AlarmTopicArn) is in eu-central-1, and the queue in eu-west-1: name "),
        (
            {"TrainingRoleArns": f"{NEEDED['TrainingRoleArns']},{FOREIGN}"},
            f"{FOREIGN} (TrainingRoleArns) is of account 210987654321: name roles of account 123456789012.",
        ),
        ({"FunctionSubnetIds": "subnet-0123456789abcdef0"}, "FunctionSubnetIds and FunctionSecurityGroupIds belong "),
        ({"FunctionSecurityGroupIds": "sg-0123456789abcdef0"}, "FunctionSubnetIds and FunctionSecurityGroupIds belong"),
        (
            {"FunctionSubnetIds": "subnet-0123456789abcdef0", "FunctionSecurityGroupIds": "sg-0123456789abcdef0"},
            None,
        ),
    ],
)
def test_what_the_parameters_name_fits_the_account_and_each_other(given: dict[str, str], said: str | None):
    found = problems(given=given)
    assert [each.startswith(said or "?") for each in found] == [True] * bool(said)


@pytest.mark.parametrize(
    ("creates", "logs_apis", "refused"),
    [("true", False, False), ("false", True, False), ("false", False, True), ("false", None, False)],
)
def test_an_api_that_logs_needs_a_role_for_logs(creates: str, logs_apis: bool | None, refused: bool):
    found = problems(replace(READY, logs_apis=logs_apis), given={"CreateApiLoggingRole": creates})
    assert [each.startswith("API Gateway has no role for logs") for each in found] == [True] * refused


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("q", "NONE", None),
        ("q", "", None),
        ("q", "REVIEW_IN_PROGRESS", None),
        ("q", "UPDATE_COMPLETE", None),
        ("q", "UPDATE_ROLLBACK_COMPLETE", None),
        ("q", "ROLLBACK_COMPLETE", "The stack q is ROLLBACK_COMPLETE, and can only be deleted: `aws cloudformation "),
        ("q", "UPDATE_ROLLBACK_FAILED", "The stack q is UPDATE_ROLLBACK_FAILED: fix the cause that its events name"),
        ("q", "UPDATE_IN_PROGRESS", "The stack q is UPDATE_IN_PROGRESS: wait until that has ended."),
        ("q" * 57, "NONE", None),
        ("q" * 58, "NONE", f"The stack's name, {'q' * 58}, has 58 characters; at most 57 are possible."),
    ],
)
def test_the_stack_has_to_be_in_a_state_that_can_be_deployed(name: str, status: str, said: str | None):
    found = list(preflight.find_stack_problems(name, Stack(status=status)))
    assert [each.startswith(said or "?") for each in found] == [True] * bool(said)


def test_the_longest_name_of_a_stack_leaves_room_for_the_names_of_its_queues():
    resources = yaml.load(TEMPLATE.read_text(encoding="utf-8"), Plain)["Resources"].values()
    names = [each["Properties"]["QueueName"] for each in resources if each["Type"] == "AWS::SQS::Queue"]
    longest = max(len(name.replace("${AWS::StackName}", "")) for name in names)
    assert preflight.MAX_STACK_NAME_CHARS + longest == 80


@pytest.mark.parametrize(
    ("account", "said"),
    [
        (replace(READY, unread=["TableName could not be checked: denied"]), "TableName could not be checked: denied"),
        (
            replace(READY, endpoints={ID: replace(ENDPOINT, private_names=False)}),
            f"{ID} has no private names: clients use the output ApiEndpointWithoutPrivateDns.",
        ),
        (
            replace(READY, unreserved=99),
            "Lambda runs at most 99 executions at once for all functions that reserve none",
        ),
    ],
)
def test_a_note_tells_what_does_not_stop_a_deployment(account: Account, said: str):
    (note,) = preflight.find_notes(account)
    assert note.startswith(said)
    assert problems(account) == []


@pytest.fixture
def config(tmp_path: Path) -> Path:
    text = " ".join(f"{name}={value}" for name, value in NEEDED.items())
    path = tmp_path / "samconfig.toml"
    path.write_text(f'[dev.deploy.parameters]\nstack_name = "q"\nparameter_overrides = "{text}"\n')
    return path


def run(monkeypatch: pytest.MonkeyPatch, config: Path, account: Account, stack: Stack = NO_STACK) -> int:
    monkeypatch.setattr(preflight, "read_stack", lambda *_: stack)
    monkeypatch.setattr(preflight, "read_account", lambda *_: account)
    return preflight.main([str(config), "dev", "--template", str(TEMPLATE)])


def test_a_deployment_that_would_fail_is_refused_with_each_reason(
    monkeypatch: pytest.MonkeyPatch, config: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(monkeypatch, config, replace(READY, table_has_items=False, endpoints={}, unread=["a note"])) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Note: a note"
    assert [line.startswith("Refused: The ") for line in lines[1:-1]] == [True, True]
    assert lines[-1] == "Nothing was changed. CHECKS=no deploys without these checks."


def test_a_deployment_without_problems_goes_on_silently(
    monkeypatch: pytest.MonkeyPatch, config: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(monkeypatch, config, READY) == 0
    assert capsys.readouterr().err == ""


def test_invalid_parameters_are_named_before_the_account_is_read(
    monkeypatch: pytest.MonkeyPatch, config: Path, capsys: pytest.CaptureFixture[str]
):
    config.write_text(config.read_text().replace("vpce-", "vpc-"))
    assert run(monkeypatch, config, replace(READY, table_has_items=True)) == 1
    refused, _ = capsys.readouterr().err.splitlines()
    assert refused.startswith('Refused: VpcEndpointIds can\'t be "vpc-0123456789abcdef0".')


def test_an_update_needs_no_value_that_the_stack_has(monkeypatch: pytest.MonkeyPatch, config: Path):
    config.write_text('[dev.deploy.parameters]\nstack_name = "q"\n')
    assert run(monkeypatch, config, READY, replace(LIVE, parameters=NEEDED)) == 0
    assert run(monkeypatch, config, READY, Stack(status="REVIEW_IN_PROGRESS", parameters=NEEDED)) == 1


def test_missing_credentials_are_told_without_a_traceback(monkeypatch: pytest.MonkeyPatch, config: Path):
    def deny(*_: object) -> Stack:
        raise NoCredentialsError

    monkeypatch.setattr(preflight, "read_stack", deny)
    with pytest.raises(SystemExit, match="The account can't be checked: Unable to locate credentials"):
        preflight.main([str(config), "dev", "--template", str(TEMPLATE)])
