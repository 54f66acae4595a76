"""A queue on virtual time whose launches can be refused, with the metrics that its functions have published."""

from __future__ import annotations

import io
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any
from unittest import mock

from headway_sandbox.cloudwatch.alarm_evaluation import Metric, Sample, sample
from headway_sandbox.cloudwatch.embedded_metrics import points
from headway_sandbox.errors import AwsError
from headway_sandbox.inprocess.deployment import START_S, SimulatedDeployment, TableT
from headway_sandbox.inprocess.lambda_functions import ENVIRONMENT, TIMEOUT_S
from headway_sandbox.inprocess.lambda_loader import event
from headway_service.ports.objects import ObjectPage
from headway_service.testing.memory_objects import MemoryObjects
from headway_verification.alarms.template import FUNCTION, STACK, function_id
from headway_verification.refusals.answers import Answer

JOB_TAG = "headway:job"
"""The tag by which a training job names its job."""

BUCKET = "jobs"
"""Where training jobs write their outputs, below ``output``."""

FUNCTIONS = ("api", "schedule", "observe", "reconcile")
"""The functions that run. The others neither launch nor see that nothing is launched."""

NAMESPACES = frozenset({"Headway", "AWS/Lambda"})
"""The namespaces of which a day has metrics: what the functions print, and their invocations and errors."""

WAKE_S = 1.0
"""From a wake-up to its tick, s. So the gauges of each minute are measured before its tick, as on AWS."""

MAX_TICKS = 100
"""Ticks in a row: more mean that ticks wake each other without end."""

MAX_DELIVERIES = 3
"""Deliveries of an event whose function fails (Lambda, asynchronous invocation)."""


class SlowObjects(MemoryObjects):
    """S3, each call of which takes virtual time.

    Args:
        wait: called with the time that a call takes, s.
        call_s: how long a call takes, s.
    """

    def __init__(self, wait: Callable[[float], None], call_s: float) -> None:
        super().__init__()
        self._wait = wait
        self._call_s = call_s

    def list(self, bucket: str, prefix: str, token: str | None = None) -> ObjectPage:
        """See :class:`MemoryObjects`."""
        self._wait(self._call_s)
        return super().list(bucket, prefix, token)

    def read(self, bucket: str, key: str, etag: str, size: int) -> bytes:
        """See :class:`MemoryObjects`."""
        self._wait(self._call_s)
        return super().read(bucket, key, etag, size)


@dataclass(frozen=True, slots=True)
class Launch:
    """A call of CreateTrainingJob: when (s since the epoch), in which tick, for which job, and its training job."""

    at_s: float
    tick: int
    job: str
    attempt: str
    accepted: bool


