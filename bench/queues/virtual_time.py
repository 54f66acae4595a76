"""A queue whose real handlers run on virtual time, one invocation after the other; what is billed is counted."""

from __future__ import annotations

import io
import json
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from random import Random
from typing import Any, cast

from bench.metering.dynamodb_units import Count, MeteredTable
from headway_sandbox.cloudwatch.memory_cloudwatch import MemoryCloudWatch
from headway_sandbox.inprocess.lambda_functions import Functions, SoakServices
from headway_sandbox.inprocess.lambda_loader import event, http_event
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.aws.cloudwatch_alarms import CloudWatchAlarms
from headway_service.aws.sagemaker_training_jobs import SageMakerTrainingJobs
from headway_service.observability.logging import logger
from headway_service.ports.config_store import ConfigurationText

POOL = "ml.p5.48xlarge"
EVERY_MINUTE = ("reconcile", "patrol", "watch")
RECONCILE_AFTER_S = 300  # template.yaml's default
WATCH_TOPIC = "arn:aws:sns:eu-west-1:123456789012:headway-watch"
START_S = 1_800_000_000.0
ROLE = "arn:aws:iam::123456789012:role/training"

_log = cast("logging.StreamHandler[Any]", logger.registered_handler)
_functions = Functions()
"""Warm instances, for all worlds one after the other."""


