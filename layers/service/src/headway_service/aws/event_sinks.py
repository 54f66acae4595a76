"""Where job events are published: the event bus on EventBridge, and the topic on SNS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from headway_service.aws.error_codes import THROTTLING, TRANSIENT, code_of
from headway_service.aws.transient_errors import raise_retry_later
from headway_service.events.job_events import SOURCE, JobEvent
from headway_service.events.notifications import Message
from headway_service.observability.logging import logger
from headway_service.ports.messaging import SendResult
from headway_service.response_check import member

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sns.type_defs import MessageAttributeValueTypeDef


class EventBridgeSink:
    """An event bus as a :class:`headway_service.ports.messaging.Outlet`. Refused events may be sent again."""

    def __init__(self, client: EventBridgeClient, name: str) -> None:
        self._client = client
        self._name = name

    def send(self, items: Sequence[JobEvent]) -> SendResult:
        """See :class:`headway_service.ports.messaging.Outlet`."""
        with raise_retry_later("the event bus"):
            answer = self._client.put_events(
                Entries=[
                    {
                        "EventBusName": self._name,
                        "Source": SOURCE,
                        "DetailType": change.DETAIL_TYPE,
                        "Time": change.time,
                        "Detail": change.detail(),
                    }
                    for change in items
                ]
            )
            if not member(answer, "FailedEntryCount"):
                return SendResult()
            entries = member(answer, "Entries")
        # In the order of the entries; those that failed carry a code in place of an id (API reference, PutEvents).
        failed = {i: entry["ErrorCode"] for i, entry in enumerate(entries) if "ErrorCode" in entry}
        logger.warning("the event bus has not taken all events", extra={"codes": sorted(set(failed.values()))})
        return SendResult(again=frozenset(failed))


class SnsSink:
    """:class:`headway_service.ports.messaging.Outlet` of messages, on an SNS topic."""

    def __init__(self, client: SNSClient, arn: str) -> None:
        self._client = client
        self._arn = arn

    def send(self, items: Sequence[Message]) -> SendResult:
        """See :class:`headway_service.ports.messaging.Outlet`."""
        try:
            with raise_retry_later("the topic"):
                answer = self._client.publish_batch(
                    TopicArn=self._arn,
                    PublishBatchRequestEntries=[
                        {
                            "Id": str(i),
                            "Subject": message.subject,
                            "Message": message.text,
                            "MessageAttributes": _attributes(message.attributes),
                        }
                        for i, message in enumerate(items)
                    ],
                )
        except ClientError as error:
            # A key that is disabled, a topic that is gone, a missing permission: trying again would hold up the events.
            logger.error("the topic takes no messages", extra={"code": code_of(error)})
            return SendResult(refused=frozenset(range(len(items))))
        failed = {int(entry["Id"]): entry for entry in answer.get("Failed", [])}
        if failed:
            codes = sorted({entry["Code"] for entry in failed.values()})
            logger.warning("the topic has not taken all messages", extra={"codes": codes})
        passes = THROTTLING | TRANSIENT
        again = frozenset(i for i, entry in failed.items() if entry["Code"] in passes or not entry["SenderFault"])
        return SendResult(again=again, refused=frozenset(failed) - again)


def _attributes(attributes: Mapping[str, str | int]) -> dict[str, MessageAttributeValueTypeDef]:
    return {
        name: {"DataType": "Number" if isinstance(value, int) else "String", "StringValue": str(value)}
        for name, value in attributes.items()
    }
