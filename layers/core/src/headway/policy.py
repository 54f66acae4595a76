"""The rules that a decision is made under: backfill, preemption, ageing, teams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from headway.bookings.booking import Booking
from headway.budgets.budget import Budget
from headway.errors import InvalidPolicy

MAX_RESERVED_HEADS = 100
"""Blocked jobs of one combination of pools that may hold a reserved start."""

MAX_SPOT_SCORE = 10
"""The highest spot placement score (EC2 API reference, SpotPlacementScore)."""

MAX_PREEMPTIONS = 1000
"""The highest cap on the preemptions of one job."""

MAX_BACKFILL_WINDOW = 10_000
"""Waiting jobs that one decision may evaluate."""

MAX_PROBE_PERCENT = 50
"""The largest part of a pool's time that probes of unlaunchable jobs may keep idle."""

MAX_CHECKPOINT_WAIT_MS = 3_600_000
"""The longest time for which a preemption may wait for a checkpoint."""

MAX_WAIT_BOUND = 1000
"""The largest bound of a job's turn, in limits of the job. 28 days times this still fit a sort key."""

SHORT_WEIGHT = 10
"""How many times its limit the turn of a job on one instance comes after its entry in the orders ``short`` and
``shortest-remaining``."""


class Order(StrEnum):
    """What jobs of one priority are ordered by, after the shares of their teams."""

    #: Their entry times.
    FIFO = "fifo"
    #: Their entry times, and their limits times their instances.
    SHORT = "short"
    #: Their entry times, and what is left of their limits times their instances. Jobs preempt equals.
    SHORTEST_REMAINING = "shortest-remaining"
    #: Their entry times, and the levels of the service that they have attained. Jobs preempt equals.
    SHARED = "shared"


PREDICTED_ORDERS = frozenset({Order.SHORT, Order.SHORTEST_REMAINING})
"""The orders that compare how long jobs run, so that a predicted run time may count in place of a limit."""


class Fill(StrEnum):
    """Which jobs may start in front of a reserved start that they would still run into."""

    #: None: a job passes another only if its limit proves that it has ended by then.
    PROVEN = "proven"
    #: Jobs that write checkpoints and may be preempted: they are stopped in time for it.
    CHECKPOINTING = "checkpointing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Team:
    """What a team is entitled to."""

    #: Instances per pool that it can reclaim at any time. Instances beyond them are borrowed.
    guaranteed: Mapping[str, int] = field(default_factory=dict)
    #: Instances per pool that it may use at most; a pool that is not named has no limit.
    limit: Mapping[str, int] = field(default_factory=dict)
    #: Its use is divided by this before it is compared with that of other teams. More than 0.
    weight: float = 1.0
    #: Instances per pool that each of its owners may use at most in it; a pool that is not named has no limit.
    owner_limit: Mapping[str, int] = field(default_factory=dict)
    #: Jobs of the team count as having no higher priority than this.
    max_priority: int | None = None

    def __post_init__(self) -> None:
        if not self.weight > 0:
            raise InvalidPolicy(f"the weight of a team is {self.weight}; it must be more than 0")


