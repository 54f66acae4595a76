"""The story of the demo, driven by events instead of clocks: two instances, four jobs, one preemption."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import nothing

HISTORIES: Mapping[str, list[str]] = {
    "job1": ["pending", "running", "stopping", "preempted", "running", "completed"],
    "job2": ["pending", "running", "completed"],
    "job3": ["pending", "running", "completed"],
    "job4": ["pending", "running", "completed"],
}
"""The expected states of each job, regardless of faults."""


def play(
    queue: QueueView,
    *,
    after: Callable[[], object] = nothing,
    meanwhile: Callable[[], object] = nothing,
) -> None:
    """Play the story and check each of its states.

    Args:
        queue: an empty queue with two instances.
        after: called right after each step, while the queue still processes it.
        meanwhile: called repeatedly while the queue works.
    """

    def step(act: Callable[[], object]) -> None:
        act()
        after()

    for name, priority in (("job1", 1), ("job2", 2), ("job3", 1)):
        step(lambda name=name, priority=priority: queue.submit(name, priority))  # type: ignore[misc]
    queue.wait_for(job1="running", job2="running", job3="pending", meanwhile=meanwhile)
    queue.wait_until_training("job1", "job2", meanwhile=meanwhile)

    step(lambda: queue.submit("job4", 3))
    queue.wait_for(job1="preempted", job2="running", job3="pending", job4="running", meanwhile=meanwhile)
    assert queue.waiting() == ["job1", "job3"]
    queue.wait_until_training("job4", meanwhile=meanwhile)

    step(lambda: queue.finish("job2"))
    queue.wait_for(job1="running", job2="completed", job3="pending", job4="running", meanwhile=meanwhile)
    queue.wait_until_training("job1", meanwhile=meanwhile)

    step(lambda: queue.finish("job4"))
    queue.wait_for(job1="running", job3="running", job4="completed", meanwhile=meanwhile)
    queue.wait_until_training("job3", meanwhile=meanwhile)

    step(lambda: queue.finish("job1"))
    step(lambda: queue.finish("job3"))
    queue.wait_for(job1="completed", job2="completed", job3="completed", job4="completed", meanwhile=meanwhile)


def check_end(queue: QueueView) -> None:
    """Check the final state: the queue's records, and SageMaker's."""
    assert {name: queue.history(name) for name in HISTORIES} == HISTORIES
    assert {name: len(queue.attempts(name)) for name in HISTORIES} == {"job1": 2, "job2": 1, "job3": 1, "job4": 1}
    launched = sorted(job["TrainingJobName"] for job in queue.training_jobs())
    assert launched == sorted(attempt for name in HISTORIES for attempt in queue.attempts(name))
    assert queue.waiting() == []
    queue.check_records(size=2)
    assert [(pool.free, pool.allocated, pool.reserved) for pool in queue.api.capacity().pools] == [(2, 0, 0)]
