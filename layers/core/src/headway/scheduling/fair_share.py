"""What teams use, and are entitled to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy

from headway.model import Allocation, Demand, Snapshot, WaitingJob
from headway.scheduling.ordering import returning_rank, waiting_rank
from headway.vectors import minus, plus, positive, total


class TeamUse(dict[str, dict[str, int]]):
    """Instances per pool that each team holds.

    Attributes:
        changed: teams whose use has changed since this was last emptied.
        lowered: of these, teams that hold less of something than before.
    """

    def __init__(self, holdings: Iterable[tuple[str, Demand]] = ()) -> None:
        super().__init__()
        self.changed: set[str] = set()
        self.lowered: set[str] = set()
        for team, demand in holdings:
            self.add(team, demand)

    def copy(self) -> TeamUse:
        """The same use, without changes so far."""
        other = TeamUse()
        other.update((team, dict(mine)) for team, mine in self.items())
        return other

    def add(self, team: str, demand: Demand, times: int = 1) -> None:
        """A team takes something, or gives it back (-1 times).

        Args:
            demand: instances per pool.
            times: 1 to add, -1 to subtract.
        """
        mine = self.setdefault(team, {})
        for pool, count in demand.items():
            mine[pool] = mine.get(pool, 0) + times * count
        self.changed.add(team)
        if times < 0:
            self.lowered.add(team)


class Guarantees:
    """Which waiting jobs are covered by what their team is guaranteed.

    This is the one criterion of rank and of the right to reclaim. With two criteria, a job could stop attempts that
    rank before it and take their instances back.

    A job is covered if its team holds no more than it is guaranteed once the job has started, in all pools that it
    demands. A job that something is promised to (reserved, or being freed for it) stays covered while it waits: the
    guarantee is shared out among what the team runs and these jobs by rank, so that it does not matter whether a job of
    lower rank has begun to borrow meanwhile. What is promised to jobs that are not covered counts as held.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        use: TeamUse,
        live: Iterable[Allocation],
        promises: Iterable[tuple[WaitingJob, Demand]],
    ) -> None:
        """Share the guarantees out.

        Args:
            snapshot: the snapshot of the decision.
            use: what each team holds, kept up to date by the decision.
            live: attempts that hold instances and are not stopping.
            promises: the waiting jobs that something is promised to, and what.
        """
        self._snapshot = snapshot
        self._policy = policy = snapshot.policy
        self._use = use
        self._promises: dict[str, Demand] = {}
        #: By team: what is promised to its jobs, and the part of it that counts as held.
        self._promised = TeamUse()
        self._kept = TeamUse()
        #: What the guarantee of its team covers before a promised job. Those that it does not cover are not here.
        self._before: dict[str, Demand] = {}
        #: What jobs without a promise were given in this decision, by team.
        self._given = TeamUse()
        known = list(promises)
        guaranteed = [job for job, _ in known if policy.team(job.terms.team).guaranteed]
        if guaranteed:
            self._share_out(guaranteed, live)
        for job, promised in known:
            self._put(job, promised)

    def _share_out(self, promised: Sequence[WaitingJob], live: Iterable[Allocation]) -> None:
        now_ms, policy = self._snapshot.now_ms, self._policy
        teams = {job.terms.team for job in promised}
        ranked = [(waiting_rank(job, now_ms, policy), job.terms.team, job.demand, job.name) for job in promised]
        ranked += [
            (returning_rank(a, now_ms, policy), a.terms.team, a.demand, "") for a in live if a.terms.team in teams
        ]
        covered = TeamUse()
        for _, team, demand, name in sorted(ranked, key=lambda entry: (entry[0], entry[-1])):
            before = covered.get(team, _NOTHING)
            if within_guarantee(before, demand, policy.team(team).guaranteed):
                if name:
                    self._before[name] = dict(before)
                covered.add(team, demand)

    def copy(self, use: TeamUse) -> Guarantees:
        """The same guarantees and promises.

        Args:
            use: what each team holds, which the copy keeps to.
        """
        other = copy(self)
        vars(other).update(
            _use=use,
            _promises=dict(self._promises),
            _before=dict(self._before),
            _promised=self._promised.copy(),
            _kept=self._kept.copy(),
            _given=self._given.copy(),
        )
        return other

    def covers(self, job: WaitingJob) -> bool:
        """Whether the guarantee of its team covers the job."""
        guaranteed = self._policy.team(job.terms.team).guaranteed
        if not guaranteed:
            return False
        if within_guarantee(self._held(job), job.demand, guaranteed):
            return True
        before = self._before.get(job.name)
        return before is not None and within_guarantee(
            plus(before, self._given.get(job.terms.team, _NOTHING)), job.demand, guaranteed
        )

    def covers_without(self, job: WaitingJob, stopped: Iterable[Demand]) -> bool:
        """The same after its team has freed all of these.

        Args:
            stopped: the demands of attempts that stop.
        """
        guaranteed = self._policy.team(job.terms.team).guaranteed
        return self.covers(job) or within_guarantee(minus(self._held(job), total(stopped)), job.demand, guaranteed)

    def _held(self, job: WaitingJob) -> Demand:
        held = self._use.get(job.terms.team, _NOTHING)
        if job.name not in self._promises and job.terms.team in self._kept:
            return plus(held, self._kept[job.terms.team])
        return held

    def is_promised(self, name: str) -> bool:
        """Whether something is reserved or being freed for this job."""
        return name in self._promises

    def promise(self, job: WaitingJob, promised: Demand) -> None:
        """No more than this is promised to the job from now on.

        Args:
            promised: the instances that are reserved and being freed for it.
        """
        before = self._promises.pop(job.name, None)
        if before is None:
            return
        self._promised.add(job.terms.team, before, -1)
        if job.name not in self._before:
            self._kept.add(job.terms.team, before, -1)
        if promised:
            self._put(job, promised)
        else:
            self._before.pop(job.name, None)
        self._use.changed.add(job.terms.team)
        self._use.lowered.add(job.terms.team)

    def _put(self, job: WaitingJob, promised: Demand) -> None:
        self._promises[job.name] = promised
        self._promised.add(job.terms.team, promised)
        if job.name not in self._before:
            self._kept.add(job.terms.team, promised)

    def give(self, job: WaitingJob) -> None:
        """The job starts, or is sure of its instances: its team holds them."""
        if job.name not in self._before:
            self._given.add(job.terms.team, job.demand)
        self.promise(job, {})
        self._use.add(job.terms.team, job.demand)

    def held(self, team: str) -> dict[str, int]:
        """What a team holds, with what is promised to its jobs."""
        return plus(self._use.get(team, _NOTHING), self._promised.get(team, _NOTHING))


