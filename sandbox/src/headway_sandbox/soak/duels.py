"""Who may meet whom: situations, and others who act between two calls of their invocations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway_sandbox.soak.queue import Queue
from headway_sandbox.soak.situations import (
    P4,
    PAUSE,
    POOLS,
    RESUME,
    SITUATIONS,
    TEAMS,
    Begin,
    Situation,
    Step,
    ask,
    configure,
    done,
    finished,
    heard,
    later,
    minute,
    news,
    patrol,
    submit,
    tick,
    unkind,
    watch,
)
from headway_sandbox.soak.tempers import UNKIND
from headway_sandbox.training_request import G5, P5


@dataclass(frozen=True, kw_only=True)
class Duel:
    """A situation, and others who act between two calls of its invocation.

    Attributes:
        situation: what is about to happen.
        rival: an invocation that begins in the middle of it, and ends after it and after what happens meanwhile.
        meanwhile: what others do: in the middle of it, or in the middle of the rival if there is one.
    """

    situation: Situation
    meanwhile: Callable[[Queue], None]
    rival: Begin | None = None


def _duel(situation: str, *steps: Step) -> Duel:
    return Duel(situation=SITUATIONS[situation], meanwhile=done(*steps))


DUELS: dict[str, Duel] = {
    "two schedulers": _duel("jobs start", tick),
    "two schedulers, and one stops the other's victims": _duel("two are preempted for one", tick),
    "a start of a team, and of its other job": Duel(
        situation=Situation(
            prepare=done(configure(POOLS, TEAMS), later(300), submit("a1", team="a"), submit("a2", team="a")),
            begin=tick,
        ),
        meanwhile=done(ask("PATCH", "/jobs/a2", {"priority": 9}), tick),
    ),
    "two submissions of one name": _duel("a job is submitted", submit("j", (P5, 2)), tick),
    "a start and a stop": _duel("jobs start", ask("DELETE", "/jobs/b"), tick),
    "a start and another priority": _duel("jobs start", ask("PATCH", "/jobs/b", {"priority": 7}), tick),
    "another priority and a start": _duel("a waiting job gets another priority", tick),
    "a stop and a start": _duel("a waiting job is stopped", tick),
    "a preemption and its preemptor's stop": _duel("two are preempted for one", ask("DELETE", "/jobs/high")),
    "a preemption and its preemptor's hold": _duel("two are preempted for one", ask("POST", "/jobs/high/hold")),
    "a preemption and its preemptor's lower priority": _duel(
        "two are preempted for one", ask("PATCH", "/jobs/high", {"priority": 0})
    ),
    "a start and a pause": _duel("jobs start", PAUSE),
    "a start and a pause of everything": _duel("jobs start", ask("POST", "/pause", {"reason": "so it is"})),
    "a pause and a start": _duel("a pool is paused", tick),
    "a preemption and a pause": _duel("two are preempted for one", PAUSE, tick),
    "a drain and its end": _duel("a pool is drained", RESUME),
    "a drain and another tick": _duel("a pool is drained", tick),
    "a drain and an end": _duel("a pool is drained", finished, heard),
    "a launch that is settled, and a pause": _duel("a launch without an answer is settled", PAUSE),
    "a launch in a paused pool that is settled twice": _duel(
        "a launch that was never made is found in a pool that was paused", tick
    ),
    "a launch in a paused pool, and a resume": _duel(
        "a launch that was never made is found in a pool that was paused", RESUME, tick
    ),
    "a resize of one pool, and a configuration": _duel("a pool is resized", configure({P5: 3, G5: 1})),
    "a start and a hold": _duel("jobs start", ask("POST", "/jobs/b/hold")),
    "a hold and a start": _duel("a waiting job is held", tick),
    "a hold and the end that its job waits for": _duel("a job that something is reserved for is held", news, tick),
    "a release and a start": _duel("a held job is released", tick, ask("DELETE", "/jobs/j")),
    "a release and another priority": _duel("a held job is released", ask("PATCH", "/jobs/j", {"priority": 5}), tick),
    "an end and the hold of whom it was for": _duel(
        "a preempted attempt has ended", ask("POST", "/jobs/high/hold"), tick
    ),
    "a release while its team is forgotten": Duel(
        situation=Situation(
            prepare=done(
                *(configure(POOLS, {"b": {}}), submit("j", team="b"), ask("POST", "/jobs/j/hold")),
                *(configure(POOLS), later(100_000)),
            ),
            begin=ask("POST", "/jobs/j/release"),
        ),
        meanwhile=done(configure({P5: 1, G5: 2})),
    ),
    "a team that is forgotten while its job is released": Duel(
        situation=Situation(
            prepare=done(
                *(configure(POOLS, {"b": {}}), submit("j", team="b"), ask("POST", "/jobs/j/hold")),
                *(configure(POOLS), later(100_000)),
            ),
            begin=configure({P5: 1, G5: 2}),
        ),
        meanwhile=done(ask("POST", "/jobs/j/release")),
    ),
    "the ends of two attempts for one job": _duel("a preempted attempt has ended", news),
    "an end and the stop of whom it was for": _duel("a preempted attempt has ended", ask("DELETE", "/jobs/high"), tick),
    "an end and a pool that shrinks": _duel("a preempted attempt has ended", news, configure({P5: 1, G5: 2}), tick),
    "an end that is told twice": _duel("a job has completed", minute, tick),
    "a launch and its stop": _duel("jobs start", ask("DELETE", "/jobs/a"), tick, tick),
    **{
        f"a launch and its stop, where {title}": Duel(
            situation=unkind(SITUATIONS["jobs start"], temper), meanwhile=done(ask("DELETE", "/jobs/a"), tick, tick)
        )
        for title, temper in UNKIND.items()
    },
    "a launch that is settled twice": _duel("a launch without an answer is settled", tick),
    "a resize and another": _duel("pools and teams change", configure({P5: 3, G5: 1}, {"a": {}, "c": {}})),
    "a resize and a start": _duel("pools and teams change", tick),
    "a start and a resize": _duel("jobs start", configure({P5: 1, G5: 2})),
    "a pool that is added twice": _duel(
        "pools and teams change",
        configure({P5: 2, G5: 2, P4: 2}, {"a": {}, "c": {}}),
        submit("x", (P4, 1)),
        tick,
    ),
    "a pool that comes back while it is taken out": Duel(
        situation=Situation(
            prepare=done(configure({P5: 2, G5: 1}), submit("j", (G5, 1)), tick), begin=configure({P5: 2})
        ),
        meanwhile=done(configure({P5: 2, G5: 1})),
    ),
    "a rogue job that is found twice": _duel("a rogue job is found", patrol),
    "a rogue job that is found while its name is launched": _duel("a rogue job is found", submit("j"), tick),
    "a rogue job that is found while its pool goes": _duel("a rogue job is found", configure({G5: 2})),
    "an end of a rogue job that is told twice": _duel("a rogue job has ended", patrol, submit("j", (P5, 2)), tick),
    "a patrol and a start": _duel("a job waits for a launch while a patrol goes", tick, later(5)),
    "a patrol and a start that ends": _duel("a job waits for a launch while a patrol goes", tick, later(900), news),
    "an alarm that tells late, and the watcher": _duel("an alarm tells late of a job that is busy again", watch),
    "a job that leaves spot, and its start": _duel("a job that leaves spot has ended", tick, later(400), heard, tick),
    "an idle job that ends": _duel("an idle job is found", finished, heard, tick),
    "an idle job that its owner stops": _duel("an idle job is found", ask("DELETE", "/jobs/j"), tick),
    "an idle job that is preempted": _duel("an idle job is found", submit("high", (P5, 2), priority=9), tick),
    "an idle job that is found twice": _duel("an alarm tells of an idle job", watch, tick),
    "an alarm that is made while its job ends": _duel("a job that trains gets its alarm", finished, heard, watch),
    "a job that leaves spot is stopped": _duel("spot interrupts a job once too often", ask("DELETE", "/jobs/j"), tick),
    "a job that leaves spot is preempted": _duel(
        "spot interrupts a job once too often", submit("high", (P5, 2), priority=9), tick
    ),
    "a team that comes back while it is forgotten": Duel(
        situation=Situation(
            prepare=done(configure(POOLS, {"b": {}}), configure(POOLS), later(100_000)),
            begin=configure(POOLS, {"b": {}}),
        ),
        rival=configure({P5: 1, G5: 2}),
        meanwhile=done(submit("j", team="b")),
    ),
}
"""By who meets."""
