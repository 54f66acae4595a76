"""Running attempts that will be stopped by a decision are told from the decisions, run forward."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from headway.forecasting.losses import Losses, losses
from headway.model import Calendar, SizeChange, Snapshot
from headway.plan import Preempt, StopForSize
from headway.policy import Policy
from headway.scheduling.scheduler import schedule
from tests.core.builders import NOW_MS, P5, held, job, snapshot
from tests.core.strategies import snapshots

HOUR_MS = 3_600_000


def lost(snap: Snapshot, until_ms: int = NOW_MS + HOUR_MS, steps: int = 100) -> dict[str, int]:
    """By job, when it is stopped, ms from now on."""
    found = losses(snap, until_ms, steps=steps)
    return {each.job: each.at_ms - NOW_MS for each in found.by_attempt.values()}


def closes(at_ms: int, *, stops: bool = True) -> dict[str, Calendar]:
    return {P5: Calendar(changes=(SizeChange(at_ms=at_ms, size=0),), stops=stops)}


def test_a_queue_that_takes_nothing_has_no_losses() -> None:
    assert lost(snapshot(held("x", 9), job("a", 1), size=1)) == {}


def test_a_preemption_at_once_is_a_loss_with_the_reason_of_the_decision() -> None:
    snap = snapshot(held("x", 1), job("a", 9), size=1)
    (found,) = losses(snap, NOW_MS + HOUR_MS, steps=10).by_attempt.values()
    (action,) = (each for each in schedule(snap).actions if isinstance(each, Preempt))
    assert (found.job, found.at_ms, found.reason) == ("x", NOW_MS, action.reason)


def test_a_preemption_that_protection_delays_is_a_loss_at_its_end() -> None:
    policy = Policy(min_run_time_ms=2_000_000)
    snap = replace(snapshot(held("x", 1), job("a", 9), size=1), policy=policy)
    protected_ms = 2_000_000 - (NOW_MS - snap.allocations[0].since_ms)
    assert lost(snap) == {"x": protected_ms}
    assert lost(snap, NOW_MS + protected_ms - 1) == {}


def test_a_pool_that_closes_within_the_time_costs_what_runs_there_then() -> None:
    snap = replace(snapshot(held("x", 1), held("y", 1, ends_in_s=60), size=2), calendars=closes(NOW_MS + 600_000))
    assert lost(snap) == {"x": 600_000}


def test_a_pool_that_closes_later_or_stops_nothing_costs_nothing() -> None:
    snap = snapshot(held("x", 1), size=1)
    assert lost(replace(snap, calendars=closes(NOW_MS + HOUR_MS + 1))) == {}
    assert lost(replace(snap, calendars=closes(NOW_MS + 600_000, stops=False))) == {}


def test_what_stops_already_is_no_loss() -> None:
    snap = snapshot(held("x", 1, stopping=True), job("a", 9), size=1)
    assert lost(snap) == {}


def test_an_attempt_that_only_the_course_starts_is_no_loss_of_now() -> None:
    # `b` starts at once, and `c` preempts it when its own time has come.
    later = replace(job("c", 9), not_before_ms=NOW_MS + 600_000)
    assert lost(snapshot(job("b", 1), later, size=1)) == {}


def test_a_look_that_is_cut_says_how_far_it_went() -> None:
    snap = replace(snapshot(held("x", 1, ends_in_s=60), held("y", 1), size=2), calendars=closes(NOW_MS + 600_000))
    assert losses(snap, NOW_MS + HOUR_MS, steps=1) == Losses(by_attempt={}, until_ms=NOW_MS + 60_000)
    assert losses(snap, NOW_MS + HOUR_MS, steps=3).until_ms == NOW_MS + HOUR_MS


@given(snapshots())
def test_what_the_next_decision_takes_is_always_among_the_losses(snap: Snapshot) -> None:
    taken = {each.attempt for each in schedule(snap).actions if isinstance(each, Preempt | StopForSize)}
    found = losses(snap, snap.now_ms, steps=50).by_attempt
    launched = {each.attempt for each in snap.allocations if not each.warm}
    assert taken & launched <= found.keys()
