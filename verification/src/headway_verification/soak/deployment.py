"""A simulated deployment whose functions run interleaved, call by call, with faults in every adapter and message."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
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
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.aws.cloudwatch_alarms import CloudWatchAlarms
from headway_service.aws.sagemaker_training_jobs import SageMakerTrainingJobs
from headway_service.errors import RetryLater
from headway_service.ports.alarms import Alarms
from headway_service.ports.config_store import ConfigurationStore
from headway_service.ports.table import Table, Write
from headway_service.ports.training_jobs import AllTrainingJobs
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_verification.soak.cooperative_scheduler import CooperativeScheduler, Process, current
from headway_verification.soak.fault_injection import (
    FaultInjector,
    FaultyCloudWatch,
    FaultyConfiguration,
    FaultySageMaker,
    FaultySqs,
    FaultyTable,
)
from headway_verification.soak.faults import FaultPlan
from headway_verification.soak.invariants import Invariants, Violated
from headway_verification.soak.stream_consumers import Batch, StreamConsumers
from headway_verification.soak.tempers import Temper

RECONCILE_AFTER_S = 120
"""Shorter than the default of template.yaml, so that runs need less virtual time."""

MAX_DELIVERIES = 3
"""How often an event is handed to its function before it goes to the dead-letter queue, as Lambda does."""

ENDED = frozenset({"Completed", "Failed", "Stopped"})
"""Final statuses of training jobs."""

MAX_SKEW_S = 2.0
"""How far a function's clock may be off; leases allow for 5 s between two."""

_current: dict[str, Callable[[str, Mapping[str, Any]], Mapping[str, Any]]] = {}


@cache
def _shared_client(service: str) -> Any:
    """One client for all queues of this process, one after the other: to make one takes longer than a whole life."""

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


