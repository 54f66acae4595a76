"""Situations in which something is about to happen, each with the invocation that makes it happen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headway_sandbox.faults import Faults
from headway_sandbox.handlers import event
from headway_sandbox.script import GPU_UTILIZATION
from headway_sandbox.soak.accidents import Accident
from headway_sandbox.soak.people import document_of
from headway_sandbox.soak.processes import Process
from headway_sandbox.soak.queue import Queue
from headway_sandbox.training_request import G5, P5, training_request

P4 = "ml.p4d.24xlarge"
POOLS = {P5: 2, G5: 2}

Begin = Callable[[Queue], Process]
"""Starts an invocation."""

Step = Callable[[Queue], Process | None]
"""Starts an invocation, or does something at once."""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """Something that is about to happen.

    Attributes:
        prepare: brings a new queue there.
        begin: makes it happen.
    """

    prepare: Callable[[Queue], None]
    begin: Begin


def tick(queue: Queue) -> Process:
    """The scheduler."""
    return queue.begin("schedule", event("schedule"))


def minute(queue: Queue) -> Process:
    """The reconciler."""
    return queue.begin("reconcile", event("reconcile"))


def patrol(queue: Queue) -> Process:
    """The patrol."""
    return queue.begin("patrol", event("patrol"))


def watch(queue: Queue) -> Process:
    """The watcher."""
    return queue.begin("watch", event("watch"))


def alarm(queue: Queue) -> Process:
    """The watcher, for the first message of an alarm that is there."""
    return queue.hand_alarm()


def submit_idle(name: str, profile: str = "0:0") -> Begin:
    """A submission of a job that does not use its GPUs, at least at first."""
    request = training_request(name, [(P5, 1)], run_s=3000)
    request["Environment"][GPU_UTILIZATION] = profile

    return lambda queue: queue.submit(request)


def submit_spot(name: str) -> Begin:
    """A submission of a job on spot instances."""
    request = training_request(name, [(P5, 1)], run_s=600)
    request["EnableManagedSpotTraining"] = True
    request["StoppingCondition"]["MaxWaitTimeInSeconds"] = request["StoppingCondition"]["MaxRuntimeInSeconds"]

    return lambda queue: queue.submit(request)


def submit(name: str, *demand: tuple[str, int], priority: int = 0, team: str = "", outcome: str = "complete") -> Begin:
    """A submission of a job that trains for 30 s."""
    tags = {"priority": str(priority), **({"team": team} if team else {})}
    request = training_request(name, demand or [(P5, 1)], run_s=30, outcome=outcome, tags=tags)

    return lambda queue: queue.submit(request)


def ask(method: str, path: str, body: Any = None) -> Begin:
    """A call of the API."""
    return lambda queue: queue.ask(method, path, body)


def configure(sizes: Mapping[str, int], teams: Mapping[str, Any] | None = None, **rules: Any) -> Begin:
    """A new configuration."""
    return ask("PUT", "/config", document_of(sizes, teams or {}, **rules))


def news(queue: Queue) -> Process:
    """The observer, for the first event of an end that is there."""
    return queue.hand_out(ended=True)


def done(*steps: Step) -> Callable[[Queue], None]:
    """Each happened, one after the other, undisturbed."""

    def prepare(queue: Queue) -> None:
        for step in steps:
            process = step(queue)
            if process is not None:
                queue.finish(process)

    return prepare


def later(seconds: float) -> Step:
    """Time passes, without what happens every minute."""
    return lambda queue: queue.let_pass(seconds)


def cut_off(queue: Queue) -> None:
    """A tick that dies as soon as it has launched anything."""
    queue.accidents.planned = lambda operation: (
        Accident.CRASH_AFTER if operation == "CreateTrainingJob" else Accident.NONE
    )
    queue.finish(tick(queue))
    queue.accidents.planned = None


def heard(queue: Queue) -> None:
    """All events that are there are handled."""
    while queue.has_news:
        queue.finish(queue.hand_out())


def interrupted(queue: Queue) -> None:
    """Spot takes the instances of all jobs that train."""
    for job in queue.fleet.jobs(now=queue.now_s):
        if job.secondary == "Training":
            queue.fleet.interrupt(job.name, now=queue.now_s)
    queue.let_pass(1)


def finished(queue: Queue) -> None:
    """All training jobs complete at once."""
    for job in queue.fleet.jobs(now=queue.now_s):
        if not job.ended:
            queue.fleet.finish(job.name, now=queue.now_s)
    queue.let_pass(1)


def deaf(queue: Queue) -> None:
    """From now on no event arrives."""
    queue.fleet.faults = Faults(event_drop=1.0)


def taken(queue: Queue) -> None:
    """Somebody else has a training job called ``j``."""
    queue.fleet.create(training_request("j", [("ml.c5.xlarge", 1)], run_s=60), now=queue.now_s)


def bypass(queue: Queue) -> None:
    """Somebody else has a training job on an instance of the queue, called ``j``."""
    queue.fleet.create(training_request("j", [(P5, 1)], run_s=300), now=queue.now_s)


def _training(*submissions: Begin) -> tuple[Step, ...]:
    """These are submitted and started."""
    return (*submissions, tick, later(5))


_BOTH_RUN = _training(submit("low-1"), submit("low-2"))
_STOPPING = (*_BOTH_RUN, submit("high", (P5, 2), priority=9), tick)
_REQUEUES = {"idle": {"periodSeconds": 60, "periods": 2, "warmUpSeconds": 0, "action": "requeue"}}


def _idle(profile: str = "0:0", **rules: Any) -> tuple[Step, ...]:
    """A job trains and does nothing, and its alarm fires."""
    return (configure(POOLS, **rules), submit_idle("j", profile), tick, later(400), heard, watch, later(400), heard)


_INTERRUPTED = (
    *(configure(POOLS), submit_spot("j"), tick, later(400), heard, interrupted, heard),
    *(later(1000), heard, interrupted),
)
_TEAMS = {"a": {"limit": {P5: 1}}, "b": {"guaranteed": {P5: 1}}}

SITUATIONS: dict[str, Situation] = {
    "a job is submitted": Situation(prepare=done(), begin=submit("j", (P5, 1), (G5, 1))),
    "a waiting job is stopped": Situation(prepare=done(submit("j")), begin=ask("DELETE", "/jobs/j")),
    "a running job is stopped": Situation(prepare=done(*_training(submit("j"))), begin=ask("DELETE", "/jobs/j")),
    "a waiting job gets another priority": Situation(
        prepare=done(submit("j", (P5, 1), (G5, 1))), begin=ask("PATCH", "/jobs/j", {"priority": 5})
    ),
    "a running job gets another priority": Situation(
        prepare=done(*_training(submit("j"))), begin=ask("PATCH", "/jobs/j", {"priority": 5})
    ),
    "a waiting job is held": Situation(prepare=done(submit("j", (P5, 1), (G5, 1))), begin=ask("POST", "/jobs/j/hold")),
    "a job that something is reserved for is held": Situation(
        prepare=done(*_STOPPING, later(200), news), begin=ask("POST", "/jobs/high/hold")
    ),
    "a held job is released": Situation(
        prepare=done(submit("j", (P5, 1), (G5, 1)), ask("POST", "/jobs/j/hold"), tick),
        begin=ask("POST", "/jobs/j/release"),
    ),
    "jobs are listed": Situation(prepare=done(*_BOTH_RUN, submit("j")), begin=ask("GET", "/jobs")),
    "a job is shown": Situation(prepare=done(*_BOTH_RUN, submit("j")), begin=ask("GET", "/jobs/j")),
    "pools and teams change": Situation(
        prepare=done(configure(POOLS, {"a": {}, "c": {}}), submit("j", (G5, 1), team="c")),
        begin=configure({P5: 1, P4: 1}, {"a": {}, "b": {}}),
    ),
    "jobs start": Situation(prepare=done(submit("a"), submit("b", (P5, 1), (G5, 2)), submit("c", (G5, 1))), begin=tick),
    "two are preempted for one": Situation(prepare=done(*_BOTH_RUN, submit("high", (P5, 2), priority=9)), begin=tick),
    "a job that was asked to stop is stopped": Situation(
        prepare=done(*_training(submit("j")), ask("DELETE", "/jobs/j")), begin=tick
    ),
    "a launch without an answer is settled": Situation(prepare=done(submit("j"), cut_off, later(60)), begin=tick),
    "a launch that has to stop is given up": Situation(
        prepare=done(
            submit("j"),
            cut_off,
            ask("DELETE", "/jobs/j"),
            later(60),
        ),
        begin=tick,
    ),
    "a name is taken": Situation(prepare=done(submit("j"), taken), begin=tick),
    "a preempted attempt has ended": Situation(prepare=done(*_STOPPING, later(200)), begin=news),
    "a job starts on what was freed for it": Situation(prepare=done(*_STOPPING, later(200), news, news), begin=tick),
    "what was freed for a job that left is released": Situation(
        prepare=done(*_STOPPING, later(200), news, news, ask("DELETE", "/jobs/high")), begin=tick
    ),
    "a job has completed": Situation(prepare=done(*_training(submit("j")), later(900)), begin=news),
    "a job has failed": Situation(
        prepare=done(*_training(submit("j", outcome="AlgorithmError: x")), later(900)), begin=news
    ),
    "a rogue job is found": Situation(prepare=done(deaf, submit("a"), tick, bypass, later(5)), begin=patrol),
    "a rogue job is stopped": Situation(
        prepare=done(deaf, configure(POOLS, rogues={"action": "stop"}), bypass, later(300)), begin=patrol
    ),
    "a rogue job has ended": Situation(
        prepare=done(configure(POOLS), bypass, later(5), patrol, later(900)), begin=news
    ),
    "a job waits for a launch while a patrol goes": Situation(prepare=done(submit("j")), begin=patrol),
    "a job that trains gets its alarm": Situation(prepare=done(*_idle()[:5]), begin=watch),
    "an idle job is found": Situation(prepare=done(*_idle()), begin=watch),
    "an alarm tells of an idle job": Situation(prepare=done(*_idle()), begin=alarm),
    "an alarm tells late of a job that is busy again": Situation(
        prepare=done(*_idle("0:0,600:720"), later(300), later(300)), begin=alarm
    ),
    "an alarm has outlived its job": Situation(prepare=done(*_idle(), finished, heard), begin=watch),
    "an idle job that is requeued has ended": Situation(
        prepare=done(*_idle(watches=_REQUEUES), watch, tick, later(200)), begin=news
    ),
    "spot interrupts a job once too often": Situation(
        prepare=done(*_INTERRUPTED), begin=lambda queue: queue.hand_out()
    ),
    "a job that leaves spot has ended": Situation(prepare=done(*_INTERRUPTED, heard, tick, later(200)), begin=news),
    "nothing was heard of jobs that have ended": Situation(prepare=done(deaf, *_BOTH_RUN, later(900)), begin=minute),
}
"""By what is about to happen."""


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
            prepare=done(configure(POOLS, _TEAMS), later(300), submit("a1", team="a"), submit("a2", team="a")),
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
