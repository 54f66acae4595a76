"""A simulated deployment whose functions are interleaved call by call, with faults in every adapter and message."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache, partial
from http import HTTPStatus
from random import Random
from typing import Any

from headway_sandbox.cloudwatch.memory_cloudwatch import AlarmTransition as AlarmChange
from headway_sandbox.inprocess.deployment import (
    ALARM_PREFIX,
    ALARM_TOPIC_ARN,
    EVERY_MINUTE,
    START_S,
    SimulatedDeployment,
)
from headway_sandbox.inprocess.lambda_functions import TIMEOUT_S
from headway_sandbox.inprocess.lambda_loader import event, http_event
from headway_sandbox.inprocess.queue_configuration import QueueConfiguration
from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.aws.cloudwatch_alarms import CloudWatchAlarms
from headway_service.aws.cloudwatch_training_metrics import CloudWatchTrainingMetrics
from headway_service.aws.sagemaker_training_jobs import SageMakerTrainingJobs
from headway_service.aws.sagemaker_training_plans import SageMakerTrainingPlans
from headway_service.errors import RetryLater, UnreadableRecord
from headway_service.launching.report import TickReport
from headway_service.pools.config_history import get_record
from headway_service.ports.alarms import Alarms
from headway_service.ports.objects import Objects
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.ports.role_permissions import RolePermissions
from headway_service.ports.table import Key, Table, Write
from headway_service.ports.training_jobs import AllTrainingJobs
from headway_service.ports.training_metrics import TrainingMetrics
from headway_service.ports.training_plans import TrainingPlans
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_verification.soak.cooperative_scheduler import (
    CooperativeCalls,
    CooperativeScheduler,
    Process,
    current,
)
from headway_verification.soak.faults.injection import FaultInjector, FaultyCloudWatch, FaultySqs
from headway_verification.soak.faults.objects import OUTPUTS, FaultyObjects
from headway_verification.soak.faults.plan import FaultPlan
from headway_verification.soak.faults.refusals import LastingRefusals
from headway_verification.soak.faults.role_permissions import NotedRolePermissions
from headway_verification.soak.faults.sagemaker import FaultySageMaker
from headway_verification.soak.faults.table import FaultyTable
from headway_verification.soak.faults.tempers import Temper
from headway_verification.soak.invariants.liveness.queue import Liveness
from headway_verification.soak.invariants.past_use import PastUseWatchedTable
from headway_verification.soak.invariants.queue import Invariants, is_own
from headway_verification.soak.stream_consumers import Batch, StreamConsumers
from headway_verification.soak.violations import Violated

RECONCILE_AFTER_S = 120
"""Shorter than the default of template.yaml, so that runs need less virtual time."""

MAX_DELIVERIES = 3
"""Deliveries of an event to its function before it goes to the dead-letter queue, as with Lambda."""

ENDED = frozenset({"Completed", "Failed", "Stopped"})
"""Final statuses of training jobs."""

MAX_SKEW_S = 2.0
"""The largest clock error of a function; leases allow for 5 s between two functions."""

_current: dict[str, Callable[[str, Mapping[str, Any]], Mapping[str, Any]]] = {}


@cache
def _shared_client(service: str) -> Any:
    """Return a client shared by all deployments of this process: creating one takes longer than a whole run."""

    def answer(operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        return _current[service](operation, request)

    return stub_client(service, answer)


@dataclass(order=True)
class _Delivery:
    due_s: float
    number: int
    detail: Mapping[str, Any]
    tries: int = 0
    poison: bool = False


class Deployment(SimulatedDeployment[PastUseWatchedTable]):
    """A queue in which every call can fail and every message can be lost.

    Args:
        random: determines everything that the faults do not.
        pools: the number of instances of each pool.
        faults: selects the fault of each call; None for a plan from ``random``.
        refusals: what SageMaker refuses for hours; None for nothing.

    Attributes:
        liveness: checks that the queue goes on, and what the API says of it.
        checks_liveness: whether it does so after each step.
        log: what happened: time, subject, description.
        accepted: the names of jobs whose submission was on_answer.
        failures: exceptions that left a handler or made a tick fail, by function and kind.
        answers: status codes of the API.
    """

    def __init__(
        self,
        random: Random,
        pools: Mapping[str, int],
        faults: FaultPlan | None = None,
        refusals: LastingRefusals | None = None,
    ) -> None:
        document = {"pools": {pool: {"size": size} for pool, size in pools.items()}}
        super().__init__(
            PastUseWatchedTable(),
            document,
            fleet=FakeSageMaker(rng=random),
            random=random,
            reconcile_after_s=RECONCILE_AFTER_S,
        )
        self.container.settings = replace(self.container.settings, checkpoint_buckets=(OUTPUTS,))
        self.random = random
        self.log: list[tuple[float, str, str]] = []
        self.accepted: set[str] = set()
        self.failures: Counter[tuple[str, str]] = Counter()
        self._failed_tick: Exception | None = None
        #: Whether a test has damaged records.
        self.is_damaged = False
        self._broken_tick: Violated | None = None
        self.answers: Counter[int] = Counter()
        self.faults = faults or FaultPlan(random)
        self.processes = CooperativeScheduler(random, self.faults.rates.switch)
        self.invariants = Invariants(self.table, self.fleet, self.cloudwatch)
        self.liveness = Liveness(self.table, self.fleet)
        self.checks_liveness = False
        self._refusals = refusals
        #: The account without what it refuses for hours.
        self._account = self.fleet.faults
        self._edge = edge = FaultInjector(self.faults, self.note, lambda: self.now_s)
        _current["sagemaker"] = FaultySageMaker(
            self.fleet,
            edge,
            lambda: self.now_s,
            random,
            answered=self._note_answer,
        )
        _current["cloudwatch"] = FaultyCloudWatch(self.cloudwatch, edge, lambda: self.now_s)
        self.consumers = StreamConsumers(self.table, edge, self.faults, Random(random.random()), self.clock)
        self.s3 = FaultyObjects(self.fleet, edge, lambda: self.now_s)
        self.invariants.reuse.input_reads = self.s3.input_reads
        self.invariants.reuse.input_writes = self.s3.input_writes
        self._edge_table = FaultyTable(self.table, edge, random, written=self._note_write)
        # Its writes reach the readers of the index, too.
        self.configuration = QueueConfiguration(self._edge_table, document, self.clocks)
        #: See :meth:`set_temper`.
        self.temper: Temper = {}
        self._events: list[_Delivery] = []
        #: Alarm messages that have not been delivered: time of delivery and text.
        self._alarms: list[tuple[float, str]] = []
        self._numbers = 0
        self._minute_s = self.now_s

    # ------------------------------------------------------------------------------------------------- the adapters

    def _note_answer(self, attempt: str, code: str, text: str) -> None:
        named = (each for each in self.fleet.jobs(now=self.now_s) if each.name == attempt)
        if code and any(not is_own(each) for each in named):
            # It is refused for its name, whatever the code says.
            return
        self.liveness.launches.answered(attempt, code, self.now_s, text, by=current())

    def _note_write(self, keys: Iterable[Key]) -> None:
        for key in keys:
            if key.sk.startswith("attempt#"):
                name, item = key.sk.removeprefix("attempt#"), self.table.get(key)
                self.liveness.launches.written(name, (item or {}).get("stopCause"), by=current())

    def make_table(self) -> Table:
        """See :class:`SimulatedDeployment`."""
        return self._edge_table

    def make_training_jobs(self) -> AllTrainingJobs:
        """See :class:`SimulatedDeployment`."""
        return SageMakerTrainingJobs(_shared_client("sagemaker"))

    def make_training_plans(self) -> TrainingPlans:
        """See :class:`SimulatedDeployment`."""
        return SageMakerTrainingPlans(_shared_client("sagemaker"))

    def make_parallel_calls(self) -> AbstractContextManager[ParallelCalls]:
        """See :class:`SimulatedDeployment`."""
        return CooperativeCalls()

    def make_alarms(self) -> Alarms:
        """See :class:`SimulatedDeployment`."""
        return CloudWatchAlarms(_shared_client("cloudwatch"), ALARM_PREFIX, ALARM_TOPIC_ARN)

    def make_training_metrics(self) -> TrainingMetrics:
        """See :class:`SimulatedDeployment`."""
        return CloudWatchTrainingMetrics(_shared_client("cloudwatch"))

    def make_objects(self) -> Objects:
        """See :class:`SimulatedDeployment`."""
        return self.s3

    def make_role_permissions(self) -> RolePermissions:
        """See :class:`SimulatedDeployment`."""
        return NotedRolePermissions(self.role_permissions, self._edge)

    def make_sqs(self) -> Any:
        """See :class:`SimulatedDeployment`."""
        return FaultySqs(self._edge, self.wake)

    def make_event_bridge(self) -> Any:
        """See :class:`SimulatedDeployment`."""
        return self.consumers

    def make_sns(self) -> Any:
        """See :class:`SimulatedDeployment`."""
        return self.consumers

    def set_temper(self, temper: Temper) -> None:
        """Set the behavior of SageMaker that AWS does not document."""
        self.temper = temper
        self._account = self._account.with_changes(temper)
        self.fleet.faults = self.fleet.faults.with_changes(temper)
        lag_s = float(temper.get("describe_lag_s", 0.0))
        if lag_s > VISIBLE_AFTER_S:
            self.invariants.too_late_s = lag_s

    def set_account(self, faults: Faults) -> None:
        """Set the quotas, the capacity and the faults of the account, beside what it refuses for hours."""
        self._account = faults
        self._refuse()

    def end_refusals(self) -> None:
        """End what SageMaker refuses for hours."""
        self._refusals = None
        self._refuse()

    def _refuse(self) -> None:
        refusals = self._refusals
        self.fleet.faults = refusals.over(self._account, self.now_s) if refusals is not None else self._account

    def set_lags(self, *, lags: bool) -> None:
        """Set whether eventually consistent reads may be outdated."""
        self._edge_table.replica.lags = lags

    def write_by_hand(self, writes: Sequence[Write]) -> None:
        """Write to the table directly, bypassing the functions."""
        self._edge.changed = True
        self._edge_table.write(writes)

    def clock(self) -> int:
        """Return the time by the clock of the calling function, ms."""
        process = current()
        return int((self.now_s + (process.skew_s if process else 0.0)) * 1000)

    def sleep(self, seconds: float) -> None:
        """Suspend the process. See :class:`SimulatedDeployment`."""
        process = current()
        if process is not None:
            process.sleep(self.now_s + seconds)

    def wake(self, why: str) -> None:
        """Put a message into the wake-up queue."""
        self.note("wake", why)
        self.wakes.append(why)

    # ------------------------------------------------------------------------------------------------- the functions

    def begin(
        self, function: str, payload: Mapping[str, Any], *, name: str = "", then: Callable[[Any], None] | None = None
    ) -> Process:
        """Start an invocation.

        Args:
            payload: its event.
            name: its name in the log; empty for the name of the function.
            then: called with the result of a successful invocation.
        """
        skew_s = self.random.choice([0.0, 0.0, self.random.uniform(-MAX_SKEW_S, MAX_SKEW_S)])
        remaining_ms = TIMEOUT_S[function] * 1000

        def work() -> None:
            answer = self.invoke(function, payload, remaining_ms)
            if then is not None:
                then(answer)

        process = Process(name or function, function, self.now_s + TIMEOUT_S[function], work, skew_s=skew_s)
        self.processes.start(process)
        self.note(process.name, "begins")
        return process

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, list[str]] | None = None,
        headers: Mapping[str, str] | None = None,
        then: Callable[[int, Any], None] | None = None,
    ) -> Process:
        """Start an API call.

        Args:
            method: the HTTP method.
            body: the JSON body; None without one.
            query: the query parameters.
            then: called with the status and the document of the answer.
        """

        def on_answer(answer: Mapping[str, Any]) -> None:
            status, document = answer["statusCode"], json.loads(answer["body"])
            self.answers[status] += 1
            if status == HTTPStatus.INTERNAL_SERVER_ERROR:
                raise Violated(f"{method} {path} returned {status}: {document}")
            if (method, path, status) == ("PUT", "/config", HTTPStatus.OK) and "version" in body:
                self._check_successor(body, document["version"], reason)
            self._note_change(method, path)
            if then is not None:
                then(status, document)

        reason = ""
        if (method, path) == ("PUT", "/config"):
            # So that its record shows whether this call has made a version.
            self._numbers += 1
            reason = f"change {self._numbers}"
            query = {**(query or {}), "reason": [reason]}
        self._note_change(method, path)
        if path.endswith("/resume"):
            self.invariants.pauses.resume_requested("*" if path == "/resume" else path.split("/")[2], self.now_s)
        payload = http_event(method, path, None if body is None else json.dumps(body), query, headers)
        return self.begin("api", payload, name=f"{method} {path}", then=on_answer)

    def _note_change(self, method: str, path: str) -> None:
        """A change by users may let jobs be tried at once that got no instances, and ends what was promised."""
        if method == "GET" or path in {"/what-if"}:
            return
        self.liveness.truth.changed()
        part, _, rest = path.removeprefix("/").partition("/")
        if part == "jobs" and rest:
            self.liveness.changed.add(rest.partition("/")[0])

    def _check_successor(self, document: Mapping[str, Any], version: int, reason: str) -> None:
        """An accepted configuration directly follows the version that it was made from, or was in force already.

        Args:
            version: the version that the answer has.
            reason: that of the call.
        """
        said = {name: value for name, value in document.items() if name != "version"}
        record = get_record(self.table, 1, version)
        if json.loads(record.document) != said:
            raise Violated(f"version {version} is not the configuration that was set: {record.document}")
        if record.reason == reason and version != document["version"] + 1:
            raise Violated(f"a configuration made from version {document['version']} replaced version {version - 1}")

    def submit(self, request: Mapping[str, Any], **terms: Any) -> Process:
        """Start a submission. An accepted job has to reach its end.

        Args:
            terms: its alternatives, and what belongs to them, as members of the body of `POST /add-job`.
        """

        def on_answer(status: int, _: Any) -> None:
            if status in {HTTPStatus.CREATED, HTTPStatus.OK}:
                self.accepted.add(request["TrainingJobName"])

        if terms:
            return self.ask("POST", "/add-job", {"jobDetails": request, **terms}, then=on_answer)
        return self.ask("POST", "/jobs", request, then=on_answer)

    def submit_batch(self, requests: Sequence[Mapping[str, Any]]) -> Process:
        """Start a submission of several jobs. Each accepted one has to reach its end."""

        def on_answer(status: int, document: Any) -> None:
            results = document["results"] if status == HTTPStatus.OK else []
            for request, result in zip(requests, results, strict=bool(results)):
                if result["status"] in {HTTPStatus.CREATED, HTTPStatus.OK}:
                    self.accepted.add(request.get("jobDetails", request)["TrainingJobName"])

        return self.ask("POST", "/job-batches", {"requests": list(requests)}, then=on_answer)

    def minute(self) -> None:
        """Start the functions that run every minute."""
        for function in EVERY_MINUTE:
            self.begin(function, event(function))

    def tick_ended(self, report: TickReport) -> None:
        """See :class:`SimulatedDeployment`."""
        if self.checks_liveness:
            process = current()
            delay_s = process.delay_s if process else 0.0
            self._count_tick(partial(self.liveness.decisions.ended, report.decisions, delay_s))

    def tick_failed(self, error: Exception) -> None:
        """See :class:`SimulatedDeployment`. A tick may only fail with :class:`RetryLater`."""
        self.failures["schedule", type(error).__name__] += 1
        if self.checks_liveness:
            self._count_tick(self.liveness.decisions.failed)
        if not isinstance(error, RetryLater):
            # The handler logs all errors of a tick, so it is raised when its invocation has ended.
            self._failed_tick = error

    def left_alone(self, error: Exception) -> None:
        """See :class:`SimulatedDeployment`. Only records that a test has damaged may be left alone."""
        if not (self.is_damaged and isinstance(error, UnreadableRecord)):
            self._failed_tick = error

    def _count_tick(self, count: Callable[[], None]) -> None:
        """Count a tick. Its handler catches all errors, so a violation is raised when its invocation has ended."""
        try:
            count()
        except Violated as error:
            self._broken_tick = error

    # ----------------------------------------------------------------------------------------------- what drives it

    def note(self, who: str, what: str) -> None:
        """Add a line to the log.

        Args:
            who: its subject.
            what: what happened.
        """
        self.log.append((self.now_s - START_S, who, what))

    @property
    def passed_s(self) -> float:
        """The virtual time since the beginning, s."""
        return self.now_s - START_S

    @property
    def needed(self) -> Counter[tuple[str, str]]:
        """How often each function needed each permission."""
        return self._edge.needed

    @property
    def busy(self) -> bool:
        """Whether an invocation is ready to run."""
        return bool(self.processes.awake(self.now_s))

    def step(self) -> None:
        """Run one invocation up to its next call, and check all invariants."""
        self._after_step(self.processes.step(self.now_s))

    def advance(self, process: Process) -> None:
        """Run this invocation up to its next call, and check all invariants."""
        self._after_step(self.processes.step_of(process, self.now_s))

    def advance_by(self, process: Process, calls: int) -> None:
        """Let this invocation make up to ``calls`` calls."""
        # The first step leads up to the first call. A step of a thread that begins or waits makes none.
        self.advance(process)
        made = len(self.faults.made)
        while not process.ended and len(self.faults.made) < made + calls:
            self.advance(process)

    def finish(self, process: Process) -> None:
        """Run this invocation until it ends."""
        while not process.ended:
            self.advance(process)

    def _after_step(self, ended: Process | None) -> None:
        if ended is not None:
            self._settle(ended)
        self.check()

    def _settle(self, process: Process) -> None:
        what = "is killed" if process.killed else f"fails: {process.error!r}" if process.error else "ends"
        self.note(process.name, what)
        if process.killed and process.function == "schedule" and self.checks_liveness:
            self._count_tick(self.liveness.decisions.failed)
        if self._broken_tick is not None:
            raise self._broken_tick
        if self._failed_tick is not None:
            raise Violated(f"a tick failed: {self._failed_tick!r}") from self._failed_tick
        if isinstance(process.error, Violated):
            raise process.error
        if process.error is not None:
            self.failures[process.function, type(process.error).__name__] += 1
            poisoned = isinstance(process.about, _Delivery) and process.about.poison
            if not (poisoned or isinstance(process.error, RetryLater)):
                raise Violated(f"{process.name} failed: {process.error!r}") from process.error
        if process.killed or process.error is not None:
            if isinstance(process.about, _Delivery):
                self._redeliver(process.about)
            elif isinstance(process.about, Batch):
                self.consumers.failed(process.about, self.now_s)

    def check(self) -> None:
        """Check the invariants that hold at every moment, if state may have changed since the last check."""
        if self._edge.changed:
            self._edge.changed = False
            self.invariants.check(self.accepted, self.now_s)
            self.consumers.follower.read()
            if self.checks_liveness:
                self.liveness.step(self.now_s)

    def pass_time(self, seconds: float) -> None:
        """Advance the time: kill overdue invocations, as Lambda would, and deliver what is due."""
        self.let_pass(seconds)
        if self.now_s >= self._minute_s + 60:
            # One run of the functions replaces all that were missed.
            self._minute_s += (self.now_s - self._minute_s) // 60 * 60
            self.minute()
        self.check()

    def let_pass(self, seconds: float) -> None:
        """Advance the time as :meth:`pass_time` does, without starting the functions that run every minute."""
        self.now_s += seconds
        if self._refusals is not None:
            self._refuse()
        due_s = self.fleet.next_due()
        if due_s is not None and due_s <= self.now_s:
            self._edge.changed = True
        for process in self.processes.live:
            if process.deadline_s < self.now_s:
                self.processes.kill(process)
                self._settle(process)
        for detail in self.fleet.advance(self.now_s):
            self._deliver_later(detail)
        for change in self.cloudwatch.evaluate(self.now_s):
            if change.new_state == "ALARM":
                self._send_alarm(change)

    def poison(self) -> None:
        """Send an event that no handler can parse."""
        detail = {"TrainingJobName": "x", "TrainingJobStatus": None, "LastModifiedTime": "soon"}
        self._deliver_later(detail, poison=True)

    def _deliver_later(self, detail: Mapping[str, Any], *, poison: bool = False) -> None:
        self._numbers += 1
        heapq.heappush(self._events, _Delivery(self.now_s, self._numbers, detail, poison=poison))

    def _send_alarm(self, change: AlarmChange) -> None:
        """Queue the message of a firing alarm. Like an event, it can be lost, duplicated or delayed."""
        faults, random = self.fleet.faults, self.random
        self.note("alarm", f"{change.name} fires")
        _, message = self.cloudwatch.notification(change, now=self.now_s)
        if random.random() < faults.event_drop:
            return
        for _ in range(1 + (random.random() < faults.event_duplicate)):
            late_s = random.random() * faults.event_delay_s if random.random() < faults.event_delay else 0.0
            self._alarms.append((self.now_s + late_s, message))

    def deliver(self) -> bool:
        """Deliver one message that is due; return whether there was one."""
        due = self.has_events
        # The wake-up queue has one message group, so usually one scheduler runs; but a message may be redelivered.
        idle = not any(process.function == "schedule" for process in self.processes.live)
        if (
            self.wakes
            and (idle or self.random.random() < self.faults.rates.overlap)
            and (not due or self.random.random() < 0.5)
        ):
            self.wakes.clear()
            self.begin("schedule", event("schedule"))
            return True
        if due:
            self.deliver_event()
            return True
        if any(due_s <= self.now_s for due_s, _ in self._alarms):
            self.deliver_alarm()
            return True
        return self._deliver_stream()

    def deliver_alarm(self) -> Process:
        """Deliver the next alarm message to the watch function."""
        self._alarms.sort()
        _, message = self._alarms.pop(0)
        payload = event("watch-alarm")
        payload["Records"][0]["Sns"]["Message"] = message
        return self.begin("watch", payload, name="watch (alarm)")

    @property
    def has_events(self) -> bool:
        """Whether an event is due."""
        return bool(self._events) and self._events[0].due_s <= self.now_s

    def _deliver_stream(self) -> bool:
        """Deliver the next records of the stream, if there are any; a shard has one invocation at a time."""
        if any(process.function == "tell" for process in self.processes.live):
            return False
        batch = self.consumers.next(self.now_s)
        if batch is None:
            return False
        self.deliver_changes(batch)
        return True

    def deliver_changes(self, batch: Batch | None = None) -> Process:
        """Deliver a batch of the stream to the function that publishes events; None for the next batch."""
        batch = batch or self.consumers.next(self.now_s)
        assert batch is not None  # noqa: S101 - called only while there are records
        process = self.begin(
            "tell",
            self.consumers.payload(batch, self.now_s),
            then=lambda answer: self.consumers.acknowledge(batch, answer),
        )
        process.about = batch
        return process

    def deliver_event(self, *, ended: bool = False) -> Process:
        """Deliver the next event to the observe function.

        Args:
            ended: deliver the next event with a final status.
        """
        delivery = next(each for each in sorted(self._events) if not ended or each.detail["TrainingJobStatus"] in ENDED)
        self._events.remove(delivery)
        heapq.heapify(self._events)
        process = self.begin("observe", {**event("observe"), "detail": delivery.detail})
        process.about = delivery
        return process

    def _redeliver(self, delivery: _Delivery) -> None:
        delivery.tries += 1
        if delivery.tries >= MAX_DELIVERIES:
            self.note("observe", "moves an event to the dead-letter queue")
            return
        delivery.due_s = self.now_s + self.random.choice([1.0, 60.0])
        heapq.heappush(self._events, delivery)
