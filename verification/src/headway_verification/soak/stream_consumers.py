"""The table's stream on its way to the function ``tell``, and the event bus and the topic that it publishes to."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from headway.reasons.remedies import NOTIFIED_BY_DEFAULT
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_service.store.records.digest import DIGEST
from headway_verification.soak.faults.injection import FaultInjector, client_error
from headway_verification.soak.faults.plan import FaultPlan
from headway_verification.soak.invariants.feed import FeedFollower, check_feed
from headway_verification.soak.invariants.requests import check_requests
from headway_verification.soak.invariants.usage import check_usage
from headway_verification.soak.violations import Violated

BATCH = 100
"""Records per invocation (template.yaml)."""

RETRY_S = 5.0
"""Lambda's delay after a failed invocation."""


@dataclass(frozen=True)
class Batch:
    """The records of the stream handed to an invocation: from ``first`` up to and excluding ``end``."""

    first: int
    end: int


class StreamConsumers:
    """Hands out the stream as Lambda does, and records what the event bus and the topic accept.

    Args:
        table: the table with the stream.
        edge: the fault injector of the bus and the topic.
        faults: determines how often entries are rejected.
        random: determines which.
        clock: the virtual time, ms.

    Attributes:
        follower: a reader of the feed.
    """

    def __init__(
        self, table: StreamedTable, edge: FaultInjector, faults: FaultPlan, random: Random, clock: Callable[[], int]
    ) -> None:
        self.follower = FeedFollower(table, clock)
        self._table = table
        self._edge = edge
        self._faults = faults
        self._random = random
        self._position = 0
        self._size = BATCH
        self._due_s = 0.0
        #: When a record was first handed out, s: a redelivered one was written no later.
        self._handed_out_s: dict[int, float] = {}
        #: The number of the next entries and messages that bus and topic reject, regardless of the fault plan.
        self.rejections = 0
        #: The versions of the events that the bus accepted, by job and without repetitions.
        self._events: dict[str, list[int]] = defaultdict(list)
        #: The events for which messages were accepted.
        self._mail: set[str] = set()

    # ------------------------------------------------------------------------------------------------- Lambda's part

    def next(self, now_s: float) -> Batch | None:
        """Return the next batch, or None if none is due.

        Call it only while no batch is being processed.
        """
        if self._position >= len(self._table.written) or now_s < self._due_s:
            return None
        return Batch(self._position, min(len(self._table.written), self._position + self._size))

    def payload(self, batch: Batch, now_s: float) -> dict[str, Any]:
        """Return the event of the function for a batch.

        Args:
            now_s: the virtual time, s.
        """
        numbers = range(batch.first, batch.end)
        return {"Records": [self._table.record(each, self._handed_out_s.setdefault(each, now_s)) for each in numbers]}

    def acknowledge(self, batch: Batch, answer: Mapping[str, Any]) -> None:
        """Process a successful answer: advance the stream to the first failure, or redeliver the batch.

        Args:
            answer: the answer of the function.
        """
        failed = [int(failure["itemIdentifier"]) - 1 for failure in answer["batchItemFailures"]]
        again = self._random.random() < self._faults.rates.loss and self._faults.happens()
        if not again:
            self._position = min(failed, default=batch.end)
        self._size = BATCH

    def failed(self, batch: Batch, now_s: float) -> None:
        """Process a failed invocation: redeliver half of the batch after a delay.

        Args:
            now_s: the virtual time, s.
        """
        self._size = max(1, (batch.end - batch.first) // 2)
        self._due_s = now_s + RETRY_S

    # ------------------------------------------------------------------------------------------ EventBridge's and SNS's

    def put_events(self, *, Entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: N803 - boto3's name
        """The EventBridge call; may accept only some of the entries."""

        def work() -> dict[str, Any]:
            answers = []
            for entry in Entries:
                if self._is_rejected():
                    answers.append({"ErrorCode": "InternalFailure"})
                else:
                    self._record_event(json.loads(entry["Detail"]))
                    answers.append({"EventId": "1"})
            return {"FailedEntryCount": sum("ErrorCode" in each for each in answers), "Entries": answers}

        return self._call("PutEvents", work, len(Entries))

    def publish_batch(
        self,
        *,
        TopicArn: str,  # noqa: ARG002, N803 - boto3's name; there is one topic
        PublishBatchRequestEntries: Sequence[Mapping[str, Any]],  # noqa: N803 - boto3's name
    ) -> dict[str, Any]:
        """The SNS call; may accept only some of the messages."""

        def work() -> dict[str, Any]:
            failed = []
            for entry in PublishBatchRequestEntries:
                if self._is_rejected():
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

    def _is_rejected(self) -> bool:
        if self.rejections:
            self.rejections -= 1
            return True
        return self._random.random() < self._faults.rates.refusal and self._faults.happens()

    def _record_event(self, detail: Mapping[str, Any]) -> None:
        name, version = detail["id"].rpartition("/")[::2]
        accepted = self._events[name]
        if version in map(str, accepted):
            return
        if accepted and int(version) < accepted[-1]:
            raise Violated(f"the bus accepted {name}/{accepted[-1]} before {name}/{version}")
        accepted.append(int(version))

    # -------------------------------------------------------------------------------------------------- what must hold

    def check_end(self) -> None:
        """Check that every transition was published, and that a message was sent where required.

        Raises:
            Violated: an event or a message is missing, or the feed, the sums of usage or a request are wrong.
        """
        published = []
        for key, before, after in self._table.written:
            if key.pk == DIGEST:
                self._check_digest(f"digest/{key.sk}")
            if key.sk != "job" or after is None or (before or {}).get("history") == after["history"]:
                continue
            if before is not None and before.get("owner") != after.get("owner"):
                # Its owner is forgotten, of which nobody is told.
                continue
            name, version = after["jobName"], int(after["version"])
            # Some steps leave the reason of the job as it was.
            code = after["history"][-1]["reason"]["code"]
            published.append(f"{name}/{version}")
            if version not in self._events[name]:
                raise Violated(f"no event for {name}/{version}: {code}")
            if code in NOTIFIED_BY_DEFAULT and f"{name}/{version}" not in self._mail:
                raise Violated(f"no message for {name}/{version}: {code}")
        self.follower.read()
        check_feed(self._table, published, self.follower.ids)
        check_usage(self._table)
        check_requests(self._table)

    def _check_digest(self, subject: str) -> None:
        if self._events[subject] != [1]:
            raise Violated(f"no event for {subject}")
        if f"{subject}/1" not in self._mail:
            raise Violated(f"no message for {subject}")
