"""One read for each record, and changes that are repeated while they conflict with others."""

from __future__ import annotations

import pytest

from headway_service.errors import Conflict, JobNotFound, RetryLater
from headway_service.store.repository import MAX_TRIES, find_job, find_request, get_job, retry_on_conflict
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import World

BUSY = RetryLater("others keep changing it")


class Change:
    """Conflicts a number of times, then succeeds."""

    def __init__(self, conflicts: int) -> None:
        self.left = conflicts
        self.tries = 0

    def __call__(self) -> str:
        self.tries += 1
        if self.left:
            self.left -= 1
            raise Conflict([0])
        return "done"


@pytest.mark.parametrize("conflicts", [0, 1, MAX_TRIES - 1])
def test_a_change_is_retried_until_no_other_change_intervenes(conflicts: int) -> None:
    change = Change(conflicts)
    assert retry_on_conflict(change, otherwise=BUSY) == "done"
    assert change.tries == conflicts + 1


def test_after_the_last_try_the_given_error_is_raised() -> None:
    change = Change(MAX_TRIES)
    with pytest.raises(RetryLater) as raised:
        retry_on_conflict(change, otherwise=BUSY)
    assert raised.value is BUSY
    assert change.tries == MAX_TRIES


def test_other_errors_end_the_retries_immediately() -> None:
    tries = []

    def change() -> None:
        tries.append(1)
        raise JobNotFound("no")

    with pytest.raises(JobNotFound):
        retry_on_conflict(change, otherwise=BUSY)
    assert len(tries) == 1


def test_a_record_that_is_missing_is_none_or_an_error() -> None:
    table = MemoryTable()
    assert find_job(table, "a") is None
    assert find_request(table, "a") is None
    with pytest.raises(JobNotFound, match="there is no job `a`"):
        get_job(table, "a")


def test_a_job_and_its_request_are_read_by_its_name() -> None:
    world = World()
    world.submit("a")
    assert get_job(world.table, "a") == find_job(world.table, "a")
    stored = find_request(world.table, "a")
    assert stored is not None
    assert stored["TrainingJobName"] == "a"
