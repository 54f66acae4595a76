"""How many instances of a pool jobs could get."""

from __future__ import annotations

from typing import Any

import pytest

from headway.policy import Policy, Team
from headway.scheduling.reach.attainable import Attainable
from tests.core.builders import G5, P5, held, snapshot

GUARANTEED = Policy(teams={"a": Team(guaranteed={P5: 2}, max_priority=5)})


@pytest.mark.parametrize(
    ("parts", "more", "priority", "count"),
    [
        ((), {}, 0, 4),
        ((held("x", 3),), {}, 3, 3),
        ((held("x", 3),), {}, 4, 4),
        ((held("x", 3, stopping=True),), {}, 0, 4),
        ((held("x", 3, pool=G5),), {}, 0, 4),
        # By priority only: it may be preemptible at another moment.
        ((held("x", 3, preemptible=False),), {}, 4, 4),
        ((held("x", 3),), {"policy": Policy(preemption=False)}, 9, 3),
        ((held("x", 3, count=4),), {"policy": GUARANTEED}, 0, 2),
        ((held("x", 3, count=1),), {"policy": GUARANTEED}, 0, 4),
        ((held("x", 5, count=4),), {"policy": GUARANTEED}, 9, 2),
    ],
)
def test_a_job_could_get_all_but_what_it_cannot_preempt(
    parts: tuple[Any, ...], more: dict[str, Any], priority: int, count: int
) -> None:
    assert Attainable(P5, snapshot(*parts, pools={P5: 4, G5: 4}, **more)).of(priority, "a") == count
