"""The position of a job in the queue and the reason why it waits, as a decision would give them now.

Neither is stored with the job: both are computed on demand. So they are always current, and nothing is written for jobs
that only keep waiting.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from headway import reasons
from headway.lifecycle import TERMINAL, WAITING
from headway.model import Snapshot
from headway.policy import Policy
from headway.reasons import Reason, ReasonCode
from headway.scheduling.alternatives import pools_of
from headway.scheduling.ordering import rank_key
from headway_service.arrays.to_come import read_to_come
from headway_service.jobs.front_positions import ComingMembers, Position, explain_next
from headway_service.jobs.queue_fronts import MAX_EXPLAINED, Counted, front_for, reaches
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table
from headway_service.store.ledger import Ledger, read_ledger_for_display, read_team_names
from headway_service.store.queue_tail import MAX_PLACE, QueueTail
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.listed_job import ListedJob
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.repository import find_job
from headway_service.store.snapshot import read_snapshot

MAX_CAUSES = 3
"""Jobs for which the reason of a job that waits for others says why these wait; none in listings."""

_SAYS_NO_MORE = frozenset({ReasonCode.ENTERED, ReasonCode.MEMBERS_LEFT, ReasonCode.STARTS_NOW})
"""What a job may be explained by that neither waits for anything else nor is kept."""

AnyJob_co = TypeVar("AnyJob_co", bound=ListedJob, covariant=True)
"""A whole record, or what listings have of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobView(Generic[AnyJob_co]):
    """A job as a caller sees it: its record, its position in the queue, and the current reason."""

    job: AnyJob_co
    place: int | None
    reason: ReasonRecord
    #: How many of those ahead of it that ``place`` counts are members of arrays that are in no queue yet.
    to_come: int = 0


