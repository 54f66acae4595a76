"""What would start if the jobs that SageMaker refuses were not there: a decision of the core on what is left."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace

from headway.model import Allocation, Demand, Snapshot, WaitingJob
from headway.plan import Start
from headway.policy import DEFAULT_POLICY, Policy
from headway.reasons import Reason
from headway.scheduling.scheduler import schedule
from headway_service.arrays.to_come import read_to_come
from headway_service.config.document import Configuration
from headway_service.jobs.front_positions import explain_next
from headway_service.ports.table import Key
from headway_service.store.ledger import read_ledger
from headway_service.store.snapshot import read_snapshot
from headway_service.testing.memory_table import MemoryTable

ALL_JOBS = 1000
"""More than there are in the queues of a run."""


def read_all(table: MemoryTable, now_ms: int) -> Snapshot:
    """Read all waiting jobs, and what they wait for."""
    policy = policy_of(table)
    return read_snapshot(table, read_ledger(table), now_ms, policy=policy, heads=ALL_JOBS)


def explain_all(table: MemoryTable, now_ms: int) -> Mapping[str, Reason]:
    """Return what a decision on all waiting jobs says of each, with all members that arrays are yet to make."""
    to_come = read_to_come(table, read_ledger(table), now_ms)
    _, explained = explain_next(read_all(table, now_ms), to_come)
    return {job: position.reason.reason() for job, position in explained.items()}


def policy_of(table: MemoryTable) -> Policy:
    """Return the policy in force."""
    item = table.get(Key("config", "config"))
    return Configuration.model_validate(json.loads(item["document"])).policy() if item else DEFAULT_POLICY


def without(snapshot: Snapshot, refused: Mapping[str, Collection[str]], idle: Collection[str]) -> Snapshot:
    """Leave out the alternatives that SageMaker refuses, what is reserved for them, and attempts without instances.

    Args:
        snapshot: the state.
        refused: the pools of the refused alternatives, by job.
        idle: the attempts without instances.
    """
    waiting = tuple(left for job in snapshot.waiting if (left := _left_of(job, refused.get(job.name, ()))) is not None)
    return replace(
        snapshot,
        waiting=waiting,
        reservations=tuple(
            each for each in snapshot.reservations if not set(refused.get(each.job, ())) & each.demand.keys()
        ),
        allocations=tuple(_unbound(each, refused) for each in snapshot.allocations if each.attempt not in idle),
    )


def _left_of(job: WaitingJob, pools: Collection[str]) -> WaitingJob | None:
    """The job on the alternatives without these pools; None if there are none."""
    if not pools:
        return job
    alternatives = tuple(each for each in job.alternatives if not set(pools) & each.demand.keys())
    if set(pools).isdisjoint(job.demand):
        return replace(job, alternatives=alternatives)
    if not alternatives:
        return None
    first, *others = alternatives
    terms = replace(job.terms, limit_ms=first.limit_ms, warm_key="", keep_ms=0)
    moved = replace(job, demand=first.demand, terms=terms, alternatives=tuple(others), on_alternative=True)
    if first.not_before_ms is None:
        return moved
    return replace(moved, not_before_ms=first.not_before_ms, held_by=first.held_by)


def _unbound(allocation: Allocation, refused: Mapping[str, Collection[str]]) -> Allocation:
    pools = refused.get(allocation.freed_for or "", ())
    if not set(pools) & (allocation.freed or allocation.demand).keys():
        return allocation
    return replace(allocation, freed_for=None, freed=None)


def starts(snapshot: Snapshot) -> dict[str, Demand]:
    """Return the jobs that a decision starts at once, with what they demand."""
    plan = schedule(snapshot, explain=False)
    return {action.job: action.demand for action in plan.actions if isinstance(action, Start)}
