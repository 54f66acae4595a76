"""One queue in one process, on virtual time: its table, a fake SageMaker, alarms, configuration and container.

Nothing happens by itself: whoever uses it moves the clock, invokes handlers or calls the service layer, and delivers
events. Tests, benchmarks and the fault simulation each derive from it and replace the adapters that they observe.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from random import Random
from typing import Any, Generic, TypeVar

from headway_sandbox.cloudwatch.memory_cloudwatch import MemoryCloudWatch
from headway_sandbox.inprocess.lambda_functions import ENVIRONMENT, LambdaFunctions
from headway_sandbox.inprocess.lambda_loader import http_event
from headway_sandbox.inprocess.queue_configuration import QueueConfiguration
from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.aws.cloudwatch_alarms import CloudWatchAlarms
from headway_service.aws.cloudwatch_training_metrics import CloudWatchTrainingMetrics
from headway_service.aws.sagemaker_training_jobs import SageMakerTrainingJobs
from headway_service.aws.sagemaker_training_plans import SageMakerTrainingPlans
from headway_service.bootstrap.api import ApiContainer
from headway_service.bootstrap.patrol import PatrolContainer
from headway_service.bootstrap.reconcile import ReconcileContainer
from headway_service.bootstrap.schedule import ScheduleContainer
from headway_service.bootstrap.settings import Settings
from headway_service.bootstrap.tell import TellContainer
from headway_service.bootstrap.watch import WatchContainer
from headway_service.errors import Conflict, RetryLater
from headway_service.launching.report import TickReport
from headway_service.ports.alarms import Alarms
from headway_service.ports.clocks import Clocks
from headway_service.ports.objects import Objects
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.ports.role_permissions import RolePermissions
from headway_service.ports.spot_scores import SpotScores
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import AllTrainingJobs
from headway_service.ports.training_metrics import TrainingMetrics
from headway_service.ports.training_plans import TrainingPlans
from headway_service.testing.inline_calls import InlineCalls
from headway_service.testing.memory_objects import MemoryObjects
from headway_service.testing.memory_role_permissions import MemoryRolePermissions
from headway_service.testing.memory_spot_scores import MemorySpotScores

START_S = 1_800_000_000.0
"""When a simulation starts, s since the epoch."""

ALARM_PREFIX = "headway-watch/"
ALARM_TOPIC_ARN = "arn:aws:sns:eu-west-1:123456789012:headway-watch"

EVERY_MINUTE = ("reconcile", "patrol", "watch")
"""The functions that template.yaml runs on a schedule."""

FILTERED = frozenset({"Pending", "Uploading"})
"""The secondary statuses of which the rule of `observe` in template.yaml passes no events."""

TableT = TypeVar("TableT", bound=Table)

_functions = LambdaFunctions()
"""Warm instances, shared by all deployments of this process: loading a handler takes longer than most simulations."""


class CountingRandom(Random):
    """A random source without randomness: fractions are 0 and each token is the next number."""

    def __init__(self) -> None:
        super().__init__(0)
        self._tokens = 0

    def random(self) -> float:
        """See :meth:`random.Random.random`."""
        return 0.0

    def getrandbits(self, k: int) -> int:  # noqa: ARG002 - the signature is random's
        """See :meth:`random.Random.getrandbits`."""
        self._tokens += 1
        return self._tokens


class SimulatedDeployment(Generic[TableT]):
    """One deployed queue.

    Args:
        table: the queue's table.
        document: the configuration document.
        fleet: SageMaker; a new one by default.
        random: makes tokens and jitter.
        reconcile_after_s: as the stack's parameter.
        speed: how much faster training time runs than machine time.

    Attributes:
        now_s: virtual time, s since the epoch: training time.
        wakes: the messages in the wake-up queue.
        objects: S3.
        role_permissions: what the roles of training jobs may do: everything, unless a test says otherwise.
        container: the service layer.
    """

    def __init__(
        self,
        table: TableT,
        document: Mapping[str, Any],
        *,
        fleet: FakeSageMaker | None = None,
        random: Random | None = None,
        reconcile_after_s: int = 300,
        speed: float = 1.0,
    ) -> None:
        self._speed = speed
        self.now_s = START_S
        self.table = table
        self.fleet = fleet or FakeSageMaker()
        self.cloudwatch = MemoryCloudWatch(self.fleet)
        self.configuration = QueueConfiguration(table, document, self.clocks)
        self.objects = MemoryObjects()
        self.role_permissions = MemoryRolePermissions()
        self.wakes: list[str] = []
        settings = Settings.of(
            {
                **ENVIRONMENT,
                "HEADWAY_FIRST_CONFIGURATION": self.configuration.first,
                "HEADWAY_RECONCILE_AFTER_S": str(reconcile_after_s),
            }
        )
        self.container = SimulatedContainer(self, settings, random or CountingRandom())

    def clock(self) -> int:
        """The training time, ms since the epoch."""
        return int(self.now_s * 1000)

    def machine_clock(self) -> int:
        """The machine time, ms since the epoch."""
        start_ms = START_S * 1000
        return int(start_ms + (self.clock() - start_ms) / self._speed)

    @property
    def clocks(self) -> Clocks:
        """Training time and machine time."""
        return Clocks(training_ms=self.clock, machine_ms=self.machine_clock)

    def sleep(self, seconds: float) -> None:
        """Called where a function sleeps. Sleeping takes no virtual time unless a subclass says otherwise."""

    def invoke(self, function: str, payload: Mapping[str, Any], remaining_ms: int = 25_000) -> Any:
        """Run a handler to its end.

        Args:
            function: its folder in ``functions/``.
            payload: the event.
            remaining_ms: what the Lambda context reports.

        Returns:
            What the handler returns.
        """
        return _functions.invoke(function, payload, self.container, lambda: self.remaining_ms(remaining_ms))

    def remaining_ms(self, remaining_ms: int) -> int:
        """What the Lambda context of an invocation reports: always the same, unless a subclass says otherwise.

        Args:
            remaining_ms: what it reports at first.
        """
        return remaining_ms

    def call_api(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Call the API: the status and the document of its answer.

        Args:
            method: the HTTP method.
            body: the JSON body; None without one.
        """
        answer = self.invoke("api", http_event(method, path, None if body is None else json.dumps(body)))
        return answer["statusCode"], json.loads(answer["body"])

    def due_events(self, seconds: float) -> Iterator[Mapping[str, Any]]:
        """Advance the clock, stopping at each change of a training job.

        Args:
            seconds: how far; handlers that sleep meanwhile may advance it further.

        Yields:
            Details of SageMaker's events, at the time they are sent.
        """
        end_s = self.now_s + seconds
        while (due_s := self.fleet.next_due()) is not None and due_s <= end_s:
            self.now_s = max(self.now_s, due_s)
            yield from self.new_events()
        self.now_s = end_s

    def new_events(self) -> Iterator[Mapping[str, Any]]:
        """The details of SageMaker's events until now, since the last call, that the rule in template.yaml passes."""
        return (each for each in self.fleet.advance(self.now_s) if each.get("SecondaryStatus") not in FILTERED)

    # ------------------------------------------------------------------------------------------------- the adapters

    def make_table(self) -> Table:
        """The table as the functions use it."""
        return self.table

    def make_training_jobs(self) -> AllTrainingJobs:
        """SageMaker as the functions use it: the real adapter over a boto3 client."""
        return SageMakerTrainingJobs(stub_client("sagemaker", self.call_sagemaker))

    def make_training_plans(self) -> TrainingPlans:
        """SageMaker's training plans as the functions use them: the real adapter over a boto3 client."""
        return SageMakerTrainingPlans(stub_client("sagemaker", self.call_sagemaker))

    def make_parallel_calls(self) -> AbstractContextManager[ParallelCalls]:
        """The calls of one tick that wait in parallel: one after the other, as they take no virtual time."""
        return nullcontext(InlineCalls())

    def make_alarms(self) -> Alarms:
        """CloudWatch's alarms as the functions use them: the real adapter over a boto3 client."""
        return CloudWatchAlarms(stub_client("cloudwatch", self.call_cloudwatch), ALARM_PREFIX, ALARM_TOPIC_ARN)

    def make_training_metrics(self) -> TrainingMetrics:
        """The metrics of training jobs as the functions read them: the real adapter over a boto3 client."""
        return CloudWatchTrainingMetrics(stub_client("cloudwatch", self.call_cloudwatch))

    def make_objects(self) -> Objects:
        """S3 as the functions use it."""
        return self.objects

    def make_role_permissions(self) -> RolePermissions:
        """IAM's answers about roles as the functions use them."""
        return self.role_permissions

    def make_sqs(self) -> Any:
        """The SQS client of the wake-up queue."""
        return self

    def make_event_bridge(self) -> Any:
        """The EventBridge client."""
        return self

    def make_sns(self) -> Any:
        """The SNS client."""
        return self

    # ---------------------------------------------------------------------------------------------- what AWS answers

    def call_sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a call of SageMaker.

        Args:
            operation: the name of the operation.
        """
        return self.fleet.call(operation, request, now=self.now_s)

    def call_cloudwatch(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a call of CloudWatch.

        Args:
            operation: the name of the operation.
        """
        return self.cloudwatch.call(operation, request, now=self.now_s)

    def send_message(self, *, MessageBody: str, **_: Any) -> Mapping[str, Any]:  # noqa: N803 - boto3's name
        """SQS: a wake-up."""
        self.wakes.append(MessageBody)
        return {"MessageId": str(len(self.wakes))}

    def put_events(self, *, Entries: Sequence[Any]) -> Mapping[str, Any]:  # noqa: N803 - boto3's name
        """EventBridge: takes all events."""
        return {"FailedEntryCount": 0, "Entries": [{"EventId": "1"} for _ in Entries]}

    def publish_batch(
        self,
        *,
        PublishBatchRequestEntries: Sequence[Any],  # noqa: N803, ARG002 - boto3's name
        **_: Any,
    ) -> Mapping[str, Any]:
        """SNS: takes all messages."""
        return {"Failed": []}

    def tick_ended(self, report: TickReport) -> None:
        """Called with the report of a tick that did not fail."""

    def left_alone(self, error: Exception) -> None:
        """Called with the exception for which a tick has left a record alone, which it only logs."""
        self.tick_failed(error)

    def tick_failed(self, error: Exception) -> None:
        """Called with the exception of a failed tick, which its handler only logs.

        Raises:
            RuntimeError: always; a subclass may expect failures.
        """
        raise RuntimeError("a tick failed") from error


