"""Interleavings: situations, and other actors between two calls of their invocations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway_sandbox.sagemaker.request_builder import G5, P5
from headway_service.scheduling.backoff import FIRST_BACK_OFF_S
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.scenarios import (
    DRAIN,
    ENDLESS_S,
    NOTIFIES,
    P4,
    PAUSE,
    PAUSE_ALL,
    POOLS,
    RESUME,
    RESUME_ALL,
    SITUATIONS,
    STOPPING,
    TEAMS,
    Begin,
    Scenario,
    Step,
    ask,
    configure,
    configure_from,
    cut_off,
    done,
    edited,
    finished,
    forgotten,
    heard,
    hidden,
    later,
    minute,
    news,
    patrol,
    read_late,
    submit,
    submit_idle,
    tick,
    turned_away,
    unkind,
    watch,
)
from headway_verification.soak.tempers import UNKIND

RESIZE = ask("PATCH", f"/pools/{P5}", {"size": 3})


@dataclass(frozen=True, kw_only=True)
class Interleaving:
    """A situation, and other actors between two calls of its invocation.

    Attributes:
        situation: the situation.
        rival: an invocation that begins in the middle of it, and ends after it and after what happens meanwhile.
        meanwhile: what others do: in the middle of it, or in the middle of the rival if there is one.
    """

    situation: Scenario
    meanwhile: Callable[[Deployment], None]
    rival: Begin | None = None


def _duel(situation: str, *steps: Step) -> Interleaving:
    return Interleaving(situation=SITUATIONS[situation], meanwhile=done(*steps))


_FORGOTTEN = (
    *(configure(POOLS, {"b": {}}), submit("j", team="b"), ask("POST", "/jobs/j/hold")),
    *(configure(POOLS), later(100_000)),
)
"""A job is held, and its team was removed from the configuration long ago."""

_ENDLESS = (submit("j", run_s=ENDLESS_S), tick, later(300))
"""A job trains that does not end by itself; events of its start are there."""

_STOP = ask("DELETE", "/jobs/j")

_STARTS_FOR_GOOD = Scenario(prepare=done(submit("j", run_s=ENDLESS_S)), begin=tick)
"""A job is about to start that does not end by itself."""

_ADOPTED = "an attempt that the table has lost is adopted"

DUELS: dict[str, Interleaving] = {
    "two schedulers": _duel("jobs start", tick),
    "two schedulers, and one stops the other's victims": _duel("two are preempted for one", tick),
    "a start of a team, and of its other job": Interleaving(
        situation=Scenario(
            prepare=done(configure(POOLS, TEAMS), later(300), submit("a1", team="a"), submit("a2", team="a")),
            begin=tick,
        ),
        meanwhile=done(ask("PATCH", "/jobs/a2", {"priority": 9}), tick),
    ),
    "a start of a team, which is taken out": Interleaving(
        situation=Scenario(prepare=done(configure(POOLS, TEAMS), later(300), submit("a1", team="a")), begin=tick),
        rival=configure(POOLS),
        meanwhile=done(),
    ),
    "a team that is added twice, and its start": Interleaving(
        situation=Scenario(prepare=done(configure(POOLS)), begin=configure(POOLS, {"c": {"limit": {P5: 1}}})),
        meanwhile=done(tick, submit("j", team="c"), tick),
    ),
    "a team that comes back, and the release of its job": Interleaving(
        situation=Scenario(prepare=done(*_FORGOTTEN), begin=configure(POOLS, {"b": {"limit": {P5: 2}}})),
        meanwhile=done(ask("POST", "/jobs/j/release"), configure(POOLS, {"b": {"limit": {P5: 2}}}), tick),
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
    "a start and a pause of everything": _duel("jobs start", PAUSE_ALL),
    "a pause and a start": _duel("a pool is paused", tick),
    "a preemption and a pause": _duel("two are preempted for one", PAUSE, tick),
    "a preemption and a pause of everything": _duel("two are preempted for one", PAUSE_ALL, tick),
    "a resume, and another with a pause after it": _duel("a pool is resumed", RESUME, later(10), PAUSE),
    "a resume of everything, and another with a pause after it": Interleaving(
        situation=Scenario(prepare=done(PAUSE_ALL, later(100)), begin=RESUME_ALL),
        meanwhile=done(RESUME_ALL, later(10), PAUSE_ALL),
    ),
    "the end of a restore, and a pause": _duel(
        "the patrol has gone round after a restore", later(10), PAUSE_ALL, later(1)
    ),
    "the end of a restore, and another with a pause after it": _duel(
        "the patrol has gone round after a restore", patrol, later(10), PAUSE_ALL
    ),
    "the end of a restore of a paused queue, and its resume with a pause after it": _duel(
        "the patrol has gone round after a restore of a paused queue", patrol, RESUME_ALL, later(10), PAUSE_ALL
    ),
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
    "a launch that is turned away and its stop": Interleaving(
        situation=Scenario(prepare=done(submit("j", run_s=ENDLESS_S)), begin=turned_away), meanwhile=done(_STOP)
    ),
    "a stop, and the launch that was turned away before": Interleaving(
        situation=Scenario(
            prepare=done(submit("j", run_s=ENDLESS_S), turned_away, later(2 * FIRST_BACK_OFF_S)), begin=_STOP
        ),
        meanwhile=done(tick),
    ),
    "a launch that a quota refuses, and its stop": _duel(
        "a start is refused while its quota counts a job that has ended", ask("DELETE", "/jobs/second")
    ),
    "a stop and an end": _duel("a running job is stopped", finished, heard),
    "another priority and an end": _duel("a running job gets another priority", finished, heard),
    "an attempt that SageMaker does not show, and its stop": Interleaving(
        situation=Scenario(prepare=done(*_ENDLESS, heard, later(200), hidden), begin=minute), meanwhile=done(_STOP)
    ),
    "a drain of a paused pool and its resume": _duel("a paused pool is drained", RESUME, PAUSE),
    "a launch whose name is taken and its stop": _duel("a name is taken", ask("DELETE", "/jobs/j"), tick),
    "a launch whose name is taken and another priority": _duel(
        "a name is taken", ask("PATCH", "/jobs/j", {"priority": 5}), tick
    ),
    "a stop and the settlement of its launch": Interleaving(
        situation=Scenario(prepare=done(submit("j", run_s=ENDLESS_S), cut_off, later(90)), begin=_STOP),
        meanwhile=done(tick),
    ),
    "news of a job and its stop": Interleaving(
        situation=Scenario(prepare=done(*_ENDLESS), begin=minute), meanwhile=done(_STOP)
    ),
    "a look at a job and its stop": Interleaving(
        situation=Scenario(prepare=done(*_ENDLESS, heard, later(200)), begin=minute), meanwhile=done(_STOP)
    ),
    "an idle job that is told and stopped": Interleaving(
        situation=Scenario(
            prepare=done(
                *(configure(POOLS, watches=NOTIFIES), submit_idle("j", run_s=ENDLESS_S), tick, later(400), heard),
                *(watch, later(400), heard),
            ),
            begin=watch,
        ),
        meanwhile=done(_STOP),
    ),
    "two changes of the configuration after one that died": Interleaving(
        situation=SITUATIONS["the configuration is changed after a change that died"],
        meanwhile=done(configure({P5: 3, G5: 1})),
    ),
    "a preemption and an end": _duel("two are preempted for one", finished, heard),
    "a second end and the hold of whom it was for": Interleaving(
        situation=Scenario(prepare=done(*STOPPING, later(200), news), begin=news),
        meanwhile=done(ask("POST", "/jobs/high/hold")),
    ),
    "a start on what was freed for it, and a pause that comes and goes": _duel(
        "a job starts on what was freed for it", PAUSE, tick, RESUME
    ),
    "a release of what was freed, and another": _duel("what was freed for a job that left is released", tick),
    "a release, and its team that comes back": Interleaving(
        situation=Scenario(prepare=done(*_FORGOTTEN, configure({P5: 1, G5: 2})), begin=ask("POST", "/jobs/j/release")),
        meanwhile=done(configure(POOLS, {"b": {}})),
    ),
    "a pause and a drain": _duel("a pool is paused", DRAIN),
    "a pause of everything and another": Interleaving(
        situation=Scenario(prepare=done(later(100)), begin=PAUSE_ALL),
        meanwhile=done(ask("POST", "/pause", {"reason": "and so"}), later(1)),
    ),
    "a rogue job that is stopped and ends": _duel("a rogue job is stopped", finished, heard),
    "a rogue job that is stopped twice": _duel("a rogue job is stopped", patrol),
    "a start and a hold": _duel("jobs start", ask("POST", "/jobs/b/hold")),
    "a hold and a start": _duel("a waiting job is held", tick),
    "a hold and the end that its job waits for": _duel("a job that something is reserved for is held", news, tick),
    "a release and a start": _duel("a held job is released", tick, ask("DELETE", "/jobs/j")),
    "a release and another priority": _duel("a held job is released", ask("PATCH", "/jobs/j", {"priority": 5}), tick),
    "an end and the hold of whom it was for": _duel(
        "a preempted attempt has ended", ask("POST", "/jobs/high/hold"), tick
    ),
    "a release, and its team that comes back before it is forgotten": Interleaving(
        situation=Scenario(prepare=done(*_FORGOTTEN), begin=ask("POST", "/jobs/j/release")),
        meanwhile=done(configure(POOLS, {"b": {}})),
    ),
    "a release while its team is forgotten": Interleaving(
        situation=Scenario(
            prepare=done(*_FORGOTTEN),
            begin=ask("POST", "/jobs/j/release"),
        ),
        meanwhile=done(configure({P5: 1, G5: 2})),
    ),
    "a team that is forgotten while its job is released": Interleaving(
        situation=Scenario(
            prepare=done(*_FORGOTTEN),
            begin=configure({P5: 1, G5: 2}),
        ),
        meanwhile=done(ask("POST", "/jobs/j/release")),
    ),
    "the ends of two attempts for one job": _duel("a preempted attempt has ended", news),
    "an end and the stop of whom it was for": _duel("a preempted attempt has ended", ask("DELETE", "/jobs/high"), tick),
    "an end and a pool that shrinks": _duel("a preempted attempt has ended", news, configure({P5: 1, G5: 2}), tick),
    "an end that is told twice": _duel("a job has completed", minute, tick),
    "a launch and its stop": Interleaving(situation=_STARTS_FOR_GOOD, meanwhile=done(_STOP, tick, tick)),
    "a launch and the stop that it meets": Interleaving(situation=_STARTS_FOR_GOOD, rival=_STOP, meanwhile=done()),
    **{
        f"a launch and its stop, where {title}": Interleaving(
            situation=unkind(_STARTS_FOR_GOOD, temper), meanwhile=done(_STOP, tick, tick)
        )
        for title, temper in UNKIND.items()
    },
    "a launch that is settled twice": _duel("a launch without an answer is settled", tick),
    "a resize and another": _duel("pools and teams change", configure({P5: 3, G5: 1}, {"a": {}, "c": {}})),
    "a configuration, and a resize since the version it was made from": _duel(
        "a configuration is set that was made from the newest version", RESIZE, tick
    ),
    "a configuration, and an edit of the parameter": _duel(
        "a configuration is set that was made from the newest version", edited, tick
    ),
    "a configuration that is read late, and a resize": Interleaving(
        situation=Scenario(
            prepare=done(configure(POOLS), tick, later(600), read_late), begin=configure_from(2, {P5: 1, G5: 2})
        ),
        meanwhile=done(RESIZE, tick),
    ),
    "a resize, and an edit of the parameter": _duel("a pool is resized", edited, tick),
    "a configuration that two ticks apply": _duel(
        "a configuration is applied that a tick finds", tick, submit("x", (P4, 1), team="a"), tick
    ),
    "a configuration that a tick applies, and a newer one": _duel(
        "a configuration is applied that a tick finds", configure({P5: 3, G5: 2}), tick
    ),
    "a resize and a start": _duel("pools and teams change", tick),
    "a start and a resize": _duel("jobs start", configure({P5: 1, G5: 2})),
    "a pool that is added twice": _duel(
        "pools and teams change",
        configure({P5: 2, G5: 2, P4: 2}, {"a": {}, "c": {}}),
        submit("x", (P4, 1)),
        tick,
    ),
    "a pool that comes back while it is taken out": Interleaving(
        situation=Scenario(
            prepare=done(configure({P5: 2, G5: 1}), submit("j", (G5, 1)), tick), begin=configure({P5: 2})
        ),
        meanwhile=done(configure({P5: 2, G5: 1})),
    ),
    "a pool that is taken out while it comes back and is used": Interleaving(
        situation=Scenario(prepare=done(configure({P5: 2, G5: 1})), begin=configure({P5: 2})),
        meanwhile=done(configure({P5: 2, G5: 1}), submit("j", (G5, 1)), tick),
    ),
    "the first configuration, and a newer one": Interleaving(
        situation=Scenario(prepare=done(), begin=tick), meanwhile=done(configure({P5: 3, G5: 2}))
    ),
    "two functions that make the first mark": Interleaving(
        situation=Scenario(prepare=done(submit("j"), submit("k")), begin=tick), meanwhile=done(tick)
    ),
    "an adoption and another": _duel(_ADOPTED, patrol),
    "an adoption and a tick": _duel(_ADOPTED, tick),
    "an adoption and its job's stop": _duel(_ADOPTED, ask("DELETE", "/jobs/high"), tick),
    "an adoption and another priority": _duel(_ADOPTED, ask("PATCH", "/jobs/high", {"priority": 7})),
    "an adoption and an end": _duel(_ADOPTED, finished, heard),
    "an adoption and a start of its team": Interleaving(
        situation=Scenario(
            prepare=done(
                *(configure(POOLS, TEAMS), later(300), submit("k", (G5, 1), team="b"), tick),
                *(submit("j", team="a"), forgotten(tick), later(5)),
            ),
            begin=patrol,
        ),
        meanwhile=done(submit("x", team="a", priority=9), tick),
    ),
    "an adoption and the end of its reservation": _duel(
        _ADOPTED, ask("POST", "/jobs/high/hold"), tick, ask("POST", "/jobs/high/release"), submit("x"), tick
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
    "a team that comes back while it is forgotten": Interleaving(
        situation=Scenario(
            prepare=done(configure(POOLS, {"b": {}}), configure(POOLS), later(100_000)),
            begin=configure(POOLS, {"b": {}}),
        ),
        rival=configure({P5: 1, G5: 2}),
        meanwhile=done(submit("j", team="b")),
    ),
}
"""Interleavings by name."""
