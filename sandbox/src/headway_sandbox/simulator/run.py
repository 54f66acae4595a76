"""Playing a trace under one policy, and under many."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from random import Random

from headway.model import Snapshot, WaitingJob
from headway.scheduling.ordering import handicap_ms
from headway.scheduling.simulation import Arrival, Event, EventKind, Simulation
from headway_sandbox.simulator.errors import InvalidInput
from headway_sandbox.simulator.metrics import Outcome, Result, Timeline, measure
from headway_sandbox.simulator.policies import Article, Contender, contender
from headway_sandbox.simulator.trace import Trace, TraceJob


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One simulation."""

    trace: Trace
    policy: str
    #: The limit of each job is its true run time times this.
    limit_factor: float = 1.0
    #: How long an attempt takes to stop.
    stop_ms: int = 120_000
    #: The part of the jobs that writes checkpoints, 0 to 1 ...
    checkpointing: float = 0.0
    #: ... and what decides which these are.
    seed: int = 0


def simulate(scenario: Scenario) -> Result:
    """Play a trace under a policy."""
    began = time.perf_counter()
    way = contender(scenario.policy)
    decide = way.scheduler()
    record = _Recorder(scenario.trace)
    course = Simulation(
        Snapshot(now_ms=scenario.trace.jobs[0].submit_ms, pools=scenario.trace.pools, policy=way.policy),
        decide,
        stop_ms=scenario.stop_ms,
        arrivals=_arrivals(scenario, way),
        record=record,
    )
    course.run()
    return measure(
        trace=scenario.trace,
        policy=scenario.policy,
        limit_factor=scenario.limit_factor if way.reads_limits else None,
        outcomes=record.outcomes,
        timeline=record.timeline,
        refused=decide.refused if isinstance(decide, Article) else 0,
        wall_s=time.perf_counter() - began,
    )


def scenarios(
    trace: Trace,
    policies: Sequence[str],
    limits: Sequence[float] = (1.0,),
    *,
    stop_ms: int = 120_000,
    checkpointing: float = 0.0,
    seed: int = 0,
) -> list[Scenario]:
    """Every policy with every limit, but those that read no limits only once.

    Raises:
        InvalidInput: a policy, a limit or another number makes no sense.
    """
    if not policies or not limits:
        raise InvalidInput("name at least one policy and one limit")
    if any(not 1 <= factor <= 1000 for factor in limits):
        raise InvalidInput("a limit is a factor from 1 to 1000: jobs that outlive theirs would be cut short")
    if not 0 <= checkpointing <= 1:
        raise InvalidInput("the part of the jobs that writes checkpoints is a number from 0 to 1")
    if stop_ms < 0:
        raise InvalidInput("the time that a job takes to stop can't be negative")
    return [
        Scenario(
            trace=trace, policy=policy, limit_factor=factor, stop_ms=stop_ms, checkpointing=checkpointing, seed=seed
        )
        for policy in dict.fromkeys(policies)
        for factor in (limits if contender(policy).reads_limits else limits[:1])
    ]


def simulate_all(
    them: Sequence[Scenario], *, processes: int = 1, report: Callable[[Result], None] = lambda _: None
) -> list[Result]:
    """Play many scenarios, in order, and tell of each as soon as those before it are done."""
    results: list[Result] = []
    if processes <= 1 or len(them) <= 1:
        for scenario in them:
            results.append(simulate(scenario))
            report(results[-1])
        return results
    with ProcessPoolExecutor(max_workers=processes) as pool:
        for result in pool.map(simulate, them):
            results.append(result)
            report(result)
    return results


def _arrivals(scenario: Scenario, way: Contender) -> list[Arrival]:
    random = Random(scenario.seed)
    return [
        Arrival(
            time_ms=job.submit_ms,
            job=_waiting(job, scenario.limit_factor, way),
            run_ms=job.run_ms,
            # Drawn for each job, whether it is asked for or not, so that one seed gives all policies the same jobs.
            checkpoints=random.random() < scenario.checkpointing,
        )
        for job in scenario.trace.jobs
    ]


def _waiting(job: TraceJob, limit_factor: float, way: Contender) -> WaitingJob:
    limit_ms = round(job.run_ms * limit_factor)
    return WaitingJob(
        name=job.name,
        demand={job.pool: job.count},
        priority=job.priority if way.reads_priorities else 0,
        # The line of shortest job first is the line of a queue to which each job came at the time that it takes.
        entry_time_ms=job.run_ms if way.shortest_first else job.submit_ms,
        team=job.team,
        limit_ms=limit_ms,
        handicap_ms=handicap_ms(limit_ms, way.policy),
    )


class _Recorder:
    """Takes in the events of a course: what becomes of each job, and how full the pools are."""

    def __init__(self, trace: Trace) -> None:
        self.outcomes = {job.name: Outcome(job=job) for job in trace.jobs}
        self.timeline = Timeline()
        self._used = 0
        self._waiting = 0

    def __call__(self, event: Event) -> None:
        outcome = self.outcomes[event.job]
        held = sum(event.demand.values())
        match event.kind:
            case EventKind.ARRIVED:
                self._waiting += 1
                outcome.waits_since_ms = event.time_ms
            case EventKind.STARTED:
                self._waiting -= 1
                self._used += held
                outcome.waited_ms += event.time_ms - outcome.waits_since_ms
            case EventKind.PREEMPTED:
                outcome.preemptions += 1
            case _:
                self._used -= held
                outcome.lost_ms += event.lost_ms * held
                if event.kind is EventKind.PREEMPTED_ENDED:
                    self._waiting += 1
                    outcome.yields += 1
                    outcome.waits_since_ms = event.time_ms
                else:
                    outcome.ended_ms = event.time_ms
        self.timeline.note(event.time_ms, self._used, self._waiting)
