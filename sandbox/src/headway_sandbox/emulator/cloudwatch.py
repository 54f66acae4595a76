"""Patches of ministack's CloudWatch: metrics, alarms and their requests, as strict as AWS.

ministack stores metrics and alarms and serves the API. The patches change which requests are refused and who may
delete an alarm. `headway_sandbox.server.monitoring` evaluates alarms: ministack's own evaluation is disabled, as it
ignores dimensions, periods and missing data. Actions of alarms are in `headway_sandbox.emulator.alarm_actions`.

Written for the ministack version in `patches.VERSION`.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from headway_sandbox.cloudwatch import alarm_requests, host_metrics
from headway_sandbox.cloudwatch.alarm_evaluation import (
    AlarmSettings,
    Metric,
    Sample,
    sample,
)
from headway_sandbox.emulator.patches import module
from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.clock import Clock
from headway_sandbox.sagemaker.token_bucket import Throttle

# CloudWatch keeps two weeks of history; here the latest entries.
_HISTORY_KEPT = 10_000
_Response = tuple[int, dict[str, str], bytes]


class AlarmKey(NamedTuple):
    """Identifies an alarm."""

    account: str
    region: str
    name: str


def prepare(clock: Clock) -> None:
    """Apply the patches. Called once, after `patches.prepare`.

    Args:
        clock: Of the training jobs whose utilization is read.
    """
    cloudwatch = module("services.cloudwatch")
    cloudwatch._evaluate_alarm = lambda _alarm: None
    cloudwatch._evaluate_all_alarms = lambda: None
    # It scans all data points at each call; `evict` does so once a minute.
    cloudwatch._evict_old_metrics = lambda: None
    _count_every_invocation()
    _answer_in_training_time(clock)
    _refuse_bad_requests()
    _authorize_by_name()
    _keep_metric_math_of_stacks()


# --------------------------------------------------------------------------------------------------- metrics


def record(
    namespace: str, unit: str, values: Iterable[tuple[str, Mapping[str, str], float, float]], *, region: str
) -> None:
    """Add values to metrics of the sandbox's own account.

    Args:
        namespace: Namespace of the metrics.
        unit: Unit of the values.
        values: Metric name, dimensions, time (s since the epoch) and value of each.
        region: Region of the metrics.
    """
    cloudwatch, responses = module("services.cloudwatch"), module("core.responses")
    responses.set_request_account_id("")
    responses.set_request_region(region)
    for name, dimensions, time_s, value in values:
        points = cloudwatch._metric_bucket((namespace, name, cloudwatch._dims_key(dimensions)))
        # The data points of a metric share one dict of dimensions, to save memory.
        shared = points[0]["Dimensions"] if points else dict(dimensions)
        points.append({"Timestamp": time_s, "Value": value, "Unit": unit, "Dimensions": shared})


def _count_every_invocation() -> None:
    """Record metrics of all invocations; ministack records those of the Invoke API, and not those of rules.

    A throttled invocation does not count. Source: Lambda developer guide, "Types of metrics for Lambda functions".
    """
    cloudwatch, functions = module("services.cloudwatch"), module("services.lambda_svc")
    dispatch = functions._execute_function_dispatch

    def record_one(name: str, metric: str, value: float, unit: str = "Count") -> None:
        cloudwatch.record_metric("AWS/Lambda", metric, value, unit, {"FunctionName": name})

    def measure(function: Any, config: Mapping[str, Any], event: Any, request_id: str, started_s: float) -> Any:
        result = dispatch(function, config, event, request_id, started_s)
        name = config["FunctionName"]
        record_one(name, "Invocations", 1)
        record_one(name, "Errors", 1 if result.get("error") else 0)
        record_one(name, "Duration", (time.time() - started_s) * 1000, "Milliseconds")
        return result

    def throttled(name: str, duration_ms: float, *, throttle: bool, **_: Any) -> None:
        # The Invoke API reports a throttle twice, the second time with a duration.
        if throttle and not duration_ms:
            record_one(name, "Throttles", 1)

    functions._execute_function_dispatch = measure
    functions._emit_lambda_metrics = throttled


def drop(namespace: str, dimension: str, *, kept: tuple[str, ...] = ()) -> None:
    """Delete the metrics of a namespace that have a dimension, in all accounts and regions.

    Args:
        namespace: Their namespace.
        dimension: Name of the dimension.
        kept: Begins of the dimension's values whose metrics are kept.
    """
    stored = module("services.cloudwatch")._metrics._data
    for key, points in list(stored.items()):
        value = points[0]["Dimensions"].get(dimension) if points else None
        if key[2][0] == namespace and value is not None and not value.startswith(kept):
            del stored[key]


def samples_of(key: AlarmKey, alarm: AlarmSettings, since_s: float) -> list[Sample]:
    """Return the samples of an alarm's metric.

    Args:
        key: The alarm.
        alarm: Its settings.
        since_s: Start of the range, s since the epoch.
    """
    cloudwatch = module("services.cloudwatch")
    points = cloudwatch._metrics.get_scoped(key.account, key.region, _metric_key(alarm.metric)) or []
    return [
        _sample(point) for point in points if point["Timestamp"] >= since_s and alarm.unit in {None, point.get("Unit")}
    ]


def _metric_key(metric: Metric) -> tuple[str, str, str]:
    return metric.namespace, metric.name, module("services.cloudwatch")._dims_key(dict(metric.dimensions))


def _sample(point: Mapping[str, Any]) -> Sample:
    if "_stat" not in point and "Count" not in point:
        return sample(point["Timestamp"], point["Value"])
    return Sample(point["Timestamp"], *module("services.cloudwatch")._point_stats(point))


def evict(before_s: float) -> None:
    """Delete data points before a time (s since the epoch) that no alarm needs, and old alarm history."""
    cloudwatch = module("services.cloudwatch")
    ranges: dict[tuple[Any, ...], int] = {}
    for key, alarm in alarms():
        settings = AlarmSettings.of(alarm)
        if settings is not None:
            watched = (key.account, key.region, _metric_key(settings.metric))
            # A window ended at most a minute ago.
            ranges[watched] = max(ranges.get(watched, 0), settings.range_s + 60)
    now_s = time.time()
    for stored, points in list(cloudwatch._metrics._data.items()):
        since_s = min(before_s, now_s - ranges.get(stored, 0))
        # At the front only, as threads of functions append concurrently.
        del points[: next((at for at, point in enumerate(points) if point["Timestamp"] >= since_s), len(points))]
        if not points:
            del cloudwatch._metrics._data[stored]
    for entries in cloudwatch._alarm_history._data.values():
        del entries[:-_HISTORY_KEPT]


# ---------------------------------------------------------------------------------------------------- alarms


def alarms() -> Iterator[tuple[AlarmKey, Mapping[str, Any]]]:
    """Return all metric alarms, of all accounts and regions."""
    for (account, region, name), alarm in list(module("services.cloudwatch")._alarms._data.items()):
        yield AlarmKey(account, region, name), alarm


def alarm_of(key: AlarmKey) -> Mapping[str, Any] | None:
    """Return an alarm's current document; None if it was deleted."""
    alarm: Mapping[str, Any] | None = module("services.cloudwatch")._alarms._data.get(tuple(key))
    return alarm


