"""With `emulator` the one place that touches ministack: its CloudWatch, and what alarms set off, as strict as AWS.

ministack keeps metrics and alarms and answers the API. What it gets wrong is put right here: which requests are
refused, who may delete an alarm, whom an alarm can tell. When an alarm changes its state is for
`headway_sandbox.server.monitoring`: ministack's own evaluation is switched off, as it minds neither dimensions nor
periods nor missing data.

Written against the ministack that `emulator` asks for.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from headway_sandbox.cloudwatch import alarm_message, alarm_requests
from headway_sandbox.cloudwatch.alarm_evaluation import (
    ALARM,
    INSUFFICIENT_DATA,
    OK,
    AlarmSettings,
    Metric,
    Sample,
    sample,
)
from headway_sandbox.emulator.patches import module
from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.token_bucket import Throttle

_log = logging.getLogger("headway.sandbox")
_CLOUDWATCH, _SNS = "cloudwatch.amazonaws.com", "sns.amazonaws.com"
_ACTIONS = {OK: "OKActions", ALARM: "AlarmActions", INSUFFICIENT_DATA: "InsufficientDataActions"}
# CloudWatch keeps two weeks of history; here the latest entries.
_HISTORY_KEPT = 10_000
_Response = tuple[int, dict[str, str], bytes]


class AlarmKey(NamedTuple):
    account: str
    region: str
    name: str


def prepare() -> None:
    """Fill ministack's gaps that matter here. Called once, after `emulator.prepare`."""
    cloudwatch = module("services.cloudwatch")
    cloudwatch._evaluate_alarm = lambda _alarm: None
    cloudwatch._evaluate_all_alarms = lambda: None
    # It goes over all that was ever measured, at each call; `forget` does so now and then.
    cloudwatch._evict_old_metrics = lambda: None
    _count_every_invocation()
    _refuse_bad_requests()
    _authorise_by_name()
    _tell_as_cloudwatch()
    _encrypt_topics_of_stacks()
    _keep_metric_math_of_stacks()
    _invoke_as_sns()


# ------------------------------------------------------------------------------------------- what is measured


def record(
    namespace: str, unit: str, figures: Iterable[tuple[str, Mapping[str, str], float, float]], *, region: str
) -> None:
    """Add to metrics of the sandbox's own account.

    Args:
        namespace: of all that follow.
        unit: the same.
        figures: of each its metric, its dimensions, when it was measured (s since the epoch), and its value.
        region: where.
    """
    cloudwatch, responses = module("services.cloudwatch"), module("core.responses")
    responses.set_request_account_id("")
    responses.set_request_region(region)
    for name, dimensions, time_s, value in figures:
        points = cloudwatch._metric_bucket((namespace, name, cloudwatch._dims_key(dimensions)))
        # The points of a metric share their dimensions: there are many.
        shared = points[0]["Dimensions"] if points else dict(dimensions)
        points.append({"Timestamp": time_s, "Value": value, "Unit": unit, "Dimensions": shared})


def _count_every_invocation() -> None:
    """Measure functions whoever invokes them; ministack measures those that Invoke is called for, and no rule's.

    One that is throttled is no invocation. Source: Lambda developer guide, "Types of metrics for Lambda functions".
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
        # Told again, with a duration, where Invoke was called.
        if throttle and not duration_ms:
            record_one(name, "Throttles", 1)

    functions._execute_function_dispatch = measure
    functions._emit_lambda_metrics = throttled


def drop(namespace: str) -> None:
    """Forget all that was measured in a namespace, in every account and region."""
    stored = module("services.cloudwatch")._metrics._data
    for key in list(stored):
        if key[2][0] == namespace:
            del stored[key]


def measured(key: AlarmKey, alarm: AlarmSettings, since_s: float) -> list[Sample]:
    """What was measured of an alarm's metric since then."""
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


def forget(before_s: float) -> None:
    """Drop what was measured before, but for what an alarm may still look at, and old history."""
    cloudwatch = module("services.cloudwatch")
    ranges: dict[tuple[Any, ...], int] = {}
    for key, alarm in alarms():
        settings = AlarmSettings.of(alarm)
        if settings is not None:
            watched = (key.account, key.region, _metric_key(settings.metric))
            # A window ends up to a minute ago.
            ranges[watched] = max(ranges.get(watched, 0), settings.range_s + 60)
    now_s = time.time()
    for stored, points in list(cloudwatch._metrics._data.items()):
        since_s = min(before_s, now_s - ranges.get(stored, 0))
        # At the front only: functions' threads add at the end meanwhile.
        del points[: next((at for at, point in enumerate(points) if point["Timestamp"] >= since_s), len(points))]
        if not points:
            del cloudwatch._metrics._data[stored]
    for entries in cloudwatch._alarm_history._data.values():
        del entries[:-_HISTORY_KEPT]