@dataclass(frozen=True, kw_only=True, slots=True)
class FairShare:
    """Teams take turns by what they used lately, and not only by what they hold (decision 117)."""

    #: The time in which use fades to a half, ms.
    half_life_ms: int
    #: What an instance of each pool counts; others count nothing. Empty: a team's use is its largest part of a pool.
    charges: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.half_life_ms <= 0:
            raise InvalidPolicy(f"the half-life of use is {self.half_life_ms} ms; it must be more than 0")
        if self.charges and not (all(each >= 0 for each in self.charges.values()) and any(self.charges.values())):
            raise InvalidPolicy("charges cannot be negative, and one of them must be more than 0")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ageing:
    """A waiting job gains one priority for each interval that it has waited since it was accepted, up to a cap.

    Aging moves a job up in its queue and protects it when it runs, but never preempts, so that two jobs cannot
    overtake each other back and forth.
    """

    #: Time for one priority, ms. More than 0.
    interval_ms: int
    #: Priorities that waiting can add at most.
    cap: int

    def __post_init__(self) -> None:
        if self.interval_ms <= 0 or self.cap < 0:
            raise InvalidPolicy("ageing needs an interval of more than 0 and a cap of at least 0")


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """All rules. The defaults are what a queue without a word about them gets."""

    #: The order among jobs of one priority. It is applied when a job enters, and stays with it.
    order: Order = Order.FIFO
    #: In the other orders the turn of a job comes at most this many times its limit after its entry: no equal that
    #: enters later than that passes it or preempts it.
    wait_bound: int = 100
    #: Whether the orders ``short`` and ``shortest-remaining`` compare predicted run times in place of limits, where run
    #: times are predicted.
    by_predictions: bool = False
    #: Whether a job may start past a blocked head if that does not delay it. Without, a blocked head closes its pools.
    backfill: bool = True
    #: How many blocked jobs of each combination of pools hold a reserved start. 1 is EASY backfill.
    reserved_heads: int = 1
    #: Waiting jobs that a decision evaluates after the first blocked one.
    backfill_window: int = 1000
    #: Which jobs may start in front of a reserved start that they would still run into (decision 119).
    fill: Fill = Fill.PROVEN
    #: Whether jobs of higher priority preempt at all.
    preemption: bool = True
    #: An attempt is no victim before it has held its instances this long, ms.
    min_run_time_ms: int = 0
    #: A job that has been preempted this often is no victim any more; a job that is compared by what is left of it and
    #: writes checkpoints, not before another week since its entry has begun.
    max_preemptions: int = 10
    #: What a job that writes checkpoints loses at most when it is stopped, ms of run time.
    checkpoint_interval_ms: int = 600_000
    #: The time from one checkpoint to the next of a job that writes them and does not declare it, ms; None if unknown.
    checkpoints_every_ms: int | None = None
    #: For how long after a job's entry the attempts that are stopped for it may write a checkpoint first, ms; 0 for not
    #: at all.
    wait_for_checkpoint_ms: int = 0
    ageing: Ageing | None = None
    #: Whether a job may start in the warm pool of another team.
    warm_across_teams: bool = True
    #: An alternative on spot instances with a lower spot placement score is passed over, 1 to 10; None to use no
    #: scores.
    min_spot_score: int | None = None
    #: How much of a pool's time probes of unlaunchable jobs may keep idle, per cent.
    probe_percent: int = 5
    #: How past use counts among teams; None for not at all.
    fair_share: FairShare | None = None
    #: What teams and owners may use.
    budgets: tuple[Budget, ...] = ()
    #: What is kept for some jobs. Their names differ.
    bookings: tuple[Booking, ...] = ()
    #: Instances per pool that each owner may use at most, whatever the team; a pool that is not named has no limit.
    owner_limit: Mapping[str, int] = field(default_factory=dict)
    #: By name. A job of a team that is not here has no guarantee, no limit and the weight 1.
    teams: Mapping[str, Team] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check_order()
        if not 1 <= self.reserved_heads <= MAX_RESERVED_HEADS:
            raise InvalidPolicy(f"reserved_heads is {self.reserved_heads}; it must be 1 to {MAX_RESERVED_HEADS}")
        if self.fill is not Fill.PROVEN and not (self.backfill and self.preemption):
            raise InvalidPolicy("jobs are stopped for a reserved start only with backfill and preemption")
        if not 0 <= self.backfill_window <= MAX_BACKFILL_WINDOW:
            raise InvalidPolicy(f"backfill_window is {self.backfill_window}; it must be 0 to {MAX_BACKFILL_WINDOW}")
        if self.min_spot_score is not None and not 1 <= self.min_spot_score <= MAX_SPOT_SCORE:
            raise InvalidPolicy(f"min_spot_score is {self.min_spot_score}; it must be 1 to {MAX_SPOT_SCORE}")
        if not 1 <= self.probe_percent <= MAX_PROBE_PERCENT:
            raise InvalidPolicy(f"probe_percent is {self.probe_percent}; it must be 1 to {MAX_PROBE_PERCENT}")
        if self.min_run_time_ms < 0 or self.max_preemptions < 0 or self.checkpoint_interval_ms < 0:
            raise InvalidPolicy("times and counts of a policy cannot be negative")
        if not 0 <= self.wait_for_checkpoint_ms <= MAX_CHECKPOINT_WAIT_MS:
            raise InvalidPolicy(
                f"wait_for_checkpoint_ms is {self.wait_for_checkpoint_ms}; it must be 0 to {MAX_CHECKPOINT_WAIT_MS}"
            )
        if self.checkpoints_every_ms is not None and self.checkpoints_every_ms <= 0:
            raise InvalidPolicy(f"checkpoints_every_ms is {self.checkpoints_every_ms}; it must be more than 0")

    def _check_order(self) -> None:
        if self.by_predictions and self.order not in PREDICTED_ORDERS:
            raise InvalidPolicy(
                f"predictions count in the orders short and shortest-remaining; the order is {self.order}"
            )
        if not 1 <= self.wait_bound <= MAX_WAIT_BOUND:
            raise InvalidPolicy(f"wait_bound is {self.wait_bound}; it must be 1 to {MAX_WAIT_BOUND}")

    def team(self, name: str) -> Team:
        """The entitlement of a team."""
        return self.teams.get(name, _ANY_TEAM)


_ANY_TEAM = Team()

DEFAULT_POLICY = Policy()
"""What a queue without a word about its rules gets."""
