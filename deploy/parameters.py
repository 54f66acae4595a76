"""The parameters of a deployment: what sam's configuration gives, and what the template accepts."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

Declared = Mapping[str, Mapping[str, Any]]
"""The section Parameters of a template."""


class _ParametersLoader(yaml.SafeLoader):
    """Reads a template without its functions, which its parameters do not use."""


_ParametersLoader.add_multi_constructor("!", lambda _loader, _tag, _node: None)


def read_overrides(config: Path, env: str) -> dict[str, str]:
    """The parameters that sam's configuration gives: a list that people write, or the text that sam saves.

    Args:
        config: the samconfig that sam deploys with.
        env: the part of it.
    """
    parts = tomllib.loads(config.read_text(encoding="utf-8")).get(env, {})
    given = parts.get("deploy", {}).get("parameters", {}).get("parameter_overrides", [])
    words = shlex.split(given) if isinstance(given, str) else [word for each in given for word in shlex.split(each)]
    pairs = [word.removeprefix("ParameterKey=").replace(",ParameterValue=", "=", 1) for word in words]
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def read_declared(template: Path) -> Declared:
    """The parameters that a template declares."""
    declared: Declared = yaml.load(template.read_text(encoding="utf-8"), _ParametersLoader)["Parameters"]  # noqa: S506 - a SafeLoader
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


def find_invalid(given: Mapping[str, str], wanted: Mapping[str, str], declared: Declared) -> Iterator[str]:
    """Yield a sentence for each parameter that CloudFormation would refuse.

    Args:
        given: what the configuration gives.
        wanted: the values that the stack will have.
        declared: what the template declares.
    """
    for name in sorted(given.keys() - declared.keys()):
        yield f"{name} is no parameter of the template: remove it from parameter_overrides."
    for name, parameter in declared.items():
        if name not in wanted:
            yield f"{name} has no value; GUIDED=1 asks for it. {parameter['Description']}"
        elif name in given and not _accepts(parameter, given[name]):
            choice = ", ".join(str(each) for each in parameter.get("AllowedValues", ()))
            allowed = parameter.get("ConstraintDescription") or f"It must be one of {choice}."
            yield f'{name} can\'t be "{given[name]}". {allowed}'


def _accepts(parameter: Mapping[str, Any], value: str) -> bool:
    """Whether CloudFormation accepts a value of a parameter (user guide, "Parameters section")."""
    if "AllowedValues" in parameter:
        return value in {str(each) for each in parameter["AllowedValues"]}
    if parameter["Type"] == "Number":
        return value.isdecimal() and parameter["MinValue"] <= int(value) <= parameter["MaxValue"]
    elements = value.split(",") if parameter["Type"] == "CommaDelimitedList" else [value]
    return all(re.fullmatch(parameter.get("AllowedPattern", ".*"), each.strip()) for each in elements)
