"""Steps that bring a queue into a situation: invocations, and direct changes of its surroundings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from headway.days import Period, day_of, month_of
from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.inprocess.lambda_loader import event
from headway_sandbox.sagemaker.capacity.training_plan import Block, TrainingPlan
from headway_sandbox.sagemaker.request_builder import G5, P5, training_request
from headway_sandbox.sagemaker.run_script import GPU_UTILIZATION
from headway_service.accounting.records import add_figures
from headway_service.bootstrap.settings import MAX_LAUNCHES_AT_ONCE
from headway_service.ports.table import Delete, Key, Put
from headway_service.sagemaker_api.tags import NOT_BEFORE_TAG, START_BY_TAG
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger, read_pools
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.records.feed import FEED_KEPT_S, FeedEntry, FeedHead
from headway_service.store.records.queue_count import QueueCountRecord
from headway_service.store.records.queue_entry import QueueEntry
from headway_verification.soak.cooperative_scheduler import Process, Thread, ThreadChoice
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.faults.plan import Fault
from headway_verification.soak.stream_consumers import Batch
from headway_verification.soak.training_plan import INSTANCES, NAME
from headway_verification.soak.workload.configurations import document_of
from headway_verification.soak.workload.requests import REUSED_INPUT

P4 = "ml.p4d.24xlarge"
POOLS = {P5: 2, G5: 2}

ENDLESS_S = 1_000_000
"""The run time of a training job that does not end within a trial: it has to be stopped."""

Begin = Callable[[Deployment], Process]
"""Starts an invocation."""

Step = Callable[[Deployment], Process | None]
"""Starts an invocation, or performs an action immediately."""


def tick(queue: Deployment) -> Process:
    """Start the schedule function."""
    return queue.begin("schedule", event("schedule"))


def tick_after(seconds: float) -> Begin:
    """Let time pass, and start the schedule function.

    Args:
        seconds: the time that passes before it starts, s.
    """

    def begin(queue: Deployment) -> Process:
        queue.let_pass(seconds)
        return tick(queue)

    return begin


def reconcile(queue: Deployment) -> Process:
    """Start the reconcile function."""
    return queue.begin("reconcile", event("reconcile"))


def patrol(queue: Deployment) -> Process:
    """Start the patrol function."""
    return queue.begin("patrol", event("patrol"))


def watch(queue: Deployment) -> Process:
    """Start the watch function."""
    return queue.begin("watch", event("watch"))


def deliver_alarm(queue: Deployment) -> Process:
    """Start the watch function with the next alarm message."""
    return queue.deliver_alarm()


def count_pauses(queue: Deployment) -> None:
    """Count the pauses of all pools, as an hour after a deployment."""
    for pool in read_pools(queue.table):
        queue.write_by_hand(transitions.begin_to_count_pauses(pool, 0))


def begin_chain(queue: Deployment) -> None:
    """Let entries of the feed be a chain, as an hour after a deployment."""
    last = int(START_S * 1000) - 1
    begins = FeedEntry(position=last, next=last + 1, is_link=True, events=(), expires_at=int(START_S) + FEED_KEPT_S)
    queue.write_by_hand([FeedHead(last=last, chained_from_ms=0).put(None), begins.put()])


def undercount(queue: Deployment) -> None:
    """Store a count of a queue that is too low, as after jobs that have entered without being added."""
    count = QueueCountRecord(items=1, counted_ms=queue.clock(), others=1)
    queue.write_by_hand([count.put(QueueEntry.partition(P5))])


def submit_idle(name: str, profile: str = "0:0", run_s: int = 3000) -> Begin:
    """Submit a job that does not use its GPUs, at least initially.

    Args:
        name: the name of the job.
        profile: its GPU utilization profile.
        run_s: its run time, s.
    """
    request = training_request(name, [(P5, 1)], run_s=run_s)
    request["Environment"][GPU_UTILIZATION] = profile

    return lambda queue: queue.submit(request)


def answer_together(first: int) -> Step:
    """Let a tick begin all launches that it may before the first is answered, and settle them when all are.

    Args:
        first: the launch that SageMaker answers first; the others follow in turn.
    """

    def choose(threads: Sequence[Thread]) -> Thread:
        calls = [thread for thread in threads if thread.number]
        return threads[0] if threads[0].begins else min(calls or threads, key=lambda thread: _turn(thread, first))

    return _order_threads(choose)


def answer_in_turn(first: int) -> Step:
    """The same, but let it settle each launch when it is answered.

    Args:
        first: the launch that SageMaker answers first; the others follow in turn.
    """

    def choose(threads: Sequence[Thread]) -> Thread:
        return threads[0] if not threads[0].number else min(threads, key=lambda thread: _turn(thread, first))

    return _order_threads(choose)


def _order_threads(choose: ThreadChoice) -> Step:
    def order(queue: Deployment) -> None:
        queue.processes.choose_thread = choose

    return order


def _turn(thread: Thread, first: int) -> int:
    """The turn of a launch: those from the first one on, and then those before it."""
    return (thread.number - first) % MAX_LAUNCHES_AT_ONCE


def throttle_launches(calls: int) -> Step:
    """Let SageMaker turn away the next launches.

    Args:
        calls: their number.
    """

    def throttle(queue: Deployment) -> None:
        queue.fleet.faults = queue.fleet.faults.with_changes({"throttle": {"CreateTrainingJob": calls}})

    return throttle


def submit_spot(name: str) -> Begin:
    """Submit a job on spot instances."""
    request = training_request(name, [(P5, 1)], run_s=600)
    request["EnableManagedSpotTraining"] = True
    request["StoppingCondition"]["MaxWaitTimeInSeconds"] = request["StoppingCondition"]["MaxRuntimeInSeconds"]

    return lambda queue: queue.submit(request)


def submit_kept(name: str, count: int = 1, *, priority: int = 0, run_s: int = 30, outcome: str = "complete") -> Begin:
    """Submit a job whose instances are kept after its end.

    Args:
        name: the name of the job.
        count: the number of its instances.
        run_s: its run time, s.
        outcome: the outcome of its training.
    """
    tags = {"priority": str(priority)}
    request = training_request(name, [(P5, count)], run_s=run_s, outcome=outcome, tags=tags)
    request["ResourceConfig"]["KeepAlivePeriodInSeconds"] = 3600

    return lambda queue: queue.submit(request)


def submit(
    name: str,
    *demand: tuple[str, int],
    priority: int = 0,
    team: str = "",
    outcome: str = "complete",
    run_s: int = 30,
    max_runtime_s: int = 86_400,
    checkpoints: str = "",
) -> Begin:
    """Submit a job.

    Args:
        name: the name of the job.
        demand: its instances; one of the first pool by default.
        team: its team; empty without one.
        outcome: the outcome of its training.
        run_s: its run time, s.
        max_runtime_s: its MaxRuntimeInSeconds.
        checkpoints: the folder of its checkpoints; empty for none.
    """
    tags = {"priority": str(priority), **({"team": team} if team else {})}
    request = training_request(name, demand or [(P5, 1)], run_s=run_s, outcome=outcome, tags=tags)
    request["StoppingCondition"]["MaxRuntimeInSeconds"] = max_runtime_s
    if checkpoints:
        request["CheckpointConfig"] = {"S3Uri": f"s3://jobs/{checkpoints}"}

    return lambda queue: queue.submit(request)


def submit_batch(*names: str) -> Begin:
    """Submit jobs of an instance each in one call.

    Args:
        names: their names.
    """
    requests = [training_request(name, [(P5, 1)], run_s=30) for name in names]

    return lambda queue: queue.submit_batch(requests)


def submit_after(name: str, *others: str, team: str = "") -> Begin:
    """Submit a job that depends on others.

    Args:
        name: the name of the job.
        others: the other jobs, each as ``JOB`` or ``JOB:CONDITION``.
        team: its team; empty without one.
    """
    request = training_request(name, [(P5, 1)], run_s=30, tags={"team": team} if team else {})
    depends_on = [dict(zip(("job", "condition"), each.split(":"), strict=False)) for each in others]
    channels = [
        {"ChannelName": job, "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": _model_of(job)}}}
        for job in others
        if ":" not in job
    ]
    if channels:
        request["InputDataConfig"] = channels

    return lambda queue: queue.submit(request, dependsOn=depends_on)


def submit_timed(
    name: str, *, not_before_s: int | None = None, start_by_s: int | None = None, team: str = "", **more: Any
) -> Begin:
    """Submit a job with times.

    Args:
        name: the name of the job.
        not_before_s: so long after the submission it enters the queue, s; None for at once.
        start_by_s: so long after the submission it has to have started, s; None for any time.
        team: its team; empty without one.
        more: what belongs to it beside its request.
    """

    def begin(queue: Deployment) -> Any:
        times = {NOT_BEFORE_TAG: not_before_s, START_BY_TAG: start_by_s}
        tags = {
            key: datetime.fromtimestamp(queue.now_s + after_s, UTC).isoformat()
            for key, after_s in times.items()
            if after_s is not None
        }
        request = training_request(name, [(P5, 1)], run_s=30, tags={**tags, **({"team": team} if team else {})})
        if "reuse" in more:
            request["InputDataConfig"] = [REUSED_INPUT]
        return queue.submit(request, **more)

    return begin


def submit_sweep(name: str, count: int, *, run_s: int = 30, priority: int = 0, team: str = "", **more: Any) -> Begin:
    """Submit an array.

    Args:
        name: the name of the array.
        count: how many members it has.
        run_s: their run time, s.
        priority: their priority.
        team: their team; empty without one.
        more: further members of the body.
    """
    tags = {"priority": str(priority), **({"team": team} if team else {})}
    request = training_request(name, [(P5, 1)], run_s=run_s, tags=tags)
    return lambda queue: queue.submit(request, sweep={"grid": {"seed": [*range(count)]}}, **more)


def submit_reusing(name: str, team: str = "") -> Begin:
    """Submit a job that may be answered by an equal one: all of these are equal.

    Args:
        name: the name of the job.
        team: its team; empty without one.
    """
    tags = {"team": team} if team else {}
    request = {**training_request(name, [(P5, 1)], run_s=30, tags=tags), "InputDataConfig": [REUSED_INPUT]}

    return lambda queue: queue.submit(request, reuse=True, reuseUnpinned=True)


def write_input(queue: Deployment) -> None:
    """Write the input of all these jobs again, with another content."""
    queue.s3.write_input(b"changed")


def touch_input(queue: Deployment) -> None:
    """Write the input of all these jobs again, with the same content."""
    queue.s3.write_input(b"")


def _model_of(job: str) -> str:
    """Return the template of a job's model."""
    return f"{{{{ jobs.{job}.model }}}}"


