"""Kueue's test on virtual time: the same decisions, if they and all that follows from them take no time."""

from __future__ import annotations

from collections.abc import Sequence

from bench.peers.kueue_jobs import POOL_SIZE, Submission
from headway_sandbox.simulator.run import scenarios, simulate_all
from headway_sandbox.simulator.trace import Trace, TraceJob

_UNKNOWN = 1_000.0
"""Limits as multiples of the run times, which say nothing about them."""


def without_latency_s(jobs: Sequence[Submission]) -> float:
    """When the last of the jobs ends, s, with the default policy, without teams.

    Args:
        jobs: Kueue's jobs, in the order in which they come. Each pool has the same ones, so one is simulated.
    """
    pool = jobs[0].pool
    trace = Trace(
        source="Kueue's test",
        pools={pool: POOL_SIZE},
        jobs=tuple(
            TraceJob(
                name=job.name,
                submit_ms=job.due_ms,
                run_ms=job.kind.run_ms,
                pool=pool,
                count=job.kind.demand,
                priority=job.kind.priority,
            )
            for job in jobs
            if job.pool == pool
        ),
    )
    (result,) = simulate_all(scenarios(trace, ["headway"], [_UNKNOWN], stop_ms=0), processes=1, report=lambda _: None)
    return result.makespan_s