class PositionExplainer:
    """Finds the positions of jobs and the reasons why they wait.

    Args:
        clocks: training time and machine time.
        policy: the policy in effect.
    """

    def __init__(
        self,
        table: Table,
        clocks: Clocks,
        policy: Callable[[], Policy],
    ) -> None:
        self._table = table
        self._clocks = clocks
        self._policy = policy

    def explain(self, jobs: Sequence[AnyJob_co]) -> list[JobView[AnyJob_co]]:
        """Jobs with their positions and current reasons, in the order given.

        The reason of a single job that waits for others says what these wait for, as they would be explained.
        """
        views = self._explain(jobs)
        if len(jobs) != 1 or views[0].reason.code is not ReasonCode.WAITS_FOR_JOBS:
            return views
        reason = self._with_causes(jobs[0], views[0].reason.reason(), iter(range(MAX_CAUSES)))
        return [replace(views[0], reason=ReasonRecord.of(reason))]

    def _with_causes(self, job: ListedJob, reason: Reason, left: Iterator[int]) -> Reason:
        """The reason of a job that waits for others, with the reasons of those that wait, and so on.

        Args:
            left: yields as often as another job may be explained.
        """
        for name, _ in job.awaited:
            if next(left, None) is None:
                break
            other = find_job(self._table, name)
            if other is None or other.job_state not in WAITING:
                continue
            cause = self._explain([other])[0].reason.reason()
            if cause.code is ReasonCode.WAITS_FOR_JOBS:
                cause = self._with_causes(other, cause, left)
            if cause.code not in _SAYS_NO_MORE:
                reason = reasons.with_cause(reason, name, cause)
        return reason

    def _explain(self, jobs: Sequence[AnyJob_co]) -> list[JobView[AnyJob_co]]:
        """Jobs with their positions and current reasons, without what the jobs wait for that they wait for."""
        waiting = [job for job in jobs if job.is_queued]
        if not waiting:
            return [JobView(job=job, place=None, reason=_reason(job, self._clocks.training_ms())) for job in jobs]
        now_ms = self._clocks.training_ms()
        ledger = read_ledger_for_display(self._table).in_training_time(now_ms, self._clocks.machine_ms())
        explained = self._explained(waiting, ledger, now_ms)
        queued = {job.job_name for job in waiting}
        views = []
        for job in jobs:
            # A job that the decision did not include (or that has just been started) gets its position only.
            found = explained.get(job.job_name) if job.job_name in queued else None
            found = found or Position(place=None, reason=_reason(job, now_ms))
            views.append(JobView(job=job, place=found.place, reason=found.reason, to_come=found.to_come))
        return views

    def _explained(self, waiting: Sequence[ListedJob], ledger: Ledger, now_ms: int) -> dict[str, Position]:
        """Positions and reasons of waiting jobs."""
        policy = self._policy()
        to_come = read_to_come(self._table, ledger, now_ms)
        members = ComingMembers(to_come, now_ms, policy)
        front = front_for(self._table, waiting, ledger, policy)
        if not front.heads:
            if all(ahead >= MAX_PLACE for ahead in front.counted.values()):
                # So many are ahead of the first of these jobs in a queue of each.
                return _further_back(waiting, dict.fromkeys(job.job_name for job in waiting), members)
            places = _QueueView(self._table, ledger.queue_teams, counted=front.counted).places(waiting)
            return _further_back(waiting, places, members)
        heads = front.heads
        snapshot = read_snapshot(self._table, ledger, now_ms, policy=policy, also=waiting, heads=heads)
        if heads < MAX_EXPLAINED and not reaches(snapshot, waiting, heads):
            heads = MAX_EXPLAINED
            snapshot = read_snapshot(self._table, ledger, now_ms, policy=policy, also=waiting, heads=heads)
        _, explained = explain_next(snapshot, to_come, {job.job_name for job in waiting})
        further_back = [job for job in waiting if job.job_name not in explained]
        view = _QueueView(self._table, ledger.queue_teams, snapshot, heads, counted=front.counted)
        return explained | _further_back(further_back, view.places(further_back), members)

    def places(
        self,
        jobs: Sequence[ListedJob],
        teams: Sequence[str] | None = None,
        read: Mapping[str, QueueTail] | None = None,
        *,
        most: int = MAX_PLACE,
    ) -> dict[str, int | None]:
        """The position of each job in the longest of its queues, 1 being next; None beyond a largest one.

        The queues of all teams in a pool count as one, in the order of the given priorities. Members of arrays that are
        in no queue yet do not count.

        Args:
            jobs: the jobs, which need not be queued.
            teams: the teams that have queues; None to read them too.
            read: queues that were read already, by partition; they are read again only where they do not suffice.
            most: the largest position.
        """
        if not jobs:
            return {}
        if teams is None:
            teams = read_team_names(self._table)
        return _QueueView(self._table, teams, read=read).places(jobs, most)


def _reason(job: ListedJob, now_ms: int) -> ReasonRecord:
    """The current reason of a job that is in no queue."""
    if job.job_state in WAITING and not job.held and job.begin_ms is not None:
        return ReasonRecord.of(reasons.waits_for_time(job.begin_ms, job.awaited, now_ms))
    if job.job_state in WAITING and not job.held and job.twin:
        return ReasonRecord.of(reasons.waits_for_twin(job.twin))
    if job.job_state in WAITING and not job.held and job.awaited:
        return ReasonRecord.of(reasons.waits_for_jobs(job.awaited))
    if job.job_state in WAITING and not job.held and job.is_set_aside:
        return ReasonRecord.of(reasons.waits_for_array(job.member_of))
    if job.array is not None and job.job_state not in TERMINAL and not job.held and job.array.made:
        return ReasonRecord.of(reasons.members_left())
    return job.reason


def _further_back(
    jobs: Sequence[ListedJob], places: Mapping[str, int | None], members: ComingMembers
) -> dict[str, Position]:
    """Jobs that are explained by their positions only.

    Args:
        places: the position of each among the jobs in the queue.
        members: those that are in no queue yet.
    """
    # Most jobs of a long listing share the reason of those without a position.
    known: dict[tuple[int | None, str], Position] = {}
    found: dict[str, Position] = {}
    for job in jobs:
        ahead = members.ahead_of(job)
        in_queue, to_come = places[job.job_name], members.text(ahead)
        if (in_queue, to_come) not in known:
            before = in_queue - 1 if in_queue is not None else MAX_PLACE
            reason = reasons.waits_in_line(before, at_least=in_queue is None, to_come=to_come)
            place = members.place(in_queue, ahead)
            position = Position(place=place, reason=ReasonRecord.of(reason), to_come=sum(ahead.values()))
            known[in_queue, to_come] = position
        found[job.job_name] = known[in_queue, to_come]
    return found


