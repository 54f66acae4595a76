"""What a decision reads: the heads of every team's line, however long the others are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.lifecycle import WAITING, AttemptState, JobState
from headway.policy import Ageing, Policy, Team
from headway.reasons import ReasonCode
from headway_service.ports.table import Item, Put, Update
from headway_service.store import transitions
from headway_service.store.ledger import Ledger, read_ledger, read_ledger_for_display
from headway_service.store.queue_scan import MAX_LINE_READS
from headway_service.store.records.attempt import AttemptRecord, StopCause
from headway_service.store.records.base import LEDGER, ReasonRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.ledger import PauseRecord, ReservationRecord, TeamRecord
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.snapshot import read_snapshot
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5

G5 = "ml.g5.xlarge"
NO_WINDOW = Policy(backfill_window=0)


class Counting(MemoryTable):
    """A table that counts what is read from the lines, and notes what is asked of the ledger."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = 0
        self.queries = 0
        self.of_ledger: list[str] = []
        #: Of the lines.
        self.limits: list[int] = []

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        found = super().query(pk, prefix=prefix, after=after, limit=limit)
        if pk.startswith("line#"):
            self.entries += len(found)
            self.queries += 1
            self.limits.append(limit)
        elif pk == LEDGER:
            self.of_ledger.append(prefix)
        return found


def table_of(*teams: str, sizes: dict[str, int] | None = None, kind: type[Counting] = Counting) -> Counting:
    table = kind()
    for pool, size in (sizes or {P5: 2}).items():
        table.write(transitions.add_pool(pool, size))
    for team in teams:
        table.write(transitions.add_team(team, None))
    return table


def waits(table: MemoryTable, name: str, priority: int = 0, *, team: str = "", entered: int = 0, **demand: int) -> None:
    pools = {{"p5": P5, "g5": G5}[pool]: count for pool, count in (demand or {"p5": 1}).items()}
    job = JobRecord(
        job_name=name,
        job_state=JobState.PENDING,
        priority=priority,
        entry_time=entered,
        demand=pools,
        team=team,
        request_digest="",
        reason=ReasonRecord(code=ReasonCode.ENTERED, message="entered"),
    )
    table.write([entry.put() for entry in job.line_entries()])


@pytest.mark.parametrize("state", [JobState.PENDING, JobState.PREEMPTED, JobState.RUNNING, JobState.COMPLETED])
@pytest.mark.parametrize(("team", "held"), [("", False), ("red", False), ("red", True)])
def test_the_keys_of_a_jobs_lines_are_those_of_its_entries(state: JobState, team: str, *, held: bool) -> None:
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
    assert job.line_keys() == [entry.key() for entry in job.line_entries()]
    assert bool(job.line_keys()) == (job.job_state in WAITING and not held)


def heads(table: MemoryTable, now_ms: int = 0, policy: Policy = NO_WINDOW) -> list[str]:
    return [job.name for job in read_snapshot(table, read_ledger(table), now_ms, policy=policy).waiting]


def test_a_teams_backlog_of_5000_jobs_hides_no_other_team() -> None:
    table = table_of("greedy", "modest")
    for i in range(5000):
        waits(table, f"g{i:04d}", 9, team="greedy", entered=i)
    waits(table, "m", 0, team="modest", entered=9999)
    waits(table, "nobody", 0, entered=9999)
    assert heads(table) == ["g0000", "g0001", "g0002", "m", "nobody"]
    assert table.entries == 5


@pytest.mark.parametrize("backlog", [10, 3000])
def test_what_is_read_depends_on_pools_teams_and_the_window_not_on_the_backlog(backlog: int) -> None:
    table = table_of("a", "b", sizes={P5: 2, G5: 4})
    for i in range(backlog):
        waits(table, f"a{i:04d}", team="a", entered=i)
    found = heads(table, policy=Policy(backfill_window=60))
    # The pool's two instances, one more, and a sixth of the window.
    assert len(found) == min(backlog, 2 + 1 + 10)
    assert table.queries <= 2 * 6, "at most two for each line"


def test_a_line_is_never_read_beyond_its_limit() -> None:
    table = table_of(sizes={P5: 2})
    for i in range(MAX_LINE_READS + 500):
        waits(table, f"big{i:04d}", 9, entered=i, p5=3)
    waits(table, "small", 0, entered=9999)
    assert "small" not in heads(table)
    assert table.entries == MAX_LINE_READS


