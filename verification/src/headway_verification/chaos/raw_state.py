"""The raw contents of the table and SageMaker, read without the code under test."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from boto3.dynamodb.types import TypeDeserializer

from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.service_facts import ENDED

WAITING = frozenset({"pending", "preempted"})
HOLDING = frozenset({"running", "stopping"})
FINAL = frozenset({"completed", "failed", "stopped"})

_TABLE = "sagemaker-queue"
_JOB_TAG = "headway:job"

Item = Mapping[str, Any]

_deserialize = TypeDeserializer().deserialize


@dataclass(frozen=True, kw_only=True)
class RawState:
    """The items of the table, then its ledger in one consistent query, then SageMaker's training jobs.

    The three are read one after the other while the queue runs, so each check has to allow for changes in between.
    """

    items: tuple[Item, ...]
    ledger: tuple[Item, ...]
    training_jobs: tuple[Item, ...]

    @cached_property
    def jobs(self) -> Mapping[str, Item]:
        """The jobs by name."""
        return {item["jobName"]: item for item in self.items if item["sk"] == "job"}

    @cached_property
    def requests(self) -> Mapping[str, Item]:
        """The stored request of each job."""
        stored = [item for item in self.items if item["sk"] == "request"]
        return {item["pk"].removeprefix("job#"): json.loads(item["jobDetails"]) for item in stored}

    @property
    def queue_entries(self) -> list[Item]:
        """The entries of all queues."""
        return [item for item in self.items if item["pk"].startswith("line#")]

    @property
    def pools(self) -> list[Item]:
        """The ledger entries of the pools."""
        return self._of_the_ledger("pool")

    @property
    def attempts(self) -> list[Item]:
        """The attempts that hold instances."""
        return self._of_the_ledger("attempt")

    @property
    def reservations(self) -> list[Item]:
        """The reservations of waiting jobs."""
        return self._of_the_ledger("reservation")

    @property
    def running(self) -> list[Item]:
        """SageMaker's training jobs that have not ended."""
        return [job for job in self.training_jobs if job["TrainingJobStatus"] not in ENDED]

    @cached_property
    def states(self) -> Counter[str]:
        """The number of jobs in each state."""
        return Counter(str(job["jobState"]) for job in self.jobs.values())

    @property
    def unended(self) -> list[str]:
        """The jobs that have not ended."""
        return sorted(name for name, job in self.jobs.items() if job["jobState"] not in FINAL)

    @property
    def is_at_rest(self) -> bool:
        """Whether no job waits, runs, or holds instances."""
        return not (self.unended or self.attempts or self.reservations or self.running)

    def _of_the_ledger(self, kind: str) -> list[Item]:
        return [item for item in self.ledger if item["sk"].startswith(f"{kind}#")]


class StateReader:
    """Reads a sandbox's table and SageMaker."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._dynamodb = sandbox.client("dynamodb")

    def observe(self) -> RawState:
        """Return the current state."""
        everything = self._dynamodb.get_paginator("scan").paginate(TableName=_TABLE, ConsistentRead=True)
        ledger = self._dynamodb.get_paginator("query").paginate(
            TableName=_TABLE,
            ConsistentRead=True,
            KeyConditionExpression="pk = :ledger",
            ExpressionAttributeValues={":ledger": {"S": "ledger"}},
        )
        return RawState(
            items=tuple(_items(everything)),
            ledger=tuple(_items(ledger)),
            training_jobs=tuple(job for job in self._sandbox.jobs() if _JOB_TAG in job["Tags"]),
        )


def job_of(training_job: Item) -> str:
    """Return the job of the queue that a training job belongs to."""
    return str(training_job["Tags"][_JOB_TAG])


def _items(pages: Iterable[Mapping[str, Any]]) -> Iterator[Item]:
    for page in pages:
        for item in page["Items"]:
            yield {name: _deserialize(value) for name, value in item.items()}
