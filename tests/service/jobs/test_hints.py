"""What `why` proposes is in the words of the request, and starts the job."""

from __future__ import annotations

import re
from typing import Any

import pytest

from headway.reasons import ReasonCode
from tests.service.world import P5, ROOT, World

HOUR_S = 3600


def two(count: int = 2) -> dict[str, Any]:
    return {"InstanceType": P5, "InstanceCount": count, "VolumeSizeInGB": 10}


def limited(run_s: int) -> dict[str, int]:
    return {"MaxRuntimeInSeconds": run_s}


@pytest.fixture
def world() -> World:
    """One of two instances is held for an hour at most, and the next job needs both."""
    world = World(pools={P5: 2})
    world.submit("runs", 9, StoppingCondition=limited(HOUR_S))
    world.tick()
    world.submit("wide", 5, ResourceConfig=two())
    return world


def hint(world: World, name: str) -> int | None:
    view = world.seen(name)
    assert view.reason.code == ReasonCode.WOULD_DELAY
    found = re.search(r"MaxRuntimeInSeconds\) of (\d+) s", view.reason.message)
    return int(found[1]) if found else None


def test_a_job_with_the_run_time_that_is_proposed_starts(world: World) -> None:
    world.submit("long", StoppingCondition=limited(9 * HOUR_S))
    run_s = hint(world, "long")
    assert run_s is not None
    world.commands.stop("long", ROOT)
    world.submit("longer", StoppingCondition=limited(run_s + 1))
    world.tick()
    assert world.states("longer") == {"longer": "pending"}
    world.commands.stop("longer", ROOT)
    world.submit("short", StoppingCondition=limited(run_s))
    world.tick()
    assert "short" in world.called("CreateTrainingJob")
    world.check()


def test_nothing_is_proposed_to_a_spot_job_whose_limit_is_another_member(world: World) -> None:
    world.submit(
        "spot",
        EnableManagedSpotTraining=True,
        StoppingCondition={"MaxRuntimeInSeconds": HOUR_S, "MaxWaitTimeInSeconds": 9 * HOUR_S},
        CheckpointConfig={"S3Uri": "s3://bucket/checkpoints"},
    )
    assert hint(world, "spot") is None
