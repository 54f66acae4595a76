"""Ended jobs as a trace for the simulator: a row per job, without names of jobs and people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from headway.instances import spec_of
from headway.pool_names import on_demand_pool
from headway_client.cli.output.table import Table
from headway_client.models import Job

COLUMNS = ("submit_s", "duration_s", "gpus", "nodes", "pool", "vc", "priority", "limit_s")
"""The columns, which :mod:`headway_sandbox.simulator.trace` reads."""


def trace_rows(jobs: Sequence[Job]) -> Table:
    """Return jobs as a trace, in the order of their entry.

    ``submit_s`` counts from the first entry. ``duration_s`` is for how long the job's attempts held their instances
    together, so it has what was lost by preemptions. ``nodes`` are instances, and ``gpus`` their GPUs or, of
    instances without any, the instances. ``vc`` is the team.

    Args:
        jobs: the jobs. Those that :func:`is_traced` excludes are left out.
    """
    traced = sorted((job for job in jobs if is_traced(job)), key=lambda job: (_entered_s(job), job.name))
    first_s = _entered_s(traced[0]) if traced else 0.0
    return Table(headers=COLUMNS, rows=[_row(job, first_s) for job in traced])


def is_traced(job: Job) -> bool:
    """Whether a trace can have a job: it held instances of one pool, which it demands."""
    return len(job.instance_seconds) == 1 and job.demand.keys() >= job.instance_seconds.keys() and _one_pool(job)


def _one_pool(job: Job) -> bool:
    return job.one_of or len(job.demand) == 1


def _row(job: Job, first_s: float) -> list[str]:
    ((pool, held_s),) = job.instance_seconds.items()
    nodes = job.demand[pool]
    spec = spec_of(on_demand_pool(pool))
    gpus = nodes * (spec.gpus if spec is not None and spec.gpus else 1)
    limit = "" if job.limit_seconds is None else str(job.limit_seconds)
    submitted, duration = f"{_entered_s(job) - first_s:.3f}", f"{held_s / nodes:.3f}"
    return [submitted, duration, str(gpus), str(nodes), pool, job.team or "", str(job.priority), limit]


def _entered_s(job: Job) -> float:
    return datetime.fromisoformat(job.entry_time).timestamp()
