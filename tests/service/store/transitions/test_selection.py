"""The transition of an attempt to the pool that SageMaker has selected."""

from __future__ import annotations

from typing import Any

from headway.lifecycle import JobState
from headway_service.ports.table import Equals, Put, Update, Write
from headway_service.store import transitions
from headway_service.store.records.capacity.ledger import PoolRecord, ReservationRecord
from tests.service.store.builders import NOW_MS, WAS, attempt, job, records
from tests.service.world import P5

G5, CPU = "ml.g5.xlarge", "ml.c5.xlarge"
DEMAND = {P5: 2, G5: 3, CPU: 1}


def select(**more: Any) -> list[Write]:
    known: dict[str, Any] = {"preemptor": None, "reservation": None, **more}
    freed = known.pop("freed", {})
    held = attempt(demand=DEMAND, one_of=True, freed=freed)
    moved, writes = transitions.select_pool(job(), held, G5, known["preemptor"], known["reservation"], NOW_MS)
    assert (moved.demand, moved.one_of, moved.version) == ({G5: 3}, False, WAS + 1)
    return writes


def returned(writes: list[Write]) -> dict[str, Any]:
    return {each.key.sk: each.adds for each in writes if isinstance(each, Update)}


def adds(**counts: int) -> dict[str, Any]:
    names = {"p5": P5, "cpu": CPU}
    return {PoolRecord.key(names[pool]).sk: {"free": count} for pool, count in counts.items()}


def test_the_job_and_the_attempt_are_as_they_were_read_and_the_other_pools_get_their_instances_back() -> None:
    writes = select()
    assert [each.requires for each in records(writes)] == [Equals("version", WAS)] * 2
    assert returned(writes) == adds(cpu=1, p5=2)


def test_what_was_earmarked_in_other_pools_is_reserved_for_the_preemptor_that_still_lacks_it() -> None:
    preemptor = job(JobState.PENDING, job_name="b", demand={P5: 2, G5: 1})
    known = ReservationRecord(job_name="b", demand={P5: 1}, version=WAS)
    for reservation, kept, left in ((None, {P5: 2}, adds(cpu=1)), (known, {P5: 2}, adds(cpu=1, p5=1))):
        writes = select(freed={P5: 2, G5: 1}, preemptor=preemptor, reservation=reservation)
        assert returned(writes) == left
        reserved = [each.item for each in writes if isinstance(each, Put) and each.item["jobName"] == "b"]
        assert [each["demand"] for each in reserved] == [kept]
        (stored,) = [each.item for each in writes if isinstance(each, Put) and "attemptName" in each.item]
        assert stored["freed"] == {G5: 1}


def test_nothing_is_reserved_for_a_preemptor_that_left() -> None:
    writes = select(freed={P5: 2})
    assert returned(writes) == adds(cpu=1, p5=2)
    assert len(records(writes)) == 2