def set_state(key: AlarmKey, state: str, reason: str, *, now_s: float) -> None:
    """Change an existing alarm's state, with history, actions and composite alarms.

    Args:
        key: The alarm.
        state: Its new state.
        reason: StateReason.
        now_s: The time, s since the epoch.
    """
    cloudwatch = module("services.cloudwatch")
    alarm = cloudwatch._alarms._data[tuple(key)]
    before, alarm["StateValue"], alarm["StateReason"] = alarm["StateValue"], state, reason
    alarm["StateUpdatedTimestamp"] = int(now_s)
    with module("core.responses").request_scope(key.account, key.region):
        cloudwatch._record_history(key.name, before, state, reason)
        cloudwatch._dispatch_alarm_actions(alarm, before, state, reason)
        cloudwatch._evaluate_parent_alarms(alarm)


# -------------------------------------------------------------------------------------------------- requests


def _refuse_bad_requests() -> None:
    """Validate and throttle requests as CloudWatch does.

    Current SDKs send JSON. Requests in the older query protocol are not validated.
    """
    cloudwatch = module("services.cloudwatch")
    throttle = Throttle(alarm_requests.RATES)

    def strict(operation: str, original: Callable[..., _Response]) -> Callable[..., _Response]:
        def handle(params: Any, document: Any, is_cbor: bool, is_json: bool = False) -> _Response:  # noqa: FBT001, FBT002
            try:
                if not throttle.admits(operation, time.time()):
                    raise alarm_requests.throttled()
                if is_json:
                    alarm_requests.check(operation, document)
            except AwsError as error:
                refused: _Response = cloudwatch._error(
                    error.code, error.message, error.status, use_json=is_json, use_cbor=is_cbor
                )
                return refused
            return original(params, document, is_cbor, is_json)

        return handle

    cloudwatch._put_metric_alarm = strict("PutMetricAlarm", cloudwatch._put_metric_alarm)
    cloudwatch._describe_alarms = strict("DescribeAlarms", cloudwatch._describe_alarms)
    cloudwatch._delete_alarms = strict("DeleteAlarms", cloudwatch._delete_alarms)
    cloudwatch._get_metric_data = strict("GetMetricData", cloudwatch._get_metric_data)


