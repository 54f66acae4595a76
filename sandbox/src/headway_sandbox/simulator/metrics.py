"""Metrics of a simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from headway_sandbox.simulator.limits import Limits, described
from headway_sandbox.simulator.trace import Trace, TraceJob

_HOUR_MS = 3_600_000
_Key = TypeVar("_Key", int, str)
PERCENTILES = (50, 95, 99)


@dataclass(slots=True)
class Outcome:
    """Outcome of one job."""

    job: TraceJob
    #: Total time in the queue, including after preemptions.
    waited_ms: int = 0
    #: Its first start.
    started_ms: int | None = None
    ended_ms: int | None = None
    #: Number of preemption requests, and of preemptions that ended an attempt.
    preemptions: int = 0
    yields: int = 0
    #: Instance-milliseconds of lost work.
    lost_ms: int = 0
    waits_since_ms: int = 0


@dataclass(slots=True)
class WarmUse:
    """How warm pools were used."""

    #: Starts in a warm pool.
    starts: int = 0
    #: Instance-milliseconds in which warm pools were idle.
    idle_ms: int = 0


@dataclass
class Timeline:
    """Instances in use and waiting jobs, from each change on."""

    times_ms: list[int] = field(default_factory=list)
    used: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)

    def record(self, time_ms: int, used: int, waiting: int) -> None:
        """Record a change. The last state of an instant counts.

        Args:
            time_ms: Time of the change.
            used: Instances in use.
            waiting: Waiting jobs.
        """
        if self.times_ms and self.times_ms[-1] == time_ms:
            self.used[-1], self.waiting[-1] = used, waiting
            return
        self.times_ms.append(time_ms)
        self.used.append(used)
        self.waiting.append(waiting)

    def averages(self, parts: int) -> Timeline:
        """Return a timeline of equal parts with rounded averages."""
        if len(self.times_ms) < 2:
            return self
        first, last = self.times_ms[0], self.times_ms[-1]
        edges = [first + (last - first) * part // parts for part in range(parts + 1)]
        result = Timeline()
        at = 0
        for begin, end in pairwise(edges):
            if begin == end:
                continue
            used = waiting = 0
            now = begin
            while now < end:
                while at + 1 < len(self.times_ms) and self.times_ms[at + 1] <= now:
                    at += 1
                until = min(end, self.times_ms[at + 1] if at + 1 < len(self.times_ms) else end)
                used += self.used[at] * (until - now)
                waiting += self.waiting[at] * (until - now)
                now = until
            result.record(begin, round(used / (end - begin)), round(waiting / (end - begin)))
        return result


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Average and percentiles of times, in seconds."""

    avg_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float

    @classmethod
    def of(cls, times_ms: Iterable[int]) -> Spread:
        """Return the spread of times in ms; zeros if there are none."""
        ordered = sorted(times_ms) or [0]
        p50, p95, p99 = (ordered[min(len(ordered) - 1, len(ordered) * p // 100)] / 1000 for p in PERCENTILES)
        average = round(sum(ordered) / len(ordered) / 1000, 1)
        return cls(avg_s=average, p50_s=p50, p95_s=p95, p99_s=p99, max_s=ordered[-1] / 1000)


@dataclass(frozen=True, kw_only=True)
class Result:
    """Metrics of one simulation. Waits and JCTs are those of ended jobs."""

    trace: str
    policy: str
    #: None for a policy that does not use limits.
    limit_factor: Limits | None
    jobs: int
    #: Jobs that never end under this policy.
    unfinished: int
    too_large: int
    wait: Spread
    jct: Spread
    makespan_s: float
    #: Useful instance-time divided by total instance-time, from the first submission to the last end.
    utilisation: float
    preemptions: int
    most_preemptions: int
    work_lost_instance_h: float
    #: Launches that SageMaker's quota refused.
    refused: int
    #: How long instances stayed warm after a job, s; 0 for not at all.
    keep_s: float
    #: How long it took until the instances of a released warm pool were free, s.
    release_s: float
    #: Starts in a warm pool, and instance hours in which warm pools were idle.
    warm_starts: int
    warm_idle_instance_h: float
    #: Average wait per team and per priority, s.
    wait_by_team_s: Mapping[str, float]
    wait_by_priority_s: Mapping[str, float]
    #: Jain's index of the teams' average waits: 1 if all are equal, 1/n if only one of n waits.
    fairness: float
    wall_s: float
    timeline: Timeline

    @property
    def label(self) -> str:
        """The policy, its limit factor if it uses limits, and how long warm pools stay and take to be released."""
        limits = "" if self.limit_factor is None else f" {described(self.limit_factor)}"
        return f"{self.policy}{limits}" + (f" warm {self.keep_s:g}/{self.release_s:g} s" if self.keep_s else "")

    def to_document(self, parts: int = 500) -> dict[str, Any]:
        """Return the metrics for JSON, with a timeline of `parts` parts."""
        return {**asdict(self), "timeline": asdict(self.timeline.averages(parts))}


def measure(
    *,
    trace: Trace,
    policy: str,
    limit_factor: Limits | None,
    outcomes: Mapping[str, Outcome],
    timeline: Timeline,
    refused: int,
    keep_s: float,
    release_s: float,
    warm: WarmUse,
    wall_s: float,
) -> Result:
    """Compute the metrics of a simulation.

    Args:
        policy: Name of the policy.
        limit_factor: Limits divided by run times, or how they are given; None if the policy does not use limits.
        outcomes: Outcomes by job.
        timeline: Instances in use and waiting jobs.
        refused: Launches that SageMaker's quota refused.
        keep_s: How long instances stayed warm after a job, s.
        release_s: How long it took until the instances of a released warm pool were free, s.
        warm: The use of warm pools.
        wall_s: Duration of the simulation.
    """
    ended = [outcome for outcome in outcomes.values() if outcome.ended_ms is not None]
    first_ms = trace.jobs[0].submit_ms
    makespan_ms = max((outcome.ended_ms or 0 for outcome in ended), default=first_ms) - first_ms
    useful = sum(outcome.job.run_ms * outcome.job.count for outcome in ended)
    by_team = _average_by(ended, lambda outcome: outcome.job.team or "-")
    by_priority = _average_by(ended, lambda outcome: outcome.job.priority)
    return Result(
        trace=trace.source,
        policy=policy,
        limit_factor=limit_factor,
        jobs=len(ended),
        unfinished=len(outcomes) - len(ended),
        too_large=trace.too_large,
        wait=Spread.of(outcome.waited_ms for outcome in ended),
        jct=Spread.of((outcome.ended_ms or 0) - outcome.job.submit_ms for outcome in ended),
        makespan_s=makespan_ms / 1000,
        utilisation=round(useful / (sum(trace.pools.values()) * makespan_ms), 4) if makespan_ms else 0.0,
        preemptions=sum(outcome.yields for outcome in outcomes.values()),
        most_preemptions=max((outcome.yields for outcome in outcomes.values()), default=0),
        work_lost_instance_h=round(sum(outcome.lost_ms for outcome in outcomes.values()) / _HOUR_MS, 1),
        refused=refused,
        keep_s=keep_s,
        release_s=release_s,
        warm_starts=warm.starts,
        warm_idle_instance_h=round(warm.idle_ms / _HOUR_MS, 1),
        wait_by_team_s=by_team,
        wait_by_priority_s={str(priority): wait for priority, wait in by_priority.items()},
        fairness=jain(list(by_team.values())),
        wall_s=round(wall_s, 2),
        timeline=timeline,
    )


def jain(values: Sequence[float]) -> float:
    """Return Jain's fairness index: 1 if all values are equal, at least one divided by their number."""
    squares = sum(value * value for value in values)
    return round(sum(values) ** 2 / (len(values) * squares), 4) if squares else 1.0


def _average_by(outcomes: Iterable[Outcome], key: Callable[[Outcome], _Key]) -> dict[_Key, float]:
    groups: dict[_Key, list[int]] = {}
    for outcome in outcomes:
        groups.setdefault(key(outcome), []).append(outcome.waited_ms)
    return {name: round(sum(waits) / len(waits) / 1000, 1) for name, waits in sorted(groups.items())}
