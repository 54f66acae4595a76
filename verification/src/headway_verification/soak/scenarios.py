"""Situations in which something is about to happen, each with the invocation that makes it happen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headway_sandbox.inprocess.lambda_functions import TIMEOUT_S
from headway_sandbox.inprocess.lambda_loader import event
from headway_sandbox.sagemaker.request_builder import G5, P5, training_request
from headway_sandbox.sagemaker.run_script import GPU_UTILIZATION
from headway_service.events.publisher import MAX_TRIES
from headway_service.ports.table import Delete, Key, Put
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.scheduling.launcher import LEASE_MARGIN_MS
from headway_service.store.records.ledger import PauseRecord
from headway_verification.soak.cooperative_scheduler import Process
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.faults import Fault
from headway_verification.soak.tempers import Temper
from headway_verification.soak.workload import document_of

P4 = "ml.p4d.24xlarge"
POOLS = {P5: 2, G5: 2}

LEASE_S = TIMEOUT_S["schedule"] + LEASE_MARGIN_MS // 1000 + 1
"""The time after which the next tick may reconcile an abandoned launch; SageMaker may not show it yet."""

Begin = Callable[[Deployment], Process]
"""Starts an invocation."""

Step = Callable[[Deployment], Process | None]
"""Starts an invocation, or does something at once."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Something that is about to happen.

    Attributes:
        prepare: brings a new queue there.
        begin: makes it happen.
    """

    prepare: Callable[[Deployment], None]
    begin: Begin


def unkind(situation: Scenario, temper: Temper) -> Scenario:
    """The same with a SageMaker that responds so from now on: it may not show jobs that were launched just before."""

    def prepare(queue: Deployment) -> None:
        situation.prepare(queue)
        queue.set_temper(temper)

    return replace(situation, prepare=prepare)


def tick(queue: Deployment) -> Process:
    """The scheduler."""
    return queue.begin("schedule", event("schedule"))


def minute(queue: Deployment) -> Process:
    """The reconciler."""
    return queue.begin("reconcile", event("reconcile"))


def patrol(queue: Deployment) -> Process:
    """The patrol."""
    return queue.begin("patrol", event("patrol"))


def watch(queue: Deployment) -> Process:
    """The watcher."""
    return queue.begin("watch", event("watch"))


def alarm(queue: Deployment) -> Process:
    """The watcher, for the first message of an alarm that is there."""
    return queue.hand_alarm()


def submit_idle(name: str, profile: str = "0:0", run_s: int = 3000) -> Begin:
    """A submission of a job that does not use its GPUs, at least at first."""
    request = training_request(name, [(P5, 1)], run_s=run_s)
    request["Environment"][GPU_UTILIZATION] = profile

    return lambda queue: queue.submit(request)


def submit_spot(name: str) -> Begin:
    """A submission of a job on spot instances."""
    request = training_request(name, [(P5, 1)], run_s=600)
    request["EnableManagedSpotTraining"] = True
    request["StoppingCondition"]["MaxWaitTimeInSeconds"] = request["StoppingCondition"]["MaxRuntimeInSeconds"]

    return lambda queue: queue.submit(request)


def submit(
    name: str,
    *demand: tuple[str, int],
    priority: int = 0,
    team: str = "",
    outcome: str = "complete",
    run_s: int = 30,
) -> Begin:
    """A submission of a job that trains for 30 s by default."""
    tags = {"priority": str(priority), **({"team": team} if team else {})}
    request = training_request(name, demand or [(P5, 1)], run_s=run_s, outcome=outcome, tags=tags)

    return lambda queue: queue.submit(request)


def ask(method: str, path: str, body: Any = None) -> Begin:
    """A call of the API."""
    return lambda queue: queue.ask(method, path, body)


def configure(sizes: Mapping[str, int], teams: Mapping[str, Any] | None = None, **rules: Any) -> Begin:
    """A new configuration, whatever the one before."""
    document = document_of(sizes, teams or {}, **rules)

    return lambda queue: queue.ask("PUT", "/config", document, headers={"If-Match": "*"})


def configure_from(version: int, sizes: Mapping[str, int]) -> Begin:
    """A new configuration that was made from a version."""
    return ask("PUT", "/config", {**document_of(sizes, {}), "version": version})


def news(queue: Deployment) -> Process:
    """The observer, for the first event of an end that is there."""
    return queue.hand_out(ended=True)


def changes(queue: Deployment) -> Process:
    """The function that publishes changes, for those that are there."""
    return queue.hand_changes()


def done(*steps: Step) -> Callable[[Deployment], None]:
    """Each happened, one after the other, undisturbed."""

    def prepare(queue: Deployment) -> None:
        for step in steps:
            process = step(queue)
            if process is not None:
                queue.finish(process)

    return prepare


def later(seconds: float) -> Step:
    """Time passes, without what happens every minute."""
    return lambda queue: queue.let_pass(seconds)


def edited(queue: Deployment) -> None:
    """Edit the parameter itself, as in AWS's console."""
    queue.store.edit({**queue.store.document, "limits": {"waitingPerTeam": 900}})


