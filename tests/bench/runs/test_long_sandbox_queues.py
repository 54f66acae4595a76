"""Long queues in a sandbox: which rounds are timed."""

from __future__ import annotations

from bench.runs import long_sandbox_queues
from bench.runs.long_queues import OPERATIONS


def test_the_first_round_is_not_timed_and_what_follows_is_waited_for() -> None:
    done: list[str] = []
    times = long_sandbox_queues.times_of(done.append, lambda: done.append("come_to_rest"), 2)
    assert done == [step for _ in range(3) for operation in OPERATIONS for step in (operation, "come_to_rest")]
    assert times.keys() == set(OPERATIONS)
    assert all(each["from"] <= each["ms"] <= each["to"] for each in times.values())
