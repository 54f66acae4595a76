"""What a caller must be allowed to do for a SageMaker call, as on AWS.

Source: the Service Authorization Reference for SageMaker. CreateTrainingJob needs
`sagemaker:CreateTrainingJob` on the training job's ARN, `sagemaker:AddTags` if it carries tags, and
`iam:PassRole` on the role that it hands over, which a policy usually limits by `iam:PassedToService`. Tags that ride
in a request are told by `sagemaker:TaggingAction` from those that AddTags puts on what is there already.

With a training plan it needs `sagemaker:CreateTrainingJob` on the plan and on its reserved capacity, too: so has the
managed policy AmazonSageMakerFullAccess it, statement AllowUseOfTrainingPlanResources. Which tags such a check sees is
not documented: here it sees none, which is the harder case for a policy that asks for them.

With a key for its volumes it needs `kms:CreateGrant` on the key, unless the training job's role has that. Source:
SageMaker developer guide, "SageMaker API Permissions: Actions, Permissions, and Resources Reference".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker import service_facts

_JOB_OPERATIONS = frozenset(
    {"CreateTrainingJob", "DescribeTrainingJob", "StopTrainingJob", "DeleteTrainingJob", "UpdateTrainingJob"}
)


@dataclass(frozen=True, kw_only=True)
class Permission:
    action: str
    resource: str
    context: Mapping[str, Any] = field(default_factory=dict)
    """Condition keys of the request beyond the global ones."""
    or_role: str = ""
    """ARN of a role whose own permission is enough."""


def permissions(operation: str, request: Mapping[str, Any], *, arn_prefix: str) -> list[Permission]:
    """What a request needs; `arn_prefix` is that of a training job's ARN, up to its name."""
    tags = {tag["Key"]: tag["Value"] for tag in _tags(request)}
    tag_context: dict[str, Any] = {f"aws:RequestTag/{key}": value for key, value in tags.items()}
    if tags:
        tag_context["aws:TagKeys"] = list(tags)
    if operation in _JOB_OPERATIONS:
        arn = f"{arn_prefix}{request.get('TrainingJobName', '')}"
        needed = [Permission(action=f"sagemaker:{operation}", resource=arn, context=tag_context)]
        if operation == "CreateTrainingJob":
            needed = [
                Permission(action=f"sagemaker:{operation}", resource=arn, context={**tag_context, **_keys(request)}),
                *_plan(request, arn_prefix=arn_prefix),
            ]
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
            needed += _volume_key(request, arn_prefix=arn_prefix)
        return needed
    resource = str(request.get("ResourceArn", "*"))
    return [Permission(action=f"sagemaker:{operation}", resource=resource, context=tag_context)]


def _member(request: Mapping[str, Any], structure: str, name: str) -> str:
    found = request.get(structure)
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, str) else ""


def _keys(request: Mapping[str, Any]) -> dict[str, str]:
    """Condition keys of CreateTrainingJob for the keys that a request names."""
    named = {
        "sagemaker:VolumeKmsKey": _member(request, "ResourceConfig", "VolumeKmsKeyId"),
        "sagemaker:OutputKmsKey": _member(request, "OutputDataConfig", "KmsKeyId"),
    }
    return {key: value for key, value in named.items() if value}


def _plan(request: Mapping[str, Any], *, arn_prefix: str) -> list[Permission]:
    plan = _member(request, "ResourceConfig", "TrainingPlanArn")
    if not plan:
        return []
    # Which reserved capacities a plan has, only SageMaker knows; a policy can name them all, or none.
    capacity = f"{arn_prefix.removesuffix('training-job/')}reserved-capacity/{plan.rpartition('/')[2]}"
    return [Permission(action="sagemaker:CreateTrainingJob", resource=resource) for resource in (plan, capacity)]


def _volume_key(request: Mapping[str, Any], *, arn_prefix: str) -> list[Permission]:
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
    """SageMaker's words for a call that no policy allows, or one forbids."""
    why = (
        "with an explicit deny in an identity-based policy"
        if explicit
        else f"because no identity-based policy allows the {permission.action} action"
    )
    return AwsError(
        "AccessDeniedException",
        f"User: {principal} is not authorized to perform: {permission.action} on resource: {permission.resource} {why}",
    )


def check_role(request: Mapping[str, Any], *, trusted: bool) -> None:
    """Refuse a role that SageMaker can't assume.

    Raises:
        AwsError: ValidationException.
    """
    if not trusted:
        raise service_facts.role_not_assumable(str(request.get("RoleArn", "")))
