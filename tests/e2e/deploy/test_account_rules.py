"""A queue in an account that requires a path and a permissions boundary of each role."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headway.reasons import ReasonCode
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.local.template import expanded
from headway_verification.least_privilege.compare import role_of
from tests.e2e.command_line import CommandLine
from tests.e2e.conftest import DURATIONS, PARAMETERS
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

PATH = "/teams/ml/"
TRUST = {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
ALL = {"Effect": "Allow", "Action": "*", "Resource": "*"}
NO_LAUNCHES = {"Effect": "Deny", "Action": "sagemaker:CreateTrainingJob", "Resource": "*"}


def document(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sandbox, str, str]]:
    """A sandbox whose queue has a path and a boundary, the ARN of the boundary, and that of a training role."""
    state = tmp_path_factory.mktemp("state")
    with Sandbox(state_dir=state, deploy=False, speed=100, durations=DURATIONS) as empty:
        iam = empty.client("iam")
        boundary = iam.create_policy(PolicyName="boundary", Path=PATH, PolicyDocument=document(ALL))["Policy"]["Arn"]
        role = iam.create_role(RoleName="Training", Path=PATH, AssumeRolePolicyDocument=document(TRUST))["Role"]["Arn"]
        given = {**PARAMETERS, "RolePath": PATH, "PermissionsBoundaryArn": boundary, "TrainingRoleArns": role}
        with Sandbox(state_dir=state, speed=100, durations=DURATIONS, parameters=given) as sandbox:
            yield sandbox, boundary, role


@pytest.fixture
def queue(bounded: tuple[Sandbox, str, str], tmp_path: Path) -> Iterator[QueueView]:
    sandbox, _, _ = bounded
    with closing(CommandLine(sandbox, tmp_path)) as command_line:
        yield QueueView(sandbox, command_line, "rules-")


def test_roles_and_policies_of_the_stack_are_below_the_path_and_roles_within_the_boundary(
    bounded: tuple[Sandbox, str, str],
):
    sandbox, boundary, _ = bounded
    iam = sandbox.client("iam")
    formation = sandbox.client("cloudformation")
    made = formation.describe_stack_resources(StackName=sandbox.info.stack)["StackResources"]
    roles = [each["PhysicalResourceId"] for each in made if each["ResourceType"] == "AWS::IAM::Role"]
    policies = [each["PhysicalResourceId"] for each in made if each["ResourceType"] == "AWS::IAM::ManagedPolicy"]
    assert (len(roles), len(policies)) == (8, 5)
    for name in roles:
        role = iam.get_role(RoleName=name)["Role"]
        assert role["Arn"].endswith(f":role{PATH}{name}")
        assert role["PermissionsBoundary"]["PermissionsBoundaryArn"] == boundary
    assert all(f":policy{PATH}" in arn for arn in policies)


def test_jobs_run_with_a_role_below_a_path_and_each_recorded_call_is_of_a_role_of_the_template(
    bounded: tuple[Sandbox, str, str], queue: QueueView
):
    sandbox, _, role = bounded
    queue.submit("runs", RoleArn=role)
    queue.wait_until_training("runs")
    queue.finish("runs")
    queue.wait_for(runs="completed")
    template = expanded(Checkout.here(), VpcEndpointIds="vpce-0123456789abcdef0")
    roles = [name for name, each in template["Resources"].items() if each["Type"] == "AWS::IAM::Role"]
    calls = sandbox.calls()
    assert {"ApiFunctionRole", "ScheduleFunctionRole"} <= {role_of(call.role, roles) for call in calls}
    assert None not in {role_of(call.role, roles) for call in calls}
    assert any(call.action == "iam:PassRole" and call.granted == role for call in calls)


def test_a_boundary_that_denies_an_action_denies_it_to_the_function(
    bounded: tuple[Sandbox, str, str], queue: QueueView
):
    sandbox, boundary, role = bounded
    iam = sandbox.client("iam")
    denying = document(ALL, NO_LAUNCHES)
    iam.create_policy_version(PolicyArn=boundary, PolicyDocument=denying, SetAsDefault=True)
    queue.submit("denied", RoleArn=role)

    def is_refused() -> bool:
        return any(step.reason.code == ReasonCode.LAUNCH_POSTPONED for step in queue.details("denied").history)

    eventually(is_refused, "the boundary denies the launch")
    assert queue.states()["denied"] == "pending"
