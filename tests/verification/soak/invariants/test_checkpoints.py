"""The check of checkpoints knows which times of them are possible."""

from __future__ import annotations

from typing import Any

import pytest

from headway_verification.soak.invariants.checkpoints import CheckpointInvariants
from headway_verification.soak.violations import Violated

NOW_MS = 1000


def seen(at_ms: int | None, since_ms: int | None = 100, began_ms: int = 50) -> dict[str, Any]:
    times = {"sinceMs": began_ms, "trainingSinceMs": since_ms, "checkpointSeenMs": at_ms}
    return {"a": {name: time for name, time in times.items() if time is not None}}


@pytest.mark.parametrize(
    "attempts",
    [
        [seen(None)],
        [seen(101)],
        [seen(NOW_MS)],
        [seen(200), seen(200)],
        [seen(200), seen(300)],
        [seen(200), seen(200, since_ms=None)],
        [seen(200), {}],
        [seen(200), {}, seen(None, began_ms=60)],
    ],
    ids=[
        "none",
        "the first",
        "just now",
        "none since",
        "a newer one",
        "while it stops",
        "of an attempt that has ended",
        "of another job's attempt with the same name",
    ],
)
def test_a_checkpoint_is_written_in_the_training_of_its_attempt(attempts: list[dict[str, Any]]) -> None:
    invariants = CheckpointInvariants()
    for each in attempts:
        invariants.check(each, NOW_MS)


@pytest.mark.parametrize(
    ("attempts", "said"),
    [
        ([seen(100)], "began at 100"),
        ([seen(50, since_ms=None)], "began at 50"),
        ([seen(NOW_MS + 1)], "and it is 1000"),
        ([seen(300), seen(200)], "takes the place of one at 300"),
        ([seen(300), seen(None)], "at 300 is forgotten"),
    ],
    ids=["from before its training", "from before it", "from the future", "an older one", "forgotten"],
)
def test_other_times_are_violations(attempts: list[dict[str, Any]], said: str) -> None:
    invariants = CheckpointInvariants()
    *before, last = attempts
    for each in before:
        invariants.check(each, NOW_MS)
    with pytest.raises(Violated, match=said):
        invariants.check(last, NOW_MS)


def test_a_restored_table_may_have_an_earlier_time() -> None:
    invariants = CheckpointInvariants()
    invariants.check(seen(300), NOW_MS)
    invariants.table_restored()
    invariants.check(seen(200), NOW_MS)