def test_jobs_that_a_team_may_never_have_hide_nobody_behind_them() -> None:
    table = table_of("a", sizes={P5: 4})
    for i in range(50):
        waits(table, f"big{i:02d}", 9, team="a", entered=i, p5=3)
    waits(table, "small", 0, team="a", entered=99)
    assert "small" in heads(table, policy=Policy(backfill_window=0, teams={"a": Team(limit={P5: 2})}))


AGEING = Policy(backfill_window=0, ageing=Ageing(interval_ms=1000, cap=5))


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


def test_a_maximum_that_a_team_was_given_later_makes_its_old_jobs_equals() -> None:
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
    assert table.entries <= MAX_LINE_READS
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
def test_a_lower_priority_is_read_only_if_ageing_can_bring_a_job_of_it_first(
    priorities: list[int], queries: int
) -> None:
    # Pages of 5, of which two jobs are enough.
    table = table_of(sizes={P5: 4})
    for i, priority in enumerate(priorities):
        waits(table, f"j{i:02d}", priority, entered=i, p5=3)
    assert heads(table, 0, AGEING) == ["j00", "j01"]
    assert table.queries == queries


def test_an_ageing_line_is_read_page_after_page_and_each_job_once() -> None:
    table = table_of(sizes={P5: 35})
    for i in range(15):
        waits(table, f"a{i:02d}", 5, entered=i)
    for i in range(35):
        waits(table, f"b{i:02d}", 4, entered=100 + i)
    assert heads(table, 0, AGEING) == [f"a{i:02d}" for i in range(15)] + [f"b{i:02d}" for i in range(21)]
    # Pages of 9: two of a's, three of b's, and one that finds nobody below them.
    assert (table.entries, table.queries) == (9 + 6 + 3 * 9, 6)


def test_of_the_line_of_a_paused_pool_as_many_jobs_are_read_as_the_caller_asks_for() -> None:
    table = table_of()
    for name in ("a", "b", "c"):
        waits(table, name)
    pause = PauseRecord.model_validate({"pool": P5, "by": "arn:ada", "sinceMs": 0, "reason": "repair"})
    ledger = replace(read_ledger(table), pauses=(pause,))
    for asked, found in ((0, 0), (2, 2)):
        assert len(read_snapshot(table, ledger, 0, policy=NO_WINDOW, heads=asked).waiting) == found
    assert read_snapshot(table, ledger, 0, policy=NO_WINDOW).waiting == ()


def test_without_backfill_the_window_is_not_read() -> None:
    table = table_of()
    for i in range(20):
        waits(table, f"j{i:02d}", entered=i)
    assert heads(table, policy=Policy(backfill=False, backfill_window=10)) == ["j00", "j01", "j02"]


def test_a_queue_without_pools_has_an_empty_snapshot() -> None:
    assert heads(MemoryTable(), policy=Policy()) == []


def test_jobs_that_demand_a_paused_pool_too_hide_nobody_behind_them() -> None:
    table = table_of(sizes={P5: 2, G5: 2})
    for i in range(20):
        waits(table, f"both{i:02d}", 9, entered=i, p5=1, g5=1)
    waits(table, "small", g5=1)
    pause = PauseRecord.model_validate({"pool": P5, "by": "arn:ada", "sinceMs": 0, "reason": "repair"})
    ledger = replace(read_ledger(table), pauses=(pause,))
    assert "small" in [each.name for each in read_snapshot(table, ledger, 0, policy=NO_WINDOW).waiting]


def test_an_empty_ledger_knows_of_nothing() -> None:
    ledger = Ledger(pools=(), attempts=(), reservations=())
    assert ledger.lines == ("",)
    assert ledger.pause_of(P5) is None
    assert ledger.restored is None
    assert ledger.reservation_of("job") is None
    assert ledger.attempt_of("job") is None


def test_a_job_of_several_pools_stands_in_a_line_of_each_and_is_read_once() -> None:
    table = table_of("a", sizes={P5: 2, G5: 2})
    waits(table, "both", team="a", p5=1, g5=2)
    assert heads(table) == ["both"]
    for pool in (P5, G5):
        assert len(table.query(QueueEntry.partition(pool, "a"), limit=9)) == 1


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
    assert (allocation.team, allocation.limit_ms, allocation.entry_time_ms) == ("", None, None)
    assert (allocation.preemptible, allocation.preemptions) == (True, 0)
    assert TeamRecord.parse({"team": "a", "schemaVersion": 1}).left_ms is None


