"""The policies that are compared: the queue's own, the textbook's, and the founding article's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from headway import reasons
from headway.model import Allocation, Snapshot
from headway.plan import Action, Plan, Preempt, Start
from headway.policy import MAX_BACKFILL_WINDOW, Policy
from headway.scheduling.ordering import rank
from headway.scheduling.scheduler import schedule
from headway.vectors import free, minus, shortfall
from headway_sandbox.simulator.errors import UnknownPolicy

Decide = Callable[[Snapshot], Plan]


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A way to run a queue."""

    name: str
    policy: Policy
    #: Whether it reads the limits of jobs, so that it matters how far they are from the truth.
    reads_limits: bool = False
    #: Whether it looks at priorities; those of the trace are taken as 0 otherwise.
    reads_priorities: bool = False
    #: Whether the line is ordered by run time, as nobody could in earnest.
    shortest_first: bool = False
    #: Makes the scheduler, one for each simulation.
    scheduler: Callable[[], Decide] = field(default=lambda: partial(schedule, explain=False))


class Article:
    """The founding article's queue: it counts a job as one instance, whatever the job demands.

    Jobs are started in order of priority while fewer jobs run than there are instances. What does not fit in truth is
    refused by SageMaker's quota, and is tried again at the next event. If as many jobs run as there are instances, the
    running job of lowest priority is stopped for a waiting one of higher priority; nothing is kept for that one.

    Attributes:
        refused: launches that the quota refused.
    """

    def __init__(self) -> None:
        self.refused = 0

    def __call__(self, snapshot: Snapshot) -> Plan:
        """Decide. Asked again at the same instant, it has nothing more to do."""
        slots = sum(snapshot.pools.values()) - len(snapshot.allocations)
        waiting = sorted(snapshot.waiting, key=rank)
        left = free(snapshot)
        actions: list[Action] = []
        refused = 0
        for job in waiting[: max(0, slots)]:
            if shortfall(job.demand, left):
                refused += 1
                continue
            left = minus(left, job.demand)
            actions.append(Start(job=job.name, demand=job.demand, reason=reasons.started(job.demand)))
        if not actions:
            actions += self._preempt(snapshot, slots)
        if not actions:
            # Those that were refused beside a start are asked about again at once, and count then.
            self.refused += refused
        return Plan(actions=tuple(actions), waits=())

    @staticmethod
    def _preempt(snapshot: Snapshot, slots: int) -> list[Action]:
        # One at a time, and none while another is still stopping.
        if slots > 0 or not snapshot.waiting or any(a.stopping for a in snapshot.allocations):
            return []
        first = min(snapshot.waiting, key=rank)

        def lowest(allocation: Allocation) -> tuple[int, int, str]:
            return (allocation.priority, -allocation.since_ms, allocation.attempt)

        victim = min(snapshot.allocations, key=lowest)
        if victim.priority >= first.priority:
            return []
        reason = reasons.preempted(victim, first)
        return [Preempt(job=victim.job, attempt=victim.attempt, for_job=first.name, freed={}, reason=reason)]


SHORT_FIRST = 10
"""How much limits count for the queue that prefers short jobs among equals."""

_IN_ORDER = Policy(backfill=False, backfill_window=0, preemption=False)

CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender(
            name="headway",
            # As wide a window as EASY's, for their comparison.
            policy=Policy(backfill_window=MAX_BACKFILL_WINDOW),
            reads_limits=True,
            reads_priorities=True,
        ),
        Contender(
            name="headway-short",
            policy=Policy(backfill_window=MAX_BACKFILL_WINDOW, limit_weight=SHORT_FIRST),
            reads_limits=True,
            reads_priorities=True,
        ),
        Contender(name="fifo", policy=_IN_ORDER),
        Contender(
            name="easy",
            policy=Policy(reserved_heads=1, preemption=False, backfill_window=MAX_BACKFILL_WINDOW),
            reads_limits=True,
        ),
        Contender(name="sjf", policy=_IN_ORDER, shortest_first=True),
        Contender(name="article", policy=Policy(), reads_priorities=True, scheduler=Article),
    )
}


def contender(name: str) -> Contender:
    """The policy of that name.

    Raises:
        UnknownPolicy: there is none.
    """
    try:
        return CONTENDERS[name]
    except KeyError:
        raise UnknownPolicy(f"there is no policy {name!r}; choose from {', '.join(CONTENDERS)}") from None
