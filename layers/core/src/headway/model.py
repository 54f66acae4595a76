"""The words of the scheduler as values: pools, allocations, reservations, waiting jobs, snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.bookings.booking import Booking
from headway.budgets.budget import BudgetUse
from headway.job_terms import JobTerms
from headway.past_use.averages import PastUse
from headway.policy import DEFAULT_POLICY, Policy
from headway.refusals import FailedLaunches

Demand = Mapping[str, int]
"""Instances per pool; a job demands all of them or none (promise 2)."""

ROGUE_TEAM = "#outside"
"""The team of rogue training jobs. No real team has this name, so they count toward no guarantee or limit."""


STOP_MS = 120_000
"""What a stop takes at most: SageMaker sends SIGTERM, and SIGKILL this much later (API reference, StopTrainingJob)."""

LATE_MS = 60_000
"""How late a decision comes at most, as one is made each minute if nothing asks for one before."""

PREEMPTIONS_WITHIN_MS = 7 * 86_400_000
"""How long a cap on preemptions counts before it counts again, for jobs that are compared by what is left."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alternative:
    """Other instances that a waiting job can run on as well."""

    #: Instances per pool, each at least 1.
    demand: Demand
    #: The job holds them no longer than this once it has started, ms; None if nothing limits it.
    limit_ms: int | None = None
    #: It is not started on them before this, ms, and what keeps it until then; None if that is as for the job.
    not_before_ms: int | None = None
    held_by: str = ""
    #: Its last launches on them that got no instances; None if the last one got some, or there was none.
    failed: FailedLaunches | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitingJob:
    """A waiting job."""

    name: str
    #: Instances per pool, each at least 1.
    demand: Demand
    terms: JobTerms
    #: It is not started before this, ms: the back-off of its pools, or the wait before a retry. 0 for none.
    not_before_ms: int = 0
    #: What keeps it until then, for its reason.
    held_by: str = ""
    #: Its last launches that got no instances; None if the last one got some, or there was none. Of a job with
    #: alternatives: those on its first preference.
    failed: FailedLaunches | None = None
    #: Whether attempts may be stopped for it. The state of its pools and of other jobs decides that, so it is no term.
    preempts: bool = True
    #: What it can run on as well as on ``demand``, in the order of preference. No two of these share a pool.
    alternatives: tuple[Alternative, ...] = ()
    #: For how long after its entry it waits for a better alternative instead of starting on a worse one, ms.
    wait_at_most_ms: int = 0
    #: Whether this is the job on another alternative than its first preference.
    on_alternative: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Allocation:
    """Instances held by one attempt, from the intent to launch it until SageMaker has ended it."""

    job: str
    attempt: str
    demand: Demand
    #: Those of its job. It keeps the priority gained by aging until ``since_ms`` while it runs.
    terms: JobTerms
    #: When the attempt's instances were taken, ms.
    since_ms: int
    #: Since when it trains, ms; None as long as SageMaker has not reported that.
    training_since_ms: int | None = None
    #: When the newest checkpoint was written that was seen where its job writes them, ms; None if none was seen. There
    #: may be newer ones, and it may be of an earlier attempt.
    checkpoint_seen_ms: int | None = None
    #: Whether its stop was requested. Its instances count until it has ended.
    stopping: bool = False
    #: The waiting job that it was preempted for, if any ...
    freed_for: str | None = None
    #: ... and the part of its demand that is earmarked for that job.
    freed: Demand | None = None
    #: The training job that holds them, if it did not come through the queue. ``job`` and ``attempt`` then name none.
    outside: str = ""
    #: Non-empty if the attempt has ended and its instances are kept warm: the key of the jobs that may start in it.
    #: ``since_ms`` is the end of the attempt then, and the limit of its terms for how long they are kept.
    warm: str = ""
    #: The attempt that was started in it. Until SageMaker tells which instances that one uses, both hold theirs, and
    #: this one counts as stopping.
    claimed_by: str = ""
    #: Whether SageMaker has not provided its instances for so long that it gives way to every job that can use them.
    lacks_instances: bool = False
    #: Whether it was started on instances that are meant for jobs ahead of its own: it gives way to every job that can
    #: start in its place without being stopped for those.
    opportunistic: bool = False
    #: Whether it was started although a budget of its job was spent: then it gives way to every job at any time.
    beyond_budget: bool = False
    #: Whether it is stopping, and its job waits again then. No decision depends on it.
    returns: bool = False

    @property
    def is_unused(self) -> bool:
        """Whether nobody uses its instances, so that every job outranks it."""
        return bool(self.warm) or self.lacks_instances

    @property
    def counts_for_team(self) -> bool:
        """Whether its instances count as its team's, beside the team's limit.

        Those of a warm pool are nobody's, and those of an opportunistic attempt are not its team's by right.
        """
        return not (self.warm or self.opportunistic)

    def capped_until_ms(self, most: int) -> int | None:
        """Until when a cap on preemptions protects it from another one, ms; 0 if it does not, None for ever.

        The cap counts for the life of a job. Where what is left decides which of two equals runs, it would soon protect
        those of which most is left. So for a job that entered in such an order and writes checkpoints, it counts for
        each week since its entry, begun: what its preemptions lose stays small beside the time that it takes.

        Args:
            most: the cap of the policy. The job may have a lower one.
        """
        terms = self.terms
        if terms.max_preemptions is not None:
            most = min(most, terms.max_preemptions)
        if terms.preemptions < most:
            return 0
        if not most or not terms.checkpoints or terms.standing.left_ms is None:
            return None
        return terms.entry_time_ms + terms.preemptions // most * PREEMPTIONS_WITHIN_MS

    def ends_as_soon(self, now_ms: int) -> bool:
        """Whether it reaches its limit within the time that a stop takes, so that to stop it frees nothing sooner.

        For one that is beyond its limit, the limit is disproved, so its end is unknown. What is unused is released
        whenever its instances are needed, as nothing is lost and no other attempt has to stop.
        """
        limit_ms = self.terms.limit_ms
        return limit_ms is not None and 0 <= self.since_ms + limit_ms - now_ms <= STOP_MS and not self.is_unused


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """Instances that have been freed for one waiting job and that no other job may take."""

    job: str
    demand: Demand


