"""Permissions of roles as the functions see them. A missing answer costs a computation only, so none is lost here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headway_service.ports.role_permissions import Permission, RolePermissions
from headway_verification.soak.faults.injection import FaultInjector


class NotedRolePermissions:
    """A :class:`headway_service.ports.role_permissions.RolePermissions` that notes what it needs.

    Args:
        permissions: what the roles may do.
        edge: the fault injector.
    """

    def __init__(self, permissions: RolePermissions, edge: FaultInjector) -> None:
        self._permissions = permissions
        self._edge = edge

    def ask(self, role: str, action: str, resources: Sequence[str], context: Mapping[str, str]) -> Permission:
        """See :class:`headway_service.ports.role_permissions.RolePermissions`."""
        self._edge.note_need("iam:SimulatePrincipalPolicy")
        return self._permissions.ask(role, action, resources, context)
