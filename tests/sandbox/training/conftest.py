"""Sandboxes that run scripts: one for each isolation that this machine allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.training_job import Durations
from headway_sandbox.training.container import isolation
from headway_sandbox.training.container.isolation import Isolation
from headway_sandbox.training.settings import TrainingSettings
from tests.sandbox.training.jobs import Jobs, training_settings

DURATIONS = Durations(provisioning_s=0.2, download_s=0.2, upload_s=0.2, release_s=0.1, restart_s=0.5)
DISK_BYTES, MEMORY_BYTES = 50 * 2**20, 512 * 2**20


def settings(**changes: Any) -> TrainingSettings:
    return replace(training_settings(), disk_bytes=DISK_BYTES, memory_bytes=MEMORY_BYTES, **changes)


@pytest.fixture(scope="module")
def sb() -> Iterator[Sandbox]:
    with Sandbox(deploy=False, durations=DURATIONS, training=settings()) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def jobs(sb: Sandbox) -> Jobs:
    return Jobs(sb)


@pytest.fixture(scope="module", params=list(Isolation))
def isolated(request: pytest.FixtureRequest) -> Iterator[Jobs]:
    """Jobs in each isolation."""
    reason = isolation.trial(request.param)
    if reason is not None:
        pytest.skip(f"This machine does not allow the isolation {request.param}: {reason}")
    with Sandbox(deploy=False, durations=DURATIONS, training=settings(isolation=request.param)) as sandbox:
        yield Jobs(sandbox)
