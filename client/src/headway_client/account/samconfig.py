"""What sam's configuration says of a deployment: the stack, its region and profile, and its parameters."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway_client.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Target:
    """The stack that sam deploys, with its region and profile as far as its configuration sets them."""

    stack: str
    region: str | None = None
    profile: str | None = None


def read_target(config: Path, env: str) -> Target:
    """What sam deploys.

    Args:
        config: the samconfig that sam deploys with.
        env: the part of it.

    Raises:
        UsageError: it can't be read, or has no such part.
    """
    parts = _document(config).get(env, {})
    found = {**parts.get("global", {}).get("parameters", {}), **parts.get("deploy", {}).get("parameters", {})}
    if "stack_name" not in found:
        raise UsageError(f"{config} names no stack_name for {env}: is it dev or prod?")
    return Target(stack=found["stack_name"], region=found.get("region"), profile=found.get("profile"))


def read_overrides(config: Path, env: str) -> dict[str, str]:
    """The parameters that sam's configuration gives: a list that people write, or the text that sam saves.

    Args:
        config: the samconfig that sam deploys with.
        env: the part of it.

    Raises:
        UsageError: it can't be read.
    """
    parts = _document(config).get(env, {})
    given = parts.get("deploy", {}).get("parameters", {}).get("parameter_overrides", [])
    words = shlex.split(given) if isinstance(given, str) else [word for each in given for word in shlex.split(each)]
    pairs = [word.removeprefix("ParameterKey=").replace(",ParameterValue=", "=", 1) for word in words]
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _document(config: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(config.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{config} can't be read ({error.strerror}). Name sam's configuration.") from error
    except ValueError as error:
        raise UsageError(f"{config} is not valid TOML: {error}. Correct that file.") from error
