"""Long lines are set up as submissions would have made them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from botocore.hooks import HierarchicalEmitter
from botocore.model import ServiceId

from bench.peers.headway import HIGH, job_request
from bench.queues.raw_table import TABLE, RawTable
from headway.lifecycle import JobState
from headway.reasons import ReasonCode
from headway_sandbox.sagemaker.request_builder import P5
from headway_service.store.records.job import JobRecord
from headway_service.store.transitions import enqueue
from headway_service.testing.memory_table import MemoryTable

Item = dict[str, Any]


class Client:
    """DynamoDB, as far as it is used."""

    def __init__(self) -> None:
        model = SimpleNamespace(service_id=ServiceId("DynamoDB"))
        self.meta = SimpleNamespace(events=HierarchicalEmitter(), service_model=model)
        self.items: dict[tuple[str, str], Item] = {}
        self.writes: list[int] = []

    def get_item(self, *, Key: Item, **_: Any) -> Item:  # noqa: N803 - boto3's name
        return {"Item": self.items[Key["pk"]["S"], Key["sk"]["S"]]}

    def get_paginator(self, _operation: str) -> Client:
        return self

    def paginate(self, **_: Any) -> Iterator[Item]:
        items = [{name: item[name] for name in ("pk", "sk")} for item in self.items.values()]
        yield {"Items": items[:3]}
        yield {"Items": items[3:]}

    def batch_write_item(self, *, RequestItems: dict[str, list[Item]]) -> Item:  # noqa: N803
        (writes,) = RequestItems.values()
        assert RequestItems.keys() == {TABLE}
        self.writes.append(len(writes))
        for write in writes:
            ((kind, what),) = write.items()
            item = what["Item" if kind == "PutRequest" else "Key"]
            place = item["pk"]["S"], item["sk"]["S"]
            if kind == "PutRequest":
                self.items[place] = item
            else:
                del self.items[place]
        return {"UnprocessedItems": {}}


def waiting_job(name: str) -> JobRecord:
    return JobRecord.model_validate(
        {
            "jobName": name,
            "jobState": JobState.PENDING,
            "priority": HIGH,
            "entryTime": 1_800_000_000_000,
            "demand": {P5: 1},
            "requestDigest": "0" * 64,
            "reason": {"code": ReasonCode.ENTERED, "message": "entered the queue"},
        }
    )


def test_jobs_are_added_as_if_each_had_been_submitted_and_forgotten_without_a_trace():
    request = job_request("first", priority=HIGH, run_s=1, grace_s=0)
    client, made = Client(), MemoryTable()
    table = RawTable(client)
    made.write(enqueue(waiting_job("first"), json.dumps(request)))
    client.items["ledger", "pool#p5"] = ledger = {"pk": {"S": "ledger"}, "sk": {"S": "pool#p5"}}
    table.put(made.items())
    assert table.count_waiting() == 1
    table.add_like(request, [f"more-{number}" for number in range(20)])
    assert table.count_waiting() == 21
    assert {len({key for key in client.items if key[0].endswith(name)}) for name in ("#first", "#more-7")} == {2}
    stored = client.items["job#more-7", "request"]["jobDetails"]["S"]
    assert json.loads(stored) == {**request, "TrainingJobName": "more-7"}
    assert max(client.writes) == 25
    table.forget_jobs()
    assert list(client.items.values()) == [ledger]
