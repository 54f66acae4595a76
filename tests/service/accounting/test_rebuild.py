"""What a comparison of the jobs with the sums says of the jobs that it cannot read."""

from __future__ import annotations

from headway_service.accounting.rebuild import rebuild
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable
from tests.service.forgetting.test_owner import ADA, accountant, queue


def test_damaged_jobs_are_named_and_all_others_are_compared() -> None:
    world = queue(ADA, ADA)
    assert isinstance(world.table, MemoryTable)
    key = JobRecord.key("job-0")
    world.table._store(key, {**(world.table.get(key) or {}), "history": "damaged"})
    found = rebuild(world.table, lambda: accountant(world), None)
    assert (found.compared, found.repaired, found.unreadable) == (1, 1, ("job-0",))
