"""A field of a job goes with it through all records, so that a copy that is forgotten is found here."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from headway.job_terms import JobTerms, owner_hash
from headway.lifecycle import AttemptState, JobState
from headway_service.ports.table import LISTED, Item
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.warm_pool import WarmPoolRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.listed_job import ListedJob
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.records.terms import AllTerms, attributes_of
from tests.core.builders import unusual_terms
from tests.service.store.builders import NOTED
from tests.service.world import P5

OWNER = "arn:ada"
TERMS = replace(unusual_terms(), owner=owner_hash(OWNER))

ONLY_WHILE_IT_RUNS = {"max_retries"}
"""What neither the queue entries of a job have nor its listing tells a decision: see :class:`AllTerms`."""

NOT_LISTED = {
    "source",
    "allowance_ms",
    "checkpoints",
    "checkpoints_every_ms",
    "preemptible",
    "preemptions",
    "max_preemptions",
}
"""What queue entries have as well, and a listing has not."""


def job(**changes: Any) -> JobRecord:
    made = JobRecord(
        job_name="a",
        job_state=JobState.PENDING,
        demand={P5: 1},
        owner=OWNER,
        reason=NOTED,
        **attributes_of(TERMS),
    )
    return JobRecord.parse(made.model_copy(update=changes).put().item)


def attempt() -> AttemptRecord:
    made = AttemptRecord.next_of(
        job(),
        attempt_name="a",
        number=1,
        attempt_state=AttemptState.LIVE,
        mark="m",
        since_ms=5,
        lease_holder="",
        lease_until_ms=0,
        seen_ms=0,
    )
    return AttemptRecord.parse(made.put().item)


def without(*names: str) -> JobTerms:
    """The terms with the defaults of these fields."""
    defaults: dict[str, Any] = {each.name: each.default for each in fields(JobTerms) if each.name in names}
    return replace(TERMS, **defaults)


def test_a_job_stores_all_of_its_terms() -> None:
    assert job().terms(TERMS.owner) == TERMS
    assert attributes_of(TERMS).keys() == AllTerms.model_fields.keys()


def test_an_attempt_has_all_terms_of_its_job_but_what_hints_to_waiting_jobs_need() -> None:
    assert attempt().allocation().terms == without("allowance_ms")


def test_a_queue_entry_has_all_terms_but_those_that_matter_only_while_a_job_runs() -> None:
    (entry,) = job().queue_entries()
    assert QueueEntry.parse(entry.put().item).waiting().terms == without(*ONLY_WHILE_IT_RUNS)
    assert job().waiting().terms == without(*ONLY_WHILE_IT_RUNS)


def test_a_listed_job_has_those_of_a_queue_entry_but_for_what_only_decisions_need() -> None:
    item: Item = {name: value for name, value in job().put().item.items() if name in LISTED}
    assert ListedJob.parse(item).waiting().terms == without(*ONLY_WHILE_IT_RUNS, *NOT_LISTED)


def test_a_warm_pool_has_what_its_instances_are_charged_and_matched_by() -> None:
    pool = WarmPoolRecord.parse(WarmPoolRecord.left_by(attempt(), 9, release=False).put().item)
    assert pool.allocation().terms == JobTerms(
        priority=TERMS.priority, entry_time_ms=9, team=TERMS.team, limit_ms=TERMS.keep_ms
    )
    assert pool.allocation().warm == TERMS.warm_key


@pytest.mark.parametrize("record", [JobRecord, QueueEntry, AttemptRecord])
def test_terms_with_their_defaults_are_not_stored(record: type[AllTerms]) -> None:
    plain = attributes_of(JobTerms(priority=0, entry_time_ms=0))
    made = record.model_construct(**{name: value for name, value in plain.items() if name in record.model_fields})
    assert {"priority", "entryTime"} <= made.fields().keys()
    aliases = {field.alias for name, field in AllTerms.model_fields.items()} - {"priority", "entryTime"}
    assert not aliases & made.fields().keys()
