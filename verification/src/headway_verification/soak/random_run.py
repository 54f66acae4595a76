"""One life of a queue: what people ask for, in a world where things go wrong, and then a calm end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from random import Random

from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.request_builder import G5, P5
from headway_service.monitoring.utilization_monitor import REST_MS
from headway_verification.soak import tempers
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.faults import Fault, FaultPlan, FaultRates
from headway_verification.soak.invariants import Violated
from headway_verification.soak.workload import ACTS, Workload, document_of

POOLS = {P5: 2, G5: 3}

VIOLENT_S = 2400
"""The least virtual time with faults, s, so that many requests meet accidents."""

MAX_STEPS = 20_000
"""Steps of one life; more mean that it comes to no rest."""

CALM_S = 240
"""In the calm after the last fault this much time passes at once, virtual s ..."""

MAX_CALM = 150
"""... so often at most, until everything has ended."""


@dataclass(kw_only=True)
class Outcome:
    """How a life went."""

    seed: int
    #: How much happened: accidents, and what people did.
    happenings: int = 0
    #: What promise was broken; None if all were kept.
    violation: str | None = None
    log: list[tuple[float, str, str]] = field(default_factory=list)
    accidents: Counter[tuple[str, Fault]] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    #: What functions would have had to be allowed to do: function, action.
    needed: Counter[tuple[str, str]] = field(default_factory=Counter)
    states: set[str] = field(default_factory=set)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    answers: Counter[int] = field(default_factory=Counter)
    acts: Counter[str] = field(default_factory=Counter)
    #: Jobs that were accepted, and alarms that were left in the end.
    jobs: int = 0
    alarms: int = 0


def live(seed: int, only: Collection[int] | None = None) -> Outcome:
    """Live one life.

    Args:
        seed: decides everything.
        only: the numbers of what happens; all else that would is left out. None for all.
    """
    random = Random(seed)
    # Sources of their own, so that one thing left out changes others as little as possible.
    accidents = FaultPlan(Random(f"accidents {seed}"), FaultRates.draw(random), only=only)
    queue = Deployment(random, POOLS, accidents)
    queue.set_temper(tempers.draw(Random(f"temper {seed}")))
    people = Workload(queue, Random(f"people {seed}"))
    violation = None
    try:
        _run(queue, people, random)
        rest(queue)
    except Violated as error:
        violation = str(error)
    finally:
        queue.processes.kill_all()
    return Outcome(
        seed=seed,
        happenings=accidents.happened,
        violation=violation,
        log=queue.log,
        accidents=queue.accidents.counted,
        calls=queue.accidents.calls,
        needed=queue.needed,
        states=queue.invariants.states,
        failures=queue.failures,
        answers=queue.answers,
        acts=people.acts,
        jobs=len(queue.accepted),
        alarms=len(queue.cloudwatch.describe()),
    )


def _run(queue: Deployment, people: Workload, random: Random) -> None:
    """Live until people have done all they want."""
    for _ in range(MAX_STEPS):
        if people.acts.total() >= ACTS and not queue.processes.live and queue.now_s > START_S + VIOLENT_S:
            return
        busy = queue.busy
        if busy and random.random() < 0.75:
            queue.go_on()
        elif random.random() < 0.8 and queue.deliver():
            pass
        elif people.acts.total() < ACTS and random.random() < 0.15:
            people.act()
        elif queue.processes.live:
            # Mostly so short that calls overlap, now and then so long that they time out.
            queue.pass_time(random.choices([0.05, 1, 5, 35], [40, 10, 3, 1])[0])
        else:
            queue.pass_time(random.choice([1, 5, 20, 60]))
    raise Violated("the life comes to no end")


def rest(queue: Deployment, pools: Mapping[str, int] = POOLS) -> None:
    """All faults end: calls in progress end, and all accepted jobs must reach their ends.

    Args:
        queue: the queue.
        pools: its pools now, so that every job fits.

    Raises:
        Violated: a promise is broken.
    """
    queue.accidents.violence = FaultRates()
    queue.fleet.faults = Faults()
    queue.store.lag_s = 0.0
    drain(queue)
    # Without this a training job that bypassed the queue could hold its instances for a month.
    queue.store.write(json.dumps(document_of(pools, {}, rogues={"action": "stop"})))
    for pool in sorted(queue.invariants.paused()):
        queue.finish(queue.ask("POST", "/resume" if pool == "*" else f"/pools/{pool}/resume"))
    for name in sorted(queue.invariants.held()):
        queue.finish(queue.ask("POST", f"/jobs/{name}/release"))
    for _ in range(MAX_CALM):
        queue.pass_time(CALM_S)
        drain(queue)
        if queue.invariants.is_at_rest():
            break
    # Stopping attempts and leftover reservations need a moment longer than the jobs.
    for _ in range(5):
        queue.pass_time(60)
        drain(queue)
    # An alarm that one watcher made while another found none goes within the hour.
    for _ in range(REST_MS // 60_000):
        if not queue.cloudwatch.describe():
            break
        queue.pass_time(60)
        drain(queue)
    queue.invariants.check_end(queue.accepted, queue.now_s)
    queue.audience.check_end()


def drain(queue: Deployment) -> None:
    """All that is under way ends, and all that is due is delivered.

    Raises:
        Violated: a promise is broken.
    """
    for _ in range(MAX_STEPS):
        if queue.busy:
            queue.go_on()
        elif queue.processes.live:
            queue.pass_time(1)
        elif not queue.deliver():
            return
    raise Violated("the queue comes to no rest")
