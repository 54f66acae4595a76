"""Two long queues whose instances are all in use, Headway's and the article's, measured alike.

Time is virtual, SageMaker is the sandbox's fleet behind boto3, the tables are in memory, and items have real sizes.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from random import Random
from typing import Any, Protocol

from bench.metering.dynamodb_units import Count, MeteredTable
from bench.metering.table_scans import ScannedTable
from bench.peers.article_scheduler import ArticleScheduler, entry
from bench.queues.virtual_time import MeteredQueue, usual_request
from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.ports.table import Put, Table
from headway_service.store import transitions
from headway_service.store.records.job import JobRecord, request_key
from headway_service.testing.memory_table import MemoryTable

INSTANCES = 8
TEAMS = tuple(f"team{number:02}" for number in range(11))
"""A queue takes at most 10,000 jobs (docs/reference/semantics.md), so 100,000 waiting jobs need several teams."""

WAITING_PRIORITIES, RUNNING_PRIORITY = (1, 2, 5), 9
"""No job is preempted: jobs that outrank running ones have started already."""

ENDLESS_S = 80_000
"""Jobs run until they are ended, within their limit of a day."""

SETTLES_S = 600
"""The time by which all events of a launched training job up to `Training` have arrived."""


class FullQueue(Protocol):
    """A queue that is watched.

    Attributes:
        DECIDES: the function, or the part of one, that makes a pass.
        used: the use, by function and kind.
        handler_ms: processor time that functions took on this machine, ms, with what plays AWS in their process.
        standins_ms: the part of it that the table and the fleet took, which play DynamoDB and SageMaker.
    """

    DECIDES: str
    used: dict[tuple[str, str], float]
    handler_ms: dict[str, float]
    standins_ms: dict[str, float]

    def fill(self, waiting: int) -> None:
        """Start jobs on all instances, and add waiting ones."""

    def submit_one(self) -> None:
        """Submit a job that has to wait, and run all that follows."""

    def end_one(self) -> None:
        """The training job that was launched first completes, and what follows of it happens."""

    def quiet_down(self) -> None:
        """Let time pass until nothing changes by itself."""

    def reset(self) -> None:
        """Set all counts to zero."""


class HeadwayQueue(MeteredQueue):
    """Headway's real handlers.

    Args:
        meter, settings: see :class:`bench.queues.virtual_time.MeteredQueue`.
    """

    DECIDES = "schedule"

    def __init__(
        self, meter: Callable[[StreamedTable, Count], MeteredTable] = MeteredTable, **settings: Mapping[str, Any]
    ) -> None:
        limits = {"waitingPerTeam": 10_000, "waitingPerOwner": 10_000}
        super().__init__(INSTANCES, meter=meter, teams={team: {} for team in TEAMS}, limits=limits, **settings)
        self._meter.clock_ns = self.now_ns
        self.standins_ms: dict[str, float] = defaultdict(float)
        self._fleet_ns = 0
        self._submitted = 0

    def now_ns(self) -> int:
        """Processor time, as others may use the machine too, ns."""
        return time.process_time_ns()

    def invoke(self, function: str, payload: Mapping[str, Any], remaining_ms: int = 25_000) -> Any:
        """See :class:`bench.queues.virtual_time.MeteredQueue`."""
        before_ns = self._meter.table_ns + self._fleet_ns
        try:
            return super().invoke(function, payload, remaining_ms)
        finally:
            self.standins_ms[function] += (self._meter.table_ns + self._fleet_ns - before_ns) / 1e6

    def reset(self) -> None:
        """See :class:`FullQueue`."""
        super().reset()
        self.standins_ms.clear()

    def fill(self, waiting: int) -> None:
        """See :class:`FullQueue`. All but one enter the queue without the checks of admission, which take long."""
        self.first_hour()
        for number in range(INSTANCES):
            self._submit(f"running-{number}", RUNNING_PRIORITY)
        self.quiet_down()
        self._submit(_waiting(0), WAITING_PRIORITIES[0])
        rng = Random(1)
        entry_time = JobRecord.parse(self.table.get(JobRecord.key(_waiting(0))) or {}).entry_time
        enqueue_copies(
            self.table,
            _waiting(0),
            (
                {
                    "job_name": _waiting(number),
                    "priority": rng.choice(WAITING_PRIORITIES),
                    "team": TEAMS[number % len(TEAMS)],
                    "entry_time": entry_time - number,
                }
                for number in range(1, waiting)
            ),
        )
        # They were accepted long ago, and their events were published.
        self._published = len(self.table.written)

    def submit_one(self) -> None:
        """See :class:`FullQueue`."""
        self._submit(f"late-{self._submitted}", WAITING_PRIORITIES[0])

    def end_one(self) -> None:
        """See :class:`FullQueue`."""
        complete_first(self.fleet, self.now_s)
        self.pass_time(1)

    def quiet_down(self) -> None:
        """See :class:`FullQueue`."""
        self.pass_time(SETTLES_S)

    def call_sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """See :class:`bench.queues.virtual_time.MeteredQueue`."""
        begun_ns = self.now_ns()
        try:
            return super().call_sagemaker(operation, request)
        finally:
            self._fleet_ns += self.now_ns() - begun_ns

    def _submit(self, name: str, priority: int) -> None:
        request = usual_request(name, priority=priority, run_s=ENDLESS_S)
        request["Tags"].append({"Key": "headway:team", "Value": TEAMS[self._submitted % len(TEAMS)]})
        self._submitted += 1
        self.submit_request(request)


class ArticleQueue:
    """The article's function. It has no teams, so all wait in one line."""

    DECIDES = "pass"

    def __init__(self) -> None:
        self.used: dict[tuple[str, str], float] = defaultdict(float)
        self.handler_ms: dict[str, float] = defaultdict(float)
        self.standins_ms: dict[str, float] = defaultdict(float)
        self._fleet_ns = 0
        self._now_s = START_S
        self._fleet = FakeSageMaker(rng=Random(7))
        self._running = ""
        self._table = MemoryTable()
        self.meter = ScannedTable(self._table, lambda kind, number: self._use(f"DynamoDB {kind}", number))
        self.meter.clock_ns = time.process_time_ns
        sagemaker = stub_client("sagemaker", self._sagemaker)
        self._scheduler = ArticleScheduler(self.meter, sagemaker, INSTANCES, lambda: self._now_s)
        self._submitted = 0

    def fill(self, waiting: int) -> None:
        """See :class:`FullQueue`."""
        for number in range(INSTANCES):
            self._submit(f"running-{number}", RUNNING_PRIORITY)
            # ListTrainingJobs is throttled, and the article's pass fails on that.
            self._pass_time(2)
        self.quiet_down()
        rng = Random(1)
        now = datetime.fromtimestamp(self._now_s, UTC)
        for number in range(waiting):
            item = entry(_article_request(_waiting(number), rng.choice(WAITING_PRIORITIES)), now)
            self._table.write([Put(item=item)])

    def submit_one(self) -> None:
        """See :class:`FullQueue`."""
        self._submit(f"late-{self._submitted}", WAITING_PRIORITIES[0])

    def end_one(self) -> None:
        """See :class:`FullQueue`."""
        complete_first(self._fleet, self._now_s)
        self._pass_time(1)

    def quiet_down(self) -> None:
        """See :class:`FullQueue`."""
        self._pass_time(SETTLES_S)

    def reset(self) -> None:
        """See :class:`FullQueue`."""
        self.used.clear()
        self.handler_ms.clear()
        self.standins_ms.clear()

    def _submit(self, name: str, priority: int) -> None:
        self._submitted += 1
        with self._part("note"):
            self._scheduler.submit(_article_request(name, priority))
        with self._part("pass"):
            self._scheduler.make_pass()

    def _pass_time(self, seconds: float) -> None:
        self._now_s += seconds
        for detail in self._fleet.advance(self._now_s):
            if detail["TrainingJobStatus"] in {"Completed", "Failed", "Stopped"}:
                with self._part("note"):
                    self._scheduler.ended(detail["TrainingJobName"], detail["TrainingJobStatus"])
                with self._part("pass"):
                    self._scheduler.make_pass()

    @contextmanager
    def _part(self, name: str) -> Iterator[None]:
        """A part of an invocation, timed without the counting."""
        self._running = name
        before_ns = self.meter.table_ns + self._fleet_ns
        begun_ns = time.process_time_ns() - self.meter.metering_ns
        yield
        self.handler_ms[name] += (time.process_time_ns() - self.meter.metering_ns - begun_ns) / 1e6
        self.standins_ms[name] += (self.meter.table_ns + self._fleet_ns - before_ns) / 1e6

    def _use(self, kind: str, number: float) -> None:
        self.used[self._running, kind] += number

    def _sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self._use("SageMaker calls", 1)
        self._use(f"SageMaker {operation}", 1)
        begun_ns = time.process_time_ns()
        try:
            return self._fleet.call(operation, request, now=self._now_s)
        finally:
            self._fleet_ns += time.process_time_ns() - begun_ns


