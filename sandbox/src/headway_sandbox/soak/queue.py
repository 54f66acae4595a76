"""One deployed queue on virtual time: its table, SageMaker, its functions, and the messages between them."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

from headway_sandbox.fleet import Fleet
from headway_sandbox.soak.accidents import Accidents, Violence
from headway_sandbox.soak.edges import Edge, EdgeConfiguration, EdgeSageMaker, EdgeTable, sagemaker_client
from headway_sandbox.soak.invariants import Invariants
from headway_sandbox.soak.processes import Process, Processes, current
from headway_service.configuration import Configuration
from headway_service.desk import Desk
from headway_service.launching import Launcher
from headway_service.memory import MemoryTable
from headway_service.observation import Observer, sighting_of_event
from headway_service.pools import in_force
from headway_service.reconcile import reconcile
from headway_service.sagemaker import SageMakerTrainingJobs
from headway_service.tick import Ticker

START_S = 1_800_000_000.0
TIMEOUT_S = 30
"""The functions' timeout (template.yaml)."""

RETENTION_S = 30 * 86_400
RECONCILE_AFTER_S = 120
MAX_DELIVERIES = 3
"""How often an event is handed to its function before it goes to the dead-letter queue, as Lambda does."""

MAX_SKEW_S = 2.0
"""How far a function's clock may be off; leases allow for 5 s between two."""

_current: list[EdgeSageMaker] = []
_client: list[Any] = []