def pools_edited(queue: Deployment) -> None:
    """Change the pools in the parameter itself."""
    queue.store.edit(document_of({P5: 1, P4: 1}, {"a": {}}))


def read_late(queue: Deployment) -> None:
    """From now on reads do not show a configuration before it is some minutes old."""
    queue.store.lag_s = 300.0


def cut_off(queue: Deployment) -> None:
    """A tick that dies as soon as it has launched anything."""
    queue.accidents.planned = lambda operation: Fault.CRASH_AFTER if operation == "CreateTrainingJob" else Fault.NONE
    queue.finish(tick(queue))
    queue.accidents.planned = None


def cut_short(queue: Deployment) -> None:
    """A tick that dies just before it launches anything."""
    queue.accidents.planned = lambda operation: Fault.CRASH_BEFORE if operation == "CreateTrainingJob" else Fault.NONE
    queue.finish(tick(queue))
    queue.accidents.planned = None


def cut_edit(queue: Deployment) -> None:
    """A change of the configuration that dies as soon as it has its lease."""
    queue.accidents.planned = lambda operation: Fault.CRASH_AFTER if operation == "PutItem" else Fault.NONE
    queue.finish(configure(POOLS)(queue))
    queue.accidents.planned = None


def cut_teams(queue: Deployment) -> None:
    """A configuration with another team, of which the tick that applies it dies before that team has its lines."""
    queue.store.edit(document_of(POOLS, {"a": {}, "c": {}}))
    queue.accidents.planned = lambda operation: Fault.CRASH_BEFORE if operation == "TransactWriteItems" else Fault.NONE
    queue.finish(tick(queue))
    queue.accidents.planned = None


def turned_away(queue: Deployment) -> Process:
    """A tick of which SageMaker turns away the first launch."""

    def first(operation: str) -> Fault:
        if operation != "CreateTrainingJob":
            return Fault.NONE
        queue.accidents.planned = None
        return Fault.REFUSED

    queue.accidents.planned = first
    return tick(queue)


def heard(queue: Deployment) -> None:
    """All events that are there are handled."""
    while queue.has_news:
        queue.finish(queue.hand_out())


def turns_away(entries: int) -> Step:
    """The bus rejects this many of the next entries."""

    def happen(queue: Deployment) -> None:
        queue.audience.turned_away = entries

    return happen


def interrupted(queue: Deployment) -> None:
    """Spot takes the instances of all jobs that train."""
    for job in queue.fleet.jobs(now=queue.now_s):
        if job.secondary == "Training":
            queue.fleet.interrupt(job.name, now=queue.now_s)
    queue.let_pass(1)


def finished(queue: Deployment) -> None:
    """All training jobs complete at once."""
    for job in queue.fleet.jobs(now=queue.now_s):
        if not job.ended:
            queue.fleet.finish(job.name, now=queue.now_s)
    queue.let_pass(1)


def deaf(queue: Deployment) -> None:
    """From now on no event arrives."""
    queue.fleet.faults = queue.fleet.faults.with_changes({"event_drop": 1.0})


def hidden(queue: Deployment) -> None:
    """SageMaker shows its training jobs no more, for a while."""
    queue.fleet.faults = queue.fleet.faults.with_changes({"describe_lag_s": 10_000, "list_lag_s": 10_000})


