"""Interleavings: situations, and other actors between two calls of their invocations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from headway.accounting.idle import COUNTED_EACH_S
from headway_sandbox.sagemaker.request_builder import G5, P5
from headway_service.launching.backoff import FIRST_BACK_OFF_S
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.faults.tempers import ADVERSE
from headway_verification.soak.trials.scenarios import (
    CHANGE_HIGH,
    DRAIN,
    KEPT,
    LEASE_S,
    NOTIFIES,
    ONE_IDLE,
    PAUSE,
    PAUSE_ALL,
    RESUME,
    RESUME_ALL,
    SITUATIONS,
    STOPPING,
    TEAMS,
    TWO_KEPT,
    Scenario,
    scheduled,
    with_temper,
)
from headway_verification.soak.trials.steps import (
    ENDLESS_S,
    P4,
    POOLS,
    Begin,
    Step,
    ask,
    back_off,
    begin_chain,
    check_use,
    complete_training,
    configure,
    crash_after_launch,
    deliver_changes,
    deliver_end,
    deliver_events,
    forget,
    hide_training_jobs,
    keep_alive,
    leave_running,
    patrol,
    provide_capacity,
    raise_warm_pool_quota,
    reconcile,
    repair,
    roll_back,
    run_steps,
    submit,
    submit_after,
    submit_batch,
    submit_idle,
    submit_kept,
    submit_reusing,
    submit_sweep,
    submit_timed,
    tick,
    tick_after,
    tick_with_refused_launch,
    touch_input,
    wait,
    watch,
)

RESIZE = ask("PATCH", f"/pools/{P5}", {"size": 3})


@dataclass(frozen=True, kw_only=True)
class Interleaving:
    """A situation, and other actors between two calls of its invocation.

    Attributes:
        situation: what is about to happen.
        rival: an invocation that begins in the middle of the situation's, and ends after it and after ``meanwhile``.
        meanwhile: the actions of others: in the middle of the situation's invocation, or of the rival if there is one.
    """

    situation: Scenario
    meanwhile: Callable[[Deployment], None]
    rival: Begin | None = None


def _interleaving(situation: str, *steps: Step) -> Interleaving:
    return Interleaving(situation=SITUATIONS[situation], meanwhile=run_steps(*steps))


_FORGOTTEN_TEAM = (
    *(configure(POOLS, {"b": {}}), submit("j", team="b"), ask("POST", "/jobs/j/hold")),
    *(configure(POOLS), wait(100_000)),
)
"""A job is on hold, and its team was removed from the configuration long ago."""

_FORGOTTEN_DEPENDANT = Scenario(
    prepare=run_steps(
        *(submit("a"), configure(POOLS, {"b": {}}), submit_after("j", "a:any", team="b")),
        *(configure(POOLS), wait(100_000), ask("DELETE", "/jobs/a")),
    ),
    begin=tick,
)
"""A job of a team that was removed from the configuration long ago is about to enter its queue."""

_FORGOTTEN_TIMER = Scenario(
    prepare=run_steps(
        *(configure(POOLS, {"b": {}}), submit_timed("j", not_before_s=100_000, team="b")),
        *(configure(POOLS), wait(100_000)),
    ),
    begin=tick,
)
"""The time of a job comes whose team was removed from the configuration long ago."""

_FORGOTTEN_ARRAY = Scenario(
    prepare=run_steps(
        *(configure(POOLS, {"b": {}}), submit_sweep("s", 2, team="b"), configure(POOLS), wait(100_000)),
    ),
    begin=tick,
)
"""Members of an array are about to be made, of a team that was removed from the configuration long ago."""

_FORGOTTEN_MEMBER = Scenario(
    prepare=run_steps(
        *(configure(POOLS, {"b": {}}), submit_sweep("s", 2, team="b", atOnce=1)),
        *(ask("PATCH", "/jobs/s_1", {"priority": 5}), configure(POOLS), wait(100_000)),
    ),
    begin=tick,
)
"""A member that is set aside is about to enter the queue of such a team."""

_IN_FLIGHT = "three launches are in flight, and answered from number 2 on"

_DELETED = configure({P5: 1, G5: 2})
_RESTORED = configure({P5: 1, G5: 2}, {"b": {}})

_ACCOUNTED = "what has ended is added to the sums of usage"

_NOTIFIED = "the dependants of a job that has ended are notified"

_NOTED = "the outputs of a job are noted, and equal ones get them"

_COMPUTES_AGAIN = "a job for which equal ones wait was stopped"

_ENDLESS = (submit("j", run_s=ENDLESS_S), tick, wait(300))
"""A job is training that does not end by itself; the events of its start are queued."""

_STOP = ask("DELETE", "/jobs/j")

_STARTS_FOR_GOOD = Scenario(prepare=run_steps(submit("j", run_s=ENDLESS_S)), begin=tick)
"""A job is about to start that does not end by itself."""

_TWO_FOR_ONE = Scenario(
    prepare=run_steps(
        *(configure(POOLS, warmPools={}), raise_warm_pool_quota(), submit("low", run_s=5000), submit_kept("k")),
        *(tick, wait(900), deliver_events, submit("wide", (P5, 2), priority=9), tick, wait(200)),
    ),
    begin=reconcile,
)
"""A warm pool was released and a victim stopped for one job, and both are gone."""


def _after(situation: Scenario, *steps: Step) -> Scenario:
    """Return the situation after further steps."""
    return replace(situation, prepare=run_steps(situation.prepare, *steps))


_IDLE_AND_ENDED = Scenario(
    prepare=run_steps(
        *(submit("a"), tick, wait(900), deliver_events, deliver_changes(), *ONE_IDLE),
        *(tick, wait(COUNTED_EACH_S + 10)),
    ),
    begin=reconcile,
)
"""The sums have neither the use of a job that has ended, nor the time for which instances of its pool are idle."""

_ADOPTED = "an attempt missing from the table is adopted"
_CHARGED = "an attempt that is charged as a rogue job is started again"

INTERLEAVINGS: dict[str, Interleaving] = {
    "two schedulers": _interleaving("jobs start", tick),
    "a batch, and a submission of one of its jobs": _interleaving("jobs are submitted in a batch", submit("b")),
    "a batch, and the same": _interleaving("jobs are submitted in a batch", submit_batch("a", "b", "c")),
    "a batch, and another one that has two of its jobs in another order": _interleaving(
        "jobs are submitted in a batch", submit_batch("c", "d", "a"), tick
    ),
    "three launches in flight, and another scheduler after their lease": _interleaving(_IN_FLIGHT, tick_after(LEASE_S)),
    "three launches in flight, and the reconciler": _interleaving(_IN_FLIGHT, wait(200), reconcile, tick),
    "three launches in flight, and the stops of two of their jobs": _interleaving(
        _IN_FLIGHT, ask("DELETE", "/jobs/b"), ask("DELETE", "/jobs/c"), tick
    ),
    "three launches in flight, and a pause": _interleaving(_IN_FLIGHT, PAUSE_ALL, tick, RESUME_ALL),
    "two shards of the stream are published at once": Interleaving(
        situation=Scenario(
            prepare=run_steps(submit("a"), deliver_changes(), submit("b"), submit("c")), begin=deliver_changes(1, 2)
        ),
        rival=deliver_changes(2, 3),
        meanwhile=run_steps(),
    ),
    "two shards of the stream that are the first": Interleaving(
        situation=Scenario(prepare=run_steps(submit("a"), submit("b")), begin=deliver_changes(0, 1)),
        rival=deliver_changes(1, 2),
        meanwhile=run_steps(),
    ),
    "two shards of the stream that continue a chain": Interleaving(
        situation=Scenario(
            prepare=run_steps(begin_chain, submit("a"), submit("b"), submit("c")), begin=deliver_changes(0, 2)
        ),
        rival=deliver_changes(2, 3),
        meanwhile=run_steps(),
    ),
    "two shards of the stream that continue a chain after minutes": Interleaving(
        situation=Scenario(
            prepare=run_steps(begin_chain, wait(300), submit("a"), submit("b")), begin=deliver_changes(0, 1)
        ),
        rival=deliver_changes(1, 2),
        meanwhile=run_steps(),
    ),
    "two calls that forget an owner": _interleaving("an owner is forgotten", forget("forget:")),
    "an event that comes late, and the reconciler": _interleaving(
        "an event comes after SageMaker was asked", wait(400), reconcile
    ),
    "two runs that add to the sums of usage": Interleaving(
        situation=SITUATIONS[_ACCOUNTED], rival=reconcile, meanwhile=run_steps()
    ),
    "two runs that add the end of a job of which an attempt is in the sums of usage": Interleaving(
        situation=Scenario(
            prepare=run_steps(
                *(*STOPPING, wait(200), deliver_end, deliver_end, deliver_changes(), reconcile),
                *(ask("DELETE", "/jobs/low-1"), deliver_changes()),
            ),
            begin=reconcile,
        ),
        rival=reconcile,
        meanwhile=run_steps(),
    ),
    "a run that adds to the sums of usage, and a later one that has more": _interleaving(
        _ACCOUNTED, submit("c"), ask("DELETE", "/jobs/c"), deliver_changes(), reconcile
    ),
    "a run that adds to the sums of usage, and a scheduler that counts idle time": Interleaving(
        situation=_IDLE_AND_ENDED, meanwhile=run_steps(tick)
    ),
    "a run that adds a second pool to the sums of usage, and a scheduler that counts its idle time": Interleaving(
        situation=replace(
            _IDLE_AND_ENDED,
            prepare=run_steps(
                *(submit("g", (G5, 1)), tick, wait(900), deliver_events, deliver_changes(), reconcile),
                _IDLE_AND_ENDED.prepare,
            ),
        ),
        meanwhile=run_steps(tick),
    ),
    "two schedulers, and one finds instances idle that the other one finds no longer idle": _interleaving(
        "instances become idle", tick, wait(20), ask("DELETE", "/jobs/wide"), tick
    ),
    "two schedulers that count idle time": _interleaving("instances are idle for some minutes", tick),
    "two schedulers that find nothing idle": _interleaving("instances are no longer idle", tick),
    "two schedulers, and one stops the other's victims": _interleaving("two are preempted for one", tick),
    "a start of a team, and of its other job": Interleaving(
        situation=Scenario(
            prepare=run_steps(configure(POOLS, TEAMS), wait(300), submit("a1", team="a"), submit("a2", team="a")),
            begin=tick,
        ),
        meanwhile=run_steps(ask("PATCH", "/jobs/a2", {"priority": 9}), tick),
    ),
    "a start of a team, and its removal": Interleaving(
        situation=Scenario(prepare=run_steps(configure(POOLS, TEAMS), wait(300), submit("a1", team="a")), begin=tick),
        rival=configure(POOLS),
        meanwhile=run_steps(),
    ),
    "a team that is added twice, and its start": Interleaving(
        situation=Scenario(prepare=run_steps(configure(POOLS)), begin=configure(POOLS, {"c": {"limit": {P5: 1}}})),
        meanwhile=run_steps(tick, submit("j", team="c"), tick),
    ),
    "a restored team, and the release of its job": Interleaving(
        situation=Scenario(prepare=run_steps(*_FORGOTTEN_TEAM), begin=configure(POOLS, {"b": {"limit": {P5: 2}}})),
        meanwhile=run_steps(ask("POST", "/jobs/j/release"), configure(POOLS, {"b": {"limit": {P5: 2}}}), tick),
    ),
    "a submission after a job, and the stop of that": _interleaving(
        "a job is submitted after another", ask("DELETE", "/jobs/a"), tick
    ),
    "a submission after a job, and another": _interleaving(
        "a job is submitted after another", submit_after("k", "a:any")
    ),
    "a submission after a job, and the same": _interleaving("a job is submitted after another", submit_after("j", "a")),
    "a stop of a job, and a submission after it": _interleaving(
        "a waiting job with dependants is stopped", submit_after("k", "a:any"), tick
    ),
    "an end of a job, and a submission after it": _interleaving(
        "a job with dependants has completed", submit_after("l", "a"), tick
    ),
    "two ticks that notify dependants": _interleaving(_NOTIFIED, tick),
    "a tick that notifies dependants, and their stop": _interleaving(
        _NOTIFIED, ask("DELETE", "/jobs/j"), ask("DELETE", "/jobs/k")
    ),
    "a tick that notifies dependants, and their hold": _interleaving(
        _NOTIFIED, ask("POST", "/jobs/j/hold"), ask("POST", "/jobs/k/hold")
    ),
    "a dependant that is notified, and its team that is deleted": Interleaving(
        situation=_FORGOTTEN_DEPENDANT, meanwhile=run_steps(configure({P5: 1, G5: 2}))
    ),
    "a dependant that is notified, and its team that is restored": Interleaving(
        situation=_FORGOTTEN_DEPENDANT, meanwhile=run_steps(configure(POOLS, {"b": {}}))
    ),
    "a dependant that is notified, and its team that is deleted and restored": Interleaving(
        situation=_FORGOTTEN_DEPENDANT,
        meanwhile=run_steps(configure({P5: 1, G5: 2}), configure({P5: 1, G5: 2}, {"b": {}})),
    ),
    "a dependant that is notified, and its deleted team that is restored": Interleaving(
        situation=_after(_FORGOTTEN_DEPENDANT, configure({P5: 1, G5: 2})),
        meanwhile=run_steps(configure({P5: 1, G5: 2}, {"b": {}})),
    ),
    "a job whose time comes, and its team that is deleted": Interleaving(
        situation=_FORGOTTEN_TIMER, meanwhile=run_steps(configure({P5: 1, G5: 2}))
    ),
    "a job whose time comes, and its team that is restored": Interleaving(
        situation=_FORGOTTEN_TIMER, meanwhile=run_steps(configure(POOLS, {"b": {}}))
    ),
    "a job whose time comes, and its team that is deleted and restored": Interleaving(
        situation=_FORGOTTEN_TIMER,
        meanwhile=run_steps(configure({P5: 1, G5: 2}), configure({P5: 1, G5: 2}, {"b": {}})),
    ),
    "a job whose time comes, and its deleted team that is restored": Interleaving(
        situation=_after(_FORGOTTEN_TIMER, configure({P5: 1, G5: 2})),
        meanwhile=run_steps(configure({P5: 1, G5: 2}, {"b": {}})),
    ),
    "two equal submissions": _interleaving("a job is submitted that computes for equal ones", submit_reusing("k")),
    "two equal submissions after one that was stopped": _interleaving(
        "a job is submitted after an equal one was stopped", submit_reusing("k")
    ),
    "an equal submission, and the stop of the other": _interleaving(
        "a job is submitted while an equal one waits", ask("DELETE", "/jobs/a"), tick
    ),
    "an equal submission, and another": _interleaving(
        "a job is submitted while an equal one waits", submit_reusing("k")
    ),
    "an equal submission that notes the outputs, and a tick": _interleaving(
        "a job is submitted before the outputs of an equal one are noted", tick
    ),
    "an equal submission that is answered, and the same": _interleaving(
        "a job is submitted after an equal one has completed", submit_reusing("j")
    ),
    "two ticks that note the outputs": _interleaving(_NOTED, tick),
    "an equal submission that is answered, and another request of its name": _interleaving(
        "a job is submitted after an equal one has completed", submit("j"), tick
    ),
    "a tick that notes the outputs, and a submission that computes again": _interleaving(
        _NOTED, touch_input, submit_reusing("m")
    ),
    "a tick that answers jobs, and their stop": _interleaving(
        _NOTED, ask("DELETE", "/jobs/j"), ask("DELETE", "/jobs/l")
    ),
    "two ticks that have another job compute": _interleaving(_COMPUTES_AGAIN, tick),
    "a tick that has another job compute, and their stop": _interleaving(
        _COMPUTES_AGAIN, ask("DELETE", "/jobs/j"), ask("DELETE", "/jobs/k")
    ),
    "a tick that has another job compute, and the stop of one that waits": _interleaving(
        _COMPUTES_AGAIN, ask("DELETE", "/jobs/k")
    ),
    "a tick that has another job compute, and an equal submission": _interleaving(
        _COMPUTES_AGAIN, submit_reusing("m"), tick
    ),
    **{
        f"a tick that has an equal job go before {other}, and {what}": _interleaving(situation, *rival, tick)
        for other, situation in (
            ("a held one", "an equal job goes before one that is held"),
            ("a preempted one", "an equal job goes before one that was preempted and is held"),
        )
        for what, rival in (
            ("its other priority", [ask("PATCH", "/jobs/j", {"priority": 5})]),
            ("its stop", [ask("DELETE", "/jobs/j")]),
            ("the release of the other", [ask("POST", "/jobs/a/release")]),
            ("the other's priority", [ask("PATCH", "/jobs/a", {"priority": 5})]),
            ("the stop of the other", [ask("DELETE", "/jobs/a")]),
        )
    },
    "a tick that has a job of a team that has left go before, and its return": _interleaving(
        "an equal job of a team that has left goes before one that is held", configure(POOLS, TEAMS), tick
    ),
    **{
        f"a tick that gives a job up, and {what}": _interleaving("a job that a policy denies is given up", rival, tick)
        for what, rival in (
            ("another priority", ask("PATCH", "/jobs/j", {"priority": 5})),
            ("its hold", ask("POST", "/jobs/j/hold")),
            ("its stop", ask("DELETE", "/jobs/j")),
        )
    },
    "a tick that forgets a job, and an equal submission": _interleaving(
        "a job for which equal ones wait has completed with an input that was written again", submit_reusing("m")
    ),
    **{
        f"{what}, and {then}": Interleaving(situation=situation, meanwhile=run_steps(*meanwhile))
        for what, begun in (
            ("members that are made", _FORGOTTEN_ARRAY),
            ("a member that enters the queue", _FORGOTTEN_MEMBER),
        )
        for then, situation, meanwhile in (
            ("a team that is deleted", begun, (_DELETED,)),
            ("a team that is restored", begun, (configure(POOLS, {"b": {}}),)),
            ("a team that is deleted and restored", begun, (_DELETED, _RESTORED)),
            ("a deleted team that is restored", _after(begun, _DELETED), (_RESTORED,)),
        )
    },
    "two submissions of one array": _interleaving("an array is submitted", submit_sweep("s", 3), tick),
    "two ticks that make members": _interleaving("members of an array are made", tick),
    "a tick that makes members, and a command about one of them": _interleaving(
        "members of an array are made", ask("PATCH", "/jobs/s_1", {"priority": 5})
    ),
    "a tick that makes members, and the stop of their array": _interleaving(
        "members of an array are made", ask("DELETE", "/jobs/s"), tick
    ),
    "two ticks that count members": _interleaving("members of an array have ended", tick),
    **{
        f"two ticks for {what}": _interleaving(situation, tick)
        for what, situation in (
            ("members that are compared", "members of an array are compared, and compute"),
            ("members that are answered", "members of an array are answered by equal ones"),
            ("members that wait for equal ones", "members of an array wait for equal ones"),
            ("members that equal ones have waited for", "members for which equal ones wait have completed"),
            ("a member that waits no longer", "a member for which an equal one waits was stopped"),
            ("a set aside member that is answered", "a member that is set aside is answered by an equal one"),
        )
    },
    "a tick that compares members, and the stop of equal ones": _interleaving(
        "members of an array wait for equal ones", ask("DELETE", "/jobs/a_0"), ask("DELETE", "/jobs/a_1")
    ),
    "a tick that compares a set aside member, and its stop": _interleaving(
        "a member that is set aside waits for an equal one", ask("DELETE", "/jobs/s_1"), tick
    ),
    "a tick that compares members, and the stop of their array": _interleaving(
        "members of an array wait for equal ones", ask("DELETE", "/jobs/s"), tick
    ),
    "a tick that compares members, and an equal array": _interleaving(
        "members of an array are compared, and compute", submit_sweep("m", 3, reuse=True, reuseUnpinned=True), tick
    ),
    "two ticks that end an array": _interleaving("the last member of an array has ended", tick),
    "a stop of a member before its turn, and another": _interleaving(
        "a member of an array is stopped before its turn", ask("DELETE", "/jobs/s_3")
    ),
    "a stop of a member before its turn, and a tick": Interleaving(
        situation=_after(SITUATIONS["a member of an array is stopped before its turn"], wait(900), deliver_events),
        meanwhile=run_steps(tick),
    ),
    "two ticks that take a member in": _interleaving("a member of an array enters the queue before its turn", tick),
    "a tick that takes a member in, and its hold": _interleaving(
        "a member of an array enters the queue before its turn", ask("POST", "/jobs/s_2/hold")
    ),
    "a tick that takes a member in, and its stop": _interleaving(
        "a member of an array enters the queue before its turn", ask("DELETE", "/jobs/s_2"), tick
    ),
    "a hold of a member, and that of another": _interleaving(
        "a waiting member of an array is held", ask("POST", "/jobs/s_1/hold")
    ),
    "a hold of a member, and its stop": _interleaving(
        "a waiting member of an array is held", ask("DELETE", "/jobs/s_2"), tick
    ),
    "a hold of an array, and its stop": _interleaving("an array is held", ask("DELETE", "/jobs/s"), tick),
    "two ticks for a held array": _interleaving("the members of a held array leave the queue", tick),
    "a tick that lets an array rest, and its release": _interleaving(
        "nothing is left to do for a held array", ask("POST", "/jobs/s/release")
    ),
    "a tick that lets an array rest, and its stop": _interleaving(
        "nothing is left to do for a held array", ask("DELETE", "/jobs/s"), tick
    ),
    "a tick for a held array, and a hold of its member": _interleaving(
        "the members of a held array leave the queue", ask("POST", "/jobs/s_2/hold")
    ),
    "a stop of an array, and a tick": Interleaving(
        situation=Scenario(
            prepare=run_steps(submit_sweep("s", 4, atOnce=2), tick, wait(900), deliver_events),
            begin=ask("DELETE", "/jobs/s"),
        ),
        meanwhile=run_steps(tick),
    ),
    "two ticks that stop members": _interleaving("the members of an array are stopped", tick),
    "a tick that passes a priority on, and another priority": _interleaving(
        "the members of an array get its priority", ask("PATCH", "/jobs/s", {"priority": 7})
    ),
    "a tick that passes a priority on, and the stop of the array": _interleaving(
        "the members of an array get its priority", ask("DELETE", "/jobs/s")
    ),
    "two submissions that want one location for themselves": _interleaving(
        "a job is submitted that has its checkpoints for itself", submit("k", checkpoints="run")
    ),
    "two submissions that want the location of a stopped job for themselves": _interleaving(
        "a job is submitted to where a stopped one had its checkpoints", submit("k", checkpoints="run")
    ),
    "two submissions of one name": _interleaving("a job is submitted", submit("j", (P5, 2)), tick),
    "a start and a stop": _interleaving("jobs start", ask("DELETE", "/jobs/b"), tick),
    "a start and another priority": _interleaving("jobs start", ask("PATCH", "/jobs/b", {"priority": 7}), tick),
    "another priority and a start": _interleaving("a waiting job gets another priority", tick),
    "a stop and a start": _interleaving("a waiting job is stopped", tick),
    "a preemption and its preemptor's stop": _interleaving("two are preempted for one", ask("DELETE", "/jobs/high")),
    "a preemption and its preemptor's hold": _interleaving("two are preempted for one", ask("POST", "/jobs/high/hold")),
    "a preemption and its preemptor's lower priority": _interleaving(
        "two are preempted for one", ask("PATCH", "/jobs/high", {"priority": 0})
    ),
    "a start and a pause": _interleaving("jobs start", PAUSE),
    "a start and a pause of everything": _interleaving("jobs start", PAUSE_ALL),
    "a pause and a start": _interleaving("a pool is paused", tick),
    "a counted start and a pause": _interleaving("jobs start while pauses are counted", PAUSE),
    "a counted start and a pause of everything": _interleaving("jobs start while pauses are counted", PAUSE_ALL),
    "a counted pause and a start": _interleaving("a pool is paused while pauses are counted", tick),
    "a counted pause and the removal of its pool": _interleaving(
        "a pool is paused while pauses are counted", configure({G5: 2})
    ),
    "a counted pause of everything and a start": _interleaving("all pools are paused while pauses are counted", tick),
    "a counted pause of everything, and a new pool with a start": _interleaving(
        "all pools are paused while pauses are counted",
        *(configure({**POOLS, P4: 2}), reconcile, submit("k", (P4, 1)), tick),
    ),
    "a preemption of a launch that is tried again": Interleaving(
        situation=Scenario(
            prepare=run_steps(
                *(submit("low", (P5, 2), (G5, 1)), tick_with_refused_launch, back_off(G5, 40)),
                *(submit("high", (P5, 2), priority=9), wait(20)),
            ),
            begin=tick,
        ),
        rival=tick_after(25),
        meanwhile=run_steps(),
    ),
    "a preemption and a pause": _interleaving("two are preempted for one", PAUSE, tick),
    "a preemption and a pause of everything": _interleaving("two are preempted for one", PAUSE_ALL, tick),
    "a resume, and another with a pause after it": _interleaving("a pool is resumed", RESUME, wait(10), PAUSE),
    "a resume of everything, and another with a pause after it": Interleaving(
        situation=Scenario(prepare=run_steps(PAUSE_ALL, wait(100)), begin=RESUME_ALL),
        meanwhile=run_steps(RESUME_ALL, wait(10), PAUSE_ALL),
    ),
    "the end of a restore, and a pause": _interleaving(
        "the first scan after a restore completes", wait(10), PAUSE_ALL, wait(1)
    ),
    "the end of a restore, and another with a pause after it": _interleaving(
        "the first scan after a restore completes", patrol, wait(10), PAUSE_ALL
    ),
    "the end of a restore of a paused queue, and its resume with a pause after it": _interleaving(
        "the first scan after a restore completes of a paused queue", patrol, RESUME_ALL, wait(10), PAUSE_ALL
    ),
    "a drain and its end": _interleaving("a pool is drained", RESUME),
    "a drain and another tick": _interleaving("a pool is drained", tick),
    "a drain and an end": _interleaving("a pool is drained", complete_training, deliver_events),
    "a launch that is settled, and a pause": _interleaving("a launch without an answer is settled", PAUSE),
    "a launch in a paused pool that is settled twice": _interleaving(
        "a launch that failed is found in a paused pool", tick
    ),
    "a launch in a paused pool, and a resume": _interleaving(
        "a launch that failed is found in a paused pool", RESUME, tick
    ),
    "a resize of one pool, and a configuration": _interleaving("a pool is resized", configure({P5: 3, G5: 1})),
    "a rejected launch and its stop": Interleaving(
        situation=Scenario(prepare=run_steps(submit("j", run_s=ENDLESS_S)), begin=tick_with_refused_launch),
        meanwhile=run_steps(_STOP),
    ),
    "a stop, and the launch that was rejected before": Interleaving(
        situation=Scenario(
            prepare=run_steps(submit("j", run_s=ENDLESS_S), tick_with_refused_launch, wait(2 * FIRST_BACK_OFF_S)),
            begin=_STOP,
        ),
        meanwhile=run_steps(tick),
    ),
    "a launch that a quota refuses, and its stop": _interleaving(
        "a start is refused while its quota counts a job that has ended", ask("DELETE", "/jobs/second")
    ),
    "two starts in a pool that becomes smaller": _interleaving(
        "jobs start in a pool that becomes smaller", ask("PATCH", "/jobs/a2", {"priority": 9}), tick
    ),
    "a start in a pool, and another schedule": _interleaving(
        "jobs start in a pool that becomes smaller", scheduled("stop"), tick
    ),
    "a start that is carried out too late to end before a pool becomes smaller": _interleaving(
        "jobs start that end just before a pool becomes smaller", wait(10)
    ),
    "two first repairs of the sums": _interleaving("a figure of the sums is too much", repair("w.9", 0)),
    "two repairs of the sums": _interleaving("a second figure of the sums is too much", repair("w.9", 1)),
    "two runs that write a digest": _interleaving("a digest is due", reconcile),
    "two descriptions of a training plan": _interleaving("a training plan is described", reconcile),
    "two descriptions of a training plan that changes": _interleaving("a training plan changes", reconcile, tick),
    "two runs that forget a training plan": _interleaving("a training plan is no longer followed", reconcile),
    "two schedulers, and a pool that becomes smaller": _interleaving("a pool becomes smaller by its schedule", tick),
    "a pool that becomes smaller, and another schedule": _interleaving(
        "a pool becomes smaller by its schedule", configure(POOLS), tick
    ),
    "a stop for a size, and a tick after which no more is used": _interleaving(
        "a pool becomes smaller and stops a job", wait(10), tick, check_use(P5, 1)
    ),
    "a stop for a size, and another schedule": _interleaving(
        "a pool becomes smaller and stops a job", configure(POOLS), tick
    ),
    "a stop for a size, and the end of the job": _interleaving(
        "a pool becomes smaller and stops a job", complete_training, deliver_events
    ),
    "a pool that loses its schedule, and gets one": _interleaving("a pool loses its schedule", scheduled(), tick),
    "a stop for missing instances, and instances": _interleaving(
        "a job that got no instances is stopped", provide_capacity, wait(120), deliver_events
    ),
    "a stop for missing instances, and one on request": _interleaving(
        "a job that got no instances is stopped", _STOP, tick
    ),
    "a stop for missing instances, and a preemption": _interleaving(
        "a job that got no instances is stopped", submit("high", (P5, 2), priority=9), tick
    ),
    "an end without instances, and another priority": _interleaving(
        "a job that was stopped as it got no instances has ended", ask("PATCH", "/jobs/j", {"priority": 5}), tick
    ),
    "two schedulers and one warm pool": Interleaving(
        situation=Scenario(prepare=run_steps(*KEPT, submit_kept("j", 2), submit_kept("j2", 2)), begin=tick),
        meanwhile=run_steps(ask("PATCH", "/jobs/j2", {"priority": 9}), tick),
    ),
    "a release of a warm pool, and a start in it": _interleaving(
        "a warm pool is released for a job", submit_kept("k2", 2, priority=9), tick
    ),
    "a start in a warm pool, and its release": _interleaving(
        "a job starts in a warm pool", submit("high", priority=9), tick
    ),
    "a release of the warm pool of a job that is tried again, and its stop": Interleaving(
        situation=Scenario(
            prepare=run_steps(
                configure(POOLS, warmPools={}, retries={"code": {"maxPerJob": 3, "backoffSeconds": 600}}),
                *(raise_warm_pool_quota(), submit_kept("k", 2, outcome="AlgorithmError: x"), tick),
                *(wait(900), deliver_events, submit("high", priority=9)),
            ),
            begin=tick,
        ),
        meanwhile=run_steps(ask("DELETE", "/jobs/k")),
    ),
    "two ends of a warm pool": _interleaving("a released warm pool is gone", reconcile),
    "an end of a warm pool, and an end of a victim": Interleaving(
        situation=_TWO_FOR_ONE, meanwhile=run_steps(deliver_events)
    ),
    "an end of a warm pool, and a hold of its preemptor": Interleaving(
        situation=_after(_TWO_FOR_ONE, deliver_events),
        meanwhile=run_steps(ask("POST", "/jobs/wide/hold")),
    ),
    # The last look begins when the training job has got the other warm pool, the first one before.
    "two looks at a warm pool that is used, and an end of the one that its job was started in": Interleaving(
        situation=Scenario(
            prepare=run_steps(*TWO_KEPT, submit_kept("j", run_s=5000), keep_alive("k2", 0), wait(50)), begin=tick
        ),
        rival=reconcile,
        meanwhile=run_steps(wait(30), leave_running(reconcile, 3)),
    ),
    "two looks at warm pools that two jobs have swapped": _interleaving("two jobs use each other's warm pool", tick),
    "a look at warm pools that were swapped, and an end of a job in one": _interleaving(
        "two jobs use each other's warm pool", complete_training, deliver_events
    ),
    "a look at a warm pool, and a start in it": Interleaving(
        situation=Scenario(
            prepare=run_steps(
                *(configure(POOLS, warmPools={}), raise_warm_pool_quota(100), submit_kept("k", 2, run_s=3000), tick),
                *(wait(600), deliver_events, complete_training, wait(30), deliver_events, submit_kept("j", 2)),
            ),
            begin=reconcile,
        ),
        meanwhile=run_steps(tick),
    ),
    "a stop and an end": _interleaving("a running job is stopped", complete_training, deliver_events),
    "another priority and an end": _interleaving(
        "a running job gets another priority", complete_training, deliver_events
    ),
    "an attempt that SageMaker does not show, and its stop": Interleaving(
        situation=Scenario(
            prepare=run_steps(*_ENDLESS, deliver_events, wait(200), hide_training_jobs), begin=reconcile
        ),
        meanwhile=run_steps(_STOP),
    ),
    "a drain of a paused pool and its resume": _interleaving("a paused pool is drained", RESUME, PAUSE),
    "a launch whose name is taken and its stop": _interleaving("a name is taken", ask("DELETE", "/jobs/j"), tick),
    "another priority while a launch is tried again, and a pause": Interleaving(
        situation=Scenario(
            prepare=run_steps(submit("j"), tick_with_refused_launch, wait(2 * FIRST_BACK_OFF_S)),
            begin=ask("PATCH", "/jobs/j", {"priority": 5}),
        ),
        rival=tick,
        meanwhile=run_steps(PAUSE, tick),
    ),
    "a launch whose name is taken and another priority": _interleaving(
        "a name is taken", ask("PATCH", "/jobs/j", {"priority": 5}), tick
    ),
    "a stop and the settlement of its launch": Interleaving(
        situation=Scenario(prepare=run_steps(submit("j", run_s=ENDLESS_S), crash_after_launch, wait(90)), begin=_STOP),
        meanwhile=run_steps(tick),
    ),
    "an event of a job and its stop": Interleaving(
        situation=Scenario(prepare=run_steps(*_ENDLESS), begin=reconcile), meanwhile=run_steps(_STOP)
    ),
    "a description of a job and its stop": Interleaving(
        situation=Scenario(prepare=run_steps(*_ENDLESS, deliver_events, wait(200)), begin=reconcile),
        meanwhile=run_steps(_STOP),
    ),
    "an idle job that is notified and stopped": Interleaving(
        situation=Scenario(
            prepare=run_steps(
                *(
                    configure(POOLS, watches=NOTIFIES),
                    submit_idle("j", run_s=ENDLESS_S),
                    tick,
                    wait(400),
                    deliver_events,
                ),
                *(watch, wait(400), deliver_events),
            ),
            begin=watch,
        ),
        meanwhile=run_steps(_STOP),
    ),
    "two changes of the configuration after one that crashed": Interleaving(
        situation=SITUATIONS["the configuration is changed after a change that crashed"],
        meanwhile=run_steps(configure({P5: 3, G5: 1})),
    ),
    "a preemption and an end": _interleaving("two are preempted for one", complete_training, deliver_events),
    "a second end and the hold of its preemptor": Interleaving(
        situation=Scenario(prepare=run_steps(*STOPPING, wait(200), deliver_end), begin=deliver_end),
        meanwhile=run_steps(ask("POST", "/jobs/high/hold")),
    ),
    "a start on a reservation, and a short pause": _interleaving(
        "a job starts on its reservation", PAUSE, tick, RESUME
    ),
    "a release of a reservation, and another": _interleaving("the reservation of a job that left is released", tick),
    "a release, and its restored team": Interleaving(
        situation=Scenario(
            prepare=run_steps(*_FORGOTTEN_TEAM, configure({P5: 1, G5: 2})), begin=ask("POST", "/jobs/j/release")
        ),
        meanwhile=run_steps(configure(POOLS, {"b": {}})),
    ),
    "a pause and a drain": _interleaving("a pool is paused", DRAIN),
    "a pause of everything and another": Interleaving(
        situation=Scenario(prepare=run_steps(wait(100)), begin=PAUSE_ALL),
        meanwhile=run_steps(ask("POST", "/pause", {"reason": "and so"}), wait(1)),
    ),
    "a rogue job that is stopped and ends": _interleaving("a rogue job is stopped", complete_training, deliver_events),
    "a rogue job that is stopped twice": _interleaving("a rogue job is stopped", patrol),
    "a start and a hold": _interleaving("jobs start", ask("POST", "/jobs/b/hold")),
    "a start and a change": _interleaving("jobs start", ask("POST", "/jobs/a/change", {"instances": 2})),
    "a comment and a start": _interleaving("a waiting job gets a comment", tick),
    "a change and a start": _interleaving("a waiting job is changed", tick),
    "a change to ask for more and a start": _interleaving("a waiting job is changed to ask for more", tick),
    "a start within a team's limit and a change": _interleaving(
        "jobs of a limited team start", ask("POST", "/jobs/j/change", {"instances": 2})
    ),
    "a start beside a booking and another": _interleaving(
        "a job starts in a pool that is booked", submit("y", team="b", priority=9), tick
    ),
    "a start beside a booking after one, and another": _interleaving(
        "a job starts in a pool that is booked, after another", submit("y", team="b", priority=9), tick
    ),
    "a preemption and a change of its preemptor": _interleaving("two are preempted for one", CHANGE_HIGH, tick),
    "an end and a change of its preemptor": _interleaving("a preempted attempt has ended", CHANGE_HIGH, tick),
    "a change and the end that its job waits for": _interleaving(
        "a job with a reservation is changed", deliver_end, tick
    ),
    "a hold and a start": _interleaving("a waiting job is held", tick),
    "a hold and the end that its job waits for": _interleaving("a job with a reservation is held", deliver_end, tick),
    "a release and a start": _interleaving("a held job is released", tick, ask("DELETE", "/jobs/j")),
    "a release and another priority": _interleaving(
        "a held job is released", ask("PATCH", "/jobs/j", {"priority": 5}), tick
    ),
    "an end and the hold of its preemptor": _interleaving(
        "a preempted attempt has ended", ask("POST", "/jobs/high/hold"), tick
    ),
    "a release, and its team that is restored before it is deleted": Interleaving(
        situation=Scenario(prepare=run_steps(*_FORGOTTEN_TEAM), begin=ask("POST", "/jobs/j/release")),
        meanwhile=run_steps(configure(POOLS, {"b": {}})),
    ),
    "a release while its team is deleted": Interleaving(
        situation=Scenario(
            prepare=run_steps(*_FORGOTTEN_TEAM),
            begin=ask("POST", "/jobs/j/release"),
        ),
        meanwhile=run_steps(configure({P5: 1, G5: 2})),
    ),
    "a team that is deleted while its job is released": Interleaving(
        situation=Scenario(
            prepare=run_steps(*_FORGOTTEN_TEAM),
            begin=configure({P5: 1, G5: 2}),
        ),
        meanwhile=run_steps(ask("POST", "/jobs/j/release")),
    ),
    "the ends of two attempts for one job": _interleaving("a preempted attempt has ended", deliver_end),
    "an end and the stop of its preemptor": _interleaving(
        "a preempted attempt has ended", ask("DELETE", "/jobs/high"), tick
    ),
    "an end and a pool that shrinks": _interleaving(
        "a preempted attempt has ended", deliver_end, configure({P5: 1, G5: 2}), tick
    ),
    "two runs that add an end to past use": Interleaving(
        situation=SITUATIONS["an end is added to past use"], rival=reconcile, meanwhile=run_steps()
    ),
    "a run that adds an end to past use, and the end of another job": _interleaving(
        *("an end is added to past use", submit("k", team="b"), tick, wait(900), deliver_end, reconcile)
    ),
    "a run that adds an end to past use, which counts no more": _interleaving(
        "an end is added to past use", configure(POOLS, TEAMS), reconcile
    ),
    "two runs that add an end to a budget": Interleaving(
        situation=SITUATIONS["an end is added to a budget that another is in"], rival=reconcile, meanwhile=run_steps()
    ),
    "an end, and past use counts no more": _interleaving(
        "a job has completed where past use counts", configure(POOLS, TEAMS), reconcile
    ),
    "an end that is delivered twice": _interleaving("a job has completed", reconcile, tick),
    "a launch and its stop": Interleaving(situation=_STARTS_FOR_GOOD, meanwhile=run_steps(_STOP, tick, tick)),
    "a launch and the stop that it meets": Interleaving(situation=_STARTS_FOR_GOOD, rival=_STOP, meanwhile=run_steps()),
    **{
        f"a launch and its stop, where {title}": Interleaving(
            situation=with_temper(_STARTS_FOR_GOOD, temper), meanwhile=run_steps(_STOP, tick, tick)
        )
        for title, temper in ADVERSE.items()
    },
    "a launch that is settled twice": _interleaving("a launch without an answer is settled", tick),
    "a resize and another": _interleaving("pools and teams change", configure({P5: 3, G5: 1}, {"a": {}, "c": {}})),
    "a configuration, and a resize since the version it was made from": _interleaving(
        "a configuration is set that was made from the newest version", RESIZE, tick
    ),
    "a configuration, and another that was made from the same version": _interleaving(
        "a configuration is set that was made from the newest version", configure({P5: 3, G5: 2}), tick
    ),
    "a resize, and a configuration": _interleaving("a pool is resized", configure({P5: 3, G5: 2}), tick),
    "a configuration that two ticks apply": _interleaving(
        "a tick applies a configuration", tick, submit("x", (P4, 1), team="a"), tick
    ),
    "a configuration that a tick applies, and a newer one": _interleaving(
        "a tick applies a configuration", configure({P5: 3, G5: 2}), tick
    ),
    "a resize and a start": _interleaving("pools and teams change", tick),
    "a start and a resize": _interleaving("jobs start", configure({P5: 1, G5: 2})),
    "a pool that is added twice": _interleaving(
        "pools and teams change",
        configure({P5: 2, G5: 2, P4: 2}, {"a": {}, "c": {}}),
        submit("x", (P4, 1)),
        tick,
    ),
    "a pool that is restored while it is removed": Interleaving(
        situation=Scenario(
            prepare=run_steps(configure({P5: 2, G5: 1}), submit("j", (G5, 1)), tick), begin=configure({P5: 2})
        ),
        meanwhile=run_steps(configure({P5: 2, G5: 1})),
    ),
    "a pool that is removed while it is restored and used": Interleaving(
        situation=Scenario(prepare=run_steps(configure({P5: 2, G5: 1})), begin=configure({P5: 2})),
        meanwhile=run_steps(configure({P5: 2, G5: 1}), submit("j", (G5, 1)), tick),
    ),
    "a removed pool that is no longer in use, and a second tick": _interleaving(
        "a removed pool is no longer in use", tick
    ),
    "a removed pool that is no longer in use, and is restored": _interleaving(
        "a removed pool is no longer in use", configure({P5: 2, G5: 1}), submit("k", (G5, 1)), tick
    ),
    "a removed pool that is no longer in use, and a configuration that has it with size 0": _interleaving(
        "a removed pool is no longer in use", configure({P5: 2, G5: 0})
    ),
    "the first configuration, and a newer one": Interleaving(
        situation=Scenario(prepare=run_steps(), begin=tick), meanwhile=run_steps(configure({P5: 3, G5: 2}))
    ),
    "two functions that create the first mark": Interleaving(
        situation=Scenario(prepare=run_steps(submit("j"), submit("k")), begin=tick), meanwhile=run_steps(tick)
    ),
    "an adoption and another": _interleaving(_ADOPTED, patrol),
    "an adoption and a tick": _interleaving(_ADOPTED, tick),
    "an adoption and its job's stop": _interleaving(_ADOPTED, ask("DELETE", "/jobs/high"), tick),
    "an adoption and another priority": _interleaving(_ADOPTED, ask("PATCH", "/jobs/high", {"priority": 7})),
    "an adoption and an end": _interleaving(_ADOPTED, complete_training, deliver_events),
    "an adoption and a start of its team": Interleaving(
        situation=Scenario(
            prepare=run_steps(
                *(configure(POOLS, TEAMS), wait(300), submit("k", (G5, 1), team="b"), tick),
                *(submit("j", team="a"), roll_back(tick), wait(5)),
            ),
            begin=patrol,
        ),
        meanwhile=run_steps(submit("x", team="a", priority=9), tick),
    ),
    "an adoption and the end of its reservation": _interleaving(
        _ADOPTED, ask("POST", "/jobs/high/hold"), tick, ask("POST", "/jobs/high/release"), submit("x"), tick
    ),
    "a start of an attempt that is charged, and the patrol": _interleaving(_CHARGED, patrol),
    "a start of an attempt that is charged, and its job's stop": _interleaving(_CHARGED, ask("DELETE", "/jobs/j")),
    "a start of an attempt that is charged, and its end": _interleaving(_CHARGED, complete_training, deliver_events),
    "a rogue job that is found twice": _interleaving("a rogue job is found", patrol),
    "a rogue job that is found while its name is launched": _interleaving("a rogue job is found", submit("j"), tick),
    "a rogue job that is found while its pool goes": _interleaving("a rogue job is found", configure({G5: 2})),
    "an end of a rogue job that is delivered twice": _interleaving(
        "a rogue job has ended", patrol, submit("j", (P5, 2)), tick
    ),
    "a scan and a start": _interleaving("a job waits for a launch during a scan", tick, wait(5)),
    "a scan and a start that ends": _interleaving(
        "a job waits for a launch during a scan", tick, wait(900), deliver_end
    ),
    "a late alarm message, and the watch function": _interleaving(
        "a late alarm message reports a job that is busy again", watch
    ),
    "a job that leaves spot, and its start": _interleaving(
        "a job that leaves spot has ended", tick, wait(400), deliver_events, tick
    ),
    "a member of an array that is stopped early, and ends": _interleaving(
        "a member of an array is worse than the other", complete_training, deliver_events, tick
    ),
    "a member of an array that is stopped early, and by its owner": _interleaving(
        "a member of an array is worse than the other", ask("DELETE", "/jobs/s_1"), tick
    ),
    "a member of an array that is stopped early, and the stop of the array": _interleaving(
        "a member of an array is worse than the other", ask("DELETE", "/jobs/s"), tick
    ),
    "a member of an array that is stopped early, and preempted": _interleaving(
        "a member of an array is worse than the other", submit("high", (P5, 2), priority=9), tick
    ),
    "a member of an array that is stopped early twice": _interleaving(
        "a member of an array is worse than the other", watch, tick
    ),
    "an idle job that ends": _interleaving("an idle job is found", complete_training, deliver_events, tick),
    "an idle job that its owner stops": _interleaving("an idle job is found", ask("DELETE", "/jobs/j"), tick),
    "an idle job that is preempted": _interleaving("an idle job is found", submit("high", (P5, 2), priority=9), tick),
    "an idle job that is found twice": _interleaving("an alarm message reports an idle job", watch, tick),
    "an alarm that is made while its job ends": _interleaving(
        "a job that trains gets its alarm", complete_training, deliver_events, watch
    ),
    "a job that leaves spot is stopped": _interleaving(
        "spot interrupts a job more often than allowed", ask("DELETE", "/jobs/j"), tick
    ),
    "a job that leaves spot is preempted": _interleaving(
        "spot interrupts a job more often than allowed", submit("high", (P5, 2), priority=9), tick
    ),
    "a team that is restored while it is deleted": Interleaving(
        situation=Scenario(
            prepare=run_steps(configure(POOLS, {"b": {}}), configure(POOLS), wait(100_000)),
            begin=configure(POOLS, {"b": {}}),
        ),
        rival=configure({P5: 1, G5: 2}),
        meanwhile=run_steps(submit("j", team="b")),
    ),
}
"""The interleavings, by title."""
