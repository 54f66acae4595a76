"""The IAM permissions that a SageMaker call requires, as on AWS.

Source: the Service Authorization Reference for SageMaker. CreateTrainingJob requires
`sagemaker:CreateTrainingJob` on the training job's ARN, `sagemaker:AddTags` if the request has tags, and
`iam:PassRole` on the passed role, which a policy usually limits by `iam:PassedToService`. `sagemaker:TaggingAction`
distinguishes tags of a create request from tags that AddTags adds to an existing resource.

The condition keys of the request are in `headway_sandbox.sagemaker.api.condition_keys`.

With a training plan it also requires `sagemaker:CreateTrainingJob` on the plan and on its reserved capacity. Source:
the managed policy AmazonSageMakerFullAccess, statement AllowUseOfTrainingPlanResources. Which tags such a check sees is
not documented: here it sees none, which is the harder case for a policy with conditions on tags.

With a key for its volumes it requires `kms:CreateGrant` on the key, unless the training job's role has that. Source:
SageMaker developer guide, "SageMaker API Permissions: Actions, Permissions, and Resources Reference".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.api import condition_keys

_JOB_OPERATIONS = frozenset(
    {"CreateTrainingJob", "DescribeTrainingJob", "StopTrainingJob", "DeleteTrainingJob", "UpdateTrainingJob"}
)


@dataclass(frozen=True, kw_only=True)
class Permission:
    """A permission that a call requires."""

    action: str
    resource: str
    context: Mapping[str, Any] = field(default_factory=dict)
    """Condition keys of the request, other than the global ones."""
    or_role: str = ""
    """ARN of a role. The call is also allowed if this role has the permission."""


def permissions(operation: str, request: Mapping[str, Any], *, arn_prefix: str) -> list[Permission]:
    """Return the permissions that a request requires.

    Args:
        request: Its members.
        arn_prefix: A training job's ARN without its name.
    """
    tags = {tag["Key"]: tag["Value"] for tag in _tags(request)}
    tag_context: dict[str, Any] = {f"aws:RequestTag/{key}": value for key, value in tags.items()}
    if tags:
        tag_context["aws:TagKeys"] = list(tags)
    if operation in _JOB_OPERATIONS:
        arn = f"{arn_prefix}{request.get('TrainingJobName', '')}"
        needed = [
            Permission(action=f"sagemaker:{operation}", resource=arn, context={**tag_context, **keys})
            for keys in condition_keys.of(request)
        ]
        if operation == "CreateTrainingJob":
            needed += _plan(request, arn_prefix=arn_prefix)
            if tags:
                tagging = {**tag_context, "sagemaker:TaggingAction": operation}
                needed.append(Permission(action="sagemaker:AddTags", resource=arn, context=tagging))
            needed.append(
                Permission(
                    action="iam:PassRole",
                    resource=str(request.get("RoleArn", "")),
                    context={"iam:PassedToService": "sagemaker.amazonaws.com"},
                )
            )
            needed += volume_key(request, arn_prefix=arn_prefix)
        return needed
    if operation == "DescribeTrainingPlan":
        # Guide, IAM permissions of training plans: on the plan's ARN, also for a request by name.
        name = str(request.get("TrainingPlanName", ""))
        plans = arn_prefix.replace(":training-job/", ":training-plan/")
        arn = name if name.startswith("arn:") else f"{plans}{name}"
        return [Permission(action=f"sagemaker:{operation}", resource=arn)]
    resource = str(request.get("ResourceArn", "*"))
    return [Permission(action=f"sagemaker:{operation}", resource=resource, context=tag_context)]


def _member(request: Mapping[str, Any], structure: str, name: str) -> str:
    found = request.get(structure)
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, str) else ""


def _plan(request: Mapping[str, Any], *, arn_prefix: str) -> list[Permission]:
    # Only SageMaker has the names of a plan's reserved capacities, so a policy can only allow all of them or none.
    prefix = f"{arn_prefix.removesuffix('training-job/')}reserved-capacity/"
    resources = [each for plan in _plan_arns(request) for each in (plan, f"{prefix}{plan.rpartition('/')[2]}")]
    return [Permission(action="sagemaker:CreateTrainingJob", resource=resource) for resource in resources]


def _plan_arns(request: Mapping[str, Any]) -> list[str]:
    """Return the plans of a request, which may be malformed."""
    config = request.get("ResourceConfig")
    preferences = config.get("InstancePreferences") if isinstance(config, dict) else None
    listed = [each for each in preferences if isinstance(each, dict)] if isinstance(preferences, list) else []
    named = [each.get("TrainingPlanArns") for each in listed]
    arns = [arn for each in named if isinstance(each, list) for arn in each]
    alone = _member(request, "ResourceConfig", "TrainingPlanArn")
    return [arn for arn in (alone, *arns) if isinstance(arn, str) and arn]


def volume_key(request: Mapping[str, Any], *, arn_prefix: str) -> list[Permission]:
    """Return the permission on the key for a training job's volumes, if it has one.

    Args:
        request: A CreateTrainingJob request.
        arn_prefix: A training job's ARN without its name.
    """
    key = _member(request, "ResourceConfig", "VolumeKmsKeyId")
    if not key:
        return []
    if not key.startswith("arn:"):
        _, partition, _, region, account, _ = arn_prefix.split(":", 5)
        key = f"arn:{partition}:kms:{region}:{account}:{key if key.startswith('alias/') else f'key/{key}'}"
    context = {"kms:GrantIsForAWSResource": "true"}
    role = str(request.get("RoleArn", ""))
    return [Permission(action="kms:CreateGrant", resource=key, context=context, or_role=role)]


def _tags(request: Mapping[str, Any]) -> list[Mapping[str, str]]:
    tags = request.get("Tags")
    listed = tags if isinstance(tags, list) else []
    return [tag for tag in listed if isinstance(tag, dict) and {"Key", "Value"} <= set(tag)]


def denied(permission: Permission, *, principal: str, explicit: bool) -> AwsError:
    """Return SageMaker's error for a call without permission.

    Args:
        permission: The missing permission.
        principal: ARN of the caller.
        explicit: Whether a policy denies it explicitly.
    """
    why = (
        "with an explicit deny in an identity-based policy"
        if explicit
        else f"because no identity-based policy allows the {permission.action} action"
    )
    return not_authorized(permission, principal=principal, why=why)


def not_authorized(permission: Permission, *, principal: str, why: str) -> AwsError:
    """Return SageMaker's error for a call without permission, with AWS's words for what denies it.

    Args:
        permission: The missing permission.
        principal: ARN of the caller.
        why: The end of the sentence.
    """
    return AwsError(
        "AccessDeniedException",
        f"User: {principal} is not authorized to perform: {permission.action} on resource: {permission.resource} {why}",
    )


def check_role(request: Mapping[str, Any], *, trusted: bool) -> None:
    """Refuse a role that SageMaker cannot assume.

    Args:
        request: A CreateTrainingJob request.
        trusted: Whether its role exists and trusts SageMaker.

    Raises:
        AwsError: ValidationException.
    """
    if not trusted:
        raise service_facts.role_not_assumable(str(request.get("RoleArn", "")))
