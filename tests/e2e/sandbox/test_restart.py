"""A sandbox that is stopped and started again continues where it was."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from headway_client.errors import ClientError
from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e


def test_waiting_and_running_jobs_survive_a_restart(sb: Sandbox, queue: QueueView):
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
    assert queue.waiting() == ["low", "next", "last"]
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
    queue.check_records(size=2)


def test_what_was_accepted_survives_a_kill_at_any_moment(sb: Sandbox, queue: QueueView):
    queue.submit("running", 5)
    queue.wait_until_training("running")
    document = queue.api.get_config().settings
    queue.api.put_config({**document, "pools": {"ml.p5.48xlarge": {"size": 1}}}, force=True)
    accepted: set[str] = set()
    killed = threading.Event()

    def submit(user: int) -> None:
        for number in itertools.count():
            name = f"{user}-{number}"
            with suppress(ClientError):
                queue.api.submit(queue.request(name))
                accepted.add(name)
            if killed.is_set():
                return

    endpoint, speed = sb.endpoint, sb.info.speed
    with ThreadPoolExecutor(3) as users:
        submissions = [users.submit(submit, user) for user in range(3)]
        try:
            eventually(lambda: len(accepted) > 8, "jobs are accepted")
            sb.restart(kill=True)
        finally:
            killed.set()
    for submission in submissions:
        submission.result()

    assert (sb.endpoint, sb.info.speed) == (endpoint, speed)
    assert queue.api.get_config().settings["pools"] == {"ml.p5.48xlarge": {"size": 1}}
    assert accepted <= queue.jobs().keys()
    queue.wait_for(running="running")
    queue.finish("running")
    queue.wait_for(running="completed")
