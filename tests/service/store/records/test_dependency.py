"""Which ends a transition stores."""

from __future__ import annotations

from headway.dependencies import Ending
from headway_service.ports.table import Delete, Key, Put, Write
from headway_service.store.records.dependency import EndedJobRecord


def test_the_ends_that_writes_store_are_those_that_others_depend_on() -> None:
    ended = EndedJobRecord(job_name="a", ending=Ending.STOPPED, dependants=("b",))
    member = EndedJobRecord(job_name="m_0", ending=Ending.STOPPED, member_of="m")
    other = Put(item={"pk": "ledger", "sk": "pool#p", "pool": "p"})
    elsewhere = Put(item={**ended.put().item, "pk": "job#a"})
    writes: list[Write] = [ended.put(), member.put(), other, elsewhere, Delete(key=Key("ledger", "ended#c"))]
    assert EndedJobRecord.written_by(writes) == [ended]
