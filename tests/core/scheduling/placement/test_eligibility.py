"""Why a job could not start even if all instances were free."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway import reasons
from headway.model import Calendar, Limit, Pause, SizeChange, WaitingJob
from headway.policy import DEFAULT_POLICY, Policy, Team
from headway.reasons import Reason
from headway.scheduling.placement import eligibility
from headway.scheduling.placement.ground import Ground
from headway.scheduling.placement.obstacles import Paused
from tests.core.builders import G5, NOW_MS, P5, held, job, snapshot

GROWS = Calendar(changes=(SizeChange(at_ms=NOW_MS + 60_000, size=3),))
OPENS = Calendar(
    changes=(SizeChange(at_ms=NOW_MS + 60_000, size=4), SizeChange(at_ms=NOW_MS + 360_000, size=2)), about="plan `p`"
)
UNKNOWN = Calendar(changes=(), about="plan `u`", known=False)
BOTH = job("j", count=3, ml_g5_xlarge=3)
LIMITED = Policy(teams={"red": Team(limit={P5: 1, "other": 1})})


def ground(policy: Policy = DEFAULT_POLICY, **calendars: Calendar) -> Ground:
    """Two pools of two instances, with calendars by their short names."""
    names = {"p5": P5, "g5": G5}
    queue = snapshot(held("x", 9, count=2), pools={P5: 2, G5: 2}, policy=policy)
    return Ground(replace(queue, calendars={names[name]: each for name, each in calendars.items()}))


@pytest.mark.parametrize(
    ("waits", "on", "reason"),
    [
        (job("j", count=2), ground(), None),
        (job("j", pool="gone", ml_g5_xlarge=9), ground(), reasons.unknown_pool("gone", (G5, P5))),
        (job("j", count=3), ground(), reasons.exceeds_pool(job("j", count=3), {P5: 2})),
        (job("j", count=3), ground(p5=GROWS), None),
        (job("j", count=4), ground(p5=GROWS), reasons.exceeds_pool(job("j", count=4), {P5: 3})),
        (job("j", count=5), ground(p5=OPENS), reasons.exceeds_pool(job("j", count=5), {P5: 4}, ("plan `p`",))),
        (job("j", count=3), ground(p5=UNKNOWN), reasons.waits_for_plan(job("j", count=3), ("plan `u`",))),
        (BOTH, ground(p5=UNKNOWN, g5=UNKNOWN), reasons.waits_for_plan(BOTH, ("plan `u`", "plan `u`"))),
        (BOTH, ground(p5=UNKNOWN), reasons.exceeds_pool(BOTH, {P5: 2, G5: 2}, ("plan `u`",))),
        (BOTH, ground(p5=UNKNOWN, g5=GROWS), reasons.waits_for_plan(BOTH, ("plan `u`",))),
        (job("j", count=4, limit_s=300), ground(p5=OPENS), None),
        (
            job("j", count=4, limit_s=301),
            ground(p5=OPENS),
            reasons.exceeds_windows(job("j", count=4, limit_s=301), 300_000, ("plan `p`",)),
        ),
        (job("j", team="red"), ground(LIMITED), None),
        (
            job("j", count=2, team="red", ml_g5_xlarge=2),
            ground(LIMITED),
            reasons.exceeds_limit(job("j", count=2, team="red", ml_g5_xlarge=2), Limit(pool=P5, size=1, team="red")),
        ),
        (job("j", count=2, team="blue"), ground(LIMITED), None),
    ],
)
def test_a_job_that_can_never_start_says_why(waits: WaitingJob, on: Ground, reason: Reason | None) -> None:
    found = eligibility.never_fits(waits, on)
    assert eligibility.obstacle(waits, on) is None if found is None else found.job == waits
    assert (None if found is None else found.why()) == reason


@pytest.mark.parametrize(
    ("paused", "waits", "pool"),
    [((P5,), job("j"), P5), ((P5, G5), BOTH, G5), ((G5,), job("j"), None)],
    ids=["its pool", "the first of its pools that is too small as well", "another pool"],
)
def test_a_job_waits_for_a_paused_pool_whatever_else_keeps_it(
    paused: tuple[str, ...], waits: WaitingJob, pool: str | None
) -> None:
    pauses: dict[str, Any] = {each: Pause(by="", reason="", since_ms=0) for each in paused}
    on = Ground(replace(snapshot(pools={P5: 2, G5: 2}), pauses=pauses))
    assert eligibility.obstacle(waits, on) == (None if pool is None else Paused(job=waits, pool=pool))
