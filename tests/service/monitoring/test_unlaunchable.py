"""The gauge of jobs that SageMaker has not launched for long."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from headway_sandbox.sagemaker.faults import Faults
from headway_service.admission.submission import Submission
from headway_service.monitoring import gauges, queue_depth, unlaunchable
from headway_service.observability import metrics
from headway_service.observability.metrics import UNLAUNCHABLE, UNLAUNCHABLE_BY_CODE, UNLAUNCHABLE_IN_POOL, Metric
from headway_service.pools.operations import PoolOperations
from headway_service.ports.table import Item, Key
from headway_service.store.ledger import read_ledger
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
MINUTE_S = 60
LONG = {"SANDBOX_RUN_SECONDS": "900000"}
REFUSED = "ResourceLimitExceeded"


class Metered(MemoryTable):
    """A table that notes its reads, and how many items each has given."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: Counter[tuple[str, int]] = Counter()

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        found = super().query(pk, prefix=prefix, after=after, limit=limit)
        self.reads["query", len(found)] += 1
        return found

    def query_for_display(self, pk: str, *, prefix: str = "", limit: int) -> tuple[Item, ...]:
        found = super().query_for_display(pk, prefix=prefix, limit=limit)
        self.reads["display", len(found)] += 1
        return found

    def get_all(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        self.reads["get_all", len(keys)] += 1
        return super().get_all(keys)


def ticks(world: World, minutes: int) -> None:
    """Let time pass, with a run of reconcile and a tick in each minute."""
    for _ in range(minutes):
        world.pass_time(MINUTE_S)
        world.reconcile()
        world.tick()


def measured(world: World) -> dict[tuple[Metric, str], float]:
    found = gauges.gauges(world.table, read_ledger(world.table), world.clock(), world.machine_clock(), 300)
    return {(each.metric, each.which): each.value for each in found if metrics.is_published(each)}


def counted(world: World) -> dict[str, float]:
    """What the gauge shows: in all, by pool and by code."""
    ours = {UNLAUNCHABLE: "all", UNLAUNCHABLE_IN_POOL: "", UNLAUNCHABLE_BY_CODE: ""}
    return {which or ours[metric]: value for (metric, which), value in measured(world).items() if metric in ours}


def refusing(pools: dict[str, int] | None = None, table: MemoryTable | None = None, **faults: Any) -> World:
    """A queue in an account whose quotas are lower than its pools."""
    world = World(pools=pools or {P5: 4}, table=table)
    world.fleet.faults = Faults(**(faults or {"quotas": {P5: 1}}))
    world.tick()
    return world


def test_a_job_counts_when_it_has_been_unlaunchable_for_ten_minutes() -> None:
    world = refusing()
    world.submit("big", ResourceConfig=on(2))
    world.tick()
    ticks(world, 10)
    assert world.seen("big").job.is_unlaunchable(world.clock())
    assert counted(world) == {}
    ticks(world, 6)
    assert counted(world) == {"all": 1, P5: 1, REFUSED: 1}


def test_a_job_that_is_refused_for_the_instances_of_others_counts_too() -> None:
    world = refusing(quotas={P5: 2})
    world.submit("runs", ResourceConfig=on(1), Environment=LONG)
    world.tick()
    world.submit("waits", ResourceConfig=on(2))
    ticks(world, 16)
    assert counted(world) == {"all": 1, P5: 1, REFUSED: 1}


def test_it_counts_while_no_instance_is_free_and_behind_jobs_that_wait_for_these() -> None:
    world = refusing()
    world.submit("big", 1, ResourceConfig=on(2))
    ticks(world, 3)
    world.fleet.faults = Faults()
    world.submit("runs", 9, ResourceConfig=on(4), Environment=LONG)
    world.tick()
    for number in range(30):
        world.submit(f"next-{number}", 8, ResourceConfig=on(4), Environment=LONG)
    ticks(world, 16)
    assert read_ledger(world.table).pools[0].free == 0
    assert counted(world) == {"all": 1, P5: 1, REFUSED: 1}


def test_a_job_without_capacity_counts_by_its_cause_and_while_it_is_tried_again() -> None:
    world = refusing({P5: 1}, capacity={P5: 0}, capacity_wait_s=900)
    world.submit("a")
    ticks(world, 40)
    seen: Counter[str] = Counter()
    for _ in range(60):
        ticks(world, 1)
        seen[world.seen("a").job.job_state] += 1
        assert counted(world) == {"all": 1, P5: 1, "capacity": 1}
    assert set(seen) == {"running", "pending"}


def test_a_job_that_has_got_its_instances_or_is_held_does_not_count() -> None:
    world = refusing({P5: 4}, quotas={P5: 0})
    world.submit("later", Environment=LONG)
    world.submit("held", Environment=LONG)
    ticks(world, 20)
    assert counted(world)["all"] == 2
    world.commands.hold("held", ROOT)
    assert counted(world)["all"] == 1
    world.fleet.faults = Faults()
    ticks(world, 15)
    assert world.states("later") == {"later": "running"}
    assert counted(world) == {}


@pytest.mark.parametrize(("quotas", "shown"), [({P5: 0}, {}), ({P5: 0, G5: 0}, {"all": 1, P5: 1, G5: 1, REFUSED: 1})])
def test_a_job_counts_only_if_each_of_its_alternatives_is_unlaunchable(
    quotas: dict[str, int], shown: dict[str, float]
) -> None:
    world = refusing({P5: 1, G5: 1}, quotas={P5: 0})
    world.submit("taken", ResourceConfig=on(1, G5), Environment=LONG)
    world.tick()
    other = [{"ResourceConfig": on(1, G5)}]
    world.submitter.submit(Submission(request=request("flexible", Environment=LONG), alternatives=other), ROOT)
    world.fleet.faults = Faults(quotas=quotas)
    if G5 in quotas:
        world.commands.stop("taken", ROOT)
    ticks(world, 20)
    assert counted(world) == shown


@pytest.mark.parametrize("what", [P5, "*"])
def test_a_job_of_a_paused_pool_does_not_count(what: str) -> None:
    world = refusing()
    world.submit("big", ResourceConfig=on(2))
    ticks(world, 20)
    pauses = PoolOperations(
        table=world.table, wake=world.wakes.append, clocks=world.clocks, configuration=world.configured
    )
    pauses.pause(what, "user/ada", "the quota is being raised")
    assert counted(world) == {}
    pauses.resume(what, "user/ada")
    assert counted(world)["all"] == 1


def test_launches_that_failed_with_another_size_of_the_pool_do_not_count() -> None:
    world = refusing()
    world.submit("big", ResourceConfig=on(2))
    ticks(world, 20)
    assert counted(world)["all"] == 1
    world.configuration.write({"pools": {P5: {"size": 3}}})
    world.fleet.faults = Faults(throttle={"CreateTrainingJob": 10_000})
    world.tick()
    assert counted(world) == {}


@pytest.mark.parametrize(("minutes", "counts"), [(0, True), (20, False)])
def test_a_job_that_is_due_for_a_further_try_could_start_only_if_it_is_not_unlaunchable(
    minutes: int, counts: bool
) -> None:
    world = refusing()
    world.submit("big", ResourceConfig=on(2))
    world.tick()
    ticks(world, minutes)
    world.pass_time(11 * MINUTE_S if minutes else 30)
    assert world.seen("big").job.is_unlaunchable(world.clock()) is not counts
    assert measured(world).get((metrics.STARTABLE, ""), 0) == counts
    world.submit("small", ResourceConfig=on(1))
    assert measured(world)[metrics.STARTABLE, ""] == 1 + counts
    launched = len(world.called("CreateTrainingJob"))
    world.tick()
    assert len(world.called("CreateTrainingJob")) == launched + 2


def test_unlaunchable_jobs_are_named_with_their_codes(caplog: pytest.LogCaptureFixture) -> None:
    world = refusing()
    world.submit("big", ResourceConfig=on(2))
    ticks(world, 20)
    with caplog.at_level(logging.WARNING):
        measured(world)
    (told,) = [each for each in caplog.records if each.message == "jobs are unlaunchable"]
    assert (vars(told)["count"], vars(told)["names"]) == (1, [f"big: {REFUSED}"])


def test_nothing_more_is_read_unless_a_job_is_just_tried_again() -> None:
    table = Metered()
    world = refusing({P5: 1}, table=table, capacity={P5: 0}, capacity_wait_s=900)
    world.submit("a")
    reads = []
    for count in (1, 40):
        ticks(world, count)
        while world.states("a") != {"a": "running"}:
            ticks(world, 1)
        table.reads.clear()
        measured(world)
        reads.append([each for each in table.reads.elements() if each[0] == "get_all"])
    assert reads == [[], [("get_all", 1)]]


def test_only_so_many_jobs_that_are_tried_again_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    world = refusing({P5: 1, G5: 1}, capacity={P5: 0, G5: 0}, capacity_wait_s=900)
    world.submit("a")
    world.submit("b", ResourceConfig=on(1, G5))
    ticks(world, 40)
    while len(read_ledger(world.table).attempts) < 2:
        ticks(world, 1)
    assert counted(world)["all"] == 2
    monkeypatch.setattr(unlaunchable, "MAX_TRIED_AGAIN", 1)
    assert counted(world)["all"] == 1


def test_a_job_behind_all_that_the_gauges_read_of_a_queue_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    world = refusing()
    for number in range(3):
        world.submit(f"big-{number}", ResourceConfig=on(2))
    ticks(world, 20)
    assert counted(world)["all"] == 3
    monkeypatch.setattr(queue_depth, "MAX_COUNTED", 2)
    assert counted(world)["all"] == 2
