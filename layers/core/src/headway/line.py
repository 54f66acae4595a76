"""The waiting jobs in rank order, the next one worked out when it is asked for."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping

from headway.capacity import minus
from headway.model import Demand, Snapshot, WaitingJob
from headway.ordering import effective_priority
from headway.policy import Team
from headway.teams import TeamUse, weighted_dominant_use, within_guarantee


def in_rank_order(snapshot: Snapshot, use: TeamUse, reserved: Mapping[str, Demand]) -> Iterator[WaitingJob]:
    """The waiting jobs by rank: by effective priority, by turn, by name.

    Where there are teams, those come first that their team's guarantee covers, and teams take turns: among jobs of one
    effective priority the weighted dominant use of the team comes before the turns of jobs. What has been freed for a
    job is meant for it, so among its equals it comes first; otherwise they would take it from each other for ever. Jobs
    of one team that compete for a pool do not overtake each other, so that a large one is not passed by smaller ones
    that the guarantee covers.

    Args:
        snapshot: pools, policy, waiting jobs.
        use: what each team holds or has reserved. It may change while the jobs are gone through, and what comes next
            is worked out anew then: a team that was just given instances comes later.
        reserved: what is reserved for each job, as a part of its team's use.
    """
    if not snapshot.policy.teams:
        line = _heap_of(snapshot.waiting, None, {}, snapshot)
        while line:
            yield heapq.heappop(line)[-1]
        return
    lines = _Lines(snapshot, use, reserved)
    while (job := lines.next()) is not None:
        yield job


class _Lines:
    """The lines of teams, as many for each as have no pool in common, and which of them is next."""

    def __init__(self, snapshot: Snapshot, use: TeamUse, reserved: Mapping[str, Demand]) -> None:
        self._snapshot = snapshot
        self._use = use
        self._reserved = reserved
        policy = snapshot.policy
        lines = [
            (team, jobs)
            for team, mine in _by_team(snapshot.waiting).items()
            for jobs in _apart(mine, snapshot, policy.team(team))
        ]
        self._teams = [team for team, _ in lines]
        self._lines = [_heap_of(jobs, policy.team(team), reserved, snapshot) for team, jobs in lines]
        self._of_team: dict[str, list[int]] = {}
        #: The weighted dominant use of teams, as long as it stays.
        self._shares: dict[str, float] = {}
        #: How often each line was pushed: only its last place counts.
        self._pushed = [0] * len(self._lines)
        #: Where the first job of each line stands.
        self._places: list[tuple[bool, int, bool, float, int, str, int, int]] = []
        for number, team in enumerate(self._teams):
            self._of_team.setdefault(team, []).append(number)
            self._push(number)
        use.changed.clear()

    def next(self) -> WaitingJob | None:
        """The first of all jobs that are left."""
        while self._use.changed:
            team = self._use.changed.pop()
            self._shares.pop(team, None)
            for number in self._of_team.get(team, ()):
                self._push(number)
        while self._places:
            *_, number, pushed = heapq.heappop(self._places)
            if pushed == self._pushed[number]:
                job = heapq.heappop(self._lines[number])[-1]
                self._push(number)
                return job
        return None

    def _push(self, number: int) -> None:
        self._pushed[number] += 1
        line = self._lines[number]
        if not line:
            return
        minus_priority, unserved, turn_ms, name, job = line[0]
        while not unserved and name not in self._reserved:
            # What was reserved for it has gone to another job since.
            heapq.heapreplace(line, (minus_priority, True, turn_ms, name, job))
            minus_priority, unserved, turn_ms, name, job = line[0]
        team = self._teams[number]
        entitled, held = self._snapshot.policy.team(team), self._use.get(team, {})
        # What is reserved for the job counts as used by its team already.
        takes = job.demand if unserved else minus(job.demand, self._reserved[name])
        borrows = not within_guarantee(held, takes, entitled.guaranteed)
        share = 0.0
        if unserved:
            known = self._shares.get(team)
            if known is None:
                known = self._shares[team] = weighted_dominant_use(held, self._snapshot.pools, entitled.weight)
            share = known
        place = (borrows, minus_priority, unserved, share, turn_ms, name, number, self._pushed[number])
        heapq.heappush(self._places, place)


def _by_team(jobs: Iterable[WaitingJob]) -> dict[str, list[WaitingJob]]:
    teams: dict[str, list[WaitingJob]] = {}
    for job in jobs:
        teams.setdefault(job.team, []).append(job)
    return teams


def _apart(jobs: Iterable[WaitingJob], snapshot: Snapshot, team: Team) -> Iterator[list[WaitingJob]]:
    """The jobs of one team as lines that have no pool in common.

    Jobs that demand more than there is stand in lines of their own: they cannot start, so they hide nobody.
    """
    alike: dict[tuple[tuple[str, int], ...], list[WaitingJob]] = {}
    for job in jobs:
        alike.setdefault(tuple(job.demand.items()), []).append(job)
    by_pools: dict[tuple[str, ...], list[WaitingJob]] = {}
    for demand, those in alike.items():
        if all(count <= min(snapshot.pools.get(pool, 0), team.limit.get(pool, count)) for pool, count in demand):
            by_pools.setdefault(tuple(pool for pool, _ in demand), []).extend(those)
        else:
            yield those
    joined: list[tuple[frozenset[str], list[WaitingJob]]] = []
    for wanted, line in by_pools.items():
        shared = [(other, with_it) for other, with_it in joined if not other.isdisjoint(wanted)]
        joined = [(other, apart) for other, apart in joined if other.isdisjoint(wanted)]
        pools = frozenset(wanted).union(*(other for other, _ in shared))
        joined.append((pools, [*line, *(job for _, each in shared for job in each)]))
    for _, line in joined:
        yield line


_Entry = tuple[int, bool, int, str, WaitingJob]
"""Effective priority, negative; whether nothing is reserved for the job; turn; name; the job."""


def _heap_of(
    jobs: Iterable[WaitingJob], team: Team | None, reserved: Mapping[str, Demand], snapshot: Snapshot
) -> list[_Entry]:
    """Some jobs as a heap: a decision seldom looks at all of a long line."""
    now_ms, policy = snapshot.now_ms, snapshot.policy
    heap: list[_Entry]
    if policy.ageing is None and (team is None or team.max_priority is None):
        heap = [
            (-job.priority, job.name not in reserved, job.entry_time_ms + job.handicap_ms, job.name, job)
            for job in jobs
        ]
    else:
        heap = [
            (-effective_priority(job, now_ms, policy), job.name not in reserved, job.turn_ms, job.name, job)
            for job in jobs
        ]
    heapq.heapify(heap)
    return heap
