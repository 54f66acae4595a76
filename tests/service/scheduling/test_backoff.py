"""A pool backs off while SageMaker takes no launches there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.lifecycle import AttemptState, JobState
from headway.reasons import ReasonCode
from headway_sandbox.errors import AwsError
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.scheduling.backoff import (
    FIRST_BACK_OFF_S,
    MAX_BACK_OFF_S,
    MAX_CAUSE_CHARS,
    PoolBackoff,
    next_back_off,
    next_postponement_s,
)
from headway_service.store.ledger import read_ledger
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.attempt import NOBODY, StopCause
from headway_service.store.records.capacity.ledger import PoolRecord
from headway_service.store.records.job import Step
from tests.service.world import P5, ROOT, World, on

G5 = "ml.g5.xlarge"
MAX_MS = MAX_BACK_OFF_S * 1000


@pytest.fixture
def world() -> World:
    return World(pools={P5: 2, G5: 2})


def break_sagemaker(world: World, pool: str) -> list[str]:
    """Let every launch in a pool fail without an answer. Returns the names of those that are tried, as they come."""
    real, tried = world.fleet.call, []

    def call(name: str, body: Mapping[str, Any], *, now: float) -> Any:
        if name == "CreateTrainingJob" and body["ResourceConfig"]["InstanceType"] == pool:
            tried.append(body["TrainingJobName"])
            raise AwsError("ServiceUnavailable", "x" * 1000, status=503)
        return real(name, body, now=now)

    world.fleet.call = call  # type: ignore[method-assign,assignment]
    return tried


def pool_record(world: World, pool: str = P5) -> PoolRecord:
    item = world.table.get(PoolRecord.key(pool))
    assert item is not None
    return PoolRecord.parse(item)


def test_one_launch_without_an_answer_postpones_the_others_of_its_pool(world: World) -> None:
    tried = break_sagemaker(world, P5)
    for name in ("a", "b"):
        world.submit(name)
    world.submit("other", ResourceConfig=on(1, G5))
    world.tick()
    assert tried == ["a"]
    assert world.states("b", "other") == {"b": "pending", "other": "running"}
    seen = world.seen("b")
    assert str(seen.reason.code) == "BacksOff"
    assert seen.reason.message.startswith(f"SageMaker gave no answer to a launch on 1 {P5} (ServiceUnavailable")
    assert f"; next try in {FIRST_BACK_OFF_S} s, the place in the queue is kept" in seen.reason.message
    assert len(pool_record(world).backoff_cause) <= MAX_CAUSE_CHARS
    world.check()


def test_no_job_is_preempted_for_a_pool_that_backs_off(world: World) -> None:
    world.submit("low", 1)
    world.tick()
    break_sagemaker(world, P5)
    world.submit("a", 5)
    world.tick()
    world.submit("urgent", 9, ResourceConfig=on(2))
    world.tick()
    assert world.states("low", "urgent") == {"low": "running", "urgent": "pending"}


def test_back_offs_grow_with_an_outage_and_everything_continues_after_it(world: World) -> None:
    real = world.fleet.call
    tried = break_sagemaker(world, P5)
    for name in ("a", "b"):
        world.submit(name)
    for _ in range(60):
        world.tick()
        world.now_s += 60
    assert len(tried) < 15, "an hour of ticks, one a minute"
    assert pool_record(world).backoffs > 5
    world.fleet.call = real  # type: ignore[method-assign]
    world.now_s += MAX_BACK_OFF_S
    world.tick()
    world.check()
    assert world.states("a", "b") == {"a": "running", "b": "running"}


def fail_for_ever(world: World, *names: str) -> list[str]:
    """Let the launches of some jobs fail without an answer. Returns the names of all that are tried, as they come."""
    real, tried = world.fleet.call, []

    def call(name: str, body: Mapping[str, Any], *, now: float) -> Any:
        if name == "CreateTrainingJob":
            tried.append(body["TrainingJobName"])
            if body["TrainingJobName"] in names:
                raise AwsError("InternalFailure", "of this request", status=500)
        return real(name, body, now=now)

    world.fleet.call = call  # type: ignore[method-assign,assignment]
    return tried


def at_each_probe(world: World, probes: int) -> None:
    for _ in range(probes):
        left_s = (pool_record(world).backoff_until_ms - world.machine_clock()) / 1000
        # Until then the lease of the last try may be in use.
        world.pass_time(max(60, left_s + 1), tick=False)
        world.tick()


@pytest.mark.parametrize("poison", [("x",), ("x", "y")], ids=["one", "two"])
def test_a_launch_that_fails_for_ever_keeps_no_other_job_of_its_pool_from_starting(
    world: World, poison: tuple[str, ...]
) -> None:
    world = World(pools={P5: 4})
    fail_for_ever(world, *poison)
    for name in poison:
        world.submit(name, 5)
    world.tick()
    for name in ("a", "b"):
        world.submit(name)
    at_each_probe(world, 2 * len(poison))
    assert world.states("a", "b") == {"a": "running", "b": "running"}
    assert {world.states(name)[name] for name in poison} == {"running"}


def test_every_second_probe_is_of_a_job_that_was_not_tried_before(world: World) -> None:
    world = World(pools={P5: 4})
    tried = break_sagemaker(world, P5)
    for name in ("a", "b", "c"):
        world.submit(name)
    world.tick()
    at_each_probe(world, 4)
    assert tried == ["a", "a", "b", "a", "c"]


def test_launches_without_an_answer_are_tried_in_turn(world: World) -> None:
    world = World(pools={P5: 4})
    tried = fail_for_ever(world, "x", "y")
    world.submit("x", 5)
    world.tick()
    world.submit("y", 5)
    at_each_probe(world, 6)
    assert tried == ["x", "x", "y", "x", "y", "x", "y"]


def test_instances_that_a_later_try_frees_are_given_to_others_in_the_same_tick(world: World) -> None:
    real = world.fleet.call
    break_sagemaker(world, P5)
    world.submit("a")
    world.tick()
    at_each_probe(world, 1)

    def call(name: str, body: Mapping[str, Any], *, now: float) -> Any:
        if name == "CreateTrainingJob" and body["TrainingJobName"] == "a":
            raise AwsError("ValidationException", "The role can't be passed.", status=400)
        return real(name, body, now=now)

    world.fleet.call = call  # type: ignore[method-assign,assignment]
    for name in ("b", "c"):
        world.submit(name)
    world.pass_time(VISIBLE_AFTER_S, tick=False)
    at_each_probe(world, 1)
    assert world.states("a", "b", "c") == {"a": "failed", "b": "running", "c": "running"}


def test_an_older_state_of_a_pool_ends_no_back_off() -> None:
    backoff = PoolBackoff(None, lambda: 0.0)  # type: ignore[arg-type]
    newer = PoolRecord(pool=P5, size=2, free=2, backoff_until_ms=MAX_MS, backoffs=2)
    backoff.update([newer])
    backoff.update([newer.model_copy(update={"backoff_until_ms": 1, "backoffs": 1})])
    assert backoff.is_backing_off({P5: 1}, MAX_MS - 1)
    assert backoff.probes_with_others({P5: 1}, MAX_MS)


def test_what_was_tried_before_is_tried_again_if_no_other_job_can_be(world: World) -> None:
    tried = break_sagemaker(world, P5)
    world.submit("a", ResourceConfig=on(2))
    world.submit("b")
    world.tick()
    at_each_probe(world, 3)
    assert tried == ["a"] * 4


@pytest.mark.parametrize(
    ("changes", "last"),
    [
        pytest.param({}, True, id="its holder did not return"),
        pytest.param({"lease_holder": NOBODY, "unanswered_ms": 1}, True, id="an earlier call had no answer"),
        pytest.param({"lease_holder": NOBODY}, False, id="each call was refused clearly"),
        pytest.param({"lease_holder": "own"}, False, id="this invocation launches it"),
        pytest.param({"stop_cause": StopCause.REQUEST}, False, id="its launch is canceled"),
        pytest.param({"attempt_state": AttemptState.STOPPING}, False, id="it is stopped"),
        pytest.param({"demand": {G5: 1}}, False, id="its pool has not failed"),
    ],
)
def test_only_launches_that_were_tried_before_are_tried_last(world: World, changes: dict[str, Any], last: bool) -> None:
    break_sagemaker(world, P5)
    world.submit("a")
    world.tick()
    at_each_probe(world, 1)
    assert pool_record(world).backoffs == 2
    ledger = read_ledger(world.table)
    launcher = world.launcher()
    launcher.holder = "own"
    launcher.update(ledger)
    (attempt,) = ledger.attempts
    assert launcher.is_tried_last(attempt.model_copy(update={"unanswered_ms": None, **changes})) is last


def test_what_was_tried_before_is_launched_in_the_same_tick_as_the_others(world: World) -> None:
    world = World(pools={P5: 4})
    real, tried = world.fleet.call, break_sagemaker(world, P5)
    world.submit("a")
    world.tick()
    at_each_probe(world, 1)
    world.fleet.call = real  # type: ignore[method-assign]
    world.submit("b")
    at_each_probe(world, 1)
    assert tried == ["a", "a"]
    assert world.called("CreateTrainingJob")[-2:] == ["b", "a"]
    assert world.states("a", "b") == {"a": "running", "b": "running"}


def test_a_job_that_has_to_stop_is_settled_although_its_pool_backs_off(world: World) -> None:
    break_sagemaker(world, P5)
    world.submit("a")
    world.tick()
    world.commands.stop("a", ROOT)
    world.now_s += 40
    world.tick()
    assert world.states("a") == {"a": "stopping"}, "SageMaker may have launched it, and not show it yet"
    world.now_s += VISIBLE_AFTER_S
    world.tick()
    assert world.states("a") == {"a": "stopped"}
    world.check()


def test_a_pool_that_already_backs_off_does_not_restart_its_back_off(world: World) -> None:
    world.tick()
    backoffs = PoolBackoff(world.table, lambda: 0.0)
    backoffs.begin({P5: 1}, "first", world.clock())
    first = pool_record(world)
    assert first.backoff_until_ms == world.clock() + FIRST_BACK_OFF_S * 1000
    # Another invocation had a launch in progress, and gets no response either.
    PoolBackoff(world.table, lambda: 0.0).begin({P5: 1}, "second", world.clock() + 1000)
    assert pool_record(world) == first
    assert backoffs.is_backing_off({P5: 1}, first.backoff_until_ms - 1)
    assert not backoffs.is_backing_off({P5: 1}, first.backoff_until_ms)
    PoolBackoff(world.table, lambda: 0.0).begin({P5: 1}, "third", first.backoff_until_ms)
    assert (pool_record(world).backoffs, pool_record(world).backoff_cause) == (2, "third")


def test_a_back_off_found_by_a_conflicting_begin_also_blocks(world: World) -> None:
    world.tick()
    PoolBackoff(world.table, lambda: 0.0).begin({P5: 1}, "first", world.clock())
    late = PoolBackoff(world.table, lambda: 0.0)
    late.begin({P5: 1}, "second", world.clock() + 1000)
    assert late.is_backing_off({P5: 1}, world.clock() + 2000)


pools = st.builds(
    PoolRecord,
    pool=st.just(P5),
    size=st.just(1),
    free=st.just(1),
    backoff_until_ms=st.integers(0, 10**13),
    backoffs=st.integers(0, 10_000),
)


@given(pools, st.integers(0, 10**13), st.floats(0, 1))
def test_back_offs_are_bounded_and_grow_only_consecutively(pool: PoolRecord, now_ms: int, jitter: float) -> None:
    until_ms, backoffs = next_back_off(pool, now_ms, jitter)
    assert FIRST_BACK_OFF_S * 500 <= until_ms - now_ms <= MAX_MS
    assert backoffs == (1 if now_ms > pool.backoff_until_ms + MAX_MS else pool.backoffs + 1)


@pytest.mark.parametrize(
    ("backoffs", "jitter", "lasts_s"),
    [(0, 0.0, 10), (1, 0.0, 20), (5, 0.0, 320), (6, 0.0, 600), (60, 0.0, 600), (0, 1.0, 5)],
)
def test_back_offs_double_up_to_a_limit(backoffs: int, jitter: float, lasts_s: int) -> None:
    pool = PoolRecord(pool=P5, size=1, free=1).model_copy(update={"backoffs": backoffs})
    assert next_back_off(pool, 1000, jitter) == (1000 + lasts_s * 1000, backoffs + 1)


@pytest.mark.parametrize(
    ("codes", "wait_s"),
    [
        ((), 10),
        (("Entered",), 10),
        (("Entered", "Started"), 10),
        (("Started", "LaunchPostponed", "Started"), 20),
        (("Started", "LaunchPostponed") * 2, 40),
        (("Started", "LaunchPostponed") * 3, 60),
        (("Started", "LaunchPostponed") * 25, 60),
        # Another step begins a new row: the job was launched, or changed by a user.
        (("Started", "LaunchPostponed", "Started", "Preempted", "ReturnedToLine", "Started"), 10),
        (("Started", "LaunchPostponed", "Held", "Released", "Started"), 10),
        (("Started", "LaunchPostponed", "PriorityChanged", "Started", "LaunchPostponed", "Started"), 20),
    ],
)
def test_postponements_in_a_row_double_the_wait_up_to_a_minute(codes: tuple[str, ...], wait_s: int) -> None:
    reasons = [ReasonRecord(code=ReasonCode(code), message="m") for code in codes]
    history = [Step(time_ms=0, job_state=JobState.PENDING, reason=reason) for reason in reasons]
    assert next_postponement_s(history) == wait_s
