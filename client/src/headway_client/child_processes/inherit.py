"""Hand the settings of ``python -m headway_client`` on to child processes, through their environment.

Python runs a module ``sitecustomize`` on its path before the program (source: Python's library reference, ``site``).
`share` puts one on ``PYTHONPATH``, which calls `install_on_import`. This includes processes of ``subprocess`` and those
of ``multiprocessing`` with every start method. It ends at a Python that ignores its environment (``-E``, ``-I``) or
``site`` (``-S``), at an environment that the program replaces, and at other machines and containers.
"""

from __future__ import annotations

import json
import os
from collections.abc import MutableMapping
from dataclasses import asdict, dataclass
from pathlib import Path

from headway_client.child_processes.import_hook import call_after_import

VARIABLE = "HEADWAY_INSTALL"
"""The environment variable with the settings."""

STARTUP_FOLDER = Path(__file__).with_name("startup")
"""The folder with the module ``sitecustomize``, and nothing else."""


@dataclass(frozen=True, kw_only=True)
class InstallSettings:
    """The arguments of ``python -m headway_client``, as `headway_client.install` takes them.

    Attributes:
        endpoint: the queue's endpoint.
        profile: a profile of the profile file.
        region: the queue's region.
        priority: for requests without a priority tag.
        quiet: whether changes of jobs are not reported.
        folder: the folder from which a sandbox is searched upwards.
    """

    endpoint: str | None = None
    profile: str | None = None
    region: str | None = None
    priority: int | None = None
    quiet: bool = False
    folder: str | None = None

    def install(self) -> None:
        """Send the training job calls of this process to the queue; raises the errors of `headway_client.install`."""
        # Imported here, as they take longer than most child processes, which never call AWS.
        from headway_client.botocore_hooks.install import install_access
        from headway_client.botocore_hooks.queue_access import QueueAccess
        from headway_client.http.connect import configured_connection
        from headway_client.text import to_stderr

        connection = configured_connection(
            endpoint=self.endpoint,
            profile=self.profile,
            region=self.region,
            folder=Path(self.folder) if self.folder else None,
        )
        install_access(QueueAccess(connection), priority=self.priority, notify=None if self.quiet else to_stderr)


def share(settings: InstallSettings, environment: MutableMapping[str, str] = os.environ) -> None:
    """Hand settings on to the processes that are started from now on.

    Args:
        environment: the environment of those processes.
    """
    environment[VARIABLE] = json.dumps(asdict(settings))
    paths = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path != str(STARTUP_FOLDER)]
    environment["PYTHONPATH"] = os.pathsep.join([str(STARTUP_FOLDER), *filter(None, paths)])


def install_on_import() -> None:
    """Install the queue in this process, with the settings of its environment, as soon as it imports botocore."""
    settings = os.environ.get(VARIABLE)
    if settings is not None:
        call_after_import("botocore.session", InstallSettings(**json.loads(settings)).install)
