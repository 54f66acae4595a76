"""In a paused pool nothing starts, and jobs that wait for it block no others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import InvariantViolation
from headway.forecasting.forecast import forecast
from headway.model import Pause, Snapshot
from headway.plan import Plan, Preempt, Start
from headway.reasons import Reason, ReasonCode
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from tests.core.builders import G5, NOW_MS, P5, held, job, reserved, snapshot
from tests.core.strategies import POOLS, snapshots

PAUSE = Pause(by="user/ada", since_ms=NOW_MS - 60_000, reason="the cooling is repaired")
WHY = Reason(code=ReasonCode.STARTED, message="a test")


def paused(known: Snapshot, *pools: str) -> Snapshot:
    return replace(known, pauses=dict.fromkeys(pools, PAUSE))


@given(snapshots(), st.sets(st.sampled_from(POOLS)))
def test_jobs_of_a_paused_pool_do_not_affect_other_decisions(known: Snapshot, pools: Collection[str]) -> None:
    plan = schedule(paused(known, *pools))
    check_plan(paused(known, *pools), plan)
    others = tuple(each for each in known.waiting if not each.demand.keys() & set(pools))
    assert plan.actions == schedule(replace(known, waiting=others)).actions
    told = {hold.job for hold in plan.waits if hold.reason.code is ReasonCode.PAUSED}
    assert told == {each.name for each in known.waiting} - {each.name for each in others}


def test_jobs_of_a_paused_pool_name_who_paused_it_and_how_to_resume() -> None:
    (first, second) = schedule(paused(snapshot(job("a"), job("b")), P5)).waits
    assert first.sentence == (
        f"{P5} is paused since 00:15 UTC by user/ada: the cooling is repaired; the place in the queue is kept, and it "
        f"starts in its turn after `headway resume {P5}`"
    )
    assert second.ahead == 1
    everything = replace(snapshot(job("a")), pauses={P5: replace(PAUSE, everything=True)})
    (hold,) = schedule(everything).waits
    assert hold.sentence.startswith("everything is paused since 00:15 UTC")
    assert hold.sentence.endswith("after `headway resume`")


def test_the_reservation_of_a_job_of_a_paused_pool_is_released() -> None:
    both = job("both", 9, ml_g5_xlarge=1)
    known = snapshot(reserved("both", pool=G5), both, job("g5", pool=G5), pools={P5: 1, G5: 1})
    actions = schedule(paused(known, P5)).actions
    assert [type(action).__name__ for action in actions] == ["Release", "Start"]
    assert actions[1].job == "g5"


def test_a_job_of_a_paused_pool_has_no_expected_start() -> None:
    known = snapshot(held("x", ends_in_s=60), job("a", limit_s=60), size=1)
    assert forecast(known).starts["a"] is not None
    assert forecast(paused(known, P5)).starts == {"a": None}


@pytest.mark.parametrize(
    "action",
    [
        Start(job="a", demand={P5: 1}, reason=WHY),
        Preempt(job="x", attempt="x", for_job="a", freed={P5: 1}, reason=WHY),
    ],
)
def test_a_plan_that_starts_or_preempts_for_a_paused_pool_is_not_carried_out(action: Start | Preempt) -> None:
    known = snapshot(held("x", 1), job("a", 5), size=2)
    check_plan(known, Plan(actions=(action,), waits=()))
    with pytest.raises(InvariantViolation, match="would start on what is paused"):
        check_plan(paused(known, P5), Plan(actions=(action,), waits=()))
