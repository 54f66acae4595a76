"""A job that its team's guarantee covers is read, also behind larger jobs of its team that rank behind it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.lifecycle import AttemptState
from headway.policy import Ageing, Policy, Team
from headway_service.store.ledger import read_ledger
from headway_service.store.queue_scan import MAX_QUEUE_READS
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.snapshot import read_snapshot
from tests.service.store.queues import G5, Counting, table_of, waits
from tests.service.world import P5

RED_2 = Policy(backfill_window=0, teams={"red": Team(guaranteed={P5: 2})})
AGEING = replace(RED_2, ageing=Ageing(interval_ms=1000, cap=5))


def read(table: Counting, policy: Policy, *running: AttemptRecord) -> list[str]:
    ledger = replace(read_ledger(table), attempts=running)
    table.entries = table.queries = 0
    return [job.name for job in read_snapshot(table, ledger, 0, policy=policy).waiting]


def of_red(count: int) -> AttemptRecord:
    return AttemptRecord(
        attempt_name="r-1",
        job_name="r",
        number=1,
        attempt_state=AttemptState.LIVE,
        mark="",
        demand={P5: count},
        priority=9,
        team="red",
        entry_time=0,
        since_ms=0,
        lease_holder="",
        lease_until_ms=0,
        seen_ms=0,
    )


def red_line(large: int, *small: str) -> Counting:
    """A team's queue with a number of jobs that demand 3, and others behind them that demand 1."""
    table = table_of("red", sizes={P5: 4})
    for number in range(large):
        waits(table, f"large{number}", 1, team="red", entered=number, p5=3)
    for name in small:
        waits(table, name, team="red", p5=1)
    return table


@pytest.mark.parametrize("policy", [RED_2, AGEING], ids=["", "ageing"])
def test_covered_jobs_are_read_behind_larger_ones_of_their_team(policy: Policy) -> None:
    table = red_line(500, "a", "b", "c", "d")
    found = read(table, policy)
    # As many as the guarantee covers, and one more.
    assert [name for name in found if not name.startswith("large")] == ["a", "b", "c"]
    assert len(found) < 10
    assert table.queries < 15


def test_no_job_is_searched_behind_the_heads_if_the_guarantee_is_used_up() -> None:
    table = red_line(500, "a")
    assert "a" not in read(table, RED_2, of_red(2))
    assert table.entries < 20


def test_a_job_that_exceeds_the_rest_of_the_guarantee_is_not_searched() -> None:
    table = red_line(500, "a")
    waits(table, "two", team="red", entered=-1, p5=2)
    found = read(table, RED_2, of_red(1))
    assert "a" in found
    assert "two" not in found


def test_the_search_for_covered_jobs_ends_at_the_limit_of_a_queue() -> None:
    table = red_line(MAX_QUEUE_READS + 50, "a")
    assert "a" not in read(table, RED_2)
    assert table.entries == MAX_QUEUE_READS


def test_instances_of_other_teams_do_not_reduce_a_guarantee() -> None:
    table = red_line(500, "a", "b", "c", "d")
    blue = of_red(1).model_copy(update={"team": "blue"})
    assert [name for name in read(table, RED_2, blue) if not name.startswith("large")] == ["a", "b", "c"]


def test_two_guarantees_are_used_up_separately() -> None:
    policy = Policy(backfill_window=0, teams={"red": Team(guaranteed={P5: 2, G5: 1})})
    table = table_of("red", sizes={P5: 4, G5: 4})
    for number in range(50):
        waits(table, f"large{number:02d}", 1, team="red", entered=number, p5=3)
    waits(table, "a", team="red", entered=1, p5=1)
    waits(table, "b", team="red", entered=2, p5=1, g5=1)
    waits(table, "two", team="red", entered=3, p5=2)
    waits(table, "more", team="red", entered=4, p5=1)
    assert [name for name in read(table, policy) if not name.startswith("large")] == ["a", "b", "two"]


def test_covered_jobs_are_read_until_the_guarantee_is_used_up() -> None:
    table = red_line(500)
    waits(table, "two", team="red", entered=-1, p5=2)
    waits(table, "one", team="red", entered=0, p5=1)
    waits(table, "more", team="red", entered=1, p5=1)
    assert [name for name in read(table, RED_2) if not name.startswith("large")] == ["two", "one"]
    odd = red_line(500)
    for number, (name, count) in enumerate((("first", 1), ("two", 2), ("second", 1), ("third", 1))):
        waits(odd, name, team="red", entered=number, p5=count)
    assert [name for name in read(odd, RED_2) if not name.startswith("large")] == ["first", "two", "second"]
