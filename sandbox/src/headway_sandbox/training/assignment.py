"""What a supervisor runs: the server writes it to its standard input."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headway_sandbox.training.container.isolation import Isolation
from headway_sandbox.training.platform import simulated_gpu
from headway_sandbox.training.selection import command_of
from headway_sandbox.training.settings import Interpreter

HOST = "127.0.0.1"
USER = "root"
"""The name of the user that a script finds, as in SageMaker's containers.

With another name `@remote` of the SageMaker SDKs calls sudo for `/opt/ml` (SDK 2.257,
``bootstrap_runtime_environment``), which is the script's own here, too.
"""


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """One run of one training job."""

    arn: str
    request: Mapping[str, Any]
    resources: Mapping[str, Any]
    """Its ResourceConfig, with the selected one of its InstancePreferences."""
    folder: str
    """For its files; it does not exist yet."""
    interpreter: Interpreter
    isolation: Isolation
    stop_grace_s: float
    disk_bytes: int
    memory_bytes: int | None
    port: int
    """Port of the AWS endpoint on this machine, and in the container."""
    relay: str
    """The server's socket for what comes from the container."""
    region: str
    credentials: tuple[str, str, str]
    """Access key, secret key and session token of the job's role."""

    @property
    def endpoint(self) -> str:
        """URL of the AWS endpoint, on this machine and in the container."""
        return f"http://{HOST}:{self.port}"

    @property
    def command(self) -> list[str]:
        """The command of the container."""
        return command_of(self.request)

    def environment(self) -> dict[str, str]:
        """Return the environment of the command: nothing of this process's own."""
        access_key, secret_key, token = self.credentials
        return {
            "PATH": os.pathsep.join([self.interpreter.folder, "/usr/local/bin", "/usr/bin", "/bin"]),
            "HOME": "/tmp",  # noqa: S108  the container's own
            # `getpass` and others look the name up. A user of the job's own has none in /etc/passwd.
            "USER": USER,
            "LOGNAME": USER,
            "LANG": "C.UTF-8",
            # As the images of AWS's Deep Learning Containers set it: each line is logged when it is printed.
            "PYTHONUNBUFFERED": "1",
            **(self.request.get("Environment") or {}),
            "TRAINING_JOB_NAME": str(self.request["TrainingJobName"]),
            "TRAINING_JOB_ARN": self.arn,
            simulated_gpu.VARIABLE: str(simulated_gpu.PATH),
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": access_key,
            "AWS_SECRET_ACCESS_KEY": secret_key,
            "AWS_SESSION_TOKEN": token,
        }

    def to_line(self) -> bytes:
        """Return it as a line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Assignment:
        """Load what `to_line` returned."""
        document = json.loads(line)
        interpreter = Interpreter(
            folder=document["interpreter"]["folder"], programs=tuple(document["interpreter"]["programs"])
        )
        access_key, secret_key, token = document["credentials"]
        return cls(
            **{
                **document,
                "interpreter": interpreter,
                "isolation": Isolation(document["isolation"]),
                "credentials": (access_key, secret_key, token),
            }
        )

    @property
    def path(self) -> Path:
        """Folder for its files."""
        return Path(self.folder)
