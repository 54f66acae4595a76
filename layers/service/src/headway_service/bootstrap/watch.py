"""The watch over running jobs: their utilization, and the metrics of arrays."""

from __future__ import annotations

from functools import cached_property

import boto3

from headway_service.aws.cloudwatch_alarms import CloudWatchAlarms
from headway_service.aws.cloudwatch_training_metrics import CloudWatchTrainingMetrics
from headway_service.bootstrap.clients import CALL_LIMITS
from headway_service.bootstrap.sagemaker import SageMakerContainer
from headway_service.early_stopping.stopper import EarlyStopper
from headway_service.monitoring.utilization_monitor import UtilizationMonitor
from headway_service.ports.alarms import Alarms
from headway_service.ports.training_metrics import TrainingMetrics


class WatchContainer(SageMakerContainer):
    """For the function `watch`."""

    @cached_property
    def alarms(self) -> Alarms:
        """CloudWatch's alarms."""
        client = boto3.client("cloudwatch", config=CALL_LIMITS)
        return CloudWatchAlarms(client, self.settings.alarm_prefix, self.settings.alarm_topic_arn)

    @cached_property
    def utilization_monitor(self) -> UtilizationMonitor:
        """Watches the use of running jobs. One for all invocations, as it remembers that there was nothing to ask."""
        return UtilizationMonitor(
            table=self.table,
            alarms=self.alarms,
            training_jobs=lambda: self.training_jobs,
            configuration=self._configuration,
            clocks=self.clocks,
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
            lambda: self.training_jobs,
            clocks=self.clocks,
            wake=self.wake,
        )
