"""Puts the parts together on AWS, once per function process. Each client is made when it is first needed."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from random import Random, SystemRandom
from typing import TYPE_CHECKING

import boto3
import botocore
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from headway.accounting.prices import Prices
from headway.api_documents.dead_letters import LetterQueue
from headway_service import __version__
from headway_service.accounting.accountant import Accountant
from headway_service.accounting.consumer import UsageConsumer
from headway_service.accounting.idle import IdleTime
from headway_service.accounting.repair import UsageRepairer
from headway_service.accounting.run_times import KnownRunTimes
from headway_service.aws.cloudwatch_alarms import CloudWatchAlarms
from headway_service.aws.cloudwatch_training_metrics import CloudWatchTrainingMetrics
from headway_service.aws.dead_letter_queues import AwsRedriveTargets, SqsDeadLetterQueue
from headway_service.aws.dynamodb_table import DynamoDBTable
from headway_service.aws.ec2_spot_scores import Ec2SpotScores
from headway_service.aws.error_codes import FAILED_CALLS
from headway_service.aws.event_sinks import EventBridgeSink, SnsSink
from headway_service.aws.s3_objects import S3Objects
from headway_service.aws.sagemaker_training_jobs import SageMakerTrainingJobs
from headway_service.aws.sagemaker_training_plans import SageMakerTrainingPlans
from headway_service.aws.ssm_config_store import ParameterStore
from headway_service.clocks import machine_time_ms, training_time_ms
from headway_service.config.document import Configuration
from headway_service.config.notifications import Notifications
from headway_service.dead_letters.redrive import DeadLetters
from headway_service.digest.weekly import WeeklyDigests
from headway_service.early_stopping.stopper import EarlyStopper
from headway_service.events.publisher import EventPublisher
from headway_service.feed.append import FeedAppender
from headway_service.feed.read import FeedReader
from headway_service.forecast.service import ForecastService
from headway_service.jobs.commands import JobCommands
from headway_service.jobs.queries import JobQueries
from headway_service.jobs.request_changes import RequestChanges
from headway_service.jobs.submit import Submitter
from headway_service.jobs.unmanaged_stops import UnmanagedJobStops
from headway_service.monitoring.utilization_monitor import UtilizationMonitor
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import EffectiveConfig, find_applied, get_effective
from headway_service.pools.capacity import Capacity, read_capacity
from headway_service.pools.edit_config import ConfigEditor
from headway_service.pools.operations import PoolOperations
from headway_service.ports.alarms import Alarms
from headway_service.ports.config_store import ConfigurationStore
from headway_service.ports.messaging import Wake
from headway_service.ports.objects import Objects
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.ports.spot_scores import SpotScores
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import AllTrainingJobs
from headway_service.ports.training_metrics import TrainingMetrics
from headway_service.ports.training_plans import TrainingPlans
from headway_service.response_check import check_answers
from headway_service.reuse.entry import ReuseEntry
from headway_service.reuse.twins import Twins
from headway_service.scheduling.executor import TickReport
from headway_service.scheduling.launcher import LEASE_MARGIN_MS, Launcher
from headway_service.scheduling.tick import Scheduler
from headway_service.settings import MAX_LAUNCHES_AT_ONCE, Settings
from headway_service.store.marks import Marks
from headway_service.summary.cache import SummaryCache
from headway_service.summary.held import HeldJobs
from headway_service.summary.reader import read_picture
from headway_service.summary.results import Picture
from headway_service.thread_calls import thread_calls
from headway_service.tracking.observer import Observer
from headway_service.tracking.unmanaged_jobs import UnmanagedJobs
from headway_service.tracking.unmanaged_scan import scan_unmanaged_jobs

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient

CALL_LIMITS = Config(
    connect_timeout=2,
    read_timeout=8,
    # Each launch in flight has a connection, and the tick another one.
    max_pool_connections=MAX_LAUNCHES_AT_ONCE + 1,
    retries={"mode": "standard", "total_max_attempts": 3},
    # botocore's own has a dozen parts and is computed twice a call; it only describes used features.
    user_agent=f"Headway/{__version__} Boto3/{boto3.__version__} Botocore/{botocore.__version__}",
)
"""Limits of every call to AWS, s: three tries stay well inside a timeout. CloudTrail shows the user agent."""

OWN_REQUESTS = CALL_LIMITS.merge(Config(parameter_validation=False))
"""The same for services whose requests contain no user input; tests compare their shapes with botocore's models.