def ask(method: str, path: str, body: Any = None) -> Begin:
    """Call the API.

    Args:
        method: the HTTP method.
        body: the JSON body; None without one.
    """
    return lambda queue: queue.ask(method, path, body)


def forget(token: str) -> Begin:
    """Forget the caller of all other steps.

    Args:
        token: where to continue; empty to begin.
    """
    owner = event("api-submit")["requestContext"]["identity"]["userArn"]
    query = {"nextToken": [token]} if token else None
    return lambda queue: queue.ask("POST", "/forget", {"owner": owner}, query=query)


def configure(sizes: Mapping[str, int], teams: Mapping[str, Any] | None = None, **rules: Any) -> Begin:
    """Replace the configuration unconditionally.

    Args:
        sizes: the number of instances of each pool.
        rules: further members of the document.
    """
    document = document_of(sizes, teams or {}, **rules)

    return lambda queue: queue.ask("PUT", "/config", document, headers={"If-Match": "*"})


def configure_from(version: int, sizes: Mapping[str, int]) -> Begin:
    """Replace the configuration, based on a version.

    Args:
        version: the base version.
        sizes: the number of instances of each pool.
    """
    return ask("PUT", "/config", {**document_of(sizes, {}), "version": version})


def deliver_end(queue: Deployment) -> Process:
    """Start the observe function with the next event of a training job's end."""
    return queue.deliver_event(ended=True)


