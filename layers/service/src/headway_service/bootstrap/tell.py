"""What is published of changes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import boto3

from headway_service.aws.event_sinks import EventBridgeSink, SnsSink
from headway_service.bootstrap.clients import CALL_LIMITS
from headway_service.bootstrap.container import Container
from headway_service.config.notifications import Notifications
from headway_service.events.publisher import EventPublisher
from headway_service.feed.append import FeedAppender
from headway_service.response_check import check_answers

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_sns import SNSClient


class TellContainer(Container):
    """For the function `tell`."""

    @cached_property
    def _event_bridge(self) -> EventBridgeClient:
        return check_answers(boto3.client("events", config=CALL_LIMITS))

    @cached_property
    def _sns(self) -> SNSClient:
        return check_answers(boto3.client("sns", config=CALL_LIMITS))

    @property
    def event_publisher(self) -> EventPublisher:
        """Publishes changes."""
        return EventPublisher(
            feed=FeedAppender(self.table, self.clocks.machine_ms),
            bus=EventBridgeSink(self._event_bridge, self.settings.event_bus),
            topic=SnsSink(self._sns, self.settings.notification_topic_arn),
            notifications=self._notifications,
        )

    def _notifications(self) -> Notifications:
        """The policy on messages; the default before any document was applied, as reading it must write nothing."""
        applied = self._applied()
        return applied.notifications if applied else Notifications()
