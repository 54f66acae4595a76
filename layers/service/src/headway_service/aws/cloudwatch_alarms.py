"""The alarms on running jobs, in CloudWatch.

An alarm's name holds the attempt, the watch and the host that it is for. So nothing need be kept of it elsewhere, and
one that is no longer wanted is found by its name. Where the name would be too long, a digest replaces the end of the
watch's name, which the alarm's description has in full.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from headway.jobpolicy.utilization import Alarm
from headway_service.aws.transient_errors import raise_retry_later
from headway_service.errors import AlarmRefused
from headway_service.ports.alarms import SeenAlarm
from headway_service.response_check import check_answers, member

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import MetricAlarmTypeDef

# PutMetricAlarm: the account has as many alarms as it may have, and jobs that end give theirs back (API reference).
_retry_later = partial(raise_retry_later, "CloudWatch", {"LimitExceeded"})

_MAX_DELETED = 100
"""Alarms that one DeleteAlarms call takes (API reference)."""

_PAGE = 100
"""The most that one DescribeAlarms call gives (API reference)."""


MAX_NAME_CHARS = 255
"""The longest name of an alarm (API reference, PutMetricAlarm)."""

_DIGEST_CHARS = 16
"""Part of a SHA-256 digest, in hexadecimal digits."""

# No watch is named with a tilde, so no shortened name is that of another watch.
_SHORTENED = "~"
_WATCH_IN_DESCRIPTION = re.compile(r"watch `([^`]+)` on ")


class CloudWatchAlarms:
    """:class:`headway_service.ports.alarms.Alarms` on CloudWatch.

    Args:
        client: of CloudWatch.
        prefix: what the names of this queue's alarms begin with, and no others. A stack's name and what follows it, 135
            characters at most, leave room for the longest name of an attempt and the digest.
        topic_arn: the SNS topic that a firing alarm notifies.
    """

    def __init__(self, client: CloudWatchClient, prefix: str, topic_arn: str) -> None:
        check_answers(client)
        self._client = client
        self._prefix = prefix
        self._topic_arn = topic_arn

    def put(self, alarm: Alarm) -> None:
        """See :class:`headway_service.ports.alarms.Alarms`."""
        with _retry_later(refused=AlarmRefused):
            self._client.put_metric_alarm(
                AlarmName=self._name(alarm.attempt, alarm.watch, alarm.number),
                AlarmDescription=f"Headway's watch `{alarm.watch}` on {alarm.host}; gone when that has ended",
                Namespace=alarm.namespace,
                MetricName=alarm.metric,
                Dimensions=[{"Name": alarm.dimension, "Value": alarm.host}],
                Statistic="Average",
                Period=alarm.period_s,
                EvaluationPeriods=alarm.periods,
                DatapointsToAlarm=alarm.periods,
                Threshold=alarm.threshold,
                ComparisonOperator="LessThanThreshold",
                # A job is never stopped for want of figures.
                TreatMissingData="notBreaching",
                AlarmActions=[self._topic_arn],
            )

    def delete(self, names: Iterable[str]) -> None:
        """See :class:`headway_service.ports.alarms.Alarms`."""
        all_of = sorted(names)
        for start in range(0, len(all_of), _MAX_DELETED):
            with _retry_later():
                self._client.delete_alarms(AlarmNames=all_of[start : start + _MAX_DELETED])

    def seen(self, attempt: str | None = None) -> tuple[SeenAlarm, ...]:
        """See :class:`headway_service.ports.alarms.Alarms`."""
        prefix = self._prefix if attempt is None else f"{self._prefix}{attempt}/"
        pages = self._client.get_paginator("describe_alarms").paginate(
            AlarmNamePrefix=prefix, AlarmTypes=["MetricAlarm"], PaginationConfig={"PageSize": _PAGE}
        )
        with _retry_later():
            return tuple(self._read(each) for page in pages for each in member(page, "MetricAlarms"))

    def attempt_of(self, name: str) -> str | None:
        """See :class:`headway_service.ports.alarms.Alarms`."""
        attempt, _, rest = name.removeprefix(self._prefix).partition("/")
        return attempt if name.startswith(self._prefix) and rest else None

    def _name(self, attempt: str, watch: str, number: int) -> str:
        start, end = f"{self._prefix}{attempt}/", f"/{number}"
        room = MAX_NAME_CHARS - len(start) - len(end)
        if len(watch) > room:
            digest = sha256(watch.encode()).hexdigest()[:_DIGEST_CHARS]
            watch = f"{watch[: room - len(_SHORTENED) - len(digest)]}{_SHORTENED}{digest}"
        return f"{start}{watch}{end}"

    def _read(self, document: MetricAlarmTypeDef) -> SeenAlarm:
        name = document["AlarmName"]
        firing = document["StateValue"] == "ALARM"
        try:
            attempt, watch, number = name.removeprefix(self._prefix).rsplit("/", 2)
            if _SHORTENED in watch:
                (watch,) = _WATCH_IN_DESCRIPTION.findall(document["AlarmDescription"])
            if name != self._name(attempt, watch, int(number)):
                return SeenAlarm(name=name, alarm=None, firing=firing)
            ((dimension, _),) = [(each["Name"], each["Value"]) for each in document["Dimensions"]]
            alarm = Alarm(
                attempt=attempt,
                watch=watch,
                number=int(number),
                namespace=document["Namespace"],
                metric=document["MetricName"],
                dimension=dimension,
                threshold=document["Threshold"],
                period_s=document["Period"],
                periods=document["EvaluationPeriods"],
            )
        except (KeyError, ValueError):
            # Another caller created it under the queue's name, or changed it: it is deleted.
            return SeenAlarm(name=name, alarm=None, firing=firing)
        return SeenAlarm(name=name, alarm=alarm, firing=firing)
