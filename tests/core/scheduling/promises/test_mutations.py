"""Each rule of the scheduler is broken on purpose, and the property that guards it has to notice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

from headway.job_terms import JobTerms
from headway.plan import Preempt, Start
from headway.scheduling import (
    allocation_index,
    capacity_state,
    fair_share,
    limits,
    preemption,
    queue_order,
    scheduler,
)
from headway.scheduling.backfill import claims, reserved_starts, size_changes
from headway.scheduling.ordering import running_priority, victim_order
from headway.scheduling.placement import commit, trying
from headway.scheduling.victims import protection, targets
from headway.scheduling.victims.protection import protection as limits_of
from headway.vectors import total
from tests.core.scheduling.promises import test_histories as histories
from tests.core.scheduling.promises import test_promises as promises
from tests.core.scheduling.promises import test_turns as turns
from tests.core.strategies import (
    beside_a_warm_pool,
    beyond_limits,
    borrowed_from_red,
    borrowing_goes_on,
    crowded,
    nothing_owed,
    snapshots,
)

MAX_EXAMPLES = 2000

BY_PRIORITY = (preemption, protection)
"""The modules that compare priorities of attempts and jobs: for the choice of candidates, and for each of them."""

ANY = snapshots()
FEW = snapshots("none", ageing=False, most=3)
BEYOND_LIMITS = snapshots("none", ageing=False, most=3, stops=False).map(beyond_limits)
PLAIN = snapshots("none", ageing=False, backfill=True, plain=True)
SETTLED = PLAIN.map(nothing_owed)
BESIDE_WARM_POOLS = snapshots("none", ageing=False, backfill=True).map(nothing_owed)
ONE_TEAM = snapshots("one", ageing=False, plain=True)
TEAMS = snapshots("several", ageing=False)
FULL = snapshots("none", ageing=False, backfill=True, full=True)
FULL_TEAM = snapshots("one", ageing=False, full=True)
FULL_TEAMS = snapshots("several", ageing=False, full=True)
BORROWING = FULL_TEAMS.map(borrowing_goes_on)
BORROWED = FULL_TEAMS.map(borrowed_from_red)
CROWDED = crowded()
LIMITED = snapshots("none", ageing=False, backfill=True, unlimited=False, plain=True)


def _lose_a_pool(**fields: Any) -> Start:
    return Start(**{**fields, "demand": dict(list(fields["demand"].items())[:1])})


def _lose_the_earmark(**fields: Any) -> Preempt:
    return Preempt(**{**fields, "freed": {}})


def _by_name(snapshot: Any, *_: Any) -> Any:
    return iter(sorted(snapshot.waiting, key=lambda job: job.name))


def _dearest_first(allocation: Any, now_ms: int, policy: Any) -> Any:
    priority, _, lost, since, name = victim_order(allocation, now_ms, policy)
    return (priority, -lost, -since, name)


def _warm_last(allocation: Any, now_ms: int, policy: Any) -> Any:
    return (bool(allocation.warm), *victim_order(allocation, now_ms, policy))


def _never_known(job: Any, need: Any, *_: Any) -> Any:
    start = claims.ReservedStart(job=job, start_ms=None, end_ms=None, need=need, slack=dict.fromkeys(need, 0))
    return claims.FoundStart(start=start)


MUTANTS: dict[str, tuple[object, str, object, Callable[[Any], None], SearchStrategy[Any]]] = {
    "backfill asks no reserved start": (
        reserved_starts.ReservedStarts, "delayed_by", lambda *_: None, promises.reserved_starts_are_kept, SETTLED
    ),
    "everybody who is started past a start takes the same slack": (
        claims.ReservedStart, "share", lambda *_: None, promises.reserved_starts_are_kept, SETTLED
    ),
    "a limit that ends after the start counts as ending before": (
        claims.ReservedStart, "runs_into", lambda *_: False, promises.reserved_starts_are_kept, SETTLED
    ),
    "no start is ever known": (
        reserved_starts, "reserve_start", _never_known, promises.starts_that_can_be_known_are_known, LIMITED
    ),
    "without backfill pools stay open": (
        reserved_starts.ReservedStarts, "delayed_by", lambda *_: None, promises.blocked_heads_close_their_pools,
        snapshots("none", backfill=False),
    ),
    "the limits of teams are not charged": (
        limits.Limits, "charged", lambda _, demand, *__: demand, promises.capacity_holds, ONE_TEAM
    ),
    "reservations are not charged": (
        capacity_state.CapacityState, "reserved_for", lambda *_: {}, promises.capacity_holds, ANY
    ),
    "a job starts on a part of its demand": (
        commit, "Start", _lose_a_pool, promises.all_or_nothing, ANY
    ),
    "the line is sorted by name": (
        scheduler, "in_rank_order", _by_name, promises.line_is_in_rank_order, snapshots("none")
    ),
    "limits never count among equals": (
        JobTerms, "turn_ms", property(lambda terms: terms.entry_time_ms), promises.line_is_in_rank_order,
        snapshots("none"),
    ),
    "waiting adds no priority": (
        queue_order, "effective_priority", lambda job, *_: job.terms.priority, promises.line_is_in_rank_order,
        snapshots("none"),
    ),
    "protected attempts are preempted": (
        preemption, "is_preemptible", lambda *_: True, promises.protected_attempts_run_on, ANY
    ),
    "equal priority is preempted": (
        BY_PRIORITY, "running_priority", lambda *args: running_priority(*args) - 1,
        promises.only_who_may_be_preempted_is,
        FULL,
    ),
    "two jobs of equal priority preempt each other": (
        BY_PRIORITY, "running_priority", lambda *args: running_priority(*args) - 1,
        histories.preemption_comes_to_an_end,
        PLAIN,
    ),
    "everybody reclaims": (
        preemption.Preemption, "reclaims", lambda *_: True, promises.only_who_may_be_preempted_is, TEAMS
    ),
    "needless victims are kept": (
        targets.Targets, "_needed", lambda _, chosen: list(chosen), promises.no_victim_is_needless, FULL
    ),
    "victims who lose most stop first": (
        allocation_index, "victim_order", _dearest_first, promises.no_cheaper_single_victim_would_have_done, FULL
    ),
    "teams may have any priority": (
        BY_PRIORITY, "capped_priority", lambda priority, *_: priority, promises.only_who_may_be_preempted_is, FULL_TEAM
    ),
    "what others are guaranteed is preempted": (
        protection, "is_borrowed", lambda *_: True, promises.only_who_may_be_preempted_is, FULL_TEAMS
    ),
    "nobody reclaims": (
        preemption.Preemption, "reclaims", lambda *_: False, promises.guarantees_are_given, BORROWED
    ),
    "too few victims are stopped": (
        targets, "shortfall", lambda *_: {}, promises.preemptors_start_when_all_has_stopped, FULL
    ),
    "what victims free is earmarked for nobody": (
        commit, "Preempt", _lose_the_earmark, promises.what_is_freed_is_earmarked_whole, PLAIN
    ),
    "reservations of who has left stay": (
        commit, "release_leftovers", lambda *_: None, promises.leftovers_are_released, ANY
    ),
    "victims alike are taken as they were read": (
        allocation_index, "victim_order", lambda *args: victim_order(*args)[:1],
        promises.the_order_of_reading_does_not_matter, FULL,
    ),
    "who fits is told to wait": (
        trying, "start_now", lambda *_, **__: None,
        promises.first_in_line_is_not_kept_from_what_is_free, PLAIN,
    ),
    "what was freed for one goes round among its equals": (
        fair_share.Guarantees, "is_promised", lambda *_: False, turns.only_who_is_ahead_takes_over, TEAMS
    ),
    "who borrows stands before who is owed": (
        queue_order._TeamQueue, "_is_covered", lambda *_: False, turns.nobody_borrows_what_is_reclaimed, BORROWING
    ),
    "a guarantee gives the right to reclaim, and no rank": (
        queue_order._TeamQueue, "_is_covered", lambda *_: False, histories.preemption_comes_to_an_end, CROWDED
    ),
    "who would outlast a pool starts": (
        size_changes.SizeChanges, "exceeded_by", lambda *_: None,
        promises.what_starts_has_ended_before_a_pool_shrinks, ANY
    ),
    "a job that starts leaves the later sizes to others": (
        size_changes.SizeChanges, "charge", lambda *_: None,
        promises.what_starts_has_ended_before_a_pool_shrinks, ANY
    ),
    "a limit that has passed still counts": (
        size_changes, "end_by_ms",
        lambda each, now_ms: None if each.terms.limit_ms is None else each.since_ms + each.terms.limit_ms,
        promises.what_starts_has_ended_before_a_pool_shrinks, BEYOND_LIMITS
    ),
    "nothing is stopped for a size": (
        commit, "excess", lambda *_: (), promises.what_starts_has_ended_before_a_pool_shrinks, ANY
    ),
    "nobody takes over": (
        trying, "_may_take_over", lambda *_: False, histories.every_job_is_served, ANY
    ),
    "a job may be preempted again and again": (
        protection, "protection",
        lambda attempt, policy: limits_of(attempt, replace(policy, max_preemptions=1000)),
        promises.protected_attempts_run_on, FULL
    ),
    "only one blocked job has a reserved start": (
        reserved_starts.ReservedStarts, "is_at_depth", lambda self, pools: self.first(pools) is not None,
        promises.starts_that_can_be_known_are_known, LIMITED
    ),
    "attempts are preempted before warm pools are released": (
        allocation_index, "victim_order", _warm_last, promises.warm_pools_go_before_attempts,
        FULL.map(beside_a_warm_pool),
    ),
    "a matching job starts beside a warm pool": (
        trying, "_in_warm_pool", lambda *_: None, promises.matching_jobs_start_in_warm_pools, ANY
    ),
    "teams share the instances of warm pools": (
        trying, "foreign", lambda *_: (), promises.instances_are_not_shared_across_teams, TEAMS
    ),
    "no reserved start relies on a warm pool": (
        reserved_starts.ReservedStarts, "unclaimed_by_reservations",
        lambda _, victims: total(each.demand for each in victims), promises.reserved_starts_are_kept, BESIDE_WARM_POOLS,
    ),
    "nobody is served": (
        commit, "_start", lambda *_, **__: None, histories.every_job_is_served, PLAIN
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", MUTANTS)
def test_a_violated_promise_is_detected(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    targets_of_rule, name, broken, holds, examples = MUTANTS[rule]
    for target in targets_of_rule if isinstance(targets_of_rule, tuple) else (targets_of_rule,):
        monkeypatch.setattr(target, name, broken)

    def is_noticed(example: Any) -> bool:
        try:
            holds(example)
        except AssertionError:
            return True
        return False

    bounded = settings(
        max_examples=MAX_EXAMPLES, phases=[Phase.generate], database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    try:
        find(examples, is_noticed, settings=bounded, random=Random(0))
    except NoSuchExample:
        pytest.fail(f"nothing notices that {rule}")
