"""The scan of one queue: rank order under ageing, and how much it reads."""

from __future__ import annotations

import pytest

from headway.policy import Ageing, Policy, Team
from headway_service.store.queue_scan import MAX_QUEUE_READS
from tests.service.store.queues import AGEING, heads, table_of, waits
from tests.service.world import P5


def test_a_queue_is_never_read_beyond_its_limit() -> None:
    table = table_of(sizes={P5: 2})
    for i in range(MAX_QUEUE_READS + 500):
        waits(table, f"big{i:04d}", 9, entered=i, p5=3)
    waits(table, "small", 0, entered=9999)
    assert "small" not in heads(table)
    assert table.entries == MAX_QUEUE_READS


def test_a_job_that_has_aged_past_a_backlog_of_higher_priority_is_read() -> None:
    table = table_of()
    for i in range(3000):
        waits(table, f"new{i:04d}", 3, entered=100_000 + i)
    waits(table, "old", 1, entered=0)
    waits(table, "lowest", 0, entered=99_999)
    assert "old" in heads(table, 100_000, AGEING)
    assert "old" not in heads(table, 100_000)


@pytest.mark.parametrize("now_s", [0, 1, 3, 7, 20, 1000])
def test_the_heads_of_an_ageing_line_are_the_first_by_rank(now_s: int) -> None:
    table = table_of(sizes={P5: 4})
    jobs = {}
    for i in range(400):
        jobs[f"j{i:03d}"] = (i * 7919 % 13, i * 104_729 % 15_000)
        waits(table, f"j{i:03d}", jobs[f"j{i:03d}"][0], entered=jobs[f"j{i:03d}"][1])

    def rank(name: str) -> tuple[int, int, str]:
        priority, entered = jobs[name]
        return (-priority - max(0, min(5, (now_s * 1000 - entered) // 1000)), entered, name)

    assert sorted(heads(table, now_s * 1000, AGEING)) == sorted(sorted(jobs, key=rank)[:5])


def test_a_later_maximum_of_a_team_makes_its_old_jobs_equal() -> None:
    table = table_of("a")
    for i in range(100):
        waits(table, f"high{i:02d}", 9, team="a", entered=100 + i)
    waits(table, "first", 5, team="a", entered=0)
    assert "first" in heads(table, policy=Policy(backfill_window=0, teams={"a": Team(max_priority=5)}))


def test_ageing_costs_a_bounded_number_of_queries() -> None:
    table = table_of()
    for i in range(4000):
        waits(table, f"j{i:04d}", i % 100, entered=i)
    heads(table, 10_000_000, Policy(ageing=Ageing(interval_ms=1, cap=9999)))
    assert table.entries <= MAX_QUEUE_READS
    assert table.queries <= 300


@pytest.mark.parametrize(
    ("priorities", "queries"),
    [
        # A full page of the lowest priority: there is none below it.
        ([0] * 25, 1),
        # The next lower priority is more than what ageing adds behind the first job.
        ([90] * 2 + [84] * 10, 1),
        ([90] * 2 + [85] * 10, 1),
        # As much as ageing adds: a job of it could be the first.
        ([90] * 2 + [86] * 10, 2),
        ([90] * 20 + [1] * 20 + [0] * 5, 2),
    ],
)
def test_a_lower_priority_is_read_only_if_ageing_can_put_its_jobs_first(priorities: list[int], queries: int) -> None:
    # Pages of 5, of which two jobs are enough.
    table = table_of(sizes={P5: 4})
    for i, priority in enumerate(priorities):
        waits(table, f"j{i:02d}", priority, entered=i, p5=3)
    assert heads(table, 0, AGEING) == ["j00", "j01"]
    assert table.queries == queries


def test_an_ageing_queue_is_read_page_by_page_and_each_job_once() -> None:
    table = table_of(sizes={P5: 35})
    for i in range(15):
        waits(table, f"a{i:02d}", 5, entered=i)
    for i in range(35):
        waits(table, f"b{i:02d}", 4, entered=100 + i)
    assert heads(table, 0, AGEING) == [f"a{i:02d}" for i in range(15)] + [f"b{i:02d}" for i in range(21)]
    # Pages of 9: two of a's, three of b's, and one that finds no job below them.
    assert (table.entries, table.queries) == (9 + 6 + 3 * 9, 6)
