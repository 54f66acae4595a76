"""The waiting jobs in rank order, computed lazily."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter

from headway.model import Snapshot, WaitingJob
from headway.scheduling.comparisons import Comparisons
from headway.scheduling.fair_share import Guarantees, TeamUse
from headway.scheduling.ordering import effective_priority
from headway.scheduling.team_turns import TeamTurns


def in_rank_order(
    snapshot: Snapshot, use: TeamUse, guarantees: Guarantees, comparisons: Comparisons
) -> Iterator[WaitingJob]:
    """The waiting jobs by rank: by effective priority, by turn, by name.

    Where there are teams, jobs come first that their team's guarantee covers, each judged for itself: a job that
    borrows is passed by smaller ones of its own team that are covered. And teams take turns: among jobs of one
    effective priority the share of the team (:mod:`headway.scheduling.team_turns`) comes before the turns of jobs. What
    has been freed for a job, or is being freed, is meant for it, so among its equals it comes first; otherwise they
    would take it from each other for ever.

    Args:
        snapshot: pools, policy, waiting jobs.
        use: what each team holds. It may change while the jobs are gone through, and what comes next is worked out
            again then: a team that was just given instances comes later.
        guarantees: the jobs that their team's guarantee covers, and the instances promised to them.
        comparisons: the evaluations of the decision so far.
    """
    if not snapshot.policy.teams:
        priority_of = _priority_of(snapshot)
        by_priority: defaultdict[int, list[WaitingJob]] = defaultdict(list)
        for job in snapshot.waiting:
            by_priority[priority_of(job)].append(job)
        queue = _PriorityQueue(by_priority)
        while queue.first() is not None:
            yield queue.pop()
        return
    queues = _TeamQueues(snapshot, use, guarantees, comparisons)
    while (each := queues.next()) is not None:
        yield each


_ByPriority = Mapping[int, Sequence[WaitingJob]]
"""Jobs by their effective priority."""

_Entry = tuple[int, str, WaitingJob]
"""Turn; name; the job."""


class _PriorityQueue:
    """Some jobs in order. The jobs of one priority are sorted when the first of them is needed.

    A decision seldom evaluates all of a long queue.
    """

    def __init__(self, by_priority: _ByPriority) -> None:
        self._by_priority = by_priority
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
        return self._heap[0]

    def pop(self) -> WaitingJob:
        """Remove the job that the last call of :meth:`first` returned."""
        return heapq.heappop(self._heap)[-1]

    def _begin(self, priority: int) -> None:
        self.priority = priority
        self._heap = [(job.terms.turn_ms, job.name, job) for job in self._by_priority[priority]]
        heapq.heapify(self._heap)


_Place = tuple[int, bool, int, str, int]
"""Among the jobs of a team: the priority, negated; whether nothing is promised to the job; turn; name; its queue."""


class _TeamQueue:
    """The jobs of one team: a queue for each demand, as a guarantee covers all or none of these.

    A job with a promise is in a queue of its own.
    """

    def __init__(self, queues: list[_PriorityQueue], guarantees: Guarantees, comparisons: Comparisons) -> None:
        self._comparisons = comparisons
        self._queues = queues
        self._guarantees = guarantees
        #: Queues whose jobs the guarantee covers, and queues whose jobs it does not. While the team only takes more, a
        #: job can become uncovered, which is noticed when its turn comes.
        self._covered: list[_Place] = []
        self._borrowing: list[_Place] = []
        self.sort()

    def sort(self) -> None:
        """Put all queues in order again: the team holds less than before, or something is no longer promised."""
        # Checking whether a job is covered takes as long as a few other evaluations.
        self._comparisons.made += 4 * len(self._queues)
        self._covered, self._borrowing = [], []
        for number in range(len(self._queues)):
            place = self._place(number)
            if place is not None:
                (self._covered if self._is_covered(place) else self._borrowing).append(place)
        heapq.heapify(self._covered)
        heapq.heapify(self._borrowing)

    def first(self) -> tuple[bool, _Place] | None:
        """Whether the first job borrows, and its place; None if there is none."""
        while self._covered:
            if self._is_covered(self._covered[0]):
                return False, self._covered[0]
            heapq.heappush(self._borrowing, heapq.heappop(self._covered))
        return (True, self._borrowing[0]) if self._borrowing else None

    def pop(self) -> WaitingJob:
        """Remove the job that the last call of :meth:`first` returned."""
        heap = self._covered or self._borrowing
        number = heap[0][-1]
        job = self._queues[number].pop()
        following = self._place(number)
        if following is None:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, following)
        return job

    def _is_covered(self, place: _Place) -> bool:
        first = self._queues[place[-1]].first()
        return first is not None and self._guarantees.covers(first[-1])

    def _place(self, number: int) -> _Place | None:
        queue = self._queues[number]
        first = queue.first()
        if first is None:
            return None
        turn_ms, name, _ = first
        return (-queue.priority, not self._guarantees.is_promised(name), turn_ms, name, number)


class _TeamQueues:
    """The queues of all teams, and which of them is next."""

    def __init__(self, snapshot: Snapshot, use: TeamUse, guarantees: Guarantees, comparisons: Comparisons) -> None:
        self._turns = TeamTurns(snapshot, guarantees.held)
        self._use = use
        self._guarantees = guarantees
        self._teams = _by_team(snapshot, guarantees, comparisons)
        #: The shares of teams, as long as they stay.
        self._shares: dict[str, float] = {}
        #: How often each team was pushed: only its last place counts.
        self._pushed = dict.fromkeys(self._teams, 0)
        #: The position of the first job of each team.
        self._places: list[tuple[bool, int, bool, float, int, str, str, int]] = []
        for team in self._teams:
            self._push(team)
        use.changed.clear()
        use.lowered.clear()

    def next(self) -> WaitingJob | None:
        """The first of all jobs that are left."""
        while self._use.changed:
            team = self._use.changed.pop()
            if team in self._teams:
                self._shares.pop(team, None)
                if team in self._use.lowered:
                    self._teams[team].sort()
                self._push(team)
        self._use.lowered.clear()
        while self._places:
            *_, team, pushed = heapq.heappop(self._places)
            if pushed == self._pushed[team]:
                job = self._teams[team].pop()
                self._push(team)
                return job
        return None

    def _push(self, team: str) -> None:
        self._pushed[team] += 1
        first = self._teams[team].first()
        if first is None:
            return
        borrows, (priority, unserved, turn_ms, name, _) = first
        share = 0.0
        if unserved:
            known = self._shares.get(team)
            if known is None:
                known = self._shares[team] = self._turns.share(team, self._guarantees.held(team))
            share = known
        heapq.heappush(self._places, (borrows, priority, unserved, share, turn_ms, name, team, self._pushed[team]))


_Demand = tuple[tuple[str, int], ...]


def _by_team(snapshot: Snapshot, guarantees: Guarantees, comparisons: Comparisons) -> dict[str, _TeamQueue]:
    priority_of = _priority_of(snapshot)
    # This is done for each job of a long queue, all else for each kind of jobs.
    alike: defaultdict[tuple[str, _Demand, int], list[WaitingJob]] = defaultdict(list)
    teams: dict[str, list[_PriorityQueue]] = {}
    for job in snapshot.waiting:
        if guarantees.is_promised(job.name):
            teams.setdefault(job.terms.team, []).append(_PriorityQueue({priority_of(job): [job]}))
        else:
            alike[job.terms.team, tuple(job.demand.items()), priority_of(job)].append(job)
    kinds: dict[tuple[str, _Demand], dict[int, list[WaitingJob]]] = {}
    for (team, demand, priority), jobs in alike.items():
        kinds.setdefault((team, demand), {})[priority] = jobs
    for (team, _), by_priority in kinds.items():
        teams.setdefault(team, []).append(_PriorityQueue(by_priority))
    return {team: _TeamQueue(queues, guarantees, comparisons) for team, queues in teams.items()}


def _priority_of(snapshot: Snapshot) -> Callable[[WaitingJob], int]:
    """The effective priority of jobs, where it can be the given one without working anything out."""
    now_ms, policy = snapshot.now_ms, snapshot.policy
    if policy.ageing is None and all(team.max_priority is None for team in policy.teams.values()):
        return attrgetter("terms.priority")
    return lambda job: effective_priority(job, now_ms, policy)
