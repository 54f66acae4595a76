"""Sandboxes that run scripts, and a queue on one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.training_job import Durations
from tests.e2e.command_line import CommandLine
from tests.e2e.conftest import PARAMETERS
from tests.e2e.queue_view import QueueView
from tests.sandbox.training.jobs import training_settings

DURATIONS = Durations(provisioning_s=0.5, download_s=0.2, upload_s=0.2, release_s=0.2, restart_s=0.5)


@contextmanager
def training_sandbox() -> Iterator[Sandbox]:
    """Start a sandbox that runs scripts; the test is skipped where they cannot be isolated."""
    with Sandbox(durations=DURATIONS, training=training_settings(), parameters=PARAMETERS) as sandbox:
        yield sandbox


@contextmanager
def queue_on(sandbox: Sandbox, folder: Path, document: Mapping[str, Any]) -> Iterator[QueueView]:
    """Configure the queue of a sandbox for a user with this folder, and empty it at the end."""
    with closing(CommandLine(sandbox, folder)) as cli:
        view = QueueView(sandbox, cli, "")
        view.api.put_config(document, force=True)
        yield view
        view.empty()
