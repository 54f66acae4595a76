"""Puts the parts together on AWS, once per function process. Each client is made when it is first needed."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from functools import cached_property
from random import Random, SystemRandom
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from headway_service.configuration import Configuration
from headway_service.dead_letters import DeadLetters
from headway_service.delivery import AwsRecipients, SqsDeadLetterQueue
from headway_service.desk import Desk
from headway_service.dynamodb import DynamoDBTable
from headway_service.launching import Launcher
from headway_service.letters import LetterQueue
from headway_service.log import logger
from headway_service.observation import Observer
from headway_service.parameter import ParameterStore
from headway_service.pools import in_force
from headway_service.ports import ConfigurationStore, Table, TrainingJobs
from headway_service.sagemaker import SageMakerTrainingJobs
from headway_service.settings import Settings
from headway_service.tick import Ticker, TickReport

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sqs import SQSClient

CALL_LIMITS = Config(connect_timeout=2, read_timeout=8, retries={"mode": "standard", "total_max_attempts": 3})
"""Limits of every call to AWS, s: three tries stay well inside a function's time."""

WAKE_GROUP = "schedule"
"""The one message group of the wake queue, so that SQS hands its messages to one invocation at a time."""


def now_ms() -> int:
    """The time, ms since the epoch."""
    return time.time_ns() // 1_000_000


class Services:
    """The service layer on AWS.

    Args:
        settings: what the deployment says.
        clock: now, ms since the epoch.
        random: makes names and marks that nobody else has.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], int] = now_ms, random: Random | None = None) -> None:
        self.settings = settings
        self.clock = clock
        self._random = random or SystemRandom()

    @classmethod
    def from_environment(cls) -> Services:
        """The service layer as the function's environment describes it."""
        return cls(Settings.of(os.environ))

    @cached_property
    def table(self) -> Table:
        """The table."""
        return DynamoDBTable(boto3.client("dynamodb", config=CALL_LIMITS), self.settings.table)

    @cached_property
    def training_jobs(self) -> TrainingJobs:
        """SageMaker."""
        return SageMakerTrainingJobs(boto3.client("sagemaker", config=CALL_LIMITS))

    @cached_property
    def store(self) -> ConfigurationStore:
        """Where the configuration document is."""
        return ParameterStore(boto3.client("ssm", config=CALL_LIMITS), self.settings.configuration_parameter)

    @cached_property
    def _sqs(self) -> SQSClient:
        return boto3.client("sqs", config=CALL_LIMITS)

    @cached_property
    def _lambda(self) -> LambdaClient:
        return boto3.client("lambda", config=CALL_LIMITS)

    def wake(self, why: str) -> None:
        """Ask for a tick. If that fails, the next reconcile run asks again, so nothing is lost but a minute."""
        try:
            self._send_wake_up(why)
        except (BotoCoreError, ClientError):
            logger.exception("nobody was woken; the next reconcile run makes it good", extra={"why": why})

    def _send_wake_up(self, why: str) -> None:
        self._sqs.send_message(
            QueueUrl=self.settings.wake_queue_url,
            MessageBody=why,
            MessageGroupId=WAKE_GROUP,
            # SQS drops a message whose id it saw in the last five minutes, so each has its own.
            MessageDeduplicationId=str(uuid.uuid4()),
        )

    @property
    def observer(self) -> Observer:
        """Takes in what SageMaker says."""
        return Observer(self.table, self.settings.retention_s, lambda: self._configuration().retry_rules())

    @property
    def desk(self) -> Desk:
        """Answers callers."""
        return Desk(
            table=self.table,
            wake=self.wake,
            clock=self.clock,
            configuration=self._configuration,
            retention_s=self.settings.retention_s,
        )

    @property
    def dead_letters(self) -> DeadLetters:
        """Shows and redrives what was put aside."""
        return DeadLetters(
            {
                LetterQueue.WAKE: SqsDeadLetterQueue(self._sqs, self.settings.wake_dead_letters_url),
                LetterQueue.EVENT: SqsDeadLetterQueue(self._sqs, self.settings.event_dead_letters_url),
            },
            AwsRecipients(self._lambda, self.settings.observe_function, self._send_wake_up),
            self.clock,
        )

    def tick(self, remaining_ms: int) -> TickReport:
        """Run a tick.

        Args:
            remaining_ms: how long this invocation may live.
        """
        deadline_ms = self.clock() + remaining_ms
        ticker = Ticker(
            table=self.table,
            store=self.store,
            launcher=Launcher(
                self.table,
                self.training_jobs,
                self.observer,
                holder=self._token(),
                deadline_ms=deadline_ms,
                jitter=self._random.random,
            ),
            clock=self.clock,
            token=self._token,
            deadline_ms=deadline_ms,
        )
        return ticker.run()

    def _configuration(self) -> Configuration:
        return in_force(self.table, self.store, self.clock).configuration

    def _token(self) -> str:
        return f"{self._random.getrandbits(128):032x}"
