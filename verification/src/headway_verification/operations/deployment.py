"""A queue on virtual time with all of its functions, and what AWS measures of them.

Lambda, SQS, EventBridge and API Gateway are followed as far as their metrics go: a function that crashes is invoked
again as its event source does that, and a message that is not handled comes to its dead-letter queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

from headway_sandbox.errors import AwsError
from headway_sandbox.inprocess.deployment import EVERY_MINUTE, CountingRandom, SimulatedContainer
from headway_sandbox.inprocess.lambda_functions import TIMEOUT_S
from headway_sandbox.inprocess.lambda_loader import event
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_service.ports.table import Table
from headway_verification.alarms.template import FUNCTION, STACK, function_id
from headway_verification.operations.outages import READS, AnsweringTable, Crashed, Outages, unavailable
from headway_verification.refusals.deployment import MAX_DELIVERIES, MAX_TICKS, WAKE_S, RefusingDeployment

HIDDEN_S = 45
"""For how long a wake-up is hidden while it is handled (template.yaml, WakeQueue), s."""

MAX_RECEIVES = 5
"""How often a wake-up is received before it is a dead letter (template.yaml, WakeQueue)."""

BATCH = 100
"""Records of the stream in one invocation (template.yaml, TellFunction)."""

WAKE_DEAD, EVENT_DEAD, WAKE = "WakeDeadLetters.QueueName", "EventDeadLetters.QueueName", "WakeQueue.QueueName"
"""The queues as the template's alarms name them."""

_API = {"ApiName": STACK, "Stage": "StageName"}
_SERVER_ERRORS = HTTPStatus.INTERNAL_SERVER_ERROR


@dataclass(slots=True)
class _WakeUp:
    """A message in the wake-up queue."""

    sent_s: float
    receives: int = 0
    hidden_until_s: float = 0.0


