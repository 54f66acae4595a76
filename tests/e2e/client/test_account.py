"""`headway doctor --account` finds what is wrong with a real deployment, and is content when that is mended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.emulator.placeholders import VPC_ENDPOINT
from headway_sandbox.local.aws_account import ROLE
from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.command_line import CommandLine
from tests.e2e.queue_view import QueueView

pytestmark = pytest.mark.e2e

PAGE = Path(__file__).resolve().parents[3] / "docs/reference/access.md"
TRAINING = "ml.p5.48xlarge for training job usage"
BOUNDARY = "doctor-boundary"
ALL = {"Effect": "Allow", "Action": "*", "Resource": "*"}
NOT_CREATE = {"Effect": "Allow", "NotAction": "sagemaker:CreateTrainingJob", "Resource": "*"}


def documented_policy() -> dict[str, Any]:
    """Return the policy that docs/reference/access.md gives to who checks the account."""
    section = PAGE.read_text(encoding="utf-8").partition("## Who checks the account")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^```json\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    policy: dict[str, Any] = json.loads(block)
    return policy


@pytest.fixture
def operator(sb: Sandbox, tmp_path: Path) -> Iterator[CommandLine]:
    """The command line of a user with the documented permissions, and that of reading the queue."""
    policy = documented_policy()
    look = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": "arn:aws:execute-api:*:*:*/v1/GET/*"}
    keys = sb.make_user("operator", {**policy, "Statement": [*policy["Statement"], look]})
    folder = tmp_path / "operator"
    folder.mkdir()
    with closing(CommandLine(sb, folder, keys=keys)) as command_line:
        yield command_line


def examine(operator: CommandLine, sb: Sandbox, *options: str, expect: int) -> list[dict[str, Any]]:
    running = operator.start("doctor", "--account", "--stack", sb.info.stack, *options, "-o", "json")
    # Each function may have to start first.
    out, err = running.process.communicate(timeout=300)
    assert running.process.returncode == expect, out + err
    found: list[dict[str, Any]] = json.loads(out)["findings"]
    return found


def findings(operator: CommandLine, sb: Sandbox, *options: str, expect: int) -> list[dict[str, Any]]:
    """Return what is not ok."""
    return [each for each in examine(operator, sb, *options, expect=expect) if each["result"] != "ok"]


def trust(sb: Sandbox, principal: str) -> None:
    statement = {"Effect": "Allow", "Principal": {"Service": principal}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    sb.client("iam").update_assume_role_policy(RoleName=ROLE, PolicyDocument=document)


def private_names(sb: Sandbox, *, enabled: bool) -> None:
    sb.client("ec2").modify_vpc_endpoint(VpcEndpointId=VPC_ENDPOINT, PrivateDnsEnabled=enabled)


def resource(sb: Sandbox, logical_id: str) -> str:
    answer = sb.client("cloudformation").describe_stack_resource(StackName=sb.info.stack, LogicalResourceId=logical_id)
    return str(answer["StackResourceDetail"]["PhysicalResourceId"])


@pytest.fixture
def faulty(sb: Sandbox) -> Iterator[None]:
    """A deployment with six faults, which are mended at the latest at the end."""
    iam, functions = sb.client("iam"), sb.client("lambda")
    role, tell = resource(sb, "ScheduleFunctionRole"), resource(sb, "TellFunction")
    document = json.dumps({"Version": "2012-10-17", "Statement": [NOT_CREATE]})
    boundary = iam.create_policy(PolicyName=BOUNDARY, PolicyDocument=document)["Policy"]["Arn"]
    iam.put_role_permissions_boundary(RoleName=role, PermissionsBoundary=boundary)
    sb.set_faults(quotas={"ml.p5.48xlarge": 1}, account_limits={"Number of instances across all training jobs": 1})
    trust(sb, "lambda.amazonaws.com")
    private_names(sb, enabled=False)
    functions.update_function_configuration(FunctionName=tell, Handler="missing.handler")
    yield
    sb.clear_faults()
    trust(sb, "sagemaker.amazonaws.com")
    private_names(sb, enabled=True)
    functions.update_function_configuration(FunctionName=tell, Handler="app.handler")
    iam.delete_role_permissions_boundary(RoleName=role)
    iam.delete_policy(PolicyArn=boundary)


def test_a_deployment_without_faults_is_all_ok_for_who_has_the_documented_permissions(
    sb: Sandbox, queue: QueueView, operator: CommandLine
):
    found = examine(operator, sb, "--invoke", expect=0)
    assert [each for each in found if each["result"] != "ok"] == []
    checks = [each["check"] for each in found]
    assert (checks.count("function"), checks.count("scheduler"), checks.count("api")) == (7, 4, 1)


def test_each_fault_is_found_and_each_mend_is_seen(sb: Sandbox, queue: QueueView, operator: CommandLine, faulty: None):
    said = {each["message"].partition(":")[0]: each for each in findings(operator, sb, "--invoke", expect=3)}
    assert {(name.partition(" by ")[0], each["result"]) for name, each in said.items()} == {
        (f"the VPC endpoint {VPC_ENDPOINT} (VpcEndpointIds)", "note"),
        ("the training role arn", "problem"),
        (f'the quota "{TRAINING}"', "problem"),
        ('the quota "Number of instances across all training jobs"', "problem"),
        ("sagemaker", "problem"),
        (f"an invocation of TellFunction ({resource(sb, 'TellFunction')})", "problem"),
    }
    by_check = {each["check"]: each for each in said.values()}
    assert by_check["function"]["message"].endswith("No module named 'missing'")
    assert by_check["scheduler"]["message"].startswith("sagemaker:CreateTrainingJob by ")
    assert by_check["scheduler"]["message"].endswith(f"with the permissions boundary {boundary(sb)}")

    # It says: ask for at least 2.
    sb.set_faults(quotas={"ml.p5.48xlarge": 2}, account_limits={"Number of instances across all training jobs": 2})
    # It says: allow sts:AssumeRole to the principal in its trust policy.
    trust(sb, "sagemaker.amazonaws.com")
    # It says: or enable its private DNS.
    private_names(sb, enabled=True)
    # It says: allow it in the boundary.
    document = json.dumps({"Version": "2012-10-17", "Statement": [ALL]})
    versions = sb.client("iam").create_policy_version(
        PolicyArn=boundary(sb), PolicyDocument=document, SetAsDefault=True
    )
    assert versions["PolicyVersion"]["IsDefaultVersion"]
    # It says: roll back.
    sb.client("lambda").update_function_configuration(FunctionName=resource(sb, "TellFunction"), Handler="app.handler")
    assert findings(operator, sb, "--invoke", expect=0) == []


def boundary(sb: Sandbox) -> str:
    return f"arn:aws:iam::{sb.info.account}:policy/{BOUNDARY}"


def test_a_permission_that_is_missing_is_named(sb: Sandbox, queue: QueueView, tmp_path: Path):
    policy = documented_policy()
    (read, *others) = policy["Statement"]
    without = [each for each in read["Action"] if each != "servicequotas:ListServiceQuotas"]
    keys = sb.make_user("halfway", {**policy, "Statement": [{**read, "Action": without}, *others]})
    with closing(CommandLine(sb, tmp_path, keys=keys)) as halfway:
        notes = findings(halfway, sb, expect=0)
    assert {each["result"] for each in notes} == {"note"}
    remedies = {each["remedy"].rpartition("ask for ")[2] for each in notes if each["check"] == "quota"}
    assert "servicequotas:ListServiceQuotas." in remedies