def publish_changes(queue: Deployment) -> Process:
    """Start the function that publishes the events of the stream."""
    return queue.deliver_changes()


def run_steps(*steps: Step) -> Callable[[Deployment], None]:
    """Run the steps in order, without disturbances."""

    def prepare(queue: Deployment) -> None:
        for step in steps:
            process = step(queue)
            if process is not None:
                queue.finish(process)

    return prepare


def sell_plan(unhealthy: int = 0) -> Step:
    """Give the account a training plan with instances for a month, or change it.

    Args:
        unhealthy: the number of its instances that are unhealthy.
    """

    def sell(queue: Deployment) -> None:
        block = Block(start=queue.now_s - 60, end=queue.now_s + 30 * 86_400)
        plan = TrainingPlan(name=NAME, instance_type=P5, instance_count=INSTANCES, blocks=(block,), unhealthy=unhealthy)
        queue.fleet.put_plan(plan, now=queue.now_s)

    return sell


def count_too_much(figure: str) -> Step:
    """Add 1 to a figure of the jobs without a team, on the day of the start and in its month, as a restore may."""
    day = day_of(int(START_S * 1000))
    periods = (Period(month=month_of(day), day=day), Period(month=month_of(day)))

    def count(queue: Deployment) -> None:
        queue.table.write([add_figures("team", period, "", {figure: 1}) for period in periods])

    return count


