"""Fills and empties the queue's table on a sandbox directly, to set up long queues."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import Lock
from typing import Any

from boto3.dynamodb.types import TypeSerializer

from headway_service.aws.dynamodb_table import DynamoDBTable
from headway_service.ports.table import Item
from headway_service.store import transitions
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable

TABLE = "sagemaker-queue"
"""The default of TableName (template.yaml)."""
_AT_ONCE = 25
"""Writes of one BatchWriteItem at most (its API reference)."""
_WRITERS = 2
_serialize = TypeSerializer().serialize


class RawTable:
    """The table.

    Args:
        client: boto3's, for DynamoDB.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def count_waiting(self) -> int:
        """How many jobs wait, each in one line."""
        return sum(1 for item in self._keys() if item["pk"]["S"].startswith("line#"))

    def add_like(self, request: Mapping[str, Any], names: Sequence[str]) -> None:
        """Add jobs that wait as the one of this request does, which is in the queue and waits."""
        item = DynamoDBTable(self._client, TABLE).get(JobRecord.key(request["TrainingJobName"]))
        first = JobRecord.parse(item or {})
        made = MemoryTable()
        for name in names:
            text = json.dumps({**request, "TrainingJobName": name})
            made.write(transitions.enqueue(first.model_copy(update={"job_name": name}), text))
        self.put(made.items())

    def put(self, items: Iterable[Item]) -> None:
        """Put items, whatever is there under their keys."""
        self._write({"PutRequest": {"Item": _attributes(item)}} for item in items)

    def forget_jobs(self) -> None:
        """Remove all jobs and empty all lines; none may hold instances."""
        keys = [key for key in self._keys() if key["pk"]["S"].startswith(("job#", "line#"))]
        self._write({"DeleteRequest": {"Key": key}} for key in keys)

    def _keys(self) -> Iterator[dict[str, Any]]:
        pages = self._client.get_paginator("scan").paginate(TableName=TABLE, ProjectionExpression="pk, sk")
        for page in pages:
            yield from page["Items"]

    def _write(self, writes: Iterable[Mapping[str, Any]]) -> None:
        left, taking = iter(writes), Lock()

        def write_some(_: int) -> None:
            while True:
                with taking:
                    some = list(islice(left, _AT_ONCE))
                if not some:
                    return
                if self._client.batch_write_item(RequestItems={TABLE: some})["UnprocessedItems"]:
                    raise RuntimeError("the emulator did not take all writes")

        # While the emulator writes some, the next ones are made.
        with ThreadPoolExecutor(_WRITERS) as pool:
            list(pool.map(write_some, range(_WRITERS)))


def _attributes(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _serialize(value) for name, value in item.items()}
