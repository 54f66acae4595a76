"""Reserved starts that were once reported and not kept."""

from __future__ import annotations

import pytest

from headway.model import Allocation, Snapshot, WaitingJob
from headway.policy import Policy, Team
from tests.core.builders import allocation, waiting_job
from tests.core.scheduling.promises.test_promises import reserved_starts_are_kept

CPU, GPU = "ml.c5.large", "ml.g5.xlarge"
NOW_MS = 10_000_000
MINUTE_MS = 60_000


def running(name: str, priority: int = 0, *, limit_ms: int | None = None, preemptions: int = 0, team: str = "",
            preemptible: bool = True, **demand: int) -> Allocation:  # fmt: skip
    return allocation(
        job=name, attempt=name, demand=_pools(demand), priority=priority, since_ms=NOW_MS, entry_time_ms=NOW_MS,
        limit_ms=limit_ms, preemptions=preemptions, team=team, preemptible=preemptible,
    )  # fmt: skip


def waiting(name: str, priority: int, *, entry_time_ms: int = NOW_MS, limit_ms: int | None = None, team: str = "",
            not_before_ms: int = 0, **demand: int) -> WaitingJob:  # fmt: skip
    return waiting_job(
        name=name, demand=_pools(demand), priority=priority, entry_time_ms=entry_time_ms, limit_ms=limit_ms, team=team,
        not_before_ms=not_before_ms,
    )  # fmt: skip


def _pools(demand: dict[str, int]) -> dict[str, int]:
    return {{"cpu": CPU, "gpu": GPU}[kind]: count for kind, count in demand.items()}


AT_THE_LIMIT = Snapshot(
    now_ms=NOW_MS,
    pools={CPU: 4, GPU: 2},
    allocations=(
        running("endless", preemptions=1, team="red", cpu=1),
        running("ends", 2, limit_ms=MINUTE_MS, team="red", cpu=1, gpu=1),
    ),
    waiting=(
        waiting("takes the limit's rest", 0, team="red", gpu=1),
        waiting("ahead", 2, team="red", cpu=3, gpu=1),
        waiting("lower", 0, team="red", cpu=1),
        waiting("behind", 2, team="red", cpu=1),
    ),
    policy=Policy(max_preemptions=1, teams={"red": Team(limit={GPU: 2})}),
)

WHEN_OTHERS_HAVE_STOPPED = Snapshot(
    now_ms=NOW_MS,
    pools={CPU: 4, GPU: 9},
    allocations=(
        running("a", cpu=1, gpu=1),
        running("ends", limit_ms=MINUTE_MS, preemptible=False, gpu=1),
        running("victim", cpu=1, gpu=2),
        running("b", gpu=1),
        running("c", cpu=1),
    ),
    waiting=(
        waiting("preemptor", 1, gpu=3),
        waiting("reserved", 1, gpu=3),
        waiting("lower", 0, cpu=1),
        waiting("short", 1, limit_ms=MINUTE_MS, cpu=1, gpu=1),
        waiting("starts", 1, entry_time_ms=NOW_MS - MINUTE_MS, cpu=1, gpu=3),
    ),
)

#: When "preemptor" may start, "small" has lost less work than "large", so it is the victim, and no GPU becomes free.
CHEAPER_THEN = Snapshot(
    now_ms=NOW_MS,
    pools={CPU: 3, GPU: 2},
    allocations=(
        running("large", cpu=1, gpu=1),
        running("small", cpu=1),
        running("ends", 1, limit_ms=MINUTE_MS, cpu=1),
    ),
    waiting=(waiting("preemptor", 1, not_before_ms=NOW_MS + 5_000, cpu=1), waiting("behind", 0, cpu=1, gpu=2)),
)

#: "ends" starts and reaches its limit before its minimum run time, so nothing counts on its preemption in between.
SHORTER_THAN_ITS_MINIMUM = Snapshot(
    now_ms=NOW_MS,
    pools={CPU: 2},
    waiting=(
        waiting("reserved", 1, not_before_ms=NOW_MS + 5_000, cpu=1),
        waiting("ends", 0, entry_time_ms=NOW_MS - MINUTE_MS, limit_ms=MINUTE_MS, cpu=1),
        waiting("behind", 0, limit_ms=MINUTE_MS, cpu=1),
    ),
    policy=Policy(min_run_time_ms=90_000),
)


@pytest.mark.parametrize("snapshot", [AT_THE_LIMIT, WHEN_OTHERS_HAVE_STOPPED, CHEAPER_THEN, SHORTER_THAN_ITS_MINIMUM])
def test_a_reported_start_is_kept(snapshot: Snapshot) -> None:
    reserved_starts_are_kept(snapshot)
