"""The compared policies: the queue's own, textbook policies, and the founding article's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from headway import reasons
from headway.model import Allocation, Snapshot
from headway.plan import Action, Plan, Preempt, Start
from headway.policy import MAX_BACKFILL_WINDOW, MAX_WAIT_BOUND, PREDICTED_ORDERS, Fill, Order, Policy
from headway.scheduling.ordering import rank
from headway.scheduling.scheduler import schedule
from headway.vectors import free, minus, shortfall
from headway_sandbox.simulator.errors import UnknownPolicy

Decide = Callable[[Snapshot], Plan]


def _deployed() -> Decide:
    """Return the deployed scheduler. A function, so that other processes can get the policies that have it."""
    return partial(schedule, explain=False)


@dataclass(frozen=True, kw_only=True)
class SimulatedPolicy:
    """A scheduling policy in simulations."""

    name: str
    policy: Policy
    #: Whether it uses jobs' limits, so that their accuracy matters.
    uses_limits: bool = False
    #: Whether it uses priorities; otherwise all priorities are 0.
    uses_priorities: bool = False
    #: Whether the queue is ordered by true run time, which a real queue does not have.
    shortest_first: bool = False
    #: Whether its scheduler knows warm pools.
    keeps_warm: bool = True
    #: Creates the scheduler of a simulation.
    scheduler: Callable[[], Decide] = field(default=_deployed)


def with_checkpoints(base: SimulatedPolicy, interval_s: int, wait_s: int | None) -> SimulatedPolicy:
    """Return a policy under which jobs write checkpoints at an interval.

    Args:
        base: The policy.
        interval_s: The time from one checkpoint to the next, s.
        wait_s: For how long preemptions wait for one, s; None if the queue does not know the interval.
    """
    interval_ms = interval_s * 1000
    policy = replace(
        base.policy,
        checkpoint_interval_ms=interval_ms,
        checkpoints_every_ms=None if wait_s is None else interval_ms,
        wait_for_checkpoint_ms=(wait_s or 0) * 1000,
    )
    return replace(base, policy=policy)


class Article:
    """The founding article's queue, which counts each job as one instance.

    It starts jobs in order of priority while fewer jobs run than there are instances. SageMaker's quota refuses jobs
    that do not fit; they are retried at the next event. If as many jobs run as there are instances, the running job
    of lowest priority is stopped for a waiting one of higher priority, without a reservation for that job.

    Attributes:
        refused: Launches that the quota refused.
    """

    def __init__(self) -> None:
        self.refused = 0

    def __call__(self, snapshot: Snapshot) -> Plan:
        """Decide. A second decision at the same instant is empty."""
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
            # Jobs that were refused beside a start are decided again at the same instant, and count then.
            self.refused += refused
        return Plan(actions=tuple(actions), waits=())

    @staticmethod
    def _preempt(snapshot: Snapshot, slots: int) -> list[Action]:
        # One at a time, and none while another is still stopping.
        if slots > 0 or not snapshot.waiting or any(a.stopping for a in snapshot.allocations):
            return []
        first = min(snapshot.waiting, key=rank)

        def lowest(allocation: Allocation) -> tuple[int, int, str]:
            return (allocation.terms.priority, -allocation.since_ms, allocation.attempt)

        victim = min(snapshot.allocations, key=lowest)
        if victim.terms.priority >= first.terms.priority:
            return []
        reason = reasons.preempted(victim, first)
        return [Preempt(job=victim.job, attempt=victim.attempt, for_job=first.name, freed={}, reason=reason)]


_UNBOUNDED = 1_000_000
"""Preemptions of one job where their number is not limited."""

_IN_ORDER = Policy(backfill=False, backfill_window=0, preemption=False)

POLICIES = {
    each.name: each
    for each in (
        SimulatedPolicy(
            name="headway",
            # The same window as EASY's, for the comparison.
            policy=Policy(backfill_window=MAX_BACKFILL_WINDOW),
            uses_limits=True,
            uses_priorities=True,
        ),
        SimulatedPolicy(
            name="order-short",
            policy=Policy(backfill_window=MAX_BACKFILL_WINDOW, order=Order.SHORT),
            uses_limits=True,
            uses_priorities=True,
        ),
        SimulatedPolicy(
            name="order-shortest-remaining",
            policy=Policy(backfill_window=MAX_BACKFILL_WINDOW, order=Order.SHORTEST_REMAINING),
            uses_limits=True,
            uses_priorities=True,
        ),
        SimulatedPolicy(
            name="order-shortest-remaining-unbounded",
            policy=Policy(
                backfill_window=MAX_BACKFILL_WINDOW,
                order=Order.SHORTEST_REMAINING,
                wait_bound=MAX_WAIT_BOUND,
                max_preemptions=_UNBOUNDED,
            ),
            uses_limits=True,
            uses_priorities=True,
        ),
        SimulatedPolicy(
            name="order-short-predicted",
            policy=Policy(backfill_window=MAX_BACKFILL_WINDOW, order=Order.SHORT, by_predictions=True),
            uses_limits=True,
            uses_priorities=True,
        ),
        SimulatedPolicy(
            name="order-shortest-remaining-predicted",
            policy=Policy(backfill_window=MAX_BACKFILL_WINDOW, order=Order.SHORTEST_REMAINING, by_predictions=True),
            uses_limits=True,
            uses_priorities=True,
        ),
        SimulatedPolicy(
            name="order-shared",
            policy=Policy(backfill_window=MAX_BACKFILL_WINDOW, order=Order.SHARED),
            uses_limits=True,
            uses_priorities=True,
        ),
        SimulatedPolicy(
            name="order-shared-unbounded",
            policy=Policy(
                backfill_window=MAX_BACKFILL_WINDOW,
                order=Order.SHARED,
                wait_bound=MAX_WAIT_BOUND,
                max_preemptions=_UNBOUNDED,
            ),
            uses_limits=True,
            uses_priorities=True,
        ),
        SimulatedPolicy(name="fifo", policy=_IN_ORDER),
        SimulatedPolicy(
            name="easy",
            policy=Policy(reserved_heads=1, preemption=False, backfill_window=MAX_BACKFILL_WINDOW),
            uses_limits=True,
        ),
        SimulatedPolicy(name="sjf", policy=_IN_ORDER, shortest_first=True),
        SimulatedPolicy(name="article", policy=Policy(), uses_priorities=True, keeps_warm=False, scheduler=Article),
    )
}


_FILLING = ("headway", "order-short", "order-shortest-remaining", "order-shared")


def filling(name: str) -> str:
    """Return the name of a policy where gaps before reserved starts are filled."""
    return f"{name}-filling"


POLICIES |= {
    filling(name): replace(
        POLICIES[name], name=filling(name), policy=replace(POLICIES[name].policy, fill=Fill.CHECKPOINTING)
    )
    for name in _FILLING
}


def orders_of(policy: Policy) -> list[SimulatedPolicy]:
    """Return a policy with each order among equals.

    Args:
        policy: The policy, whose own order comes first. If it lets predictions count, the orders in which these can do
            so are there with and without.
    """
    plain = replace(policy, by_predictions=False)
    others = [replace(plain, order=order) for order in Order if order is not policy.order]
    if policy.by_predictions:
        predicted = [replace(each, by_predictions=True) for each in others if each.order in PREDICTED_ORDERS]
        others = [plain, *predicted, *others]
    return [
        SimulatedPolicy(
            name=f"{each.order} predicted" if each.by_predictions else each.order,
            policy=each,
            uses_limits=True,
            uses_priorities=True,
        )
        for each in (policy, *others)
    ]


def policy_named(name: str) -> SimulatedPolicy:
    """Return the policy with a name.

    Raises:
        UnknownPolicy: It does not exist.
    """
    try:
        return POLICIES[name]
    except KeyError:
        raise UnknownPolicy(f"there is no policy {name!r}; choose from {', '.join(POLICIES)}") from None