_NOTHING: Demand = {}


def largest_part(use: Mapping[str, float], pools: Mapping[str, float]) -> float:
    """The largest part of a pool that is used (dominant resource fairness, NSDI'11).

    Args:
        use: instances per pool.
        pools: the sizes of the pools.
    """
    return max((count / pools[pool] for pool, count in use.items() if pools.get(pool)), default=0.0)


def borrowed(use: Demand, guaranteed: Demand) -> dict[str, int]:
    """The instances per pool that a team uses beyond its guarantee.

    Args:
        use: instances per pool that the team uses.
        guaranteed: the team's guarantee.
    """
    return positive(minus(use, guaranteed))


def within_guarantee(use: Demand, takes: Demand, guaranteed: Demand) -> bool:
    """Whether a team that uses ``use`` borrows nothing of these pools once it has taken ``takes`` (which may be 0).

    Args:
        use: instances per pool that the team uses.
        takes: instances per pool that it takes.
        guaranteed: the team's guarantee.
    """
    return all(use.get(pool, 0) + count <= guaranteed.get(pool, 0) for pool, count in takes.items())


def is_borrowed(use: Demand, victim: Allocation, guaranteed: Demand) -> bool:
    """Whether stopping this attempt leaves its team with all of its guarantee that it uses.

    Args:
        use: instances per pool that its team uses.
        victim: the attempt.
        guaranteed: the team's guarantee.
    """
    return all(
        use.get(pool, 0) - victim.demand[pool] >= count for pool, count in guaranteed.items() if pool in victim.demand
    )
