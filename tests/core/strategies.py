"""Random reachable snapshots, and a small world that changes them as the service's transitions do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hypothesis import strategies as st

from headway.model import (
    LATE_MS,
    STOP_MS,
    Allocation,
    Alternative,
    Calendar,
    Demand,
    Reservation,
    SizeChange,
    Snapshot,
    WaitingJob,
)
from headway.past_use.averages import PastUse, Span, later
from headway.plan import Plan, Preempt, Release, ReleaseWarm, Start, StartWarm, StopForSize
from headway.policy import Ageing, Fill, Order, Policy, Team
from headway.refusals import UNLAUNCHABLE_AFTER_MS, Cause, FailedLaunches, NoInstances, add, grace_ms
from headway.refusals.probing import MAX_RETRY_MS
from headway.scheduling.alternatives import choices, chosen
from headway.scheduling.equals.attained import attained_handicap_ms
from headway.scheduling.scheduler import schedule
from headway.scheduling.standing import standing_after
from headway.vectors import minus, overlap, plus, positive, total
from tests.core.builders import allocation, changed, waiting_job

POOLS = ("ml.c5.large", "ml.g5.xlarge")
TEAMS = ("red", "blue")
NOW_MS = 10_000_000
STEP_MS = 60_000
HOUR_MS = 3_600_000

TeamMode = Literal["none", "one", "several"]

demands = st.dictionaries(st.sampled_from(POOLS), st.integers(1, 3), min_size=1, max_size=2)
limits = st.sampled_from([None, STEP_MS, 2 * STEP_MS, 5 * STEP_MS])
keys = st.sampled_from(["", "", "k", "k", "l"])
parts = st.dictionaries(st.sampled_from(POOLS), st.integers(0, 3), max_size=2)


@st.composite
def policies(
    draw: st.DrawFn, mode: TeamMode, *, ageing: bool = True, backfill: bool | None = None, use: Demand | None = None
) -> Policy:
    """Any rules; those of teams only in so far as the mode allows."""
    names = {"none": (), "one": TEAMS[:1], "several": TEAMS}[mode]
    room = {pool: count + 1 for pool, count in (use or dict.fromkeys(POOLS, 3)).items()}
    backfill = draw(st.sampled_from([True, True, True, False])) if backfill is None else backfill
    preemption = draw(st.sampled_from([True, True, True, False]))
    return Policy(
        backfill=backfill,
        fill=draw(st.sampled_from(Fill)) if backfill and preemption else Fill.PROVEN,
        reserved_heads=draw(st.sampled_from([1, 1, 2, 3])),
        preemption=preemption,
        min_run_time_ms=draw(st.sampled_from([0, 0, 90_000])),
        max_preemptions=draw(st.sampled_from([10, 1])),
        warm_across_teams=draw(st.booleans()),
        ageing=Ageing(interval_ms=STEP_MS, cap=draw(st.integers(1, 3))) if ageing and draw(st.booleans()) else None,
        teams={
            name: Team(
                guaranteed=draw(parts),
                limit={pool: room.get(pool, 1) for pool in draw(st.sets(st.sampled_from(POOLS), max_size=2))},
                weight=draw(st.sampled_from([1.0, 1.0, 2.0])),
                max_priority=draw(st.sampled_from([None, None, 2])),
            )
            for name in names
        },
    )


@st.composite
def calendars(draw: st.DrawFn, pools: Mapping[str, int], *, stops: bool = True) -> dict[str, Calendar]:
    """Mostly none; else some changes of some pools, which may be smaller or larger than now."""
    if draw(st.sampled_from([True, True, False])):
        return {}
    drawn = {}
    for pool in draw(st.sets(st.sampled_from(POOLS), min_size=1)):
        times = draw(st.lists(st.sampled_from([30_000, 60_000, 90_000, 150_000, 400_000]), max_size=3, unique=True))
        changes = tuple(
            SizeChange(at_ms=NOW_MS + after_ms, size=draw(st.integers(0, pools[pool] + 2)))
            for after_ms in sorted(times)
        )
        drawn[pool] = Calendar(
            changes=changes,
            stops=stops and draw(st.sampled_from([False, False, True])),
            any_job=not stops or draw(st.sampled_from([True, True, False])),
        )
    return drawn


@st.composite
def snapshots(
    draw: st.DrawFn,
    mode: TeamMode | None = None,
    *,
    ageing: bool = True,
    backfill: bool | None = None,
    most: int = 5,
    unlimited: bool = True,
    full: bool = False,
    calendared: bool = True,
    stops: bool = True,
    plain: bool = False,
) -> Snapshot:
    """Snapshots that can come about: nothing is held that was not free before, sizes may have changed since.

    Plain ones have no calendars, no warm pools, and all jobs preempt: most faults are found sooner in them.

    Full ones are all about preemption: nothing is free, owed or stopping, and few are protected.
    """
    modes: tuple[TeamMode, ...] = ("none", "one", "several") if mode is None else (mode,)
    chosen = draw(st.sampled_from(modes))
    teams = st.sampled_from({"none": ("",), "one": TEAMS[:1], "several": TEAMS}[chosen])
    waiting = tuple(
        waiting_job(
            name=f"w{i}",
            demand=draw(demands),
            priority=draw(st.integers(0, 4)),
            entry_time_ms=NOW_MS - STEP_MS * draw(st.integers(0, 4)),
            handicap_ms=STEP_MS * draw(st.sampled_from([0, 0, 1, 3])),
            not_before_ms=draw(st.sampled_from([0, 0, 0, 0, NOW_MS + 5000])),
            team=draw(teams),
            limit_ms=draw(limits if unlimited else limits.filter(bool)),
            preempts=full or plain or draw(st.sampled_from([True, True, True, False])),
            warm_key="" if plain else draw(keys),
            stops_for_size=stops and not (full or plain) and draw(st.sampled_from([False, False, True])),
        )
        for i in range(draw(st.integers(0, most)))
    )
    reservations, owed = [], {job.name: dict(job.demand) for job in waiting} | {"gone": draw(demands)}
    for name in owed:
        if not full and draw(st.integers(0, 5)) == 0:
            part = overlap(owed[name], draw(demands))
            if part:
                reservations.append(Reservation(job=name, demand=part))
                owed[name] = positive(minus(owed[name], part))
    allocations = []
    for i in range(draw(st.integers(0, most))):
        demand = draw(demands)
        freed_for = None if full else draw(st.sampled_from([None, None, None, None, *owed]))
        freed = overlap(owed[freed_for], demand) if freed_for is not None else None
        if freed and freed_for is not None:
            owed[freed_for] = positive(minus(owed[freed_for], freed))
        since_ms = NOW_MS - draw(st.sampled_from([0, 10_000, 40_000, 100_000]))
        allocations.append(
            allocation(
                job=f"r{i}",
                attempt=f"r{i}",
                demand=demand,
                priority=draw(st.integers(0, 2 if full else 4)),
                since_ms=since_ms,
                entry_time_ms=since_ms - STEP_MS * draw(st.integers(0, 2)),
                team=draw(teams),
                limit_ms=draw(limits if unlimited else limits.filter(bool)),
                checkpoints=draw(st.booleans()),
                preemptible=draw(st.sampled_from([True, True, True, False])),
                warm_key="k",
                keep_ms=0 if full or plain else draw(st.sampled_from([0, 0, 5 * STEP_MS])),
                # One that is being preempted was not protected before.
                preemptions=0 if freed else draw(st.integers(0, 1)),
                max_preemptions=None if freed or full or plain else draw(st.sampled_from([None, None, None, 0, 1])),
                stopping=bool(freed) or (not full and draw(st.sampled_from([False, False, False, True]))),
                freed_for=freed_for if freed else None,
                freed=freed or None,
                stops_for_size=stops and not (full or plain) and draw(st.sampled_from([False, False, True])),
                opportunistic=not (full or plain) and draw(st.sampled_from([False, False, False, True])),
            )
        )
    if not (full or plain):
        allocations += draw(warm_pools(waiting, allocations, owed, teams))
    used = plus(total(a.demand for a in allocations), total(r.demand for r in reservations))
    # A claimed warm pool and the attempt in it are the same instances.
    used = minus(used, total(a.demand for a in allocations if a.claimed_by))
    # Mostly pools with their use and some more; sometimes one that was shrunk below its use.
    pools = {pool: max(0, used.get(pool, 0) + (0 if full else draw(st.integers(-1, 4)))) for pool in POOLS}
    return Snapshot(
        now_ms=NOW_MS,
        pools=pools,
        allocations=tuple(allocations),
        reservations=tuple(reservations),
        waiting=waiting,
        policy=draw(policies(chosen, ageing=ageing, backfill=backfill, use=used)),
        calendars=draw(calendars(pools, stops=stops)) if calendared and not (full or plain) else {},
    )


@st.composite
def among_equals(draw: st.DrawFn, of: st.SearchStrategy[Snapshot]) -> Snapshot:
    """The same in the order `shortest-remaining`, with few priorities: most of the jobs entered in it."""
    snapshot = draw(of)
    left = st.sampled_from([None, STEP_MS // 2, STEP_MS, 3 * STEP_MS, 10 * STEP_MS, 40 * STEP_MS])
    priorities = st.sampled_from([0, 0, 0, 1])
    waiting, allocations = [], []
    for job in snapshot.waiting:
        left_ms = draw(left)
        handicap_ms = job.terms.standing.handicap_ms if left_ms is None else 10 * left_ms * sum(job.demand.values())
        waiting.append(changed(job, priority=draw(priorities), left_ms=left_ms, handicap_ms=handicap_ms))
    for each in snapshot.allocations:
        left_ms = None if each.warm else draw(left)
        handicap_ms = each.terms.standing.handicap_ms if left_ms is None else 10 * left_ms * sum(each.demand.values())
        writes = each.terms.checkpoints or draw(st.booleans())
        allocations.append(
            changed(each, priority=draw(priorities), checkpoints=writes, left_ms=left_ms, handicap_ms=handicap_ms)
        )
    policy = replace(
        snapshot.policy, order=Order.SHORTEST_REMAINING, checkpoint_interval_ms=draw(st.sampled_from([0, 600_000]))
    )
    return replace(snapshot, waiting=tuple(waiting), allocations=tuple(allocations), policy=policy)


@st.composite
def by_predictions(draw: st.DrawFn, of: st.SearchStrategy[Snapshot]) -> Snapshot:
    """The same in the order `shortest-remaining`, where most jobs are expected to end before their limits.

    Some running ones have run for longer than was expected.
    """
    snapshot = draw(among_equals(of))
    parts, extensions = st.sampled_from([None, 40, 10, 3, 1]), st.sampled_from([STEP_MS // 2, STEP_MS, 5 * STEP_MS])

    def expectation(job: WaitingJob | Allocation) -> dict[str, Any]:
        part = draw(parts)
        if job.terms.standing.left_ms is None or part is None:
            return {}
        expected_ms = job.terms.standing.left_ms // part
        handicap_ms = 10 * expected_ms * sum(job.demand.values())
        return {"expected_ms": expected_ms, "extension_ms": draw(extensions), "handicap_ms": handicap_ms}

    return replace(
        snapshot,
        waiting=tuple(changed(job, **expectation(job)) for job in snapshot.waiting),
        allocations=tuple(changed(each, **expectation(each)) for each in snapshot.allocations),
        policy=replace(snapshot.policy, by_predictions=True),
    )


@st.composite
def sharing(draw: st.DrawFn, of: st.SearchStrategy[Snapshot]) -> Snapshot:
    """The same in the order `shared`, with few priorities: most of the jobs entered in it, on a few of its levels."""
    snapshot = draw(of)
    attained = st.sampled_from([None, 0, 0, HOUR_MS // 2 - STEP_MS, HOUR_MS // 2, 2 * HOUR_MS, 40 * HOUR_MS])
    bounds = st.sampled_from([STEP_MS, 10 * HOUR_MS, 10_000 * HOUR_MS])
    priorities = st.sampled_from([0, 0, 0, 1])
    waiting, allocations = [], []
    for job in snapshot.waiting:
        terms = _attained(draw(attained), draw(bounds), job.terms.standing.handicap_ms)
        waiting.append(changed(job, priority=draw(priorities), **terms))
    for each in snapshot.allocations:
        terms = _attained(None if each.warm else draw(attained), draw(bounds), each.terms.standing.handicap_ms)
        writes = each.terms.checkpoints or draw(st.booleans())
        allocations.append(changed(each, priority=draw(priorities), checkpoints=writes, **terms))
    policy = replace(snapshot.policy, order=Order.SHARED)
    return replace(snapshot, waiting=tuple(waiting), allocations=tuple(allocations), policy=policy)


failed_launches = st.builds(
    FailedLaunches,
    count=st.integers(1, 9),
    since_ms=st.sampled_from([0, NOW_MS - UNLAUNCHABLE_AFTER_MS, NOW_MS - STEP_MS]),
    last_ms=st.sampled_from([NOW_MS - 9_000_000, NOW_MS - MAX_RETRY_MS, NOW_MS - 2 * STEP_MS, NOW_MS - 5000]),
    idled_ms=st.sampled_from([0, 0, STEP_MS, HOUR_MS]),
    cause=st.sampled_from(Cause),
    code=st.just("AccessDenied"),
    text=st.just("no"),
    by_request_since_ms=st.none() | st.just(0),
)


@st.composite
def refusing(draw: st.DrawFn, of: st.SearchStrategy[Snapshot]) -> Snapshot:
    """The same, where SageMaker gave instances to some launches of waiting jobs, and to some attempts, not at all.

    Some jobs can run on another alternative, on which they may have failed as well.
    """
    snapshot = draw(of)
    rows, waiting = st.none() | failed_launches, []
    for job in snapshot.waiting:
        left = sorted(set(POOLS) - job.demand.keys())
        others = [{left[0]: draw(st.integers(1, 3))}] if draw(st.booleans()) and left else []
        waiting.append(
            replace(
                job,
                failed=draw(rows),
                alternatives=tuple(
                    Alternative(demand=each, limit_ms=draw(limits), failed=draw(rows)) for each in others
                ),
                wait_at_most_ms=draw(st.sampled_from([0, 5 * STEP_MS])) if others else 0,
            )
        )
    allocations = tuple(
        replace(each, lacks_instances=not (each.warm or each.stopping) and draw(st.integers(0, 2)) == 2)
        for each in snapshot.allocations
    )
    policy = replace(
        snapshot.policy,
        backfill_window=draw(st.sampled_from([1000, 1000, 2])),
        probe_percent=draw(st.sampled_from([1, 5, 50])),
    )
    return replace(snapshot, waiting=tuple(waiting), allocations=allocations, policy=policy)


def _attained(attained_ms: int | None, most_ms: int, handicap_ms: int) -> dict[str, Any]:
    if attained_ms is not None:
        handicap_ms = attained_handicap_ms(attained_ms, most_ms)
    return {"attained_ms": attained_ms, "max_handicap_ms": most_ms, "handicap_ms": handicap_ms}


@st.composite
def warm_pools(
    draw: st.DrawFn,
    waiting: Sequence[WaitingJob],
    running: Sequence[Allocation],
    owed: dict[str, dict[str, int]],
    teams: st.SearchStrategy[str],
) -> list[Allocation]:
    """Warm pools: some that waiting jobs match, some claimed by running attempts, some being released."""
    pools: list[Allocation] = []
    for i in range(draw(st.sampled_from([0, 0, 1, 2]))):
        key, demand, claimed_by, freed_for = "k", draw(demands), "", None
        kind = draw(st.sampled_from(["any", "matched", "matched", "claimed", "released"]))
        if kind == "matched" and waiting:
            match = draw(st.sampled_from(waiting))
            key, demand = match.terms.warm_key or "k", dict(match.demand)
        claimers = [a for a in running if not a.stopping and all(a.attempt != pool.claimed_by for pool in pools)]
        if kind == "claimed" and claimers:
            claimer = draw(st.sampled_from(claimers))
            demand, claimed_by = dict(claimer.demand), claimer.attempt
        freed = None
        if kind == "released":
            freed_for = draw(st.sampled_from([None, *owed]))
            freed = overlap(owed[freed_for], demand) if freed_for is not None else None
            if freed and freed_for is not None:
                owed[freed_for] = positive(minus(owed[freed_for], freed))
        pools.append(
            allocation(
                job=f"v{i}",
                attempt=f"v{i}",
                demand=demand,
                priority=draw(st.integers(0, 4)),
                since_ms=NOW_MS - draw(st.sampled_from([0, 10_000, 100_000])),
                team=draw(teams),
                limit_ms=draw(limits.filter(bool)),
                preemptible=draw(st.booleans()),
                warm=key,
                stopping=bool(claimed_by) or kind == "released",
                claimed_by=claimed_by,
                freed_for=freed_for if freed else None,
                freed=freed or None,
            )
        )
    return pools


@st.composite
def crowded(draw: st.DrawFn) -> Snapshot:
    """Few large jobs of two teams in full pools, where one team waits for its guarantee.

    Demands are so large beside the guarantees that a team's jobs are covered one by one, but not all of them.
    """
    names = POOLS[: draw(st.sampled_from([1, 1, 2]))]
    wanted = st.dictionaries(st.sampled_from(names), st.integers(1, 3), min_size=1)
    large = st.dictionaries(st.sampled_from(names), st.integers(3, 5), min_size=1)
    red, blue = TEAMS
    allocations = tuple(
        allocation(
            job=f"r{i}",
            attempt=f"r{i}",
            demand=draw(large),
            priority=draw(st.integers(0, 3)),
            since_ms=NOW_MS - STEP_MS,
            entry_time_ms=NOW_MS - STEP_MS * draw(st.integers(1, 3)),
            team=draw(st.sampled_from([blue, blue, blue, red])),
            limit_ms=draw(st.sampled_from([None, 720 * STEP_MS, 720 * STEP_MS])),
        )
        for i in range(draw(st.sampled_from([1, 1, 1, 2])))
    )
    waiting = tuple(
        waiting_job(
            name=f"w{i}",
            demand=draw(wanted),
            priority=draw(st.integers(0, 2)),
            entry_time_ms=NOW_MS - STEP_MS * draw(st.integers(0, 2)),
            team=draw(st.sampled_from([red, red, red, blue])),
            limit_ms=draw(limits),
        )
        for i in range(draw(st.sampled_from([2, 2, 3, 1])))
    )
    used = total(a.demand for a in allocations)
    guaranteed = st.dictionaries(st.sampled_from(names), st.integers(1, 3), max_size=2)
    first = {names[0]: draw(st.integers(1, 2))}
    return Snapshot(
        now_ms=NOW_MS,
        pools={pool: used.get(pool, 0) + draw(st.sampled_from([0, 0, 1])) for pool in names},
        allocations=allocations,
        waiting=waiting,
        policy=Policy(
            reserved_heads=draw(st.sampled_from([1, 1, 2])),
            ageing=draw(st.sampled_from([None, None, Ageing(interval_ms=STEP_MS, cap=2)])),
            teams={red: Team(guaranteed=draw(guaranteed) | first), blue: Team(guaranteed=draw(guaranteed))},
        ),
    )


def borrowing_goes_on(snapshot: Snapshot) -> Snapshot:
    """The same, where one team waits for its guarantee, and the other would borrow the free instances too."""
    red, blue = TEAMS
    return replace(
        snapshot,
        pools={pool: size + 1 for pool, size in snapshot.pools.items()},
        waiting=tuple(
            changed(job, team=red, priority=0, not_before_ms=0)
            if i < 2
            else changed(job, team=blue, priority=4, not_before_ms=0, demand={POOLS[i % 2]: 1})
            for i, job in enumerate(snapshot.waiting)
        ),
        allocations=tuple(changed(attempt, team=blue, preemptible=True) for attempt in snapshot.allocations),
        policy=Policy(teams={red: Team(guaranteed=dict.fromkeys(POOLS, 2))}),
    )


def borrowed_from_red(snapshot: Snapshot) -> Snapshot:
    """The same, where one team waits for its guarantee and the other has borrowed all of it."""
    red, blue = TEAMS
    return replace(
        snapshot,
        waiting=tuple(changed(job, team=red) for job in snapshot.waiting[:1]),
        allocations=tuple(changed(attempt, team=blue) for attempt in snapshot.allocations),
        policy=replace(snapshot.policy, preemption=True, teams={red: Team(guaranteed=dict.fromkeys(POOLS, 3))}),
    )


def beside_a_warm_pool(snapshot: Snapshot) -> Snapshot:
    """The same, beside an idle warm pool that would suffice for most jobs."""
    demand = dict.fromkeys(POOLS, 3)
    idle = allocation(job="v", attempt="v", demand=demand, priority=0, since_ms=NOW_MS, limit_ms=5 * STEP_MS, warm="k")
    return replace(snapshot, pools=plus(snapshot.pools, demand), allocations=(*snapshot.allocations, idle))


def nothing_owed(snapshot: Snapshot) -> Snapshot:
    """The same, where nothing is stopping, reserved or earmarked."""
    return replace(
        snapshot,
        reservations=(),
        allocations=tuple(replace(a, stopping=False, freed_for=None, freed=None) for a in snapshot.allocations),
    )


def beyond_limits(snapshot: Snapshot) -> Snapshot:
    """The same, where all attempts run although their limits have passed."""
    since_ms = NOW_MS - STEP_MS - 1
    return replace(
        snapshot,
        allocations=tuple(
            each if each.warm else replace(changed(each, limit_ms=STEP_MS), since_ms=since_ms)
            for each in snapshot.allocations
        ),
    )


@dataclass
class World:
    """What the ledger holds, changed as the transitions of the service change it."""

    now_ms: int
    pools: dict[str, int]
    policy: Policy
    waiting: dict[str, WaitingJob] = field(default_factory=dict)
    held: dict[str, Allocation] = field(default_factory=dict)
    reserved: dict[str, dict[str, int]] = field(default_factory=dict)
    preempted: dict[str, int] = field(default_factory=dict)
    #: Jobs whose stop was requested, so that they are not requeued.
    unwanted: set[str] = field(default_factory=set)
    calendars: Mapping[str, Calendar] = field(default_factory=dict)
    spot_scores: Mapping[tuple[str, int], int] = field(default_factory=dict)
    past_use: Mapping[str, PastUse] = field(default_factory=dict)
    started_ms: dict[str, int] = field(default_factory=dict)
    #: When the stop of each attempt that stops was requested, as far as it is known: after that it does not train.
    stopping_since_ms: dict[str, int] = field(default_factory=dict)
    #: Whether preempted jobs are requeued.
    victims_return: bool = True
    #: Attempts whose launches were accepted and that have no instances yet, each with its job as it waited.
    pending: dict[str, WaitingJob] = field(default_factory=dict)
    #: Those of them that were started on what all others left, and give way to others at once.
    on_leftovers: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, snapshot: Snapshot, policy: Policy | None = None) -> World:
        """The world at the moment of a snapshot."""
        return cls(
            now_ms=snapshot.now_ms,
            pools=dict(snapshot.pools),
            policy=policy or snapshot.policy,
            waiting={job.name: job for job in snapshot.waiting},
            held={a.job: a for a in snapshot.allocations},
            reserved={r.job: dict(r.demand) for r in snapshot.reservations},
            preempted={a.job: a.terms.preemptions for a in snapshot.allocations},
            # Attempts that stop for no job were stopped by request.
            unwanted={a.job for a in snapshot.allocations if a.warm or (a.stopping and a.freed_for is None)},
            calendars=snapshot.calendars,
            spot_scores=snapshot.spot_scores,
            past_use=snapshot.past_use,
        )

    def snapshot(self) -> Snapshot:
        """What a decision sees."""
        return Snapshot(
            now_ms=self.now_ms,
            pools=dict(self.pools),
            allocations=tuple(self.held.values()),
            reservations=tuple(Reservation(job=name, demand=demand) for name, demand in self.reserved.items()),
            waiting=tuple(self.waiting.values()),
            policy=self.policy,
            calendars=self.calendars,
            spot_scores=self.spot_scores,
            past_use=self.past_use,
        )

    def advance(self, now_ms: int) -> None:
        """Let time pass; pools change their sizes on the way, and what is held becomes past use."""
        if self.policy.fair_share is not None:
            spans = [
                Span(team=each.terms.team, demand=each.demand, begin_ms=self.now_ms, end_ms=now_ms)
                for each in self.held.values()
            ]
            self.past_use = later(self.past_use, self.now_ms, now_ms, spans, self.policy.fair_share.half_life_ms)
        for pool, calendar in self.calendars.items():
            for change in calendar.changes:
                if self.now_ms < change.at_ms <= now_ms:
                    self.pools[pool] = change.size
        self.now_ms = now_ms

    def apply(self, plan: Plan) -> None:
        """Carry out a plan."""
        for action in plan.actions:
            match action:
                case Release():
                    del self.reserved[action.job]
                case Start():
                    self.pending[action.job] = self.waiting[action.job]
                    if action.on_leftovers:
                        self.on_leftovers.add(action.job)
                    self._start(action.job, action.demand, opportunistic=action.opportunistic)
                    if isinstance(action, StartWarm):
                        self.held[action.warm] = replace(self.held[action.warm], stopping=True, claimed_by=action.job)
                case Preempt() | ReleaseWarm():
                    self.stopping_since_ms[action.job] = self.now_ms
                    self.held[action.job] = replace(
                        self.held[action.job], stopping=True, freed_for=action.for_job, freed=dict(action.freed)
                    )
                case StopForSize():
                    self.stopping_since_ms[action.job] = self.now_ms
                    self.held[action.job] = replace(self.held[action.job], stopping=True)

    def _start(self, name: str, demand: Demand, *, opportunistic: bool) -> None:
        job = chosen(self.waiting.pop(name), demand)
        self.reserved.pop(name, None)
        self.started_ms.setdefault(name, self.now_ms)
        self.held[name] = Allocation(
            job=name,
            attempt=name,
            demand=dict(demand),
            terms=job.terms,
            since_ms=self.now_ms,
            opportunistic=opportunistic,
        )

    def end(self, name: str) -> None:
        """The attempt of a job has ended; the job is requeued if it was preempted and no stop was requested."""
        attempt = self.held.pop(name)
        until_ms = self.stopping_since_ms.pop(name, self.now_ms)
        if attempt.stopping and attempt.freed_for in self.waiting and attempt.freed:
            self.reserved[attempt.freed_for] = plus(self.reserved.get(attempt.freed_for, {}), attempt.freed)
        if attempt.stopping and name not in self.unwanted and self.victims_return:
            self.preempted[name] = self.preempted.get(name, 0) + (attempt.freed_for is not None)
            for pool in [each for each in self.held.values() if each.claimed_by == name]:
                # SageMaker reports the use of a warm pool no later than the end of the attempt.
                self.end(pool.job)
            ran_ms = until_ms - attempt.since_ms if attempt.terms.checkpoints else 0
            kept_ms = max(0, ran_ms - self.policy.checkpoint_interval_ms)
            terms = replace(
                attempt.terms,
                standing=standing_after(attempt, until_ms, kept_ms),
                preemptions=self.preempted[name],
            )
            self.waiting[name] = WaitingJob(name=name, demand=attempt.demand, terms=terms)
            if attempt.lacks_instances:
                self.waiting[name] = self._failed(name, attempt, Cause.CAPACITY)
            elif name in self.pending:
                # Whether it would have got instances is not known.
                before = chosen(self.pending.pop(name), attempt.demand)
                self.waiting[name] = replace(self.waiting[name], failed=before.failed)
        elif attempt.terms.keep_ms and not attempt.stopping:
            self.unwanted.add(name)
            self.held[name] = changed(
                attempt,
                since_ms=self.now_ms,
                limit_ms=attempt.terms.keep_ms,
                warm=attempt.terms.warm_key,
                keep_ms=0,
                left_ms=None,
                attained_ms=None,
            )

    def gets_instances(self, name: str) -> None:
        """SageMaker has provided the instances of an attempt: launches before it count no more."""
        self.pending.pop(name, None)
        self.on_leftovers.discard(name)
        self.held[name] = replace(self.held[name], lacks_instances=False)

    def pends(self) -> None:
        """Attempts without instances give way to others once they have held them for long enough."""
        for name, job in self.pending.items():
            attempt = self.held[name]
            if not attempt.stopping and self.now_ms - attempt.since_ms >= self._grace_ms(name, job, attempt):
                self.held[name] = replace(attempt, lacks_instances=True)

    def _grace_ms(self, name: str, job: WaitingJob, attempt: Allocation) -> int:
        failed = chosen(job, attempt.demand).failed
        return 0 if name in self.on_leftovers else grace_ms(0 if failed is None else failed.count)

    def fails(self, name: str, cause: Cause, *, by_request: bool = False) -> None:
        """The launch of a job got no instances: it waits again, with that."""
        attempt = self.held.pop(name)
        self.waiting[name] = self._failed(name, attempt, cause, by_request=by_request)

    def _failed(self, name: str, attempt: Allocation, cause: Cause, *, by_request: bool = False) -> WaitingJob:
        """The job as it waited before, with the end of its launch."""
        # An attempt that is there from the beginning has lost its job.
        job = self.pending.pop(name) if name in self.pending else self.waiting[name]
        idled_ms = 0 if cause in {Cause.DENIED, Cause.QUOTA} else self.now_ms - attempt.since_ms
        most_ms = self._grace_ms(name, job, attempt) + STOP_MS
        self.on_leftovers.discard(name)
        launch = NoInstances(
            cause=cause,
            launched_ms=attempt.since_ms,
            known_ms=self.now_ms,
            idled_ms=min(idled_ms, most_ms) if cause is Cause.CAPACITY else idled_ms,
            code="AccessDenied",
            text="no",
            by_request=by_request,
        )
        if job.demand == attempt.demand:
            return replace(job, failed=add(job.failed, launch))
        alternatives = (
            replace(each, failed=add(each.failed, launch)) if each.demand == attempt.demand else each
            for each in job.alternatives
        )
        return replace(job, alternatives=tuple(alternatives))

    def end_all_stopping(self) -> None:
        """Whatever is stopping has ended."""
        for name in [name for name, attempt in self.held.items() if attempt.stopping]:
            if name in self.held:
                self.end(name)

    def unclaim_all(self) -> None:
        """The attempts in warm pools have begun, and SageMaker shows all warm pools as available."""
        for name in [name for name, attempt in self.held.items() if attempt.claimed_by]:
            self.held[name] = replace(self.held[name], stopping=False, claimed_by="")

    def cancel(self, name: str) -> None:
        """Stop a job in any state."""
        if name in self.waiting:
            del self.waiting[name]
            self.reserved.pop(name, None)
        elif name in self.held:
            self.unwanted.add(name)
            self.held[name] = replace(self.held[name], stopping=True)

    def settle(self, rounds: int) -> int:
        """Decide and let what stops end, until there is nothing to do; returns the preemptions on the way."""
        preemptions = 0
        for _ in range(rounds):
            self.end_all_stopping()
            plan = schedule(self.snapshot())
            if not plan.actions:
                return preemptions
            preemptions += sum(isinstance(action, Preempt) for action in plan.actions)
            self.apply(plan)
        raise AssertionError(f"there is still something to do after {rounds} decisions at one moment")


def fits(job: WaitingJob, pools: Mapping[str, int], policy: Policy) -> bool:
    """Whether a job could start if everything were free."""
    limit = policy.team(job.terms.team).limit
    return any(
        all(count <= min(pools.get(pool, 0), limit.get(pool, count)) for pool, count in each.demand.items())
        for each in choices(job)
    )


def size_at(snapshot: Snapshot, pool: str, time_ms: int) -> int:
    """The size of a pool at a time from now on."""
    changes = snapshot.calendars[pool].changes if pool in snapshot.calendars else ()
    sizes = [change.size for change in changes if snapshot.now_ms < change.at_ms <= time_ms]
    return sizes[-1] if sizes else snapshot.pools.get(pool, 0)


def can_ever_start(job: WaitingJob, snapshot: Snapshot) -> bool:
    """Whether a job could start at some time if everything were free, and keep within later sizes."""
    policy, payer = snapshot.policy, job.terms.payer
    others = [each for each in policy.bookings if not each.covers(payer)]
    changes = {change.at_ms for calendar in snapshot.calendars.values() for change in calendar.changes}
    times = sorted(changes.union(at_ms - LATE_MS for each in others for at_ms in each.times(snapshot.now_ms)))

    def is_left(pool: str, count: int, start_ms: int) -> bool:
        """Whether so many are beside what is kept for others, as long as the job runs."""
        kept_from = [each for each in others if each.pool == pool]
        end_ms = start_ms + (1 << 60 if job.terms.limit_ms is None else job.terms.limit_ms)
        return all(
            size_at(snapshot, pool, t) - sum(each.count_at(t + LATE_MS) for each in kept_from) >= count
            for t in (start_ms, *(t for t in times if start_ms < t < end_ms))
            if kept_from
        )

    def starts_at(start_ms: int) -> bool:
        for pool, count in job.demand.items():
            end_ms = start_ms + (snapshot.now_ms if job.terms.limit_ms is None else job.terms.limit_ms)
            calendar = snapshot.calendars.get(pool)
            limits = calendar is not None and calendar.limits(stops_for_size=job.terms.stops_for_size)
            later = [t for t in times if start_ms < t < end_ms] if limits else []
            if any(size_at(snapshot, pool, t) < count for t in [start_ms, *later]):
                return False
            if not is_left(pool, count, start_ms):
                return False
        return True

    team = policy.team(job.terms.team)
    allowed = all(
        count <= limit.get(pool, count)
        for limit in (team.limit, team.owner_limit, policy.owner_limit)
        for pool, count in job.demand.items()
    )
    return allowed and any(starts_at(t) for t in [max(snapshot.now_ms, job.not_before_ms), *times])


def all_stopped(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """What a decision sees after a plan was carried out and everything that was stopping has ended.

    Victims are not requeued here, as they could outrank the job.
    """
    world = World.of(snapshot)
    world.apply(plan)
    world.unwanted |= {name for name, attempt in world.held.items() if attempt.stopping}
    world.end_all_stopping()
    return world.snapshot()
