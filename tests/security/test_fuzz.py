"""Every response of the API conforms to its document, for any request: a short run of ``make fuzz``."""

from __future__ import annotations

import secrets

import pytest

from headway_sandbox.local.sandbox import Sandbox
from tests.security.fuzzing import fuzz

pytestmark = pytest.mark.e2e

SECONDS = 25


@pytest.mark.usefixtures("queue")
def test_no_call_is_answered_with_a_server_error_or_otherwise_than_documented(sb: Sandbox):
    seed = secrets.randbelow(2**32)
    run = fuzz(sb, seconds=SECONDS, seed=seed)
    assert run.returncode == 0, f"make fuzz SEED={seed} plays it again\n{run.stdout[-6000:]}\n{run.stderr[-2000:]}"
    assert "Tested:" in run.stdout
