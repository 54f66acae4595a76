"""The sandbox's IAM answers questions about roles by the policies that it evaluates for calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from headway_sandbox.local.sandbox import Sandbox
from headway_service.aws.iam_role_permissions import IamRolePermissions
from tests.service.aws.role_permissions_contract import BUCKET, LIST, RolePermissionsContract, Subject, allow

pytestmark = pytest.mark.e2e

TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


@pytest.fixture(scope="module")
def sb() -> Iterator[Sandbox]:
    with Sandbox(deploy=False) as sandbox:
        yield sandbox


def policy(statements: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def make_role(sb: Sandbox, name: str, statements: Sequence[Mapping[str, Any]], **more: Any) -> str:
    iam = sb.client("iam")
    try:
        role = iam.create_role(RoleName=name, Path="/of/tests/", AssumeRolePolicyDocument=json.dumps(TRUST), **more)
    except iam.exceptions.EntityAlreadyExistsException:
        role = iam.get_role(RoleName=name)
    iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=policy(statements))
    return str(role["Role"]["Arn"])


class TestSandbox(RolePermissionsContract):
    @pytest.fixture
    def subject(self, sb: Sandbox) -> Subject:
        return Subject(IamRolePermissions(sb.client("iam")), lambda name, statements: make_role(sb, name, statements))


def test_the_permissions_boundary_of_a_role_counts(sb: Sandbox) -> None:
    iam = sb.client("iam")
    boundary = iam.create_policy(PolicyName="b", PolicyDocument=policy([allow("s3:GetObject", "*")]))["Policy"]["Arn"]
    arn = make_role(sb, "bounded", [allow("s3:*", "*")], PermissionsBoundary=boundary)
    permissions = IamRolePermissions(iam)
    assert not permissions.ask(arn, LIST, [BUCKET], {}).is_allowed
    assert permissions.ask(arn, "s3:GetObject", [f"{BUCKET}/a"], {}).is_allowed