class Deployment(SimulatedDeployment[StreamedTable]):
    """A queue in which every call may fail and every message may be lost.

    Attributes:
        log: the events: time, actor, event.
        accepted: names of jobs whose submission was answered.
        failures: exceptions that left a handler or made a tick fail, by function and kind.
        answers: statuses that the API answered with.
    """

    def __init__(self, random: Random, pools: Mapping[str, int], accidents: FaultPlan | None = None) -> None:
        document = {"pools": {pool: {"size": size} for pool, size in pools.items()}}
        super().__init__(
            StreamedTable(),
            document,
            fleet=FakeSageMaker(rng=random),
            random=random,
            reconcile_after_s=RECONCILE_AFTER_S,
        )
        self.random = random
        self.log: list[tuple[float, str, str]] = []
        self.accepted: set[str] = set()
        self.failures: Counter[tuple[str, str]] = Counter()
        self._failed_tick: Exception | None = None
        self.answers: Counter[int] = Counter()
        self.accidents = accidents or FaultPlan(random)
        self.processes = CooperativeScheduler(random, self.accidents.violence.switch)
        self.invariants = Invariants(self.table, self.fleet, self.cloudwatch)
        self._edge = edge = FaultInjector(self.accidents, self.note, lambda: self.now_s)
        self.store = FaultyConfiguration(document, edge, lambda: self.now_s)
        _current["sagemaker"] = FaultySageMaker(self.fleet, edge, lambda: self.now_s, random)
        _current["cloudwatch"] = FaultyCloudWatch(self.cloudwatch, edge, lambda: self.now_s)
        self.audience = StreamConsumers(self.table, edge, self.accidents, Random(random.random()))
        self._edge_table = FaultyTable(self.table, edge, random)
        #: See :meth:`set_temper`.
        self.temper: Temper = {}
        self._events: list[_Delivery] = []
        #: Messages of alarms that fire: their time and content.
        self._alarms: list[tuple[float, str]] = []
        self._numbers = 0
        self._minute_s = self.now_s

    # ------------------------------------------------------------------------------------------------- the adapters

    def make_table(self) -> Table:
        """See :class:`SimulatedDeployment`."""
        return self._edge_table

    def make_training_jobs(self) -> AllTrainingJobs:
        """See :class:`SimulatedDeployment`."""
        return SageMakerTrainingJobs(_shared_client("sagemaker"))

    def make_alarms(self) -> Alarms:
        """See :class:`SimulatedDeployment`."""
        return CloudWatchAlarms(_shared_client("cloudwatch"), ALARM_PREFIX, ALARM_TOPIC_ARN)

    def make_configuration(self) -> ConfigurationStore:
        """See :class:`SimulatedDeployment`."""
        return self.store

    def make_sqs(self) -> Any:
        """See :class:`SimulatedDeployment`."""
        return FaultySqs(self._edge, self.wake)

    def make_event_bridge(self) -> Any:
        """See :class:`SimulatedDeployment`."""
        return self.audience

    def make_sns(self) -> Any:
        """See :class:`SimulatedDeployment`."""
        return self.audience

    def set_temper(self, temper: Temper) -> None:
        """How SageMaker answers from now on where AWS does not document it."""
        self.temper = temper
        self.fleet.faults = self.fleet.faults.with_changes(temper)
        lag_s = float(temper.get("describe_lag_s", 0.0))
        if lag_s > VISIBLE_AFTER_S:
            self.invariants.too_late_s = lag_s

    def write_by_hand(self, writes: Sequence[Write]) -> None:
        """Write to the table directly, without the functions."""
        self._edge.changed = True
        self._edge_table.write(writes)

    def clock(self) -> int:
        """The current time by the clock of the calling function, ms."""
        process = current()
        return int((self.now_s + (process.skew_s if process else 0.0)) * 1000)

    def sleep(self, seconds: float) -> None:
        """See :class:`SimulatedDeployment`. The process is suspended."""
        process = current()
        if process is not None:
            process.sleep_until_s = self.now_s + seconds
            process.pause()

    def wake(self, why: str) -> None:
        """A message in the wake-up queue."""
        self.note("wake", why)
        self.wakes.append(why)

    # ------------------------------------------------------------------------------------------------- the functions

    def begin(
        self, function: str, payload: Mapping[str, Any], *, name: str = "", then: Callable[[Any], None] | None = None
    ) -> Process:
        """Start an invocation.

        Args:
            function: which.
            payload: the event that it is handed.
            name: what the log calls it; else its function.
            then: called with its response, if it has one.
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
        """Start a call of the API. ``then`` takes status and document of the answer."""

        def answered(answer: Mapping[str, Any]) -> None:
            status, document = answer["statusCode"], json.loads(answer["body"])
            self.answers[status] += 1
            if status == HTTPStatus.INTERNAL_SERVER_ERROR:
                raise Violated(f"{method} {path} is answered by {status}: {document}")
            if (method, path, status) == ("PUT", "/config", HTTPStatus.OK) and "version" in body:
                self._check_kept(body)
            if then is not None:
                then(status, document)

        if path.endswith("/resume"):
            self.invariants.resume_asked("*" if path == "/resume" else path.split("/")[2], self.now_s)
        payload = http_event(method, path, None if body is None else json.dumps(body), query, headers)
        return self.begin("api", payload, name=f"{method} {path}", then=answered)

    def _check_kept(self, document: Mapping[str, Any]) -> None:
        """A configuration that was accepted came right after the version that it was made from."""
        said = {name: value for name, value in document.items() if name != "version"}
        found = self.store.document_of(document["version"] + 1)
        if found != said:
            raise Violated(f"a configuration made from version {document['version']} replaced a newer one: {found}")

    def submit(self, request: Mapping[str, Any]) -> Process:
        """Start a submission. A job whose submission succeeds is accepted, and has to reach its end."""

        def answered(status: int, _: Any) -> None:
            if status in {HTTPStatus.CREATED, HTTPStatus.OK}:
                self.accepted.add(request["TrainingJobName"])

        return self.ask("POST", "/jobs", request, then=answered)

    def minute(self) -> None:
        """What happens every minute."""
        for function in EVERY_MINUTE:
            self.begin(function, event(function))

    def tick_failed(self, error: Exception) -> None:
        """See :class:`SimulatedDeployment`. A tick may give up for a retry only."""
        self.failures["schedule", type(error).__name__] += 1
        if not isinstance(error, RetryLater):
            # The handler logs all errors of a tick, so it is raised when its invocation has ended.
            self._failed_tick = error

    # ----------------------------------------------------------------------------------------------- what drives it

    def note(self, who: str, what: str) -> None:
        """Add to the log."""
        self.log.append((self.now_s - START_S, who, what))

    @property
    def needed(self) -> Counter[tuple[str, str]]:
        """What the functions would have had to be allowed to do: function, action."""
        return self._edge.needed

    @property
    def busy(self) -> bool:
        """Whether any invocation can continue now."""
        return bool(self.processes.awake(self.now_s))

    def go_on(self) -> None:
        """Let one invocation make one call, and check all promises."""
        self._went_on(self.processes.step(self.now_s))

    def advance(self, process: Process) -> None:
        """As :meth:`go_on`, for this one."""
        self._went_on(self.processes.step_of(process))

    def advance_by(self, process: Process, calls: int) -> None:
        """Let this invocation make this many calls, or all that it makes."""
        # The first step leads up to the first call.
        for _ in range(calls + 1):
            if not process.ended:
                self.advance(process)

    def finish(self, process: Process) -> None:
        """Run this invocation to its end."""
        while not process.ended:
            self.advance(process)

    def _went_on(self, ended: Process | None) -> None:
        if ended is not None:
            self._settle(ended)
        self.check()

    def _settle(self, process: Process) -> None:
        what = "is killed" if process.killed else f"fails: {process.error!r}" if process.error else "ends"
        self.note(process.name, what)
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
                self._give_back(process.about)
            elif isinstance(process.about, Batch):
                self.audience.failed(process.about, self.now_s)

    def check(self) -> None:
        """All that holds at every moment, if anything may have changed since it was looked at."""
        if self._edge.changed:
            self._edge.changed = False
            self.invariants.check(self.accepted, self.now_s)

    def pass_time(self, seconds: float) -> None:
        """Let time pass; overdue invocations are killed, as Lambda does, and events and schedules come due."""
        self.let_pass(seconds)
        if self.now_s >= self._minute_s + 60:
            # Of several that were due, one does the work of all.
            self._minute_s += (self.now_s - self._minute_s) // 60 * 60
            self.minute()
        self.check()

    def let_pass(self, seconds: float) -> None:
        """As :meth:`pass_time`, without what happens every minute."""
        self.now_s += seconds
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
                self._tell_later(change)

    def poison(self) -> None:
        """An event that no handler understands."""
        detail = {"TrainingJobName": "x", "TrainingJobStatus": None, "LastModifiedTime": "soon"}
        self._deliver_later(detail, poison=True)

    def _deliver_later(self, detail: Mapping[str, Any], *, poison: bool = False) -> None:
        self._numbers += 1
        heapq.heappush(self._events, _Delivery(self.now_s, self._numbers, detail, poison=poison))

    def _tell_later(self, change: AlarmChange) -> None:
        """An alarm fires. Its message befalls what befalls events: it is lost, comes twice, or late."""
        faults, random = self.fleet.faults, self.random
        self.note("alarm", f"{change.name} fires")
        _, message = self.cloudwatch.notification(change, now=self.now_s)
        if random.random() < faults.event_drop:
            return
        for _ in range(1 + (random.random() < faults.event_duplicate)):
            late_s = random.random() * faults.event_delay_s if random.random() < faults.event_delay else 0.0
            self._alarms.append((self.now_s + late_s, message))

    def deliver(self) -> bool:
        """Hand out one message, if there is any that is due."""
        due = self.has_news
        # The wake-up queue has one message group, so mostly one scheduler runs; but a message may be handed out again.
        idle = not any(process.function == "schedule" for process in self.processes.live)
        if (
            self.wakes
            and (idle or self.random.random() < self.accidents.violence.overlap)
            and (not due or self.random.random() < 0.5)
        ):
            self.wakes.clear()
            self.begin("schedule", event("schedule"))
            return True
        if due:
            self.hand_out()
            return True
        if any(due_s <= self.now_s for due_s, _ in self._alarms):
            self.hand_alarm()
            return True
        return self._tell()

    def hand_alarm(self) -> Process:
        """Hand the next message of an alarm to the watcher."""
        self._alarms.sort()
        _, message = self._alarms.pop(0)
        payload = event("watch-alarm")
        payload["Records"][0]["Sns"]["Message"] = message
        return self.begin("watch", payload, name="watch (alarm)")

    @property
    def has_news(self) -> bool:
        """Whether an event is due."""
        return bool(self._events) and self._events[0].due_s <= self.now_s

    def _tell(self) -> bool:
        """Hand the next changes to the teller, if there are any. Of one shard there is one invocation at a time."""
        if any(process.function == "tell" for process in self.processes.live):
            return False
        batch = self.audience.next(self.now_s)
        if batch is None:
            return False
        self.hand_changes(batch)
        return True

    def hand_changes(self, batch: Batch | None = None) -> Process:
        """Hand a batch of the stream to the function that publishes changes; the next one if none is given."""
        batch = batch or self.audience.next(self.now_s)
        assert batch is not None  # noqa: S101 - called only while there are changes
        process = self.begin(
            "tell", self.audience.payload(batch, self.now_s), then=lambda answer: self.audience.told(batch, answer)
        )
        process.about = batch
        return process

    def hand_out(self, *, ended: bool = False) -> Process:
        """Deliver the next event to the observer, or the next one of an end."""
        delivery = next(each for each in sorted(self._events) if not ended or each.detail["TrainingJobStatus"] in ENDED)
        self._events.remove(delivery)
        heapq.heapify(self._events)
        process = self.begin("observe", {**event("observe"), "detail": delivery.detail})
        process.about = delivery
        return process

    def _give_back(self, delivery: _Delivery) -> None:
        delivery.tries += 1
        if delivery.tries >= MAX_DELIVERIES:
            self.note("observe", "gives up an event, which goes to the dead-letter queue")
            return
        delivery.due_s = self.now_s + self.random.choice([1.0, 60.0])
        heapq.heappush(self._events, delivery)
