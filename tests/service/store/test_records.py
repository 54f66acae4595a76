"""Records: their keys and their defaults."""

from __future__ import annotations

from typing import Any

import pytest

from headway.lifecycle import WAITING, JobState
from headway.reasons import ReasonCode
from headway_service.errors import UnreadableRecord
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.ledger import TeamRecord
from headway_service.store.records.job import JobRecord, StoredRequest
from headway_service.store.records.queue_entry import QueueEntry
from tests.service.store.queues import G5
from tests.service.world import P5


@pytest.mark.parametrize("state", [JobState.PENDING, JobState.PREEMPTED, JobState.RUNNING, JobState.COMPLETED])
@pytest.mark.parametrize(("team", "held"), [("", False), ("red", False), ("red", True)])
def test_the_queue_keys_of_a_job_equal_those_of_its_entries(state: JobState, team: str, *, held: bool) -> None:
    job = JobRecord(
        job_name="a",
        job_state=state,
        priority=7,
        entry_time=5,
        handicap_ms=3,
        demand={P5: 1, G5: 2},
        team=team,
        held=held,
        request_digest="",
        reason=ReasonRecord(code=ReasonCode.ENTERED, message="entered"),
    )
    assert job.queue_keys() == [entry.key() for entry in job.queue_entries()]
    assert bool(job.queue_keys()) == (job.job_state in WAITING and not held)


def test_attributes_that_are_not_stored_have_their_defaults() -> None:
    entry: dict[str, Any] = {
        "pk": f"line#{P5}",
        "sk": "9999#0000000000000#old",
        "pool": P5,
        "jobName": "old",
        "demand": {P5: 1},
        "priority": 0,
        "entryTime": 0,
        "schemaVersion": 1,
    }
    assert QueueEntry.parse(entry).key().pk == f"line#{P5}"
    attempt = {
        "attemptName": "x",
        "jobName": "x",
        "number": 1,
        "attemptState": "live",
        "mark": "m",
        "demand": {P5: 1},
        "priority": 0,
        "sinceMs": 0,
        "leaseHolder": "",
        "leaseUntilMs": 0,
        "seenMs": 0,
        "schemaVersion": 1,
    }
    allocation = AttemptRecord.parse(attempt).allocation()
    assert (allocation.terms.team, allocation.terms.limit_ms, allocation.terms.entry_time_ms) == ("", None, 0)
    assert (allocation.terms.preemptible, allocation.terms.preemptions) == (True, 0)
    assert TeamRecord.parse({"team": "a", "schemaVersion": 1}).left_ms is None


def test_the_scheduler_reads_the_same_job_from_each_of_its_entries() -> None:
    job = JobRecord(
        job_name="job",
        job_state=JobState.PENDING,
        priority=7,
        entry_time=11,
        handicap_ms=13,
        left_ms=16,
        expected_ms=6,
        extension_ms=5,
        attained_ms=15,
        max_handicap_ms=14,
        demand={P5: 2, G5: 1},
        team="a",
        limit_ms=17,
        not_before_ms=19,
        held_by="somebody",
        owner="arn:ada",
        request_digest="",
        reason=ReasonRecord(code=ReasonCode.ENTERED, message="entered"),
    )
    kept = [QueueEntry.parse(entry.put().item) for entry in job.queue_entries()]
    assert [entry.waiting() for entry in kept] == [job.waiting()] * 2
    assert QueueEntry.key_of(job.waiting()) == kept[0].key()


@pytest.mark.parametrize("member", ["jobDetails", "alternatives", "sweep"])
def test_a_stored_request_that_is_nested_too_deeply_is_unreadable(member: str) -> None:
    item = {"pk": "job#a", "sk": "request", "schemaVersion": 1, "jobDetails": "{}", member: "[" * 100_000}
    with pytest.raises(UnreadableRecord, match="is damaged: RecursionError"):
        StoredRequest.parse(item)


def test_a_job_whose_summary_is_no_map_is_unreadable() -> None:
    item = {"pk": "job#a", "sk": "job", "schemaVersion": 1, "summary": []}
    with pytest.raises(UnreadableRecord, match="is damaged"):
        JobRecord.parse(item)
