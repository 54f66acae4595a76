"""Reads the summary: the ledger, the front of each queue, counts, and the jobs that ended last.

The number of reads depends on pools, teams and arrays, not on the number of jobs, and nothing is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from headway.lifecycle import TERMINAL
from headway.model import Snapshot, WaitingJob
from headway.plan import Plan
from headway.scheduling.alternatives import pools_of
from headway_service.arrays.to_come import ToCome, read_to_come
from headway_service.config.document import Configuration
from headway_service.jobs.front_positions import explain_next
from headway_service.pools.capacity import capacity_of
from headway_service.ports.table import Table
from headway_service.store.job_filter import JobFilter
from headway_service.store.job_listing import list_jobs
from headway_service.store.ledger import Ledger, read_ledger_for_display
from headway_service.store.queue_tail import MAX_PLACE
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.snapshot import read_snapshot
from headway_service.summary.recent_events import recent_events
from headway_service.summary.results import Head, HeldCount, Picture

MAX_HEADS = 20
"""First jobs of each queue in a summary."""

MAX_WAITING = 200
"""Waiting jobs in a summary, of all queues together."""

MAX_RUNNING = 500
"""Jobs that hold instances in a summary."""

MAX_ENDED = 20
"""Ended jobs in a summary, the newest."""


def read_picture(
    table: Table,
    configuration: Callable[[], Configuration],
    held: Callable[[], HeldCount],
    now_ms: int,
    machine_ms: int,
) -> Picture:
    """The queue now. The counts and the ended jobs are eventually consistent.

    Args:
        configuration: the configuration in effect.
        held: returns how many jobs are on hold.
        now_ms: the training time, ms.
    """
    known = configuration()
    policy = known.policy()
    ledger = read_ledger_for_display(table).in_training_time(now_ms, machine_ms)
    capacity = capacity_of(table, ledger, known, now_ms)
    to_come = read_to_come(table, ledger, now_ms)
    snapshot = read_snapshot(table, ledger, now_ms, policy=policy, heads=MAX_HEADS)
    heads = first_heads(snapshot, to_come)
    ended, _ = list_jobs(table, JobFilter(states=TERMINAL), MAX_ENDED, None)
    return Picture(
        capacity=capacity,
        by_team=by_team(ledger.attempts),
        attempts=sorted(ledger.attempts, key=_by_end)[:MAX_RUNNING],
        attempt_count=len(ledger.attempts),
        stopping_count=sum(each.stop_cause is not None for each in ledger.attempts),
        heads=heads,
        depending=_depending(table, ledger),
        held=held(),
        more_waiting=any(_heads_of(use.pool, heads) < use.waiting for use in capacity.pools),
        ended=ended,
        events=recent_events(ledger.attempts, ended),
    )


def first_heads(snapshot: Snapshot, to_come: ToCome) -> list[Head]:
    """The first jobs of each queue, in rank order, with their reasons.

    Args:
        to_come: the arrays whose members enter the queue.
    """
    plan, explained = explain_next(snapshot, to_come)
    start_by = {wait.job: wait.start_by_ms for wait in plan.waits}
    taken: Counter[tuple[str, str]] = Counter()
    found: list[Head] = []
    for job in _in_order(snapshot, plan):
        queues = [(pool, job.terms.team) for pool in pools_of(job)]
        if job.name not in explained or all(taken[queue] >= MAX_HEADS for queue in queues):
            continue
        taken.update(queues)
        at = explained[job.name]
        found.append(Head(job=job, place=at.place, reason=at.reason, start_by_ms=start_by.get(job.name)))
        if len(found) == MAX_WAITING:
            break
    return found


def _in_order(snapshot: Snapshot, plan: Plan) -> Iterable[WaitingJob]:
    """The jobs that the decision considered: those that start, and those that wait in rank order."""
    jobs = {job.name: job for job in snapshot.waiting}
    names = dict.fromkeys([*(action.job for action in plan.actions), *(wait.job for wait in plan.waits)])
    return (jobs[name] for name in names if name in jobs)


def _heads_of(pool: str, heads: Iterable[Head]) -> int:
    return sum(pool in pools_of(each.job) for each in heads)


def by_team(attempts: Iterable[AttemptRecord]) -> dict[str, dict[str, int]]:
    """What each team holds of each pool; the empty name for jobs without a team."""
    found: dict[str, Counter[str]] = {}
    for attempt in attempts:
        for pool, count in attempt.demand.items():
            found.setdefault(pool, Counter())[attempt.team] += count
    return {pool: dict(sorted(counts.items())) for pool, counts in found.items()}


def ends_by_ms(attempt: AttemptRecord) -> int | None:
    """When an attempt has ended at the latest, ms; None if nothing limits it."""
    return None if attempt.limit_ms is None else attempt.since_ms + attempt.limit_ms


def _by_end(attempt: AttemptRecord) -> tuple[bool, bool, int, str]:
    end_ms = ends_by_ms(attempt)
    return attempt.stop_cause is None, end_ms is None, end_ms or 0, attempt.attempt_name


def _depending(table: Table, ledger: Ledger) -> int:
    """How many jobs other jobs or their array keep back, counted to :data:`MAX_PLACE` in each queue."""
    partitions = [
        QueueEntry.partition(pool.pool, team, waits_for_jobs=True)
        for pool in ledger.pools
        for team in ledger.queue_teams
    ]
    return sum(table.count_before(partition, "~", limit=MAX_PLACE) for partition in partitions)