# ------------------------------------------------------------------------------------------------- the alarms


def alarms() -> Iterator[tuple[AlarmKey, Mapping[str, Any]]]:
    """Every alarm on a metric, of each account and region."""
    for (account, region, name), alarm in list(module("services.cloudwatch")._alarms._data.items()):
        yield AlarmKey(account, region, name), alarm


def alarm_of(key: AlarmKey) -> Mapping[str, Any] | None:
    """The alarm as it is now; None if it is gone."""
    alarm: Mapping[str, Any] | None = module("services.cloudwatch")._alarms._data.get(tuple(key))
    return alarm


def set_state(key: AlarmKey, state: str, reason: str, *, now_s: float) -> None:
    """Change the state of an alarm that is there: with history, actions, and the composite alarms above it."""
    cloudwatch = module("services.cloudwatch")
    alarm = cloudwatch._alarms._data[tuple(key)]
    before, alarm["StateValue"], alarm["StateReason"] = alarm["StateValue"], state, reason
    alarm["StateUpdatedTimestamp"] = int(now_s)
    with module("core.responses").request_scope(key.account, key.region):
        cloudwatch._record_history(key.name, before, state, reason)
        cloudwatch._dispatch_alarm_actions(alarm, before, state, reason)
        cloudwatch._evaluate_parent_alarms(alarm)


# ------------------------------------------------------------------------------------------------ the requests


def _refuse_bad_requests() -> None:
    """Refuse what CloudWatch refuses, and too many at once.

    SDKs of today send JSON; what comes by the older query protocol is left as ministack takes it.
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


class _Resources(str):
    """The ARN of the first of several resources, all of which a call has to be allowed for."""

    others: tuple[str, ...] = ()


def _authorise_by_name() -> None:
    """Calls for alarms are allowed by alarm; ministack asks for those that name several on `*`, where no policy fits.

    Source: Service Authorization Reference, CloudWatch: DeleteAlarms and DescribeAlarms have the resource type alarm. A
    list that names none asks for all. PutMetricAlarm with tags needs cloudwatch:TagResource too (model, Tags).
    """
    actions, evaluator = module("core.iam_actions"), module("core.iam_evaluator")
    extract, enforce = actions.extract_resource_arn, evaluator.enforce
    # Whose tags are condition keys; ministack looks for CloudWatch's model under another name.
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


# -------------------------------------------------------------------------------------------------- the actions


def _tell_as_cloudwatch() -> None:
    """Have alarms tell topics in CloudWatch's words, and only those that CloudWatch may write to; with history."""
    cloudwatch = module("services.cloudwatch")
    composite = cloudwatch._dispatch_alarm_actions

    def dispatch(alarm: Mapping[str, Any], old_state: str, new_state: str, reason: str) -> None:
        if "AlarmRule" in alarm:
            composite(alarm, old_state, new_state, reason)
        elif alarm.get("ActionsEnabled", True):
            for action in alarm.get(_ACTIONS[new_state]) or []:
                trouble = _tell(alarm, action, old_state)
                _remember_action(alarm["AlarmName"], action, trouble)

    cloudwatch._dispatch_alarm_actions = dispatch


def _tell(alarm: Mapping[str, Any], action: str, old_state: str) -> str | None:
    """Do one action; what went wrong, if anything did."""
    responses, sns = module("core.responses"), module("services.sns")
    account, region = responses.get_account_id(), responses.get_region()
    if not module("services.cloudwatch")._is_sns_action_arn(action):
        return "Sandbox: alarms tell topics of their own account and region only."
    topic = sns._topic_by_arn_any_scope(action)
    if topic is None:
        return f"Topic does not exist: {action}"
    # Seen: a topic with a policy of its own has to let CloudWatch in; the default policy does.
    if not sns.topic_policy_allows(action, _CLOUDWATCH, alarm["AlarmArn"], account):
        return "CloudWatch Alarms is not authorized to perform: SNS:Publish"
    key = topic["attributes"].get("KmsMasterKeyId")
    if key and not _may_encrypt(key, alarm["AlarmArn"], account):
        return "CloudWatch Alarms does not have authorization to access the SNS topic encryption key."
    text = alarm_message.message(alarm, old_state=old_state, account=account, region=region, now_s=time.time())
    sns._fanout(action, responses.new_uuid(), text, alarm_message.subject(alarm, region=region))
    return None


