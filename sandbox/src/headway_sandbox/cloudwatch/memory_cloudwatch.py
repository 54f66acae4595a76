"""CloudWatch's alarms on training jobs, and their metrics, in memory: for simulations in virtual time.

No clock, no I/O: every call passes the time (`now`, s since the epoch). No sample is stored: samples are computed from
the fake SageMaker's jobs (`headway_sandbox.sagemaker.telemetry`), so only their metrics have data.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple

from headway_sandbox.cloudwatch import alarm_message, alarm_requests, evaluation_schedule
from headway_sandbox.cloudwatch.alarm_evaluation import INSUFFICIENT_DATA, AlarmSettings, Sample, sample
from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.telemetry import printed_metrics, utilization
from headway_sandbox.sagemaker.token_bucket import Rate, Throttle

Document = dict[str, Any]
_HOST = re.compile(r"(?P<job>.+)/algo-(?P<number>[1-9][0-9]{0,4})")
_PAGE = 50  # model, DescribeAlarms: MaxRecords is at most 100; seen: 50 without
_LISTS = ("OKActions", "AlarmActions", "InsufficientDataActions", "Dimensions")


class AlarmTransition(NamedTuple):
    """A state change of an alarm."""

    name: str
    old_state: str
    new_state: str


class MemoryCloudWatch:
    """The alarms of one account in one region.

    Args:
        fleet: The SageMaker service with the jobs that they monitor.
        rates: Call rate per operation; AWS's are `alarm_requests.RATES`. None: not limited.
    """

    def __init__(self, fleet: FakeSageMaker, *, rates: Mapping[str, Rate] | None = None) -> None:
        self._fleet = fleet
        self._throttle = Throttle(rates or {})
        self._alarms: dict[str, Document] = {}
        self._rounds: evaluation_schedule.EvaluationSchedule[str] = evaluation_schedule.EvaluationSchedule()
        self._operations: Mapping[str, Callable[[Mapping[str, Any], float], Document]] = {
            "PutMetricAlarm": self._put,
            "DeleteAlarms": self._delete,
            "DescribeAlarms": self._describe,
            "GetMetricData": self._metric_data,
        }

    def call(self, operation: str, request: Mapping[str, Any], *, now: float) -> Document:
        """Execute one API call, as `FakeSageMaker.call` does for SageMaker.

        Args:
            operation: Its name, such as `PutMetricAlarm`.
            request: Its members.
            now: The time, s since the epoch.

        Returns:
            The response's members.

        Raises:
            AwsError: CloudWatch's error response.
        """
        handler = self._operations.get(operation)
        if handler is None:
            raise service_facts.unknown_operation("CloudWatch", operation, self._operations)
        if not self._throttle.admits(operation, now):
            raise alarm_requests.throttled()
        alarm_requests.check(operation, request)
        return handler(request, now)

    def put(self, alarm_request: Mapping[str, Any], *, now: float) -> None:
        """Call PutMetricAlarm. An existing alarm keeps its state.

        Args:
            now: the current time, s.
        """
        self.call("PutMetricAlarm", alarm_request, now=now)

    def delete(self, names: Collection[str], *, now: float) -> None:
        """Call DeleteAlarms. Unknown names are not an error (model: the other alarms are deleted).

        Args:
            names: the names of the alarms.
            now: the current time, s.
        """
        self.call("DeleteAlarms", {"AlarmNames": list(names)}, now=now)

    def describe(self, *, prefix: str = "", state: str = "", names: Collection[str] = ()) -> list[Document]:
        """Return the matching alarms, sorted by name.

        Args:
            prefix: Prefix of their names; empty: any.
            state: Their state; empty: any.
            names: Their names; empty: any.
        """
        return [
            copy.deepcopy(alarm)
            for name, alarm in sorted(self._alarms.items())
            if name.startswith(prefix) and state in {"", alarm["StateValue"]} and (not names or name in names)
        ]

    def evaluate(self, now: float) -> list[AlarmTransition]:
        """Advance to `now` (s since the epoch) and return the state changes.

        A state that began and ended between two calls is missed: alarms are evaluated at `now` only.
        """
        changes = []
        for name in self._rounds.due(self._alarms.items(), now):
            alarm = self._alarms[name]
            found = evaluation_schedule.state_change(alarm, partial(self._measured, now), now)
            if found is not None:
                changes.append(AlarmTransition(name, alarm["StateValue"], found.state))
                alarm.update(StateValue=found.state, StateReason=found.reason, StateUpdatedTimestamp=now)
        return changes

    def notification(self, change: AlarmTransition, *, now: float) -> tuple[str, str]:
        """Return subject and message that CloudWatch publishes on a state change.

        Args:
            change: A change that `evaluate` returned.
            now: The time, s since the epoch.
        """
        alarm, settings = self._alarms[change.name], self._fleet.settings
        message = alarm_message.message(
            alarm, old_state=change.old_state, account=settings.account, region=settings.region, now_s=now
        )
        return alarm_message.subject(alarm, region=settings.region), message

    # -------------------------------------------------------------------------------------------------- operations

    def _put(self, request: Mapping[str, Any], now: float) -> Document:
        name, settings = request["AlarmName"], self._fleet.settings
        before = self._alarms.get(name, {})
        self._alarms[name] = {
            "ActionsEnabled": True,
            "TreatMissingData": "missing",
            **{kind: [] for kind in _LISTS},
            **copy.deepcopy({key: value for key, value in request.items() if key != "Tags"}),
            "AlarmArn": f"arn:aws:cloudwatch:{settings.region}:{settings.account}:alarm:{name}",
            "AlarmConfigurationUpdatedTimestamp": now,
            "StateValue": before.get("StateValue", INSUFFICIENT_DATA),
            "StateReason": before.get("StateReason", "Unchecked: Initial alarm creation"),
            "StateUpdatedTimestamp": before.get("StateUpdatedTimestamp", now),
        }
        return {}

    def _delete(self, request: Mapping[str, Any], _now: float) -> Document:
        for name in request["AlarmNames"]:
            self._alarms.pop(name, None)
        return {}

    def _describe(self, request: Mapping[str, Any], _now: float) -> Document:
        found = self.describe(
            prefix=request.get("AlarmNamePrefix", ""),
            state=request.get("StateValue", ""),
            names=request.get("AlarmNames", ()),
        )
        # The token is the name of the page's first alarm, as in the emulator.
        left = [alarm for alarm in found if alarm["AlarmName"] >= request.get("NextToken", "")]
        size = int(request.get("MaxRecords", _PAGE))
        answer: Document = {"MetricAlarms": left[:size], "CompositeAlarms": []}
        if len(left) > size:
            answer["NextToken"] = left[size]["AlarmName"]
        return answer

    def _metric_data(self, request: Mapping[str, Any], now: float) -> Document:
        start_s, end_s = (_seconds(request[member]) for member in ("StartTime", "EndTime"))
        return {
            "MetricDataResults": [
                self._series(query, start_s, min(end_s, now)) for query in request["MetricDataQueries"]
            ]
        }

    def _series(self, query: Mapping[str, Any], start_s: float, end_s: float) -> Document:
        """The averages of a metric that the script of a training job prints."""
        metric, period_s = query["MetricStat"]["Metric"], float(query["MetricStat"]["Period"])
        names = [each["Value"] for each in metric["Dimensions"] if each["Name"] == printed_metrics.DIMENSION]
        job = self._fleet.find(names[0], now=end_s) if names and metric["Namespace"] == utilization.NAMESPACE else None
        periods: dict[float, list[float]] = {}
        if job is not None:
            # The period in which the range begins counts as a whole (model, GetMetricData: StartTime).
            start_s -= start_s % period_s
            for at_s, value in printed_metrics.values_of(job, metric["MetricName"], after_s=start_s, until_s=end_s):
                periods.setdefault(at_s - at_s % period_s, []).append(value)
        return {
            "Id": query["Id"],
            "Label": query["Id"],
            "Timestamps": sorted(periods),
            "Values": [fmean(values) for _, values in sorted(periods.items())],
            "StatusCode": "Complete",
        }

    # --------------------------------------------------------------------------------------------------- samples

    def _measured(self, now: float, alarm: AlarmSettings, since_s: float) -> Iterable[Sample]:
        metric = alarm.metric
        dimensions = dict(metric.dimensions)
        host = _HOST.fullmatch(dimensions.get(utilization.DIMENSION, ""))
        watched = metric.namespace == utilization.NAMESPACE and len(dimensions) == 1
        if host is None or not watched or alarm.unit not in {None, utilization.UNIT}:
            return []
        job = self._fleet.find(host["job"], now=now)
        if job is None:
            return []
        found = utilization.figures_of(
            job,
            metric=metric.name,
            number=int(host["number"]),
            after_s=since_s,
            until_s=now,
        )
        return [sample(time_s, percent) for time_s, percent in found]


def _seconds(moment: Any) -> float:
    """A time of a request, s since the epoch: botocore's clients may be given either."""
    return moment.timestamp() if isinstance(moment, datetime) else float(moment)
