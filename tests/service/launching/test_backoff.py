"""A pool backs off while SageMaker takes no launches there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.lifecycle import AttemptState
from headway.reasons import ReasonCode
from headway_sandbox.errors import AwsError
from headway_service.errors import OutcomeUnknown
from headway_service.launching.backoff import (
    FIRST_BACK_OFF_S,
    MAX_BACK_OFF_S,
    MAX_CAUSE_CHARS,
    STEADY_BACK_OFF_S,
    PoolBackoff,
    next_back_off,
)
from headway_service.launching.proofs import MAX_UNANSWERED
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.ledger import ROW_MS, PoolRecord
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


def test_a_launch_without_an_answer_counts_for_its_own_job_first(world: World) -> None:
    tried = fail_for_ever(world, "a")
    for name in ("a", "b"):
        world.submit(name)
    world.tick()
    assert tried == ["a", "b"]
    assert world.states("a", "b") == {"a": "running", "b": "running"}
    assert pool_record(world).backoffs == 0


def test_a_second_job_without_an_answer_lets_the_pool_back_off(world: World) -> None:
    world = World(pools={P5: 3, G5: 2})
    tried = break_sagemaker(world, P5)
    for name in ("a", "b", "c"):
        world.submit(name)
    world.submit("other", ResourceConfig=on(1, G5))
    world.tick()
    assert tried == ["a", "b"]
    assert world.states("c", "other") == {"c": "pending", "other": "running"}
    seen = world.seen("c")
    assert str(seen.reason.code) == "BacksOff"
    assert seen.reason.message.startswith(f"SageMaker gave no answer to a launch on 1 {P5} (ServiceUnavailable")
    assert f"; next try in {FIRST_BACK_OFF_S} s, the place in the queue is kept" in seen.reason.message
    assert len(pool_record(world).backoff_cause) <= MAX_CAUSE_CHARS
    world.check()


def test_no_job_is_preempted_for_a_pool_in_which_the_last_launch_had_no_answer(world: World) -> None:
    world.submit("low", 1)
    world.tick()
    break_sagemaker(world, P5)
    world.submit("a", 5)
    world.tick()
    assert pool_record(world).backoffs == 0
    world.submit("urgent", 9, ResourceConfig=on(2))
    world.tick()
    assert world.states("low", "urgent") == {"low": "running", "urgent": "pending"}
    assert "while SageMaker gives no clear answers to launches" in world.seen("urgent").reason.message


def silence(world: World) -> list[str]:
    """Let SageMaker answer nothing. Returns the operations that are called, as they come."""
    called: list[str] = []

    def call(name: str, body: Mapping[str, Any], *, now: float) -> Any:
        called.append(name)
        raise AwsError("ServiceUnavailable", "", status=503)

    world.fleet.call = call  # type: ignore[method-assign,assignment]
    return called


@pytest.mark.parametrize("outage_min", [5, 60, 300])
def test_after_an_outage_a_pool_idles_for_a_minute_or_a_tenth_of_it_and_little_is_left_unsettled(
    outage_min: int,
) -> None:
    world = World(pools={P5: 8})
    real = world.fleet.call
    called = silence(world)
    for number in range(8):
        world.submit(f"j{number}", Environment={"SANDBOX_RUN_SECONDS": "999999"})
    for _ in range(outage_min):
        world.tick()
        world.now_s += 60
    assert len(read_ledger(world.table).attempts) == 2, "what was launched before the first back-off"
    assert called.count("CreateTrainingJob") <= 2 * MAX_UNANSWERED
    assert called.count("DescribeTrainingJob") <= outage_min
    world.fleet.call = real  # type: ignore[method-assign]
    idle_s = 0
    while sum(world.fleet.in_use().values()) < 6:
        assert idle_s <= max(60, outage_min * 6) + 60, "a tick a minute"
        world.now_s += 5
        idle_s += 5
        if idle_s % 60 == 0:
            world.tick()
    world.now_s += VISIBLE_AFTER_S + 60
    world.tick()
    world.now_s += 60
    world.tick()
    assert sum(world.fleet.in_use().values()) == 8
    world.check()


def fail_for_ever(world: World, *names: str) -> list[str]:
    """Let the launches of some jobs fail without an answer. Returns the names of all that are tried, as they come."""
    real, tried = world.fleet.call, []
    poison = tuple(f"{name}-" for name in names)

    def call(name: str, body: Mapping[str, Any], *, now: float) -> Any:
        if name == "CreateTrainingJob":
            tried.append(body["TrainingJobName"])
            if body["TrainingJobName"] in names or body["TrainingJobName"].startswith(poison):
                raise AwsError("InternalFailure", "of this request", status=500)
        return real(name, body, now=now)

    world.fleet.call = call  # type: ignore[method-assign,assignment]
    return tried


@pytest.mark.parametrize("poison", [("x",), ("x", "y")], ids=["one", "two"])
def test_a_launch_that_fails_for_ever_keeps_no_other_job_of_its_pool_from_starting(poison: tuple[str, ...]) -> None:
    world = World(pools={P5: len(poison)})
    tried = fail_for_ever(world, *poison)
    for name in poison:
        world.submit(name, 5)
    for number in range(4):
        world.submit(f"j{number}", Environment={"SANDBOX_RUN_SECONDS": "600"})
    for _ in range(90):
        world.tick()
        world.check()
        world.pass_time(60, tick=False)
    assert set(world.states("j0", "j1", "j2", "j3").values()) == {"completed"}
    assert set(world.states(*poison).values()) <= {"pending", "running"}
    of_poison = [name for name in tried if not name.startswith("j")]
    assert len(of_poison) <= 90 * len(poison) // 3, "each try holds its instances for minutes"
    reasons = [world.seen(name).reason for name in poison]
    assert any(each.code is ReasonCode.UNLAUNCHABLE for each in reasons) or len(of_poison) > 4


def test_a_launch_is_sent_twice_and_then_only_asked_about(world: World) -> None:
    tried = fail_for_ever(world, "a")
    world.submit("a")
    for _ in range(4):
        world.tick()
        world.now_s += 60
    assert tried == ["a"] * MAX_UNANSWERED
    assert world.called("DescribeTrainingJob")


def test_a_launch_that_took_effect_without_an_answer_is_found_by_asking(world: World) -> None:
    real = world.fleet.call

    def call(name: str, body: Mapping[str, Any], *, now: float) -> Any:
        if name == "CreateTrainingJob":
            if world.called(name) == ["a"]:
                real(name, body, now=now)
            raise AwsError("InternalFailure", "after the effect", status=500)
        return real(name, body, now=now)

    world.fleet.call = call  # type: ignore[method-assign,assignment]
    world.submit("a")
    for _ in range(6):
        world.tick()
        world.now_s += 60
    (attempt,) = read_ledger(world.table).attempts
    assert attempt.attempt_state is AttemptState.LIVE
    world.check()


def test_an_accepted_launch_ends_the_row(world: World) -> None:
    fail_for_ever(world, "x")
    world.submit("x", 5)
    world.tick()
    assert (pool_record(world).unclear_job, pool_record(world).backoff_since_ms > 0) == ("x", True)
    world.submit("a")
    world.tick()
    assert (pool_record(world).unclear_job, pool_record(world).backoff_since_ms) == ("", 0)


def test_a_launch_that_is_found_after_its_answer_was_lost_ends_the_row(world: World) -> None:
    """Otherwise nobody could preempt in a full pool, where no other launch can end it."""
    for name in ("a", "b"):
        world.fleet.faults = world.fleet.faults.with_changes({"lose_answer": {"CreateTrainingJob": 1}})
        world.submit(name, 1)
        world.tick()
    assert pool_record(world).unclear_job
    world.submit("urgent", 9, ResourceConfig=on(2))
    for _ in range(3):
        world.now_s += 60
        world.tick()
    assert world.states("a", "b") == {"a": "stopping", "b": "stopping"}


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
    backoffs.begin({P5: 1}, OutcomeUnknown("first"), world.clock())
    first = pool_record(world)
    assert first.backoff_until_ms == world.clock() + FIRST_BACK_OFF_S * 1000
    # Another invocation had a launch in progress, and gets no response either.
    PoolBackoff(world.table, lambda: 0.0).begin({P5: 1}, OutcomeUnknown("second"), world.clock() + 1000)
    assert pool_record(world) == first
    assert backoffs.is_backing_off({P5: 1}, first.backoff_until_ms - 1)
    assert not backoffs.is_backing_off({P5: 1}, first.backoff_until_ms)
    PoolBackoff(world.table, lambda: 0.0).begin({P5: 1}, OutcomeUnknown("third"), first.backoff_until_ms)
    assert (pool_record(world).backoffs, pool_record(world).backoff_cause) == (
        2,
        "SageMaker gave no answer to a launch on 1 ml.p5.48xlarge (third)",
    )


def test_a_back_off_found_by_a_conflicting_begin_also_blocks(world: World) -> None:
    world.tick()
    PoolBackoff(world.table, lambda: 0.0).begin({P5: 1}, OutcomeUnknown("first"), world.clock())
    late = PoolBackoff(world.table, lambda: 0.0)
    late.begin({P5: 1}, OutcomeUnknown("second"), world.clock() + 1000)
    assert late.is_backing_off({P5: 1}, world.clock() + 2000)


pools = st.builds(
    PoolRecord,
    pool=st.just(P5),
    size=st.just(1),
    free=st.just(1),
    backoff_until_ms=st.integers(0, 10**13),
    backoff_since_ms=st.integers(0, 10**13),
    backoffs=st.integers(0, 10_000),
)


@given(pools, st.integers(0, 10**13), st.floats(0, 1))
def test_back_offs_are_bounded_and_grow_only_consecutively(pool: PoolRecord, now_ms: int, jitter: float) -> None:
    until_ms, backoffs = next_back_off(pool, now_ms, jitter)
    assert FIRST_BACK_OFF_S * 500 <= until_ms - now_ms <= MAX_MS
    in_a_row = pool.backoff_since_ms and now_ms <= pool.backoff_until_ms + ROW_MS
    assert backoffs == (pool.backoffs + 1 if in_a_row else 1)


@pytest.mark.parametrize(
    ("backoffs", "since_s", "jitter", "lasts_s"),
    [
        (0, 0, 0.0, 10),
        (1, 20, 0.0, 20),
        (2, 50, 0.0, 40),
        (3, 100, 0.0, STEADY_BACK_OFF_S),
        (9, 600, 0.0, STEADY_BACK_OFF_S),
        (12, 1200, 0.0, 120),
        (60, 36_000, 0.0, MAX_BACK_OFF_S),
        (0, 0, 1.0, 5),
    ],
)
def test_back_offs_double_up_to_a_minute_or_a_tenth_of_the_outage(
    backoffs: int, since_s: int, jitter: float, lasts_s: int
) -> None:
    now_ms = 100_000_000
    pool = PoolRecord(pool=P5, size=1, free=1, backoffs=backoffs, backoff_since_ms=now_ms - since_s * 1000)
    pool = pool.model_copy(update={"backoff_until_ms": now_ms - 1})
    assert next_back_off(pool, now_ms, jitter) == (now_ms + lasts_s * 1000, backoffs + 1)
