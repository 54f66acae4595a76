"""Runs an example on a sandbox, with the environments that `make examples` sets up."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from botocore.credentials import Credentials

from headway_client.http.api import HeadwayApi
from headway_sandbox.local import training_options
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.training_job import Durations

ROOT = Path(__file__).parents[1]
CLIENT = os.pathsep.join(str(ROOT / folder) for folder in ("layers/core/src", "client/src"))
DURATIONS = Durations(provisioning_s=1.0, download_s=0.5, upload_s=0.5, release_s=0.5, restart_s=1.0)
STOP_GRACE_S = 2.0
"""From SIGTERM to SIGKILL, s: on SageMaker it is 120 s, which a script without a handler for SIGTERM uses up."""

POOLS: Mapping[str, int] = {
    "ml.m5.xlarge": 1,  # checkpoints
    "ml.c5.xlarge": 2,  # sweep
    "ml.g5.xlarge": 1,  # heterogeneous and ray_data: the trainer
    "ml.c5.2xlarge": 2,  # heterogeneous and ray_data: the data hosts
    "ml.g4dn.xlarge": 2,  # data_parallel
    "ml.m5.large": 1,  # sdk3
}
"""Instances of the queue by type, chosen so that the examples show what they are about."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """One example, in the folder of its name."""

    scripts: tuple[str, ...] = ("examples",)
    """The environments in `.envs` of its training scripts."""
    user: str | None = None
    """The environment in `.envs` of its `run.py`; None: this Python."""

    @property
    def environments(self) -> tuple[str, ...]:
        """All that it needs."""
        return self.scripts if self.user is None else (*self.scripts, self.user)

    def missing(self) -> str | None:
        """Return a sentence on an environment that it lacks; None if it has all."""
        for name in self.environments:
            if not python_of(name).exists():
                return f"its environment is not installed; run `make .envs/{name}/.made`"
        return None


EXAMPLES: Mapping[str, Example] = {
    "checkpoints": Example(),
    "data_parallel": Example(scripts=("torch",)),
    "heterogeneous": Example(),
    "ray_data": Example(scripts=("examples", "ray")),
    "sdk3": Example(user="sdk3"),
    "sweep": Example(),
}


def python_of(environment: str) -> Path:
    """Return the Python of an environment in `.envs`."""
    return ROOT / f".envs/{environment}/bin/python"


@contextmanager
def sandbox_with_scripts() -> Iterator[Sandbox]:
    """Start a sandbox that runs training scripts, each image with the environment that has its packages.

    Raises:
        SandboxError: It did not start, or this machine cannot isolate scripts; the message says what to change.
    """
    patterns = {"*/torch:*": "torch", "*/ray:*": "ray", "*": "examples"}
    images = [f"{pattern}={python_of(name)}" for pattern, name in patterns.items() if python_of(name).exists()]
    training = training_options.settings(images, stop_grace_s=STOP_GRACE_S)
    with Sandbox(durations=DURATIONS, training=training) as sandbox:
        credentials = Credentials(sandbox.info.access_key, sandbox.info.secret_key)
        api = HeadwayApi(sandbox.endpoint, region=sandbox.info.region, credentials=credentials)
        api.put_config({"pools": {kind: {"size": size} for kind, size in POOLS.items()}}, force=True)
        yield sandbox


def play(sandbox: Sandbox, name: str) -> int:
    """Run an example as its user and return its exit code.

    Args:
        sandbox: The sandbox of `sandbox_with_scripts`.
        name: The example.
    """
    example, info = EXAMPLES[name], sandbox.info
    command = [
        sys.executable if example.user is None else str(python_of(example.user)),
        *("-m", f"examples.{name}.run"),
        *("--role", info.role_arn, "--bucket", info.bucket),
    ]
    # The SDK asks only AWS itself for the account, the default bucket and the role. Its telemetry would report to AWS.
    settings = sandbox.state_dir / "sagemaker.yaml"
    modules = f"{{TelemetryOptOut: true, Session: {{DefaultS3Bucket: {info.bucket}}}}}"
    settings.write_text(f"SchemaVersion: '1.0'\nSageMaker: {{PythonSDK: {{Modules: {modules}}}}}\n")
    environment = {
        **info.environment(),
        "SAGEMAKER_USER_CONFIG_OVERRIDE": str(settings),
        "SAGEMAKER_ADMIN_CONFIG_OVERRIDE": str(settings),
        "SAGEMAKER_VALIDATE_ROLE": "false",
        "HEADWAY_ENDPOINT": sandbox.endpoint,
        "HEADWAY_REGION": info.region,
        "PYTHONPATH": CLIENT,
        "PYTHONUNBUFFERED": "1",
    }
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
