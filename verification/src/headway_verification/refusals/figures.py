"""The figures of a day, computed from what SageMaker has run and from what was submitted. Pure.

A training job *uses* its instances from its creation to its end if it ever got them, so that the minutes in which its
instances are prepared count as use; one that never got any uses none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

MINUTE_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training job.

    Attributes:
        job: its job.
        instances: its instances, per pool.
        created_s: when it was created, s since the epoch.
        ended_s: when it ended; None if it has not.
        had_instances: whether it ever got them.
        completed: whether it has completed.
    """

    job: str
    instances: Mapping[str, int]
    created_s: float
    ended_s: float | None
    had_instances: bool
    completed: bool

    def uses_at(self, now_s: float) -> bool:
        """Whether it uses its instances at a time."""
        return self.had_instances and self.created_s <= now_s and (self.ended_s is None or now_s < self.ended_s)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A job that AWS would run, so that it could use what is idle.

    Attributes:
        job: its name.
        instances: those that it could have, per pool.
        since_s: from when on it could start, s since the epoch.
    """

    job: str
    instances: Mapping[str, int]
    since_s: float


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What became of the instances and the jobs in a day.

    Attributes:
        used: instances in use on average, per pool.
        used_at_end: instances in use at the end, per pool.
        idle_percent: the share of the instances' time in which they were idle while jobs waited that AWS would have run
            there. It includes what probing idles.
        completed: training jobs that have completed.
        wait_s: the longest wait for the first start of a job that AWS would run; None if one has never started.
        stopped: training jobs that have ended otherwise, after they had got instances.
        back_s: the longest time after which such a job runs again; None if one never does.
    """

    used: Mapping[str, float]
    used_at_end: Mapping[str, int]
    idle_percent: float
    completed: int
    wait_s: float | None
    stopped: int
    back_s: float | None


def figures_of(
    runs: Sequence[Run], wanted: Sequence[Wanted], usable: Mapping[str, int], *, begin_s: float, end_s: float
) -> Figures:
    """The figures of a span of time.

    Args:
        runs: all training jobs.
        wanted: the jobs that AWS would run.
        usable: the instances that SageMaker has and allows, per pool.
        begin_s: its begin, s since the epoch.
    """
    useful: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.created_s):
        if run.had_instances:
            useful.setdefault(run.job, []).append(run)
    used: Counter[str] = Counter()
    idle = 0.0
    moments = _moments(begin_s, end_s)
    for now_s in moments:
        in_use = _used_at(runs, now_s)
        used.update(in_use)
        free = {pool: max(0, count - in_use[pool]) for pool, count in usable.items()}
        idle += _taken([each for each in wanted if _waits(each, useful.get(each.job, ()), now_s)], free)
    return Figures(
        used={pool: used[pool] / len(moments) for pool in usable},
        used_at_end={pool: _used_at(runs, end_s)[pool] for pool in usable},
        idle_percent=100 * idle / max(1, sum(usable.values()) * len(moments)),
        completed=sum(run.completed for run in runs),
        wait_s=_longest(first_start(each, useful.get(each.job, ())) for each in wanted),
        stopped=sum(run.ended_s is not None and not run.completed for own in useful.values() for run in own),
        back_s=_longest(gap for own in useful.values() for gap in _gaps(own)),
    )


def first_start(wanted: Wanted, runs: Sequence[Run]) -> float | None:
    """How long after it could start a job was launched with success, s; None if never.

    Args:
        wanted: the job.
        runs: its training jobs that got instances, the first first.
    """
    return runs[0].created_s - wanted.since_s if runs else None


def _moments(begin_s: float, end_s: float) -> list[float]:
    """The middles of the minutes of a span of time."""
    return [begin_s + (number + 0.5) * MINUTE_S for number in range(int((end_s - begin_s) // MINUTE_S))]


def _used_at(runs: Iterable[Run], now_s: float) -> Counter[str]:
    used: Counter[str] = Counter()
    for run in runs:
        if run.uses_at(now_s):
            used.update(run.instances)
    return used


def _waits(wanted: Wanted, runs: Sequence[Run], now_s: float) -> bool:
    if now_s < wanted.since_s:
        return False
    return not any(run.uses_at(now_s) or (run.completed and (run.ended_s or 0) <= now_s) for run in runs)


def _taken(waiting: Iterable[Wanted], free: dict[str, int]) -> int:
    """The instances that waiting jobs could have of what is free, the first first."""
    taken = 0
    for each in waiting:
        if all(free.get(pool, 0) >= count for pool, count in each.instances.items()):
            for pool, count in each.instances.items():
                free[pool] -= count
                taken += count
    return taken


def _gaps(runs: Sequence[Run]) -> list[float | None]:
    """How long after each end that was no completion the next training job of a job was created; None if never."""
    gaps: list[float | None] = [
        after.created_s - before.ended_s for before, after in pairwise(runs) if before.ended_s is not None
    ]
    if runs and runs[-1].ended_s is not None and not runs[-1].completed:
        gaps.append(None)
    return gaps


def _longest(times: Iterable[float | None]) -> float | None:
    longest = 0.0
    for each in times:
        if each is None:
            return None
        longest = max(longest, each)
    return longest
