"""Jobs of a spent budget that runs after others: on what nobody else can use, and until somebody can."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.budgets.budget import Budget, BudgetUse, Held, WhenSpent
from headway.budgets.periods import Every
from headway.forecasting.simulation import Delays, Simulation
from headway.model import STOP_MS, Allocation, Alternative, Pause, Snapshot, WaitingJob
from headway.payers import Payer
from headway.plan import Plan, Preempt, Start
from headway.policy import Policy, Team
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from tests.core.builders import G5, P5, changed, code_of, held, job, preemptions, reason_of, snapshot, starts
from tests.core.scheduling.builders import refused

FIRST = date(1970, 1, 1)
HOUR_S = 3600


def of(team: str = "a", when_spent: WhenSpent = WhenSpent.AFTER, name: str = "month") -> Budget:
    return Budget(name=name, amount=8, period=Every.MONTH, charges={P5: 1.0}, team=team, when_spent=when_spent)


def decide(*parts: Any, budgets: tuple[Budget, ...] = (), size: int = 2, **more: Any) -> Plan:
    """Decide with budgets that are spent."""
    budgets = budgets or (of(),)
    policy = replace(more.pop("policy", Policy()), budgets=budgets)
    policy = replace(policy, teams={"a": Team(), "b": Team(), **policy.teams})
    use = {each.name: BudgetUse(by_day={FIRST: 8.0}) for each in budgets}
    made = replace(snapshot(*parts, size=size, policy=policy, **more), budget_use=use)
    plan = schedule(made)
    check_plan(made, plan)
    assert schedule(made, explain=False).actions == plan.actions
    return plan


def beyond(name: str, team: str = "a", **more: Any) -> Allocation:
    return replace(held(name, 9, team=team, **more), opportunistic=True, beyond_budget=True)


def test_such_a_job_starts_on_what_is_left_and_says_on_what_terms() -> None:
    plan = decide(job("w", 9, team="a"), job("v", 0, team="b"))
    assert starts(plan) == ["v", "w"]
    first, second = (action for action in plan.actions if isinstance(action, Start))
    assert (first.opportunistic, first.beyond_budget) == (False, False)
    assert (second.opportunistic, second.beyond_budget) == (True, True)
    assert (
        second.reason.message == f"started on 1 {P5}; its budget is spent, so it is stopped when another job can start"
    )


def test_any_other_job_comes_first() -> None:
    plan = decide(job("w", 9, team="a"), job("v", 0, team="b"), size=1)
    assert starts(plan) == ["v"]
    assert code_of(plan, "w") == "BudgetSpent"
    assert reason_of(plan, "w") == (
        "the budget `month` is spent: 8.0 of 8.0; until 1970-02-01 00:00 UTC it runs on what no other job can use"
    )


@pytest.mark.parametrize(("limit_s", "expected"), [(HOUR_S // 2, ["w"]), (2 * HOUR_S, []), (None, [])])
def test_it_starts_in_front_of_a_job_that_waits_only_if_it_ends_in_time(
    limit_s: int | None, expected: list[str]
) -> None:
    parts = [held("x", 9, team="b", ends_in_s=HOUR_S), job("head", 5, team="b", count=2)]
    assert starts(decide(*parts, job("w", 9, team="a", limit_s=limit_s))) == expected


@pytest.mark.parametrize(
    ("waits", "policy"),
    [
        (job("v", 0, team="b"), Policy()),
        (job("v", 0, team=""), Policy()),
        (job("v", 0, team="b"), Policy(teams={"a": Team(guaranteed={P5: 1})})),
    ],
    ids=["of another team", "without a team", "although its team has a guarantee"],
)
def test_it_is_stopped_for_each_job_within_budgets_whatever_the_priorities(waits: WaitingJob, policy: Policy) -> None:
    plan = decide(beyond("r"), waits, size=1, policy=policy)
    assert preemptions(plan) == [("r", "v")]
    (stop,) = (action for action in plan.actions if isinstance(action, Preempt))
    assert "as the budget of this job was spent" in stop.reason.message


def test_it_is_not_stopped_for_another_job_of_the_budget() -> None:
    plan = decide(beyond("r"), job("w", 9, team="a"), size=1)
    assert (starts(plan), preemptions(plan)) == ([], [])


def test_it_stops_nobody_and_no_start_is_reserved_for_it() -> None:
    plan = decide(held("x", 0, team="b", ends_in_s=HOUR_S), job("w", 9, team="a", count=2), job("v", 0, team="b"))
    assert (starts(plan), preemptions(plan)) == (["v"], [])


@pytest.mark.parametrize(
    ("waits", "more"),
    [
        (job("w", team="a"), {"budgets": (of(), of(name="other", when_spent=WhenSpent.HOLD))}),
        (job("w", team="a"), {"budgets": (of(name="a-first", when_spent=WhenSpent.REFUSE), of())}),
        (changed(job("w", team="a"), preemptible=False), {}),
        (changed(job("w", team="a"), max_preemptions=1, preemptions=1), {}),
        (job("w", team="a", count=3), {}),
        (refused("w", team="a"), {}),
    ],
    ids=["another one holds", "another one refuses", "not preemptible", "capped", "too large", "not launched"],
)
def test_it_waits_if_anything_else_keeps_it_back(waits: WaitingJob, more: dict[str, Any]) -> None:
    assert starts(decide(waits, **more)) == []


def test_it_waits_while_its_pool_is_paused() -> None:
    made = snapshot(job("w", team="a"), policy=Policy(budgets=(of(),), teams={"a": Team()}))
    paused = replace(
        made,
        pauses={P5: Pause(by="ada", since_ms=0, reason="x")},
        budget_use={"month": BudgetUse(by_day={FIRST: 8.0})},
    )
    assert starts(schedule(paused)) == []


def test_on_an_alternative_that_takes_nothing_it_starts_as_any_other_job() -> None:
    waits = replace(job("w", team="a"), alternatives=(Alternative(demand={G5: 1}),))
    (start,) = (a for a in decide(waits, pools={P5: 1, G5: 1}).actions if isinstance(a, Start))
    assert (start.demand, start.opportunistic) == ({G5: 1}, False)
    (start,) = (a for a in decide(waits, pools={P5: 1, G5: 0}).actions if isinstance(a, Start))
    assert (start.demand, start.opportunistic) == ({P5: 1}, True)


@pytest.mark.parametrize("why", ["not launched", "paused", "unknown", "busy"])
def test_what_keeps_it_from_one_alternative_keeps_it_from_no_other(why: str) -> None:
    first = refused("w", team="a") if why == "not launched" else job("w", team="a")
    waits = replace(first, alternatives=(Alternative(demand={G5: 1}),))
    both = replace(of(), charges={P5: 1.0, G5: 1.0})
    busy = [held("x", 9, team="b")] if why == "busy" else []
    made = snapshot(*busy, waits, pools={G5: 1} if why == "unknown" else {P5: 1, G5: 1}, policy=Policy(budgets=(both,)))
    pauses = {P5: Pause(by="ada", since_ms=0, reason="x")} if why == "paused" else {}
    made = replace(made, pauses=pauses, budget_use={"month": BudgetUse(by_day={FIRST: 8.0})})
    plan = schedule(made)
    assert [(a.demand, a.beyond_budget) for a in plan.actions if isinstance(a, Start)] == [({G5: 1}, True)]


def test_what_it_holds_takes_nothing_from_that_budget_and_from_others_as_usual() -> None:
    both = [of(), of(name="other", when_spent=WhenSpent.HOLD)]
    runs = Held(payer=Payer(team="a", owner=""), demand={P5: 2}, begin_ms=0, end_ms=3_600_000, beyond_budget=True)
    used = [BudgetUse().and_held(each, [runs], 3_600_000).used(each, 3_600_000) for each in both]
    assert used == [0.0, 2.0]


@st.composite
def queues(draw: st.DrawFn) -> Snapshot:
    size = draw(st.integers(1, 5))
    jobs = [
        changed(
            job(
                f"j{number}",
                draw(st.integers(0, 2)),
                count=draw(st.integers(1, size)),
                team=draw(st.sampled_from(["a", "a", "b", ""])),
                limit_s=draw(st.sampled_from([600, HOUR_S, 5 * HOUR_S])),
                entered=number,
            ),
            checkpoints=draw(st.booleans()),
        )
        for number in range(draw(st.integers(1, 8)))
    ]
    policy = Policy(budgets=(of(),), teams={"a": Team(guaranteed=draw(st.sampled_from([{}, {P5: 1}])))})
    return replace(snapshot(*jobs, size=size, policy=policy), budget_use={"month": BudgetUse(by_day={FIRST: 8.0})})


@given(queues(), st.sampled_from([1.0, 0.4]))
def test_no_job_within_budgets_waits_for_one_beyond_longer_than_its_stop(queue: Snapshot, part: float) -> None:
    def run_ms(each: Allocation | WaitingJob) -> int:
        assert each.terms.limit_ms is not None
        return max(1, int(part * each.terms.limit_ms))

    def decided(seen: Snapshot) -> Plan:
        plan = schedule(seen)
        check_plan(seen, plan)
        without = replace(
            seen,
            allocations=tuple(each for each in seen.allocations if not each.beyond_budget),
            waiting=tuple(each for each in seen.waiting if each.terms.team != "a"),
        )
        served = {*starts(plan), *(waiting for _, waiting in preemptions(plan))}
        served |= {each.job for each in seen.reservations}
        served |= {each.freed_for for each in seen.allocations if each.freed_for}
        assert served >= {*starts(schedule(without))}
        for each in plan.actions:
            if isinstance(each, Start) and each.beyond_budget:
                assert each.job not in served - {*starts(plan)}
        return plan

    ended: set[str] = set()
    simulation = Simulation(queue, decided, run_ms, delays=Delays(stop_ms=STOP_MS), record=lambda e: ended.add(e.job))
    simulation.run()
    assert ended == {each.name for each in queue.waiting}
