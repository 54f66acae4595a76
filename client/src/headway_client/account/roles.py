"""May the scheduler start training jobs, and may SageMaker run them with their roles?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from headway_client.account.finding import Finding, Unread
from headway_client.account.seen import Decision, Identity, Role

SAGEMAKER = "sagemaker.amazonaws.com"
"""The principal that runs training jobs (SageMaker developer guide, "How to use SageMaker AI execution roles")."""

_ASSUME = "sts:assumerole"
_ATTEMPT_TAG = "headway:attempt"
_UNDECIDED = "A condition is not decided here; a training job with this role shows it."


# -------------------------------------------------------------------------------------------------- training roles


@dataclass(frozen=True, kw_only=True)
class Trust:
    """Whether a role may be assumed by SageMaker.

    Attributes:
        granted: whether a statement allows it, and none denies it, if all conditions on it are met.
        conditions: the condition keys that this depends on.
    """

    granted: bool
    conditions: Sequence[str] = ()


def trust_of(policy: Mapping[str, Any]) -> Trust:
    """Return whether a trust policy lets SageMaker assume the role.

    Args:
        policy: AssumeRolePolicyDocument of the role.
    """
    statements = [each for each in _list(policy.get("Statement")) if _names_sagemaker(each) and _names_assume(each)]
    allowing = [_keys(each) for each in statements if each.get("Effect") == "Allow"]
    denying = [_keys(each) for each in statements if each.get("Effect") == "Deny"]
    if not allowing or not all(denying):
        return Trust(granted=False)
    # One statement without conditions is enough.
    conditions = {key for keys in denying for key in keys}
    if all(allowing):
        conditions |= {key for keys in allowing for key in keys}
    return Trust(granted=True, conditions=tuple(sorted(conditions)))


def _names_sagemaker(statement: Mapping[str, Any]) -> bool:
    principal = statement.get("Principal")
    if principal == "*":
        return True
    services = _list(principal.get("Service")) if isinstance(principal, Mapping) else []
    return SAGEMAKER in services


def _names_assume(statement: Mapping[str, Any]) -> bool:
    if "NotAction" in statement:
        return not any(fnmatchcase(_ASSUME, str(each).lower()) for each in _list(statement["NotAction"]))
    return any(fnmatchcase(_ASSUME, str(each).lower()) for each in _list(statement.get("Action")))


def _keys(statement: Mapping[str, Any]) -> list[str]:
    """Return the condition keys of a statement. Whether `*` stands for services, too, is not documented."""
    keys = sorted({key for each in (statement.get("Condition") or {}).values() for key in each})
    return (
        [*keys, 'the principal "*"'] if statement.get("Principal") == "*" and statement["Effect"] == "Allow" else keys
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def check_training_role(arn: str, role: Role | Unread | None) -> Finding:
    """Check a role that training jobs may run with.

    Args:
        arn: as the parameters name it.
        role: the one that IAM has under the last part of it; None for none.
    """
    asked = f"the training role {arn}"
    if isinstance(role, Unread):
        return role.note("role", asked)
    name = arn.rpartition("/")[2]
    if role is None:
        return _problem("role", asked, "it does not exist", f"Create the role {name}, or correct TrainingRoleArns.")
    if role.arn != arn:
        return _problem(
            "role",
            asked,
            f"the role {name} is {role.arn}, and no job could be started with another ARN",
            f"Set TrainingRoleArns to {role.arn}.",
        )
    trust = trust_of(role.trust)
    if not trust.granted:
        remedy = f'Allow sts:AssumeRole to the principal {{"Service": "{SAGEMAKER}"}} in its trust policy.'
        return _problem("role", asked, "its trust policy does not let SageMaker assume it", remedy)
    if trust.conditions:
        said = f"its trust policy lets SageMaker assume it under a condition on {', '.join(trust.conditions)}"
        return Finding(check="role", result="note", asked=asked, said=said, remedy=_UNDECIDED)
    return Finding(check="role", result="ok", asked=asked, said="it exists, and SageMaker may assume it")


# ------------------------------------------------------------------------------------------- the role of the scheduler


@dataclass(frozen=True, kw_only=True)
class Question:
    """A call that the scheduler has to be allowed.

    Attributes:
        context: the condition keys of the call that the template's statements look at.
    """

    action: str
    resources: Sequence[str]
    context: Mapping[str, str]


def questions(identity: Identity, *, table: str, training_roles: Sequence[str]) -> list[Question]:
    """Return what the scheduler does: starts and stops training jobs with the mark of the queue, with their roles.

    Args:
        identity: the account and the region of the queue.
        table: the name of the queue's table, with which marks begin.
        training_roles: ARNs of the roles of training jobs.
    """
    job = f"arn:{identity.partition}:sagemaker:{identity.region}:{identity.account}:training-job/headway-doctor"
    mark, region = f"{table}/headway-doctor", {"aws:RequestedRegion": identity.region}
    request = {f"aws:RequestTag/{_ATTEMPT_TAG}": mark, **region}
    return [
        Question(action="sagemaker:CreateTrainingJob", resources=[job], context=request),
        Question(
            action="sagemaker:AddTags",
            resources=[job],
            context={**request, "sagemaker:TaggingAction": "CreateTrainingJob"},
        ),
        Question(
            action="sagemaker:StopTrainingJob",
            resources=[job],
            context={f"aws:ResourceTag/{_ATTEMPT_TAG}": mark, **region},
        ),
        Question(action="iam:PassRole", resources=training_roles, context={"iam:PassedToService": SAGEMAKER, **region}),
    ]


def check_scheduler(role: Role, question: Question, decisions: Sequence[Decision] | Unread) -> Iterator[Finding]:
    """Check whether the scheduler's role may do something.

    Args:
        role: of the scheduler.
        decisions: of the simulation.
    """
    if isinstance(decisions, Unread):
        yield decisions.note("scheduler", f"{question.action} by {role.arn}")
        return
    decided = {each.resource: each for each in decisions}
    for resource in question.resources:
        shown = f" on {resource}" if question.action == "iam:PassRole" else ""
        asked = f"{question.action}{shown} by {role.arn}, simulated"
        if resource in decided:
            yield _check_decision(role, asked, decided[resource])
        else:
            yield Unread(action="iam:SimulatePrincipalPolicy", why="no decision on it").note("scheduler", asked)


def _check_decision(role: Role, asked: str, found: Decision) -> Finding:
    if found.missing:
        said = f"{found.decision}, without the values of {', '.join(found.missing)}, which policies look at"
        return Finding(check="scheduler", result="note", asked=asked, said=said, remedy="The first job shows it.")
    if found.by_organization is False:
        remedy = "Ask the administrators of the organization to allow it (service control policies)."
        return _problem("scheduler", asked, "the organization's policies do not allow it", remedy)
    if found.by_boundary is False or (found.decision != "allowed" and role.boundary):
        said = f"{found.decision}, with the permissions boundary {role.boundary}"
        return _problem("scheduler", asked, said, "Allow it in the boundary; the role itself has it from the template.")
    if found.decision != "allowed":
        remedy = (
            "Deploy again: the template allows it. If it stays so, look for a policy that was attached to the role, "
            "and for those of the organization."
        )
        return _problem("scheduler", asked, found.decision, remedy)
    return Finding(check="scheduler", result="ok", asked=asked, said="allowed")


def _problem(check: str, asked: str, said: str, remedy: str) -> Finding:
    return Finding(check=check, result="problem", asked=asked, said=said, remedy=remedy)
