"""The waiting jobs in rank order, the next one worked out when it is asked for."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

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
        reserved: what is reserved for each job, as a part of its team's use. It may only become less meanwhile.
    """
    if not snapshot.policy.teams:
        priority_of = _priority_of(snapshot)
        by_priority: defaultdict[int, list[WaitingJob]] = defaultdict(list)
        for job in snapshot.waiting:
            by_priority[priority_of(job)].append(job)
        line = _Line(by_priority, {})
        while line.first() is not None:
            yield line.pop()
        return
    lines = _Lines(snapshot, use, reserved)
    while (each := lines.next()) is not None:
        yield each


_ByPriority = Mapping[int, Sequence[WaitingJob]]
"""Jobs by their effective priority."""

_Entry = tuple[bool, int, str, WaitingJob]
"""Whether nothing is reserved for the job; turn; name; the job."""


class _Line:
    """Some jobs in order. Those of a priority are put in order when the first of them is asked for.

    A decision seldom looks at all of a long line.
    """

    def __init__(self, by_priority: _ByPriority, reserved: Mapping[str, Demand]) -> None:
        self._by_priority = by_priority
        self._reserved = reserved
        #: Priorities that come later, the next one last.
        self._lower = sorted(by_priority)
        #: The jobs of the priority that it is the turn of.
        self._heap: list[_Entry] = []
        self.priority = 0

    def first(self) -> _Entry | None:
        """The first of the jobs that are left, which is one of :attr:`priority`."""
        if not self._heap:
            if not self._lower:
                return None
            self._begin(self._lower.pop())
        heap, reserved = self._heap, self._reserved
        while not heap[0][0] and heap[0][2] not in reserved:
            # What was reserved for it has gone to another job since.
            heapq.heapreplace(heap, (True, *heap[0][1:]))
        return heap[0]

    def pop(self) -> WaitingJob:
        """Take out what was :meth:`first` when that was asked for."""
        return heapq.heappop(self._heap)[-1]

    def _begin(self, priority: int) -> None:
        self.priority = priority
        reserved = self._reserved
        self._heap = [(job.name not in reserved, job.turn_ms, job.name, job) for job in self._by_priority[priority]]
        heapq.heapify(self._heap)


class _Lines:
    """The lines of teams, as many for each as have no pool in common, and which of them is next."""

    def __init__(self, snapshot: Snapshot, use: TeamUse, reserved: Mapping[str, Demand]) -> None:
        self._snapshot = snapshot
        self._use = use
        self._reserved = reserved
        policy = snapshot.policy
        lines = [
            (team, jobs)
            for team, by_demand in _by_team(snapshot).items()
            for jobs in _apart(by_demand, snapshot, policy.team(team))
        ]
        self._teams = [team for team, _ in lines]
        self._lines = [_Line(jobs, reserved) for _, jobs in lines]
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
                job = self._lines[number].pop()
                self._push(number)
                return job
        return None

    def _push(self, number: int) -> None:
        self._pushed[number] += 1
        line = self._lines[number]
        first = line.first()
        if first is None:
            return
        unserved, turn_ms, name, job = first
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
        place = (borrows, -line.priority, unserved, share, turn_ms, name, number, self._pushed[number])
        heapq.heappush(self._places, place)


_Demand = tuple[tuple[str, int], ...]


def _apart(by_demand: Mapping[_Demand, _ByPriority], snapshot: Snapshot, team: Team) -> Iterator[_ByPriority]:
    """The jobs of one team as lines that have no pool in common.

    Jobs that demand more than there is stand in lines of their own: they cannot start, so they hide nobody.
    """
    by_pools: dict[tuple[str, ...], list[_ByPriority]] = {}
    for demand, jobs in by_demand.items():
        if all(count <= min(snapshot.pools.get(pool, 0), team.limit.get(pool, count)) for pool, count in demand):
            by_pools.setdefault(tuple(pool for pool, _ in demand), []).append(jobs)
        else:
            yield jobs
    joined: list[tuple[frozenset[str], list[_ByPriority]]] = []
    for wanted, line in by_pools.items():
        shared = [(other, with_it) for other, with_it in joined if not other.isdisjoint(wanted)]
        joined = [(other, apart) for other, apart in joined if other.isdisjoint(wanted)]
        pools = frozenset(wanted).union(*(other for other, _ in shared))
        joined.append((pools, [*line, *(jobs for _, each in shared for jobs in each)]))
    for _, line in joined:
        yield _together(line)


def _by_team(snapshot: Snapshot) -> dict[str, dict[_Demand, dict[int, list[WaitingJob]]]]:
    priority_of = _priority_of(snapshot)
    # This is done for each job of a long line, all else for each kind of jobs.
    alike: defaultdict[tuple[str, _Demand, int], list[WaitingJob]] = defaultdict(list)
    for job in snapshot.waiting:
        alike[job.team, tuple(job.demand.items()), priority_of(job)].append(job)
    teams: dict[str, dict[_Demand, dict[int, list[WaitingJob]]]] = {}
    for (team, demand, priority), jobs in alike.items():
        teams.setdefault(team, {}).setdefault(demand, {})[priority] = jobs
    return teams


def _together(parts: Iterable[_ByPriority]) -> _ByPriority:
    together: dict[int, list[WaitingJob]] = {}
    for part in parts:
        for priority, jobs in part.items():
            together.setdefault(priority, []).extend(jobs)
    return together


def _priority_of(snapshot: Snapshot) -> Callable[[WaitingJob], int]:
    """The effective priority of jobs, where it can be the given one without working anything out."""
    now_ms, policy = snapshot.now_ms, snapshot.policy
    if policy.ageing is None and all(team.max_priority is None for team in policy.teams.values()):
        return attrgetter("priority")
    return lambda job: effective_priority(job, now_ms, policy)