def test_who_only_looks_at_the_ledger_reads_once_and_who_decides_by_it_reads_the_teams_before() -> None:
    table = table_of("a", "b")
    looked = read_ledger_for_display(table)
    assert table.of_ledger == [""]
    table.of_ledger.clear()
    assert read_ledger(table) == looked
    assert table.of_ledger == ["team#", ""]
    assert looked.lines == ("", "a", "b")


def test_a_job_is_to_the_scheduler_what_each_of_its_entries_says() -> None:
    job = JobRecord(
        job_name="job",
        job_state=JobState.PENDING,
        priority=7,
        entry_time=11,
        handicap_ms=13,
        demand={P5: 2, G5: 1},
        team="a",
        limit_ms=17,
        not_before_ms=19,
        held_by="somebody",
        owner="arn:ada",
        request_digest="",
        reason=ReasonRecord(code=ReasonCode.ENTERED, message="entered"),
    )
    kept = [QueueEntry.parse(entry.put().item) for entry in job.line_entries()]
    assert [entry.waiting() for entry in kept] == [job.waiting()] * 2
    assert QueueEntry.key_of(job.waiting()) == kept[0].key()


def runs(name: str, priority: int = 9, *, team: str = "", stopping: bool = False, **demand: int) -> AttemptRecord:
    return AttemptRecord(
        attempt_name=name,
        job_name=name,
        number=1,
        attempt_state=AttemptState.STOPPING if stopping else AttemptState.LIVE,
        stop_cause=StopCause.PREEMPTION if stopping else None,
        mark="",
        demand={{"p5": P5, "g5": G5}[pool]: count for pool, count in demand.items()},
        priority=priority,
        team=team,
        since_ms=0,
        lease_holder="",
        lease_until_ms=0,
        seen_ms=0,
    )


def number_read(
    *running: AttemptRecord, policy: Policy = NO_WINDOW, heads: int = 0, demands: int = 1, team: str = ""
) -> int:
    """How many of the jobs of priority 5 that wait in a line of a pool of 4 are read."""
    table = table_of(*filter(None, [team]), sizes={P5: 4, G5: 4})
    for number in range(20):
        waits(table, f"j{number:02d}", 5, entered=number, team=team, p5=demands)
    ledger = replace(read_ledger(table), attempts=running)
    return len(read_snapshot(table, ledger, 0, policy=policy, heads=heads).waiting)


@pytest.mark.parametrize(
    ("running", "policy", "number"),
    [
        ((), NO_WINDOW, 5),
        ((runs("x", p5=1), runs("y", p5=2)), NO_WINDOW, 2),
        ((runs("x", 5, p5=3),), NO_WINDOW, 2),
        ((runs("x", 4, p5=3),), NO_WINDOW, 5),
        ((runs("x", p5=3, stopping=True),), NO_WINDOW, 5),
        ((runs("x", g5=3),), NO_WINDOW, 5),
        ((runs("x", 0, p5=3),), replace(NO_WINDOW, preemption=False), 2),
    ],
    ids=[
        "an empty pool",
        "attempts of higher priority",
        "one of equal priority",
        "one that gives way",
        "one that stops",
        "one in another pool",
        "one that gives way to nobody",
    ],
)
def test_of_a_line_as_many_are_read_as_could_get_instances_and_one_more(
    running: tuple[AttemptRecord, ...], policy: Policy, number: int
) -> None:
    assert number_read(*running, policy=policy) == number


@pytest.mark.parametrize(("guaranteed", "number"), [({}, 1), ({P5: 1}, 2), ({P5: 2}, 3)])
def test_what_a_team_is_guaranteed_is_within_its_reach(guaranteed: dict[str, int], number: int) -> None:
    policy = replace(NO_WINDOW, teams={"red": Team(guaranteed=guaranteed)})
    assert number_read(runs("x", p5=4), policy=policy, team="red") == number


WINDOW = Policy(backfill_window=6, reserved_heads=3)
"""Three jobs for each of the two lines of each pool."""


@pytest.mark.parametrize(
    ("running", "number"),
    [
        ((runs("x", p5=3),), 5),
        ((runs("x", p5=4),), 3),
        ((runs("x", p5=3), runs("y", g5=1), runs("z", g5=1)), 5),
    ],
    ids=["a pool that is not full", "a full pool", "attempts of another pool do not fill it"],
)
def test_behind_the_heads_the_window_is_read_or_in_a_full_pool_those_who_get_a_reserved_start(
    running: tuple[AttemptRecord, ...], number: int
) -> None:
    assert number_read(*running, policy=WINDOW) == number


