"""The states in which an alarm has to ring, one or more for each, and what breaks in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headway.lifecycle import JobState
from headway_service.ports.table import Key, Put
from headway_service.store.records.base import LEDGER
from headway_service.store.records.job import JobRecord
from headway_verification.operations.deployment import OperatedDeployment
from headway_verification.refusals.jobs import P4, P5, Job, resources, several, submit

Act = Callable[[OperatedDeployment], None]
"""What happens to a queue, or who uses it."""

PLAN_ARN = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/spring"
DAY_MIN = 24 * 60
NEWER = 999
"""A version of stored records that no code writes yet."""


@dataclass(frozen=True, kw_only=True)
class AlarmState:
    """A state in which an alarm rings.

    Attributes:
        alarm: the alarm.
        what: what breaks, or what somebody does.
        within_min: in what time after it the alarm rings, min.
        pools: the size of each pool.
        settings: other members of the configuration document.
        jobs: those that run or wait before.
        break_: what breaks.
        each_minute: who uses the queue from then on.
        also: other alarms that may ring, as they tell of the same or of what follows from it.
        leap_h: how long it then is as it is before the alarms are looked at, h.
    """

    alarm: str
    what: str
    within_min: int
    break_: Act
    pools: Mapping[str, int] = field(default_factory=lambda: {P5: 4})
    settings: Mapping[str, Any] = field(default_factory=dict)
    jobs: tuple[Job, ...] = ()
    each_minute: Act = lambda _: None
    also: frozenset[str] = frozenset()
    leap_h: float = 0.0

    @property
    def document(self) -> dict[str, Any]:
        """The configuration document."""
        return {"pools": {pool: {"size": size} for pool, size in self.pools.items()}, **self.settings}


def crash(*functions: str) -> Act:
    """Functions crash from now on."""
    return lambda deployment: deployment.outages.crashing.update(functions)


def disable(*functions: str) -> Act:
    """The rules or mappings of functions are disabled."""
    return lambda deployment: deployment.outages.disabled.update(functions)


def outage(**changes: Any) -> Act:
    """Something else fails from now on; see :class:`Outages`."""

    def act(deployment: OperatedDeployment) -> None:
        for name, value in changes.items():
            setattr(deployment.outages, name, value)

    return act


def calls(number: int, method: str = "GET", path: str = "/capacity") -> Act:
    """So many calls a minute."""

    def act(deployment: OperatedDeployment) -> None:
        for _ in range(number):
            deployment.call(method, path)

    return act


def submits(*jobs: Job) -> Act:
    """Somebody submits jobs."""

    def act(deployment: OperatedDeployment) -> None:
        refused = submit(deployment, jobs)
        if refused:
            raise RuntimeError(f"not the state that it is said to be: {refused}")

    return act


def submits_every(minutes: int, **terms: Any) -> Act:
    """A job comes every so many minutes."""

    def act(deployment: OperatedDeployment) -> None:
        minute = int(deployment.now_s // 60)
        if minute % minutes == 0:
            submits(Job(name=f"at-{minute}", **terms))(deployment)

    return act


def call(method: str, path: str, body: Any = None) -> Act:
    """Somebody calls the API, and the call succeeds."""

    def act(deployment: OperatedDeployment) -> None:
        status, answer = deployment.call_api(method, path, body)
        if status >= 300:
            raise RuntimeError(f"{method} {path} was answered by {status}: {answer}")

    return act


def configures(**members: Any) -> Act:
    """An operator changes the configuration."""

    def act(deployment: OperatedDeployment) -> None:
        document = {**deployment.configuration.document, **members}
        deployment.configuration.write(document)
        deployment.wakes.append("the configuration")

    return act


def all_of(*acts: Act) -> Act:
    """Several things happen."""

    def act(deployment: OperatedDeployment) -> None:
        for each in acts:
            each(deployment)

    return act


def faults(**changes: Any) -> Act:
    """The fake SageMaker behaves otherwise from now on."""

    def act(deployment: OperatedDeployment) -> None:
        deployment.fleet.faults = deployment.fleet.faults.with_changes(changes)

    return act


def stores_newer_record(deployment: OperatedDeployment) -> None:
    """Newer code has written a record of the ledger."""
    key = Key(LEDGER, "attempt#of-newer-code")
    deployment.table.write([Put(item={"pk": key.pk, "sk": key.sk, "schema": NEWER})])
    deployment.wakes.append("newer code")


def stores_newer_job(deployment: OperatedDeployment) -> None:
    """Newer code has written a job."""
    key = JobRecord.key("of-newer-code")
    deployment.table.write([Put(item={"pk": key.pk, "sk": key.sk, "schema": NEWER})])


def damages_ended_job(deployment: OperatedDeployment) -> None:
    """An ended job cannot be read any more."""
    item = deployment.table.get(JobRecord.key("done")) or {}
    deployment.table.write([Put(item={**item, "history": "damaged"})])


def creates_outside(deployment: OperatedDeployment) -> None:
    """Somebody starts training jobs without the queue."""
    for number in range(3):
        request = Job(name=f"outside-{number}", run_h=100.0).body["jobDetails"]
        deployment.fleet.call("CreateTrainingJob", request, now=deployment.now_s)


def damages_when_ended(deployment: OperatedDeployment) -> None:
    item = deployment.table.get(JobRecord.key("done")) or {}
    if item.get("jobState") == JobState.COMPLETED and item["history"] != "damaged":
        damages_ended_job(deployment)
        deployment.outages.disabled.discard("reconcile")


def submits_for_plan(deployment: OperatedDeployment) -> None:
    if deployment.call_api("GET", "/jobs/planned")[0] != 200:
        request = {**resources({P4: 1}), "TrainingPlanArn": PLAN_ARN}
        deployment.call_api("POST", "/add-job", Job(name="planned", changes={"ResourceConfig": request}).body)


def removes_alarms(deployment: OperatedDeployment) -> None:
    """New jobs come, whose alarms cannot be made: those that there are are gone with their jobs."""
    names = [each["AlarmName"] for each in deployment.cloudwatch.describe()]
    deployment.cloudwatch.delete(names, now=deployment.now_s)


IDLE_WATCH = {"careless": {"belowPercent": 99, "warmUpSeconds": 0, "periodSeconds": 60, "periods": 1, "action": "stop"}}
BUSY = {"SANDBOX_RUN_SECONDS": "360000", "SANDBOX_GPU_UTILIZATION": "0:640"}
LONG = several(4, "long", run_h=100.0, limit_s=400_000)
_CRASHES = frozenset({"EventDeadLetters"})
_NOBODY_STARTS = frozenset({"WakeQueueAge", "QueueStalled", "WakeDeadLetters", "ScheduleFunctionErrors"})

STATES: tuple[AlarmState, ...] = (
    AlarmState(alarm="WakeDeadLetters", what="the scheduler crashes", within_min=10, break_=crash("schedule"),
        also=_NOBODY_STARTS),
    AlarmState(alarm="ScheduleFunctionErrors", what="the scheduler crashes", within_min=3, break_=crash("schedule"),
        also=_NOBODY_STARTS),
    AlarmState(alarm="WakeQueueAge", what="the scheduler's mapping is disabled", within_min=10,
        break_=disable("schedule"), also=_NOBODY_STARTS),
    AlarmState(alarm="QueueStalled", what="the scheduler is throttled while a job could start", within_min=15,
        break_=all_of(lambda deployment: deployment.outages.throttled.add("schedule"), submits(Job(name="waits"))),
        also=_NOBODY_STARTS | {"FunctionsThrottled"}),
    AlarmState(alarm="FunctionsThrottled", what="the account's concurrency is used up", within_min=6,
        break_=outage(throttled={"schedule", "reconcile", "patrol", "watch"}),
        also=_NOBODY_STARTS | {"GaugesMissing", "PatrolMissing", "WatchMissing", "EventDeadLetters"}),
    AlarmState(alarm="TickFailed", what="newer code has written a record of the ledger", within_min=6,
        break_=stores_newer_record, also=frozenset({"ReconcileFunctionErrors", "GaugesMissing", "EventDeadLetters"})),
    AlarmState(alarm="EventDeadLetters", what="an event cannot be handled", within_min=10, jobs=LONG,
        break_=lambda deployment: deployment.deliver({"TrainingJobStatus": "Stopped"}, 1)),
    AlarmState(alarm="ObserveFunctionErrors", what="the observer crashes while jobs end each minute", within_min=12,
        break_=crash("observe"), each_minute=submits_every(1, run_h=0.01), also=_CRASHES | {"EventsLost", "Neglected"}),
    AlarmState(alarm="ReconcileFunctionErrors", what="the reconciler crashes", within_min=6,
        break_=crash("reconcile"), also=_CRASHES | {"GaugesMissing"}),
    AlarmState(alarm="PatrolFunctionErrors", what="the patrol crashes", within_min=6, break_=crash("patrol"),
        also=_CRASHES),
    AlarmState(alarm="WatchFunctionErrors", what="the watcher crashes", within_min=6, break_=crash("watch"),
        also=_CRASHES),
    AlarmState(alarm="TellFunctionErrors", what="the teller crashes while jobs come", within_min=8,
        break_=crash("tell"), each_minute=submits_every(1, run_h=0.01), also=frozenset({"EventsLate"})),
    AlarmState(alarm="EventsLate", what="the event bus takes nothing", within_min=12, break_=outage(bus=True),
        each_minute=submits_every(1, run_h=0.01)),
    AlarmState(alarm="EventsUnsent", what="the mapping to the table's stream is disabled under jobs of 2 h",
        within_min=10 * 60, break_=disable("tell"), each_minute=submits_every(120, run_h=2.0)),
    AlarmState(alarm="Untold", what="newer code has written a job", within_min=3, break_=stores_newer_job),
    AlarmState(alarm="Unaccounted", what="an ended job is damaged before it was added to the sums", within_min=15,
        jobs=(), break_=all_of(disable("reconcile"), submits(Job(name="done", run_h=0.01))),
        each_minute=damages_when_ended,
        also=frozenset({"GaugesMissing", "Untold"})),
    AlarmState(alarm="GaugesMissing", what="the reconciler's rule is disabled", within_min=12,
        break_=disable("reconcile")),
    AlarmState(alarm="GaugesMissing", what="the reconciler's log group is gone", within_min=12,
        break_=outage(without_logs={"reconcile"})),
    AlarmState(alarm="PatrolMissing", what="the patrol's rule is disabled", within_min=12, break_=disable("patrol")),
    AlarmState(alarm="WatchMissing", what="the watcher's rule is disabled", within_min=12, break_=disable("watch")),
    AlarmState(alarm="ApiFunctionErrors", what="the API function crashes", within_min=3, break_=crash("api"),
        each_minute=calls(2), also=frozenset({"ApiServerErrors"})),
    AlarmState(alarm="ApiServerErrors", what="the API function crashes", within_min=15, break_=crash("api"),
        each_minute=calls(2), also=frozenset({"ApiFunctionErrors"})),
    AlarmState(alarm="UnexpectedErrors", what="one submitter, who calls every ten minutes, meets an error in the code",
        within_min=15, break_=outage(api_error=RuntimeError("an error in the code")),
        each_minute=lambda deployment: calls(int(deployment.now_s // 60 % 10 == 0))(deployment)),
    AlarmState(alarm="ApiSlow", what="the table takes 6 s for each call of the API", within_min=25,
        break_=outage(api_call_s=6.0), each_minute=calls(1)),
    AlarmState(alarm="CallsRefused", what="everybody is denied", within_min=45, break_=outage(refuses_callers=403),
        each_minute=calls(10)),
    AlarmState(alarm="CallsRefused", what="everybody is throttled", within_min=45,
        break_=outage(refuses_callers=429), each_minute=calls(10)),
    AlarmState(alarm="TableThrottled", what="DynamoDB throttles the table", within_min=8,
        break_=outage(table="throttles"),
        also=frozenset({"GaugesMissing", "ReconcileFunctionErrors", "PatrolFunctionErrors", "WatchFunctionErrors",
                        "TickFailed", "EventDeadLetters"})),
    AlarmState(alarm="TableErrors", what="DynamoDB fails", within_min=8, break_=outage(table="fails"),
        also=frozenset({"GaugesMissing", "ReconcileFunctionErrors", "PatrolFunctionErrors", "WatchFunctionErrors",
                        "TickFailed", "EventDeadLetters"})),
    AlarmState(alarm="UnlaunchableJobs", what="the quota is below the pool", within_min=30,
        break_=all_of(faults(quotas={P5: 0}), submits(Job(name="refused")))),
    AlarmState(alarm="StuckAttempts", what="SageMaker shows no instances and no end for hours", within_min=90,
        break_=all_of(faults(capacity={P5: 0}, capacity_wait_s=1e6), submits(Job(name="starts"))),
        also=frozenset({"UnlaunchableJobs"})),
    AlarmState(alarm="CapacityDrift", what="SageMaker denies DescribeTrainingJob and ListTrainingJobs", within_min=60,
        jobs=LONG, break_=outage(sagemaker={"DescribeTrainingJob", "ListTrainingJobs"}),
        also=frozenset({"PatrolFunctionErrors", "EventDeadLetters"})),
    AlarmState(alarm="EventsLost", what="the rule for SageMaker's events is disabled while jobs end", within_min=4 * 60,
        break_=disable("observe"), each_minute=submits_every(15, run_h=0.1), also=frozenset({"Neglected"})),
    AlarmState(alarm="Neglected", what="the rule for SageMaker's events is disabled under jobs of 100 h", within_min=60,
        break_=all_of(disable("observe"), submits(*LONG))),
    AlarmState(alarm="Neglected", what="a pause has been forgotten", within_min=45, leap_h=24,
        break_=call("POST", f"/pools/{P5}/pause", {"reason": "maintenance"})),
    AlarmState(alarm="Neglected", what="jobs wait for a training plan that is gone", within_min=45,
        pools={P5: 4}, break_=configures(pools={P5: {"size": 4}, f"{P4}.plan.spring": {"plan": PLAN_ARN}}),
        each_minute=submits_for_plan, also=frozenset({"TickFailed"})),
    AlarmState(alarm="Neglected", what="training jobs outside the queue fill a pool", within_min=60,
        break_=all_of(creates_outside, submits(*several(5, "waits", run_h=100.0, limit_s=400_000)))),
    AlarmState(alarm="Neglected", what="a job wants more than the pool has now, beside free instances", within_min=45,
        break_=all_of(submits(Job(name="large", demand={P5: 4}, priority=1)), configures(pools={P5: {"size": 3}})),
        jobs=(Job(name="one", run_h=100.0, limit_s=400_000),)),
    AlarmState(alarm="Unwatched", what="the account's quota of alarms is used up", within_min=50, jobs=LONG,
        break_=outage(alarms=True), each_minute=removes_alarms),
    AlarmState(alarm="WatchStops", what="a watch on 99 % without a warm-up stops what runs", within_min=20,
        pools={P5: 8}, jobs=several(8, "busy", run_h=100.0, limit_s=400_000, changes={"Environment": BUSY}),
        break_=configures(watches=IDLE_WATCH)),
)  # fmt: skip
"""All of them, in the order of the runbook's subjects."""
