"""What is known of a running sandbox: where it is, and how to reach it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from headway_sandbox.administrator import Administrator
from headway_sandbox.local import deployment, sagemaker_config


@dataclass(frozen=True, kw_only=True)
class SandboxInfo:
    """A running sandbox, saved in `sandbox.json`, but for its administrator's key, which is in a file of its own."""

    endpoint: str
    """URL of the queue's API with its stage; empty if nothing is deployed."""
    aws_endpoint: str
    """Value of AWS_ENDPOINT_URL, for all services."""
    port: int
    pid: int
    region: str
    account: str
    access_key: str
    secret_key: str = field(repr=False)
    role_arn: str
    """Role for training jobs."""
    bucket: str
    """Bucket for their data."""
    speed: float
    stack: str
    trains: bool = False
    """Whether scripts of training jobs run."""
    sagemaker_config: str = ""
    """Path of the settings of the SageMaker SDKs (`headway_sandbox.local.sagemaker_config`); a sandbox that an earlier
    version started has none."""
    function_variables: str = ""
    """Path of the functions' variables for `sam local invoke` (`headway_sandbox.local.sam_local`); empty if nothing is
    deployed."""
    container_variables: str = ""
    """Path of the variables of its containers, likewise."""

    @property
    def administrator(self) -> Administrator:
        """The key of the account's root and of the sandbox's controls."""
        return Administrator(access_key=self.access_key, secret_key=self.secret_key)

    def exports(self) -> dict[str, str]:
        """Return the environment variables that direct Headway's client and the AWS SDKs to the sandbox."""
        return {
            "HEADWAY_ENDPOINT": self.endpoint,
            "HEADWAY_REGION": self.region,
            "AWS_ENDPOINT_URL": self.aws_endpoint,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            **(sagemaker_config.variables(Path(self.sagemaker_config)) if self.sagemaker_config else {}),
        }

    def environment(self) -> dict[str, str]:
        """Return this process's environment variables with only the sandbox's AWS settings, for SDKs and tools."""
        credentials = (self.access_key, self.secret_key)
        return deployment.environment(region=self.region, endpoint=self.aws_endpoint, credentials=credentials)
