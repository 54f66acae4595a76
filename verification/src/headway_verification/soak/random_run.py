"""A random run of a queue: user actions while faults occur, and then a phase without faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from headway.accounting.histogram import bucket_of
from headway.days import Period, day_of, month_of
from headway.job_terms import owner_hash
from headway.policy import Order
from headway.pool_names import SERVERLESS
from headway.prediction.kinds import RunKind
from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.inprocess.lambda_loader import event
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.request_builder import G5, P5
from headway_service.accounting.records import KIND, RUN, add_figures
from headway_service.monitoring.utilization_monitor import REST_MS
from headway_service.sagemaker_api.run_source import run_source
from headway_service.store import transitions
from headway_service.store.ledger import read_pools
from headway_service.store.records.feed import FeedHead
from headway_verification.soak.calm_phase import stay_calm
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.faults import tempers
from headway_verification.soak.faults.plan import Fault, FaultPlan, FaultRates
from headway_verification.soak.faults.refusals import LastingRefusals
from headway_verification.soak.training_plan import INSTANCES, PLAN_POOL, SoldPlan
from headway_verification.soak.violations import Violated
from headway_verification.soak.workload.configurations import WAITING_FOR_CHECKPOINTS, document_of, priority_of
from headway_verification.soak.workload.people import ACTS, G5_SPOT
from headway_verification.soak.workload.requests import SCRIPTS
from headway_verification.soak.workload.users import Workload

POOLS = {P5: 2, G5: 3}

ALL_POOLS = {**POOLS, G5_SPOT: 3, SERVERLESS: 2}
"""The pools at rest: every job fits, also one that was accepted when there was a spot pool."""

FAULTY_S = 2400
"""The minimum duration of the phase with faults, virtual s, so that much of the work meets faults."""

STOPPED_MINUTES = 4
"""How long after a training plan may not be used any more all attempts in it are stopping."""

MAX_STEPS = 20_000
"""The maximum number of steps in a run, to detect one that does not end."""

QUIET_STEP_S = 240
"""The virtual time that passes at once after the last fault, s ..."""

MAX_QUIET_STEPS = 300
"""... and how often at most, until everything has ended: a dozen members of arrays may run for an hour each in one
instance."""


@dataclass(kw_only=True)
class Outcome:
    """The outcome of a run."""

    seed: int
    #: The number of happenings: faults, and user actions.
    happenings: int = 0
    #: The violated invariant; None if all hold.
    violation: str | None = None
    log: list[tuple[float, str, str]] = field(default_factory=list)
    faults: Counter[tuple[str, Fault]] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    #: How often each function needed each permission.
    needed: Counter[tuple[str, str]] = field(default_factory=Counter)
    states: set[str] = field(default_factory=set)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    answers: Counter[int] = field(default_factory=Counter)
    acts: Counter[str] = field(default_factory=Counter)
    #: Accepted jobs, those of which two launches in a row got no instances, and alarms that remain at the end.
    jobs: int = 0
    refused_again: int = 0
    alarms: int = 0


def drawn_order(seed: int) -> tuple[Order, bool]:
    """Return the order among equals of a run for which none is given, and whether predictions count in it."""
    return {3: (Order.SHORT, True), 7: (Order.SHORTEST_REMAINING, True)}.get(seed % 8, (Order.FIFO, False))


def make_run(
    seed: int,
    only: Collection[int] | None = None,
    order: Order | None = None,
    *,
    predicts: bool = False,
    checks_liveness: bool = True,
) -> Outcome:
    """Make a run.

    Args:
        seed: determines everything else.
        only: the numbers of the happenings to keep; None for all.
        order: the order among equals; the users change it now and then if it is not the default. None for the one that
            the seed gives.
        predicts: whether predictions count in the given order.
        checks_liveness: whether the queue has to go on while SageMaker refuses launches.
    """
    if order is None:
        order, predicts = drawn_order(seed)
    random = Random(seed)
    # Separate sources, so that leaving out a happening changes others as little as possible.
    faults = FaultPlan(Random(f"accidents {seed}"), FaultRates.draw(random), only=only)
    sizes = random.choice([POOLS, ALL_POOLS])
    refused = Random(f"refusals {seed}")
    refusals = LastingRefusals.draw(refused, sizes, START_S)
    queue = Deployment(random, sizes, faults, refusals)
    queue.checks_liveness = checks_liveness
    queue.set_temper(tempers.draw(Random(f"temper {seed}")))
    if seed % 2:
        keep_warm_pools(queue, sizes)
    plan = SoldPlan(queue, Random(f"plan {seed}")) if seed % 4 == 1 else None
    if plan is not None:
        follow_plan(queue, sizes, plan)
    if order is not Order.FIFO:
        priority = priority_of(order, predicts=predicts)
        learns = {"predictions": True} if predicts else {}
        queue.configuration.write({**queue.configuration.document, "priority": priority, **learns})
    waits = order is Order.FIFO and seed % 4 == 2
    if waits:
        queue.configuration.write({**queue.configuration.document, "preemption": WAITING_FOR_CHECKPOINTS})
    if predicts:
        learn(queue)
    if seed % 3:
        begin_an_hour_later(queue)
    people = Workload(queue, Random(f"people {seed}"), plan, order, waits=waits, predicts=predicts)
    violation = None
    try:
        _run(queue, people, random)
        # A launch that SageMaker shows too late is given up, and made again.
        if refusals is not None and checks_liveness and queue.invariants.too_late_s is None:
            queue.faults.rates = FaultRates()
            _open_pools(queue, plan)
            stay_calm(queue, people, refused, drain)
        rest(queue, ALL_POOLS, plan)
    except Violated as error:
        violation = str(error)
    finally:
        queue.processes.kill_all()
    return Outcome(
        seed=seed,
        happenings=faults.happened,
        violation=violation,
        log=queue.log,
        faults=queue.faults.counted,
        calls=queue.faults.calls,
        needed=queue.needed,
        states=queue.invariants.states,
        failures=queue.failures,
        answers=queue.answers,
        acts=people.acts,
        jobs=len(queue.accepted),
        refused_again=len(queue.liveness.launches.refused_again),
        alarms=len(queue.cloudwatch.describe()),
    )


def keep_warm_pools(queue: Deployment, sizes: Mapping[str, int]) -> None:
    """Let the queue and SageMaker keep warm pools from the beginning.

    Args:
        sizes: the sizes of the pools.
    """
    queue.configuration.write(document_of(sizes, {}, warmPools={}))
    queue.set_account(queue.fleet.faults.with_changes({"warm_pool_quotas": dict.fromkeys(sizes, 9)}))


def begin_an_hour_later(queue: Deployment) -> None:
    """Count the pauses of all pools, and let entries of the feed be a chain, as an hour after a deployment."""
    with _without_faults(queue):
        queue.configuration.begin()
        for known in read_pools(queue.table):
            queue.write_by_hand(transitions.begin_to_count_pauses(known, 0))
        queue.write_by_hand([FeedHead(last=int(START_S * 1000) - 1, chained_from_ms=0).put(None)])


def learn(queue: Deployment) -> None:
    """Let the queue know how long some jobs of each script have run that completed before, as few complete in a run."""
    month = Period(month=month_of(day_of(int(START_S * 1000))))
    owner = owner_hash(event("api-submit")["requestContext"]["identity"]["userArn"])
    with _without_faults(queue):
        for script, run_s in SCRIPTS.items():
            source = run_source({"HyperParameters": {"sagemaker_program": script}})
            figures = {f"{RUN}{bucket_of(run_s)}": 5}
            queue.write_by_hand([add_figures(KIND, month, RunKind(owner=owner, source=source).text, figures)])


@contextmanager
def _without_faults(queue: Deployment) -> Iterator[None]:
    rates, queue.faults.rates = queue.faults.rates, FaultRates()
    try:
        yield
    finally:
        queue.faults.rates = rates


def follow_plan(queue: Deployment, sizes: Mapping[str, int], plan: SoldPlan) -> None:
    """Let a pool follow a training plan from the beginning.

    Args:
        sizes: the sizes of the other pools.
    """
    document = {**queue.configuration.document, **document_of({**sizes, PLAN_POOL: INSTANCES}, {}, _members(plan))}
    queue.configuration.write(document)


def _members(plan: SoldPlan | None) -> dict[str, dict[str, str]]:
    """The members of the pool of a plan, for a configuration document."""
    return {PLAN_POOL: {"plan": plan.arn}} if plan is not None else {}


def _run(queue: Deployment, people: Workload, random: Random) -> None:
    """Run until the users have performed all their actions."""
    for _ in range(MAX_STEPS):
        if people.acts.total() >= ACTS and not queue.processes.live and queue.now_s > START_S + FAULTY_S:
            return
        busy = queue.busy
        if busy and random.random() < 0.75:
            queue.step()
        elif random.random() < 0.8 and queue.deliver():
            pass
        elif people.acts.total() < ACTS and random.random() < 0.15:
            people.act()
        elif queue.processes.live:
            # Usually so little that calls overlap, sometimes so much that they time out.
            queue.pass_time(random.choices([0.05, 1, 5, 35], [40, 10, 3, 1])[0])
        else:
            queue.pass_time(random.choice([1, 5, 20, 60]))
    raise Violated("the run does not end")


def rest(queue: Deployment, pools: Mapping[str, int] = POOLS, plan: SoldPlan | None = None) -> None:
    """End all faults, and let every accepted job reach its end.

    Args:
        pools: the sizes of the pools, in which every job has to fit.
        plan: the training plan that a further pool follows, if there is one.

    Raises:
        Violated: an invariant does not hold.
    """
    queue.faults.rates = FaultRates()
    queue.end_refusals()
    queue.set_account(Faults(warm_pool_quotas=queue.fleet.faults.warm_pool_quotas))
    drain(queue)
    # Without this a rogue training job could hold its instances for a month.
    sizes = {**pools, PLAN_POOL: INSTANCES} if plan is not None else pools
    ending = {"rogues": {"action": "stop"}, "warmPools": queue.configuration.document.get("warmPools", "leaveOut")}
    queue.configuration.write(document_of(sizes, {}, _members(plan), **ending))
    _resume_all(queue)
    for name in sorted(queue.invariants.held()):
        queue.finish(queue.ask("POST", f"/jobs/{name}/release"))
    if plan is not None:
        _end_plan(queue, plan)
    for _ in range(MAX_QUIET_STEPS):
        queue.pass_time(QUIET_STEP_S)
        drain(queue)
        if queue.invariants.is_at_rest():
            break
    # Stops and releases of unused reservations take a little longer than the jobs.
    for _ in range(5):
        queue.pass_time(60)
        drain(queue)
    # A duplicate alarm created by a concurrent invocation is deleted within the hour.
    for _ in range(REST_MS // 60_000):
        if not queue.cloudwatch.describe():
            break
        queue.pass_time(60)
        drain(queue)
    queue.invariants.check_end(queue.accepted, queue.now_s)
    queue.consumers.check_end()
    queue.table.check_idle()
    queue.table.check_past_use()
    queue.table.check_versions()


def _open_pools(queue: Deployment, plan: SoldPlan | None) -> None:
    """Give the pools their sizes and resume them, so that something can start while SageMaker refuses some launches."""
    sizes = {**ALL_POOLS, PLAN_POOL: INSTANCES} if plan is not None else ALL_POOLS
    pools = document_of(sizes, {}, _members(plan))["pools"]
    queue.configuration.write({**queue.configuration.document, "pools": pools, "rogues": {"action": "stop"}})
    _resume_all(queue)


def _resume_all(queue: Deployment) -> None:
    for pool in sorted(queue.invariants.paused()):
        queue.finish(queue.ask("POST", "/resume" if pool == "*" else f"/pools/{pool}/resume"))


def _end_plan(queue: Deployment, plan: SoldPlan) -> None:
    """Let a training plan end, and then begin again.

    Raises:
        Violated: an attempt runs in it when SageMaker is about to take its instances.
    """
    plan.end_soon()
    for _ in range(STOPPED_MINUTES):
        queue.pass_time(60)
        drain(queue)
    queue.invariants.check_use(PLAN_POOL, 0, queue.now_s)
    plan.renew()


def drain(queue: Deployment) -> None:
    """Run all invocations to their ends, and deliver all messages that are due.

    Raises:
        Violated: an invariant does not hold.
    """
    for _ in range(MAX_STEPS):
        if queue.busy:
            queue.step()
        elif queue.processes.live:
            queue.pass_time(1)
        elif not queue.deliver():
            return
    raise Violated("the queue does not come to rest")
