"""What a caller must be allowed to do for a SageMaker call, as on AWS.

Source: the Service Authorization Reference for SageMaker. CreateTrainingJob needs
`sagemaker:CreateTrainingJob` on the training job's ARN, `sagemaker:AddTags` if it carries tags, and
`iam:PassRole` on the role that it hands over, which a policy usually limits by `iam:PassedToService`. Tags that ride
in a request are told by `sagemaker:TaggingAction` from those that AddTags puts on what is there already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headway_sandbox import facts
from headway_sandbox.errors import AwsError

_JOB_OPERATIONS = frozenset(
    {"CreateTrainingJob", "DescribeTrainingJob", "StopTrainingJob", "DeleteTrainingJob", "UpdateTrainingJob"}
)


@dataclass(frozen=True, kw_only=True)
class Permission:
    action: str
    resource: str
    context: Mapping[str, Any] = field(default_factory=dict)
    """Condition keys of the request beyond the global ones."""


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
        return needed
    resource = str(request.get("ResourceArn", "*"))
    return [Permission(action=f"sagemaker:{operation}", resource=resource, context=tag_context)]


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
        raise facts.role_not_assumable(str(request.get("RoleArn", "")))
