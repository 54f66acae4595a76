"""Equal jobs, whose data is in S3."""

from __future__ import annotations

from functools import cached_property

import boto3

from headway_service.aws.s3_objects import S3Objects
from headway_service.bootstrap.clients import SHORT_READS
from headway_service.bootstrap.container import Container
from headway_service.ports.objects import Objects
from headway_service.reuse.entry import ReuseEntry
from headway_service.reuse.twins import Twins


class ReuseContainer(Container):
    """For the functions in which jobs enter the queue."""

    @cached_property
    def objects(self) -> Objects:
        """S3, of which the service reads a little at a time."""
        return S3Objects(boto3.client("s3", config=SHORT_READS))

    @property
    def reuse(self) -> ReuseEntry:
        """Has jobs answered by equal ones."""
        twins = Twins(self.table, lambda: self.objects, self.settings.reuse_buckets, self.machine_clock)
        return ReuseEntry(
            self.table,
            twins,
            clock=self.clock,
            machine_clock=self.machine_clock,
            retention_s=self.settings.retention_s,
        )
