"""Situations in which something is about to happen, each with the invocation that causes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from headway.accounting.idle import COUNTED_EACH_S
from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.inprocess.lambda_functions import TIMEOUT_S
from headway_sandbox.sagemaker.request_builder import G5, P5
from headway_service.config.schedule import Day
from headway_service.events.publisher import MAX_TRIES
from headway_service.invocation import LEASE_MARGIN_MS
from headway_service.sagemaker_api.launch_request import MIN_PENDING_TIME_S
from headway_service.store.queue_tail import MAX_TAIL
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.faults.tempers import Temper
from headway_verification.soak.invariants.pauses import LONGEST_INVOCATION_S
from headway_verification.soak.training_plan import INSTANCES, NAME, PLAN_POOL
from headway_verification.soak.trials.steps import (
    ENDLESS_S,
    P4,
    POOLS,
    Begin,
    Step,
    answer_in_turn,
    answer_together,
    ask,
    begin_chain,
    bypass_queue,
    bypass_queue_endlessly,
    complete_training,
    configure,
    configure_from,
    count_pauses,
    count_too_much,
    crash_after_launch,
    crash_before_launch,
    crash_in_change,
    delay_quota_release,
    deliver_alarm,
    deliver_changes,
    deliver_end,
    deliver_events,
    deliver_last_event,
    deny_launches,
    drop_events,
    exhaust_capacity,
    forget,
    interrupt_spot,
    patrol,
    publish_changes,
    raise_warm_pool_quota,
    reconcile,
    reject_entries,
    repair,
    restore,
    roll_back,
    run_steps,
    sell_plan,
    submit,
    submit_after,
    submit_batch,
    submit_idle,
    submit_kept,
    submit_reusing,
    submit_spot,
    submit_sweep,
    submit_timed,
    take_name,
    throttle_launches,
    tick,
    touch_input,
    undercount,
    wait,
    watch,
    write_input,
)
from headway_verification.soak.workload.configurations import DAYS
from headway_verification.soak.workload.requests import EARLY_STOPPING

LEASE_S = TIMEOUT_S["schedule"] + LEASE_MARGIN_MS // 1000 + 1
"""After this time the next tick may settle an unfinished launch, which SageMaker may not show yet."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A situation.

    Attributes:
        prepare: brings a new queue into the situation.
        begin: starts the invocation.
    """

    prepare: Callable[[Deployment], None]
    begin: Begin


def with_temper(situation: Scenario, temper: Temper) -> Scenario:
    """Return the situation with this behavior of SageMaker, which may hide recent launches.

    Args:
        temper: SageMaker's behavior.
    """

    def prepare(queue: Deployment) -> None:
        situation.prepare(queue)
        queue.set_temper(temper)

    return replace(situation, prepare=prepare)


def _started(*submissions: Begin) -> tuple[Step, ...]:
    """Return steps that submit and start jobs."""
    return (*submissions, tick, wait(5))


_BOTH_RUN = _started(submit("low-1"), submit("low-2"))
STOPPING = (*_BOTH_RUN, submit("high", (P5, 2), priority=9), tick)
_TRAILING = (
    delay_quota_release,
    *_started(submit("first", (P5, 2))),
    submit("second", (P5, 2)),
    complete_training,
    deliver_events,
)
_THREE_WAIT = (submit("a"), submit("b"), submit("c", (G5, 1)))
"""Three jobs wait for instances that are free."""

_UNCOUNTED = tuple(f"j{number}" for number in range(MAX_TAIL + 1))
"""The jobs of a queue that is longer than the end that is read of it. With a limit of as many, it is not counted."""

_REQUEUES = {"idle": {"periodSeconds": 60, "periods": 2, "warmUpSeconds": 0, "action": "requeue"}}
NOTIFIES = {"idle": {"periodSeconds": 60, "periods": 2, "warmUpSeconds": 0, "action": "notify"}}


_TWO_MEMBERS_TRAIN = (
    configure(POOLS),
    submit_sweep("s", 2, run_s=3000, earlyStopping=EARLY_STOPPING),
    *(tick, wait(600), deliver_events),
)
"""Two members of an array train, and one is worse than the other."""


def _idle(profile: str = "0:0", **rules: Any) -> tuple[Step, ...]:
    """Return steps after which an idle job is training and its alarm fires."""
    return (
        configure(POOLS, **rules),
        submit_idle("j", profile),
        tick,
        wait(400),
        deliver_events,
        watch,
        wait(400),
        deliver_events,
    )


def _pending(most_s: int) -> tuple[Step, ...]:
    """Return steps after which a job has waited for instances as long as it may."""
    return (
        *(configure(POOLS, maxPendingSeconds=most_s), exhaust_capacity, submit("j"), tick),
        *(wait(most_s - 100), deliver_events, wait(150)),
    )


KEEPING = (configure(POOLS, warmPools={}), raise_warm_pool_quota())
KEPT = (*KEEPING, submit_kept("k", 2), tick, wait(900), deliver_events)
"""All instances of a pool are kept warm."""

_RELEASED = (*KEPT, submit("j"), tick)

TWO_KEPT = (
    *(*KEEPING, submit_kept("k1"), submit_kept("k2", run_s=500), tick),
    *(wait(600), deliver_events, wait(600), deliver_events),
)
"""Two instances are kept warm, of which SageMaker uses the ones first that were left first."""

SWAPPED = (*TWO_KEPT, submit_kept("j1"), submit_kept("j2"), tick, wait(100), deliver_events)
"""Each of two jobs was started in the warm pool that SageMaker uses for the other one."""


def scheduled(at_shrink: str = "run", **rules: Any) -> Begin:
    """Give the first pool a schedule by which it becomes smaller ten minutes after the start of the run.

    Args:
        at_shrink: what happens to running jobs then.
        rules: further members of the document.
    """
    entry = {"days": DAYS, "from": f"{datetime.fromtimestamp(START_S + 600, UTC):%H:%M}", "to": "24:00", "size": 1}
    return configure(POOLS, schedules={P5: {"schedule": [entry], "atShrink": at_shrink}}, **rules)


_START = datetime.fromtimestamp(START_S, UTC)

DIGEST_DUE = configure(POOLS, digest={"weekday": [*Day][_START.weekday()], "hour": _START.hour})
"""The digest of the week before the run is due."""

FOLLOWS = configure(
    {**POOLS, PLAN_POOL: INSTANCES},
    schedules={PLAN_POOL: {"plan": f"arn:aws:sagemaker:eu-west-1:123456789012:training-plan/{NAME}"}},
)
"""A pool follows the training plan of the account."""

_INTERRUPTED = (
    *(configure(POOLS), submit_spot("j"), tick, wait(400), deliver_events, interrupt_spot, deliver_events),
    *(wait(1000), deliver_events, interrupt_spot),
)
PAUSE = ask("POST", f"/pools/{P5}/pause", {"reason": "so it is"})
DRAIN = ask("POST", f"/pools/{P5}/drain", {"reason": "so it is", "stop": True})
RESUME = ask("POST", f"/pools/{P5}/resume")
PAUSE_ALL = ask("POST", "/pause", {"reason": "so it is"})
RESUME_ALL = ask("POST", "/resume")
RULES = {"small": {"require": {"maxInstances": 4}, "onStart": "stop"}}
TEAMS = {"a": {"limit": {P5: 1}}, "b": {"guaranteed": {P5: 1}}}

CHANGE_HIGH = ask("POST", "/jobs/high/change", {"instances": 1})

_COMPARED: dict[str, Any] = {"reuse": True, "reuseUnpinned": True}

ONE_IDLE = (submit("low", run_s=5000), tick, wait(300), deliver_events, submit("wide", (P5, 2)))
"""One of two instances is used, and a job waits for both."""

_ALONE = {"alone": {"require": {"uniqueCheckpoints": True}}}

_REMEMBERS = (configure(POOLS, TEAMS, fairShare={"halfLifeDays": 1}), reconcile)
_USED = (*_REMEMBERS, submit("j", team="a"), tick, wait(900))
"""A job of a team has run to its end, where past use counts."""

_BUDGET = {"of-a": {"team": "a", "days": 1, "amount": 10, "whenSpent": "refuse"}}
_TAKEN = (configure(POOLS, TEAMS, budgets=_BUDGET), submit("j", team="a"), tick, wait(900))
"""A job of a team has run to its end, which takes from a budget."""

_BOOKED = (configure({P5: 3, G5: 2}, {"a": {"guaranteed": {P5: 2}, "lend": {P5: 0}}, "b": {}}), wait(100))
"""One of three instances is left beside what is kept for a team, for longer than a decision takes."""

SITUATIONS: dict[str, Scenario] = {
    "a job is submitted": Scenario(prepare=run_steps(), begin=submit("j", (P5, 1), (G5, 1))),
    "a job is submitted that has its checkpoints for itself": Scenario(
        prepare=run_steps(configure(POOLS, rules=_ALONE)), begin=submit("j", checkpoints="run")
    ),
    "a job is submitted to where a stopped one had its checkpoints": Scenario(
        prepare=run_steps(configure(POOLS, rules=_ALONE), submit("a", checkpoints="run"), ask("DELETE", "/jobs/a")),
        begin=submit("j", checkpoints="run"),
    ),
    "jobs are submitted in a batch": Scenario(prepare=run_steps(), begin=submit_batch("a", "b", "c")),
    "jobs are submitted in a batch, of which one is there": Scenario(
        prepare=run_steps(submit("b")), begin=submit_batch("a", "b", "c")
    ),
    "a job is submitted to a queue that has a count": Scenario(
        prepare=run_steps(
            configure(POOLS, limits={"waitingPerTeam": len(_UNCOUNTED), "waitingPerOwner": len(_UNCOUNTED)}),
            submit_batch(*_UNCOUNTED),
            undercount,
            # Eventually consistent reads show the jobs.
            *(ask("GET", "/jobs/j16"),) * 8,
        ),
        begin=submit("j"),
    ),
    "a job is submitted after another": Scenario(prepare=run_steps(submit("a")), begin=submit_after("j", "a")),
    "a job is submitted that has to start by a time": Scenario(
        prepare=run_steps(), begin=submit_timed("j", not_before_s=300, start_by_s=600)
    ),
    "the time of a job comes": Scenario(
        prepare=run_steps(configure(POOLS, TEAMS), submit_timed("j", not_before_s=300, team="a"), wait(301)), begin=tick
    ),
    "the time of an equal job comes": Scenario(
        prepare=run_steps(
            *(submit_reusing("a"), submit_timed("j", not_before_s=300, **_COMPARED), submit_after("k", "j:any")),
            *(ask("POST", "/jobs/a/hold"), wait(301)),
        ),
        begin=tick,
    ),
    "the time of an array comes": Scenario(
        prepare=run_steps(submit_timed("s", not_before_s=300, sweep={"grid": {"seed": [0, 1]}}), wait(301)), begin=tick
    ),
    "a job has not started in time": Scenario(
        prepare=run_steps(
            *(*_started(submit("low", (P5, 2), run_s=3000)), submit_timed("j", start_by_s=300)),
            *(submit_after("k", "j:any"), wait(301)),
        ),
        begin=tick,
    ),
    "a job that is started has to start by now": Scenario(
        prepare=run_steps(submit_timed("j", start_by_s=300), crash_before_launch, wait(LEASE_S + 301)), begin=tick
    ),
    "changes of jobs are published": Scenario(
        prepare=run_steps(submit("a"), submit("b"), ask("PATCH", "/jobs/a", {"priority": 9})), begin=deliver_changes()
    ),
    "changes of jobs are published, and their entries continue a chain": Scenario(
        prepare=run_steps(begin_chain, submit("a"), submit("b"), ask("PATCH", "/jobs/a", {"priority": 9})),
        begin=deliver_changes(),
    ),
    "what has ended is added to the sums of usage": Scenario(
        prepare=run_steps(
            *(*_started(submit("a")), submit("b"), ask("DELETE", "/jobs/b"), wait(900), deliver_events),
            deliver_changes(),
        ),
        begin=reconcile,
    ),
    "a waiting job with dependants is stopped": Scenario(
        prepare=run_steps(submit("a"), submit_after("j", "a:any")), begin=ask("DELETE", "/jobs/a")
    ),
    "a job with dependants has completed": Scenario(
        prepare=run_steps(*_started(submit("a")), submit_after("j", "a"), submit_after("k", "a:failed"), wait(900)),
        begin=deliver_end,
    ),
    "the dependants of a job that has ended are notified": Scenario(
        prepare=run_steps(
            *(submit("a"), submit_after("j", "a:any"), submit_after("k", "a"), submit_after("l", "k:any")),
            ask("DELETE", "/jobs/a"),
        ),
        begin=tick,
    ),
    "a job is submitted that computes for equal ones": Scenario(prepare=run_steps(), begin=submit_reusing("j")),
    "a job is submitted while an equal one waits": Scenario(
        prepare=run_steps(submit_reusing("a")), begin=submit_reusing("j")
    ),
    "a job is submitted after an equal one has completed": Scenario(
        prepare=run_steps(*_started(submit_reusing("a")), wait(900), deliver_events, tick), begin=submit_reusing("j")
    ),
    "a job is submitted before the outputs of an equal one are noted": Scenario(
        prepare=run_steps(*_started(submit_reusing("a")), wait(900), deliver_events), begin=submit_reusing("j")
    ),
    "a job is submitted after an equal one was stopped": Scenario(
        prepare=run_steps(submit_reusing("a"), ask("DELETE", "/jobs/a")), begin=submit_reusing("j")
    ),
    "the outputs of a job are noted, and equal ones get them": Scenario(
        prepare=run_steps(
            *_started(submit_reusing("a")),
            *(submit_reusing("j"), submit_after("k", "j"), submit_reusing("l"), wait(900), deliver_events),
        ),
        begin=tick,
    ),
    "an equal job of a team that has left goes before one that is held": Scenario(
        prepare=run_steps(
            *(configure(POOLS, TEAMS), submit_reusing("a", "a"), submit_reusing("j", "a")),
            *(ask("POST", "/jobs/a/hold"), configure(POOLS)),
        ),
        begin=tick,
    ),
    "an equal job goes before one that was preempted and is held": Scenario(
        prepare=run_steps(
            *(*_started(submit_reusing("a")), submit("high", (P5, 2), priority=9), tick, wait(100), deliver_events),
            *(submit_reusing("j"), ask("POST", "/jobs/a/hold")),
        ),
        begin=tick,
    ),
    "an equal job goes before one that is held": Scenario(
        prepare=run_steps(submit_reusing("a"), submit_reusing("j"), ask("POST", "/jobs/a/hold")), begin=tick
    ),
    "a job that a policy denies is given up": Scenario(
        prepare=run_steps(
            *(configure(POOLS, launches={"giveUpSeconds": 300}), deny_launches, submit("j"), submit_after("k", "j")),
            *(tick, wait(100), tick, wait(300)),
        ),
        begin=tick,
    ),
    "a job for which equal ones wait was stopped": Scenario(
        prepare=run_steps(*(submit_reusing(name) for name in ("a", "j", "k")), ask("DELETE", "/jobs/a")), begin=tick
    ),
    "a job for which equal ones wait has completed with another input": Scenario(
        prepare=run_steps(*_started(submit_reusing("a")), submit_reusing("j"), write_input, wait(900), deliver_events),
        begin=tick,
    ),
    "a job for which equal ones wait has completed with an input that was written again": Scenario(
        prepare=run_steps(*_started(submit_reusing("a")), submit_reusing("j"), touch_input, wait(900), deliver_events),
        begin=tick,
    ),
    "a waiting job is stopped": Scenario(prepare=run_steps(submit("j")), begin=ask("DELETE", "/jobs/j")),
    "a running job is stopped": Scenario(prepare=run_steps(*_started(submit("j"))), begin=ask("DELETE", "/jobs/j")),
    "a waiting job gets another priority": Scenario(
        prepare=run_steps(submit("j", (P5, 1), (G5, 1))), begin=ask("PATCH", "/jobs/j", {"priority": 5})
    ),
    "a running job gets another priority": Scenario(
        prepare=run_steps(*_started(submit("j"))), begin=ask("PATCH", "/jobs/j", {"priority": 5})
    ),
    "a waiting job gets a comment": Scenario(
        prepare=run_steps(submit("j")), begin=ask("PUT", "/jobs/j/comment", {"comment": "so it is"})
    ),
    "a waiting job is changed": Scenario(
        prepare=run_steps(submit("j", (P5, 2))), begin=ask("POST", "/jobs/j/change", {"instances": 1})
    ),
    "a waiting job is changed to ask for more": Scenario(
        prepare=run_steps(submit("j"), wait(5)), begin=ask("POST", "/jobs/j/change", {"instances": 2})
    ),
    "a job with a reservation is changed": Scenario(
        prepare=run_steps(*STOPPING, wait(200), deliver_end), begin=CHANGE_HIGH
    ),
    "jobs of a limited team start": Scenario(
        prepare=run_steps(
            *(configure({P5: 3, G5: 2}, {"a": {"limit": {P5: 2}}}), wait(300)),
            *(submit("i", team="a"), wait(5), submit("j", team="a")),
        ),
        begin=tick,
    ),
    "a job starts in a pool that is booked": Scenario(prepare=run_steps(*_BOOKED, submit("x", team="b")), begin=tick),
    "a job starts in a pool that is booked, after another": Scenario(
        prepare=run_steps(*_BOOKED, submit("m", team="a", run_s=3000), tick, submit("x", team="b")), begin=tick
    ),
    "a waiting job is held": Scenario(
        prepare=run_steps(submit("j", (P5, 1), (G5, 1))), begin=ask("POST", "/jobs/j/hold")
    ),
    "a job with a reservation is held": Scenario(
        prepare=run_steps(*STOPPING, wait(200), deliver_end), begin=ask("POST", "/jobs/high/hold")
    ),
    "a held job is released": Scenario(
        prepare=run_steps(submit("j", (P5, 1), (G5, 1)), ask("POST", "/jobs/j/hold"), tick),
        begin=ask("POST", "/jobs/j/release"),
    ),
    "jobs are listed": Scenario(prepare=run_steps(*_BOTH_RUN, submit("j")), begin=ask("GET", "/jobs")),
    "a job is shown": Scenario(prepare=run_steps(*_BOTH_RUN, submit("j")), begin=ask("GET", "/jobs/j")),
    "pools and teams change": Scenario(
        prepare=run_steps(configure(POOLS, {"a": {}, "c": {}}), submit("j", (G5, 1), team="c")),
        begin=configure({P5: 1, P4: 1}, {"a": {}, "b": {}}),
    ),
    "a removed pool is no longer in use": Scenario(
        prepare=run_steps(
            *(configure(POOLS), *_started(submit("j", (G5, 1))), configure({P5: 2}), complete_training, deliver_events),
        ),
        begin=tick,
    ),
    "a pool is paused": Scenario(prepare=run_steps(submit("j")), begin=PAUSE),
    "a pool is drained": Scenario(prepare=run_steps(*_BOTH_RUN, DRAIN), begin=tick),
    "a paused pool is drained": Scenario(prepare=run_steps(*_BOTH_RUN, PAUSE, wait(100)), begin=DRAIN),
    "a pool is resumed": Scenario(prepare=run_steps(*_BOTH_RUN, DRAIN, tick), begin=RESUME),
    "a pool is resized": Scenario(
        prepare=run_steps(configure(POOLS), *_BOTH_RUN), begin=ask("PATCH", f"/pools/{P5}", {"size": 1})
    ),
    "the configuration is changed after a change that crashed": Scenario(
        prepare=run_steps(configure(POOLS), tick, crash_in_change({P5: 2, G5: 1}, {}), wait(100)),
        begin=ask("PATCH", f"/pools/{P5}", {"size": 1}),
    ),
    "a configuration is set that was made from the newest version": Scenario(
        prepare=run_steps(configure(POOLS), tick), begin=configure_from(2, {P5: 1, G5: 2})
    ),
    "a tick applies a configuration": Scenario(
        prepare=run_steps(configure(POOLS), tick, submit("j"), crash_in_change({P5: 1, P4: 1}, {"a": {}})), begin=tick
    ),
    "a configuration follows one that was not fully applied": Scenario(
        prepare=run_steps(
            configure(POOLS, {"a": {}}), tick, crash_in_change(POOLS, {"a": {}, "c": {}}), submit("j", team="c")
        ),
        begin=configure(POOLS, {"a": {}}),
    ),
    "a successful launch is found in a paused pool": Scenario(
        prepare=run_steps(submit("j"), crash_after_launch, PAUSE, wait(LONGEST_INVOCATION_S + 1)), begin=tick
    ),
    "a launch that failed is found in a paused pool": Scenario(
        prepare=run_steps(submit("j"), crash_before_launch, PAUSE, wait(LONGEST_INVOCATION_S + 1)), begin=tick
    ),
    # Far enough apart that the order is independent of clock errors: the first two start.
    "jobs start": Scenario(
        prepare=run_steps(submit("a"), wait(5), submit("b", (P5, 1), (G5, 2)), wait(5), submit("c", (G5, 1))),
        begin=tick,
    ),
    **{
        f"three launches are in flight, and answered from number {first} on": Scenario(
            prepare=run_steps(*_THREE_WAIT, answer_together(first)), begin=tick
        )
        for first in (1, 2, 3)
    },
    "three launches are in flight, and the second is settled first": Scenario(
        prepare=run_steps(*_THREE_WAIT, answer_in_turn(2)), begin=tick
    ),
    "three launches are in flight, and two are throttled": Scenario(
        prepare=run_steps(*_THREE_WAIT, answer_together(2), throttle_launches(2)), begin=tick
    ),
    "three launches were left in flight": Scenario(
        prepare=run_steps(*_THREE_WAIT, answer_together(2), throttle_launches(3), tick, wait(LEASE_S)), begin=tick
    ),
    "jobs start while pauses are counted": Scenario(
        prepare=run_steps(submit("a"), wait(5), submit("b", (P5, 1), (G5, 2)), count_pauses), begin=tick
    ),
    "a pool is paused while pauses are counted": Scenario(prepare=run_steps(submit("j"), count_pauses), begin=PAUSE),
    "all pools are paused while pauses are counted": Scenario(
        prepare=run_steps(submit("j"), count_pauses), begin=PAUSE_ALL
    ),
    "pauses begin to be counted": Scenario(prepare=run_steps(submit("j")), begin=reconcile),
    "instances become idle": Scenario(prepare=run_steps(*ONE_IDLE), begin=tick),
    "instances are idle for some minutes": Scenario(
        prepare=run_steps(*ONE_IDLE, tick, wait(COUNTED_EACH_S)), begin=tick
    ),
    "instances are no longer idle": Scenario(
        prepare=run_steps(*ONE_IDLE, tick, wait(100), ask("DELETE", "/jobs/wide")), begin=tick
    ),
    "two are preempted for one": Scenario(
        prepare=run_steps(*_BOTH_RUN, submit("high", (P5, 2), priority=9)), begin=tick
    ),
    "a job that was asked to stop is stopped": Scenario(
        prepare=run_steps(*_started(submit("j")), ask("DELETE", "/jobs/j")), begin=tick
    ),
    "a launch without an answer is settled": Scenario(
        prepare=run_steps(submit("j"), crash_after_launch, wait(LEASE_S)), begin=tick
    ),
    "a launch that has to stop is abandoned": Scenario(
        prepare=run_steps(
            submit("j"),
            crash_after_launch,
            ask("DELETE", "/jobs/j"),
            wait(LEASE_S),
        ),
        begin=tick,
    ),
    "a name is taken": Scenario(prepare=run_steps(submit("j"), take_name), begin=tick),
    "a training job of that name ends before a launch is settled": Scenario(
        prepare=run_steps(submit("j"), take_name, crash_before_launch, complete_training, wait(5)), begin=deliver_end
    ),
    "the bus rejects the first of two events of a job": Scenario(
        prepare=run_steps(submit("j"), tick, reject_entries(1)), begin=publish_changes
    ),
    "the bus rejects all events of a job in one invocation": Scenario(
        prepare=run_steps(submit("j"), reject_entries(MAX_TRIES)), begin=publish_changes
    ),
    "a preempted attempt has ended": Scenario(prepare=run_steps(*STOPPING, wait(200)), begin=deliver_end),
    "a job starts on its reservation": Scenario(
        prepare=run_steps(*STOPPING, wait(200), deliver_end, deliver_end), begin=tick
    ),
    "a start is refused while its quota counts a job that has ended": Scenario(
        prepare=run_steps(*_TRAILING), begin=tick
    ),
    "a start that a quota has refused is made": Scenario(prepare=run_steps(*_TRAILING, tick, wait(450)), begin=tick),
    "the reservation of a job that left is released": Scenario(
        prepare=run_steps(*STOPPING, wait(200), deliver_end, deliver_end, ask("DELETE", "/jobs/high")), begin=tick
    ),
    "a job has completed": Scenario(prepare=run_steps(*_started(submit("j")), wait(900)), begin=deliver_end),
    "a job has completed where past use counts": Scenario(prepare=run_steps(*_USED), begin=deliver_end),
    "past use begins to count": Scenario(prepare=run_steps(_REMEMBERS[0]), begin=reconcile),
    "an end is added to past use": Scenario(prepare=run_steps(*_USED, deliver_events), begin=reconcile),
    "an end is added to a budget": Scenario(prepare=run_steps(*_TAKEN, deliver_events), begin=reconcile),
    "an end is added to a budget that another is in": Scenario(
        prepare=run_steps(*_TAKEN, deliver_events, reconcile, submit("k", team="a"), tick, wait(900), deliver_events),
        begin=reconcile,
    ),
    "a budget is no more": Scenario(
        prepare=run_steps(*_TAKEN, deliver_events, reconcile, configure(POOLS, TEAMS)), begin=reconcile
    ),
    "the half-life of past use changes": Scenario(
        prepare=run_steps(
            *(*_REMEMBERS, submit("j", team="a", run_s=5000), tick, wait(900)),
            configure(POOLS, TEAMS, fairShare={"halfLifeDays": 2}),
        ),
        begin=reconcile,
    ),
    "past use counts no more": Scenario(
        prepare=run_steps(*_USED, deliver_events, configure(POOLS, TEAMS)), begin=reconcile
    ),
    "a job has failed": Scenario(
        prepare=run_steps(*_started(submit("j", outcome="AlgorithmError: x")), wait(900)), begin=deliver_end
    ),
    "a rogue job is found": Scenario(
        prepare=run_steps(drop_events, submit("a"), tick, bypass_queue, wait(5)), begin=patrol
    ),
    "a rogue job is stopped": Scenario(
        prepare=run_steps(drop_events, configure(POOLS, rogues={"action": "stop"}), bypass_queue_endlessly, wait(300)),
        begin=patrol,
    ),
    "a rogue job has ended": Scenario(
        prepare=run_steps(configure(POOLS), bypass_queue, wait(5), patrol, wait(900)), begin=deliver_end
    ),
    "an attempt missing from the table is adopted": Scenario(
        prepare=run_steps(
            configure(POOLS, {"a": {"limit": {P5: 2}}, "b": {}}),
            *(wait(300), *_started(submit("low-1", team="b"), submit("low-2", team="b"))),
            submit("high", (P5, 2), priority=9, team="a"),
            *(tick, wait(200), deliver_end, deliver_end, roll_back(tick), wait(5)),
        ),
        begin=patrol,
    ),
    "an attempt that is charged as a rogue job is started again": Scenario(
        prepare=run_steps(
            *(configure(POOLS), *_started(submit("k", (G5, 1))), submit("j"), roll_back(tick)),
            *(ask("POST", "/jobs/j/hold"), wait(5), patrol, ask("POST", "/jobs/j/release")),
        ),
        begin=tick,
    ),
    "the first scan after a restore completes": Scenario(prepare=run_steps(configure(POOLS), restore()), begin=patrol),
    "the first scan after a restore completes of a paused queue": Scenario(
        prepare=run_steps(configure(POOLS), restore(stays=True)), begin=patrol
    ),
    "a job waits for a launch during a scan": Scenario(prepare=run_steps(submit("j")), begin=patrol),
    "a job that trains gets its alarm": Scenario(prepare=run_steps(*_idle()[:5]), begin=watch),
    "an idle job is found": Scenario(prepare=run_steps(*_idle()), begin=watch),
    "an idle job is notified": Scenario(prepare=run_steps(*_idle(watches=NOTIFIES)), begin=watch),
    "an alarm message reports an idle job": Scenario(prepare=run_steps(*_idle()), begin=deliver_alarm),
    "a late alarm message reports a job that is busy again": Scenario(
        prepare=run_steps(*_idle("0:0,600:720"), wait(300), wait(300)), begin=deliver_alarm
    ),
    "an alarm has outlived its job": Scenario(
        prepare=run_steps(*_idle(), complete_training, deliver_events), begin=watch
    ),
    "an idle job that is requeued has ended": Scenario(
        prepare=run_steps(*_idle(watches=_REQUEUES), watch, tick, wait(200)), begin=deliver_end
    ),
    "spot interrupts a job more often than allowed": Scenario(
        prepare=run_steps(*_INTERRUPTED), begin=lambda queue: queue.deliver_event()
    ),
    "a job that leaves spot has ended": Scenario(
        prepare=run_steps(*_INTERRUPTED, deliver_events, tick, wait(200)), begin=deliver_end
    ),
    "a job that has left spot trains, and there are rules": Scenario(
        prepare=run_steps(
            *_INTERRUPTED, deliver_events, tick, wait(200), configure(POOLS, rules=RULES), deliver_end, tick, wait(5)
        ),
        begin=lambda queue: queue.deliver_event(),
    ),
    "jobs start in a pool that becomes smaller": Scenario(
        prepare=run_steps(scheduled(), tick, submit("a1"), submit("a2")), begin=tick
    ),
    "jobs start that end just before a pool becomes smaller": Scenario(
        prepare=run_steps(
            *(scheduled(overheadSeconds=0), tick, wait(60)),
            *(submit(name, run_s=3000, max_runtime_s=535) for name in ("a1", "a2")),
        ),
        begin=tick,
    ),
    "a pool becomes smaller by its schedule": Scenario(
        prepare=run_steps(scheduled(), tick, submit("a1"), wait(610)), begin=tick
    ),
    "a pool becomes smaller and stops a job": Scenario(
        prepare=run_steps(
            *(scheduled("stop"), tick, submit("a1", run_s=3000), submit("a2", run_s=3000), tick),
            *(wait(610), deliver_events),
        ),
        begin=tick,
    ),
    "a figure of the sums is too much": Scenario(
        prepare=run_steps(count_too_much("w.9"), wait(100_000)), begin=repair("w.9", 0)
    ),
    "a second figure of the sums is too much": Scenario(
        prepare=run_steps(count_too_much("w.8"), count_too_much("w.9"), wait(100_000), repair("w.8", 0)),
        begin=repair("w.9", 1),
    ),
    "an owner is forgotten": Scenario(
        prepare=run_steps(submit("a"), ask("DELETE", "/jobs/a"), tick, forget("")), begin=forget("forget:")
    ),
    "an event comes after SageMaker was asked": Scenario(
        prepare=run_steps(submit("a"), tick, wait(400), reconcile), begin=deliver_last_event
    ),
    "a digest is due": Scenario(prepare=run_steps(DIGEST_DUE, submit("a"), ask("DELETE", "/jobs/a")), begin=reconcile),
    "a training plan is described": Scenario(prepare=run_steps(sell_plan(), FOLLOWS), begin=reconcile),
    "a training plan changes": Scenario(
        prepare=run_steps(sell_plan(), FOLLOWS, reconcile, tick, sell_plan(unhealthy=1)), begin=reconcile
    ),
    "a training plan is no longer followed": Scenario(
        prepare=run_steps(sell_plan(), FOLLOWS, reconcile, tick, configure(POOLS), tick), begin=reconcile
    ),
    "a pool loses its schedule": Scenario(
        prepare=run_steps(scheduled(), tick, wait(610), tick, submit("a1"), configure(POOLS)), begin=tick
    ),
    "a job that got no instances is stopped": Scenario(prepare=run_steps(*_pending(600)), begin=reconcile),
    "a job that was stopped as it got no instances has ended": Scenario(
        prepare=run_steps(*_pending(600), reconcile, tick, wait(200)), begin=deliver_end
    ),
    "SageMaker has ended a job that got no instances": Scenario(
        prepare=run_steps(*_pending(MIN_PENDING_TIME_S)), begin=deliver_end
    ),
    "members of an array are compared, and compute": Scenario(
        prepare=run_steps(submit_sweep("s", 3, **_COMPARED)), begin=tick
    ),
    "members of an array are answered by equal ones": Scenario(
        prepare=run_steps(
            *_started(submit_sweep("a", 2, **_COMPARED)),
            *(wait(900), deliver_events, tick, submit_sweep("s", 3, **_COMPARED)),
        ),
        begin=tick,
    ),
    "members of an array wait for equal ones": Scenario(
        prepare=run_steps(submit_sweep("a", 2, **_COMPARED), tick, submit_sweep("s", 2, **_COMPARED)), begin=tick
    ),
    "members for which equal ones wait have completed": Scenario(
        prepare=run_steps(
            *(submit_sweep("a", 2, **_COMPARED), tick, submit_sweep("s", 2, **_COMPARED), tick),
            *(wait(900), deliver_events),
        ),
        begin=tick,
    ),
    "a member for which an equal one waits was stopped": Scenario(
        prepare=run_steps(
            *(submit_sweep("a", 3, **_COMPARED), tick, submit_sweep("s", 3, **_COMPARED), tick),
            ask("DELETE", "/jobs/a_2"),
        ),
        begin=tick,
    ),
    "a member that is set aside waits for an equal one": Scenario(
        prepare=run_steps(
            *(submit_sweep("s", 2, atOnce=1, **_COMPARED), tick, ask("PATCH", "/jobs/s_1", {"priority": 5})),
            *(wait(250), submit_sweep("a", 2, **_COMPARED), tick, wait(200), deliver_events),
        ),
        begin=tick,
    ),
    "a member that is set aside is answered by an equal one": Scenario(
        prepare=run_steps(
            *(submit_sweep("s", 2, atOnce=1, **_COMPARED), tick, ask("PATCH", "/jobs/s_1", {"priority": 5})),
            *(submit_sweep("a", 2, **_COMPARED), tick, wait(900), deliver_events),
        ),
        begin=tick,
    ),
    "an array is submitted": Scenario(prepare=run_steps(), begin=submit_sweep("s", 4)),
    "members of an array are made": Scenario(prepare=run_steps(submit_sweep("s", 4)), begin=tick),
    "members of an array have ended": Scenario(
        prepare=run_steps(submit_sweep("s", 4, atOnce=2), tick, wait(900), deliver_events), begin=tick
    ),
    "the last member of an array has ended": Scenario(
        prepare=run_steps(submit_sweep("s", 2), submit_after("j", "s:any"), tick, wait(900), deliver_events), begin=tick
    ),
    "a member of an array is stopped before its turn": Scenario(
        prepare=run_steps(submit_sweep("s", 4, atOnce=1), tick), begin=ask("DELETE", "/jobs/s_2")
    ),
    "a member of an array enters the queue before its turn": Scenario(
        prepare=run_steps(
            *(submit_sweep("s", 4, atOnce=1), tick, ask("PATCH", "/jobs/s_2", {"priority": 5}), wait(900)),
            deliver_events,
        ),
        begin=tick,
    ),
    "a waiting member of an array is held": Scenario(
        prepare=run_steps(submit_sweep("s", 4, atOnce=3), tick), begin=ask("POST", "/jobs/s_2/hold")
    ),
    "an array is held": Scenario(prepare=run_steps(submit_sweep("s", 4), tick), begin=ask("POST", "/jobs/s/hold")),
    "the members of a held array leave the queue": Scenario(
        prepare=run_steps(submit_sweep("s", 4), tick, ask("POST", "/jobs/s/hold")), begin=tick
    ),
    "nothing is left to do for a held array": Scenario(
        prepare=run_steps(submit_sweep("s", 4), ask("POST", "/jobs/s/hold")), begin=tick
    ),
    "an array that has members is stopped": Scenario(
        prepare=run_steps(submit_sweep("s", 4), tick), begin=ask("DELETE", "/jobs/s")
    ),
    "the members of an array are stopped": Scenario(
        prepare=run_steps(submit_sweep("s", 4, run_s=ENDLESS_S), tick, wait(400), ask("DELETE", "/jobs/s")), begin=tick
    ),
    "a member of an array is worse than the other": Scenario(prepare=run_steps(*_TWO_MEMBERS_TRAIN), begin=watch),
    "a member that is stopped early has ended": Scenario(
        prepare=run_steps(*_TWO_MEMBERS_TRAIN, watch, tick, wait(200), deliver_events), begin=tick
    ),
    "the members of an array get its priority": Scenario(
        prepare=run_steps(submit_sweep("s", 4), tick, ask("PATCH", "/jobs/s", {"priority": 5})), begin=tick
    ),
    "a job whose instances are kept has ended": Scenario(
        prepare=run_steps(*KEEPING, submit_kept("k", 2), tick, wait(900)), begin=deliver_end
    ),
    "a job starts in a warm pool": Scenario(prepare=run_steps(*KEPT, submit_kept("j", 2)), begin=tick),
    "a warm pool is released for a job": Scenario(prepare=run_steps(*KEPT, submit("j")), begin=tick),
    "a warm pool is released as the policy keeps none": Scenario(
        prepare=run_steps(*KEPT, configure(POOLS)), begin=tick
    ),
    "a released warm pool is gone": Scenario(prepare=run_steps(*_RELEASED, wait(100)), begin=reconcile),
    "a job uses a warm pool": Scenario(
        prepare=run_steps(*KEPT, submit_kept("j", 2), tick, wait(100), deliver_events), begin=reconcile
    ),
    "two jobs use each other's warm pool": Scenario(prepare=run_steps(*SWAPPED), begin=reconcile),
    "a job uses the warm pool that is released for another one": Scenario(
        prepare=run_steps(
            *(*TWO_KEPT, configure({**POOLS, P5: 3}, warmPools={}), submit_kept("j1"), tick),
            *(submit("high", (P5, 2), priority=9), tick, wait(100), deliver_events),
        ),
        begin=reconcile,
    ),
    "a warm pool is not shown yet": Scenario(
        prepare=run_steps(
            *(KEEPING[0], raise_warm_pool_quota(100), submit_kept("k", 2, run_s=3000), tick, wait(600), deliver_events),
            *(complete_training, wait(30), deliver_events, reconcile, wait(60)),
        ),
        begin=reconcile,
    ),
    "the victim of a preemption leaves a warm pool": Scenario(
        prepare=run_steps(
            *(*KEEPING, submit_kept("k", 2, run_s=3000), tick, wait(600), deliver_events),
            *(submit("high", priority=9), tick, wait(200)),
        ),
        begin=deliver_end,
    ),
    "there was no event of jobs that have ended": Scenario(
        prepare=run_steps(drop_events, *_BOTH_RUN, wait(900)), begin=reconcile
    ),
    "there was no event of a training job for a long time": Scenario(
        prepare=run_steps(submit_spot("j"), tick, wait(300), deliver_events, wait(200)), begin=reconcile
    ),
}
"""The situations, by title."""
