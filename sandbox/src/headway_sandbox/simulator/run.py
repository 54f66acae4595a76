"""Simulates a trace with one or several policies."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from random import Random

from headway.forecasting.simulation import Arrival, Delays, Event, EventKind, Simulation
from headway.job_terms import JobTerms
from headway.model import Snapshot, WaitingJob
from headway.plan import Plan
from headway.scheduling.standing import standing_on_entry
from headway_sandbox.simulator.errors import InvalidInput
from headway_sandbox.simulator.limits import Limits, limits_ms, require_known
from headway_sandbox.simulator.metrics import Outcome, Result, Timeline, WarmUse, measure
from headway_sandbox.simulator.past_runs import PastRuns
from headway_sandbox.simulator.policies import Article, SimulatedPolicy, policy_named
from headway_sandbox.simulator.trace import Trace, TraceJob

_USUAL = Delays(stop_ms=120_000, release_ms=120_000)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One simulation."""

    trace: Trace
    policy: SimulatedPolicy
    #: The limits of jobs: divided by their true run times, or how they are given.
    limit_factor: Limits = 1.0
    #: How long stops, releases and starts take.
    delays: Delays = _USUAL
    #: Fraction of the jobs that write checkpoints, 0 to 1.
    checkpointing: float = 0.0
    #: Seed of the choice of these jobs, and of guessed limits.
    seed: int = 0
    #: How long instances stay warm after a job, for jobs of the same team with as many; 0 for not at all.
    keep_ms: int = 0


def simulate(scenario: Scenario) -> Result:
    """Simulate a trace with a policy."""
    began = time.perf_counter()
    decide = scenario.policy.scheduler()
    record = _Recorder(scenario.trace)
    _run(scenario, decide, record)
    return measure(
        trace=scenario.trace,
        policy=scenario.policy.name,
        limit_factor=scenario.limit_factor if scenario.policy.uses_limits else None,
        outcomes=record.outcomes,
        timeline=record.timeline,
        refused=decide.refused if isinstance(decide, Article) else 0,
        keep_s=scenario.keep_ms / 1000,
        release_s=(scenario.delays.release_ms or 0) / 1000,
        warm=record.warm,
        wall_s=time.perf_counter() - began,
    )


def outcomes_of(scenario: Scenario) -> Mapping[str, Outcome]:
    """Simulate a trace with a policy, and return what became of each job, by name."""
    record = _Recorder(scenario.trace)
    _run(scenario, scenario.policy.scheduler(), record)
    return record.outcomes


def _run(scenario: Scenario, decide: Callable[[Snapshot], Plan], record: _Recorder) -> None:
    past = _Predicted(scenario, record) if scenario.policy.policy.by_predictions else None
    simulation = Simulation(
        Snapshot(now_ms=scenario.trace.jobs[0].submit_ms, pools=scenario.trace.pools, policy=scenario.policy.policy),
        decide,
        delays=scenario.delays,
        arrivals=_arrivals(scenario),
        admit=past.admit if past else None,
        record=past.note if past else record,
    )
    simulation.run()


def scenarios(
    trace: Trace,
    policies: Sequence[str | SimulatedPolicy],
    limits: Sequence[Limits] = (1.0,),
    *,
    stop_ms: int = 120_000,
    checkpointing: float = 0.0,
    seed: int = 0,
    cold_start_ms: int = 0,
    warm_start_ms: int = 0,
    keep_ms: int = 0,
    release_ms: int = 120_000,
) -> list[Scenario]:
    """Return a scenario per policy and limit, each once; only one for policies that do not use limits.

    Args:
        policies: The policies, or the names of known ones.
        limits: Factors of the true run times, or how they are given.
        stop_ms: Duration of an attempt's stop.
        checkpointing: Fraction of the jobs that write checkpoints, 0 to 1.
        seed: Seed of the choice of these jobs, and of guessed limits.
        cold_start_ms: How long an attempt holds new instances before it trains.
        warm_start_ms: The same for warm instances.
        keep_ms: How long instances stay warm after a job; 0 for not at all.
        release_ms: How long it takes until the instances of a released warm pool are free.

    Raises:
        InvalidInput: An argument is invalid.
    """
    if not policies or not limits:
        raise InvalidInput("name at least one policy and one limit")
    known = [policy_named(each) if isinstance(each, str) else each for each in policies]
    for each in limits:
        require_known(each)
    if not 0 <= checkpointing <= 1:
        raise InvalidInput("the fraction of the jobs that write checkpoints is a number from 0 to 1")
    if stop_ms < 0:
        raise InvalidInput("the duration of a job's stop cannot be negative")
    if min(cold_start_ms, warm_start_ms, keep_ms, release_ms) < 0:
        raise InvalidInput("the durations of starts and of warm pools cannot be negative")
    if warm_start_ms > cold_start_ms:
        raise InvalidInput("a warm start cannot take longer than a cold start")
    if keep_ms and not all(policy.keeps_warm for policy in known):
        raise InvalidInput("the policy article keeps no warm pools: simulate it without them")
    distinct = list(dict.fromkeys(limits))
    delays = Delays(stop_ms=stop_ms, release_ms=release_ms, cold_start_ms=cold_start_ms, warm_start_ms=warm_start_ms)
    return [
        Scenario(
            trace=trace,
            policy=policy,
            limit_factor=factor,
            delays=delays,
            checkpointing=checkpointing,
            seed=seed,
            keep_ms=keep_ms,
        )
        for policy in {each.name: each for each in known}.values()
        for factor in (distinct if policy.uses_limits else distinct[:1])
    ]


