"""The consumers of job events: the table's stream on its way to the function ``tell``, and what it publishes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from headway.reasons.remedies import NOTIFIED_BY_DEFAULT
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_verification.soak.fault_injection import FaultInjector, client_error
from headway_verification.soak.faults import FaultPlan
from headway_verification.soak.invariants import Violated

BATCH = 100
"""Records of one invocation (template.yaml)."""

RETRY_S = 5.0
"""How long Lambda waits after a failed invocation."""


@dataclass(frozen=True)
class Batch:
    """Records of the stream that an invocation is handed: from the one, up to the other."""

    first: int
    end: int


class StreamConsumers:
    """Delivers the stream as Lambda does, and acts as the event bus and the topic.

    Args:
        table: the table with the stream.
        edge: how bus and topic are called.
        accidents: draws how often they accept only some.
        random: decides which.
    """

    def __init__(self, table: StreamedTable, edge: FaultInjector, accidents: FaultPlan, random: Random) -> None:
        self._table = table
        self._edge = edge
        self._accidents = accidents
        self._random = random
        self._position = 0
        self._size = BATCH
        self._due_s = 0.0
        #: The number of the next entries and messages that bus and topic reject, independent of accidents.
        self.turned_away = 0
        #: By job, the versions of the events that the bus has taken, without repeats.
        self._events: dict[str, list[int]] = defaultdict(list)
        #: The events that messages were sent of.
        self._mail: set[str] = set()

    # ------------------------------------------------------------------------------------------------- Lambda's part

    def next(self, now_s: float) -> Batch | None:
        """The next batch, if there is one and it is due. Called when none is being delivered."""
        if self._position >= len(self._table.written) or now_s < self._due_s:
            return None
        return Batch(self._position, min(len(self._table.written), self._position + self._size))

    def payload(self, batch: Batch, now_s: float) -> dict[str, Any]:
        """What the function is handed."""
        return {"Records": [self._table.record(number, now_s) for number in range(batch.first, batch.end)]}

    def told(self, batch: Batch, answer: Mapping[str, Any]) -> None:
        """An invocation has responded: the stream continues after the published records, or delivers them again."""
        failed = [int(failure["itemIdentifier"]) - 1 for failure in answer["batchItemFailures"]]
        again = self._random.random() < self._accidents.violence.loss and self._accidents.happens()
        if not again:
            self._position = min(failed, default=batch.end)
        self._size = BATCH

    def failed(self, batch: Batch, now_s: float) -> None:
        """An invocation has failed: half of it is handed out, later."""
        self._size = max(1, (batch.end - batch.first) // 2)
        self._due_s = now_s + RETRY_S

    # ------------------------------------------------------------------------------------------ EventBridge's and SNS's

    def put_events(self, *, Entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: N803 - boto3's name
        """EventBridge's client, as far as it is needed: it may take some of the entries only."""

        def work() -> dict[str, Any]:
            answers = []
            for entry in Entries:
                if self._turned_away():
                    answers.append({"ErrorCode": "InternalFailure"})
                else:
                    self._hear(json.loads(entry["Detail"]))
                    answers.append({"EventId": "1"})
            return {"FailedEntryCount": sum("ErrorCode" in each for each in answers), "Entries": answers}

        return self._call("PutEvents", work, len(Entries))

    def publish_batch(
        self,
        *,
        TopicArn: str,  # noqa: ARG002, N803 - boto3's name; there is one topic
        PublishBatchRequestEntries: Sequence[Mapping[str, Any]],  # noqa: N803 - boto3's name
    ) -> dict[str, Any]:
        """SNS's client, as far as it is needed: it may take some of the messages only."""

        def work() -> dict[str, Any]:
            failed = []
            for entry in PublishBatchRequestEntries:
                if self._turned_away():
                    failed.append({"Id": entry["Id"], "Code": "InternalError", "SenderFault": False})
                else:
                    self._mail.add(entry["Message"].rpartition("Event: ")[2].strip())
            return {"Failed": failed}

        return self._call("PublishBatch", work, len(PublishBatchRequestEntries))

    def _call(self, operation: str, work: Any, count: int) -> dict[str, Any]:
        answer: dict[str, Any] = self._edge.call(
            operation,
            work,
            about=str(count),
            refused=lambda: ClientError({"Error": {"Code": "ThrottlingException", "Message": ""}}, operation),
            lost=lambda: ReadTimeoutError(endpoint_url="https://events.invalid"),
            raw=lambda answer: client_error(answer, operation),
            again=work,
        )
        return answer

    def _turned_away(self) -> bool:
        if self.turned_away:
            self.turned_away -= 1
            return True
        return self._random.random() < self._accidents.violence.refusal and self._accidents.happens()

    def _hear(self, detail: Mapping[str, Any]) -> None:
        name, version = detail["id"].rpartition("/")[::2]
        heard = self._events[name]
        if version in map(str, heard):
            return
        if heard and int(version) < heard[-1]:
            raise Violated(f"the bus got {name}/{heard[-1]} before {name}/{version}")
        heard.append(int(version))

    # -------------------------------------------------------------------------------------------------- what must hold

    def check_end(self) -> None:
        """Every step of every job was published, and unrequested steps were sent as messages.

        Raises:
            Violated: it was not.
        """
        for key, before, after in self._table.written:
            if key.sk != "job" or after is None or (before or {}).get("history") == after["history"]:
                continue
            name, version = after["jobName"], int(after["version"])
            if version not in self._events[name]:
                raise Violated(f"no event for {name}/{version}: {after['reason']['code']}")
            if after["reason"]["code"] in NOTIFIED_BY_DEFAULT and f"{name}/{version}" not in self._mail:
                raise Violated(f"no message for {name}/{version}: {after['reason']['code']}")
