"""What the lines of the log have."""

from __future__ import annotations

import io
import json
import logging
from typing import Any, cast

import pytest

from headway_sandbox.inprocess.lambda_loader import Context
from headway_service.observability.logging import logger


@pytest.fixture
def line() -> dict[str, Any]:
    """A line that a handler has logged."""
    printed = io.StringIO()
    handler = cast("logging.StreamHandler[Any]", logger.registered_handler)
    before = handler.setStream(printed)
    try:
        log = logger.inject_lambda_context(lambda event, context: logger.info("done", extra={"job": "a"}))
        log({}, Context(get_remaining_time_in_millis=lambda: 1000))
    finally:
        handler.setStream(before or printed)
        logger.clear_state()
    return cast("dict[str, Any]", json.loads(printed.getvalue()))


def test_a_line_names_the_request_and_what_it_is_about(line: dict[str, Any]) -> None:
    assert {"level", "location", "message", "timestamp", "service", "cold_start", "function_request_id"} < line.keys()
    assert line["message"] == "done"
    assert line["job"] == "a"


def test_a_line_does_not_repeat_what_its_log_group_says(line: dict[str, Any]) -> None:
    assert not line.keys() & {"function_name", "function_arn", "function_memory_size"}
