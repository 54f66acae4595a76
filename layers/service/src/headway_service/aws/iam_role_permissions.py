"""The permissions of roles through botocore.

Source: IAM API reference, SimulatePrincipalPolicy. It evaluates the policies of the role, its permissions boundary and
those of the organization, and no policy of a resource. Condition keys that the policies name and the request does not
have are listed with a result, or, of several resources, with the result of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headway_service.aws.error_codes import FAILED_CALLS, describe
from headway_service.errors import PermissionsUnknown, UnreadableAnswer
from headway_service.observability.logging import logger
from headway_service.ports.role_permissions import Permission
from headway_service.response_check import check_answers, member

MAX_RESULTS = 1000
"""Results in one answer; a longer one is not read to its end."""

_ALLOWED = "allowed"
_ENCRYPTED = {"ContextKeyName": "aws:SecureTransport", "ContextKeyValues": ["true"], "ContextKeyType": "boolean"}
_LIMITS = (
    ("OrganizationsDecisionDetail", "AllowedByOrganizations"),
    ("PermissionsBoundaryDecisionDetail", "AllowedByPermissionsBoundary"),
)


class IamRolePermissions:
    """:class:`headway_service.ports.role_permissions.RolePermissions` on IAM.

    Args:
        client: botocore's client of IAM, for all calls.
    """

    def __init__(self, client: Any) -> None:
        self._client = check_answers(client)

    def ask(self, role: str, action: str, resources: Sequence[str], context: Mapping[str, str]) -> Permission:
        """See :class:`headway_service.ports.role_permissions.RolePermissions`."""
        entries = [
            {"ContextKeyName": name, "ContextKeyValues": [value], "ContextKeyType": "string"}
            for name, value in context.items()
        ]
        try:
            answer = self._client.simulate_principal_policy(
                PolicySourceArn=role,
                ActionNames=[action],
                ResourceArns=list(resources),
                ContextEntries=[_ENCRYPTED, *entries],
                MaxItems=MAX_RESULTS,
            )
            return _permission(answer, action, resources)
        except FAILED_CALLS as error:
            logger.warning("a permission is not known", extra={"role": role, "do": action, "error": describe(error)})
            raise PermissionsUnknown(describe(error)) from error


def _permission(answer: Mapping[str, Any], action: str, resources: Sequence[str]) -> Permission:
    """What an answer says about all resources.

    Raises:
        UnreadableAnswer: it says nothing about one of them.
    """
    if member(answer, "IsTruncated"):
        raise UnreadableAnswer("an answer in parts")
    results = [each for each in member(answer, "EvaluationResults") if member(each, "EvalActionName") == action]
    decisions = [list(_decisions(results, resource)) for resource in resources]
    if not all(decisions):
        raise UnreadableAnswer("an answer without a decision")
    parts = [part for result in results for part in (result, *result.get("ResourceSpecificResults", ()))]
    missing = frozenset(name.lower() for part in parts for name in part.get("MissingContextValues", ()))
    return Permission(is_allowed=all(all(each) for each in decisions), missing=missing)


def _decisions(results: Sequence[Mapping[str, Any]], resource: str) -> Iterator[bool]:
    """Each decision on a resource: of a result about it, or of a part of one about several."""
    for result in results:
        if result.get("EvalResourceName") == resource:
            yield _is_allowed(result, "EvalDecision")
        for part in result.get("ResourceSpecificResults", ()):
            if part.get("EvalResourceName") == resource:
                yield _is_allowed(part, "EvalResourceDecision")


def _is_allowed(found: Mapping[str, Any], decision: str) -> bool:
    within = all(found[limit].get(said) is True for limit, said in _LIMITS if limit in found)
    return member(found, decision) == _ALLOWED and within
