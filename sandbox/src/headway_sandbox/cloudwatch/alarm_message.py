"""Subject and message that CloudWatch publishes to an SNS topic when an alarm's state changes.

The members and their spelling come from messages that users quote, e.g. `Statistic` in capitals, dimensions as `name`
and `value`, and the long name of the region.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import botocore.session

# SNS, Publish: the longest subject.
_SUBJECT_MAX = 100


def subject(alarm: Mapping[str, Any], *, region: str) -> str:
    """Return the subject of a notification. A long alarm name is cut to SNS's limit.

    Args:
        alarm: A MetricAlarm after its state change.
        region: Code of its region.
    """
    start, end = f'{alarm["StateValue"]}: "', f'" in {region_name(region)}'
    name, room = alarm["AlarmName"], _SUBJECT_MAX - len(start) - len(end)
    return f"{start}{name if len(name) <= room else name[: room - 3] + '...'}{end}"


def message(alarm: Mapping[str, Any], *, old_state: str, account: str, region: str, now_s: float) -> str:
    """Return the message of a notification, as JSON.

    Args:
        alarm: A MetricAlarm after its state change; its times are seconds since the epoch.
        old_state: Its state before.
        region: Code of its region.
        now_s: Time of the change, s since the epoch.
    """
    trigger = {
        "MetricName": alarm["MetricName"],
        "Namespace": alarm["Namespace"],
        "StatisticType": "Statistic",
        "Statistic": re.sub(r"(?<=[a-z])(?=[A-Z])", "_", alarm["Statistic"]).upper(),
        "Unit": alarm.get("Unit"),
        "Dimensions": [{"value": each["Value"], "name": each["Name"]} for each in alarm.get("Dimensions") or []],
        "Period": alarm["Period"],
        "EvaluationPeriods": alarm["EvaluationPeriods"],
        "ComparisonOperator": alarm["ComparisonOperator"],
        "Threshold": alarm["Threshold"],
        "TreatMissingData": alarm.get("TreatMissingData", "missing"),
        "EvaluateLowSampleCountPercentile": "",
    }
    if alarm.get("DatapointsToAlarm"):  # present only if it was set
        trigger["DatapointsToAlarm"] = alarm["DatapointsToAlarm"]
    document = {
        "AlarmName": alarm["AlarmName"],
        "AlarmDescription": alarm.get("AlarmDescription") or None,
        "AWSAccountId": account,
        "AlarmConfigurationUpdatedTimestamp": _timestamp(alarm["AlarmConfigurationUpdatedTimestamp"]),
        "NewStateValue": alarm["StateValue"],
        "NewStateReason": alarm["StateReason"],
        "StateChangeTime": _timestamp(now_s),
        "Region": region_name(region),
        "AlarmArn": alarm["AlarmArn"],
        "OldStateValue": old_state,
        **{name: list(alarm.get(name) or []) for name in ("OKActions", "AlarmActions", "InsufficientDataActions")},
        "Trigger": trigger,
    }
    return json.dumps(document)


@functools.cache
def region_name(region: str) -> str:
    """Return the name of a region in these messages: "EU (Ireland)" for eu-west-1."""
    for partition in botocore.session.get_session().get_data("endpoints")["partitions"]:
        if region in partition["regions"]:
            found: str = partition["regions"][region]["description"]
            return found.replace("Europe (", "EU (")
    return region


def _timestamp(moment_s: float) -> str:
    return datetime.fromtimestamp(moment_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "+0000")