@dataclass(frozen=True, kw_only=True, slots=True)
class Pause:
    """A paused pool: until it is resumed nothing starts there, and nothing is preempted for it."""

    #: The caller who paused it.
    by: str
    since_ms: int
    reason: str
    #: Whether all pools were paused at once.
    everything: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SizeChange:
    """A pool gets another size at a known time."""

    at_ms: int
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Calendar:
    """How the size of a pool changes from now on."""

    #: In order of time. After the last one the size stays.
    changes: tuple[SizeChange, ...]
    #: Whether running attempts are stopped when the pool becomes smaller than its use. If not, a job starts only if it
    #: ends in time.
    stops: bool = False
    #: With ``stops``: whether any job may start that does not end in time; if not, only one with ``stops_for_size``.
    any_job: bool = True
    #: Why the pool has these sizes, if a training plan gives them: a clause on the plan.
    about: str = ""
    #: Whether the sizes are known. Those of a training plan are 0 until SageMaker has described it.
    known: bool = True

    def limits(self, *, stops_for_size: bool) -> bool:
        """Whether a job has to end before the pool becomes too small for it.

        Args:
            stops_for_size: of the job.
        """
        return not self.stops or not (self.any_job or stops_for_size)


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """How many instances of a pool some jobs may use together, beside the size of the pool."""

    pool: str
    #: How many they may use now, and how that changes.
    size: int
    changes: tuple[SizeChange, ...] = ()
    #: Of whom it is a limit; empty for all teams, or all owners.
    team: str = ""
    owner: str = ""
    #: What is kept for others, if that limits them.
    bookings: tuple[Booking, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """All that a decision depends on, read at one moment."""

    now_ms: int
    #: Size of each pool, in instances.
    pools: Mapping[str, int]
    allocations: tuple[Allocation, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    #: The first jobs of the queues: of each pool the first jobs in rank order, at least as many as could start.
    waiting: tuple[WaitingJob, ...] = ()
    #: Pools that are paused.
    pauses: Mapping[str, Pause] = field(default_factory=dict)
    #: The rules to decide under.
    policy: Policy = DEFAULT_POLICY
    #: Pools whose size changes at known times; ``pools`` has the sizes of now.
    calendars: Mapping[str, Calendar] = field(default_factory=dict)
    #: The known spot placement scores, 1 to 10, by spot pool and number of instances.
    spot_scores: Mapping[tuple[str, int], int] = field(default_factory=dict)
    #: What each team used until now, what it holds included; only where past use counts (``policy.fair_share``).
    past_use: Mapping[str, PastUse] = field(default_factory=dict)
    #: What was used of each budget until now, what runs included, by name.
    budget_use: Mapping[str, BudgetUse] = field(default_factory=dict)
