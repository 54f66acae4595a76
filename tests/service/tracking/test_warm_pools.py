"""Warm pools in the service: kept, claimed, reused, released, gone; on the fake SageMaker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway_sandbox.sagemaker.faults import Faults
from headway_service.forecast.service import SubmitRequest
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.warm_pool import WarmPoolRecord
from headway_service.store.repository import find_request
from headway_service.tracking import warm_pools
from headway_service.tracking.warm_pools import SEND_AGAIN_S, WarmPoolTracker
from tests.service.world import P5, ROOT, World, request

KEEP_S = 1800


def world(size: int = 2, faults: dict[str, Any] | None = None, **rules: Any) -> World:
    """A deployment that keeps warm pools, in an account with as many instances as the pool, and that may be warm."""
    made = World(pools={P5: size})
    configure(made, size, warmPools=rules)
    made.fleet.faults = Faults(quotas={P5: size}, warm_pool_quotas={P5: size}, **(faults or {}))
    return made


def configure(made: World, size: int, **more: Any) -> None:
    made.configuration.write({"pools": {P5: {"size": size}}, **more})


def submit(
    made: World, name: str, priority: int = 0, *, count: int = 1, keep_s: int | None = KEEP_S, **more: Any
) -> None:
    kept = {} if keep_s is None else {"KeepAlivePeriodInSeconds": keep_s}
    resources = {"InstanceType": P5, "InstanceCount": count, "VolumeSizeInGB": 30, **kept}
    made.submit(name, priority, ResourceConfig=resources, **more)


def kept(made: World) -> dict[str, WarmPoolRecord]:
    """The warm pools of the ledger by the attempt that left them, after a check of the invariants."""
    made.check()
    return {each.attempt_name: each for each in read_ledger(made.table).warm_pools}


def left_warm(made: World, *names: str, **more: Any) -> None:
    """Jobs have ended, and their instances are kept."""
    for name in names:
        submit(made, name, **more)
    made.tick()
    while any(state != "completed" for state in made.states(*names).values()):
        made.pass_time(10)
    assert sorted(kept(made)) == sorted(names)


def minutes(made: World, count: int) -> None:
    """Let minutes pass; the reconciler runs each minute and wakes the scheduler."""
    for _ in range(count):
        made.pass_time(60)
        made.reconcile()
        made.tick()
        made.check()


# ---------------------------------------------------------------------------------------------------------- kept
def test_the_instances_of_an_ended_job_are_kept_and_charged() -> None:
    made = world()
    left_warm(made, "a")
    (pool,) = kept(made).values()
    assert (pool.demand, pool.keep_s, pool.claimed_by) == ({P5: 1}, KEEP_S, "")
    (use,) = made.capacity()
    assert use.free == 1


@pytest.mark.parametrize("keep_s", [None, 0])
def test_a_job_that_does_not_ask_for_it_leaves_no_warm_pool(keep_s: int | None) -> None:
    made = world()
    submit(made, "a", keep_s=keep_s)
    made.tick()
    made.pass_time(3600)
    assert not kept(made)


def test_without_the_rule_a_job_leaves_no_warm_pool_and_its_items_have_no_field_of_it() -> None:
    made = World()
    submit(made, "a")
    made.tick()
    made.pass_time(10)
    (item,) = [item for item in made.table.query("ledger", limit=99) if item["sk"].startswith("attempt#")]
    assert not {"warmKey", "keepS"} & item.keys()
    made.pass_time(3600)
    assert not kept(made)


def test_a_warm_pool_is_gone_when_its_time_is_over() -> None:
    made = world()
    left_warm(made, "a")
    minutes(made, KEEP_S // 60 - 1)
    assert kept(made)
    minutes(made, 4)
    assert not kept(made)
    assert made.capacity()[0].free == 2


def test_where_sagemaker_keeps_nothing_the_instances_are_free_after_two_answers_two_minutes_apart() -> None:
    made = world()
    made.fleet.faults = made.fleet.faults.with_changes({"warm_pool_quotas": {}})
    left_warm(made, "a")
    minutes(made, 2)
    assert kept(made)
    minutes(made, 2)
    assert not kept(made)


def test_a_warm_pool_that_is_shown_late_stays_charged() -> None:
    made = world(faults={"warm_pool_lag_s": 100})
    left_warm(made, "a")
    minutes(made, 10)
    assert kept(made)["a"].missing_since_ms is None


def test_a_warm_pool_whose_training_job_is_gone_is_free_after_two_answers_two_minutes_apart() -> None:
    made = world()
    left_warm(made, "a")
    del made.fleet._jobs["a"]
    minutes(made, 2)
    assert kept(made)
    minutes(made, 2)
    assert not kept(made)


# ------------------------------------------------------------------------------------------------------- started in
def test_a_matching_job_starts_in_the_warm_pool_and_both_are_charged_until_sagemaker_tells() -> None:
    made = world(size=1)
    left_warm(made, "a")
    submit(made, "b", keep_s=None)
    assert made.seen("b").reason.message == f"fits, and starts on 1 {P5} in the warm pool of `a` in a moment"
    report = made.tick()
    assert report.started == ["b"]
    assert kept(made)["a"].claimed_by == "b"
    assert made.capacity()[0].free == -1
    assert "in the warm pool of `a`" in made.seen("b").job.reason.message
    minutes(made, 1)
    assert not kept(made)
    assert made.capacity()[0].free == 0
    made.pass_time(1200)
    assert made.states("b") == {"b": "completed"}


def test_a_job_in_a_warm_pool_keeps_its_own() -> None:
    made = world(size=1)
    left_warm(made, "a")
    submit(made, "b")
    made.tick()
    minutes(made, 15)
    assert list(kept(made)) == ["b"]


def test_a_job_that_does_not_match_waits_until_the_warm_pool_is_terminated() -> None:
    made = world(size=1)
    left_warm(made, "a")
    submit(made, "b", RoleArn="arn:aws:iam::123456789012:role/HeadwayTrainingRole2")
    report = made.tick()
    assert report.warm_released == ["a"]
    assert made.called("UpdateTrainingJob") == ["a"]
    pool = kept(made)["a"]
    assert (pool.freed_for, pool.freed) == ("b", {P5: 1})
    job = made.seen("a").job
    assert job.history[-1].reason.code == "WarmPoolReleased"
    assert (
        job.reason.message == "completed; its instances are kept warm for up to 30 min, unless another job needs them"
    )
    assert made.states("b") == {"b": "pending"}
    minutes(made, 3)
    assert not kept(made)
    assert made.states("b") == {"b": "running"}
    assert not made.called("StopTrainingJob")


def test_a_warm_pool_is_released_before_a_job_is_preempted() -> None:
    made = world(size=2)
    submit(made, "low", keep_s=None, Environment={"SANDBOX_RUN_SECONDS": "80000"})
    left_warm(made, "a")
    submit(made, "high", 9, RoleArn="arn:aws:iam::123456789012:role/HeadwayTrainingRole2")
    report = made.tick()
    assert (report.preempted, report.warm_released) == ([], ["a"])
    minutes(made, 3)
    assert made.states("low", "high") == {"low": "running", "high": "running"}


def test_a_dry_run_and_a_what_if_name_the_jobs_whose_warm_pools_would_be_released() -> None:
    made = world()
    left_warm(made, "a", "b")
    other = {"ResourceConfig": {"InstanceType": P5, "InstanceCount": 1, "VolumeSizeInGB": 100}}
    asked = request("large", 0, **other)
    told = made.forecast_service.dry_run(asked, ROOT)
    assert (told.preempts, told.releases) == ([], ["a"])
    found = made.forecast_service.what_if([SubmitRequest(request=asked)], ROOT)
    assert (found.starts, found.preempts, found.releases) == ((), (), ("a",))
    assert sorted(kept(made)) == ["a", "b"]


def test_a_dry_run_names_only_the_warm_pools_that_are_released_for_the_job_itself() -> None:
    made = world()
    left_warm(made, "a")
    made.submit("first", 5, ResourceConfig={"InstanceType": P5, "InstanceCount": 2, "VolumeSizeInGB": 100})
    assert made.forecast_service.dry_run(request("second", 1), ROOT).releases == []


def test_a_claimed_warm_pool_that_its_job_does_not_use_is_released_once() -> None:
    made = world(size=2, faults={"warm_pool_choice": "none", "warm_pool_release_s": 200.0})
    made.fleet.faults = made.fleet.faults.with_changes({"quotas": {P5: 9}})
    left_warm(made, "a")
    submit(made, "b")
    made.tick()
    assert kept(made)["a"].claimed_by == "b"
    decided = set()
    while "a" in kept(made):
        decided.add(kept(made)["a"].release_ms)
        minutes(made, 1)
    assert len(decided - {None}) == 1
    assert {*made.called("UpdateTrainingJob")} == {"a"}
    assert made.states("b") == {"b": "running"}


def test_a_launch_that_is_postponed_beside_a_warm_pool_that_sagemaker_does_not_use_is_tried_again() -> None:
    made = world(size=1, faults={"warm_pool_choice": "none"})
    left_warm(made, "a")
    submit(made, "b", keep_s=None)
    made.tick()
    assert made.states("b") == {"b": "pending"}
    minutes(made, 6)
    assert made.states("b") == {"b": "running"}


def two_warm_pools() -> World:
    """``a`` has ended a minute before ``b``, so a job is started in that of ``b``, and SageMaker uses that of ``a``."""
    made = world(size=2, faults={"warm_pool_choice": "oldest"})
    submit(made, "a")
    made.tick()
    made.pass_time(60)
    submit(made, "b")
    made.tick()
    made.pass_time(1500)
    assert sorted(kept(made)) == ["a", "b"]
    return made


def test_of_two_warm_pools_sagemaker_may_use_the_other_one() -> None:
    made = two_warm_pools()
    submit(made, "c", keep_s=None)
    made.tick()
    assert [name for name, pool in kept(made).items() if pool.claimed_by] == ["b"]
    minutes(made, 1)
    (pool,) = kept(made).values()
    assert (pool.attempt_name, pool.claimed_by, pool.release_ms) == ("b", "", None)


@pytest.mark.parametrize("minute", [1, 2], ids=["one is described first", "the other one is"])
def test_two_jobs_that_sagemaker_starts_in_each_others_warm_pool_are_charged_once(
    monkeypatch: pytest.MonkeyPatch, minute: int
) -> None:
    made = two_warm_pools()
    submit(made, "c", keep_s=None)
    submit(made, "d", keep_s=None)
    made.tick()
    assert {name: pool.claimed_by for name, pool in kept(made).items()} == {"b": "c", "a": "d"}
    monkeypatch.setattr(warm_pools, "MAX_DESCRIBED", 1)
    made.pass_time(60 * minute, tick=False)
    tracker(made).track(read_ledger(made.table).warm_pools, made.clock())
    left, other = {"a": ("c", "d"), "b": ("d", "c")}[min(kept(made))]
    assert [pool.claimed_by for pool in kept(made).values()] == [left], f"{other} is known to use the other one"
    tracker(made).track(read_ledger(made.table).warm_pools, made.clock())
    assert not kept(made)
    assert made.capacity()[0].free == 0


def test_one_run_finds_that_two_jobs_were_started_in_each_others_warm_pool() -> None:
    made = two_warm_pools()
    submit(made, "c", keep_s=None)
    submit(made, "d", keep_s=None)
    made.tick()
    made.pass_time(60, tick=False)
    tracker(made).track(read_ledger(made.table).warm_pools, made.clock())
    assert not kept(made)


def test_the_release_of_a_warm_pool_that_sagemaker_uses_moves_to_the_one_that_is_left() -> None:
    made = two_warm_pools()
    submit(made, "c", keep_s=None)
    made.tick()
    submit(made, "high", 9, keep_s=None, RoleArn="arn:aws:iam::123456789012:role/HeadwayTrainingRole2")
    made.tick()
    assert kept(made)["a"].freed_for == "high"
    made.pass_time(60, tick=False)
    tracker(made).track(read_ledger(made.table).warm_pools, made.clock())
    (pool,) = kept(made).values()
    assert (pool.attempt_name, pool.claimed_by, pool.freed_for, pool.freed) == ("b", "", "high", {P5: 1})
    assert pool.release_ms is not None
    assert read_ledger(made.table).reservations == ()
    minutes(made, 5)
    assert made.states("c", "high") == {"c": "running", "high": "running"}


def test_two_schedulers_do_not_start_two_jobs_in_one_warm_pool() -> None:
    made = world(size=1)
    left_warm(made, "a")
    submit(made, "b", keep_s=None)
    submit(made, "c", keep_s=None)
    made.interrupted_tick(made.tick)
    made.check()
    assert sorted(made.states("b", "c").values()) == ["pending", "running"]


# --------------------------------------------------------------------------------------------------------- released
def test_a_release_that_is_refused_as_a_job_has_started_is_settled_by_the_status() -> None:
    made = world(size=1)
    left_warm(made, "a")
    pool = kept(made)["a"]
    stored = find_request(made.table, "a")
    assert stored is not None
    made.fleet.create({**stored, "TrainingJobName": "other", "Tags": []}, now=made.now_s)
    made.table.write(transitions.release_warm_pool(pool, made.clock()))
    minutes(made, 2)
    assert not kept(made)


def test_a_lost_answer_to_a_release_is_repeated() -> None:
    made = world(size=1, faults={"lose_answer": {"UpdateTrainingJob": 1}})
    left_warm(made, "a")
    submit(made, "b", 9, RoleArn="arn:aws:iam::123456789012:role/HeadwayTrainingRole2")
    minutes(made, 4)
    assert made.states("b") == {"b": "running"}


def test_a_release_without_effect_is_repeated() -> None:
    made = world(size=1, faults={"throttle": {"UpdateTrainingJob": 1}})
    left_warm(made, "a")
    submit(made, "b", 9, RoleArn="arn:aws:iam::123456789012:role/HeadwayTrainingRole2")
    minutes(made, 5)
    assert made.states("b") == {"b": "running"}


def test_the_reservation_of_a_preemptor_holds_until_the_warm_pool_of_its_victim_is_gone() -> None:
    made = world(size=1)
    submit(made, "low", 1)
    made.tick()
    made.pass_time(500)
    submit(made, "high", 9, RoleArn="arn:aws:iam::123456789012:role/HeadwayTrainingRole2")
    made.tick()
    made.pass_time(200, tick=False)
    pool = kept(made)["low"]
    assert pool.release_ms is not None
    assert (pool.freed_for, pool.freed) == ("high", {P5: 1})
    assert made.states("low", "high") == {"low": "preempted", "high": "pending"}
    minutes(made, 3)
    assert not kept(made)
    assert made.states("high") == {"high": "running"}


def test_the_instances_of_a_job_that_a_user_has_stopped_are_kept() -> None:
    made = world()
    submit(made, "a")
    made.tick()
    made.pass_time(500)
    made.commands.stop("a", ROOT)
    made.tick()
    made.pass_time(200)
    assert kept(made)["a"].release_ms is None


def test_a_job_that_never_had_instances_leaves_no_warm_pool() -> None:
    made = world()
    submit(made, "a")
    made.tick()
    made.commands.stop("a", ROOT)
    made.tick()
    made.pass_time(300)
    assert made.states("a") == {"a": "stopped"}
    assert not kept(made)


def test_warm_pools_are_released_in_a_drained_pool() -> None:
    made = world()
    left_warm(made, "a")
    made.container.pool_operations.pause(P5, "user/ada", "repair", stops=True)
    made.tick()
    assert kept(made)["a"].release_ms is not None
    assert made.called("UpdateTrainingJob") == ["a"]


def test_warm_pools_over_the_bound_of_the_policy_are_released() -> None:
    made = world(size=3, maxInstances={P5: 1})
    left_warm(made, "a", "b")
    made.tick()
    assert sorted(name for name, pool in kept(made).items() if pool.release_ms is not None) == ["a"]


def test_warm_pools_are_released_in_a_pool_that_was_made_smaller() -> None:
    made = world(size=3)
    left_warm(made, "a", "b", "c")
    configure(made, 2, warmPools={})
    made.tick()
    assert [each.attempt_name for each in read_ledger(made.table).warm_pools if each.release_ms is not None] == ["a"]


def test_warm_pools_are_released_when_the_policy_keeps_none_any_more() -> None:
    made = world()
    left_warm(made, "a")
    configure(made, 2)
    made.tick()
    assert kept(made)["a"].release_ms is not None


def test_a_warm_pool_is_not_used_across_teams_unless_the_policy_allows_it() -> None:
    made = world(size=9)
    configure(made, 9, warmPools={}, teams={"red": {}, "blue": {}})
    submit(made, "a", Tags=[{"Key": "team", "Value": "red"}])
    made.tick()
    made.pass_time(1500)
    assert list(kept(made)) == ["a"]
    submit(made, "b", keep_s=None, Tags=[{"Key": "team", "Value": "blue"}])
    assert made.tick().warm_released == ["a"]
    assert made.states("b") == {"b": "pending"}
    minutes(made, 3)
    assert made.states("b") == {"b": "running"}
    assert made.fleet._jobs["b"].reuses == ""


def test_a_warm_pool_counts_toward_the_limit_of_its_team() -> None:
    made = world(size=9)
    configure(made, 9, warmPools={}, teams={"red": {"limit": {P5: 1}}})
    tags = [{"Key": "team", "Value": "red"}]
    submit(made, "a", Tags=tags)
    made.tick()
    made.pass_time(1500)
    submit(made, "b", Tags=tags, RoleArn="arn:aws:iam::123456789012:role/HeadwayTrainingRole2")
    assert made.tick().warm_released == ["a"]
    assert made.states("b") == {"b": "pending"}
    minutes(made, 3)
    assert made.states("b") == {"b": "running"}


def test_each_run_describes_a_bounded_number_of_warm_pools_and_the_next_run_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(warm_pools, "MAX_DESCRIBED", 1)
    made = world(size=3)
    left_warm(made, "a", "b", "c")
    seen = []
    for _ in range(3):
        made.now_s += 60
        made.calls.clear()
        made.reconcile()
        seen += made.called("DescribeTrainingJob")
    assert sorted(seen) == ["a", "b", "c"]


def tracker(made: World) -> WarmPoolTracker:
    made.calls.clear()
    return WarmPoolTracker(made.table, made.container.training_jobs, made.clock, releases=True)


@pytest.mark.parametrize(("most", "looks"), [(2, 2), (9, 3)], ids=["as many as it may", "each one once"])
def test_one_run_describes_warm_pools(monkeypatch: pytest.MonkeyPatch, most: int, looks: int) -> None:
    monkeypatch.setattr(warm_pools, "MAX_DESCRIBED", most)
    made = world(size=3)
    left_warm(made, "a", "b", "c")
    run = tracker(made)
    for _ in range(3):
        run.track(read_ledger(made.table).warm_pools, made.clock())
    assert len(made.called("DescribeTrainingJob")) == looks


@pytest.mark.parametrize("released", ["a", "b", "c"])
def test_a_run_describes_the_warm_pool_first_that_is_being_released(
    monkeypatch: pytest.MonkeyPatch, released: str
) -> None:
    monkeypatch.setattr(warm_pools, "MAX_DESCRIBED", 1)
    made = world(size=3)
    left_warm(made, "a", "b", "c")
    made.table.write(transitions.release_warm_pool(kept(made)[released], made.clock()))
    tracker(made).track(read_ledger(made.table).warm_pools, made.clock())
    assert made.called("DescribeTrainingJob") == [released]


def test_only_the_scheduler_sends_releases_and_only_those_that_were_decided() -> None:
    made = world(size=3)
    left_warm(made, "a", "b")
    made.table.write(transitions.release_warm_pool(kept(made)["a"], made.clock()))
    run = WarmPoolTracker(made.table, made.container.training_jobs, made.clock, releases=False)
    run.track(read_ledger(made.table).warm_pools, made.clock())
    assert made.called("UpdateTrainingJob") == []
    tracker(made).track(read_ledger(made.table).warm_pools, made.clock())
    assert made.called("UpdateTrainingJob") == ["a"]


@pytest.mark.parametrize("unanswered", [0, 1], ids=["its instances are launched", "the launch was not answered"])
def test_a_claimed_warm_pool_is_kept_while_its_job_starts(unanswered: int) -> None:
    made = world(size=2, faults={"warm_pool_choice": "none"})
    left_warm(made, "a")
    made.fleet.faults = made.fleet.faults.with_changes(
        {"quotas": {P5: 9}, "lose_answer": {"CreateTrainingJob": unanswered}}
    )
    submit(made, "b")
    made.tick()
    (attempt,) = read_ledger(made.table).attempts
    assert attempt.secondary_status == (None if unanswered else "Starting")
    tracker(made).track(read_ledger(made.table).warm_pools, made.clock())
    assert kept(made)["a"].claimed_by == "b"
    assert kept(made)["a"].release_ms is None


def test_a_release_is_sent_again_a_minute_later() -> None:
    made = world(faults={"warm_pool_release_s": 900.0})
    left_warm(made, "a")
    made.table.write(transitions.release_warm_pool(kept(made)["a"], made.clock()))
    sent = []
    for later_s in (0, SEND_AGAIN_S - 1, 1):
        made.now_s += later_s
        tracker(made).track(read_ledger(made.table).warm_pools, made.clock())
        sent.append(len(made.called("UpdateTrainingJob")))
    assert sent == [1, 0, 1]


def test_the_end_of_a_warm_pool_changes_no_other_one() -> None:
    made = world(size=3)
    left_warm(made, "a", "b")
    made.table.write(transitions.release_warm_pool(kept(made)["a"], made.clock()))
    made.tick()
    made.pass_time(60, tick=False)
    before = kept(made)["b"]
    tracker(made).track(read_ledger(made.table).warm_pools, made.clock())
    assert kept(made) == {"b": before}


def test_nothing_is_reserved_for_a_preemptor_that_has_left_the_queue() -> None:
    made = world(size=1)
    submit(made, "low", 1)
    made.tick()
    made.pass_time(500)
    submit(made, "high", 9, RoleArn="arn:aws:iam::123456789012:role/HeadwayTrainingRole2")
    made.tick()
    made.pass_time(200, tick=False)
    assert kept(made)["low"].freed_for == "high"
    made.commands.hold("high", ROOT)
    for _ in range(5):
        made.pass_time(60, tick=False)
        made.reconcile()
        tracker(made).track(read_ledger(made.table).warm_pools, made.clock())
    assert not kept(made)
    assert read_ledger(made.table).reservations == ()


def test_a_warm_pool_that_another_call_changes_meanwhile_does_not_end_the_run() -> None:
    made = world(size=3, faults={"warm_pool_release_s": 0.0})
    left_warm(made, "a", "b")
    read = read_ledger(made.table).warm_pools
    for pool in read:
        made.table.write(transitions.release_warm_pool(pool, made.clock()))
    stale = [each.model_copy(update={"release_ms": 1}) for each in read]
    tracker(made).track(stale, made.clock())
    assert sorted(made.called("UpdateTrainingJob")) == ["a", "b"]


@pytest.mark.parametrize(
    ("status", "reused_by", "gone"),
    [("InUse", "b", True), ("InUse", "", False), ("Reused", "", True), ("Available", "", False)],
)
def test_a_warm_pool_is_gone_when_it_is_known_who_uses_it_or_that_it_is_used_up(
    monkeypatch: pytest.MonkeyPatch, status: str, reused_by: str, gone: bool
) -> None:
    made = world()
    left_warm(made, "a")
    shown = made.container.training_jobs.describe("a")
    assert shown is not None
    run = tracker(made)
    shown = replace(shown, warm_pool=status, reused_by=reused_by)
    monkeypatch.setattr(type(made.container.training_jobs), "describe", lambda *_: shown)
    assert run.track(read_ledger(made.table).warm_pools, made.clock()) is gone
    assert (not kept(made)) is gone


def test_a_tick_finds_that_a_started_job_uses_another_warm_pool() -> None:
    made = two_warm_pools()
    submit(made, "c", keep_s=None)
    made.tick()
    assert [name for name, pool in kept(made).items() if pool.claimed_by] == ["b"]
    made.pass_time(60)
    made.tick()
    assert [(name, pool.claimed_by) for name, pool in kept(made).items()] == [("b", "")]
