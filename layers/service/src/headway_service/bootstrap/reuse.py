"""Equal jobs, whose data is in S3."""

from __future__ import annotations

from functools import cached_property

from headway_service.aws.iam_role_permissions import IamRolePermissions
from headway_service.bootstrap.clients import SHORT_READS, make_client
from headway_service.bootstrap.objects import ObjectsContainer
from headway_service.ports.role_permissions import RolePermissions
from headway_service.reuse.entry import ReuseEntry
from headway_service.reuse.places import Places
from headway_service.reuse.twins import Twins


class ReuseContainer(ObjectsContainer):
    """For the functions in which jobs enter the queue."""

    @cached_property
    def role_permissions(self) -> RolePermissions:
        """What training roles may do."""
        return IamRolePermissions(make_client("iam", SHORT_READS))

    @cached_property
    def _places(self) -> Places:
        return Places(lambda: self.role_permissions, self.machine_clock)

    @property
    def reuse(self) -> ReuseEntry:
        """Has jobs answered by equal ones."""
        twins = Twins(
            self.table,
            lambda: self.objects,
            self._places,
            self.settings.reuse_buckets,
            self.clock,
            self.machine_clock,
        )
        return ReuseEntry(
            self.table,
            twins,
            clock=self.clock,
            machine_clock=self.machine_clock,
            retention_s=self.settings.retention_s,
        )
