"""The dead-letter queues on SQS, and the functions that their messages are for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError

from headway_service.aws.error_codes import FAILED_CALLS, code_of
from headway_service.aws.transient_errors import raise_retry_later
from headway_service.errors import NotDelivered
from headway_service.observability.logging import logger
from headway_service.ports.messaging import DeadLetter, Wake
from headway_service.response_check import member

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

HIDDEN_S = 30
"""How long a letter that was taken is hidden from others, s: longer than the API function lives."""

_retry_later = partial(raise_retry_later, "the dead-letter queue")

_BATCH = 10
"""SQS's limit of messages in one call (service quota)."""

_WAIT_S = 1
"""With a wait time SQS asks all of its servers; otherwise a queue may look empty that is not (developer guide)."""


class SqsDeadLetterQueue:
    """A :class:`headway_service.ports.messaging.DeadLetterQueue` on SQS, standard or FIFO with one message group."""

    def __init__(self, client: SQSClient, url: str) -> None:
        self._client = client
        self._url = url

    def receive(self, most: int) -> Sequence[DeadLetter]:
        """See :class:`headway_service.ports.messaging.DeadLetterQueue`."""
        with _retry_later():
            answer = self._client.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=min(most, _BATCH),
                MessageSystemAttributeNames=["SentTimestamp", "ApproximateReceiveCount"],
                MessageAttributeNames=["ERROR_CODE", "ERROR_MESSAGE"],
                VisibilityTimeout=HIDDEN_S,
                WaitTimeSeconds=_WAIT_S,
            )
        return [_letter(message) for message in answer.get("Messages", [])]

    def remove(self, letter: DeadLetter) -> None:
        """See :class:`headway_service.ports.messaging.DeadLetterQueue`."""
        with _retry_later():
            self._client.delete_message(QueueUrl=self._url, ReceiptHandle=letter.receipt)

    def give_back(self, letters: Sequence[DeadLetter]) -> None:
        """See :class:`headway_service.ports.messaging.DeadLetterQueue`."""
        for letter in letters:
            with _retry_later():
                self._client.change_message_visibility(
                    QueueUrl=self._url, ReceiptHandle=letter.receipt, VisibilityTimeout=0
                )

    def count(self) -> int:
        """See :class:`headway_service.ports.messaging.DeadLetterQueue`."""
        with _retry_later():
            answer = self._client.get_queue_attributes(
                QueueUrl=self._url,
                AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
            )
            return sum(int(number) for number in member(answer, "Attributes").values())


class AwsRedriveTargets:
    """:class:`headway_service.ports.messaging.Recipients` on AWS.

    Args:
        client: Lambda's.
        observe_function: ARN of the observer's function.
        wake: requests a tick; raises boto3's errors.
    """

    def __init__(self, client: LambdaClient, observe_function: str, wake: Wake) -> None:
        self._client = client
        self._observe_function = observe_function
        self._wake = wake

    def observe(self, event: Mapping[str, Any]) -> None:
        """See :class:`headway_service.ports.messaging.Recipients`."""
        with _handing_over():
            # As EventBridge invokes it, so that what fails again goes the way of any event that fails.
            self._client.invoke(
                FunctionName=self._observe_function, InvocationType="Event", Payload=json.dumps(event).encode()
            )

    def wake(self, why: str) -> None:
        """See :class:`headway_service.ports.messaging.Recipients`."""
        with _handing_over():
            self._wake(why)


@contextmanager
def _handing_over() -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, *FAILED_CALLS) as error:
        code = code_of(error)
        logger.warning("a dead letter was not handed over", extra={"code": code}, exc_info=True)
        raise NotDelivered(code) from error


def _letter(message: MessageTypeDef) -> DeadLetter:
    return DeadLetter(
        message_id=message["MessageId"],
        receipt=message["ReceiptHandle"],
        body=message["Body"],
        attributes={
            name: attribute["StringValue"]
            for name, attribute in message.get("MessageAttributes", {}).items()
            if "StringValue" in attribute
        },
        sent_ms=int(message["Attributes"]["SentTimestamp"]),
        receive_count=int(message["Attributes"]["ApproximateReceiveCount"]),
    )
