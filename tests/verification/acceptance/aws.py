"""A queue's account for tests: moto's services, a fake SageMaker, and an API with the jobs that a test names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import boto3

from headway_client.config.profile import Connection
from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_verification.acceptance.target import Target

REGION = "eu-west-1"
STEP_S = 30.0
"""By which a fake SageMaker's time passes with each call."""


@dataclass
class Api:
    """As much of the queue's API as runs call without a sandbox."""

    jobs: list[SimpleNamespace] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    pools: Mapping[str, int] = field(default_factory=dict)

    def list_jobs(self, *, name_contains: str) -> list[SimpleNamespace]:
        return [job for job in self.jobs if name_contains in job.name]

    def stop_job(self, name: str, _reason: str) -> None:
        self.stopped.append(name)

    def capacity(self) -> SimpleNamespace:
        return SimpleNamespace(pools=[SimpleNamespace(pool=pool, size=size) for pool, size in self.pools.items()])


class Account(Target):
    """A target whose clients a test chooses."""

    clients: Mapping[str, Callable[[], Any]] = {}

    def client(self, service: str) -> Any:
        make = self.clients.get(service)
        found: Any = boto3
        return make() if make is not None else found.client(service, region_name=REGION)


def account(**clients: Callable[[], Any]) -> Account:
    connection = Connection(endpoint="https://abc123.execute-api.eu-west-1.amazonaws.com/v1", region=REGION)
    target = Account(
        connection=connection,
        stack="headway",
        outputs={"TableName": "table"},
        parameters={},
        role="arn:aws:iam::123456789012:role/training",
        bucket="outputs",
        image="123456789012.dkr.ecr.eu-west-1.amazonaws.com/tools:1",
        instance_type="ml.m5.large",
    )
    object.__setattr__(target, "clients", {name.replace("_", "-"): make for name, make in clients.items()})
    # Cached properties: what a call would have found.
    target.__dict__["api"] = Api()
    target.__dict__["identity"] = {"Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/ada"}
    return target


class SageMaker:
    """A fake SageMaker whose time passes with each call."""

    def __init__(self, **faults: Any) -> None:
        self.fake = FakeSageMaker(faults=Faults(**faults))
        self._now = 1_800_000_000.0
        self.calls: list[str] = []

    def client(self) -> Any:
        def call(operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
            self._now += STEP_S
            self.calls.append(operation)
            return self.fake.call(operation, request, now=self._now)

        return stub_client("sagemaker", call)

    def names(self) -> list[str]:
        return [job.name for job in self.fake.jobs(now=self._now)]
