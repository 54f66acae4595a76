"""The story completes despite killed functions, and malformed or late events."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headway_sandbox.local.sandbox import Sandbox
from tests.e2e import story
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

SHORT_TIMEOUT_S = 15
"""The timeout of the scheduler, which begins nothing new in its last 10 s."""


@pytest.fixture
def short_lease(sb: Sandbox) -> Iterator[None]:
    """Let a launch be taken over from a crashed scheduler after 20 s instead of 35: its timeout plus 5 s.

    These waits are not accelerated.
    """
    functions = sb.client("lambda")
    (schedule,) = [
        each for each in functions.list_functions()["Functions"] if "ScheduleFunction" in each["FunctionName"]
    ]
    name = schedule["FunctionName"]
    functions.update_function_configuration(FunctionName=name, Timeout=SHORT_TIMEOUT_S)
    yield
    functions.update_function_configuration(FunctionName=name, Timeout=schedule["Timeout"])


def test_functions_killed_after_every_step_lose_no_job(sb: Sandbox, queue: QueueView, short_lease: None):
    killed: list[set[str]] = []

    def kill() -> None:
        killed.append({each["function"].split("-")[2] for each in sb.kill_functions()})
        # The scheduler's wake-ups are redelivered now, not after their visibility timeout.
        sb.release_messages("wake")

    story.play(queue, after=kill, meanwhile=lambda: sb.invoke("Reconcile"))
    story.check_end(queue)
    assert set().union(*killed) >= {"ApiFunction", "ScheduleFunction", "ObserveFunction"}, killed


def test_repeated_late_and_unordered_events_change_nothing(sb: Sandbox, queue: QueueView):
    sb.set_faults(event_duplicate=1.0, event_delay=0.7, event_delay_s=100, event_shuffle=1.0)
    story.play(queue)
    story.check_end(queue)


def test_an_attempt_whose_end_event_was_lost_is_found_by_reconcile(sb: Sandbox, queue: QueueView):
    for name in ("lost", "other", "next"):
        queue.submit(name)
    queue.wait_for(lost="running", other="running", next="pending")
    queue.wait_until_training("lost")
    sb.set_faults(event_drop=1.0)
    queue.finish("lost")
    (attempt,) = queue.training_jobs("lost")
    assert attempt["TrainingJobStatus"] == "Completed"
    # A second after the last event, the reconcile function describes the training jobs.
    queue.wait_for(lost="completed", next="running", meanwhile=lambda: sb.invoke("Reconcile"), timeout_s=15)


def test_a_scheduler_killed_after_each_call_to_sagemaker_repeats_and_wastes_no_call(
    sb: Sandbox, queue: QueueView, short_lease: None
):
    queue.submit("low1", 1)
    queue.submit("low2", 2)
    queue.wait_for(low1="running", low2="running")
    queue.wait_until_training("low1", "low2")

    sb.set_faults(kill_caller={"StopTrainingJob": 1, "CreateTrainingJob": 1})
    queue.submit("high", 3)
    for call in ("StopTrainingJob", "CreateTrainingJob"):
        eventually(lambda call=call: call not in sb.faults()["kill_caller"], f"{call} kills the scheduler")  # type: ignore[misc]
        sb.release_messages("wake")
    # The next invocation finds one stopped, and launches the other once the lease of the killed one has expired.
    queue.wait_for(low1="preempted", low2="running", high="running")
    eventually(
        lambda: queue.details("high").attempts[-1].state == "live",
        lambda: f"the launch of high is confirmed: {queue.summary()}",
        meanwhile=lambda: sb.invoke("Reconcile"),
    )

    queue.finish("high")
    queue.wait_for(high="completed", low1="running")
    assert [job["TrainingJobName"] for job in queue.training_jobs("high")] == [f"{queue.prefix}high"]
    assert queue.history("high") == ["pending", "running", "completed"]
    assert queue.history("low1") == ["pending", "running", "stopping", "preempted", "running"]
    queue.check_records(size=2)
