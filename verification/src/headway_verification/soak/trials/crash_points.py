"""Every point at which a situation can be disturbed, without randomness.

A crash or a lost answer at each external call of an invocation, with each behavior of SageMaker that AWS does not rule
out; and other actors between each two of its calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from zlib import crc32

from headway_verification.soak.deployment import Deployment
from headway_verification.soak.faults.plan import Fault
from headway_verification.soak.faults.tempers import ADVERSE
from headway_verification.soak.random_run import drain, rest
from headway_verification.soak.trials.interleavings import INTERLEAVINGS, Interleaving
from headway_verification.soak.trials.scenarios import SITUATIONS, Scenario, with_temper
from headway_verification.soak.trials.steps import P4, POOLS
from headway_verification.soak.violations import Violated

BESIDE_EACH = (
    *(Fault.CRASH_BEFORE, Fault.CRASH_AFTER),
    *(Fault.ANSWER_LOST, Fault.RAW_BEFORE, Fault.RAW_AFTER),
)
"""The faults injected at each call."""

AFTER_EFFECT = (Fault.CRASH_AFTER, Fault.RAW_AFTER)
"""The faults injected at each call when SageMaker's behavior is adverse."""

SAGEMAKER = frozenset({"CreateTrainingJob", "StopTrainingJob", "DescribeTrainingJob", "ListTags", "ListTrainingJobs"})

MINUTES_AFTER = 5
"""How long SageMaker's adverse behavior lasts after the fault: longer than the queue waits for visibility."""

ALL_POOLS = {**POOLS, P4: 2}
"""Pools in which every job fits at the end."""


@dataclass(kw_only=True)
class Trial:
    """The results of a situation in each of its ways."""

    name: str
    #: The external calls of its invocation without a disturbance.
    calls: int = 0
    #: Those of them that call SageMaker.
    asks_sagemaker: list[int] = field(default_factory=list)
    #: The number of ways tried.
    ways: int = 0
    #: How often each function needed each permission.
    needed: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: The violations, by way.
    violations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to try a situation or an interleaving. It means the same in each process.

    Attributes:
        name: the title of the situation, or of the interleaving if there is no fault.
        at: the calls that the invocation makes before the disturbance.
        fault: the fault of the next call; None for an interleaving.
        rival_at: the calls that the rival makes before the disturbance.
        temper: SageMaker's behavior, a key of :data:`headway_verification.soak.faults.tempers.ADVERSE`.
    """

    name: str
    at: int
    fault: Fault | None = None
    rival_at: int | None = None
    temper: str = ""

    def __str__(self) -> str:
        if self.fault is not None:
            return f"{self.temper + ', ' if self.temper else ''}{self.fault} call {self.at + 1}"
        return f"interleaved after {self.at} calls" + (
            "" if self.rival_at is None else f" and {self.rival_at} of the rival's"
        )


def crash(name: str, every: int = 1) -> Trial:
    """Try a situation with each fault at each call.

    A situation that calls SageMaker is also tried with each adverse behavior and a fault at each call to SageMaker.

    Args:
        name: the title of the situation.
        every: 1 tries all ways, 4 each fourth one. Up to 5 each call still gets a fault.
    """
    trial = undisturbed(name, SITUATIONS[name])
    for way in crashes(trial)[_first(name, every) :: every]:
        _try(trial, way)
    return trial


def interleave(name: str, every: int = 1) -> Trial:
    """Try an interleaving, with the other actors before each call and after the last one.

    Args:
        name: the title of the interleaving.
        every: 1 tries all ways, 4 each fourth one.
    """
    trial = undisturbed(name, INTERLEAVINGS[name].situation)
    for way in meetings(trial)[_first(name, every) :: every]:
        _try(trial, way)
    return trial


def _first(name: str, every: int) -> int:
    """Return where a part of the ways begins: the same in each process, and not the same for all names."""
    return crc32(name.encode()) % every


def crashes(trial: Trial) -> list[Way]:
    """Return the ways of :func:`crash`."""
    ways = [Way(name=trial.name, at=at, fault=fault) for at in range(trial.calls) for fault in BESIDE_EACH]
    for title, temper in ADVERSE.items() if trial.asks_sagemaker else ():
        calm = undisturbed(trial.name, with_temper(SITUATIONS[trial.name], temper))
        trial.violations.update({f"{title}, {way}": how for way, how in calm.violations.items()})
        ways += [
            Way(name=trial.name, at=at, fault=fault, temper=title)
            for at in calm.asks_sagemaker
            for fault in AFTER_EFFECT
        ]
    return ways


def meetings(trial: Trial) -> list[Way]:
    """Return the ways of :func:`interleave`."""
    interleave = INTERLEAVINGS[trial.name]
    rivals: Sequence[int | None] = [None]
    if interleave.rival is not None:
        rivals = range(undisturbed(trial.name, replace(interleave.situation, begin=interleave.rival)).calls + 1)
    return [Way(name=trial.name, at=at, rival_at=rival_at) for at in range(trial.calls + 1) for rival_at in rivals]


def violation_in(way: Way) -> str | None:
    """Return the violation in one way, or None."""
    trial = Trial(name=way.name)
    _try(trial, way)
    return trial.violations.get(str(way))


def _try(trial: Trial, way: Way) -> None:
    trial.ways += 1
    situation = SITUATIONS[way.name] if way.fault is not None else INTERLEAVINGS[way.name].situation
    situation = with_temper(situation, ADVERSE[way.temper]) if way.temper else situation
    queue = Deployment(Random(0), POOLS)
    try:
        situation.prepare(queue)
        if way.fault is not None:
            _crash(queue, situation, way.at, way.fault)
        else:
            _meet(queue, INTERLEAVINGS[way.name], way.at, way.rival_at or 0)
        rest(queue, ALL_POOLS)
    except Violated as error:
        trial.violations[str(way)] = str(error)
    finally:
        trial.needed += queue.needed
        queue.processes.kill_all()


def _crash(queue: Deployment, situation: Scenario, at: int, fault: Fault) -> None:
    made = count()
    queue.faults.raw = at
    queue.faults.planned = lambda _: fault if next(made) == at else Fault.NONE
    queue.finish(situation.begin(queue))
    queue.faults.planned = None
    for _ in range(MINUTES_AFTER if queue.temper else 0):
        queue.pass_time(60)
        drain(queue)


def _meet(queue: Deployment, interleaving: Interleaving, at: int, rival_at: int) -> None:
    process = interleaving.situation.begin(queue)
    queue.advance_by(process, at)
    rival = interleaving.rival(queue) if interleaving.rival else None
    if rival is not None:
        queue.advance_by(rival, rival_at)
        queue.finish(process)
    interleaving.meanwhile(queue)
    queue.finish(rival or process)


def undisturbed(name: str, situation: Scenario) -> Trial:
    """Run the situation without a disturbance.

    Args:
        name: its title.

    Returns:
        A trial with the number of calls of its invocation.
    """
    queue = Deployment(Random(0), POOLS)
    trial = Trial(name=name)
    try:
        situation.prepare(queue)
        before = len(queue.faults.made)
        queue.finish(situation.begin(queue))
        made = queue.faults.made[before:]
        trial.calls = len(made)
        trial.asks_sagemaker = [at for at, operation in enumerate(made) if operation in SAGEMAKER]
    except Violated as error:
        trial.violations["undisturbed"] = str(error)
    finally:
        trial.needed += queue.needed
        queue.processes.kill_all()
    return trial