def _answer_in_training_time(clock: Clock) -> None:
    """Answer queries of the utilization of training jobs' hosts in training time, as `host_metrics` says.

    Only calls whose queries are all of that, in JSON; ministack answers others, in machine time.
    """
    cloudwatch = module("services.cloudwatch")
    original = cloudwatch._get_metric_data

    def get_metric_data(params: Any, document: Any, is_cbor: bool, is_json: bool = False) -> _Response:  # noqa: FBT001, FBT002
        queries = document["MetricDataQueries"] if is_json else []
        metrics = host_metrics.metrics_in(queries)
        if not metrics:
            answer: _Response = original(params, document, is_cbor, is_json)
            return answer
        start_s, end_s = (cloudwatch._parse_ts(document[name]) for name in ("StartTime", "EndTime"))
        results = []
        for query, metric in zip(queries, metrics, strict=True):
            found = host_metrics.series(
                map(_sample, cloudwatch._metrics.get(_metric_key(metric)) or []),
                clock,
                start_s=start_s,
                end_s=end_s,
                period_s=int(query["MetricStat"]["Period"]),
                statistic=query["MetricStat"]["Stat"],
            )
            results.append(host_metrics.result(query, found))
        encoded: _Response = cloudwatch._json_ok({"MetricDataResults": results})
        return encoded

    cloudwatch._get_metric_data = get_metric_data


class _Resources(str):
    """The ARN of the first of several resources. The call must be allowed on all of them."""

    others: tuple[str, ...] = ()


def _authorize_by_name() -> None:
    """Authorize calls by alarm; ministack authorizes calls with several names on `*`, which no policy allows.

    Source: Service Authorization Reference, CloudWatch: DeleteAlarms and DescribeAlarms have the resource type alarm. A
    call without names needs permission for all. PutMetricAlarm with tags also needs cloudwatch:TagResource (model,
    Tags).
    """
    actions, evaluator = module("core.iam_actions"), module("core.iam_evaluator")
    extract, enforce = actions.extract_resource_arn, evaluator.enforce
    # Operations with tags as condition keys; ministack searches CloudWatch's model under another name.
    actions._TAG_OPERATIONS["monitoring"] = frozenset(
        {"PutMetricAlarm", "PutCompositeAlarm", "TagResource", "UntagResource"}
    )

    def extract_all(service: str, method: str, path: str, headers: Any, body: bytes, *rest: Any) -> str:
        found: str = extract(service, method, path, headers, body, *rest)
        operation = str(headers.get("x-amz-target", "")).rpartition(".")[2]
        if service != "monitoring" or operation not in {"DescribeAlarms", "DeleteAlarms"}:
            return found
        region, account = rest[-2:]
        try:
            names = json.loads(body or b"{}").get("AlarmNames")
        except (ValueError, AttributeError):
            names = None
        listed = names if isinstance(names, list) and names else ["*"]
        first, *others = [f"arn:aws:cloudwatch:{region}:{account}:alarm:{name}" for name in listed]
        resources = _Resources(first)
        resources.others = tuple(others)
        return resources

    def enforce_all(
        access_key: str, action: str, service: str, region: str, resource_arn: str = "*", service_context: Any = None
    ) -> Any:
        checks = [(action, arn) for arn in (resource_arn, *getattr(resource_arn, "others", ()))]
        if action == "cloudwatch:PutMetricAlarm" and (service_context or {}).get("aws:TagKeys"):
            checks.append(("cloudwatch:TagResource", resource_arn))
        refusals = (
            enforce(access_key, checked, service, region, resource_arn=arn, service_context=service_context)
            for checked, arn in checks
        )
        return next((refusal for refusal in refusals if refusal), None)

    actions.extract_resource_arn = extract_all
    evaluator.enforce = enforce_all


def _keep_metric_math_of_stacks() -> None:
    """Accept an alarm on metric math in a template, which ministack refuses. It is never evaluated."""
    provisioners = module("services.cloudformation.provisioners")
    original = provisioners._cw_metric_alarm_record

    def record_alarm(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
        math = properties.get("Metrics")
        if not math:
            alarm: dict[str, Any] = original(name, properties)
            return alarm
        alarm = original(name, {**properties, "Metrics": None, "MetricName": "-", "Namespace": "-"})
        return {**alarm, "MetricName": None, "Namespace": None, "Metrics": math}

    provisioners._cw_metric_alarm_record = record_alarm