Requests for SageMaker have what callers wrote, and CloudWatch and the rest are seldom called: those are still checked.
"""

ONE_TRY = CALL_LIMITS.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))
"""For CreateTrainingJob, which has no client token: a retry by botocore would hide what became of the first try."""

SHORT_READS = CALL_LIMITS.merge(
    Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 1})
)
"""For S3: what is not read at once is not compared (``headway_service.reuse.reader.MAX_READ_MS``)."""

WAKE_GROUP = "schedule"
"""The one message group of the wake queue, so that SQS hands its messages to one invocation at a time."""


class Container:
    """The service layer on AWS.

    Args:
        settings: the deployment's settings.
        clock: the training time, ms since the epoch.
        machine_clock: the machine time, ms since the epoch.
        random: makes unique names and marks.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Callable[[], int] = training_time_ms,
        machine_clock: Callable[[], int] = machine_time_ms,
        random: Random | None = None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.machine_clock = machine_clock
        self._random = random or SystemRandom()
        #: When one of several launches of a tick was last throttled, machine time, ms.
        self._throttled_ms = 0

    @classmethod
    def from_environment(cls) -> Container:
        """The service layer as the function's environment describes it."""
        return cls(Settings.of(os.environ))

    @cached_property
    def table(self) -> Table:
        """The table."""
        return DynamoDBTable(boto3.client("dynamodb", config=OWN_REQUESTS), self.settings.table)

    @cached_property
    def training_jobs(self) -> AllTrainingJobs:
        """SageMaker."""
        return SageMakerTrainingJobs(
            boto3.client("sagemaker", config=CALL_LIMITS),
            lambda: boto3.client("sagemaker", config=ONE_TRY),
        )

    @cached_property
    def training_plans(self) -> TrainingPlans:
        """SageMaker's training plans."""
        return SageMakerTrainingPlans(boto3.client("sagemaker", config=CALL_LIMITS))

    @cached_property
    def spot_scores(self) -> SpotScores:
        """EC2's spot placement scores. One try: without an answer there is no score, and the run has other work."""
        return Ec2SpotScores(boto3.client("ec2", config=ONE_TRY))

    @cached_property
    def marks(self) -> Marks:
        """The marks of this deployment's training jobs."""
        return Marks(self.table, self.settings.table, self._token)

    @cached_property
    def store(self) -> ConfigurationStore:
        """Where the configuration document is."""
        return ParameterStore(boto3.client("ssm", config=OWN_REQUESTS), self.settings.configuration_parameter)

    @cached_property
    def alarms(self) -> Alarms:
        """CloudWatch's alarms."""
        client = boto3.client("cloudwatch", config=CALL_LIMITS)
        return CloudWatchAlarms(client, self.settings.alarm_prefix, self.settings.alarm_topic_arn)

    @cached_property
    def _sqs(self) -> SQSClient:
        return check_answers(boto3.client("sqs", config=OWN_REQUESTS))

    @cached_property
    def _lambda(self) -> LambdaClient:
        return check_answers(boto3.client("lambda", config=CALL_LIMITS))

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
            feed=FeedAppender(self.table, self.machine_clock),
            bus=EventBridgeSink(self._event_bridge, self.settings.event_bus),
            topic=SnsSink(self._sns, self.settings.notification_topic_arn),
            notifications=self._notifications,
        )

    @cached_property
    def accountant(self) -> Accountant:
        """Keeps the sums of usage. One for all invocations, as it remembers which names have some."""
        return Accountant(self.table, lambda: self.usage_tags, self.run_times.get)

    @cached_property
    def run_times(self) -> KnownRunTimes:
        """The run times of completed jobs. One for all invocations, as it remembers them for some minutes."""
        return KnownRunTimes(self.table, self.clock, self.machine_clock)

    @property
    def usage_repairer(self) -> UsageRepairer:
        """Repairs sums of usage."""
        return UsageRepairer(self.table, self.clock, self.settings.retention_s)

    @property
    def usage_tags(self) -> tuple[str, ...]:
        """The tags by which the policy wants sums of usage; none before any document was applied."""
        applied = self._applied()
        return tuple(applied.usage_tags) if applied else ()

    @cached_property
    def idle_time(self) -> IdleTime:
        """Keeps the sums of idle time. One for all invocations, for the same reason."""
        return IdleTime(self.table)

    @property
    def prices(self) -> Prices:
        """What instances cost, as the configuration in effect says."""
        return self._configuration().dated_prices()

    @property
    def weekly_digests(self) -> WeeklyDigests:
        """Writes digests of usage."""
        return WeeklyDigests(self.table, self._applied, self.clock, self.machine_clock)

    @property
    def usage_consumer(self) -> UsageConsumer:
        """Adds what has ended to the sums of usage."""
        return UsageConsumer(self.table, self.accountant, self.feed_reader, self.machine_clock)

    @property
    def feed_reader(self) -> FeedReader:
        """Reads the feed of events."""
        return FeedReader(self.table, self.clock, self.machine_clock)

    @property
    def observer(self) -> Observer:
        """Applies SageMaker's status of attempts."""
        return Observer(self.table, self.settings.retention_s, self._configuration, self.machine_clock)

    @property
    def unmanaged_job_stops(self) -> UnmanagedJobStops:
        """Takes requests of operators to stop training jobs that did not come through the queue."""
        return UnmanagedJobStops(self.table)

    @property
    def unmanaged_jobs(self) -> UnmanagedJobs:
        """Applies SageMaker's status of unmanaged training jobs."""
        return self._unmanaged_jobs()

    def _unmanaged_jobs(self, *, stops: bool = False) -> UnmanagedJobs:
        return UnmanagedJobs(self.table, self.training_jobs, self.marks, self.machine_clock, stops=stops)

    def scan_unmanaged_jobs(self, remaining_ms: int) -> int:
        """Find and handle unmanaged training jobs.

        Args:
            remaining_ms: how long this invocation may live.

        Returns:
            How many were checked.
        """
        return scan_unmanaged_jobs(
            table=self.table,
            training_jobs=self.training_jobs,
            rogues=self._unmanaged_jobs(stops=True),
            clock=self.clock,
            machine_clock=self.machine_clock,
            sleep=self.sleep,
            wake=self.wake,
            after_s=self.settings.reconcile_after_s,
            deadline_ms=self.machine_clock() + remaining_ms,
        )

    def sleep(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    @cached_property
    def utilization_monitor(self) -> UtilizationMonitor:
        """Watches the use of running jobs. One for all invocations, as it remembers that there was nothing to ask."""
        return UtilizationMonitor(
            table=self.table,
            alarms=self.alarms,
            configuration=self._configuration,
            clock=self.clock,
            machine_clock=self.machine_clock,
            wake=self.wake,
        )

    @cached_property
    def training_metrics(self) -> TrainingMetrics:
        """The metrics that training jobs report."""
        return CloudWatchTrainingMetrics(boto3.client("cloudwatch", config=CALL_LIMITS))

    @property
    def early_stopper(self) -> EarlyStopper:
        """Stops members of arrays early."""
        return EarlyStopper(
            self.table,
            lambda: self.training_metrics,
            clock=self.clock,
            machine_clock=self.machine_clock,
            wake=self.wake,
        )

    @cached_property
    def objects(self) -> Objects:
        """S3, of which the service reads a little at a time."""
        return S3Objects(boto3.client("s3", config=SHORT_READS))

    @property
    def reuse(self) -> ReuseEntry:
        """Has jobs answered by equal ones."""
        twins = Twins(self.table, lambda: self.objects, self.settings.reuse_buckets, self.machine_clock)
        return ReuseEntry(
            self.table,
            twins,
            clock=self.clock,
            machine_clock=self.machine_clock,
            retention_s=self.settings.retention_s,
        )

    @property
    def submitter(self) -> Submitter:
        """Submits jobs."""
        return self.make_submitter(self.wake)

    def make_submitter(self, wake: Wake) -> Submitter:
        """Submits jobs, and requests ticks through this function."""
        return Submitter(
            table=self.table,
            wake=wake,
            clock=self.clock,
            machine_clock=self.machine_clock,
            in_force=self._in_force,
            reuse=self.reuse,
        )

    @property
    def job_commands(self) -> JobCommands:
        """Changes jobs."""
        return JobCommands(
            table=self.table,
            wake=self.wake,
            clock=self.clock,
            machine_clock=self.machine_clock,
            configuration=self._configuration,
            retention_s=self.settings.retention_s,
        )

    @property
    def request_changes(self) -> RequestChanges:
        """Changes the requests of waiting jobs."""
        return RequestChanges(
            table=self.table,
            wake=self.wake,
            clock=self.clock,
            machine_clock=self.machine_clock,
            configuration=self._configuration,
        )

    @property
    def job_queries(self) -> JobQueries:
        """Shows jobs."""
        return JobQueries(
            table=self.table,
            clock=self.clock,
            machine_clock=self.machine_clock,
            configuration=self._configuration,
        )

    def capacity(self) -> Capacity:
        """How the pools are used now, by pool and by team."""
        return read_capacity(self.table, self._configuration)

    @cached_property
    def summaries(self) -> SummaryCache:
        """Gives summaries. One for all invocations, as it keeps the last one for a moment."""
        return SummaryCache(self._picture, self.machine_clock)

    @cached_property
    def _held_jobs(self) -> HeldJobs:
        return HeldJobs(self.table, self.machine_clock)

    def _picture(self) -> Picture:
        return read_picture(self.table, self._configuration, self._held_jobs.count, self.clock(), self.machine_clock())

    @property
    def pool_operations(self) -> PoolOperations:
        """Pauses, drains and resumes pools."""
        return PoolOperations(table=self.table, wake=self.wake, clock=self.clock, configuration=self._configuration)

    def config_editor(self, remaining_ms: int) -> ConfigEditor:
        """Changes the configuration document.

        Args:
            remaining_ms: how long this invocation may live.
        """
        lease_until_ms = self.machine_clock() + remaining_ms + LEASE_MARGIN_MS
        return ConfigEditor(
            table=self.table,
            store=self.store,
            clock=self.machine_clock,
            holder=self._token(),
            lease_until_ms=lease_until_ms,
            region=self.settings.region,
        )

    @property
    def forecast_service(self) -> ForecastService:
        """Computes forecasts."""
        return ForecastService(
            table=self.table,
            clock=self.clock,
            machine_clock=self.machine_clock,
            configuration=self._configuration,
            run_times=self.run_times.get,
        )

    @property
    def dead_letters(self) -> DeadLetters:
        """Shows and redrives dead letters."""
        return DeadLetters(
            {
                LetterQueue.WAKE: SqsDeadLetterQueue(self._sqs, self.settings.wake_dead_letters_url),
                LetterQueue.EVENT: SqsDeadLetterQueue(self._sqs, self.settings.event_dead_letters_url),
            },
            AwsRedriveTargets(self._lambda, self.settings.observe_function, self._send_wake_up),
            self.machine_clock,
        )

    def parallel_calls(self) -> AbstractContextManager[ParallelCalls]:
        """Makes the calls of one tick that wait for SageMaker in parallel."""
        return thread_calls(self.settings.launches_at_once)

    def tick(self, remaining_ms: int) -> TickReport:
        """Run a tick.

        Args:
            remaining_ms: how long this invocation may live.
        """
        with self.parallel_calls() as calls:
            return self._tick(remaining_ms, calls)

    def _tick(self, remaining_ms: int, calls: ParallelCalls) -> TickReport:
        deadline_ms = self.machine_clock() + remaining_ms
        launcher = Launcher(
            self.table,
            self.training_jobs,
            self.observer,
            holder=self._token(),
            machine_clock=self.machine_clock,
            deadline_ms=deadline_ms,
            jitter=self._random.random,
            launches_at_once=self.settings.launches_at_once,
            throttled_ms=self._throttled_ms,
        )
        ticker = Scheduler(
            table=self.table,
            store=self.store,
            launcher=launcher,
            calls=calls,
            clock=self.clock,
            machine_clock=self.machine_clock,
            marks=self.marks,
            deadline_ms=deadline_ms,
            retention_s=self.settings.retention_s,
            reuse=self.reuse,
            note_idle=self.idle_time.note,
        )
        try:
            return ticker.run()
        finally:
            # For the next tick of this process. Another one finds out by itself.
            self._throttled_ms = launcher.throttled_ms

    def _in_force(self) -> EffectiveConfig:
        return get_effective(self.table, self.store, self.machine_clock)

    def _configuration(self) -> Configuration:
        return self._in_force().configuration

    def _notifications(self) -> Notifications:
        """The policy on messages; the default before any document was applied, as reading it must write nothing."""
        applied = self._applied()
        return applied.notifications if applied else Notifications()

    def _applied(self) -> Configuration | None:
        """The configuration in effect; None before any document was applied."""
        known = find_applied(self.table)
        return known.configuration if known else None

    def _token(self) -> str:
        return f"{self._random.getrandbits(128):032x}"