def trailing(queue: Deployment) -> None:
    """From now on an ended job counts for a while against a quota that is no larger than the pool."""
    queue.fleet.faults = queue.fleet.faults.with_changes({"quotas": {P5: POOLS[P5]}, "quota_lag_s": 400})


def taken(queue: Deployment) -> None:
    """There is a training job ``j`` of another owner."""
    queue.fleet.create(training_request("j", [("ml.c5.xlarge", 1)], run_s=60), now=queue.now_s)


def bypass(queue: Deployment, run_s: int = 300) -> None:
    """There is a training job ``j`` of another owner on an instance of the queue."""
    queue.fleet.create(training_request("j", [(P5, 1)], run_s=run_s), now=queue.now_s)


def bypass_for_good(queue: Deployment) -> None:
    """As :func:`bypass`; it does not end by itself."""
    bypass(queue, ENDLESS_S)


def forgotten(*steps: Step) -> Step:
    """These happen, and the table is restored to the state of before."""

    def happen(queue: Deployment) -> None:
        before = {Key(item["pk"], item["sk"]): dict(item) for item in queue.table.items()}
        done(*steps)(queue)
        queue.invariants.table_restored()
        after = {Key(item["pk"], item["sk"]) for item in queue.table.items()}
        for key in sorted(after - before.keys()):
            queue.write_by_hand([Delete(key=key)])
        for item in before.values():
            queue.write_by_hand([Put(item=item)])

    return happen


def restored(*, stays: bool = False) -> Step:
    """Everything is paused since the table was restored, or had been paused before that."""

    def happen(queue: Deployment) -> None:
        now_ms, key = queue.clock(), PauseRecord.key(PauseRecord.EVERYTHING)
        pause = PauseRecord(
            pool=PauseRecord.EVERYTHING, by="restore", reason="x", since_ms=now_ms, restored_ms=now_ms, stays=stays
        )
        queue.write_by_hand([Put(item={"pk": key.pk, "sk": key.sk, **pause.fields()})])
        queue.check()
        queue.let_pass(VISIBLE_AFTER_S + 1)

    return happen


def _training(*submissions: Begin) -> tuple[Step, ...]:
    """These are submitted and started."""
    return (*submissions, tick, later(5))


_BOTH_RUN = _training(submit("low-1"), submit("low-2"))
STOPPING = (*_BOTH_RUN, submit("high", (P5, 2), priority=9), tick)
_TRAILING = (trailing, *_training(submit("first", (P5, 2))), submit("second", (P5, 2)), finished, heard)
_REQUEUES = {"idle": {"periodSeconds": 60, "periods": 2, "warmUpSeconds": 0, "action": "requeue"}}
NOTIFIES = {"idle": {"periodSeconds": 60, "periods": 2, "warmUpSeconds": 0, "action": "notify"}}


def _idle(profile: str = "0:0", **rules: Any) -> tuple[Step, ...]:
    """A job trains and does nothing, and its alarm fires."""
    return (configure(POOLS, **rules), submit_idle("j", profile), tick, later(400), heard, watch, later(400), heard)


_INTERRUPTED = (
    *(configure(POOLS), submit_spot("j"), tick, later(400), heard, interrupted, heard),
    *(later(1000), heard, interrupted),
)
PAUSE = ask("POST", f"/pools/{P5}/pause", {"reason": "so it is"})
DRAIN = ask("POST", f"/pools/{P5}/drain", {"reason": "so it is", "stop": True})
ENDLESS_S = 1_000_000
"""The run time of a job that has to be stopped, as no run waits for its end."""

RESUME = ask("POST", f"/pools/{P5}/resume")
PAUSE_ALL = ask("POST", "/pause", {"reason": "so it is"})
RESUME_ALL = ask("POST", "/resume")
RULES = {"small": {"require": {"maxInstances": 4}, "onStart": "stop"}}
TEAMS = {"a": {"limit": {P5: 1}}, "b": {"guaranteed": {P5: 1}}}

