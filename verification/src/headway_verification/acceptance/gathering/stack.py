"""The queue's own stack, and a temporary one whose deletion shows what `Fn::If` in DeletionPolicy does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError as AwsClientError

from headway_verification.acceptance.errors import NotAsked
from headway_verification.acceptance.evidence import DeletedStack, Deployment
from headway_verification.acceptance.target import FUNCTIONS, Target
from headway_verification.acceptance.temporary import Temporary, stack_status
from headway_verification.acceptance.waiting import until

QUEUES = ("WakeQueueUrl", "WakeDeadLettersUrl", "EventDeadLettersUrl")
_STACK_S = 300.0
_SECOND_S = 1.0


def deployment(target: Target) -> Deployment:
    """Return what CloudFormation, Lambda, DynamoDB and SQS show of the queue."""
    formation, functions = target.client("cloudformation"), target.client("lambda")
    body = formation.get_template(StackName=target.stack, TemplateStage="Processed")["TemplateBody"]
    formats = {
        name: functions.get_function_configuration(FunctionName=target.function(name))["LoggingConfig"]["LogFormat"]
        for name in FUNCTIONS
    }
    return Deployment(
        status=formation.describe_stacks(StackName=target.stack)["Stacks"][0]["StackStatus"],
        parameters=target.parameters,
        template=json.loads(body if isinstance(body, str) else json.dumps(body)),
        log_formats=formats,
        keys=_keys(target),
    )


def _keys(target: Target) -> dict[str, str]:
    table = target.client("dynamodb").describe_table(TableName=target.outputs["TableName"])["Table"]
    keys = {"table": str(table.get("SSEDescription", {}).get("KMSMasterKeyArn", ""))}
    queues = target.client("sqs")
    for output in QUEUES:
        found = queues.get_queue_attributes(QueueUrl=target.outputs[output], AttributeNames=["KmsMasterKeyId"])
        keys[output.removesuffix("Url")] = str(found.get("Attributes", {}).get("KmsMasterKeyId", ""))
    return keys


def template(names: Mapping[str, str]) -> dict[str, Any]:
    """Return a template of two topics, one that a deletion keeps and one that it deletes.

    Args:
        names: of the topics: `kept` and `deleted`.
    """
    policies = {"kept": ["Keeps", "Retain", "Delete"], "deleted": ["Keeps", "Delete", "Retain"]}
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Parameters": {"Keep": {"Type": "String", "Default": "true"}},
        "Conditions": {"Keeps": {"Fn::Equals": [{"Ref": "Keep"}, "true"]}},
        "Resources": {
            key.title(): {
                "Type": "AWS::SNS::Topic",
                "DeletionPolicy": {"Fn::If": policies[key]},
                "Properties": {"TopicName": name},
            }
            for key, name in names.items()
        },
    }


def deleted_stack(target: Target, temporary: Temporary) -> DeletedStack:
    """Create a stack and delete it; return which of its topics are there.

    Raises:
        NotAsked: the stack was not created or deleted in time.
    """
    formation, topics = target.client("cloudformation"), target.client("sns")
    name, names = temporary.name("stack"), {key: temporary.name(key) for key in ("kept", "deleted")}
    formation.create_stack(StackName=name, TemplateBody=json.dumps(template(names)), Tags=temporary.tags)
    status = until(lambda: _at_rest(stack_status(formation, name)), timeout_s=_STACK_S, every_s=_SECOND_S)
    if status != "CREATE_COMPLETE":
        raise NotAsked(f"The temporary stack {name} is {status or 'still being created'}.")
    resources = formation.describe_stack_resources(StackName=name)["StackResources"]
    arns = {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in resources}
    formation.delete_stack(StackName=name)
    if not until(lambda: not stack_status(formation, name), timeout_s=_STACK_S, every_s=_SECOND_S):
        raise NotAsked(f"The temporary stack {name} was not deleted within {_STACK_S:g} s.")
    return DeletedStack(kept=_exists(topics, arns["Kept"]), deleted=not _exists(topics, arns["Deleted"]))


def _at_rest(status: str) -> str:
    return "" if status.endswith("_IN_PROGRESS") else status


def _exists(topics: Any, arn: str) -> bool:
    try:
        topics.get_topic_attributes(TopicArn=arn)
    except AwsClientError as error:
        if error.response["Error"]["Code"] not in {"NotFound", "NotFoundException"}:
            raise
        return False
    return True
