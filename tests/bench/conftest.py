"""What the measurements' tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headway_service.observability.logging import logger


@pytest.fixture(autouse=True)
def _same_log() -> Iterator[None]:
    """Measurements have the functions log less, in a process of their own; here others come after them."""
    before = logger.log_level
    yield
    logger.setLevel(before)
