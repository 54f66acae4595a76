"""A simulated deployment whose handlers run one after the other and whose use of AWS is counted."""

from __future__ import annotations

import io
import json
import logging
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from random import Random
from typing import Any, cast

from bench.metering.dynamodb_units import Count, MeteredTable
from headway_sandbox.inprocess.deployment import EVERY_MINUTE, SimulatedDeployment
from headway_sandbox.inprocess.lambda_loader import event, http_event
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.observability.logging import logger
from headway_service.pools.pause_counts import OLDER_CODE_MS
from headway_service.ports.table import Table
from headway_service.store.records.feed import FeedHead

POOL = "ml.p5.48xlarge"
ROLE = "arn:aws:iam::123456789012:role/training"

LAMBDA = "Lambda itself"
"""What uses the requests for which no function waits."""

WINDOW_S = 1
"""MaximumBatchingWindowInSeconds of the table's stream, s (template.yaml)."""

BATCH = 100
"""BatchSize of the table's stream (template.yaml)."""

SHARDS = 4
"""Shards of the stream: one for each partition, of which a new on-demand table has four (DynamoDB's developer guide,
"On-demand capacity mode": 4,000 writes a second, 1,000 for each partition)."""

_log = cast("logging.StreamHandler[Any]", logger.registered_handler)


