"""Ended jobs as a trace for the simulator: a row per job, without names of jobs and people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from headway.instances import spec_of
from headway.pool_names import on_demand_pool
from headway_client.cli.output.table import Table
from headway_client.models import Attempt, Job

COLUMNS = ("submit_s", "duration_s", "gpus", "nodes", "pool", "vc", "priority", "limit_s")
"""The columns, which :mod:`headway_sandbox.simulator.trace` reads."""


def trace_rows(jobs: Iterable[tuple[Job, int]]) -> Table:
    """Return jobs as a trace, in the order of their entry.

    ``submit_s`` counts from the first entry. ``duration_s`` is for how long the job's attempts held their instances
    together, so it has what was lost by preemptions. ``nodes`` are instances, and ``gpus`` their GPUs or, of
    instances without any, the instances. ``vc`` is the team.

    Args:
        jobs: the jobs, each with its number of instances by :func:`traced_nodes`.
    """
    traced = sorted(jobs, key=lambda each: (_entered_s(each[0]), each[0].name))
    first_s = _entered_s(traced[0][0]) if traced else 0.0
    return Table(headers=COLUMNS, rows=[_row(job, nodes, first_s) for job, nodes in traced])


def traced_nodes(job: Job, attempts_of: Callable[[str], Sequence[Attempt]]) -> int | None:
    """Return how many instances a job held; None if a trace cannot have it.

    A trace can have a job that held instances of one pool, which it demands, and the same number in each attempt.

    Args:
        job: the job, as a listing has it.
        attempts_of: returns the attempts of the job of a name. It is called only if the listing leaves the number open,
            as a job may be changed before each attempt.
    """
    if len(job.instance_seconds) != 1 or job.demand.keys() != job.instance_seconds.keys():
        return None
    ((pool, held_s),) = job.instance_seconds.items()
    demanded = job.demand[pool]
    if _is_sum(held_s, demanded * _span_ms(job)):
        return demanded
    # An attempt that was never launched held nothing.
    launched = [each for each in attempts_of(job.name) if each.demand]
    nodes = max((each.demand.get(pool, 0) for each in launched), default=0)
    # The job held less if an attempt had fewer instances, and more if it had older attempts, which are not kept.
    return nodes if nodes and _is_sum(held_s, nodes * sum(map(_span_ms, launched))) else None


def _is_sum(seconds: int, expected_ms: int) -> bool:
    """Whether this is a number of ms in whole seconds."""
    return seconds == expected_ms // 1000


def _span_ms(held: Job | Attempt) -> int:
    """From the start to the end, ms; 0 if one of them is not known."""
    if held.started_time is None or held.ended_time is None:
        return 0
    span = datetime.fromisoformat(held.ended_time) - datetime.fromisoformat(held.started_time)
    return span // timedelta(milliseconds=1)


def _row(job: Job, nodes: int, first_s: float) -> list[str]:
    ((pool, held_s),) = job.instance_seconds.items()
    spec = spec_of(on_demand_pool(pool))
    gpus = nodes * (spec.gpus if spec is not None and spec.gpus else 1)
    limit = "" if job.limit_seconds is None else str(job.limit_seconds)
    submitted, duration = f"{_entered_s(job) - first_s:.3f}", f"{held_s / nodes:.3f}"
    return [submitted, duration, str(gpus), str(nodes), pool, job.team or "", str(job.priority), limit]


def _entered_s(job: Job) -> float:
    return datetime.fromisoformat(job.entry_time).timestamp()
