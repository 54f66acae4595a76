"""What the tests of verification share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headway_service.observability.logging import logger


@pytest.fixture(scope="module", autouse=True)
def _same_log() -> Iterator[None]:
    """Runs have the functions log less, in a process of their own; here others come after them."""
    before = logger.log_level
    yield
    logger.setLevel(before)