class MeteredQueue(SimulatedDeployment[StreamedTable]):
    """The deployment.

    Args:
        instances: of the one pool.
        meter: makes the table that counts, of the table and what takes the counts.
        settings: other members of the configuration document.

    Attributes:
        used: the use, by function and kind; calls of DynamoDB and SageMaker by name too.
        metrics: the custom metrics that were published: name and dimensions.
        handler_ms: how long handlers ran on this machine, ms, by function.
    """

    def __init__(
        self, instances: int, *, meter: Callable[[StreamedTable, Count], MeteredTable] = MeteredTable, **settings: Any
    ) -> None:
        document = {"pools": {POOL: {"size": instances}}, **settings}
        super().__init__(StreamedTable(), document, fleet=FakeSageMaker(rng=Random(7)), random=Random(8))
        self.used: dict[tuple[str, str], float] = defaultdict(float)
        self.metrics: set[tuple[str, ...]] = set()
        self.handler_ms: dict[str, float] = defaultdict(float)
        self._meter = meter(self.table, lambda kind, number: self._use(f"DynamoDB {kind}", number))
        self._running = ""
        self._published = self._accounted = 0
        #: When each record of the stream was written, s.
        self._written_s: list[float] = []
        self._accounted_s = self.now_s

    # ---------------------------------------------------------------------------------------------------- what happens

    def submit(self, name: str, *, priority: int = 1, run_s: int = 600) -> None:
        """Submit a usual job, and run all that follows."""
        self.submit_request(usual_request(name, priority=priority, run_s=run_s))

    def submit_request(self, request: Mapping[str, Any]) -> None:
        """Submit this request, and run all that follows."""
        self.submit_at_once([request])

    def submit_at_once(self, requests: Iterable[Mapping[str, Any]]) -> None:
        """Submit these requests within a second, a tick after each, and run all that follows."""
        for request in requests:
            answer = self.invoke("api", http_event("POST", "/jobs", json.dumps(request)))
            if answer["statusCode"] != 201:
                raise RuntimeError(f"a submission was answered by {answer['statusCode']}: {answer['body']}")
            self.run_ticks()
        self.come_to_rest()

    def pass_time(self, seconds: float) -> None:
        """Let time pass, deliver SageMaker's events, and account for what has ended once a minute."""
        for detail in self.due_events(seconds):
            if self._published < len(self._written_s) and self.now_s >= self._written_s[self._published] + WINDOW_S:
                self.deliver()
            self.invoke("observe", {**event("observe"), "detail": detail})
            self.run_ticks()
        self.come_to_rest()
        if self.now_s >= self._accounted_s + 60 and self._published > self._accounted:
            self._account()

    def jobs(self) -> list[Mapping[str, Any]]:
        """The jobs as they are kept."""
        return [self.table.get(key) or {} for key in {key for key, _, _ in self.table.written if key.sk == "job"}]

    def reset(self) -> None:
        """Set all counts to zero."""
        self.used.clear()
        self.metrics.clear()
        self.handler_ms.clear()

    def minute(self) -> None:
        """The functions that run every minute, and what follows."""
        for function in EVERY_MINUTE:
            self.invoke(function, event(function))
        self.come_to_rest()

    def first_hour(self) -> None:
        """The first hour of a deployment, after which starts need not check for pauses, nor appends move the head."""
        self.table.write([FeedHead(last=self.machine_clock(), chained_from_ms=self.machine_clock()).put(None)])
        # The first run finds no pools yet.
        for _ in range(2):
            self.minute()
        self.pass_time(OLDER_CODE_MS / 1000)

    def come_to_rest(self) -> None:
        """Run ticks while there are wake-ups, and deliver the stream."""
        while self.wakes or self._published < len(self.table.written):
            self.run_ticks()
            self.deliver()

    def run_ticks(self) -> None:
        """Run ticks while there are wake-ups."""
        while self.wakes:
            # One receive and one delete for up to ten wake-ups.
            self._running = LAMBDA
            self._use("SQS requests", 2)
            self.wakes.clear()
            self.invoke("schedule", event("schedule"))

    def deliver(self) -> None:
        """Deliver the stream to `tell`: each shard by itself, in order."""
        self._note_times()
        first, self._published = self._published, len(self.table.written)
        shards = defaultdict[int, list[int]](list)
        for number in range(first, self._published):
            shards[zlib.crc32(self.table.written[number][0].pk.encode()) % SHARDS].append(number)
        for numbers in shards.values():
            for begin in range(0, len(numbers), BATCH):
                some = numbers[begin : begin + BATCH]
                records = [self.table.record(number, self._written_s[number]) for number in some]
                self.invoke("tell", {"Records": records})

    def _note_times(self) -> None:
        self._written_s += [self.now_s] * (len(self.table.written) - len(self._written_s))

    def invoke(self, function: str, payload: Mapping[str, Any], remaining_ms: int = 25_000) -> Any:
        """Run a handler, and count its use."""
        self._running = function
        self._use("Lambda requests", 1)
        printed = io.StringIO()
        stream = _log.setStream(printed)
        # Counting takes time too, but not the handler's.
        begun_ns = self.now_ns() - self._meter.metering_ns
        try:
            with redirect_stdout(printed):
                return super().invoke(function, payload, remaining_ms)
        finally:
            self._note_times()
            self.handler_ms[function] += (self.now_ns() - self._meter.metering_ns - begun_ns) / 1e6
            _log.setStream(stream)
            self._printed(printed.getvalue())

    def _account(self) -> None:
        """What the function of each minute does for the sums of usage; the rest of it is the use of an idle queue."""
        self._accounted_s, self._accounted = self.now_s, self._published
        self._running = "reconcile"
        begun_ns = self.now_ns() - self._meter.metering_ns
        self.container.usage_consumer.consume(self.machine_clock() + 30_000)
        self.handler_ms["reconcile"] += (self.now_ns() - self._meter.metering_ns - begun_ns) / 1e6

    def now_ns(self) -> int:
        """The time by which handlers are timed, ns."""
        return time.perf_counter_ns()

    def _printed(self, text: str) -> None:
        # Times and durations in a log vary in length from run to run; whole hundreds of bytes hardly do.
        written = len(text.encode()) + len(text.splitlines()) * LOG_EVENT_BYTES
        self._use("CloudWatch log bytes", round(written, -2))
        for line in text.splitlines():
            document = json.loads(line)
            for directive in document.get("_aws", {}).get("CloudWatchMetrics", []):
                for names in directive["Dimensions"]:
                    values = [f"{name}={document[name]}" for name in sorted(names)]
                    self.metrics.update((metric["Name"], *values) for metric in directive["Metrics"])

    def _use(self, kind: str, number: float) -> None:
        self.used[self._running, kind] += number

    # --------------------------------------------------------------------------------------- the adapters, and AWS

    def make_table(self) -> Table:
        """See :class:`SimulatedDeployment`."""
        return self._meter

    def call_sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """See :class:`SimulatedDeployment`."""
        self._use("SageMaker calls", 1)
        self._use(f"SageMaker {operation}", 1)
        return super().call_sagemaker(operation, request)

    def call_cloudwatch(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """See :class:`SimulatedDeployment`."""
        self._use("CloudWatch requests", 1)
        return super().call_cloudwatch(operation, request)

    def sleep(self, seconds: float) -> None:
        """See :class:`SimulatedDeployment`."""
        self._use("seconds waited", seconds)

    def send_message(self, *, MessageBody: str, **others: Any) -> Mapping[str, Any]:  # noqa: N803 - boto3's name
        """See :class:`SimulatedDeployment`."""
        self._use("SQS requests", 1)
        return super().send_message(MessageBody=MessageBody, **others)

    def put_events(self, *, Entries: Sequence[Any]) -> Mapping[str, Any]:  # noqa: N803 - boto3's name
        """See :class:`SimulatedDeployment`. Each event is billed."""
        self._use("EventBridge events", len(Entries))
        self._use("EventBridge calls", 1)
        return super().put_events(Entries=Entries)

    def publish_batch(self, *, PublishBatchRequestEntries: Sequence[Any], **others: Any) -> Mapping[str, Any]:  # noqa: N803
        """See :class:`SimulatedDeployment`. Each message is billed."""
        self._use("SNS messages", len(PublishBatchRequestEntries))
        return super().publish_batch(PublishBatchRequestEntries=PublishBatchRequestEntries, **others)


def usual_request(name: str, *, priority: int = 1, run_s: int = 600) -> dict[str, Any]:
    """A usual request for one instance that trains this long."""
    return {
        "TrainingJobName": name,
        "RoleArn": ROLE,
        "AlgorithmSpecification": {
            "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/training:latest",
            "TrainingInputMode": "File",
        },
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/output"},
        "ResourceConfig": {"InstanceType": POOL, "InstanceCount": 1, "VolumeSizeInGB": 100},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86_400},
        "HyperParameters": {f"parameter-{number}": "0.001" for number in range(10)},
        "Environment": {"SANDBOX_RUN_SECONDS": str(run_s)},
        "Tags": [{"Key": "headway:priority", "Value": str(priority)}],
    }


def sweep_of(members: int) -> dict[str, Any]:
    """A sweep with a number of members, which is a multiple of 100."""
    return {"grid": {"rate": [*range(100)], "seed": [*range(members // 100)]}}


LOG_EVENT_BYTES = 26
"""What CloudWatch adds to each event that is written to a log (API reference, PutLogEvents)."""
