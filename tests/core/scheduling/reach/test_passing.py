"""Where jobs behind those that a decision saw could still start."""

from __future__ import annotations

from typing import Any

import pytest

from headway.policy import Policy
from headway.scheduling.reach.passing import passable_pools
from headway.scheduling.scheduler import schedule
from tests.core.builders import G5, P5, held, job, reserved, snapshot, warm

FIFO = Policy(backfill=False, preemption=False)


@pytest.mark.parametrize(
    ("parts", "pools"),
    [
        ((job("a"),), set()),
        ((job("wide", count=9),), {P5}),
        ((held("x"), job("wide", count=2)), {P5}),
        ((held("x"), held("y"), job("a")), set()),
        ((warm("w", count=2, key="other"), job("a")), {P5}),
        ((job("a"), job("wide", count=2)), {P5}),
        ((job("a"), job("b"), job("c")), set()),
        ((held("x"), reserved("owner"), job("owner", count=2)), set()),
        ((job("both", count=1, ml_g5_xlarge=9),), {P5, G5}),
        # What was reserved for a job that starts, or is released, counts no more.
        ((reserved("a"), job("a"), job("wide", count=2)), {P5}),
        ((reserved("gone", 2), job("wide", count=9)), {P5}),
        ((job("a", pool="removed"),), set()),
    ],
)
def test_jobs_further_back_may_fit_where_one_waits_although_instances_are_free(
    parts: tuple[Any, ...], pools: set[str]
) -> None:
    queue = snapshot(*parts, pools={P5: 2, G5: 1}, policy=FIFO)
    assert passable_pools(queue, schedule(queue)) == pools