def _may_encrypt(key: str, alarm_arn: str, account: str) -> bool:
    """Whether a topic's key lets CloudWatch use it.

    Source: AWS re:Post, "How do I configure a CloudWatch alarm to use an encrypted SNS topic": the managed key
    `alias/aws/sns` lets only people use it, and its policy can't be changed; a key of one's own has to allow the
    service kms:Decrypt and kms:GenerateDataKey*.
    """
    policy = module("services.kms").key_policy_for_arn(key)
    return policy is not None and all(
        _allows(policy[0], _CLOUDWATCH, action, key, source_arn=alarm_arn, account=account)
        for action in ("kms:Decrypt", "kms:GenerateDataKey")
    )


def _allows(policy: Any, service: str, action: str, resource: str, *, source_arn: str, account: str) -> bool:
    """Whether a resource's policy lets a service do something on behalf of something else."""
    evaluator = module("core.iam_evaluator")
    context = evaluator.EvalContext(
        principal_arn="*",
        principal_type="Service",
        principal_account="",
        action=action,
        resource_arn=resource,
        region=module("core.responses").get_region(),
        service_context={
            "aws:sourcearn": source_arn,
            "aws:sourceaccount": account,
            "aws:sourceowner": account,
        },
    )
    decision: str = evaluator.evaluate_resource_policy(policy, context, service=service).decision
    return decision == "Allow"


def _remember_action(name: str, action: str, trouble: str | None) -> None:
    """An entry of DescribeAlarmHistory. The summaries are seen."""
    cloudwatch = module("services.cloudwatch")
    done = f"Successfully executed action {action}"
    failed = f'Failed to execute action {action}. Received error: "{trouble}"'
    data = {"actionState": "Failed", "notificationResource": action, "error": trouble}
    if trouble is None:
        data = {"actionState": "Succeeded", "notificationResource": action}
    cloudwatch._history_entries().append(
        {
            "AlarmName": name,
            "AlarmType": "MetricAlarm",
            "Timestamp": cloudwatch._ts_iso(time.time()),
            "HistoryItemType": "Action",
            "HistorySummary": done if trouble is None else failed,
            "HistoryData": json.dumps(data),
        }
    )


def _encrypt_topics_of_stacks() -> None:
    """A topic's KmsMasterKeyId in a template, which ministack's CloudFormation leaves out."""
    handlers = module("services.cloudformation.provisioners")._RESOURCE_HANDLERS["AWS::SNS::Topic"]
    topics = module("services.sns")._topics
    create, update = handlers["create"], handlers["update"]

    def encrypted(found: tuple[str, Any], properties: Mapping[str, Any]) -> tuple[str, Any]:
        topics[found[0]]["attributes"]["KmsMasterKeyId"] = properties.get("KmsMasterKeyId") or ""
        return found

    def create_encrypted(logical_id: str, properties: Mapping[str, Any], stack: str) -> Any:
        return encrypted(create(logical_id, properties, stack), properties)

    def update_encrypted(
        physical_id: str, before: Mapping[str, Any], properties: Mapping[str, Any], stack: str, *rest: Any, **named: Any
    ) -> Any:
        return encrypted(update(physical_id, before, properties, stack, *rest, **named), properties)

    handlers["create"], handlers["update"] = create_encrypted, update_encrypted


def _keep_metric_math_of_stacks() -> None:
    """An alarm on metric math in a template, which ministack's CloudFormation refuses. It is never evaluated."""
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


def _invoke_as_sns() -> None:
    """A topic invokes a function only if the function's policy lets it, and as an asynchronous invocation.

    So two retries follow an error. Sources: Lambda developer guide, "Invoking Lambda functions with Amazon SNS
    notifications" and "Error handling for asynchronous invocation".
    """
    sns, functions, responses = module("services.sns"), module("services.lambda_svc"), module("core.responses")

    def deliver(endpoint: str, envelope: str, topic_arn: str, subscription_arn: str, *_rest: Any) -> None:
        function, config, _name = functions._get_func_record_for_ref(endpoint)
        policy = functions.function_policy_for_arn(endpoint)
        if not function or not config or policy is None:
            return
        action = "lambda:InvokeFunction"
        account = responses.get_account_id()
        if not _allows(policy[0], _SNS, action, endpoint, source_arn=topic_arn, account=account):
            _log.error("%s may not invoke %s: its policy does not allow %s", topic_arn, endpoint, _SNS)
            return
        record = {
            "EventVersion": "1.0",
            "EventSubscriptionArn": subscription_arn,
            "EventSource": "aws:sns",
            "Sns": json.loads(envelope),
        }
        execution = functions._execution_record_for_config(function, config)
        functions.invoke_async_with_retry(execution, {"Records": [record]})

    sns._deliver_to_lambda = deliver
