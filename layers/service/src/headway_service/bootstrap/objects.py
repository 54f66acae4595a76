"""Objects in S3, and which of them may be read for a job."""

from __future__ import annotations

from functools import cached_property

import boto3

from headway_service.aws.iam_role_permissions import IamRolePermissions
from headway_service.aws.s3_objects import S3Objects
from headway_service.bootstrap.clients import SHORT_READS
from headway_service.bootstrap.container import Container
from headway_service.places import Places
from headway_service.ports.objects import Objects
from headway_service.ports.role_permissions import RolePermissions


class ObjectsContainer(Container):
    """For the functions that read S3."""

    @cached_property
    def objects(self) -> Objects:
        """S3, of which the service reads a little at a time."""
        return S3Objects(boto3.client("s3", config=SHORT_READS))

    @cached_property
    def role_permissions(self) -> RolePermissions:
        """What training roles may do."""
        return IamRolePermissions(boto3.client("iam", config=SHORT_READS))

    @cached_property
    def _places(self) -> Places:
        return Places(lambda: self.role_permissions, self.clocks.machine_ms)
