"""CloudWatch's validation of requests about alarms and metrics.

Sources: "model" is botocore's service model of CloudWatch with its documentation strings, "quotas" the CloudWatch user
guide, "CloudWatch service quotas"; "seen" marks wording that users quote from the service.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headway_sandbox.cloudwatch.alarm_evaluation import BREACHING, COMPARISONS, IGNORE, MISSING, NOT_BREACHING
from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.api import request_validation
from headway_sandbox.sagemaker.token_bucket import Rate

# Quotas: calls per second, account and region; the burst is not documented.
RATES: Mapping[str, Rate] = {
    "PutMetricAlarm": Rate(per_s=3, burst=10),
    "DeleteAlarms": Rate(per_s=3, burst=10),
    "DescribeAlarms": Rate(per_s=9, burst=20),
    "GetMetricData": Rate(per_s=50, burst=50),
}
MAX_QUERIES = 500  # model, GetMetricData
_QUERY_ID = re.compile(r"[a-z][a-zA-Z0-9_]*")
_DAY_S, _WEEK_S, _HOUR_S = 86_400, 604_800, 3600
# Required for an alarm on a metric (model, PutMetricAlarm: each is optional there, as other alarms do not have it).
_NEEDED = ("MetricName", "Namespace", "Statistic", "Period", "EvaluationPeriods", "Threshold", "ComparisonOperator")
# Members that the sandbox does not support. Ignoring them would make an alarm that behaves differently.
_UNSUPPORTED = (
    "EvaluationCriteria",
    "EvaluationInterval",
    "EvaluationWindow",
    "ExtendedStatistic",
    "Metrics",
    "ThresholdMetricId",
    "WarmUpConfiguration",
)


def check(operation: str, request: Mapping[str, Any]) -> None:
    """Validate a request of PutMetricAlarm, DescribeAlarms, DeleteAlarms or GetMetricData.

    Args:
        request: Its members.

    Raises:
        AwsError: CloudWatch's error response.
    """
    wrong = request_validation.violations("cloudwatch", operation, request)
    if wrong is not None:
        raise refused(wrong)
    if operation == "PutMetricAlarm":
        _check_alarm(request)
    if operation == "GetMetricData":
        _check_metric_data(request)
    if operation == "DescribeAlarms" and request.get("AlarmNames") and request.get("AlarmNamePrefix"):
        # Model, AlarmNamePrefix: "If this parameter is specified, you cannot specify AlarmNames". The wording is ours.
        raise AwsError("InvalidParameterCombination", "AlarmNames and AlarmNamePrefix can't be given together.")


def refused(message: str) -> AwsError:
    """Return a ValidationException, which has this code on the wire (model)."""
    return AwsError("ValidationError", message)


def throttled() -> AwsError:
    """Return CloudWatch's throttling error (seen): not the JSON services' code, but botocore retries both."""
    return AwsError("Throttling", "Rate exceeded")


def _check_metric_data(request: Mapping[str, Any]) -> None:
    """Validate queries of metrics (model, GetMetricData and MetricDataQuery; the wording is ours)."""
    queries = request["MetricDataQueries"]
    if len(queries) > MAX_QUERIES:
        raise refused(f"The collection MetricDataQueries must not have a size greater than {MAX_QUERIES}.")
    ids = [query["Id"] for query in queries]
    if len(set(ids)) < len(ids) or not all(_QUERY_ID.fullmatch(each) for each in ids):
        raise refused("The IDs of MetricDataQueries begin with a lower-case letter, and no two are the same.")
    for query in queries:
        if "MetricStat" not in query:
            raise refused("Sandbox: queries are for a metric (MetricStat) here.")
        period_s = int(query["MetricStat"]["Period"])
        if period_s not in {1, 5, 10, 20, 30} and period_s % 60:
            raise refused("Period must be 1, 5, 10, 20, 30 or a multiple of 60.")
    if request["StartTime"] >= request["EndTime"]:
        raise refused("The parameter StartTime must be less than the parameter EndTime.")


def _check_alarm(alarm: Mapping[str, Any]) -> None:
    unsupported = [name for name in _UNSUPPORTED if alarm.get(name)]
    if unsupported:
        raise refused(f"Sandbox: alarms do not support {', '.join(unsupported)} here.")
    lacking = [name for name in _NEEDED if alarm.get(name) is None]
    if lacking:  # the wording is ours
        raise refused(f"An alarm on a metric needs {', '.join(lacking)}.")
    if alarm["ComparisonOperator"] not in COMPARISONS:
        raise refused(f"Sandbox: {alarm['ComparisonOperator']}, for anomaly detection, is not supported here.")
    _check_periods(int(alarm["Period"]), int(alarm["EvaluationPeriods"]))
    if alarm.get("DatapointsToAlarm", 1) > alarm["EvaluationPeriods"]:  # seen verbatim
        raise refused("DatapointsToAlarm must be less than or equal to EvaluationPeriods")
    treatment = alarm.get("TreatMissingData", MISSING)
    if treatment not in {BREACHING, NOT_BREACHING, IGNORE, MISSING}:  # model; the wording is ours
        raise refused(f"The value {treatment} for parameter TreatMissingData is not supported.")
    for kind in ("OKActions", "AlarmActions", "InsufficientDataActions"):
        for action in alarm.get(kind) or []:
            if not action.startswith("arn:"):  # seen verbatim
                raise refused(f"Invalid arn syntax: {action}")


def _check_periods(period_s: int, periods: int) -> None:
    """Validate a period (model, Period; wording seen)."""
    if period_s not in {10, 20, 30} and period_s % 60:
        raise refused("Period must be 10, 20, 30 or a multiple of 60")
    if period_s < _HOUR_S and period_s * periods > _DAY_S:
        raise refused(
            "Metrics cannot be checked across more than a day "
            f"(EvaluationPeriods * Period must be <= {_DAY_S}) for alarms using period < {_HOUR_S}"
        )
    if period_s * periods > _WEEK_S:
        raise refused(
            "Metrics cannot be checked across more than a week "
            f"(EvaluationPeriods * Period must be <= {_WEEK_S}) for alarms using period >= {_HOUR_S}"
        )