class AllFunctions(ApiContainer, ScheduleContainer, ReconcileContainer, PatrolContainer, WatchContainer, TellContainer):
    """The service layer of all functions in one."""


class SimulatedContainer(AllFunctions):
    """The service layer over the adapters of a simulated deployment.

    Args:
        deployment: whose adapters.
        settings: of all its functions.
        random: makes tokens and jitter.
    """

    def __init__(self, deployment: SimulatedDeployment[Any], settings: Settings, random: Random) -> None:
        super().__init__(settings, clocks=deployment.clocks, random=random)
        self._deployment = deployment

    @cached_property
    def table(self) -> Table:
        """See :class:`AllFunctions`."""
        return self._deployment.make_table()

    @cached_property
    def training_jobs(self) -> AllTrainingJobs:
        """See :class:`AllFunctions`."""
        return self._deployment.make_training_jobs()

    @cached_property
    def training_plans(self) -> TrainingPlans:
        """See :class:`AllFunctions`."""
        return self._deployment.make_training_plans()

    @cached_property
    def spot_scores(self) -> SpotScores:
        """None: nobody knows the spot capacity of a simulation."""
        return MemorySpotScores()

    @cached_property
    def objects(self) -> Objects:
        """See :class:`AllFunctions`."""
        return self._deployment.make_objects()

    @cached_property
    def role_permissions(self) -> RolePermissions:
        """See :class:`AllFunctions`."""
        return self._deployment.make_role_permissions()

    @cached_property
    def training_metrics(self) -> TrainingMetrics:
        """See :class:`AllFunctions`."""
        return self._deployment.make_training_metrics()

    @cached_property
    def alarms(self) -> Alarms:
        """See :class:`AllFunctions`."""
        return self._deployment.make_alarms()

    @cached_property
    def _sqs(self) -> Any:
        return self._deployment.make_sqs()

    @cached_property
    def _event_bridge(self) -> Any:
        return self._deployment.make_event_bridge()

    @cached_property
    def _sns(self) -> Any:
        return self._deployment.make_sns()

    def sleep(self, seconds: float) -> None:
        """See :class:`AllFunctions`."""
        self._deployment.sleep(seconds)

    def described_at_once(self) -> AbstractContextManager[ParallelCalls]:
        """See :class:`AllFunctions`."""
        return self._deployment.make_parallel_calls()

    def parallel_calls(self) -> AbstractContextManager[ParallelCalls]:
        """See :class:`AllFunctions`."""
        return self._deployment.make_parallel_calls()

    def tick(self, remaining_ms: int) -> TickReport:
        """See :class:`AllFunctions`."""
        try:
            report = super().tick(remaining_ms)
        except Exception as error:
            self._deployment.tick_failed(error)
            raise
        for each in report.errors:
            # A record that others have changed each time is no failure.
            if not isinstance(each, Conflict | RetryLater):
                self._deployment.left_alone(each)
        self._deployment.tick_ended(report)
        return report