class RefusingDeployment(SimulatedDeployment[TableT]):
    """A queue, driven minute by minute.

    Args:
        document: the configuration document.
        table: the queue's table.
        answers: what SageMaker answers to launches in place of its own answer; the first that fits.
        s3_call_s: how long a call of S3 takes, s.

    Attributes:
        launches: the calls of CreateTrainingJob.
        samples: what the functions have published, in order of time.
        ticks: how many ticks have run.
        handled: whether the last event was handled.
        failed_ticks: how many of them failed.
    """

    def __init__(
        self, document: Mapping[str, Any], table: TableT, answers: Sequence[Answer] = (), s3_call_s: float = 0.0
    ) -> None:
        super().__init__(table, document)
        self.answers = list(answers)
        self.objects = SlowObjects(self.sleep, s3_call_s)
        self.launches: list[Launch] = []
        self.samples: dict[Metric, list[Sample]] = defaultdict(list)
        self.ticks = 0
        self.handled = True
        self.failed_ticks = 0
        self._answered: Counter[Answer] = Counter()
        self._minute_s = START_S
        #: Events whose function has failed: the event, and how often it was delivered.
        self._again: list[tuple[Mapping[str, Any], int]] = []

    # ------------------------------------------------------------------------------------------------ what drives it

    def pass_time(self, until_s: float) -> None:
        """Let time pass: deliver SageMaker's events, and run the functions of each minute.

        Args:
            until_s: until when, s since the epoch; functions that wait may take longer.
        """
        self.run_ticks()
        while self.now_s < until_s:
            next_s = min(self._minute_s + 60, until_s)
            while (due_s := self.fleet.next_due()) is not None and due_s <= next_s:
                self.now_s = max(self.now_s, due_s)
                for detail in self.new_events():
                    self.deliver(detail, 1)
                self.run_ticks()
            self.now_s = max(self.now_s, next_s)
            if self.now_s >= self._minute_s + 60:
                # One run of the functions replaces all that were missed.
                self._minute_s += (self.now_s - self._minute_s) // 60 * 60
                self.run_minute()

    def skip_to_now(self) -> None:
        """Leave out the functions of the minutes that have passed."""
        self._minute_s += (self.now_s - self._minute_s) // 60 * 60

    def deliver_again(self) -> None:
        """Deliver events again whose function has failed."""
        again, self._again = self._again, []
        for detail, deliveries in again:
            self.deliver(detail, deliveries)

    def run_minute(self) -> None:
        """Run the functions of a minute."""
        self.deliver_again()
        self.attempt("reconcile", event("reconcile"))
        self.run_ticks()

    def deliver(self, detail: Mapping[str, Any], deliveries: int) -> None:
        """Deliver an event of SageMaker.

        Args:
            deliveries: how often it was delivered, with this time.
        """
        if detail["TrainingJobStatus"] == "Completed":
            # As SageMaker writes it; it takes no time of the queue's.
            self.objects.put(BUCKET, f"output/{detail['TrainingJobName']}/output/model.tar.gz", b"model")
        self.handled = self.attempt("observe", {**event("observe"), "detail": detail})
        if not self.handled and deliveries < MAX_DELIVERIES:
            self._again.append((detail, deliveries + 1))

    def run_ticks(self) -> None:
        """Run ticks while there are wake-ups.

        Raises:
            RuntimeError: they do not come to rest.
        """
        for _ in range(MAX_TICKS):
            if not self.wakes:
                return
            self.wakes.clear()
            self.ticks += 1
            self.now_s += WAKE_S
            self.attempt("schedule", event("schedule"))
        raise RuntimeError(f"{MAX_TICKS} ticks in a row")

    def attempt(self, function: str, payload: Mapping[str, Any]) -> bool:
        """Invoke a function, and note an error. Returns whether it ended well."""
        try:
            self.invoke(function, payload, TIMEOUT_S[function] * 1000)
        except Exception:  # noqa: BLE001 - Lambda counts any error
            self.note("AWS/Lambda", "Errors", {FUNCTION: function_id(function)}, 1)
            return False
        return True

    def invoke(self, function: str, payload: Mapping[str, Any], remaining_ms: int = 25_000) -> Any:
        """See :class:`SimulatedDeployment`. The metrics that the handler prints are kept."""
        self.note("AWS/Lambda", "Invocations", {FUNCTION: function_id(function)}, 1)
        printed = io.StringIO()
        named = {**ENVIRONMENT, "POWERTOOLS_SERVICE_NAME": STACK}
        try:
            with redirect_stdout(printed), mock.patch.dict(os.environ, named):
                return super().invoke(function, payload, remaining_ms)
        finally:
            for line in printed.getvalue().splitlines():
                self.publish(function, line)

    def publish(self, function: str, line: str) -> None:  # noqa: ARG002 - a subclass may lose the lines of a function
        """Publish the metrics of a line that a function has printed."""
        for point in points(line):
            self.note(point.namespace, point.name, point.dimensions, point.value)

    def note(self, namespace: str, name: str, dimensions: Mapping[str, str], value: float) -> None:
        """Note a value of a metric now."""
        # Lines have the time of this machine.
        self.samples[Metric(namespace, name, frozenset(dimensions.items()))].append(sample(self.now_s, value))

    # ------------------------------------------------------------------------------------------------ what AWS answers

    def call_sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """See :class:`SimulatedDeployment`."""
        if operation != "CreateTrainingJob":
            return super().call_sagemaker(operation, request)
        job = {tag["Key"]: tag["Value"] for tag in request.get("Tags", [])}.get(JOB_TAG, "")
        try:
            self._refuse(job, request)
            answer = super().call_sagemaker(operation, request)
        except AwsError:
            self._launched(job, request, accepted=False)
            raise
        self._launched(job, request, accepted=True)
        return answer

    def _refuse(self, job: str, request: Mapping[str, Any]) -> None:
        for answer in self.answers:
            if answer.fits(job, request) and (answer.times is None or self._answered[answer] < answer.times):
                self._answered[answer] += 1
                raise answer.error

    def _launched(self, job: str, request: Mapping[str, Any], *, accepted: bool) -> None:
        self.launches.append(Launch(self.now_s, self.ticks, job, request["TrainingJobName"], accepted))

    def sleep(self, seconds: float) -> None:
        """See :class:`SimulatedDeployment`. Sleeping takes virtual time."""
        self.now_s += seconds

    def tick_failed(self, error: Exception) -> None:  # noqa: ARG002 - the signature is the base's
        """See :class:`SimulatedDeployment`. A state may make ticks fail."""
        self.failed_ticks += 1
