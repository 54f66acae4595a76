"""Many requests in one call."""

from __future__ import annotations

from itertools import count
from unittest.mock import Mock

import pytest

from headway_service.errors import RequestError
from headway_service.jobs import submit_group
from headway_service.jobs.submit import Submitter
from headway_service.jobs.submit_batch import BATCH_RESERVE_MS, Accepted, submit_all
from headway_service.ports.messaging import Wake
from headway_service.store.queue_tail import MAX_TAIL
from headway_service.store.records.queue_entry import QueueEntry
from tests.service.world import ADA, P5, World, request


def submitter_of(world: World, wake: Wake) -> Submitter:
    return Submitter(
        table=world.table,
        wake=wake,
        clocks=world.clocks,
        in_force=world.in_force,
        reuse=world.container.reuse,
        run_times=world.container.run_times.get,
    )


def submit(world: World, *requests: object, remaining_ms: int = 20_000) -> list[Accepted | RequestError]:
    """Each read of the remaining time takes a second of it."""
    left = count(remaining_ms, -1000)
    return submit_all(
        requests,
        ADA,
        None,
        call="POST /job-batches",
        submitter=lambda wake: submitter_of(world, wake),
        wake=world.wakes.append,
        remaining_ms=lambda: next(left),
    )


def test_each_request_is_accepted_or_refused_separately_and_the_scheduler_is_woken_once() -> None:
    world = World()
    results = submit(world, request("a"), request("b", RoleArn=None), "no request", request("a", 9), request("c"))
    assert [each.code if isinstance(each, RequestError) else each.seen.job.job_name for each in results] == [
        "a",
        "InvalidRequest",
        "InvalidRequest",
        "NameInUse",
        "c",
    ]
    assert world.wakes == ["submitted 2 in a batch"]
    assert {world.seen(name).job.owner for name in ("a", "c")} == {ADA.arn}


def test_a_batch_reads_a_queue_once_and_adds_its_own_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    limits = {"waitingPerTeam": 9, "waitingPerOwner": 3}
    world.configuration.write({"pools": {P5: {"size": 2}}, "limits": limits})
    world.submitter.submit(request("before"), ADA)
    reads = {name: Mock(wraps=getattr(world.table, name)) for name in ("tail", "tally", "count_before", "keys_before")}
    for name, read in reads.items():
        monkeypatch.setattr(world.table, name, read)
    results = submit(world, *(request(f"j{i}") for i in (1, 1, 2, 3)))
    told = [each.code if isinstance(each, RequestError) else each.seen.place for each in results]
    assert told == [2, 2, 3, "QueueFull"]
    # The queue, and how far back the job is that was found there.
    assert {name: read.call_count for name, read in reads.items() if read.call_count} == {"tail": 1, "count_before": 1}


@pytest.mark.parametrize("length", [0, MAX_TAIL - 2, 3 * MAX_TAIL])
def test_a_batch_returns_the_places_of_its_jobs_after_all_are_queued(length: int) -> None:
    world = World()
    submit(world, *(request(f"old{i:02}", 2 if i % 4 else 7) for i in range(length)), remaining_ms=99_000)
    world.now_s += 1
    priorities = (2, 9, 0, 5, 2, 7)
    results = submit(world, *(request(f"new{i}", priority) for i, priority in enumerate(priorities)))
    ranks = [item["sk"] for item in world.table.query(QueueEntry.partition(P5), limit=99)]
    told = [each.seen for each in results if isinstance(each, Accepted)]
    assert [seen.place for seen in told] == [1 + ranks.index(seen.job.rank()) for seen in told]
    assert len(told) == len(priorities)


def test_the_same_request_again_is_the_same_job() -> None:
    world = World()
    results = submit(world, request("a"), request("a"))
    assert [isinstance(each, Accepted) and each.new for each in results] == [True, False]


def test_requests_without_remaining_time_are_answered_as_busy() -> None:
    world = World()
    results = submit(world, *(request(f"j{i}") for i in range(5)), remaining_ms=BATCH_RESERVE_MS + 2000)
    assert [isinstance(each, Accepted) for each in results] == [True, True, True, False, False]
    assert {each.code for each in results if isinstance(each, RequestError)} == {"Busy"}


def test_there_are_no_unnecessary_wake_ups() -> None:
    world = World()
    submit(world, "no request")
    assert world.wakes == []


def test_jobs_accepted_before_a_fault_are_scheduled(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.configured()
    good, write = iter([True, False]), world.table.write

    def failing(*args: object) -> None:
        if not next(good):
            raise OSError("the table is gone")
        write(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(world.table, "write", failing)
    monkeypatch.setattr(submit_group, "MAX_TRANSACTION_WRITES", 3)
    with pytest.raises(OSError, match="gone"):
        submit(world, request("a"), request("b"))
    assert world.wakes == ["submitted 1 in a batch"]
