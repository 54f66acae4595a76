"""An operator has a training job stopped that did not come through the queue, or that it has lost its record of."""

from __future__ import annotations

import pytest

from headway_service.errors import Conflict, RetryLater, RogueJobNotFound
from headway_service.jobs.rogue_stops import RogueJobStops
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.tracking.rogue_scan import MAX_DESCRIBED
from tests.service.tracking.test_rogue_jobs import configure, create, reason, refuse, rogue_of, rogues, world_of
from tests.service.world import World


def seen(world: World, *names: str, tags: dict[str, str] | None = None) -> None:
    """Training jobs run past the queue, and their tags can be relied on."""
    for name in names:
        create(world, name, Tags=[{"Key": key, "Value": value} for key, value in (tags or {}).items()])
    world.pass_time(VISIBLE_AFTER_S)
    world.patrol()


def test_the_next_scan_stops_exactly_the_jobs_that_an_operator_requested() -> None:
    world = world_of()
    seen(world, "past", "other")
    assert RogueJobStops(world.table, world.clocks).ask("past", "user/ada").stop_asked_by == "user/ada"
    assert world.called("StopTrainingJob") == []
    world.patrol()
    assert world.called("StopTrainingJob") == ["past"]
    assert reason(world, "past") == (
        "OutsideAndStopped",
        (
            "did not come through the queue; is being stopped, as user/ada asked for it; submit it with "
            "`headway submit`; uses 1 ml.p5.48xlarge of its pools"
        ),
    )
    world.pass_time(600)
    assert rogues(world).keys() == {"other"}
    world.check()


def test_a_repeated_request_changes_nothing() -> None:
    world = world_of()
    seen(world, "past")
    RogueJobStops(world.table, world.clocks).ask("past", "user/ada")
    world.patrol()
    before = rogue_of(world, "past")
    assert RogueJobStops(world.table, world.clocks).ask("past", "user/bob") == before == rogue_of(world, "past")


@pytest.mark.parametrize("name", ["nobody", "a"])
def test_an_unseen_or_own_training_job_is_not_found(name: str) -> None:
    world = world_of()
    world.submit("a")
    world.tick()
    with pytest.raises(RogueJobNotFound, match=f"`headway stop {name}`"):
        RogueJobStops(world.table, world.clocks).ask(name, "user/ada")


def test_concurrent_changes_are_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of()
    seen(world, "past")
    known = rogue_of(world, "past")
    write, left = world.table.write, [Conflict([0])]

    def fail(writes: object) -> None:
        if left:
            raise left.pop()
        write(writes)  # type: ignore[arg-type]

    monkeypatch.setattr(world.table, "write", fail)
    assert RogueJobStops(world.table, world.clocks).ask("past", "user/ada").stop
    left[:] = [Conflict([0])] * 100
    monkeypatch.setattr(RogueJobRecord, "parse", classmethod(lambda cls, item: known))
    with pytest.raises(RetryLater):
        RogueJobStops(world.table, world.clocks).ask("past", "user/ada")


def test_a_requested_stop_is_tried_immediately_after_a_failed_stop_of_the_policy() -> None:
    world = world_of(rogues={"action": "stop"})
    allowed = world.fleet.call
    refuse(world, "StopTrainingJob", "AccessDeniedException")
    seen(world, "past")
    world.fleet.call = allowed  # type: ignore[method-assign]
    world.patrol()
    assert len(world.called("StopTrainingJob")) == 1
    RogueJobStops(world.table, world.clocks).ask("past", "user/ada")
    world.patrol()
    assert len(world.called("StopTrainingJob")) == 2
    world.pass_time(600)
    assert rogues(world) == {}


def test_requests_of_an_operator_are_processed_first() -> None:
    world = world_of()
    seen(world, *(f"r{number:02d}" for number in range(MAX_DESCRIBED)))
    RogueJobStops(world.table, world.clocks).ask(f"r{MAX_DESCRIBED - 1}", "user/ada")
    configure(world, rogues={"charge": False})
    world.patrol()
    assert world.called("StopTrainingJob") == [f"r{MAX_DESCRIBED - 1}"]


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ({}, "AllowStoppingRogueJobs=true"),
        ({JOB_TAG: "a", ATTEMPT_TAG: "queue/0123"}, "StopLostAttempts"),
        ({JOB_TAG: "a", ATTEMPT_TAG: "other-queue/0123"}, "another queue"),
        ({JOB_TAG: "a"}, "another queue"),
    ],
    ids=["no mark", "a mark of this queue", "a mark of another queue", "the tag of a job alone"],
)
def test_a_stop_that_the_deployment_forbids_is_refused_with_the_remedy(tags: dict[str, str], words: str) -> None:
    world = world_of()
    refuse(world, "StopTrainingJob", "AccessDeniedException")
    seen(world, "past", tags=tags)
    RogueJobStops(world.table, world.clocks).ask("past", "user/ada")
    world.patrol()
    code, text = reason(world, "past")
    assert code == "OutsideAndNotStopped"
    assert "should be stopped, as user/ada asked for it, but" in text
    assert words in text
