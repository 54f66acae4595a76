"""Fault injection for the adapters: a call can crash its invocation, be rejected, or lose its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from botocore.exceptions import ClientError, ReadTimeoutError

from headway_sandbox.cloudwatch.memory_cloudwatch import MemoryCloudWatch
from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.raw_answers import RawAnswer
from headway_service.errors import RetryLater, UnreadableAnswer
from headway_verification.soak.cooperative_scheduler import Killed, current
from headway_verification.soak.faults.plan import BESIDE, READS, Fault, FaultPlan

T = TypeVar("T")

ACTIONS: Mapping[str, str] = {
    **{operation: f"dynamodb:{operation}" for operation in ("GetItem", "BatchGetItem", "Query", "Scan")},
    **{operation: f"cloudwatch:{operation}" for operation in ("PutMetricAlarm", "DeleteAlarms", "DescribeAlarms")},
    "GetMetricData": "cloudwatch:GetMetricData",
    "PutEvents": "events:PutEvents",
    "PublishBatch": "sns:Publish",
    "SendMessage": "sqs:SendMessage",
    "ListObjectsV2": "s3:ListBucket",
    "GetObject": "s3:GetObject",
}
"""The permission that each operation needs, where it does not depend on the request."""


class FaultInjector:
    """Performs calls and injects faults.

    Args:
        faults: selects the fault of each call.
        note: called with the caller and a description for each call with an effect and each fault.
        clock_s: the virtual time, s.

    Attributes:
        changed: whether a call may have changed state since this was last reset.
        needed: how often each function needed each permission.
    """

    def __init__(self, faults: FaultPlan, note: Callable[[str, str], None], clock_s: Callable[[], float]) -> None:
        self._faults = faults
        self._note = note
        self._clock_s = clock_s
        self.changed = False
        self.needed: Counter[tuple[str, str]] = Counter()

    def call(
        self,
        operation: str,
        work: Callable[[], T],
        *,
        about: str = "",
        needs: Sequence[str] = (),
        refused: Callable[[], Exception],
        lost: Callable[[], Exception] | None = None,
        raw: Callable[[RawAnswer], Exception] | None = None,
        again: Callable[[], T] | None = None,
    ) -> T:
        """Perform a call.

        Args:
            operation: the name of the operation, for the counters.
            work: performs the effect of the call.
            about: the subject of the call, for the log.
            needs: the permissions that the caller needs; empty for those of the operation.
            refused: the caller's exception if the service rejects the call.
            lost: the caller's exception if the answer is lost; None for that of ``refused``.
            raw: the caller's exception if an intermediary answers; None for that of ``refused``.
            again: performs and answers a retry by the client library; None if a retry has no effect.

        Returns:
            The answer of the call.

        Raises:
            Killed: the injected fault ends the invocation.
        """
        process = current()
        if process is None:
            # No faults are injected into calls of users and checks.
            return work()
        process.pause()
        self.needed.update((process.function, action) for action in needs or [ACTIONS[operation]])
        fault = self._faults.next(operation)
        if fault is not Fault.NONE or operation not in READS:
            self._note(process.name, f"{operation} {about}{'' if fault is Fault.NONE else f': {fault}'}")
        if fault is Fault.CRASH_BEFORE:
            raise Killed
        if fault is Fault.SLOW:
            delay_s = self._faults.delay_s()
            process.delay_s += delay_s
            process.sleep(self._clock_s() + delay_s)
        if fault in {Fault.REFUSED, Fault.RAW_BEFORE}:
            raise self._error(fault, refused, lost, raw)
        self.changed = self.changed or operation not in READS | BESIDE
        result = work()
        if fault is Fault.SENT_TWICE and again is not None:
            result = again()
        if fault is Fault.CRASH_AFTER:
            raise Killed
        if fault in {Fault.ANSWER_LOST, Fault.RAW_AFTER}:
            raise self._error(fault, refused, lost, raw)
        return result

    def note_need(self, action: str) -> None:
        """Note the permission of a call into which no faults are injected.

        Args:
            action: the permission.
        """
        process = current()
        if process is not None:
            self.needed[process.function, action] += 1

    def _error(
        self,
        fault: Fault,
        refused: Callable[[], Exception],
        lost: Callable[[], Exception] | None,
        raw: Callable[[RawAnswer], Exception] | None,
    ) -> Exception:
        """Return the caller's exception in place of an answer."""
        if fault is Fault.ANSWER_LOST and lost is not None:
            return lost()
        if fault in {Fault.RAW_BEFORE, Fault.RAW_AFTER} and raw is not None:
            return raw(self._faults.raw_answer(after=fault is Fault.RAW_AFTER))
        return refused()


class FaultySqs:
    """The subset of the SQS client that the wake-up queue needs."""

    def __init__(self, edge: FaultInjector, deliver: Callable[[str], None]) -> None:
        self._edge = edge
        self._deliver = deliver

    def send_message(self, **message: Any) -> None:
        """Send a wake-up; its id lets SQS drop a repetition."""

        def work() -> None:
            self._deliver(message["MessageBody"])

        self._edge.call("SendMessage", work, refused=_not_sent, raw=lambda answer: client_error(answer, "SendMessage"))


def _not_sent() -> Exception:
    return ClientError({"Error": {"Code": "ServiceUnavailable", "Message": "try again"}}, "SendMessage")


def client_error(answer: RawAnswer, operation: str) -> Exception:
    """Return the exception of a boto3 client for an answer that does not come from AWS.

    Args:
        operation: the operation that was called.
    """
    if answer.status < HTTPStatus.MOVED_PERMANENTLY:
        return UnreadableAnswer("an answer that is not AWS's")
    error, metadata = {"Code": str(answer.status), "Message": ""}, {"HTTPStatusCode": answer.status}
    return ClientError({"Error": error, "ResponseMetadata": metadata}, operation)  # type: ignore[typeddict-item]


def busy_error() -> Exception:
    return RetryLater("no answer; try again in a moment")


class FaultyCloudWatch:
    """CloudWatch alarms as the functions see them, for :mod:`headway_sandbox.inprocess.stub_client`."""

    def __init__(self, cloudwatch: MemoryCloudWatch, edge: FaultInjector, clock_s: Callable[[], float]) -> None:
        self._cloudwatch = cloudwatch
        self._edge = edge
        self._clock_s = clock_s

    def __call__(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a call.

        Args:
            request: its parameters.

        Raises:
            AwsError: the error that CloudWatch would return.
            RawAnswer: the answer of an intermediary.
            ReadTimeoutError: there is no answer.
        """

        def work() -> Mapping[str, Any]:
            return self._cloudwatch.call(operation, request, now=self._clock_s())

        return self._edge.call(
            operation,
            work,
            about=str(request.get("AlarmName") or request.get("AlarmNames") or ""),
            refused=lambda: AwsError("ThrottlingException", "Rate exceeded"),
            lost=lambda: ReadTimeoutError(endpoint_url="https://monitoring.invalid"),
            raw=lambda answer: answer,
            again=work,
        )
