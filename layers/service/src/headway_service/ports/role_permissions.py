"""What the roles of training jobs may do, as the service needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Permission:
    """What is known about a permission of a role."""

    #: Whether its policies allow it, as far as the context tells.
    is_allowed: bool
    #: Names of condition keys that the policies look at and the context does not have, in lower case.
    missing: frozenset[str] = frozenset()


class RolePermissions(Protocol):
    """What roles may do by their own policies."""

    def ask(self, role: str, action: str, resources: Sequence[str], context: Mapping[str, str]) -> Permission:
        """SimulatePrincipalPolicy: whether a role may do something with each of some resources.

        Args:
            role: its ARN.
            action: such as ``s3:GetObject``.
            resources: their ARNs, without wildcards.
            context: condition keys of the request, with their values, beside those of every encrypted request.

        Raises:
            PermissionsUnknown: IAM does not say it.
        """
