"""What all functions need: the clocks, the table, the configuration in effect, and requests of ticks."""

from __future__ import annotations

import os
import time
import uuid
from functools import cached_property
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Self

import boto3
from botocore.exceptions import BotoCoreError

from headway_service.aws.dynamodb_table import DynamoDBTable
from headway_service.aws.error_codes import FAILED_CALLS
from headway_service.bootstrap.clients import OWN_REQUESTS, WAKE_GROUP
from headway_service.bootstrap.clocks import machine_time_ms, training_time_ms
from headway_service.bootstrap.settings import Settings
from headway_service.config.document import Configuration
from headway_service.invocation import Invocation
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import EffectiveConfig, find_applied, get_effective
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table
from headway_service.response_check import check_answers

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class Container:
    """What all functions need.

    Args:
        settings: the deployment's settings.
        clocks: training time and machine time.
        random: makes unique names and marks.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        clocks: Clocks | None = None,
        random: Random | None = None,
    ) -> None:
        self.settings = settings
        self.clocks = clocks or Clocks(training_ms=training_time_ms, machine_ms=machine_time_ms)
        self._random = random or SystemRandom()

    @classmethod
    def from_environment(cls) -> Self:
        """The service layer as the function's environment describes it."""
        return cls(Settings.of(os.environ))

    @cached_property
    def table(self) -> Table:
        """The table."""
        return DynamoDBTable(boto3.client("dynamodb", config=OWN_REQUESTS), self.settings.table)

    @cached_property
    def _sqs(self) -> SQSClient:
        return check_answers(boto3.client("sqs", config=OWN_REQUESTS))

    def wake(self, why: str) -> None:
        """Request a tick. If that fails, the next reconcile run repeats the request, which costs a minute."""
        try:
            self._send_wake_up(why)
        except (BotoCoreError, *FAILED_CALLS):
            logger.exception("wake-up failed; the next reconcile run retries it", extra={"why": why})

    def _send_wake_up(self, why: str) -> None:
        self._sqs.send_message(
            QueueUrl=self.settings.wake_queue_url,
            MessageBody=why,
            MessageGroupId=WAKE_GROUP,
            # SQS drops messages with an id of the last five minutes, so each has its own.
            MessageDeduplicationId=str(uuid.uuid4()),
        )

    def sleep(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    def in_force(self) -> EffectiveConfig:
        """The configuration in force."""
        return get_effective(self.table, self.settings.first_configuration, self.clocks)

    def _configuration(self) -> Configuration:
        return self.in_force().configuration

    def _applied(self) -> Configuration | None:
        """The configuration in effect; None before any document was applied."""
        known = find_applied(self.table)
        return known.configuration if known else None

    def _invocation(self, remaining_ms: int) -> Invocation:
        """The present invocation.

        Args:
            remaining_ms: how long it may live.
        """
        deadline_ms = self.clocks.machine_ms() + remaining_ms
        return Invocation(clocks=self.clocks, holder=self._token(), deadline_ms=deadline_ms)

    def _token(self) -> str:
        return f"{self._random.getrandbits(128):032x}"
