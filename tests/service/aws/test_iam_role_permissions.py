"""Permissions of roles: the double in memory by the contract, and the adapter by IAM's answers as they come.

`tests/sandbox/emulator/test_policy_simulation_e2e.py` has the contract for the adapter, with the sandbox's IAM.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from headway_service.aws.iam_role_permissions import IamRolePermissions
from headway_service.errors import PermissionsUnknown
from headway_service.ports.role_permissions import Permission
from headway_service.testing.memory_role_permissions import MemoryRolePermissions
from tests.service.aws.role_permissions_contract import RolePermissionsContract, Subject
from tests.service.raw_http import BODIES, STATUSES, RawServer

ROLE = "arn:aws:iam::123456789012:role/service-role/training"
ONE, OTHER = "arn:aws:s3:::research/a", "arn:aws:s3:::research/b"


class TestMemory(RolePermissionsContract):
    @pytest.fixture
    def subject(self) -> Subject:
        permissions = MemoryRolePermissions()

        def make_role(name: str, statements: Sequence[Mapping[str, Any]]) -> str:
            arn = f"arn:aws:iam::123456789012:role/{name}"
            permissions.statements[arn] = list(statements)
            return arn

        return Subject(permissions, make_role)


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer().running() as server:
        yield server


def asked(server: RawServer, *resources: str) -> Permission:
    return IamRolePermissions(server.client("iam")).ask(ROLE, "s3:GetObject", resources or (ONE,), {})


def result(decision: str = "allowed", resource: str = ONE, more: str = "", action: str = "s3:GetObject") -> str:
    return (
        f"<member><EvalActionName>{action}</EvalActionName><EvalResourceName>{resource}</EvalResourceName>"
        f"<EvalDecision>{decision}</EvalDecision>{more}</member>"
    )


def part(decision: str = "allowed", resource: str = ONE, more: str = "") -> str:
    return (
        f"<member><EvalResourceName>{resource}</EvalResourceName><EvalResourceDecision>{decision}"
        f"</EvalResourceDecision>{more}</member>"
    )


def parts(*each: str) -> str:
    return f"<ResourceSpecificResults>{''.join(each)}</ResourceSpecificResults>"


def answer(*results: str, truncated: str = "<IsTruncated>false</IsTruncated>") -> bytes:
    inner = f"<EvaluationResults>{''.join(results)}</EvaluationResults>{truncated}"
    name = "SimulatePrincipalPolicy"
    return f"<{name}Response><{name}Result>{inner}</{name}Result></{name}Response>".encode()


MISSING = "<MissingContextValues><member>S3:Prefix</member></MissingContextValues>"
NOT_BY_ORGANIZATION = (
    "<OrganizationsDecisionDetail><AllowedByOrganizations>false</AllowedByOrganizations></OrganizationsDecisionDetail>"
)
NOT_BY_BOUNDARY = (
    "<PermissionsBoundaryDecisionDetail><AllowedByPermissionsBoundary>false</AllowedByPermissionsBoundary>"
    "</PermissionsBoundaryDecisionDetail>"
)


def test_a_decision_is_read_as_iam_sends_it(server: RawServer) -> None:
    server.answer(200, answer(result()))
    assert asked(server) == Permission(is_allowed=True)


@pytest.mark.parametrize(
    "one",
    [
        result("implicitDeny"),
        result("explicitDeny"),
        result("Allowed"),
        result(more=NOT_BY_ORGANIZATION),
        result(more=NOT_BY_BOUNDARY),
        result(more=parts(part("implicitDeny"))),
        result(more=parts(part(more=NOT_BY_BOUNDARY))),
        result() + result("implicitDeny"),
    ],
)
def test_whatever_denies_denies(server: RawServer, one: str) -> None:
    server.answer(200, answer(one))
    assert not asked(server).is_allowed


def test_decisions_on_several_resources_are_read_in_both_forms(server: RawServer) -> None:
    server.answer(200, answer(result(), result(resource=OTHER)))
    assert asked(server, ONE, OTHER).is_allowed
    server.answer(200, answer(result(resource="*", more=parts(part(), part(resource=OTHER)))))
    assert asked(server, ONE, OTHER).is_allowed
    server.answer(200, answer(result(resource="*", more=parts(part(), part("implicitDeny", OTHER)))))
    assert not asked(server, ONE, OTHER).is_allowed


@pytest.mark.parametrize("one", [result(more=MISSING), result(more=parts(part(more=MISSING)))])
def test_missing_keys_are_read_in_both_forms(server: RawServer, one: str) -> None:
    server.answer(200, answer(one))
    assert asked(server).missing == {"s3:prefix"}


@pytest.mark.parametrize(
    "body",
    [
        answer(),
        answer(result(resource=OTHER)),
        answer(result(action="s3:PutObject")),
        answer(result(), truncated=""),
        answer(result(), truncated="<IsTruncated>true</IsTruncated><Marker>m</Marker>"),
        answer(result().replace("<EvalDecision>allowed</EvalDecision>", "")),
        answer(result().replace("<EvalActionName>s3:GetObject</EvalActionName>", "")),
        *BODIES.values(),
    ],
)
def test_an_answer_without_a_decision_says_nothing(server: RawServer, body: bytes) -> None:
    server.answer(200, body)
    with pytest.raises(PermissionsUnknown):
        asked(server)


@pytest.mark.parametrize("status", STATUSES)
def test_every_error_says_nothing(server: RawServer, status: int) -> None:
    server.answer(status, b"<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")
    with pytest.raises(PermissionsUnknown):
        asked(server)
