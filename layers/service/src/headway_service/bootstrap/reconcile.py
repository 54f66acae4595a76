"""What is done once a minute: training plans, spot scores, checkpoints, sums and digests of usage."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cached_property

import boto3

from headway_service.accounting.consumer import UsageConsumer
from headway_service.admission.queues.recounts import QueueRecounts
from headway_service.aws.ec2_spot_scores import Ec2SpotScores
from headway_service.aws.sagemaker_training_plans import SageMakerTrainingPlans
from headway_service.bootstrap.clients import CALL_LIMITS, ONE_TRY
from headway_service.bootstrap.objects import ObjectsContainer
from headway_service.bootstrap.tracking import TrackingContainer
from headway_service.bootstrap.usage import UsageContainer
from headway_service.checkpoints.reads import CheckpointReads
from headway_service.digest.weekly import WeeklyDigests
from headway_service.launching.thread_calls import thread_calls
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.ports.spot_scores import SpotScores
from headway_service.ports.training_plans import TrainingPlans
from headway_service.tracking.attempt_checks import DESCRIBED_AT_ONCE


class ReconcileContainer(TrackingContainer, UsageContainer, ObjectsContainer):
    """For the function `reconcile`."""

    @cached_property
    def training_plans(self) -> TrainingPlans:
        """SageMaker's training plans."""
        return SageMakerTrainingPlans(boto3.client("sagemaker", config=CALL_LIMITS))

    @cached_property
    def spot_scores(self) -> SpotScores:
        """EC2's spot placement scores. One try: without an answer there is no score, and the run has other work."""
        return Ec2SpotScores(boto3.client("ec2", config=ONE_TRY))

    def described_at_once(self) -> AbstractContextManager[ParallelCalls]:
        """Makes the calls of one run that ask SageMaker about attempts."""
        return thread_calls(DESCRIBED_AT_ONCE)

    @property
    def checkpoint_reads(self) -> CheckpointReads:
        """Looks at checkpoints of attempts, for one run."""
        return CheckpointReads(
            self.table,
            lambda: self.objects,
            self._places,
            self.settings.checkpoint_buckets,
            clocks=self.clocks,
            random=self._random,
        )

    @cached_property
    def queue_recounts(self) -> QueueRecounts:
        """Counts long queues."""
        return QueueRecounts(self.table, self.clocks.machine_ms)

    @property
    def usage_consumer(self) -> UsageConsumer:
        """Adds what has ended to the sums of usage."""
        return UsageConsumer(self.table, self.accountant, self.feed_reader, self.clocks.machine_ms)

    @property
    def weekly_digests(self) -> WeeklyDigests:
        """Writes digests of usage."""
        return WeeklyDigests(self.table, self._applied, self.clocks)
