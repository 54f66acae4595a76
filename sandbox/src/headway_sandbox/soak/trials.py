"""Every place where a situation can go wrong, one after the other: no chance is involved.

A crash or a lost answer beside each external call of an invocation, with SageMaker answering in each of the ways that
AWS does not rule out; and others that act between each two of its calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random

from headway_sandbox.soak.accidents import Accident
from headway_sandbox.soak.duels import DUELS
from headway_sandbox.soak.invariants import Violated
from headway_sandbox.soak.life import drain, rest
from headway_sandbox.soak.queue import Queue
from headway_sandbox.soak.situations import P4, POOLS, SITUATIONS, Situation, unkind
from headway_sandbox.soak.tempers import UNKIND

BESIDE_EACH = (Accident.CRASH_BEFORE, Accident.CRASH_AFTER, Accident.ANSWER_LOST)
"""What happens beside each call."""

SAGEMAKER = frozenset({"CreateTrainingJob", "StopTrainingJob", "DescribeTrainingJob", "ListTags", "ListTrainingJobs"})

MINUTES_AFTER = 5
"""How long an unkind SageMaker goes on after the accident: longer than the queue waits for what it does not show."""

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


def crash(name: str) -> Trial:
    """A situation with a crash just before and just after each call, and with each answer lost.

    One that calls SageMaker is tried with each of its tempers: with an accident beside each of the calls to SageMaker.
    """
    situation = SITUATIONS[name]
    trial = _undisturbed(name, situation)
    for at in range(trial.calls):
        for accident in BESIDE_EACH:
            _try(trial, f"{accident} call {at + 1}", situation, _with_accident(situation, at, accident))
    for title, temper in UNKIND.items() if trial.asks_sagemaker else ():
        tried = unkind(situation, temper)
        calls = _undisturbed(name, tried)
        trial.violations.update({f"{title}, {way}": how for way, how in calls.violations.items()})
        for at in calls.asks_sagemaker:
            for accident in (Accident.CRASH_AFTER, Accident.ANSWER_LOST):
                _try(trial, f"{title}, {accident} call {at + 1}", tried, _with_accident(tried, at, accident))
    return trial


def _with_accident(situation: Situation, at: int, accident: Accident) -> Callable[[Queue], None]:
    """What is about to happen happens, with an accident beside one call; then others go on for some minutes."""

    def happen(queue: Queue) -> None:
        made = count()
        queue.accidents.planned = lambda _: accident if next(made) == at else Accident.NONE
        queue.finish(situation.begin(queue))
        queue.accidents.planned = None
        for _ in range(MINUTES_AFTER if queue.temper else 0):
            queue.pass_time(60)
            drain(queue)

    return happen


def duel(name: str) -> Trial:
    """A situation in which others act before each call, and after the last one."""
    duel = DUELS[name]
    trial = _undisturbed(name, duel.situation)
    rival_calls = _undisturbed(name, replace(duel.situation, begin=duel.rival)).calls if duel.rival else 0
    for at in range(trial.calls + 1):
        for rival_at in range(rival_calls + 1):

            def happen(queue: Queue, at: int = at, rival_at: int = rival_at) -> None:
                process = duel.situation.begin(queue)
                queue.advance_by(process, at)
                rival = duel.rival(queue) if duel.rival else None
                if rival is not None:
                    queue.advance_by(rival, rival_at)
                    queue.finish(process)
                duel.meanwhile(queue)
                queue.finish(rival or process)

            way = f"meanwhile after {at} calls" + (f" and {rival_at} of the rival's" if duel.rival else "")
            _try(trial, way, duel.situation, happen)
    return trial


def _try(trial: Trial, way: str, situation: Situation, happen: Callable[[Queue], None]) -> None:
    trial.ways += 1
    queue = Queue(Random(0), POOLS)
    try:
        situation.prepare(queue)
        happen(queue)
        rest(queue, ALL_POOLS)
    except Violated as error:
        trial.violations[way] = str(error)
    finally:
        trial.needed += queue.needed
        queue.processes.kill_all()


def _undisturbed(name: str, situation: Situation) -> Trial:
    """The situation without any disturbance: how many calls its invocation makes."""
    queue = Queue(Random(0), POOLS)
    trial = Trial(name=name)
    try:
        situation.prepare(queue)
        made: list[str] = []

        def note(operation: str) -> Accident:
            made.append(operation)
            return Accident.NONE

        queue.accidents.planned = note
        queue.finish(situation.begin(queue))
        queue.accidents.planned = None
        trial.calls = len(made)
        trial.asks_sagemaker = [at for at, operation in enumerate(made) if operation in SAGEMAKER]
    except Violated as error:
        trial.violations["undisturbed"] = str(error)
    finally:
        trial.needed += queue.needed
        queue.processes.kill_all()
    return trial
