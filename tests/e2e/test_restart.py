"""A sandbox that is stopped and started again continues where it was."""

from __future__ import annotations

import pytest

from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.queue_view import QueueView

pytestmark = pytest.mark.e2e


def test_who_waits_and_who_runs_is_still_there_after_a_stop_and_a_start(sb: Sandbox, queue: QueueView):
    for name, priority in (("low", 1), ("middle", 2), ("next", 1), ("last", 0)):
        queue.submit(name, priority)
    queue.wait_until_training("low", "middle")
    queue.submit("high", 3)
    queue.wait_for(low="preempted", middle="running", next="pending", last="pending", high="running")
    queue.wait_until_training("high")
    before = queue.cli("queue", "-o", "json").document
    endpoint, pid = sb.endpoint, sb.info.pid

    sb.restart()

    assert (sb.endpoint, sb.info.pid != pid) == (endpoint, True)
    assert queue.cli("queue", "-o", "json").document == before
    assert queue.line() == ["low", "next", "last"]
    queue.finish("middle")
    queue.wait_for(middle="completed", low="running")
    queue.finish("high")
    queue.wait_for(high="completed", next="running")
    queue.finish("low")
    queue.finish("next")
    queue.wait_for(low="completed", next="completed", last="running")
    queue.finish("last")
    queue.wait_for(last="completed")
    assert queue.history("low") == ["pending", "running", "stopping", "preempted", "running", "completed"]
    queue.check_books(size=2)