def repair(figure: str, revision: int) -> Begin:
    """Repair such a figure.

    Args:
        revision: how many repairs of the month there were.
    """
    difference = {"name": "", "figure": figure, "stored": 1, "computed": 0}
    day = day_of(int(START_S * 1000)).isoformat()
    return ask("POST", "/usage/repair", {"by": "team", "day": day, "revision": revision, "differences": [difference]})


def check_use(pool: str, most: int) -> Step:
    """Check that no more instances run on in a pool than it has.

    Args:
        most: the number of its instances.
    """
    return lambda queue: queue.invariants.check_use(pool, most, queue.now_s)


def keep_alive(name: str, period_s: int) -> Step:
    """Change how long SageMaker keeps a warm pool, bypassing the queue.

    Args:
        name: the job that left it.
        period_s: how long it is kept from now on, s; 0 ends it.
    """

    def change(queue: Deployment) -> None:
        attempt = next(each for each in read_ledger(queue.table).warm_pools if each.job_name == name)
        queue.fleet.keep_alive(attempt.attempt_name, period_s, now=queue.now_s)

    return change


def leave_running(begin: Begin, calls: int) -> Step:
    """Start an invocation that ends after all others.

    Args:
        begin: starts the invocation.
        calls: the calls that it makes before the others go on.
    """
    return lambda queue: queue.advance_by(begin(queue), calls)


def wait(seconds: float) -> Step:
    """Let time pass, without the functions that run every minute."""
    return lambda queue: queue.let_pass(seconds)


def crash_after_launch(queue: Deployment) -> None:
    """Run a tick that crashes right after its first launch."""
    queue.faults.planned = lambda operation: Fault.CRASH_AFTER if operation == "CreateTrainingJob" else Fault.NONE
    queue.finish(tick(queue))
    queue.faults.planned = None


def crash_before_launch(queue: Deployment) -> None:
    """Run a tick that crashes right before its first launch."""
    queue.faults.planned = lambda operation: Fault.CRASH_BEFORE if operation == "CreateTrainingJob" else Fault.NONE
    queue.finish(tick(queue))
    queue.faults.planned = None


def crash_in_change(sizes: Mapping[str, int], teams: Mapping[str, Any]) -> Step:
    """Replace the configuration by a call that crashes before pools and teams follow.

    Args:
        sizes: the number of instances of each pool.
    """

    def step(queue: Deployment) -> None:
        queue.faults.planned = lambda operation: Fault.CRASH_AFTER if operation == "TransactWriteItems" else Fault.NONE
        queue.finish(configure(sizes, teams)(queue))
        queue.faults.planned = None

    return step


def tick_with_refused_launch(queue: Deployment) -> Process:
    """Start a tick whose first launch SageMaker rejects."""

    def first(operation: str) -> Fault:
        if operation != "CreateTrainingJob":
            return Fault.NONE
        queue.faults.planned = None
        return Fault.REFUSED

    queue.faults.planned = first
    return tick(queue)


def deliver_last_event(queue: Deployment) -> Process:
    """Deliver the last event that is due, after all others."""
    process = queue.deliver_event()
    while queue.has_events:
        queue.finish(process)
        process = queue.deliver_event()
    return process


def deliver_events(queue: Deployment) -> None:
    """Deliver all events that are due."""
    while queue.has_events:
        queue.finish(queue.deliver_event())


def deliver_changes(first: int = 0, end: int = 0) -> Begin:
    """Start the tell function with records of the stream.

    Args:
        first: the first of them.
        end: the first that is not among them; 0 for all that are due.
    """
    return lambda queue: queue.deliver_changes(Batch(first, end) if end else None)


def reject_entries(entries: int) -> Step:
    """Let the event bus reject the next entries."""

    def happen(queue: Deployment) -> None:
        queue.consumers.rejections = entries

    return happen


def interrupt_spot(queue: Deployment) -> None:
    """Interrupt all training jobs, as for spot instances."""
    for job in queue.fleet.jobs(now=queue.now_s):
        if job.secondary == "Training":
            queue.fleet.interrupt(job.name, now=queue.now_s)
    queue.let_pass(1)


def complete_training(queue: Deployment) -> None:
    """Complete all training jobs."""
    for job in queue.fleet.jobs(now=queue.now_s):
        if not job.ended:
            queue.fleet.finish(job.name, now=queue.now_s)
    queue.let_pass(1)