def enqueue_copies(table: Table, name: str, copies: Iterable[Mapping[str, Any]]) -> None:
    """Let jobs like one that waits enter the queue without the checks of admission, which take long.

    Args:
        table: of the deployment.
        name: the job that waits.
        copies: what differs, by fields of the job's record; at least the name.
    """
    pattern = JobRecord.parse(table.get(JobRecord.key(name)) or {})
    request = (table.get(request_key(name)) or {})["jobDetails"]
    for changes in copies:
        job = pattern.model_copy(update=changes)
        table.write(transitions.enqueue(job, request.replace(name, job.job_name)))


def complete_first(fleet: FakeSageMaker, now_s: float) -> None:
    """Complete the training job that has been live for longest. Its event is not delivered yet."""
    newest_first = {"StatusEquals": "InProgress", "MaxResults": 100, "SortOrder": "Descending"}
    live = fleet.list_jobs(now=now_s, **newest_first)["TrainingJobSummaries"]
    fleet.finish(live[-1]["TrainingJobName"], now=now_s)


def _waiting(number: int) -> str:
    return f"waiting-{number:06}"


def _article_request(name: str, priority: int) -> dict[str, Any]:
    request = usual_request(name, run_s=ENDLESS_S)
    return {**request, "Tags": [{"Key": "priority", "Value": str(priority)}]}
