"""Members that SageMaker does not launch leave their places in an array to others, up to a limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import pytest

from headway.lifecycle import JobState
from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.faults import Faults
from headway_service.admission.submission import Submission
from headway_service.arrays import room
from headway_service.sagemaker_api.tags import JOB_TAG
from headway_service.store.ledger import read_ledger
from headway_service.store.records.array import ArrayRecord
from headway_service.store.repository import get_job
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
LONG = {"SANDBOX_RUN_SECONDS": "900000"}


class Denying(World):
    """A queue whose account denies the launches of some jobs."""

    def __init__(self, denied: Callable[[str], bool], **more: Any) -> None:
        self.denied = denied
        super().__init__(**more)

    def call_sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        if operation == "CreateTrainingJob":
            (job,) = [each["Value"] for each in request["Tags"] if each["Key"] == JOB_TAG]
            if self.denied(job):
                raise AwsError("AccessDeniedException", "an explicit deny", status=400)
        return super().call_sagemaker(operation, request)


def denying(*indexes: int, **more: Any) -> Denying:
    return Denying(lambda job: job in {f"sweep_{index:02d}" for index in indexes}, **more)


def sweep(world: World, count: int = 20, *, at_once: int | None = 2, **changes: Any) -> None:
    document = {"list": [{"seed": each} for each in range(count)]}
    own = {"alternatives": changes.pop("alternatives")} if "alternatives" in changes else {}
    made = request("sweep", **{"Environment": LONG, **changes})
    world.submitter.submit(Submission(request=made, sweep=document, at_once=at_once, **own), ROOT)


def minutes(world: World, count: int) -> None:
    for _ in range(count):
        world.pass_time(60)
        world.reconcile()
        world.tick()
        world.check()


def numbers(world: World) -> ArrayRecord:
    found = get_job(world.table, "sweep").array
    assert found is not None
    return found


def running(world: World) -> list[str]:
    """The members that have their instances."""
    return sorted(each.job_name for each in read_ledger(world.table).attempts if each.training_since_ms is not None)


def noted(world: World) -> list[str]:
    return sorted(each.job_name for each in read_ledger(world.table).unlaunchable)


@pytest.mark.parametrize("at_once", [2, None])
def test_members_that_are_denied_fill_no_place_of_their_array(at_once: int | None) -> None:
    world = denying(0, 1, 2)
    sweep(world, at_once=at_once)
    minutes(world, 15)
    assert running(world) == ["sweep_03", "sweep_04"]
    assert noted(world) == ["sweep_00", "sweep_01", "sweep_02"]


def test_members_that_wait_for_capacity_fill_no_place_of_their_array() -> None:
    world = World(pools={P5: 2, G5: 2})
    world.fleet.faults = Faults(capacity={P5: 0, G5: 0}, capacity_wait_s=900)
    sweep(world, at_once=1)
    minutes(world, 50)
    assert numbers(world).made > 1


def test_a_denied_array_of_many_members_makes_only_so_many_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_UNLAUNCHABLE_MEMBERS", 5)
    world = Denying(lambda _: True)
    sweep(world, 400)
    minutes(world, 90)
    assert numbers(world).made == 2 + 5
    assert len(noted(world)) == 2 + 5


def test_the_members_of_one_array_leave_no_places_to_another_one() -> None:
    world = denying(0, 1, pools={P5: 4})
    sweep(world)
    other = Submission(
        request=request("other", Environment=LONG), sweep={"list": [{"seed": each} for each in range(9)]}, at_once=2
    )
    world.submitter.submit(other, ROOT)
    minutes(world, 15)
    made = get_job(world.table, "other").array
    assert made is not None
    assert (numbers(world).made, made.made) == (4, 2)


def test_a_member_that_is_refused_for_a_moment_keeps_its_place() -> None:
    world = denying(0, 1)
    sweep(world)
    world.tick()
    world.denied = lambda _: False
    minutes(world, 10)
    assert (running(world), numbers(world).made) == (["sweep_00", "sweep_01"], 2)
    # What is noted of a member is forgotten with the end of an attempt that got instances.
    assert noted(world) == ["sweep_00", "sweep_01"]
    world.commands.stop("sweep_00", ROOT)
    minutes(world, 10)
    assert noted(world) == ["sweep_01"]
    assert running(world) == ["sweep_01", "sweep_02"]


def test_a_member_that_gets_instances_after_all_fills_a_place_again() -> None:
    world = denying(0, pools={P5: 4})
    sweep(world)
    minutes(world, 15)
    assert (running(world), numbers(world).made) == (["sweep_01", "sweep_02"], 3)
    world.denied = lambda _: False
    minutes(world, 20)
    assert running(world) == ["sweep_00", "sweep_01", "sweep_02"]
    world.commands.stop("sweep_01", ROOT)
    minutes(world, 10)
    assert (running(world), numbers(world).made) == (["sweep_00", "sweep_02"], 3)


@pytest.mark.parametrize("how", ["stop", "hold", "hold and release", "stop the array"])
def test_what_is_noted_of_a_member_ends_with_its_wait(how: str) -> None:
    world = denying(0)
    sweep(world)
    minutes(world, 15)
    assert (noted(world), numbers(world).made) == (["sweep_00"], 3)
    if how == "stop":
        world.commands.stop("sweep_00", ROOT)
    elif how == "stop the array":
        world.commands.stop("sweep", ROOT)
    else:
        world.commands.hold("sweep_00", ROOT)
        # It leaves its place to others, as any member that is held.
        minutes(world, 2)
        assert numbers(world).made == 3
        if how == "hold and release":
            world.commands.release("sweep_00", ROOT)
    assert noted(world) == (["sweep_00"] if how in {"hold", "stop the array"} else [])
    minutes(world, 3)
    if how == "stop the array":
        assert (noted(world), get_job(world.table, "sweep").job_state) == ([], JobState.STOPPED)


def test_a_member_that_another_alternative_may_start_keeps_its_place() -> None:
    world = Denying(lambda _: False, pools={P5: 2, G5: 1})
    world.fleet.faults = Faults(quotas={P5: 0})
    world.submit("taken", 9, ResourceConfig=on(1, G5), Environment=LONG)
    world.tick()
    sweep(world, alternatives=[{"ResourceConfig": on(1, G5)}])
    minutes(world, 20)
    assert (noted(world), numbers(world).made) == ([], 2)
    world.fleet.faults = Faults(quotas={P5: 0, G5: 0})
    world.commands.stop("taken", ROOT)
    minutes(world, 30)
    assert len(noted(world)) > 0
    assert numbers(world).made > 2


def test_nothing_more_is_read_or_written_for_members_that_are_launched() -> None:
    world = World()
    sweep(world)
    with mock.patch.object(MemoryTable, "write", autospec=True, side_effect=MemoryTable.write) as write:
        minutes(world, 3)
    assert noted(world) == []
    keys = {each.key.sk for call in write.call_args_list for each in call.args[1]}
    assert not [each for each in keys if each.startswith("unlaunchable#")]


def test_an_array_that_is_over_leaves_nothing_behind() -> None:
    world = denying(0)
    sweep(world, at_once=1)
    minutes(world, 15)
    (note,) = read_ledger(world.table).unlaunchable
    world.commands.stop("sweep", ROOT)
    minutes(world, 3)
    # Written by code of another time.
    world.table.write([note.put()])
    assert get_job(world.table, "sweep").ending is not None
    world.tick()
    assert noted(world) == []
