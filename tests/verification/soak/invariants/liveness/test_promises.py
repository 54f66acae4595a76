"""Each promise of liveness and of truth is broken by what breaks it, and by nothing less."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from headway.model import Alternative, Reservation, Snapshot, WaitingJob
from headway.plan import Plan, Start, Wait
from headway.reasons import Reason, ReasonCode
from headway.scheduling.scheduler import schedule
from headway_verification.soak.invariants.liveness import unrefused
from headway_verification.soak.invariants.liveness.backoffs import AT_LEAST_S, TICK_S, check_backoffs
from headway_verification.soak.invariants.liveness.decisions import MOST_DELAY_S, MOST_IN_A_ROW, DecisionInvariants
from headway_verification.soak.invariants.liveness.kept_idle import BEFORE_S, SHORTEST_S, KeptIdleInvariants
from headway_verification.soak.invariants.liveness.launches import FailedLaunches, LaunchHistory
from headway_verification.soak.invariants.liveness.preemptions import DECIDED_BEFORE_S, PreemptionInvariants
from headway_verification.soak.invariants.liveness.starts import STARTS_WITHIN_S, StartInvariants
from headway_verification.soak.invariants.liveness.truth import LATE_S, SOON_S, Said, TruthInvariants
from headway_verification.soak.violations import Violated
from tests.core.builders import allocation, waiting_job

HOUR_S = 3600


def job(name: str, count: int = 1, **given: Any) -> WaitingJob:
    return waiting_job(**{"name": name, "demand": {"p5": count}, "priority": 0, "entry_time_ms": 0, **given})


# ----------------------------------------------------------------------------------------------------- a job that fits


def test_a_job_may_wait_for_a_while_and_no_longer() -> None:
    starts = StartInvariants()
    starts.check({"a"}, 0)
    starts.check({"a"}, STARTS_WITHIN_S)
    with pytest.raises(Violated, match="a fits free instances"):
        starts.check({"a"}, STARTS_WITHIN_S + 1)


def test_a_job_that_could_not_start_meanwhile_begins_again() -> None:
    starts = StartInvariants()
    starts.check({"a"}, 0)
    starts.check({"b"}, 600)
    starts.check({"a"}, STARTS_WITHIN_S + 1)


def test_what_is_refused_is_left_out_with_all_that_is_kept_for_it() -> None:
    stopping = allocation(
        job="old", attempt="old", demand={"p5": 1}, priority=0, since_ms=0, stopping=True, freed_for="big"
    )
    idle = allocation(job="idle", attempt="idle", demand={"p5": 1}, priority=0, since_ms=0)
    snapshot = Snapshot(
        now_ms=0,
        pools={"p5": 4},
        waiting=(job("big", 4, priority=5), job("small")),
        reservations=(Reservation(job="big", demand={"p5": 2}),),
        allocations=(stopping, idle),
    )
    assert unrefused.starts(snapshot) == {}
    left = unrefused.without(snapshot, {"big": {"p5"}}, {"idle"})
    assert [each.name for each in left.waiting] == ["small"]
    assert (left.reservations, [each.attempt for each in left.allocations]) == ((), ["old"])
    assert left.allocations[0].freed_for is None
    assert unrefused.starts(left) == {"small": {"p5": 1}}


@pytest.mark.parametrize(
    ("refused", "demands"), [({"p5"}, [{"g5": 1}]), ({"g5"}, [{"p5": 1}]), ({"p5", "g5"}, None), ({"g6"}, "both")]
)
def test_of_a_job_the_refused_alternatives_are_left_out(refused: set[str], demands: Any) -> None:
    both = job("a", alternatives=(Alternative(demand={"g5": 1}),))
    snapshot = Snapshot(now_ms=0, pools={"p5": 1, "g5": 1}, waiting=(both,))
    left = unrefused.without(snapshot, {"a": refused}, ()).waiting
    wanted = [{"p5": 1}, {"g5": 1}] if demands == "both" else demands
    assert [[each.demand, *(other.demand for other in each.alternatives)] for each in left] == (
        [wanted] if wanted else []
    )


# ------------------------------------------------------------------------------------------------ nobody is preempted


class Refused(LaunchHistory):
    """Launches of `big` that failed."""

    def __init__(self, count: int) -> None:
        super().__init__()
        failed = FailedLaunches(
            job="big", pools=frozenset({"p5"}), demand={"p5": 4}, count=count, first_s=0.0, known_s=100.0
        )
        self._failed = {("big", failed.pools): failed}


@pytest.mark.parametrize(
    ("count", "now_s", "freed", "breaks"),
    [
        (2, 101 + DECIDED_BEFORE_S, {"p5": 1}, True),
        (1, 101 + DECIDED_BEFORE_S, {"p5": 1}, False),
        (2, 100 + DECIDED_BEFORE_S, {"p5": 1}, False),
        (2, 101 + DECIDED_BEFORE_S, {"g5": 1}, False),
    ],
)
def test_nobody_is_preempted_after_the_second_launch_in_a_row(
    count: int, now_s: float, freed: dict[str, int], breaks: bool
) -> None:
    preemptions = PreemptionInvariants(Refused(count))
    attempts = {"a": {"demand": {"p5": 1}, "freedFor": "big", "freed": freed}}
    if not breaks:
        preemptions.check(attempts, now_s)
        return
    with pytest.raises(Violated, match="a is preempted for big, of which 2 launches"):
        preemptions.check(attempts, now_s)


@pytest.mark.parametrize(("beside", "breaks"), [({}, True), ({"b": {"demand": {"g5": 1}}}, False)])
def test_a_victim_that_frees_nothing_for_its_job_may_be_stopped_for_a_pool_that_is_overcommitted(
    beside: dict[str, Any], breaks: bool
) -> None:
    """Both pools of `a` are those of `big`; `b` frees instances for its other alternative."""
    victims = {name: {**each, "freedFor": "big", "freed": each["demand"]} for name, each in beside.items()}
    attempts = {"a": {"demand": {"p5": 1, "g5": 1}, "freedFor": "big"}, **victims}
    with pytest.raises(Violated) if breaks else nullcontext():
        PreemptionInvariants(Refused(2)).check(attempts, 1000)


def test_a_stop_that_began_before_is_none() -> None:
    launches = Refused(1)
    preemptions = PreemptionInvariants(launches)
    attempts = {"a": {"demand": {"p5": 1}, "freedFor": "big"}}
    preemptions.check(attempts, 50)
    launches._failed = Refused(2)._failed
    preemptions.check(attempts, 1000)


# -------------------------------------------------------------------------------------------- a decision in each tick


def test_a_calm_tick_has_to_make_a_decision() -> None:
    decisions = DecisionInvariants()
    decisions.is_calm = True
    decisions.ended(1)
    with pytest.raises(Violated, match="1 ticks in a row ended without a decision"):
        decisions.ended(0)


def test_with_faults_a_few_ticks_in_a_row_may_make_none() -> None:
    decisions = DecisionInvariants()
    for _ in range(MOST_IN_A_ROW):
        decisions.ended(0)
    decisions.ended(1)
    for _ in range(MOST_IN_A_ROW):
        decisions.ended(0)
    with pytest.raises(Violated):
        decisions.ended(0)


def test_ticks_that_faults_have_delayed_for_long_do_not_count() -> None:
    decisions = DecisionInvariants()
    for _ in range(MOST_IN_A_ROW):
        decisions.ended(0, MOST_DELAY_S)
        decisions.ended(0, MOST_DELAY_S + 1)
    with pytest.raises(Violated):
        decisions.ended(0, MOST_DELAY_S)


@pytest.mark.parametrize("is_calm", [True, False])
def test_only_with_faults_may_ticks_fail_again_and_again(is_calm: bool) -> None:
    decisions = DecisionInvariants()
    decisions.is_calm = is_calm
    for _ in range(MOST_IN_A_ROW):
        decisions.failed()
    if not is_calm:
        decisions.failed()
        return
    with pytest.raises(Violated, match="ticks in a row failed"):
        decisions.failed()


# ----------------------------------------------------------------------------------------------------- what is idle


def kept(idle: int, refused: tuple[FailedLaunches, ...] = (), *, hours: float = 2, **free: int) -> KeptIdleInvariants:
    """A pool of 4 of which jobs could use some of the time so many instances."""
    invariants = KeptIdleInvariants(0)
    invariants.note([{"p5": idle}], free, {"p5": 4}, refused, hours * HOUR_S)
    return invariants


@pytest.mark.parametrize("idle", [1, 4])
def test_instances_that_jobs_could_use_are_not_idle_for_hours(idle: int) -> None:
    with pytest.raises(Violated, match="of p5 were idle"):
        kept(idle).check()


def test_what_sagemaker_does_not_have_is_not_idle() -> None:
    kept(4, p5=0).check()


def test_over_a_short_time_no_share_counts() -> None:
    kept(4, hours=(SHORTEST_S - 1) / HOUR_S).check()


@pytest.mark.parametrize(("idle_s", "breaks"), [(0.05 * 4 * 2 * HOUR_S, False), (0.05 * 4 * 2 * HOUR_S + 4, True)])
def test_a_share_is_for_probing(idle_s: float, breaks: bool) -> None:
    invariants = KeptIdleInvariants(0)
    invariants.note([{"p5": 4}], {}, {"p5": 4}, (), idle_s / 4)
    invariants.note([], {}, {"p5": 4}, (), 2 * HOUR_S)
    if not breaks:
        invariants.check()
        return
    with pytest.raises(Violated):
        invariants.check()


def test_each_refused_job_may_idle_its_instances_before_that_is_known() -> None:
    refused = FailedLaunches(job="b", pools=frozenset({"p5"}), demand={"p5": 4}, count=1, first_s=0, known_s=0)
    invariants = KeptIdleInvariants(0)
    invariants.note([{"p5": 4}], {}, {"p5": 4}, (refused,), BEFORE_S)
    invariants.note([], {}, {"p5": 4}, (), 2 * HOUR_S)
    invariants.check()


# -------------------------------------------------------------------------------------------------------- back-offs


@pytest.mark.parametrize(
    ("after_s", "outage_s", "unlaunched", "breaks"),
    [
        (AT_LEAST_S + TICK_S + 1, 0, 1, True),
        (AT_LEAST_S + TICK_S, 0, 1, False),
        (AT_LEAST_S + TICK_S + 1, 0, 0, False),
        (360 + TICK_S + 1, 3600, 1, True),
        (360 + TICK_S, 3600, 1, False),
    ],
)
def test_a_back_off_is_over_a_tenth_of_the_outage_after_it(
    after_s: int, outage_s: int, unlaunched: int, breaks: bool
) -> None:
    pools = {"p5": {"backoffUntilMs": 10_000_000}, "g5": {}}
    given: Any = (pools, {"p5": unlaunched, "g5": 1}, outage_s, 0, after_s)
    if not breaks:
        check_backoffs(*given)
        return
    with pytest.raises(Violated, match="p5 backs off"):
        check_backoffs(*given)


# ------------------------------------------------------------------------------------------------------------ truth


WAITING = Snapshot(now_ms=0, pools={"p5": 4}, waiting=(job("big", 4, priority=5), job("small")))
"""`big` starts, and `small` waits."""


def decided(snapshot: Snapshot, of: str) -> Reason:
    """The reason of a waiting job in a decision."""
    (wait,) = (each for each in schedule(snapshot).waits if each.job == of)
    return Reason(code=wait.reason.code, message=wait.sentence_with(), jobs=wait.reason.jobs)


def said(of: str, snapshot: Snapshot, **changes: str) -> Said:
    """What is true of a job, with changes."""
    found = decided(snapshot, of)
    return Said(job=of, reason={"code": found.code, "message": found.message, **changes}, now_ms=0)


@pytest.mark.parametrize("changes", [{}, {"code": "WaitsBehind"}, {"message": "waits"}])
def test_what_is_said_is_what_a_decision_says(changes: dict[str, str]) -> None:
    truth = TruthInvariants()
    if not changes:
        truth.check(said("small", WAITING), decided(WAITING, "small"), ())
        return
    with pytest.raises(Violated, match="of small the API says"):
        truth.check(said("small", WAITING, **changes), decided(WAITING, "small"), ())


def test_nobody_is_told_to_wait_for_a_refused_job() -> None:
    held = job("big", 4, priority=5, not_before_ms=60_000, limit_ms=1_000)
    snapshot = Snapshot(now_ms=0, pools={"p5": 4}, waiting=(held, job("small", limit_ms=HOUR_S * 1000)))
    truth = TruthInvariants()
    truth.check(said("small", snapshot), decided(snapshot, "small"), ())
    with pytest.raises(Violated, match="is told to wait for"):
        truth.check(said("small", snapshot), decided(snapshot, "small"), {"big"})


STARTING = Plan(
    actions=(Start(job="a", demand={"p5": 1}, reason=Reason(code=ReasonCode.STARTS_NOW, message="starts now")),),
    waits=(),
)


def test_a_job_that_starts_now_does_not_say_so_for_long() -> None:
    truth = TruthInvariants()
    truth.note(STARTING, {"a"}, (), 0)
    truth.note(STARTING, {"a"}, (), SOON_S)
    with pytest.raises(Violated, match="a starts now, it is said, for 10 min"):
        truth.note(STARTING, {"a"}, (), SOON_S + 1)


PROMISE = Plan(
    actions=(),
    waits=(
        Wait(
            job="a",
            reason=Reason(
                code=ReasonCode.WAITS_FOR_CAPACITY,
                message="waits; starts by 10:00 UTC unless a job of higher rank comes",
            ),
            start_by_ms=1_000_000,
        ),
    ),
)
NOTHING = Plan(actions=(), waits=())


@pytest.mark.parametrize(
    ("late_s", "waiting", "refused", "breaks"),
    [
        (LATE_S + 1, {"a", "b"}, (), True),
        (LATE_S + 1, {"a"}, (), True),
        (LATE_S, {"a", "b"}, (), False),
        (LATE_S + 1, {"b"}, (), False),
        (LATE_S + 1, {"a", "b", "c"}, (), False),
        (LATE_S + 1, {"a", "b"}, {"a"}, False),
    ],
)
def test_a_job_starts_when_it_was_said_to_unless_another_one_came(
    late_s: int, waiting: set[str], refused: Any, breaks: bool
) -> None:
    truth = TruthInvariants()
    truth.note(PROMISE, {"a", "b"}, (), 0)
    if not breaks:
        truth.note(NOTHING, waiting, refused, 1000 + late_s)
        return
    with pytest.raises(Violated, match="a was to start by"):
        truth.note(NOTHING, waiting, refused, 1000 + late_s)


def test_after_a_change_by_users_nothing_is_promised() -> None:
    truth = TruthInvariants()
    truth.note(PROMISE, {"a"}, (), 0)
    truth.changed()
    truth.note(NOTHING, {"a"}, (), 1001 + LATE_S)