SITUATIONS: dict[str, Scenario] = {
    "a job is submitted": Scenario(prepare=done(), begin=submit("j", (P5, 1), (G5, 1))),
    "a waiting job is stopped": Scenario(prepare=done(submit("j")), begin=ask("DELETE", "/jobs/j")),
    "a running job is stopped": Scenario(prepare=done(*_training(submit("j"))), begin=ask("DELETE", "/jobs/j")),
    "a waiting job gets another priority": Scenario(
        prepare=done(submit("j", (P5, 1), (G5, 1))), begin=ask("PATCH", "/jobs/j", {"priority": 5})
    ),
    "a running job gets another priority": Scenario(
        prepare=done(*_training(submit("j"))), begin=ask("PATCH", "/jobs/j", {"priority": 5})
    ),
    "a waiting job is held": Scenario(prepare=done(submit("j", (P5, 1), (G5, 1))), begin=ask("POST", "/jobs/j/hold")),
    "a job that something is reserved for is held": Scenario(
        prepare=done(*STOPPING, later(200), news), begin=ask("POST", "/jobs/high/hold")
    ),
    "a held job is released": Scenario(
        prepare=done(submit("j", (P5, 1), (G5, 1)), ask("POST", "/jobs/j/hold"), tick),
        begin=ask("POST", "/jobs/j/release"),
    ),
    "jobs are listed": Scenario(prepare=done(*_BOTH_RUN, submit("j")), begin=ask("GET", "/jobs")),
    "a job is shown": Scenario(prepare=done(*_BOTH_RUN, submit("j")), begin=ask("GET", "/jobs/j")),
    "pools and teams change": Scenario(
        prepare=done(configure(POOLS, {"a": {}, "c": {}}), submit("j", (G5, 1), team="c")),
        begin=configure({P5: 1, P4: 1}, {"a": {}, "b": {}}),
    ),
    "a pool is paused": Scenario(prepare=done(submit("j")), begin=PAUSE),
    "a pool is drained": Scenario(prepare=done(*_BOTH_RUN, DRAIN), begin=tick),
    "a paused pool is drained": Scenario(prepare=done(*_BOTH_RUN, PAUSE, later(100)), begin=DRAIN),
    "a pool is resumed": Scenario(prepare=done(*_BOTH_RUN, DRAIN, tick), begin=RESUME),
    "a pool is resized": Scenario(
        prepare=done(configure(POOLS), *_BOTH_RUN), begin=ask("PATCH", f"/pools/{P5}", {"size": 1})
    ),
    "the configuration is changed after a change that died": Scenario(
        prepare=done(configure(POOLS), cut_edit, later(100)), begin=ask("PATCH", f"/pools/{P5}", {"size": 1})
    ),
    "a configuration is set that was made from the newest version": Scenario(
        prepare=done(configure(POOLS), tick), begin=configure_from(2, {P5: 1, G5: 2})
    ),
    "a configuration is applied that a tick finds": Scenario(
        prepare=done(configure(POOLS), tick, submit("j"), pools_edited), begin=tick
    ),
    "a configuration follows one that was not applied to its end": Scenario(
        prepare=done(configure(POOLS, {"a": {}}), tick, cut_teams, submit("j", team="c")),
        begin=configure(POOLS, {"a": {}}),
    ),
    "a launch is found in a pool that was paused": Scenario(
        prepare=done(submit("j"), cut_off, PAUSE, later(LEASE_S)), begin=tick
    ),
    "a launch that was never made is found in a pool that was paused": Scenario(
        prepare=done(submit("j"), cut_short, PAUSE, later(LEASE_S)), begin=tick
    ),
    # So far apart that the order does not depend on the functions' clocks: the first two start.
    "jobs start": Scenario(
        prepare=done(submit("a"), later(5), submit("b", (P5, 1), (G5, 2)), later(5), submit("c", (G5, 1))), begin=tick
    ),
    "two are preempted for one": Scenario(prepare=done(*_BOTH_RUN, submit("high", (P5, 2), priority=9)), begin=tick),
    "a job that was asked to stop is stopped": Scenario(
        prepare=done(*_training(submit("j")), ask("DELETE", "/jobs/j")), begin=tick
    ),
    "a launch without an answer is settled": Scenario(prepare=done(submit("j"), cut_off, later(LEASE_S)), begin=tick),
    "a launch that has to stop is given up": Scenario(
        prepare=done(
            submit("j"),
            cut_off,
            ask("DELETE", "/jobs/j"),
            later(LEASE_S),
        ),
        begin=tick,
    ),
    "a name is taken": Scenario(prepare=done(submit("j"), taken), begin=tick),
    "a training job of that name ends before a launch is settled": Scenario(
        prepare=done(submit("j"), taken, cut_short, finished, later(5)), begin=news
    ),
    "the bus does not take the first of two changes of a job": Scenario(
        prepare=done(submit("j"), tick, turns_away(1)), begin=changes
    ),
    "the bus takes no change of a job in one invocation": Scenario(
        prepare=done(submit("j"), turns_away(MAX_TRIES)), begin=changes
    ),
    "a preempted attempt has ended": Scenario(prepare=done(*STOPPING, later(200)), begin=news),
    "a job starts on what was freed for it": Scenario(prepare=done(*STOPPING, later(200), news, news), begin=tick),
    "a start is refused while its quota counts a job that has ended": Scenario(prepare=done(*_TRAILING), begin=tick),
    "a start that a quota has refused is made": Scenario(prepare=done(*_TRAILING, tick, later(450)), begin=tick),
    "what was freed for a job that left is released": Scenario(
        prepare=done(*STOPPING, later(200), news, news, ask("DELETE", "/jobs/high")), begin=tick
    ),
    "a job has completed": Scenario(prepare=done(*_training(submit("j")), later(900)), begin=news),
    "a job has failed": Scenario(
        prepare=done(*_training(submit("j", outcome="AlgorithmError: x")), later(900)), begin=news
    ),
    "a rogue job is found": Scenario(prepare=done(deaf, submit("a"), tick, bypass, later(5)), begin=patrol),
    "a rogue job is stopped": Scenario(
        prepare=done(deaf, configure(POOLS, rogues={"action": "stop"}), bypass_for_good, later(300)), begin=patrol
    ),
    "a rogue job has ended": Scenario(prepare=done(configure(POOLS), bypass, later(5), patrol, later(900)), begin=news),
    "an attempt that the table has lost is adopted": Scenario(
        prepare=done(
            configure(POOLS, {"a": {"limit": {P5: 2}}, "b": {}}),
            *(later(300), *_training(submit("low-1", team="b"), submit("low-2", team="b"))),
            submit("high", (P5, 2), priority=9, team="a"),
            *(tick, later(200), news, news, forgotten(tick), later(5)),
        ),
        begin=patrol,
    ),
    "the patrol has gone round after a restore": Scenario(prepare=done(configure(POOLS), restored()), begin=patrol),
    "the patrol has gone round after a restore of a paused queue": Scenario(
        prepare=done(configure(POOLS), restored(stays=True)), begin=patrol
    ),
    "a job waits for a launch while a patrol goes": Scenario(prepare=done(submit("j")), begin=patrol),
    "a job that trains gets its alarm": Scenario(prepare=done(*_idle()[:5]), begin=watch),
    "an idle job is found": Scenario(prepare=done(*_idle()), begin=watch),
    "an idle job is told that it is idle": Scenario(prepare=done(*_idle(watches=NOTIFIES)), begin=watch),
    "an alarm tells of an idle job": Scenario(prepare=done(*_idle()), begin=alarm),
    "an alarm tells late of a job that is busy again": Scenario(
        prepare=done(*_idle("0:0,600:720"), later(300), later(300)), begin=alarm
    ),
    "an alarm has outlived its job": Scenario(prepare=done(*_idle(), finished, heard), begin=watch),
    "an idle job that is requeued has ended": Scenario(
        prepare=done(*_idle(watches=_REQUEUES), watch, tick, later(200)), begin=news
    ),
    "spot interrupts a job once too often": Scenario(prepare=done(*_INTERRUPTED), begin=lambda queue: queue.hand_out()),
    "a job that leaves spot has ended": Scenario(prepare=done(*_INTERRUPTED, heard, tick, later(200)), begin=news),
    "a job that has left spot trains, and there are rules": Scenario(
        prepare=done(*_INTERRUPTED, heard, tick, later(200), configure(POOLS, rules=RULES), news, tick, later(5)),
        begin=lambda queue: queue.hand_out(),
    ),
    "nothing was heard of jobs that have ended": Scenario(prepare=done(deaf, *_BOTH_RUN, later(900)), begin=minute),
    "nothing was heard for long of a job that trains": Scenario(
        prepare=done(submit_spot("j"), tick, later(300), heard, later(200)), begin=minute
    ),
}
"""Situations by name."""
