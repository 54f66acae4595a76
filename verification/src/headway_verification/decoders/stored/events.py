"""Events: what EventBridge, SNS, the table's stream and SQS hand to the functions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from headway_sandbox.inprocess.lambda_loader import event
from headway_verification.decoders.decoder import Decoder, Refused
from headway_verification.decoders.inputs.documents import json_texts
from headway_verification.decoders.inputs.samples import request
from headway_verification.decoders.queue import Queue
from headway_verification.decoders.stored.submissions import AT_ONCE


def _delivered(function: str, *, may_fail: bool) -> Callable[[bytes], None]:
    """What hands an event to a function.

    Args:
        function: its folder.
        may_fail: whether it may raise, so that Lambda tries again and then keeps the event as a dead letter.
    """

    def deliver(content: bytes) -> None:
        try:
            payload = json.loads(content)
        except (ValueError, RecursionError):
            raise Refused("no event") from None
        if not isinstance(payload, dict) or (function == "tell" and not _has_records(payload)):
            raise Refused("no event")
        queue = Queue()
        queue.ask("POST", "/jobs", json.dumps(request()))
        queue.tick()
        failed = False
        try:
            queue.invoke(function, payload)
        except Exception:
            if not may_fail:
                raise
            failed = True
        queue.serve_others()
        queue.let_pass(600)
        queue.serve_others()
        if failed:
            raise Refused("it becomes a dead letter")

    return deliver


def _has_records(payload: dict[str, Any]) -> bool:
    """Whether Lambda may have made the event: the stream's part of a record is DynamoDB's, the images are ours."""
    records = payload.get("Records")
    return isinstance(records, list) and all(
        isinstance(each, dict)
        and isinstance(each.get("dynamodb"), dict)
        and isinstance(each["dynamodb"].get("SequenceNumber"), str)
        and each["dynamodb"]["SequenceNumber"].isdecimal()
        for each in records
    )


def _started() -> dict[str, Any]:
    payload = event("observe")
    payload["detail"]["TrainingJobName"] = "a-1"
    return payload


DECODERS = (
    Decoder(
        name="queue events of SageMaker", inputs=json_texts([event("observe"), _started()]),
        decode=_delivered("observe", may_fail=True), refusals=(Refused,), batch=AT_ONCE,
    ),
    Decoder(
        name="queue messages of alarms", inputs=json_texts([event("watch-alarm")]),
        decode=_delivered("watch", may_fail=True), refusals=(Refused,), batch=AT_ONCE,
    ),
    Decoder(
        name="queue records of the stream", inputs=json_texts([event("tell")]),
        decode=_delivered("tell", may_fail=False), refusals=(Refused,), batch=AT_ONCE,
    ),
    Decoder(
        name="queue wake-ups", inputs=json_texts([event("schedule")]), decode=_delivered("schedule", may_fail=False),
        refusals=(Refused,), batch=AT_ONCE,
    ),
)  # fmt: skip
