"""Limits of owners, and instances that are kept for some jobs (decision 120)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.bookings.booking import WEEK_MS, Booking
from headway.forecasting.simulation import Delays, Simulation
from headway.model import LATE_MS, STOP_MS, Allocation, Snapshot, WaitingJob
from headway.plan import Plan
from headway.policy import Policy, Team
from headway.reasons import ReasonCode
from headway.scheduling.invariants import check_plan
from headway.scheduling.limits import Limits
from headway.scheduling.scheduler import schedule
from tests.core.builders import G5, NOW_MS, P5, changed, held, job, preemptions, reason_of, snapshot, starts

HOUR_S = 3600
HOUR_MS = HOUR_S * 1000
TEAMS = {"a": Team(), "b": Team()}


def booking(
    count: int = 2,
    name: str = "night",
    *,
    in_s: int | None = None,
    for_s: int = HOUR_S,
    team: str | None = "a",
    pool: str = P5,
    **more: Any,
) -> Booking:
    """Instances that are kept always, or from a time on; ``in_s`` may be negative."""
    made = Booking(name=name, about=f"booking `{name}`", pool=pool, count=count, team=team, **more)
    if in_s is None:
        return made
    return replace(made, from_ms=NOW_MS + in_s * 1000, to_ms=NOW_MS + (in_s + for_s) * 1000)


def policy(*bookings: Booking, **more: Any) -> Policy:
    return Policy(bookings=bookings, teams=more.pop("teams", TEAMS), **more)


def decide(*parts: Any, **more: Any) -> Plan:
    made = snapshot(*parts, **more)
    plan = schedule(made)
    check_plan(made, plan)
    assert schedule(made, explain=False).actions == plan.actions
    return plan


def waits(plan: Plan) -> dict[str, tuple[ReasonCode, str]]:
    return {each.job: (each.reason.code, each.reason.message) for each in plan.waits}


class TestBookings:
    def test_others_get_what_is_left_beside_it_and_its_jobs_get_all(self) -> None:
        queue = [job("x", team="b", entered=1), job("y", team="b", entered=2), job("z", team="a", entered=3)]
        plan = decide(*queue, size=2, policy=policy(booking(1)))
        assert starts(plan) == ["x", "z"]
        code, said = waits(plan)["y"]
        assert code is ReasonCode.WAITS_FOR_LIMIT
        assert said.startswith(f"waits for 1 {P5} beside booking `night`, which leaves others 1 {P5}")

    def test_a_job_that_waits_for_it_blocks_no_job_that_it_is_for(self) -> None:
        queue = [job("big", 9, team="b", count=3, entered=1), job("mine", 0, team="a", entered=2)]
        plan = decide(*queue, size=4, policy=policy(booking(2, in_s=-60)))
        assert starts(plan) == ["mine"]
        assert waits(plan)["big"][0] is ReasonCode.WAITS_FOR_LIMIT

    @pytest.mark.parametrize(
        ("limit_s", "expected"),
        [(HOUR_S - LATE_MS // 1000, ["x"]), (HOUR_S - LATE_MS // 1000 + 1, []), (None, [])],
    )
    def test_before_it_begins_others_start_that_have_ended_a_minute_before(
        self, limit_s: int | None, expected: list[str]
    ) -> None:
        plan = decide(job("x", team="b", count=2, limit_s=limit_s), size=2, policy=policy(booking(1, in_s=HOUR_S)))
        assert starts(plan) == expected
        if not expected:
            code, said = waits(plan)["x"]
            assert code in {ReasonCode.WAITS_FOR_SIZE, ReasonCode.WAITS_FOR_LIMIT}
            assert "booking `night` leaves others only 1" in said

    def test_in_the_last_minute_before_it_begins_it_counts_as_open(self) -> None:
        plan = decide(job("x", team="b", count=2, limit_s=HOUR_S), size=2, policy=policy(booking(1, in_s=30)))
        assert starts(plan) == []

    def test_jobs_that_it_is_for_start_before_it_begins_too(self) -> None:
        assert starts(decide(job("x", team="a", count=2), size=2, policy=policy(booking(1, in_s=HOUR_S)))) == ["x"]

    def test_after_its_end_nothing_is_kept(self) -> None:
        plan = decide(job("x", team="b", count=2), size=2, policy=policy(booking(2, in_s=-2 * HOUR_S)))
        assert starts(plan) == ["x"]

    def test_a_job_longer_than_the_time_between_two_windows_fits_on_the_rest_only(self) -> None:
        weekly = policy(booking(1, in_s=HOUR_S, weekly=True))
        eight_days_s = 8 * 86_400
        plan = decide(
            job("x", team="b", limit_s=eight_days_s),
            job("y", team="b", count=2, limit_s=eight_days_s),
            size=2,
            policy=weekly,
        )
        assert starts(plan) == ["x"]
        assert waits(plan)["y"][0] is ReasonCode.EXCEEDS_POOL

    def test_what_runs_on_when_it_begins_is_not_stopped_and_nothing_else_starts(self) -> None:
        parts = [held("old", 0, count=2, team="b", ends_in_s=9 * HOUR_S), job("new", 9, team="b")]
        plan = decide(*parts, size=3, policy=policy(booking(2, in_s=-60)))
        assert (starts(plan), preemptions(plan)) == ([], [("old", "new")])
        plan = decide(held("old", 9, count=2, team="b", ends_in_s=9 * HOUR_S), job("new", team="b"), size=3,
                      policy=policy(booking(2, in_s=-60)))  # fmt: skip
        assert (starts(plan), preemptions(plan)) == ([], [])

    def test_a_job_of_higher_priority_stops_no_job_that_it_is_for_to_get_what_is_kept(self) -> None:
        parts = [held("mine", 0, count=2, team="a"), held("theirs", 0, count=2, team="b")]
        plan = decide(*parts, job("urgent", 9, team="b", count=2), size=4, policy=policy(booking(2)))
        assert preemptions(plan) == [("theirs", "urgent")]
        plan = decide(*parts, job("urgent", 9, team="b", count=3), size=4, policy=policy(booking(2)))
        assert preemptions(plan) == []
        assert waits(plan)["urgent"][0] is ReasonCode.EXCEEDS_LIMIT

    def test_training_jobs_outside_the_queue_count_as_others(self) -> None:
        outside = replace(held("o", team="#outside", count=1), outside="o", job="", attempt="")
        plan = decide(outside, job("x", team="b"), job("y", team="a"), size=3, policy=policy(booking(2)))
        assert starts(plan) == ["y"]

    def test_of_several_each_finds_its_own(self) -> None:
        both = policy(booking(2, "of-a"), booking(2, "of-b", team="b"), teams={**TEAMS, "c": Team()})
        free = [job(f"c{number}", 9, team="c", entered=number) for number in range(3)]
        plan = decide(*free, size=5, policy=both)
        assert starts(plan) == ["c0"]
        said = waits(plan)["c1"][1]
        assert "beside booking `of-a` with booking `of-b`, which leaves others 1" in said
        # Those of one of them leave only the other one what is its own.
        plan = decide(*(job(f"a{number}", 9, team="a", entered=number) for number in range(5)), size=5, policy=both)
        assert starts(plan) == ["a0", "a1", "a2"]

    @pytest.mark.parametrize(
        ("parts", "expected"),
        [
            ([], ["x", "y"]),
            ([held("m", team="a")], ["x"]),
            ([job("m", 9, team="a")], ["m", "x"]),
            ([job("m", 9, team="a", pool=G5)], ["x", "y"]),
        ],
        ids=["nobody", "one that runs", "one that waits", "one that waits for another pool"],
    )
    def test_what_nobody_uses_is_given_back_after_a_time(self, parts: list[Any], expected: list[str]) -> None:
        lapsed = policy(booking(2, in_s=-HOUR_S // 2, lapse_ms=HOUR_MS // 4))
        others = [job("x", team="b", entered=1), job("y", team="b", entered=2)]
        assert starts(decide(*parts, *others, pools={P5: 2, G5: 0}, policy=lapsed)) == expected
        not_yet = policy(booking(2, in_s=-HOUR_S // 2, lapse_ms=HOUR_MS))
        assert "x" not in starts(decide(*parts, *others, pools={P5: 2, G5: 0}, policy=not_yet))

    def test_what_its_jobs_wait_for_is_kept_also_after_that_time(self) -> None:
        lapsed = policy(booking(2, in_s=-HOUR_S // 2, lapse_ms=HOUR_MS // 4))
        others = [job(name, 9, team="b", entered=number) for number, name in enumerate("xyz")]
        mine = job("m", 0, team="a", count=2, limit_s=HOUR_S // 3)
        assert starts(decide(*others, mine, size=3, policy=lapsed)) == ["x", "m"]

    def test_one_of_its_jobs_that_outlasts_the_window_delays_nobody_who_starts_then(self) -> None:
        kept, ahead = policy(booking(1, in_s=-60)), job("y", 9, team="b", count=2)
        short, long = (job("m", 0, team="a", limit_s=limit_s) for limit_s in (HOUR_S // 2, 2 * HOUR_S))
        assert starts(decide(ahead, short, size=2, policy=kept)) == ["m"]
        plan = decide(ahead, long, size=2, policy=kept)
        assert starts(plan) == []
        assert reason_of(plan, "m").startswith("would delay `y`")
        assert starts(decide(job("m", 0, team="a", limit_s=2 * HOUR_S), size=2, policy=kept)) == ["m"]

    def test_what_was_given_back_stays_so_when_the_size_of_the_pool_changes(self) -> None:
        lapsed = policy(booking(2, in_s=-HOUR_S // 2, for_s=9 * HOUR_S, lapse_ms=0))
        plan = decide(job("x", team="b", count=3, limit_s=2 * HOUR_S), size=3, sizes={HOUR_S: 4}, policy=lapsed)
        assert starts(plan) == ["x"]

    def test_a_job_may_run_into_a_change_for_which_it_would_be_stopped(self) -> None:
        kept = policy(booking(1, in_s=9 * HOUR_S))
        parts = [job("x", team="b", count=3, limit_s=2 * HOUR_S)]
        assert starts(decide(*parts, size=4, sizes={HOUR_S: 2, 3 * HOUR_S: 4}, stops=True, policy=kept)) == ["x"]
        assert starts(decide(*parts, size=4, sizes={HOUR_S: 2, 3 * HOUR_S: 4}, policy=kept)) == []

    def test_what_a_week_gave_back_is_kept_again_in_the_next(self) -> None:
        lapsed = policy(booking(2, in_s=-HOUR_S // 2, weekly=True, lapse_ms=0))
        week_s = WEEK_MS // 1000
        short, long = (job("x", team="b", count=2, limit_s=week_s + extra_s) for extra_s in (-HOUR_S, HOUR_S))
        assert starts(decide(short, size=2, policy=lapsed)) == ["x"]
        assert starts(decide(long, size=2, policy=lapsed)) == []

    def test_jobs_with_a_tag_and_of_an_owner_find_theirs(self) -> None:
        tagged = changed(job("t", team="b"), budget_tags=("project=thesis",))
        owned = changed(job("o", team="b"), owner="ada")
        of_all = booking(2, team=None)
        for mine, kept_for in ((tagged, replace(of_all, tag="project=thesis")), (owned, replace(of_all, owner="ada"))):
            kept = policy(kept_for)
            assert starts(decide(mine, job("x", team="b"), size=2, policy=kept)) == [mine.name]

    def test_a_booking_of_a_pool_that_is_gone_limits_nobody(self) -> None:
        assert starts(decide(job("x", team="b"), size=1, policy=policy(booking(1, pool=G5)))) == ["x"]

    def test_where_a_schedule_changes_the_size_both_count(self) -> None:
        kept = policy(booking(2, in_s=2 * HOUR_S))
        for limit_s, expected in ((HOUR_S // 2, ["x"]), (HOUR_S + 60, []), (3 * HOUR_S, [])):
            plan = decide(
                job("x", team="b", count=3, limit_s=limit_s), size=4, sizes={HOUR_S: 2, 4 * HOUR_S: 9}, policy=kept
            )
            assert starts(plan) == expected


class TestOwnerLimits:
    def of(self, name: str, owner: str, priority: int = 0, **more: Any) -> WaitingJob:
        return changed(job(name, priority, **more), owner=owner)

    def test_an_owner_gets_no_more_and_blocks_nobody(self) -> None:
        queue = [self.of(name, "ada", 5, entered=number) for number, name in enumerate("xyz")]
        plan = decide(*queue, self.of("w", "bob"), size=4, policy=Policy(owner_limit={P5: 2}))
        assert starts(plan) == ["x", "y", "w"]
        code, said = waits(plan)["z"]
        assert code is ReasonCode.WAITS_FOR_LIMIT
        assert said.startswith(f"waits for 1 {P5} within the limit of its owner, who may use 2 {P5}")

    def test_in_a_team_the_limit_counts_by_team(self) -> None:
        limited = Policy(teams={"a": Team(owner_limit={P5: 1}), "b": Team()})
        queue = [self.of(name, "ada", team=team) for name, team in (("x", "a"), ("y", "a"), ("z", "b"))]
        plan = decide(*queue, size=4, policy=limited)
        assert starts(plan) == ["x", "z"]
        assert "within the limit of its owner in team `a`, who may use 1" in waits(plan)["y"][1]

    def test_a_job_may_stop_one_of_its_owner_for_it_and_none_of_others(self) -> None:
        mine, theirs = (changed(held(name, 0), owner=owner) for name, owner in (("m", "ada"), ("t", "bob")))
        plan = decide(mine, theirs, self.of("x", "ada", 5), size=3, policy=Policy(owner_limit={P5: 1}))
        assert preemptions(plan) == [("m", "x")]

    def test_one_that_is_larger_than_the_limit_says_so(self) -> None:
        plan = decide(self.of("x", "ada", count=3), size=4, policy=Policy(owner_limit={P5: 2}))
        code, said = waits(plan)["x"]
        assert code is ReasonCode.EXCEEDS_LIMIT
        assert f"demands 3 {P5} but its owner may use 2 {P5}; raise the limit" in said

    def test_jobs_whose_owner_is_not_known_share_no_limit(self) -> None:
        assert starts(decide(job("x"), job("y"), size=2, policy=Policy(owner_limit={P5: 1}))) == ["x", "y"]


def test_a_job_without_limits_takes_pools_only() -> None:
    made = snapshot(job("x"))
    assert not Limits(made)
    demand = {P5: 1}
    assert Limits(made).charged(demand, job("x").terms) is demand


@st.composite
def booked_queues(draw: st.DrawFn) -> Snapshot:
    """Equal jobs with limits of minutes to hours, of teams and owners, and one or two bookings that begin soon."""
    size = draw(st.integers(2, 6))
    bookings = [
        booking(
            draw(st.integers(1, size // 2)),
            f"b{number}",
            in_s=draw(st.sampled_from([600, 1800, HOUR_S, 3 * HOUR_S])),
            for_s=draw(st.sampled_from([600, HOUR_S, 5 * HOUR_S])),
            team="ab"[number],
            weekly=draw(st.booleans()),
        )
        for number in range(draw(st.integers(1, 2)))
    ]
    jobs = [
        changed(
            job(
                f"j{number}",
                draw(st.integers(0, 2)),
                count=draw(st.integers(1, size)),
                team=draw(st.sampled_from(["a", "b", "c", ""])),
                limit_s=draw(st.sampled_from([300, 900, HOUR_S, 2 * HOUR_S, 5 * HOUR_S])),
                entered=number,
            ),
            owner=draw(st.sampled_from(["ada", "bob"])),
            checkpoints=draw(st.booleans()),
        )
        for number in range(draw(st.integers(1, 8)))
    ]
    rules = policy(
        *bookings,
        teams={**TEAMS, "a": Team(limit=draw(st.sampled_from([{}, {P5: 2}])))},
        owner_limit=draw(st.sampled_from([{}, {P5: 2}, {P5: 1}])),
    )
    return snapshot(*jobs, size=size, policy=rules)


@given(booked_queues(), st.sampled_from([1.0, 0.5]))
def test_at_no_moment_does_anybody_hold_what_is_kept_for_others_or_more_than_allowed(
    queue: Snapshot, part: float
) -> None:
    def run_ms(each: Allocation | WaitingJob) -> int:
        assert each.terms.limit_ms is not None
        return max(1, int(part * each.terms.limit_ms))

    def decided(seen: Snapshot) -> Plan:
        plan = schedule(seen)
        check_plan(seen, plan)
        for each in queue.policy.bookings:
            others = sum(one.demand[P5] for one in seen.allocations if not each.covers(one.terms.payer))
            assert others <= seen.pools[P5] - each.count_at(seen.now_ms)
        neither = sum(
            one.demand[P5]
            for one in seen.allocations
            if not any(each.covers(one.terms.payer) for each in queue.policy.bookings)
        )
        assert neither <= seen.pools[P5] - sum(each.count_at(seen.now_ms) for each in queue.policy.bookings)
        for owner in ("ada", "bob"):
            mine = sum(one.demand[P5] for one in seen.allocations if one.terms.owner == owner)
            assert mine <= queue.policy.owner_limit.get(P5, mine)
        return plan

    Simulation(queue, decided, run_ms, delays=Delays(stop_ms=STOP_MS)).run()
