"""Jobs of a batch enter the queue together, and each gets the answer that it would get alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.pool_names import PLAN_INFIX
from headway_service.admission.admit import admit
from headway_service.admission.submission import Submission
from headway_service.errors import RequestError, RetryLater
from headway_service.jobs import submit_group
from headway_service.jobs.submit import stands_alone
from headway_service.ports.table import MAX_TRANSACTION_WRITES, Write
from headway_service.store.records.dependency import DependencyRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.records.reuse import ReuseRecord
from headway_service.testing.memory_table import MemoryTable
from tests.service.jobs.test_submit_batch import submit
from tests.service.world import ADA, BOB, P5, World, request

LINE = QueueEntry.partition(P5)
PER_OWNER, PER_TEAM = 6, 8


class Unreliable(MemoryTable):
    """A table that counts transactions, and may not answer: before it writes, or after it has written."""

    def __init__(self) -> None:
        super().__init__()
        self.transactions: list[int] = []
        self.faults: list[str] = []

    def write(self, writes: Sequence[Write]) -> None:
        self.transactions.append(len(writes))
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "before":
            raise RetryLater("no answer")
        super().write(writes)
        if fault == "after":
            raise RetryLater("no answer")


def world(limited: bool = True) -> tuple[World, Unreliable]:
    table = Unreliable()
    made = World(table=table)
    limits = {"waitingPerTeam": PER_TEAM, "waitingPerOwner": PER_OWNER} if limited else {}
    made.configuration.write({"pools": {P5: {"size": 2}}, "limits": limits})
    made.configured()
    for name in ("old", "older"):
        made.submitter.submit(request(name), ADA)
    made.submitter.submit(request("other"), BOB)
    table.transactions.clear()
    return made, table


KINDS: dict[str, Callable[[int], Any]] = {
    "new": lambda place: request(f"new-{place}"),
    "new with high priority": lambda place: request(f"high-{place}", 9),
    "again": lambda place: request("twice"),
    "again, other request": lambda place: request("twice", 5),
    "known": lambda place: request("old"),
    "known, other request": lambda place: request("older", 5),
    "of another owner": lambda place: request("other"),
    "invalid": lambda place: request(f"invalid-{place}", RoleArn=None),
    "nothing": lambda place: "nothing",
}

BATCHES = st.lists(st.sampled_from(sorted(KINDS)), max_size=14)


def outcome(world: World, one: Any) -> tuple[str, bool | None]:
    try:
        seen, new = world.submitter.submit(one, ADA)
    except RequestError as error:
        return error.code, None
    return seen.job.job_name, new


@settings(max_examples=20, deadline=None)
@given(kinds=BATCHES, together=st.sampled_from([3, 7, MAX_TRANSACTION_WRITES]))
def test_each_request_gets_the_answer_that_it_would_get_alone(kinds: list[str], together: int) -> None:
    requests = [KINDS[kind](place) for place, kind in enumerate(kinds)]
    (batched, _), (alone, _) = world(), world()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(submit_group, "MAX_TRANSACTION_WRITES", together)
        results = submit(batched, *requests, remaining_ms=99_000)
    told = [
        (each.code, None) if isinstance(each, RequestError) else (each.seen.job.job_name, each.new) for each in results
    ]
    assert told == [outcome(alone, one) for one in requests]
    names = [[item["jobName"] for item in each.table.query(LINE, limit=99)] for each in (batched, alone)]
    assert names[0] == names[1]


@settings(max_examples=20, deadline=None)
@given(kinds=BATCHES, faults=st.lists(st.sampled_from(["", "before", "after"]), max_size=12))
def test_nothing_accepted_is_lost_or_accepted_twice_if_the_table_does_not_answer(
    kinds: list[str], faults: list[str]
) -> None:
    requests = [KINDS[kind](place) for place, kind in enumerate(kinds)]
    batched, table = world()
    table.faults = [*faults]
    results = submit(batched, *requests, remaining_ms=99_000)
    table.faults = []
    waiting = [item["jobName"] for item in table.query(LINE, limit=99)]
    assert len(waiting) == len({*waiting})
    for one, result in zip(requests, results, strict=True):
        if isinstance(result, RequestError):
            continue
        stored = JobRecord.parse(table.get(JobRecord.key(one["TrainingJobName"])) or {})
        assert (stored.owner, stored.request_digest) == (ADA.arn, result.seen.job.request_digest)
        assert stored.job_name in waiting
    # Sent again, the batch is answered by the jobs that are there.
    again = submit(batched, *requests, remaining_ms=99_000)
    for first, second in zip(results, again, strict=True):
        if not isinstance(first, RequestError):
            assert not isinstance(second, RequestError)
            assert second.seen.job.request_digest == first.seen.job.request_digest


def test_a_batch_of_100_takes_four_transactions() -> None:
    batched, table = world(limited=False)
    results = submit(batched, *(request(f"new-{place:03}") for place in range(100)), remaining_ms=999_000)
    assert not any(isinstance(each, RequestError) for each in results)
    assert table.transactions == [99, 99, 99, 3]


def test_a_batch_that_is_sent_again_takes_no_transaction_for_each_job() -> None:
    batched, table = world(limited=False)
    requests = [request(f"new-{place}") for place in range(10)]
    submit(batched, *requests, remaining_ms=99_000)
    table.transactions.clear()
    submit(batched, *requests, request("added"), remaining_ms=99_000)
    # All together; each that is there already; and the one that is new.
    assert table.transactions == [33, *[3] * 10, 3]


def test_only_the_jobs_whose_names_are_taken_are_left_out() -> None:
    batched, table = world(limited=False)
    submit(batched, request("old"), *(request(f"new-{place}") for place in range(9)), remaining_ms=99_000)
    assert table.transactions == [30, 3, 27]


@pytest.mark.parametrize(
    ("needs", "alone"),
    [
        ({}, True),
        ({"depends_on": (DependencyRecord(job_name="first"),)}, False),
        ({"reuse": ReuseRecord()}, False),
        ({"demand": {f"{P5}{PLAN_INFIX}plan": 1}}, False),
    ],
    ids=["nothing", "a job", "an equal job", "a training plan"],
)
def test_only_jobs_that_need_nothing_else_are_written_together(needs: dict[str, Any], alone: bool) -> None:
    admitted = admit(request("a"), World().configured(), ADA)
    assert stands_alone(replace(admitted, **needs)) is alone


def test_large_requests_are_written_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    batched, table = world(limited=False)
    requests = [
        request(f"new-{place}", Environment={f"K{number}": "x" * 500 for number in range(40)}) for place in range(3)
    ]
    monkeypatch.setattr(submit_group, "MAX_GROUP_BYTES", 70_000)
    results = submit(batched, *requests, remaining_ms=99_000)
    assert not any(isinstance(each, RequestError) for each in results)
    assert table.transactions == [6, 3]


def test_a_job_may_depend_on_one_before_it_in_the_batch() -> None:
    batched, _ = world(limited=False)
    second = Submission(request=request("second"), depends_on=[{"job": "first"}])
    results = submit(batched, request("first"), second, remaining_ms=99_000)
    assert [each.code if isinstance(each, RequestError) else each.seen.job.job_name for each in results] == [
        "first",
        "second",
    ]
