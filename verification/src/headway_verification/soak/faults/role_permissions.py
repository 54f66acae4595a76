"""Permissions of roles as the functions see them: their calls fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headway_service.errors import PermissionsUnknown
from headway_service.ports.role_permissions import Permission, RolePermissions
from headway_verification.soak.faults.injection import FaultInjector


class FaultyRolePermissions:
    """A :class:`headway_service.ports.role_permissions.RolePermissions` with faults.

    Args:
        permissions: what the roles may do.
        edge: the fault injector.
    """

    def __init__(self, permissions: RolePermissions, edge: FaultInjector) -> None:
        self._permissions = permissions
        self._edge = edge

    def ask(self, role: str, action: str, resources: Sequence[str], context: Mapping[str, str]) -> Permission:
        """See :class:`headway_service.ports.role_permissions.RolePermissions`."""
        return self._edge.call(
            "SimulatePrincipalPolicy",
            lambda: self._permissions.ask(role, action, resources, context),
            about=f"{action} of {role.rpartition('/')[2]}",
            refused=lambda: PermissionsUnknown("no answer"),
        )
