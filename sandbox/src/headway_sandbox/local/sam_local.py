"""The files with which `sam local invoke` runs a function of the template against a sandbox.

Without them sam gives a function the logical ids of the template as names of tables and queues. From `--env-vars` it
takes only variables that the template gives to the function; all others, such as the endpoint, it takes from
`--container-env-vars`, and only with `--debug-port` (sam 1.170, `samcli.local.lambdafn.env_vars` and
`samcli.local.docker.lambda_container`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headway_sandbox.local import aws_account
from headway_sandbox.local.sandbox_info import SandboxInfo

VARIABLES_FILE = "function-variables.json"
"""Name of the file for `--env-vars` in the state directory."""
CONTAINER_FILE = "container-variables.json"
"""Name of the file for `--container-env-vars` in the state directory."""


def write(info: SandboxInfo, folder: Path) -> None:
    """Write both files for the deployed functions.

    Args:
        info: The running sandbox.
        folder: Its state directory.
    """
    _write(folder / VARIABLES_FILE, function_variables(info))
    _write(folder / CONTAINER_FILE, container_variables(info))


def function_variables(info: SandboxInfo) -> dict[str, dict[str, str]]:
    """Return the variables of each deployed function, by the function's logical id."""
    functions = aws_account.client(info, "lambda")
    resources = aws_account.client(info, "cloudformation").describe_stack_resources(StackName=info.stack)
    deployed = {
        each["LogicalResourceId"]: each["PhysicalResourceId"]
        for each in resources["StackResources"]
        if each["ResourceType"] == "AWS::Lambda::Function"
    }
    return {
        logical_id: functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        for logical_id, name in sorted(deployed.items())
    }


def container_variables(info: SandboxInfo) -> dict[str, str]:
    """Return the variables by which SDKs call the sandbox; sam passes on the key with which it is called."""
    return {"AWS_ENDPOINT_URL": info.aws_endpoint, "AWS_REGION": info.region, "AWS_DEFAULT_REGION": info.region}


def _write(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
