"""Computes a plan from the table, reading only as much of the queues as it needs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import NamedTuple

from headway.model import Snapshot
from headway.plan import Plan
from headway.policy import Policy
from headway.scheduling.reach.passing import passable_pools
from headway.scheduling.scheduler import schedule
from headway_service.errors import UnreadableRecord
from headway_service.ports.table import Table
from headway_service.store.cut_queue import CutQueue
from headway_service.store.ledger import Ledger
from headway_service.store.snapshot import QueuesRead, read_queues


class Decided(NamedTuple):
    """A decision, what it was made from, and the queues that hold more than that shows."""

    snapshot: Snapshot
    plan: Plan
    cut: tuple[CutQueue, ...]


def decide(
    table: Table,
    ledger: Ledger,
    now_ms: int,
    *,
    policy: Policy,
    passed_over: Collection[str] = (),
    note_unreadable: Callable[[UnreadableRecord], None] = lambda _: None,
) -> Decided:
    """Decide on the first jobs of the queues, and on jobs behind them where these may pass.

    Usually the first jobs use all free instances, so no job behind them can start, and the rest of a long queue is
    not read. It takes three decisions at most.

    Args:
        ledger: what :func:`headway_service.store.ledger.read_ledger` gave.
        now_ms: the moment of the decision.
        policy: the rules to decide under.
        passed_over: jobs that are not considered.
        note_unreadable: called with the error of each job whose record cannot be read. Such a job is left out.

    Returns:
        The snapshot and the decision, without explanations for waiting jobs.
    """
    read = partial(
        read_queues,
        table,
        ledger,
        now_ms,
        policy=policy,
        passed_over=passed_over,
        note_unreadable=note_unreadable,
    )
    decided = _decision(read, frozenset())
    if not policy.backfill:
        return decided
    passing = passable_pools(decided.snapshot, decided.plan)
    if passing:
        decided = _decision(read, passing)
        if not passable_pools(decided.snapshot, decided.plan) <= passing:
            # To add pool after pool would take as many decisions as there are pools.
            decided = _decision(read, None)
    return decided


def _decision(read_some: Callable[..., QueuesRead], passing: frozenset[str] | None) -> Decided:
    read = read_some(passing=passing)
    return Decided(snapshot=read.snapshot, plan=schedule(read.snapshot, explain=False), cut=read.cut)
