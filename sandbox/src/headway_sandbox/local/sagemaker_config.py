"""The settings with which the SageMaker Python SDKs call nothing but the sandbox.

The SDKs build the endpoints of some calls themselves, whatever AWS_ENDPOINT_URL is. The name of the default bucket and
telemetry need the account from STS, and telemetry then reports to AWS (SDK 2.257, ``sagemaker.session``; SDK 3,
``sagemaker.core.telemetry``). SDK 3 also checks the role in IAM.
"""

from __future__ import annotations

from pathlib import Path

FILE = "sagemaker.yaml"
"""Name of the file in the state directory."""


def text(bucket: str) -> str:
    """Return the content of the file, in the format of the SDKs' configuration files.

    Args:
        bucket: The bucket for the data of training jobs.
    """
    modules = f"{{TelemetryOptOut: true, Session: {{DefaultS3Bucket: {bucket}}}}}"
    return f"SchemaVersion: '1.0'\nSageMaker: {{PythonSDK: {{Modules: {modules}}}}}\n"


def variables(path: Path) -> dict[str, str]:
    """Return the environment variables with which the SDKs use the file, in place of the user's own.

    Args:
        path: The file.
    """
    return {"SAGEMAKER_USER_CONFIG_OVERRIDE": str(path), "SAGEMAKER_VALIDATE_ROLE": "false"}
