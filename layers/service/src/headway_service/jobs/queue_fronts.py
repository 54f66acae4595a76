"""How far the queues are read from their fronts to explain some of their jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headway.model import Snapshot
from headway.policy import Policy
from headway.scheduling.alternatives import pools_of
from headway.scheduling.ordering import rank_key
from headway_service.ports.table import Table
from headway_service.store.ledger import Ledger
from headway_service.store.queue_scan import PAGE
from headway_service.store.queue_tail import MAX_PLACE
from headway_service.store.records.listed_job import ListedJob
from headway_service.store.records.queue_entry import QueueEntry

MAX_EXPLAINED = 100
"""Jobs at the front of each queue that are explained one by one; a job further back gets its position only."""

_Kind = tuple[str, tuple[tuple[str, int], ...]]
"""What jobs have in common that wait in the same queues for the same instances: the team, and the demand."""

Counted = Mapping[tuple[str, str], int]
"""By queue and rank, how many jobs are ahead of it, up to :data:`headway_service.store.queue_tail.MAX_PLACE`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Front:
    """The fronts of the queues that are read.

    Attributes:
        heads: how many jobs of each queue; 0 if no job is near the front of its queues.
        counted: what was counted to know.
    """

    heads: int
    counted: Counted


def front_for(table: Table, jobs: Sequence[ListedJob], ledger: Ledger, policy: Policy) -> Front:
    """The fronts that explain some jobs, or most likely do: see :func:`reaches`.

    The jobs behind a job do not change why it waits, and a job behind :data:`MAX_EXPLAINED` others is not explained.
    So no more is read than its rank asks for, where that is known from how the queues are stored.

    Args:
        jobs: the jobs, which are queued; at least one.
        policy: the policy in effect.
    """
    counted: dict[tuple[str, str], int] = {}
    if not ranks_as_stored(policy):
        return Front(heads=MAX_EXPLAINED, counted=counted)
    # Most jobs of a long listing are alike, and wait in the same queues.
    alike: dict[_Kind, list[ListedJob]] = {}
    for job in jobs:
        alike.setdefault((job.team, tuple(job.demand.items())), []).append(job)
    if _explained_anywhere(jobs, alike, ledger, policy):
        return Front(heads=MAX_EXPLAINED, counted=counted)
    first: dict[str, str] = {}
    sizes = Counter[str]()
    for (team, demand), some in alike.items():
        # A rank as text takes longer to make than to compare.
        rank = min(some, key=_rank).rank()
        for pool, _ in demand:
            queue = QueueEntry.partition(pool, team)
            first[queue] = min(first.get(queue, rank), rank)
            sizes[queue] += len(some)
    # One queue of each job, and in each of these the first of the jobs.
    for queue in dict.fromkeys(QueueEntry.partition(min(demand)[0], team) for team, demand in alike):
        rank = first[queue]
        counted[queue, rank] = table.count_before(queue, rank, limit=MAX_PLACE)
        if counted[queue, rank] < MAX_EXPLAINED:
            near = counted[queue, rank] + max(sizes.values()) + PAGE
            # Where teams take turns, jobs of other teams may rank ahead that are stored behind.
            return Front(heads=MAX_EXPLAINED if policy.teams else min(MAX_EXPLAINED, near), counted=counted)
    return Front(heads=0, counted=counted)


def reaches(snapshot: Snapshot, jobs: Sequence[ListedJob], heads: int) -> bool:
    """Whether a snapshot with so many heads of each queue has all jobs ahead of the given ones.

    Args:
        heads: how many jobs of each queue were read at least.
    """
    last: dict[str, str] = {}
    for job in jobs:
        for pool in job.demand:
            last[pool] = max(last.get(pool, ""), job.rank())
    queues: dict[tuple[str, str], list[str]] = {}
    for each in snapshot.waiting:
        for pool in pools_of(each) & last.keys():
            queues.setdefault((pool, each.terms.team), []).append(
                rank_key(each.terms.priority, each.terms.turn_ms, each.name)
            )
    return all(len(ranks) < heads or sorted(ranks)[heads - 1] >= last[pool] for (pool, _), ranks in queues.items())


def ranks_as_stored(policy: Policy) -> bool:
    """Whether decisions rank the jobs of each queue as they are stored: by the given priorities."""
    teams = policy.teams.values()
    return policy.ageing is None and not any(team.guaranteed or team.max_priority is not None for team in teams)


def _explained_anywhere(jobs: Sequence[ListedJob], kinds: Iterable[_Kind], ledger: Ledger, policy: Policy) -> bool:
    """Whether one of the jobs may be explained however far back it is, as its reason depends on more than its rank."""
    sizes = {pool.pool: pool.size for pool in ledger.pools}
    if any(
        count > sizes.get(pool, 0) or count > policy.team(team).limit.get(pool, count)
        for team, demand in kinds
        for pool, count in demand
    ):
        return True
    owed = {each.job_name for each in ledger.reservations} | {each.freed_for for each in ledger.attempts}
    return any(job.chooses or job.job_name in owed for job in jobs)


def _rank(job: ListedJob) -> tuple[int, int, str]:
    """What sorts jobs as :meth:`ListedJob.rank` does."""
    return -job.priority, job.entry_time + job.handicap_ms, job.job_name
