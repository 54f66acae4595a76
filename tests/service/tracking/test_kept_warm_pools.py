"""Which warm pool an attempt leaves, and which warm pools the policy does not keep: pure functions on records."""

from __future__ import annotations

from typing import Any

import pytest

from headway.lifecycle import AttemptState
from headway_service.config.warm_pools import KeptWarmPools
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.attempt import AttemptRecord, StopCause
from headway_service.store.records.capacity.ledger import PauseRecord, PoolRecord
from headway_service.store.records.capacity.warm_pool import WarmPoolRecord
from headway_service.tracking.warm_pools import left_by, surplus
from tests.service.world import P5

NOW_MS = 10_000_000
BOUNDED = KeptWarmPools.model_validate({"maxInstances": {P5: 1}})


def attempt(name: str = "a", **more: Any) -> AttemptRecord:
    fields: dict[str, Any] = {"attempt_state": AttemptState.STOPPING, "demand": {P5: 1}, "warm_key": "k", "keep_s": 600}
    return AttemptRecord.model_validate(
        {
            "attempt_name": name,
            "job_name": name,
            "number": 1,
            "mark": "m",
            "priority": 0,
            "entry_time": 0,
            "since_ms": 0,
            "lease_holder": "",
            "lease_until_ms": 0,
            "seen_ms": 0,
            **fields,
            **more,
        }
    )


def ended(status: str = "Completed", **more: Any) -> TrainingJobStatus:
    return TrainingJobStatus(
        **{"attempt": "a", "status": status, "secondary_status": status, "modified_ms": 0, "provisioned": True, **more}
    )


# ------------------------------------------------------------------------------------------------------------ left
@pytest.mark.parametrize(
    ("keeps", "sighting", "leaves"),
    [
        (600, ended(), True),
        (600, ended(warm_pool="Available"), True),
        (600, ended(provisioned=False), True),
        (600, ended("Failed"), True),
        (600, ended("Stopped"), True),
        (600, ended("Stopped", provisioned=False), False),
        (600, ended(warm_pool="Terminated"), False),
        (600, ended(warm_pool="Reused"), False),
        (600, None, False),
        (0, ended(), False),
    ],
    ids=[
        "a completed one",
        "one that SageMaker shows",
        "a completed one, as it must have had instances",
        "a failed one, as it may have left them",
        "a stopped one with instances",
        "not a stopped one without instances",
        "not one that SageMaker has terminated already",
        "not one that another training job uses already",
        "not one that was never launched",
        "not one that does not ask for it",
    ],
)
def test_an_attempt_leaves_a_warm_pool(keeps: int, sighting: TrainingJobStatus | None, leaves: bool) -> None:
    assert (left_by(attempt(keep_s=keeps), sighting, NOW_MS) is not None) is leaves


@pytest.mark.parametrize(
    ("stopped", "released"),
    [
        ({}, False),
        ({"stop_cause": StopCause.REQUEST}, False),
        ({"stop_cause": StopCause.PREEMPTION}, True),
        ({"stop_cause": StopCause.POLICY}, True),
        ({"stop_cause": StopCause.REQUEST, "freed_for": "high"}, True),
    ],
    ids=[
        "not of one that ended by itself",
        "not of one that a user has stopped",
        "of one that was preempted",
        "of one that the policy has stopped",
        "of one that was preempted, and then stopped by a user",
    ],
)
def test_the_warm_pool_is_released_at_once(stopped: dict[str, Any], released: bool) -> None:
    pool = left_by(attempt(**stopped), ended("Stopped"), NOW_MS)
    assert pool is not None
    assert pool.release_ms == (NOW_MS if released else None)


# --------------------------------------------------------------------------------------------------------- surplus
def warm(name: str, **more: Any) -> WarmPoolRecord:
    known: dict[str, Any] = {"demand": {P5: 1}, "warm_key": "k", "since_ms": 0, "keep_s": 600}
    return WarmPoolRecord.model_validate({"attempt_name": name, "job_name": name, **known, **more})


def surplus_of(*pools: WarmPoolRecord, free: int = 0, rules: KeptWarmPools | None = None, **more: Any) -> list[str]:
    ledger = Ledger(
        pools=(PoolRecord(pool=P5, size=4, free=free),), reservations=(), warm_pools=pools, **{"attempts": (), **more}
    )
    return [each.attempt_name for each in surplus(ledger, rules or KeptWarmPools())]


def pause(**more: Any) -> PauseRecord:
    return PauseRecord(pool=P5, by="user/ada", reason="repair", since_ms=0, **more)


def test_a_drained_pool_keeps_no_warm_pool_and_a_paused_one_does() -> None:
    assert surplus_of(warm("a"), pauses=(pause(stops=True),)) == ["a"]
    assert surplus_of(warm("a"), pauses=(pause(),)) == []


def test_no_warm_pool_is_released_for_instances_that_stopping_attempts_free() -> None:
    assert surplus_of(warm("a"), free=-1) == ["a"]
    assert surplus_of(warm("a"), free=-1, attempts=(attempt("b", stop_cause=StopCause.PREEMPTION),)) == []


def test_the_warm_pool_that_ends_first_is_released_first() -> None:
    early, late = warm("z", keep_s=300), warm("a", since_ms=1000)
    assert surplus_of(early, late, free=-1) == ["z"]
    assert surplus_of(late, early, rules=BOUNDED) == ["z"]


def test_no_more_warm_pools_are_released_than_exceed_the_size_and_the_bound() -> None:
    pools = [warm(name) for name in ("a", "b", "c")]
    assert surplus_of(*pools, free=-2) == ["a", "b"]
    assert surplus_of(*pools, rules=BOUNDED) == ["a", "b"]
    assert surplus_of(*pools, free=-1, rules=BOUNDED) == ["a", "b"]
