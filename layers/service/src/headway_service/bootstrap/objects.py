"""Objects in S3."""

from __future__ import annotations

from functools import cached_property

from headway_service.aws.s3_objects import S3Objects
from headway_service.bootstrap.clients import SHORT_READS, make_client
from headway_service.bootstrap.container import Container
from headway_service.ports.objects import Objects


class ObjectsContainer(Container):
    """For the functions that read S3."""

    @cached_property
    def objects(self) -> Objects:
        """S3, of which the service reads a little at a time."""
        return S3Objects(make_client("s3", SHORT_READS))
