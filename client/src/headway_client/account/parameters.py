"""The parameters of a deployment: what is given, what the stack has, and what the template accepts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from headway_client.account.finding import Finding
from headway_client.account.seen import Identity
from headway_client.errors import UsageError

Declared = Mapping[str, Mapping[str, Any]]
"""The section Parameters of a template."""


class _ParametersLoader(yaml.SafeLoader):
    """Reads a template without its functions, which its parameters do not use."""


_ParametersLoader.add_multi_constructor("!", lambda _loader, _tag, _node: None)


def read_declared(template: Path) -> Declared:
    """The parameters that a template declares.

    Raises:
        UsageError: it can't be read, or is no template.
    """
    try:
        declared: Declared = yaml.load(template.read_text(encoding="utf-8"), _ParametersLoader)["Parameters"]  # noqa: S506 - a SafeLoader
    except OSError as error:
        raise UsageError(f"{template} can't be read ({error.strerror}). Name the template that is deployed.") from error
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise UsageError(f"{template} is no template with parameters: {error}.") from error
    return declared


def values(given: Mapping[str, str], previous: Mapping[str, str], declared: Declared) -> dict[str, str]:
    """The values that the stack will have; not those of parameters that have none.

    Args:
        given: what the configuration gives.
        previous: what the stack has; empty for a new one.
        declared: what the template declares.
    """
    defaults = {name: str(each["Default"]) for name, each in declared.items() if "Default" in each}
    return {name: value for name, value in (defaults | dict(previous) | dict(given)).items() if name in declared}


def check_values(given: Mapping[str, str], wanted: Mapping[str, str], declared: Declared) -> Iterator[Finding]:
    """Find the parameters that CloudFormation would refuse.

    Args:
        given: what the configuration gives.
        wanted: the values that the stack will have.
        declared: what the template declares.
    """
    for name in sorted(given.keys() - declared.keys()):
        yield _problem(name, "the template has none of that name", "Remove it from parameter_overrides.")
    for name, parameter in declared.items():
        if name not in wanted:
            yield _problem(name, "it has no value", f"GUIDED=1 asks for it. {parameter['Description']}")
        elif name in given and not _accepts(parameter, given[name]):
            choice = ", ".join(str(each) for each in parameter.get("AllowedValues", ()))
            allowed = parameter.get("ConstraintDescription") or f"It must be one of {choice}."
            yield _problem(name, f'it can\'t be "{given[name]}"', allowed)


def check_arns(wanted: Mapping[str, str], identity: Identity) -> Iterator[Finding]:
    """Find what the parameters name in another account or region, and what they name by halves. Roles have no region.

    Callers may be of other accounts, if the resource policy of the API lets these in.

    Args:
        wanted: the values that the stack will have.
        identity: the account and the region that the queue is deployed to.
    """
    for name in ("TrainingRoleArns", "KmsKeyArn", "AlarmTopicArn", "WarningTopicArn"):
        for arn in listed(wanted, name):
            _, _, _, region, owner, *_ = arn.split(":")
            if name == "TrainingRoleArns" and owner != identity.account:
                yield _problem(name, f"{arn} is of account {owner}", f"Name roles of account {identity.account}.")
            if region and region != identity.region:
                yield _problem(name, f"{arn} is in {region}, and the queue in {identity.region}", "Name one there.")
    let_in = {identity.account, *listed(wanted, "TrustedAccounts")}
    owners = [arn.split(":")[4] for arn in listed(wanted, "CallerArns") if arn != "*"]
    for owner in dict.fromkeys(each for each in owners if each not in let_in):
        said = (
            f"it has callers of account {owner}, which is neither {identity.account} nor in TrustedAccounts, so nobody "
            "of it reaches the API"
        )
        yield _problem("CallerArns", said, f"Add {owner} to TrustedAccounts, or remove them.")
    if bool(listed(wanted, "FunctionSubnetIds")) != bool(listed(wanted, "FunctionSecurityGroupIds")):
        yield _problem(
            "FunctionSubnetIds", "FunctionSecurityGroupIds belongs to it, and one is missing", "Give both or neither."
        )


def listed(wanted: Mapping[str, str], name: str) -> list[str]:
    """Return the elements of a parameter with a list; none if it has no value.

    Args:
        wanted: the parameters of a stack.
        name: of the parameter.
    """
    return [each.strip() for each in wanted.get(name, "").split(",") if each.strip()]


def _problem(name: str, said: str, remedy: str) -> Finding:
    return Finding(check="parameters", result="problem", asked=f"the parameter {name}", said=said, remedy=remedy)


def _accepts(parameter: Mapping[str, Any], value: str) -> bool:
    """Whether CloudFormation accepts a value of a parameter (user guide, "Parameters section")."""
    if "AllowedValues" in parameter:
        return value in {str(each) for each in parameter["AllowedValues"]}
    if parameter["Type"] == "Number":
        return value.isdecimal() and parameter["MinValue"] <= int(value) <= parameter["MaxValue"]
    elements = value.split(",") if parameter["Type"] == "CommaDelimitedList" else [value]
    return all(re.fullmatch(parameter.get("AllowedPattern", ".*"), each.strip()) for each in elements)