class _QueueView:
    """Counts the jobs ahead of given jobs.

    Args:
        teams: the teams that have queues.
        snapshot: a snapshot whose jobs need not be read again, or None.
        heads: how many jobs of each queue it has at least, if the queue has so many.
        read: queues that were read already, by partition.
        counted: what was counted already.
    """

    def __init__(
        self,
        table: Table,
        teams: Sequence[str],
        snapshot: Snapshot | None = None,
        heads: int = 0,
        *,
        read: Mapping[str, QueueTail] | None = None,
        counted: Counted | None = None,
    ) -> None:
        self._table = table
        self._teams = teams
        self._read = read or {}
        self._known = counted or {}
        self._heads: dict[tuple[str, str], list[str]] = {}
        if snapshot is not None:
            found: dict[tuple[str, str], list[str]] = {(pool, team): [] for pool in snapshot.pools for team in teams}
            for job in snapshot.waiting:
                for pool in pools_of(job):
                    if (pool, job.terms.team) in found:
                        found[pool, job.terms.team].append(rank_key(job.terms.priority, job.terms.turn_ms, job.name))
            # Where fewer were found, the queue has no more.
            whole = (queue for queue, ranks in found.items() if len(ranks) < heads)
            self._heads = {queue: sorted(found[queue]) for queue in whole}

    def places(self, jobs: Sequence[ListedJob], most: int = MAX_PLACE) -> dict[str, int | None]:
        """The position of each job in the longest of its queues; None beyond a largest one.

        Each queue is read once at most, however many jobs there are.

        Args:
            most: the largest position.
        """
        ranked = [(job, job.rank()) for job in jobs]
        pools = sorted({pool for job in jobs for pool in job.demand})
        queues = {
            pool: self._counters(pool, [each for each in ranked if pool in each[0].demand], most) for pool in pools
        }
        places: dict[str, int | None] = {}
        for job, rank in ranked:
            ahead = max(sum(before(rank) for before in queues[pool]) for pool in job.demand)
            places[job.job_name] = ahead + 1 if ahead < most else None
        return places

    def _counters(self, pool: str, jobs: Sequence[tuple[ListedJob, str]], most: int) -> list[Callable[[str], int]]:
        """Count the jobs of a pool ahead of some ranks, queue by queue until all of these are beyond the largest place.

        The queues of the jobs themselves come first: a job at the end of a long queue needs no other one.
        """
        ranks, own = {rank for _, rank in jobs}, {job.team for job, _ in jobs}
        first = min(ranks)
        found: list[Callable[[str], int]] = []
        for team in sorted(self._teams, key=lambda team: team not in own):
            found.append(self._counter(pool, team, ranks, most))
            if sum(before(first) for before in found) >= most:
                break
        return found

    def _counter(self, pool: str, team: str, ranks: Collection[str], most: int) -> Callable[[str], int]:
        """Counts the jobs of a queue ahead of one of these ranks, up to the largest place at least."""
        heads = self._heads.get((pool, team))
        if heads is not None:
            return partial(bisect_left, heads)
        partition = QueueEntry.partition(pool, team)
        known = self._read.get(partition)
        if known is None:
            return self._counted(partition, ranks, most)
        further = [rank for rank in ranks if not known.covers(rank, most)]
        counted = self._counted(partition, further, most) if further else known.ahead
        return lambda rank: known.ahead(rank) if known.covers(rank, most) else counted(rank)

    def _counted(self, partition: str, ranks: Collection[str], most: int) -> Callable[[str], int]:
        first, last = min(ranks), max(ranks)
        ahead = self._known.get((partition, first), 0)
        if ahead >= most:
            return lambda _: ahead
        if len(ranks) == 1:
            # DynamoDB reads as much for a count as for the ranks, but sends less.
            known = self._known.get((partition, last))
            found = self._table.count_before(partition, last, limit=most) if known is None else known
            return lambda _: found
        return partial(bisect_left, self._table.keys_before(partition, last, limit=most))
