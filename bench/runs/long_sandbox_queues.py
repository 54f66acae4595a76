"""Queues of maximum length in a sandbox's DynamoDB, with the whole system deployed: times over HTTP.

The table is filled with the items that submissions would have written (`bench.runs.long_queues`). The times are
those of an emulator on this machine, so the figure is the ratio to a queue with a hundred waiting jobs.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from bench.peers.side import seconds, until
from bench.queues.deployed import ENDLESS_S, NO_THROTTLE, DeployedQueue
from bench.queues.full_queues import TEAMS
from bench.queues.raw_table import TABLE, RawTable
from bench.runs.long_queues import OPERATIONS, PRIORITIES, RUNNING_PRIORITY, request_of, waiting_jobs
from headway_client.http.api import HeadwayApi
from headway_client.http.transport import Limits
from headway_sandbox.sagemaker.request_builder import P5
from headway_service.aws.dynamodb_table import DynamoDBTable
from headway_service.config.document import MAX_WAITING
from headway_service.store.records.job import JobRecord

INSTANCES = 4
_PATIENCE_S = 600.0
_READS_S, _TRIES = 120.0, 8


class SandboxQueue(DeployedQueue):
    """A deployment on a separate sandbox, with a queue for each of eleven teams, while its `with` block runs.

    All instances are in use from the beginning to the end, so submitted jobs wait.

    Args:
        waiting_limit: of a line, and of an owner's jobs in it.
        parameters: of the template.
    """

    def __init__(self, *, waiting_limit: int = MAX_WAITING, parameters: dict[str, str] | None = None) -> None:
        super().__init__(INSTANCES, parameters or {})
        self._limit = waiting_limit
        self._numbers = itertools.count()
        self._name = ""
        self._filled = 0

    def prepare(self) -> None:
        """See :class:`bench.queues.deployed.DeployedQueue`."""
        self.api = self.patient_client(tries=_TRIES)
        self.api.put_config(
            {
                "pools": {P5: {"size": INSTANCES}},
                "teams": {team: {} for team in TEAMS},
                "limits": {"waitingPerTeam": self._limit, "waitingPerOwner": self._limit},
            },
            force=True,
        )
        for _ in range(INSTANCES):
            self.api.submit(self.request(priority=RUNNING_PRIORITY))
        until(self.is_full, "all instances are in use", timeout_s=_PATIENCE_S)
        self.come_to_rest()

    def patient_client(self, *, tries: int) -> HeadwayApi:
        """A client that gives the emulator the time that it takes with a long line."""
        return self.client(Limits(tries=tries, read_timeout_s=_READS_S, try_timeout_s=_READS_S))

    def request(self, *, priority: int = PRIORITIES[-1]) -> dict[str, Any]:
        """A request of a new job; all are of one team."""
        self._name = f"job-{next(self._numbers):05}"
        request = request_of(self._name, P5, TEAMS[0], priority)
        request["RoleArn"] = "arn:aws:iam::123456789012:role/HeadwayTrainingRole"
        request["Environment"]["SANDBOX_RUN_SECONDS"] = str(ENDLESS_S)
        return request

    def fill(self, waiting: int) -> None:
        """Add waiting jobs; all but the first are written into the table directly."""
        client = self.sandbox.client("dynamodb")
        if not self._filled:
            self.api.submit(self.request())
            self._first = JobRecord.parse(DynamoDBTable(client, TABLE).get(JobRecord.key(self._name)) or {})
            self._filled = 1
            self._stop_telling()
        jobs = waiting_jobs({P5: self._first}, waiting - 1, already=self._filled - 1)
        RawTable(client).put(itertools.chain.from_iterable(jobs))
        self._filled = waiting
        self.come_to_rest()

    def act(self, operation: str) -> None:
        """Do one of :data:`bench.runs.long_queues.OPERATIONS`."""
        match operation:
            case "submission":
                self.api.submit(self.request())
            case "pass":
                self.sandbox.invoke("ScheduleFunction", {"Records": []})
            case "listing":
                list(self.api.list_jobs(limit=100))
            case "why":
                self.api.explain(self._name)
            case _:
                self.api.stop_job(self._name)

    def passes_since(self, since: datetime) -> int:
        """How often the scheduler ran that has ended since then."""
        points = self.durations("ScheduleFunction", since, "SampleCount")
        return int(sum(point["SampleCount"] for point in points))

    def waiting_names(self) -> set[str]:
        """The names of all jobs that have not ended, page by page as users see them."""
        return {job.name for job in self.api.list_jobs()}

    def _stop_telling(self) -> None:
        """Items written to the table reach `tell` by the stream, and would keep the machine busy for minutes."""
        client = self.sandbox.client("lambda")
        for page in client.get_paginator("list_event_source_mappings").paginate():
            for mapping in page["EventSourceMappings"]:
                if "TellFunction" in mapping["FunctionArn"]:
                    client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)


def measure(lengths: Sequence[int], *, rounds: int) -> list[dict[str, Any]]:
    """The time of each operation, ms: the median of a number of rounds, for each length on the same sandbox.

    Args:
        lengths: how many jobs wait, in eleven lines; ascending.
        rounds: how many.
    """
    found = []
    with SandboxQueue(parameters=NO_THROTTLE) as queue:
        for waiting in lengths:
            fill_s = seconds(partial(queue.fill, waiting))
            times = times_of(queue.act, queue.come_to_rest, rounds)
            found.append({"waiting": waiting, "runs": rounds, "fillS": round(fill_s, 1), **times})
    return found


def times_of(
    act: Callable[[str], object], come_to_rest: Callable[[], object], rounds: int
) -> dict[str, dict[str, float]]:
    """The times of all operations, ms. What follows of each is waited for, and not counted; the first round neither."""
    times: dict[str, list[float]] = {operation: [] for operation in OPERATIONS}
    for number in range(rounds + 1):
        for operation in OPERATIONS:
            took_s = seconds(lambda: act(operation))  # noqa: B023 - called before the next one
            come_to_rest()
            if number:
                times[operation].append(took_s * 1000)
    return {
        operation: {"ms": round(statistics.median(some), 1), "from": round(min(some), 1), "to": round(max(some), 1)}
        for operation, some in times.items()
    }