class OperatedDeployment(RefusingDeployment[StreamedTable]):
    """A queue, driven minute by minute.

    Args:
        document: the configuration document.

    Attributes:
        outages: what does not work.
        dead_letters: how many there are, by queue.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.outages = Outages()
        self.dead_letters = {WAKE_DEAD: 0, EVENT_DEAD: 0}
        self._queue: list[_WakeUp] = []
        self._told = 0
        self._written_s: list[float] = []
        self._calls_api = False
        super().__init__(document, table=StreamedTable())

    # ------------------------------------------------------------------------------------------------ what drives it

    def run_minute(self) -> None:
        """See :class:`RefusingDeployment`. The functions run as far as their rules and Lambda let them."""
        self.deliver_again()
        for function in EVERY_MINUTE:
            if function in self.outages.disabled:
                continue
            if not self.attempt(function, event(function)):
                self.dead_letters[EVENT_DEAD] += 1
            if function == "watch":
                self._send_alarms()
            self.run_ticks()
        self.tell()
        self._measure()

    def replace_functions(self) -> None:
        """A deployment: the next invocations come to new instances."""
        self.container = SimulatedContainer(self, self.container.settings, CountingRandom())

    def leap(self, seconds: float) -> None:
        """Let time pass in which no function runs: nothing changes, and no alarm is evaluated."""
        self.now_s += seconds
        self.skip_to_now()

    def run_ticks(self) -> None:
        """See :class:`RefusingDeployment`. Wake-ups wait in their queue while they are not handled."""
        for _ in range(MAX_TICKS):
            self._queue += [_WakeUp(self.now_s) for _ in self.wakes]
            self.wakes.clear()
            ready = [each for each in self._queue if each.hidden_until_s <= self.now_s]
            if not ready or "schedule" in self.outages.disabled:
                return
            if "schedule" in self.outages.throttled:
                # Lambda's pollers wait, and receive nothing (developer guide, "Scaling and SQS event sources").
                self.note("AWS/Lambda", "Throttles", {FUNCTION: function_id("schedule")}, 1)
                return
            self.ticks += 1
            self.now_s += WAKE_S
            if self.attempt("schedule", event("schedule")):
                self._queue = [each for each in self._queue if each not in ready]
                self.tell()
                continue
            for each in ready:
                each.receives += 1
                each.hidden_until_s = self.now_s + HIDDEN_S
            dead = [each for each in ready if each.receives >= MAX_RECEIVES]
            self.dead_letters[WAKE_DEAD] += len(dead)
            self._queue = [each for each in self._queue if each not in dead]
            return
        raise RuntimeError(f"{MAX_TICKS} ticks in a row")

    def deliver(self, detail: Mapping[str, Any], deliveries: int) -> None:
        """See :class:`RefusingDeployment`. An event that fails each time becomes a dead letter."""
        if "observe" in self.outages.disabled:
            return
        super().deliver(detail, deliveries)
        if deliveries == MAX_DELIVERIES and not self.handled:
            self.dead_letters[EVENT_DEAD] += 1

    def tell(self) -> None:
        """Hand the new records of the table's stream to the function ``tell``."""
        self._written_s += [self.now_s] * (len(self.table.written) - len(self._written_s))
        while self._told < len(self.table.written) and "tell" not in self.outages.disabled:
            end = min(len(self.table.written), self._told + BATCH)
            age_ms = (self.now_s - self._written_s[self._told]) * 1000
            self.note("AWS/Lambda", "IteratorAge", {FUNCTION: function_id("tell")}, age_ms)
            records = [self.table.record(number, self._written_s[number]) for number in range(self._told, end)]
            if not self.attempt("tell", {"Records": records}):
                return
            failed = [int(each["itemIdentifier"]) - 1 for each in self.answer["batchItemFailures"]]
            self._told = min(failed, default=end)
            if failed:
                return

    def call(self, method: str, path: str, body: Any = None) -> int:
        """Call the API through API Gateway, which measures it. Returns the status of the answer."""
        status, began_s = self.outages.refuses_callers, self.now_s
        if not status:
            self._calls_api = True
            try:
                status, _ = self.call_api(method, path, body)
            except Exception:  # noqa: BLE001 - the function crashed
                status = HTTPStatus.BAD_GATEWAY
            finally:
                self._calls_api = False
        self.note("AWS/ApiGateway", "Count", _API, 1)
        self.note("AWS/ApiGateway", "Latency", _API, (self.now_s - began_s) * 1000)
        if status >= HTTPStatus.BAD_REQUEST:
            self.note("AWS/ApiGateway", "5XXError" if status >= _SERVER_ERRORS else "4XXError", _API, 1)
        return status

    # ------------------------------------------------------------------------------------------------ what AWS does

    def invoke(self, function: str, payload: Mapping[str, Any], remaining_ms: int = 25_000) -> Any:
        """See :class:`SimulatedDeployment`.

        Raises:
            Crashed: the function is throttled or crashes.
        """
        if function in self.outages.throttled:
            self.note("AWS/Lambda", "Throttles", {FUNCTION: function_id(function)}, 1)
            raise Crashed(f"{function} is throttled")
        if function in self.outages.crashing:
            self.note("AWS/Lambda", "Invocations", {FUNCTION: function_id(function)}, 1)
            if function == "api":
                self.note("AWS/Lambda", "Errors", {FUNCTION: function_id(function)}, 1)
            raise Crashed(f"{function} ran out of memory")
        return super().invoke(function, payload, remaining_ms)

    def attempt(self, function: str, payload: Mapping[str, Any]) -> bool:
        """Invoke a function, and note an error. Returns whether it ended well; see :attr:`answer`."""
        try:
            self.answer = self.invoke(function, payload, TIMEOUT_S[function] * 1000)
        except Exception:  # noqa: BLE001 - Lambda counts any error
            if function not in self.outages.throttled:
                self.note("AWS/Lambda", "Errors", {FUNCTION: function_id(function)}, 1)
            return False
        return True

    def publish(self, function: str, line: str) -> None:
        """See :class:`RefusingDeployment`. Without its log group, what a function prints is lost."""
        if function not in self.outages.without_logs:
            super().publish(function, line)

    def make_table(self) -> Table:
        """See :class:`SimulatedDeployment`."""
        return cast(Table, AnsweringTable(self.table, self._before_table))

    def call_sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """See :class:`SimulatedDeployment`."""
        if operation in self.outages.sagemaker:
            raise AwsError("AccessDeniedException", f"not authorized to perform sagemaker:{operation}", status=403)
        return super().call_sagemaker(operation, request)

    def call_cloudwatch(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """See :class:`SimulatedDeployment`."""
        if self.outages.alarms and operation == "PutMetricAlarm":
            raise AwsError("LimitExceeded", "the maximum number of alarms is reached", status=400)
        return super().call_cloudwatch(operation, request)

    def put_events(self, *, Entries: Sequence[Any]) -> Mapping[str, Any]:  # noqa: N803 - boto3's name
        """See :class:`SimulatedDeployment`."""
        if self.outages.bus:
            return {"FailedEntryCount": len(Entries), "Entries": [{"ErrorCode": "InternalFailure"} for _ in Entries]}
        return super().put_events(Entries=Entries)

    def _before_table(self, method: str) -> None:
        if self._calls_api:
            self.now_s += self.outages.api_call_s
            if self.outages.api_error is not None:
                raise self.outages.api_error
        if self.outages.table == "throttles":
            name = "ReadThrottleEvents" if method in READS else "WriteThrottleEvents"
            self.note("AWS/DynamoDB", name, {"TableName": "JobsTable"}, 1)
            raise unavailable(self.outages)
        if self.outages.table == "fails":
            operation = "Query" if method in READS else "TransactWriteItems"
            self.note("AWS/DynamoDB", "SystemErrors", {"TableName": "JobsTable", "Operation": operation}, 1)
            raise unavailable(self.outages)

    def _send_alarms(self) -> None:
        """Evaluate the alarms on running jobs, and hand what has changed to the function ``watch``."""
        for change in self.cloudwatch.evaluate(self.now_s):
            payload = event("watch-alarm")
            payload["Records"][0]["Sns"]["Message"] = self.cloudwatch.notification(change, now=self.now_s)[1]
            self.attempt("watch", payload)

    def _measure(self) -> None:
        for queue, count in self.dead_letters.items():
            self.note("AWS/SQS", "ApproximateNumberOfMessagesVisible", {"QueueName": queue}, count)
        oldest_s = min((each.sent_s for each in self._queue), default=self.now_s)
        self.note("AWS/SQS", "ApproximateAgeOfOldestMessage", {"QueueName": WAKE}, self.now_s - oldest_s)
