"""A fully deployed queue on a sandbox, for the measurements over HTTP."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

from botocore.credentials import Credentials

from headway_client.http.api import HeadwayApi
from headway_client.http.transport import Limits
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.request_builder import P5
from headway_sandbox.sagemaker.training_job import Durations

AT_ONCE = Durations(provisioning_s=0, download_s=0, upload_s=0, release_s=0)
"""Instances are available at once, and free as soon as a job has ended."""
ENDLESS_S = 10_000_000
"""The run time of a job that does not end by itself, s."""
NO_THROTTLE = {
    f"{methods}{kind}": highest
    for methods in ("Api", "Submit", "List", "Heavy")
    for kind, highest in (("RateLimit", "10000"), ("BurstLimit", "5000"))
}
"""The highest limits of requests that the template takes."""
_QUIET_LOOKS, _LOOK_S = 5, 0.2


class DeployedQueue(ABC):
    """A queue with one pool that is deployed, and made ready, while its `with` block runs.

    Args:
        instances: how many its pool has.
        parameters: of the template, beside those of the pool.
    """

    def __init__(self, instances: int, parameters: Mapping[str, str]) -> None:
        self.instances = instances
        self.sandbox = Sandbox(
            durations=AT_ONCE, parameters={"PoolInstanceType": P5, "PoolSize": str(instances), **parameters}
        )

    def __enter__(self) -> Self:
        with ExitStack() as until_ready:
            until_ready.enter_context(self.sandbox)
            self.prepare()
            until_ready.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.sandbox.__exit__(kind, error, trace)

    @abstractmethod
    def prepare(self) -> None:
        """Have the queue that was just deployed as it is to be measured."""

    @property
    def credentials(self) -> Credentials:
        """The account's root's."""
        return Credentials(self.sandbox.info.access_key, self.sandbox.info.secret_key)

    def client(self, limits: Limits | None = None) -> HeadwayApi:
        """A client with separate connections, as each user has."""
        return HeadwayApi(
            self.sandbox.endpoint, region=self.sandbox.info.region, credentials=self.credentials, limits=limits
        )

    def is_full(self) -> bool:
        """Whether training jobs use all instances."""
        return self.sandbox.in_use().get(P5, 0) == self.instances

    def come_to_rest(self) -> None:
        """Wait until no function has anything to do."""
        quiet = 0
        while quiet < _QUIET_LOOKS:
            quiet = 0 if any(function["busy"] for function in self.sandbox.functions()) else quiet + 1
            time.sleep(_LOOK_S)

    def durations(self, function: str, since: datetime, *statistics: str) -> Sequence[Mapping[str, Any]]:
        """The durations, ms, of a function's invocations that ended since then, from CloudWatch.

        Args:
            function: its name in the template.
            since: from when on.
            statistics: which.
        """
        pages = self.sandbox.client("lambda").get_paginator("list_functions").paginate()
        (name,) = [
            each["FunctionName"] for page in pages for each in page["Functions"] if function in each["FunctionName"]
        ]
        points: Sequence[Mapping[str, Any]] = self.sandbox.client("cloudwatch").get_metric_statistics(
            Namespace="AWS/Lambda", MetricName="Duration", Dimensions=[{"Name": "FunctionName", "Value": name}],
            StartTime=since, EndTime=datetime.now(UTC) + timedelta(seconds=1), Period=3600, Statistics=statistics,
        )["Datapoints"]  # fmt: skip
        return points