def test_as_many_heads_are_read_as_the_caller_asks_for() -> None:
    assert [number_read(runs("x", p5=4), heads=asked) for asked in (0, 1, 2, 7)] == [1, 1, 2, 7]


def test_jobs_that_demand_a_whole_pool_count_as_fitting() -> None:
    assert number_read(demands=4) == 2


def test_jobs_that_demand_a_pool_that_is_gone_hide_nobody_behind_them() -> None:
    table = table_of(sizes={P5: 2})
    for number in range(20):
        waits(table, f"gone{number:02d}", 9, entered=number, p5=1, g5=1)
    waits(table, "small")
    assert "small" in heads(table)


@pytest.mark.parametrize(
    ("running", "window", "asked", "ageing", "page"),
    [
        ((), 0, 0, False, 25),
        ((runs("x", p5=80),), 0, 0, False, 8),
        ((runs("x", 0, p5=60),), 0, 0, False, 10),
        ((), 4, 0, False, 26),
        ((), 12, 0, False, 28),
        ((), 0, 50, False, 50),
        ((), 0, 50, True, 10),
        ((), 0, 0, True, 10),
    ],
)
def test_mostly_one_query_of_a_line_is_enough(
    running: tuple[AttemptRecord, ...], window: int, asked: int, ageing: bool, page: int
) -> None:
    table = table_of(sizes={P5: 102})
    for number in range(120):
        waits(table, f"j{number:03d}", 5, entered=number, p5=102)
    policy = replace(AGEING if ageing else NO_WINDOW, backfill_window=window)
    ledger = replace(read_ledger(table), attempts=running)
    read_snapshot(table, ledger, 0, policy=policy, heads=asked)
    assert table.limits[0] == page


@pytest.mark.parametrize(
    ("job_until_ms", "pool_until_ms", "until_ms", "cause"),
    [(0, 6, 6, "pool"), (6, 6, 6, "job"), (7, 6, 7, "job"), (0, 5, 0, "job")],
    ids=["the pool for longer", "both as long", "the job for longer", "the pool no more"],
)
def test_a_job_is_held_back_by_its_pool_only_for_longer_than_by_itself(
    job_until_ms: int, pool_until_ms: int, until_ms: int, cause: str
) -> None:
    table = table_of()
    waits(table, "a")
    (known,) = table.query(QueueEntry.partition(P5, ""), limit=1)
    table.write([Put(item={**known, "notBeforeMs": job_until_ms, "heldBy": "job"})])
    ledger = read_ledger(table)
    pool = ledger.pools[0].model_copy(update={"backs_off_until_ms": pool_until_ms, "back_off_cause": "pool"})
    (waiting,) = read_snapshot(table, replace(ledger, pools=(pool,)), 5).waiting
    assert (waiting.not_before_ms, waiting.held_by) == (until_ms, cause)


def test_jobs_that_are_owed_instances_are_seen_however_far_back_they_stand() -> None:
    table = table_of()
    for number in range(20):
        waits(table, f"j{number:02d}", 9, entered=number)
    for name in ("reserved", "freed", "ended"):
        state = JobState.COMPLETED if name == "ended" else JobState.PENDING
        reason = ReasonRecord(code=ReasonCode.ENTERED, message="entered")
        known = JobRecord(
            job_name=name,
            job_state=state,
            priority=0,
            entry_time=0,
            ended_ms=0,
            demand={P5: 1},
            request_digest="",
            reason=reason,
        )
        table.write([known.put()])
    freed = runs("x", p5=1, stopping=True).model_copy(update={"freed_for": "freed", "freed": {P5: 1}})
    reservations = tuple(ReservationRecord(job_name=name, demand={P5: 1}) for name in ("reserved", "ended", "unknown"))
    ledger = replace(read_ledger(table), attempts=(freed,), reservations=reservations)
    found = {each.name for each in read_snapshot(table, ledger, 0, policy=NO_WINDOW).waiting}
    assert {name for name in found if not name.startswith("j")} == {"reserved", "freed"}


def test_a_start_between_the_two_reads_of_a_ledger_is_seen_as_a_conflict_later() -> None:
    class Starting(Counting):
        def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
            if self.of_ledger == ["team#"]:
                self.write([Update(key=TeamRecord.key("a"), adds={"starts": 1})])
            return super().query(pk, prefix=prefix, after=after, limit=limit)

    table = table_of("a", kind=Starting)
    (team,) = read_ledger(table).teams
    assert team.starts == 0