def simulate_all(
    planned: Sequence[Scenario], *, processes: int = 1, report: Callable[[Result], None] = lambda _: None
) -> list[Result]:
    """Simulate scenarios and return their results in order.

    Args:
        planned: The scenarios.
        processes: Number of parallel processes.
        report: Called with each result, in order.
    """
    results: list[Result] = []
    if processes <= 1 or len(planned) <= 1:
        for scenario in planned:
            results.append(simulate(scenario))
            report(results[-1])
        return results
    with ProcessPoolExecutor(max_workers=processes) as pool:
        for result in pool.map(simulate, planned):
            results.append(result)
            report(result)
    return results


def _arrivals(scenario: Scenario) -> list[Arrival]:
    random = Random(scenario.seed)
    limits = limits_ms(scenario.trace.jobs, scenario.limit_factor, scenario.seed)
    return [
        Arrival(
            time_ms=job.submit_ms,
            # Drawn for every job, so that one seed gives all policies the same jobs.
            job=_waiting(job, limit_ms, scenario, checkpoints=random.random() < scenario.checkpointing),
            run_ms=job.run_ms,
        )
        for job, limit_ms in zip(scenario.trace.jobs, limits, strict=True)
    ]


def _waiting(job: TraceJob, limit_ms: int | None, scenario: Scenario, *, checkpoints: bool) -> WaitingJob:
    policy = scenario.policy
    # A limit covers the time in which instances are provided as well.
    if limit_ms is not None:
        limit_ms += scenario.delays.cold_start_ms
    demand = {job.pool: job.count}
    terms = JobTerms(
        priority=job.priority if policy.uses_priorities else 0,
        # Shortest job first is the order of a queue with each job's run time as its entry time.
        entry_time_ms=job.run_ms if policy.shortest_first else job.submit_ms,
        standing=standing_on_entry(limit_ms, demand, policy.policy),
        team=job.team,
        limit_ms=limit_ms,
        checkpoints=checkpoints,
        warm_key=f"{job.team}/{job.count}" if scenario.keep_ms else "",
        keep_ms=scenario.keep_ms,
    )
    return WaitingJob(name=job.name, demand=demand, terms=terms)


class _Predicted:
    """Lets jobs enter with run times that are predicted by those that have ended before."""

    def __init__(self, scenario: Scenario, record: Callable[[Event], None]) -> None:
        self._policy = scenario.policy.policy
        self._record = record
        self._jobs = {job.name: job for job in scenario.trace.jobs}
        self._past = PastRuns()

    def admit(self, arrival: Arrival) -> WaitingJob:
        """The job as it enters."""
        job = arrival.job
        prediction = self._past.predict(self._jobs[job.name], arrival.time_ms, job.terms.limit_ms)
        predicted_ms = None if prediction is None else prediction.expected_ms
        standing = standing_on_entry(job.terms.limit_ms, job.demand, self._policy, predicted_ms=predicted_ms)
        return replace(job, terms=replace(job.terms, standing=standing))

    def note(self, event: Event) -> None:
        """Record an event, and how long a job has run that ends."""
        self._record(event)
        if event.kind is EventKind.COMPLETED:
            self._past.add(self._jobs[event.job], event.time_ms)


class _Recorder:
    """Records the outcomes of the jobs and the timeline from a simulation's events."""

    def __init__(self, trace: Trace) -> None:
        self.outcomes = {job.name: Outcome(job=job) for job in trace.jobs}
        self.timeline = Timeline()
        self.warm = WarmUse()
        self._kept_since_ms: dict[str, int] = {}
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
                if outcome.started_ms is None:
                    outcome.started_ms = event.time_ms
                self.warm.starts += bool(event.warm)
            case EventKind.KEPT:
                self._kept_since_ms[event.attempt] = event.time_ms
            case EventKind.KEPT_ENDED:
                self.warm.idle_ms += (event.time_ms - self._kept_since_ms.pop(event.attempt)) * held
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
        self.timeline.record(event.time_ms, self._used, self._waiting)
