"""Deploys an installed package by CloudFormation alone, where a checkout is deployed by sam (`deployment`).

It does what `sam build` and `sam deploy` do: it packs each local folder of the template, uploads the archives, and
creates or updates the stack. Nothing is installed for the functions: they find third-party packages in the
environment of the interpreter that runs them.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError, WaiterError

from headway_sandbox.errors import DeployFailed
from headway_sandbox.local import aws_account
from headway_sandbox.local.expand import LOCAL_PATHS, parse
from headway_sandbox.local.installed_package import InstalledPackage
from headway_sandbox.local.sandbox_info import SandboxInfo
from headway_sandbox.local.source_files import source_files

_POLL_S = 0.2
_TIMEOUT_S = 600
# CloudFormation user guide, "Acknowledging IAM resources": the second one is for the template's transform.
_CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]


def deploy(package: InstalledPackage, *, info: SandboxInfo, parameters: Mapping[str, str]) -> None:
    """Deploy a package's template and code.

    Args:
        info: The running sandbox.
        parameters: The template's parameters.

    Raises:
        DeployFailed: The stack could not be created or updated.
    """
    bucket = f"headway-deployment-{info.account}-{info.region}"
    aws_account.create_bucket(info, bucket)
    store = aws_account.client(info, "s3")

    def upload(content: bytes, suffix: str) -> str:
        key = sha256(content).hexdigest() + suffix
        store.put_object(Bucket=bucket, Key=key, Body=content)
        return f"{bucket}/{key}"

    template = with_uploaded_code(parse(package.template()), package, lambda content: upload(content, ".zip"))
    location = upload(json.dumps(template).encode(), ".template")
    request = {
        "StackName": info.stack,
        "TemplateURL": f"{info.aws_endpoint}/{location}",
        "Parameters": [{"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()],
        "Capabilities": _CAPABILITIES,
    }
    _create_or_update(aws_account.client(info, "cloudformation"), request)


def with_uploaded_code(
    template: dict[str, Any], package: InstalledPackage, upload: Callable[[bytes], str]
) -> dict[str, Any]:
    """Replace the template's local folders by their uploaded archives.

    Args:
        template: The template. It is changed.
        package: The package with the folders.
        upload: Uploads an archive and returns its bucket and key, separated by a slash.

    Returns:
        The template.
    """
    for resource in template["Resources"].values():
        if key := LOCAL_PATHS.get(resource["Type"]):
            resource["Properties"][key] = f"s3://{upload(_archive(package, resource['Properties'][key]))}"
    return template


def _archive(package: InstalledPackage, folder: str) -> bytes:
    """Return the archive of a folder that the template names: a package of a layer, or files of the bundle."""
    layer = package.packages.get(folder)
    if layer is None:
        return archive(package.bundle / folder, prefix="")
    # Lambda developer guide, "Packaging your layer content": Python packages are in the folder `python`.
    return archive(layer, prefix=f"python/{layer.name}/")


def archive(folder: Path, *, prefix: str) -> bytes:
    """Return a zip archive of a folder, which is the same bytes for the same files.

    Args:
        prefix: Put before the files' names in the archive.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, path in source_files(folder):
            # ZipInfo has a fixed time.
            packed.writestr(zipfile.ZipInfo(prefix + name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return content.getvalue()


def _create_or_update(formation: Any, request: Mapping[str, Any]) -> None:
    try:
        try:
            # A stack whose creation failed could not be updated, so it is deleted.
            stack = formation.create_stack(**request, OnFailure="DELETE")["StackId"]
            waiter = formation.get_waiter("stack_create_complete")
        except formation.exceptions.AlreadyExistsException:
            stack = formation.update_stack(**request)["StackId"]
            waiter = formation.get_waiter("stack_update_complete")
    except ClientError as error:
        if "No updates are to be performed" in str(error):
            return
        raise DeployFailed(f"CloudFormation refused the template: {error}") from error
    try:
        waiter.wait(StackName=stack, WaiterConfig={"Delay": _POLL_S, "MaxAttempts": int(_TIMEOUT_S / _POLL_S)})
    except WaiterError as error:
        reasons = "\n".join(_failures(formation, stack)) or str(error)
        raise DeployFailed(f"CloudFormation could not deploy the stack {request['StackName']}:\n{reasons}") from error


def _failures(formation: Any, stack: str) -> list[str]:
    """Return a line for each resource that could not be created or updated."""
    events = formation.describe_stack_events(StackName=stack)["StackEvents"]
    return [
        f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', 'no reason')}"
        for event in reversed(events)
        if event["ResourceStatus"].endswith("_FAILED")
    ]