class CostWorld:
    """The world.

    Args:
        instances: of the one pool.
        meter: makes the table that counts, of the table and what takes the counts.
        settings: what else the configuration document says.

    Attributes:
        used: what was used, by function and kind; calls of DynamoDB and SageMaker by name too.
        metrics: the custom metrics that were published: name and dimensions.
        handler_ms: how long handlers ran on this machine, ms, by function.
    """

    def __init__(
        self, instances: int, *, meter: Callable[[StreamedTable, Count], MeteredTable] = MeteredTable, **settings: Any
    ) -> None:
        self.now_s = START_S
        self.used: dict[tuple[str, str], float] = defaultdict(float)
        self.metrics: set[tuple[str, ...]] = set()
        self.handler_ms: dict[str, float] = defaultdict(float)
        self.table = StreamedTable()
        self._meter = meter(self.table, lambda kind, number: self._use(f"DynamoDB {kind}", number))
        self.fleet = FakeSageMaker(rng=Random(7))
        self._cloudwatch = MemoryCloudWatch(self.fleet)
        self._document = json.dumps({"pools": {POOL: {"size": instances}}, **settings})
        self._running = ""
        self._wakes = self._told = 0
        self._services = SoakServices(
            table=self._meter,
            training_jobs=SageMakerTrainingJobs(stub_client("sagemaker", self._sagemaker)),
            alarms=CloudWatchAlarms(stub_client("cloudwatch", self._alarms), "headway-watch/", WATCH_TOPIC),
            store=self,
            sqs=self,
            events=self,
            sns=self,
            clock=lambda: int(self.now_s * 1000),
            random=Random(8),
            pause=self._pause,
            failed=_failed,
        )
        self._services.settings = replace(self._services.settings, reconcile_after_s=RECONCILE_AFTER_S)

    # ---------------------------------------------------------------------------------------------------- what happens

    def submit(self, name: str, *, priority: int = 1, run_s: int = 600) -> None:
        """Somebody submits a usual job, and what follows of it happens."""
        self.submit_request(usual_request(name, priority=priority, run_s=run_s))

    def submit_request(self, request: Mapping[str, Any]) -> None:
        """Somebody submits this, and what follows of it happens."""
        answer = self.invoke("api", http_event("POST", "/jobs", json.dumps(request)))
        if answer["statusCode"] != 201:
            raise RuntimeError(f"a submission was answered by {answer['statusCode']}: {answer['body']}")
        self.settle()

    def pass_time(self, seconds: float) -> None:
        """Let time pass in steps of a second, and hand out what SageMaker tells."""
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            due_s = self.fleet.next_due()
            self.now_s = end_s if due_s is None else min(end_s, max(due_s, self.now_s))
            for detail in self.fleet.advance(self.now_s):
                payload = event("observe")
                payload["detail"] = detail
                self.invoke("observe", payload)
                self.settle()

    def jobs(self) -> list[Mapping[str, Any]]:
        """The jobs as they are kept."""
        return [self.table.get(key) or {} for key in {key for key, _, _ in self.table.written if key.sk == "job"}]

    def forget(self) -> None:
        """Count anew."""
        self.used.clear()
        self.metrics.clear()
        self.handler_ms.clear()

    def minute(self) -> None:
        """The functions that run every minute, and what follows."""
        for function in EVERY_MINUTE:
            self.invoke(function, event(function))
        self.settle()

    def settle(self) -> None:
        """Ticks while there are wake-ups; then what the stream has is told."""
        while self._wakes or self._told < len(self.table.written):
            if self._wakes:
                # One receive and one delete for up to ten wake-ups.
                self._running = "schedule"
                self._use("SQS requests", 2)
                self._wakes = 0
                self.invoke("schedule", event("schedule"))
            if self._told < len(self.table.written):
                first, self._told = self._told, min(self._told + 100, len(self.table.written))
                records = [self.table.record(number, self.now_s) for number in range(first, self._told)]
                self.invoke("tell", {"Records": records})

    def invoke(self, function: str, payload: Mapping[str, Any]) -> Any:
        """Run a handler, and count what it uses."""
        self._running = function
        self._use("Lambda requests", 1)
        printed = io.StringIO()
        stream = _log.setStream(printed)
        # Counting takes time too, but not the handler's.
        begun_ns = self.now_ns() - self._meter.metering_ns
        try:
            with redirect_stdout(printed):
                return _functions.invoke(function, payload, self._services, 25_000)
        finally:
            self.handler_ms[function] += (self.now_ns() - self._meter.metering_ns - begun_ns) / 1e6
            _log.setStream(stream)
            self._printed(printed.getvalue())

    def now_ns(self) -> int:
        """The time by which handlers are timed, ns."""
        return time.perf_counter_ns()

    def _printed(self, text: str) -> None:
        # Times and durations in a log vary in length from run to run; whole hundreds of bytes hardly do.
        self._use("CloudWatch log bytes", round(len(text.encode()), -2))
        for line in text.splitlines():
            document = json.loads(line)
            for directive in document.get("_aws", {}).get("CloudWatchMetrics", []):
                for names in directive["Dimensions"]:
                    values = [f"{name}={document[name]}" for name in sorted(names)]
                    self.metrics.update((metric["Name"], *values) for metric in directive["Metrics"])

    def _use(self, kind: str, number: float) -> None:
        self.used[self._running, kind] += number

    # --------------------------------------------------------------------------------------- what stands for the world

    def _sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self._use("SageMaker calls", 1)
        self._use(f"SageMaker {operation}", 1)
        return self.fleet.call(operation, request, now=self.now_s)

    def _alarms(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self._use("CloudWatch requests", 1)
        return self._cloudwatch.call(operation, request, now=self.now_s)

    def _pause(self, seconds: float) -> None:
        self._use("seconds waited", seconds)

    def read(self) -> ConfigurationText:
        """See :class:`headway_service.ports.config_store.ConfigurationStore`."""
        self._use("SSM calls", 1)
        return ConfigurationText(text=self._document, version=1)

    def read_version(self, version: int) -> ConfigurationText | None:
        """See :class:`headway_service.ports.config_store.ConfigurationStore`. There is only one."""
        return self.read() if version == 1 else None

    def write(self, text: str) -> int:
        """See :class:`headway_service.ports.config_store.ConfigurationStore`. Nobody changes the configuration here."""
        # Were it written after all, what is counted would be of another queue than the one that was set up.
        raise NotImplementedError(text)

    def send_message(self, **_: Any) -> None:
        """SQS: a wake-up."""
        self._use("SQS requests", 1)
        self._wakes += 1

    def put_events(self, *, Entries: Sequence[Any]) -> dict[str, Any]:  # noqa: N803 - boto3's name
        """EventBridge: each event is billed."""
        self._use("EventBridge events", len(Entries))
        self._use("EventBridge calls", 1)
        return {"FailedEntryCount": 0, "Entries": [{"EventId": "1"} for _ in Entries]}

    def publish_batch(self, *, PublishBatchRequestEntries: Sequence[Any], **_: Any) -> dict[str, Any]:  # noqa: N803
        """SNS: each message is billed."""
        self._use("SNS messages", len(PublishBatchRequestEntries))
        return {"Failed": []}


def usual_request(name: str, *, priority: int = 1, run_s: int = 600) -> dict[str, Any]:
    """A request with what a usual one has, of one instance that trains so long."""
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


def _failed(error: Exception) -> None:
    raise RuntimeError("a tick failed") from error
