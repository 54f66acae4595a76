"""How watches on the use of running jobs are written in the configuration document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field, Strict, StringConstraints, model_validator

from headway.errors import InvalidPolicy
from headway.jobpolicy import utilization
from headway.jobpolicy.utilization import PUBLISHED_EVERY_S, TRAINING_JOBS, Action
from headway.scheduling.ordering import MAX_PRIORITY
from headway_service.config.base import ConfigModel
from headway_service.config.rules import InstanceTypes, When
from headway_service.errors import FieldError

MAX_WATCHES = 10
"""Each costs an alarm for each host that trains."""

MAX_WINDOW_S = 86_400
"""Period times periods: what CloudWatch takes for periods below an hour (API reference, PutMetricAlarm)."""

# API reference, PutMetricAlarm and MetricDatum.

_Metric = Annotated[str, StringConstraints(min_length=1, max_length=255)]


_NAMESPACE = re.compile("[^:].*")
"""CloudWatch's service model, Namespace."""

_DEFAULT = utilization.UtilizationRule(name="")


class Watch(ConfigModel):
    """A watch, e.g. ``{"belowPercent": 80, "periods": 12, "action": "notify"}``. Missing members are as in ``idle``."""

    metric: _Metric = _DEFAULT.metric
    namespace: _Metric = _DEFAULT.namespace
    #: The dimension whose value is ``<training job>/algo-<n>``.
    dimension: _Metric = _DEFAULT.dimension
    #: A host's utilization is low below this percentage of its maximum.
    below_percent: float = Field(default=_DEFAULT.below_percent, gt=0, le=100, allow_inf_nan=False)
    #: What a host shows that is fully used; without it 100 for each GPU.
    full_scale: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    period_seconds: int = Field(default=_DEFAULT.period_s, ge=10, le=3600)
    periods: int = Field(default=_DEFAULT.periods, ge=1, le=1440)
    #: What a job does in its first time of training does not count.
    warm_up_seconds: int = Field(default=_DEFAULT.warm_up_ms // 1000, ge=0, le=MAX_WINDOW_S)
    action: Annotated[Action, Strict(strict=False)] = _DEFAULT.action
    #: At most, of a job that is requeued.
    requeue_priority: int = Field(default=_DEFAULT.priority, ge=0, le=MAX_PRIORITY)
    #: Whether all hosts of a job have to be below, or any.
    all_hosts: bool = _DEFAULT.all_hosts
    #: Only hosts of these.
    instance_types: InstanceTypes = Field(default_factory=lambda: list(_DEFAULT.instance_types))
    when: When = When()

    @model_validator(mode="after")
    def _is_possible(self) -> Watch:
        if self.period_seconds not in {10, 20, 30} and self.period_seconds % 60:
            raise ValueError(
                f"periodSeconds ({self.period_seconds}) must be 10, 20, 30 or a multiple of 60, as CloudWatch has it"
            )
        if self.period_seconds * self.periods > MAX_WINDOW_S:
            raise ValueError(f"periodSeconds times periods must not be above {MAX_WINDOW_S}")
        try:
            self.watch("")
        except InvalidPolicy as error:
            raise ValueError(f"fullScale is missing: {error}") from None
        return self

    @property
    def is_too_fast(self) -> bool:
        """Whether the period is shorter than the time between two figures of SageMaker's."""
        return self.namespace == TRAINING_JOBS and self.period_seconds < PUBLISHED_EVERY_S

    def watch(self, name: str) -> utilization.UtilizationRule:
        """The watch as it is decided on."""
        return utilization.UtilizationRule(
            name=name,
            metric=self.metric,
            namespace=self.namespace,
            dimension=self.dimension,
            below_percent=self.below_percent,
            full_scale=self.full_scale,
            # Documents of earlier versions may have shorter ones.
            period_s=PUBLISHED_EVERY_S if self.is_too_fast else self.period_seconds,
            periods=self.periods,
            warm_up_ms=self.warm_up_seconds * 1000,
            action=self.action,
            priority=self.requeue_priority,
            all_hosts=self.all_hosts,
            instance_types=tuple(self.instance_types),
            when=self.when.condition(),
        )


DEFAULT_WATCHES = {"idle": Watch()}
"""The default: 1 % over five minutes, three in a row, as in the founding article."""


def not_in_cloudwatch(watches: Mapping[str, Watch | None]) -> Iterator[FieldError]:
    """The watches of a new document whose namespace CloudWatch does not take."""
    for name, watch in watches.items():
        if watch is not None and not _NAMESPACE.fullmatch(watch.namespace):
            message = f"{watch.namespace!r} must be one line that does not begin with a colon, as CloudWatch has it"
            yield FieldError(field=f"watches.{name}.namespace", message=message)


def too_fast(watches: Mapping[str, Watch | None]) -> Iterator[FieldError]:
    """The watches of a new document whose alarms would not fire."""
    for name, watch in watches.items():
        if watch is not None and watch.is_too_fast:
            message = (
                f"{watch.period_seconds} must be {PUBLISHED_EVERY_S} or a multiple of it, as SageMaker publishes "
                f"{watch.metric} once in {PUBLISHED_EVERY_S} s; shorter periods need metrics of your own, in another "
                "namespace"
            )
            yield FieldError(field=f"watches.{name}.periodSeconds", message=message)