def _answer(operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
    return _current[0](operation, request)


def _shared_client() -> Any:
    """One client for all queues of this process, one after the other: to make one takes longer than a whole life."""
    if not _client:
        _client.append(sagemaker_client(_answer))
    return _client[0]


@dataclass(order=True)
class _Delivery:
    due_s: float
    number: int
    detail: Mapping[str, Any]
    tries: int = 0


class Queue:
    """A queue with its world.

    Attributes:
        now_s: virtual time, s since the epoch.
        log: what happened: time, who, what.
        accepted: names of jobs whose submission was answered.
        failures: exceptions that left a handler, by kind.
    """

    def __init__(self, random: Random, pools: Mapping[str, int], violence: Violence | None = None) -> None:
        self.random = random
        self.now_s = START_S
        self.log: list[tuple[float, str, str]] = []
        self.accepted: set[str] = set()
        self.failures: Counter[str] = Counter()
        self.accidents = Accidents(random, violence)
        self.processes = Processes(random)
        self.fleet = Fleet(rng=random)
        self.table = MemoryTable()
        self.invariants = Invariants(self.table, self.fleet)
        edge = Edge(self.accidents)
        self._edge = edge
        self.edge_table = EdgeTable(self.table, edge)
        self.store = EdgeConfiguration({"pools": {pool: {"size": size} for pool, size in pools.items()}}, edge)
        self._sagemaker = EdgeSageMaker(self.fleet, edge, lambda: self.now_s)
        _current[:] = [self._sagemaker]
        self.training_jobs = SageMakerTrainingJobs(_shared_client())
        self.observer = Observer(self.edge_table, retention_s=RETENTION_S)
        self._events: list[_Delivery] = []
        self._wakes = 0
        self._numbers = 0
        self._minute_s = self.now_s
        self.desk = Desk(
            table=self.edge_table,
            wake=self.wake,
            clock=self.clock,
            configuration=self._in_force,
            retention_s=RETENTION_S,
        )

    # ------------------------------------------------------------------------------------------- what functions use

    def clock(self) -> int:
        """Now by the clock of whoever asks, ms."""
        process = current()
        return int((self.now_s + (process.skew_s if process else 0.0)) * 1000)

    def wake(self, why: str) -> None:
        """Send a message to the wake-up queue; if that fails, the next minute makes it good."""

        def work() -> None:
            self._wakes += 1

        self.note("wake", why)
        with suppress(ConnectionError):
            self._edge.call("SendMessage", work, refused=lambda: ConnectionError("ServiceUnavailable"), again=work)

    def _in_force(self) -> Configuration:
        return in_force(self.edge_table, self.store, self.clock).configuration

    def _token(self) -> str:
        self._numbers += 1
        return f"mark-{self._numbers}"

    # ------------------------------------------------------------------------------------------------- the functions

    def schedule(self) -> None:
        """The scheduler, for one batch of wake-ups. Its handler logs and counts what goes wrong."""
        deadline_ms = self.clock() + TIMEOUT_S * 1000
        launcher = Launcher(
            self.edge_table, self.training_jobs, self.observer, holder=self._token(), deadline_ms=deadline_ms
        )
        Ticker(
            table=self.edge_table,
            store=self.store,
            launcher=launcher,
            clock=self.clock,
            token=self._token,
            deadline_ms=deadline_ms,
        ).run()

    def observe(self, detail: Mapping[str, Any]) -> None:
        """The function for one state-change event."""
        sighting = sighting_of_event(detail)
        if self.observer.take(sighting, self.clock()):
            self.wake(f"{sighting.attempt} {sighting.status}")

    def reconcile(self) -> None:
        """The function that runs every minute."""
        reconcile(
            table=self.edge_table,
            training_jobs=self.training_jobs,
            observer=self.observer,
            clock=self.clock,
            wake=self.wake,
            after_s=RECONCILE_AFTER_S,
        )

    # ----------------------------------------------------------------------------------------------- what drives it

    def note(self, who: str, what: str) -> None:
        """Add to the log."""
        self.log.append((self.now_s - START_S, who, what))

    def begin(self, name: str, work: Callable[[], None]) -> Process:
        """Start an invocation."""
        skew_s = self.random.choice([0.0, 0.0, self.random.uniform(-MAX_SKEW_S, MAX_SKEW_S)])
        process = Process(name, self.now_s + TIMEOUT_S, work, skew_s=skew_s)
        self.processes.start(process)
        self.note(name, "begins")
        return process

    def go_on(self) -> None:
        """Let one invocation make one call, and check all promises."""
        ended = self.processes.step()
        if ended is not None:
            self._settle(ended)
        self.check()

    def _settle(self, process: Process) -> None:
        what = "is killed" if process.killed else f"fails: {process.error!r}" if process.error else "ends"
        self.note(process.name, what)
        if process.error is not None:
            self.failures[type(process.error).__name__] += 1
        if (process.killed or process.error is not None) and isinstance(process.about, _Delivery):
            self._give_back(process.about)

    def check(self) -> None:
        """All that holds at every moment."""
        self.invariants.check(self.accepted, self.now_s)

    def pass_time(self, seconds: float) -> None:
        """Let time pass; what is overdue is killed, as Lambda would, and events and the minute come due."""
        self.now_s += seconds
        for process in self.processes.live:
            if process.deadline_s < self.now_s:
                self.processes.kill(process)
                self._settle(process)
        for detail in self.fleet.advance(self.now_s):
            self._numbers += 1
            heapq.heappush(self._events, _Delivery(self.now_s, self._numbers, detail))
        while self._minute_s + 60 <= self.now_s:
            self._minute_s += 60
            self.begin("reconcile", self.reconcile)
        self.check()

    def deliver(self) -> bool:
        """Hand out one message, if there is any that is due."""
        due = bool(self._events) and self._events[0].due_s <= self.now_s
        # The wake-up queue has one message group, so mostly one scheduler runs; but a message may be handed out again.
        idle = not any(process.name == "schedule" for process in self.processes.live)
        if (
            self._wakes
            and (idle or self.random.random() < self.accidents.violence.overlap)
            and (not due or self.random.random() < 0.5)
        ):
            self._wakes = 0
            self.begin("schedule", self.schedule)
            return True
        if due:
            delivery = heapq.heappop(self._events)
            process = self.begin("observe", lambda: self.observe(delivery.detail))
            process.about = delivery
            return True
        return False

    def _give_back(self, delivery: _Delivery) -> None:
        delivery.tries += 1
        if delivery.tries >= MAX_DELIVERIES:
            self.note("observe", "gives up an event, which goes to the dead-letter queue")
            return
        delivery.due_s = self.now_s + self.random.choice([1.0, 60.0])
        heapq.heappush(self._events, delivery)

    def poison(self) -> None:
        """An event that no handler understands."""
        self._numbers += 1
        detail = {"TrainingJobName": "x", "TrainingJobStatus": None, "LastModifiedTime": "soon"}
        heapq.heappush(self._events, _Delivery(self.now_s, self._numbers, detail))