def drop_events(queue: Deployment) -> None:
    """Drop all further events."""
    queue.fleet.faults = queue.fleet.faults.with_changes({"event_drop": 1.0})


def hide_training_jobs(queue: Deployment) -> None:
    """Hide the training jobs for a while."""
    queue.fleet.faults = queue.fleet.faults.with_changes({"describe_lag_s": 10_000, "list_lag_s": 10_000})


def raise_warm_pool_quota(lag_s: float = 0.0) -> Step:
    """Let SageMaker keep warm pools.

    Args:
        lag_s: how long after its job's end it does not show one.
    """

    def act(queue: Deployment) -> None:
        changes = {"warm_pool_quotas": {P5: 9, G5: 9}, "warm_pool_lag_s": lag_s}
        queue.fleet.faults = queue.fleet.faults.with_changes(changes)

    return act


def deny_launches(queue: Deployment) -> None:
    """Let a policy deny each launch, for good."""
    denials = {"each": {"absent": "VpcConfig"}}
    queue.fleet.faults = queue.fleet.faults.with_changes({"denials": denials})


def exhaust_capacity(queue: Deployment) -> None:
    """Let SageMaker have no more instances than are in use: further training jobs wait for them."""
    held = {**dict.fromkeys((P5, G5), 0), **queue.fleet.in_use()}
    queue.fleet.faults = queue.fleet.faults.with_changes({"capacity": held, "capacity_wait_s": 1_000_000.0})


def provide_capacity(queue: Deployment) -> None:
    """End a lack of capacity."""
    queue.fleet.faults = queue.fleet.faults.with_changes({"capacity": {}})


def back_off(pool: str, seconds: float) -> Step:
    """Let a pool back off, as after refused launches of other jobs.

    Args:
        seconds: how long from now on, s.
    """

    def happen(queue: Deployment) -> None:
        known = next(each for each in read_ledger(queue.table).pools if each.pool == pool)
        until_ms = queue.clock() + round(seconds * 1000)
        queue.write_by_hand(transitions.back_off(known.model_copy(update={"backoff_until_ms": until_ms})))

    return happen


def delay_quota_release(queue: Deployment) -> None:
    """Let ended jobs count for a while against a quota of the size of the pool."""
    queue.fleet.faults = queue.fleet.faults.with_changes({"quotas": {P5: POOLS[P5]}, "quota_lag_s": 400})


def take_name(queue: Deployment) -> None:
    """Create an unrelated training job called ``j``."""
    queue.fleet.create(training_request("j", [("ml.c5.xlarge", 1)], run_s=60), now=queue.now_s)


def bypass_queue(queue: Deployment, run_s: int = 300) -> None:
    """Create a rogue training job called ``j`` on an instance of the queue.

    Args:
        run_s: the run time of the training job, s.
    """
    queue.fleet.create(training_request("j", [(P5, 1)], run_s=run_s), now=queue.now_s)


def bypass_queue_endlessly(queue: Deployment) -> None:
    """Create a rogue training job as :func:`bypass_queue` does, which does not end by itself."""
    bypass_queue(queue, ENDLESS_S)


def roll_back(*steps: Step) -> Step:
    """Run the steps, and then restore the table to its previous state."""

    def happen(queue: Deployment) -> None:
        before = {Key(item["pk"], item["sk"]): dict(item) for item in queue.table.items()}
        run_steps(*steps)(queue)
        queue.invariants.table_restored()
        queue.consumers.follower.begin_again()
        after = {Key(item["pk"], item["sk"]) for item in queue.table.items()}
        for key in sorted(after - before.keys()):
            queue.write_by_hand([Delete(key=key)])
        with queue.table.restored():
            for item in before.values():
                queue.write_by_hand([Put(item=item)])

    return happen


def restore(*, stays: bool = False) -> Step:
    """Pause all pools for a restore of the table.

    Args:
        stays: whether the pools were already paused before the restore.
    """

    def happen(queue: Deployment) -> None:
        now_ms, key = queue.clock(), PauseRecord.key(PauseRecord.EVERYTHING)
        pause = PauseRecord(
            pool=PauseRecord.EVERYTHING, by="restore", reason="x", since_ms=now_ms, restored_ms=now_ms, stays=stays
        )
        queue.write_by_hand([Put(item={"pk": key.pk, "sk": key.sk, **pause.fields()})])
        queue.check()
        queue.let_pass(VISIBLE_AFTER_S + 1)

    return happen
