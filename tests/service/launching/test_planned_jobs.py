"""The jobs of a plan are read ahead, in few calls, and each is given out once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headway.plan import Action, Release, Start
from headway_service.launching.planned_jobs import READ_AHEAD, PlannedJobs
from headway_service.ports.table import Item, Key
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable
from tests.service.store.builders import REASON, job
from tests.service.world import P5


class Counting(MemoryTable):
    """Notes the jobs that are read by each call."""

    def __init__(self, jobs: Sequence[str]) -> None:
        super().__init__()
        self.reads: list[list[str]] = []
        for name in jobs:
            self.write([job(job_name=name).put()])

    def get_all(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        self.reads.append([key.pk.removeprefix("job#") for key in keys])
        return super().get_all(keys)


def starts(*jobs: str) -> list[Action]:
    return [Start(job=name, demand={P5: 1}, reason=REASON) for name in jobs]


def name_of(item: Item | None) -> str:
    return JobRecord.parse(item or {}).job_name


def test_several_jobs_are_read_with_one_call() -> None:
    names = [f"job-{number}" for number in range(READ_AHEAD + 2)]
    table = Counting(names)
    jobs = PlannedJobs(table, starts(*names))
    assert [name_of(jobs.next_for(each)) for each in starts(*names)] == names
    assert table.reads == [names[:READ_AHEAD], names[READ_AHEAD:]]


def test_a_job_of_several_actions_is_read_again_for_each() -> None:
    table = Counting(["a", "b"])
    jobs = PlannedJobs(table, starts("a", "b", "a"))
    first, second = starts("a", "b")
    read = JobRecord.parse(jobs.next_for(first) or {})
    changed = read.model_copy(update={"priority": read.priority + 1})
    table.write([changed.put()])
    jobs.next_for(second)
    assert JobRecord.parse(jobs.next_for(first) or {}) == changed
    assert table.reads == [["a", "b"], ["a"]]


@pytest.mark.parametrize(
    ("taken", "reads"),
    [
        (["b", "c"], [["b", "c"]]),
        (["a", "c"], [["a", "b", "c"]]),
        (["c"], [["c"]]),
    ],
    ids=["the first", "one in between", "all but the last"],
)
def test_jobs_of_skipped_actions_are_passed_over(taken: list[str], reads: list[list[str]]) -> None:
    table = Counting(["a", "b", "c"])
    jobs = PlannedJobs(table, starts("a", "b", "c"))
    assert [name_of(jobs.next_for(each)) for each in starts(*taken)] == taken
    assert table.reads == reads


def test_the_job_of_a_release_is_not_read() -> None:
    table = Counting(["a", "b", "c"])
    release = Release(job="b", demand={P5: 1}, reason=REASON)
    first, last = starts("a", "c")
    jobs = PlannedJobs(table, [first, release, last])
    assert name_of(jobs.next_for(first)) == "a"
    assert jobs.next_for(release) is None
    assert name_of(jobs.next_for(last)) == "c"
    assert table.reads == [["a", "c"]]


def test_a_job_that_is_gone_is_none() -> None:
    table = Counting(["b"])
    missing, stored = starts("a", "b")
    jobs = PlannedJobs(table, [missing, stored])
    assert jobs.next_for(missing) is None
    assert name_of(jobs.next_for(stored)) == "b"
