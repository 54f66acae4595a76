"""Patches of ministack's CloudWatch Logs, as strict as AWS.

ministack keeps groups, streams and events in order, and its GetLogEvents tokens stay valid when events arrive late. The
patches change which requests are refused, and on which resource a call is authorized.

Written for the ministack version in `patches.VERSION`.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headway_sandbox.cloudwatch import embedded_metrics, log_requests
from headway_sandbox.emulator.patches import module
from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.token_bucket import Throttle

_Response = tuple[int, dict[str, str], bytes]
_Handler = Callable[[Mapping[str, Any]], _Response]
# Calls on one stream, and calls on a group that AWS authorizes on a stream without a name.
_ON_A_STREAM = frozenset({"CreateLogStream", "DeleteLogStream", "GetLogEvents", "PutLogEvents"})
_ON_ALL_STREAMS = frozenset({"DescribeLogStreams", "FilterLogEvents"})


def prepare() -> None:
    """Apply the patches. Called once, after `patches.prepare`."""
    _refuse_bad_requests()
    _authorize_by_stream()
    _publish_embedded_metrics()


def write(group: str, stream: str, lines: Iterable[tuple[float, str]], *, region: str) -> None:
    """Write lines to a stream of the sandbox's own account, as an AWS service does; group and stream are created.

    The limits of PutLogEvents do not apply to services.

    Args:
        group: Name of the log group.
        stream: Name of the log stream.
        lines: Time (s since the epoch) and text of each line, in order.
        region: Region of the log group.
    """
    logs, responses = module("services.cloudwatch_logs"), module("core.responses")
    responses.set_request_account_id("")
    responses.set_request_region(region)
    if group not in logs._log_groups:
        logs._create_log_group({"logGroupName": group})
    if stream not in logs._log_groups[group]["streams"]:
        logs._create_log_stream({"logGroupName": group, "logStreamName": stream})
    now_ms = round(time.time() * 1000)
    events = [
        {"timestamp": round(time_s * 1000), "message": text, "ingestionTime": now_ms, "eventId": responses.new_uuid()}
        for time_s, text in lines
    ]
    logs._append_log_events(logs._log_groups[group]["streams"][stream], events)


def drop(group: str, *, kept: tuple[str, ...] = ()) -> None:
    """Delete the streams of a log group in all accounts and regions, and the group if it has no other.

    Args:
        group: Name of the log group.
        kept: Begins of the names of streams that are kept.
    """
    logs, responses = module("services.cloudwatch_logs"), module("core.responses")
    for account, region, name in [scoped for scoped, _group in logs._log_groups.all_items() if scoped[2] == group]:
        with responses.request_scope(account, region):
            streams = logs._log_groups[name]["streams"]
            for stream in [each for each in streams if not each.startswith(kept)]:
                logs._delete_log_stream({"logGroupName": name, "logStreamName": stream})
            if not streams:
                logs._delete_log_group({"logGroupName": name})


def _refuse_bad_requests() -> None:
    """Validate and throttle requests as CloudWatch Logs does."""
    logs = module("services.cloudwatch_logs")
    throttle = Throttle(log_requests.RATES)

    def strict(operation: str, original: _Handler) -> _Handler:
        def handle(request: Mapping[str, Any]) -> _Response:
            try:
                if not throttle.admits(operation, time.time()):
                    raise log_requests.throttled()
                log_requests.check(operation, request)
                if operation == "DescribeLogStreams":
                    request = _checked_describe(logs, request)
            except AwsError as error:
                refused: _Response = module("core.responses").error_response_json(
                    error.code, error.message, error.status
                )
                return refused
            return original(request)

        return handle

    for operation, name in {
        "CreateLogGroup": "_create_log_group",
        "CreateLogStream": "_create_log_stream",
        "DescribeLogStreams": "_describe_log_streams",
        "GetLogEvents": "_get_log_events",
        "PutLogEvents": "_put_log_events",
    }.items():
        setattr(logs, name, strict(operation, getattr(logs, name)))


def _checked_describe(logs: Any, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a DescribeLogStreams request for ministack, which would return the first page for an invalid token.

    Raises:
        AwsError: The token is invalid.
    """
    token = request.get("nextToken")
    if token is not None:
        try:
            int(base64.b64decode(token, validate=True))
        except (ValueError, binascii.Error):
            raise log_requests.bad_token() from None
    return {**request, "logGroupName": logs._resolve_log_group_name(request)}


def _authorize_by_stream() -> None:
    """Authorize calls on streams by stream; ministack authorizes them on the group.

    Sources: Service Authorization Reference, CloudWatch Logs: the resource type of GetLogEvents is log-stream. Seen in
    error messages: DescribeLogStreams is authorized on `…:log-group:NAME:log-stream:`, so a policy on
    `…:log-group:NAME` without `:*` does not allow it.
    """
    actions = module("core.iam_actions")
    extract = actions.extract_resource_arn

    def extract_stream(service: str, method: str, path: str, headers: Any, body: bytes, *rest: Any) -> str:
        found: str = extract(service, method, path, headers, body, *rest)
        operation = str(headers.get("x-amz-target", "")).rpartition(".")[2]
        if service != "logs" or found == "*" or operation not in _ON_A_STREAM | _ON_ALL_STREAMS:
            return found
        stream = json.loads(body).get("logStreamName", "") if operation in _ON_A_STREAM else ""
        return f"{found}:log-stream:{stream}"

    actions.extract_resource_arn = extract_stream


def _publish_embedded_metrics() -> None:
    """Publish the metrics embedded in log lines; ministack does not."""
    logs, cloudwatch = module("services.cloudwatch_logs"), module("services.cloudwatch")
    append = logs._append_log_events

    def append_and_publish(stream: Any, events: list[Mapping[str, Any]]) -> None:
        append(stream, events)
        for event in events:
            for each in embedded_metrics.points(event["message"]):
                key = (each.namespace, each.name, cloudwatch._dims_key(each.dimensions))
                point = {"Timestamp": each.time_s, "Value": each.value, "Unit": each.unit}
                cloudwatch._metric_bucket(key).append({**point, "Dimensions": dict(each.dimensions)})

    logs._append_log_events = append_and_publish
