"""Every place where a situation can go wrong, one after the other: no chance is involved.

A crash or a lost answer beside each external call of an invocation, with SageMaker answering in each of the ways that
AWS does not rule out; and others that act between each two of its calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random

from headway_verification.soak.deployment import Deployment
from headway_verification.soak.faults import Fault
from headway_verification.soak.interleavings import DUELS, Interleaving
from headway_verification.soak.invariants import Violated
from headway_verification.soak.random_run import drain, rest
from headway_verification.soak.scenarios import P4, POOLS, SITUATIONS, Scenario, unkind
from headway_verification.soak.tempers import UNKIND

BESIDE_EACH = (
    *(Fault.CRASH_BEFORE, Fault.CRASH_AFTER),
    *(Fault.ANSWER_LOST, Fault.RAW_BEFORE, Fault.RAW_AFTER),
)
"""What happens beside each call."""

AFTER_EFFECT = (Fault.CRASH_AFTER, Fault.RAW_AFTER)
"""What happens beside each call to a SageMaker that answers unkindly."""

SAGEMAKER = frozenset({"CreateTrainingJob", "StopTrainingJob", "DescribeTrainingJob", "ListTags", "ListTrainingJobs"})

MINUTES_AFTER = 5
"""The time after the accident in which SageMaker stays unkind: longer than the queue's wait for a job to be shown."""

ALL_POOLS = {**POOLS, P4: 2}
"""In the end every job has to fit."""


@dataclass(kw_only=True)
class Trial:
    """How a situation went, in each of its ways."""

    name: str
    #: External calls that its invocation makes if nothing goes wrong.
    calls: int = 0
    #: Which of them are calls to SageMaker.
    asks_sagemaker: list[int] = field(default_factory=list)
    #: Ways in which it was tried.
    ways: int = 0
    #: What functions would have had to be allowed to do: function, action.
    needed: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: What promise was broken, by way.
    violations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Way:
    """One of the ways in which a situation or a duel is tried. It means the same in each process.

    Attributes:
        name: of the situation, or of the duel if there is no accident.
        at: calls that the invocation makes before it is disturbed.
        accident: what happens beside the next call.
        rival_at: calls that the rival of a duel makes before it is disturbed.
        temper: how SageMaker answers, of :data:`headway_verification.soak.tempers.UNKIND`.
    """

    name: str
    at: int
    accident: Fault | None = None
    rival_at: int | None = None
    temper: str = ""

    def __str__(self) -> str:
        if self.accident is not None:
            return f"{self.temper + ', ' if self.temper else ''}{self.accident} call {self.at + 1}"
        return f"meanwhile after {self.at} calls" + (
            "" if self.rival_at is None else f" and {self.rival_at} of the rival's"
        )


def crash(name: str) -> Trial:
    """A situation with each accident beside each call.

    One that calls SageMaker is tried with each of its tempers, too: with an accident beside each call to SageMaker.
    """
    trial = undisturbed(name, SITUATIONS[name])
    for way in crashes(trial):
        _try(trial, way)
    return trial


def duel(name: str) -> Trial:
    """A situation in which others act before each call, and after the last one."""
    trial = undisturbed(name, DUELS[name].situation)
    for way in meetings(trial):
        _try(trial, way)
    return trial


def crashes(trial: Trial) -> list[Way]:
    """The ways of :func:`crash`."""
    ways = [Way(name=trial.name, at=at, accident=accident) for at in range(trial.calls) for accident in BESIDE_EACH]
    for title, temper in UNKIND.items() if trial.asks_sagemaker else ():
        calm = undisturbed(trial.name, unkind(SITUATIONS[trial.name], temper))
        trial.violations.update({f"{title}, {way}": how for way, how in calm.violations.items()})
        ways += [
            Way(name=trial.name, at=at, accident=accident, temper=title)
            for at in calm.asks_sagemaker
            for accident in AFTER_EFFECT
        ]
    return ways


def meetings(trial: Trial) -> list[Way]:
    """The ways of :func:`duel`."""
    duel = DUELS[trial.name]
    rivals: Sequence[int | None] = [None]
    if duel.rival is not None:
        rivals = range(undisturbed(trial.name, replace(duel.situation, begin=duel.rival)).calls + 1)
    return [Way(name=trial.name, at=at, rival_at=rival_at) for at in range(trial.calls + 1) for rival_at in rivals]


def violation_in(way: Way) -> str | None:
    """What promise is broken in one way; None if all are kept."""
    trial = Trial(name=way.name)
    _try(trial, way)
    return trial.violations.get(str(way))


def _try(trial: Trial, way: Way) -> None:
    trial.ways += 1
    situation = SITUATIONS[way.name] if way.accident is not None else DUELS[way.name].situation
    situation = unkind(situation, UNKIND[way.temper]) if way.temper else situation
    queue = Deployment(Random(0), POOLS)
    try:
        situation.prepare(queue)
        if way.accident is not None:
            _crash(queue, situation, way.at, way.accident)
        else:
            _meet(queue, DUELS[way.name], way.at, way.rival_at or 0)
        rest(queue, ALL_POOLS)
    except Violated as error:
        trial.violations[str(way)] = str(error)
    finally:
        trial.needed += queue.needed
        queue.processes.kill_all()


def _crash(queue: Deployment, situation: Scenario, at: int, accident: Fault) -> None:
    made = count()
    queue.accidents.raw = at
    queue.accidents.planned = lambda _: accident if next(made) == at else Fault.NONE
    queue.finish(situation.begin(queue))
    queue.accidents.planned = None
    for _ in range(MINUTES_AFTER if queue.temper else 0):
        queue.pass_time(60)
        drain(queue)


def _meet(queue: Deployment, duel: Interleaving, at: int, rival_at: int) -> None:
    process = duel.situation.begin(queue)
    queue.advance_by(process, at)
    rival = duel.rival(queue) if duel.rival else None
    if rival is not None:
        queue.advance_by(rival, rival_at)
        queue.finish(process)
    duel.meanwhile(queue)
    queue.finish(rival or process)


def undisturbed(name: str, situation: Scenario) -> Trial:
    """The situation without any disturbance: how many calls its invocation makes."""
    queue = Deployment(Random(0), POOLS)
    trial = Trial(name=name)
    try:
        situation.prepare(queue)
        before = len(queue.accidents.made)
        queue.finish(situation.begin(queue))
        made = queue.accidents.made[before:]
        trial.calls = len(made)
        trial.asks_sagemaker = [at for at, operation in enumerate(made) if operation in SAGEMAKER]
    except Violated as error:
        trial.violations["undisturbed"] = str(error)
    finally:
        trial.needed += queue.needed
        queue.processes.kill_all()
    return trial
