"""Patches of ministack's alarm actions and SNS topics, as strict as AWS.

Alarms publish CloudWatch's own message, and only to topics that allow it. Topics invoke only functions that allow it.

Written for the ministack version in `patches.VERSION`.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from typing import Any

from headway_sandbox.cloudwatch import alarm_message
from headway_sandbox.cloudwatch.alarm_evaluation import ALARM, INSUFFICIENT_DATA, OK
from headway_sandbox.emulator.patches import module

_log = logging.getLogger("headway.sandbox")
_CLOUDWATCH, _SNS = "cloudwatch.amazonaws.com", "sns.amazonaws.com"
_ACTIONS = {OK: "OKActions", ALARM: "AlarmActions", INSUFFICIENT_DATA: "InsufficientDataActions"}


def prepare() -> None:
    """Apply the patches. Called once, after `patches.prepare`."""
    _publish_as_cloudwatch()
    _encrypt_topics_of_stacks()
    _invoke_as_sns()


def _publish_as_cloudwatch() -> None:
    """Publish CloudWatch's message to an alarm's topics, only where CloudWatch may publish, and record the history."""
    cloudwatch = module("services.cloudwatch")
    composite = cloudwatch._dispatch_alarm_actions

    def dispatch(alarm: Mapping[str, Any], old_state: str, new_state: str, reason: str) -> None:
        if "AlarmRule" in alarm:
            composite(alarm, old_state, new_state, reason)
        elif alarm.get("ActionsEnabled", True):
            for action in alarm.get(_ACTIONS[new_state]) or []:
                _record_action(alarm["AlarmName"], action, _publish(alarm, action, old_state))

    cloudwatch._dispatch_alarm_actions = dispatch


def _publish(alarm: Mapping[str, Any], action: str, old_state: str) -> str | None:
    """Execute one action and return its error, if any."""
    responses, sns = module("core.responses"), module("services.sns")
    account, region = responses.get_account_id(), responses.get_region()
    if not module("services.cloudwatch")._is_sns_action_arn(action):
        return "Sandbox: alarms publish to topics of their own account and region only."
    topic = sns._topic_by_arn_any_scope(action)
    if topic is None:
        return f"Topic does not exist: {action}"
    # Seen: a topic's own policy must allow CloudWatch; the default policy does.
    if not sns.topic_policy_allows(action, _CLOUDWATCH, alarm["AlarmArn"], account):
        return "CloudWatch Alarms is not authorized to perform: SNS:Publish"
    key = topic["attributes"].get("KmsMasterKeyId")
    if key and not _may_encrypt(key, alarm["AlarmArn"], account):
        return "CloudWatch Alarms does not have authorization to access the SNS topic encryption key."
    text = alarm_message.message(alarm, old_state=old_state, account=account, region=region, now_s=time.time())
    sns._fanout(action, responses.new_uuid(), text, alarm_message.subject(alarm, region=region))
    return None


def _may_encrypt(key: str, alarm_arn: str, account: str) -> bool:
    """Return whether a topic's key lets CloudWatch use it.

    Source: AWS re:Post, "How do I configure a CloudWatch alarm to use an encrypted SNS topic": the policy of the
    managed key `alias/aws/sns` does not allow services and cannot be changed; a customer key must allow the service
    kms:Decrypt and kms:GenerateDataKey*.
    """
    policy = module("services.kms").key_policy_for_arn(key)
    return policy is not None and all(
        _allows(policy[0], _CLOUDWATCH, action, key, source_arn=alarm_arn, account=account)
        for action in ("kms:Decrypt", "kms:GenerateDataKey")
    )


def _allows(policy: Any, service: str, action: str, resource: str, *, source_arn: str, account: str) -> bool:
    """Return whether a resource's policy allows a service an action on behalf of the resource `source_arn`."""
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


def _record_action(name: str, action: str, error: str | None) -> None:
    """Add an entry to DescribeAlarmHistory. The wording of the summaries is seen."""
    cloudwatch = module("services.cloudwatch")
    done = f"Successfully executed action {action}"
    failed = f'Failed to execute action {action}. Received error: "{error}"'
    data = {"actionState": "Failed", "notificationResource": action, "error": error}
    if error is None:
        data = {"actionState": "Succeeded", "notificationResource": action}
    cloudwatch._history_entries().append(
        {
            "AlarmName": name,
            "AlarmType": "MetricAlarm",
            "Timestamp": cloudwatch._ts_iso(time.time()),
            "HistoryItemType": "Action",
            "HistorySummary": done if error is None else failed,
            "HistoryData": json.dumps(data),
        }
    )


def _encrypt_topics_of_stacks() -> None:
    """Set a topic's KmsMasterKeyId from a template, which ministack's CloudFormation ignores."""
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


def _invoke_as_sns() -> None:
    """Invoke a topic's function only if the function's policy allows it, and asynchronously.

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
