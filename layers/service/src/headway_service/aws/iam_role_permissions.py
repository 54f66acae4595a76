"""The permissions of roles through botocore.

Source: IAM API reference, SimulatePrincipalPolicy. It evaluates the policies of the role, its permissions boundary and
those of the organization, and no policy of a resource. A result is about one resource, or about several, with a part
for each. Condition keys that the policies name and the request does not have are listed with the result, or the parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headway_service.aws.error_codes import FAILED_CALLS, describe
from headway_service.errors import PermissionsUnknown, UnreadableAnswer
from headway_service.observability.logging import logger
from headway_service.ports.role_permissions import Permission
from headway_service.response_check import check_answers, member

_MAX_RESULTS = 1000
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
                MaxItems=_MAX_RESULTS,
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
    parts = [part for result in results for part in result.get("ResourceSpecificResults", ())]
    if not {each.get("EvalResourceName") for each in (*results, *parts)}.issuperset(resources):
        raise UnreadableAnswer("an answer without a decision on a resource")
    allowed = [_is_allowed(each, "EvalDecision") for each in results]
    allowed += [_is_allowed(each, "EvalResourceDecision") for each in parts]
    missing = {name.lower() for each in (*results, *parts) for name in each.get("MissingContextValues", ())}
    return Permission(is_allowed=all(allowed), missing=frozenset(missing))


def _is_allowed(found: Mapping[str, Any], decision: str) -> bool:
    within = all(found[limit].get(said) is True for limit, said in _LIMITS if limit in found)
    return member(found, decision) == _ALLOWED and within
