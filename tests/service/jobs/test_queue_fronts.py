"""Jobs are explained as if the whole fronts of all queues were read, and less of them is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.lifecycle import AttemptState
from headway.policy import Ageing, Policy, Team
from headway_service.jobs import front_positions, position, queue_fronts
from headway_service.jobs.position import PositionExplainer
from headway_service.jobs.queue_fronts import MAX_EXPLAINED, Front, front_for
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table
from headway_service.store.ledger import Ledger, read_ledger_for_display
from headway_service.store.records.capacity.ledger import ReservationRecord
from headway_service.store.records.job import JobRecord
from tests.service.store.queues import G5, Counting, enqueue, runs, table_of, waiting_job
from tests.service.world import P5

FEW = 4
"""Jobs at the front of each queue that are explained, in tests that need many queues."""

POLICIES = {
    "plain": Policy(),
    "teams": Policy(teams={"a": Team(weight=2), "b": Team()}),
    "limited": Policy(teams={"a": Team(limit={P5: 1}), "b": Team()}),
    "guaranteed": Policy(teams={"a": Team(guaranteed={P5: 1}), "b": Team()}),
    "capped": Policy(teams={"a": Team(max_priority=1), "b": Team()}),
    "ageing": Policy(ageing=Ageing(interval_ms=10, cap=3)),
}


def whole_fronts(*_: Any) -> Front:
    return Front(heads=FEW, counted={})


def explained(table: Table, jobs: list[JobRecord], policy: Policy) -> list[tuple[Any, ...]]:
    explainer = PositionExplainer(table, Clocks(training_ms=lambda: 100, machine_ms=lambda: 100), lambda: policy)
    return [(view.job.job_name, view.place, view.reason) for view in explainer.explain(jobs)]


@settings(max_examples=150, deadline=None)
@given(
    entries=st.lists(
        st.tuples(
            st.sampled_from([*[{P5: 1}] * 12, *[{G5: 1}] * 4, *[{P5: 1, G5: 1}] * 2]),
            st.sampled_from([0, 0, 0, 1, 2]),
            st.sampled_from(["", "", "", "a", "b"]),
            st.integers(0, 60),
        ),
        min_size=20,
        max_size=50,
    ),
    first=st.integers(0, 20),
    number=st.integers(1, 4),
    policy=st.sampled_from(sorted(POLICIES)),
    step=st.sampled_from([1, 2]),
)
def test_jobs_are_explained_as_if_the_whole_fronts_were_read(
    entries: list[tuple[dict[str, int], int, str, int]], first: int, number: int, policy: str, step: int
) -> None:
    table = table_of("a", "b", sizes={P5: 2, G5: 2})
    # Nothing starts: a job that could start now is not ahead of others in a decision, and is in its queue still.
    for attempt in (runs("all-p5", p5=2), runs("all-g5", g5=2)):
        table.write([attempt.put(was=None)])
    jobs = [
        waiting_job(f"job-{place:02}", priority, demand).model_copy(update={"team": team, "entry_time": entered})
        for place, (demand, priority, team, entered) in enumerate(entries)
    ]
    for job in jobs:
        enqueue(table, job)
    page = sorted(jobs, key=JobRecord.rank)[first::step][:number]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(position, "MAX_EXPLAINED", FEW)
        patch.setattr(front_positions, "MAX_EXPLAINED", FEW)
        patch.setattr(queue_fronts, "MAX_EXPLAINED", FEW)
        patch.setattr(queue_fronts, "PAGE", 0)
        seen = explained(table, page, POLICIES[policy])
        patch.setattr(position, "front_for", whole_fronts)
        assert seen == explained(table, page, POLICIES[policy])


def far_back(waiting: int = 3 * MAX_EXPLAINED) -> tuple[Counting, list[JobRecord]]:
    table = table_of("a", sizes={P5: 2})
    jobs = [waiting_job(f"job-{place:04}", 1, {P5: 1}) for place in range(waiting)]
    for job in jobs:
        enqueue(table, job)
    return table, jobs


def test_a_job_far_back_is_explained_without_reading_the_fronts() -> None:
    table, jobs = far_back()
    table.entries = 0
    name, place, reason = explained(table, jobs[-1:], Policy())[0]
    assert (name, place, reason.message) == ("job-0299", 300, "waits behind 299 jobs in the queue")
    assert table.entries == 0


@pytest.mark.parametrize(("place", "most"), [(0, 12), (9, 22), (99, MAX_EXPLAINED)], ids=str)
def test_no_more_of_a_front_is_read_than_the_rank_of_a_job_asks_for(place: int, most: int) -> None:
    table, jobs = far_back()
    table.entries = 0
    assert explained(table, [jobs[place]], Policy(backfill=False))[0][0] == jobs[place].job_name
    assert table.entries <= most


Change = Callable[[JobRecord, Ledger], tuple[JobRecord, Ledger]]


CHANGES: dict[str, Change] = {
    "too large": lambda job, ledger: (job.model_copy(update={"demand": {P5: 9}}), ledger),
    "in a pool that is gone": lambda job, ledger: (job.model_copy(update={"demand": {"gone": 1}}), ledger),
    "beyond the limit of its team": lambda job, ledger: (job.model_copy(update={"team": "b"}), ledger),
    "with a reservation": lambda job, ledger: (
        job,
        replace(ledger, reservations=(ReservationRecord(job_name=job.job_name, demand={P5: 1}),)),
    ),
    "that a stop is for": lambda job, ledger: (
        job,
        replace(
            ledger,
            attempts=(
                runs("victim", p5=1).model_copy(
                    update={"freed_for": job.job_name, "attempt_state": AttemptState.STOPPING}
                ),
            ),
        ),
    ),
}


@pytest.mark.parametrize("kind", ["plain", *CHANGES])
def test_a_job_is_passed_over_for_its_rank_only_if_its_reason_depends_on_nothing_else(kind: str) -> None:
    table, jobs = far_back()
    job, ledger = jobs[-1], read_ledger_for_display(table)
    if kind != "plain":
        job, ledger = CHANGES[kind](job, ledger)
    policy = Policy(teams={"b": Team(limit={P5: 0})})
    front = front_for(table, [job], ledger, policy)
    assert front.heads == (0 if kind == "plain" else MAX_EXPLAINED)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_ranks_are_known_only_where_decisions_keep_the_order_in_which_jobs_are_stored(policy: str) -> None:
    assert queue_fronts.ranks_as_stored(POLICIES[policy]) is (policy in {"plain", "teams", "limited"})


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_the_rank_of_a_job_bounds_what_is_read_only_where_it_decides(policy: str) -> None:
    table, jobs = far_back()
    ledger = read_ledger_for_display(table)
    near, far = (front_for(table, [job], ledger, POLICIES[policy]).heads for job in (jobs[0], jobs[-1]))
    assert (near < MAX_EXPLAINED) is (policy == "plain")
    assert (far == 0) is queue_fronts.ranks_as_stored(POLICIES[policy])


def test_more_is_read_where_other_queues_have_more_jobs_ahead() -> None:
    table = table_of("a", sizes={P5: 2})
    table.write([runs("all", p5=2).put()])
    for place in range(60):
        enqueue(table, waiting_job(f"job-{place:04}", 1, {P5: 1}).model_copy(update={"team": "a"}))
    alone = waiting_job("later", 0, {P5: 1})
    enqueue(table, alone)
    assert explained(table, [alone], Policy())[0][1] == 61


def test_a_page_needs_the_fronts_if_one_of_its_jobs_is_near() -> None:
    table, jobs = far_back()
    near = waiting_job("near", 1, {P5: 1}).model_copy(update={"team": "a"})
    enqueue(table, near)
    ledger = read_ledger_for_display(table)
    assert front_for(table, [jobs[-1], jobs[-2]], ledger, Policy()).heads == 0
    assert front_for(table, [jobs[-1], near], ledger, Policy()).heads > 0


def test_jobs_beyond_the_largest_place_need_one_count_of_their_own_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of("a", sizes={P5: 2})
    jobs = [waiting_job(f"job-{place:04}", 1, {P5: 1}).model_copy(update={"team": "a"}) for place in range(1010)]
    for job in jobs:
        enqueue(table, job)
    reads = {name: Mock(wraps=getattr(table, name)) for name in ("count_before", "keys_before")}
    for name, read in reads.items():
        monkeypatch.setattr(table, name, read)
    assert [place for _, place, _ in explained(table, jobs[-2:], Policy())] == [None, None]
    assert {name: read.call_count for name, read in reads.items()} == {"count_before": 1, "keys_before": 0}


def test_what_was_counted_is_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    table, jobs = far_back()
    counted: list[str] = []
    count = Counting.count_before

    def count_before(self: Counting, pk: str, sk: str, *, limit: int) -> int:
        counted.append(pk)
        return count(self, pk, sk, limit=limit)

    monkeypatch.setattr(Counting, "count_before", count_before)
    explained(table, jobs[-1:], Policy())
    assert len(counted) == len({*counted}) == 2
