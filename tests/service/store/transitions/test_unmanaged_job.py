"""Transitions of unmanaged training jobs."""

from __future__ import annotations

from headway_service.store import transitions
from tests.service.store.builders import rogue


def test_a_stop_by_an_operator_is_tried_immediately() -> None:
    asked, _ = transitions.request_stop(rogue(stop_sent_ms=4, stop_problem="denied"), "user/ada")
    assert (asked.stop, asked.stop_asked_by, asked.stop_sent_ms, asked.stop_problem) == (True, "user/ada", None, "")
