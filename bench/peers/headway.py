"""Headway as a side: its HTTP API, called by its own client, on a sandbox with the whole system deployed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from bench.peers.side import PREEMPTION_LOOK_S, seconds, until
from bench.queues.deployed import ENDLESS_S, NO_THROTTLE, DeployedQueue
from bench.queues.raw_table import RawTable
from bench.queues.virtual_time import sweep_of
from headway_client.http.api import HeadwayApi
from headway_client.http.transport import Transport
from headway_client.models import Job
from headway_client.sweeps import with_sweep
from headway_sandbox.sagemaker.request_builder import P5, training_request
from headway_sandbox.sagemaker.run_script import STOP_SECONDS
from headway_service.config.document import MAX_WAITING

LOW, HIGH = 1, 9
_HOLDING = ("running", "stopping")
_STOPPERS = 4
_PATIENCE_S = 1800.0
_WARM_UPS = 4


class Headway(DeployedQueue):
    """A queue that lives as long as its `with` block.

    Slurm's nodes exist already, so SageMaker's instances do too: the rest is the queue's own time.

    Args:
        instances: how many its one pool has.
        grace_s: how long a job takes to stop, s.
    """

    def __init__(self, instances: int, *, grace_s: int) -> None:
        super().__init__(instances, NO_THROTTLE)
        self._grace_s = grace_s
        self._numbers = itertools.count()

    def prepare(self) -> None:
        """See :class:`bench.queues.deployed.DeployedQueue`."""
        self._api = self.client()
        self._api.put_config(configuration(self.instances), force=True)
        self._table = RawTable(self.sandbox.client("dynamodb"))

    @property
    def version(self) -> str:
        """The server's."""
        return f"headway {self._api.version().version}"

    def transport(self, endpoint: str) -> Transport:
        """What such a client sends its requests with, to another endpoint of the sandbox."""
        return Transport(endpoint, region=self.sandbox.info.region, credentials=self.credentials)

    def request(self, *, priority: int = LOW, run_s: int = ENDLESS_S) -> dict[str, Any]:
        """A request of a new job."""
        return job_request(f"job-{next(self._numbers):06}", priority=priority, run_s=run_s, grace_s=self._grace_s)

    def clear(self) -> None:
        """See :class:`bench.peers.side.Side`."""
        # Else each that is stopped would let another one start.
        self._api.pause("the measurement begins anew")
        with ThreadPoolExecutor(_STOPPERS) as pool:
            list(pool.map(self._stop, list(self._api.list_jobs(states=_HOLDING))))
        until(self._holds_nothing, "no instance is in use", timeout_s=_PATIENCE_S)
        self._table.forget_jobs()
        self._api.resume()
        self.come_to_rest()

    def fill(self) -> None:
        """See :class:`bench.peers.side.Side`."""
        self._together([self.request() for _ in range(self.instances)])
        until(self.is_full, "all instances are taken", timeout_s=_PATIENCE_S)
        self.come_to_rest()

    def submit(self, jobs: int, clients: int) -> float:
        """See :class:`bench.peers.side.Side`. Each client keeps its connection, as a program does that submits many."""
        requests = [self.request() for _ in range(jobs)]
        users = [self.client() for _ in range(clients)]
        # All at once, so that there are as many warm environments of the function as clients.
        shared([partial(_warm_up, user) for user in users], range(_WARM_UPS * clients))
        return shared([user.submit for user in users], requests)

    def submit_together(self, jobs: int) -> float:
        """See :class:`bench.peers.side.Side`. The client's batches."""
        requests = [self.request() for _ in range(jobs)]
        return seconds(lambda: self._together(requests))

    def submit_array(self, members: int) -> float:
        """See :class:`bench.peers.side.Side`. All is in one call; members become jobs in turn."""
        request = self.request()
        array = with_sweep(request, sweep_of(members))
        taken_s = seconds(lambda: self._api.submit(array))
        # It may not hold instances yet, so `clear` would not find it, and its members would come later.
        self._api.stop_job(request["TrainingJobName"])
        return taken_s

    def lengthen(self, waiting: int) -> None:
        """See :class:`bench.peers.side.Side`. Put into the table: to submit ten thousand would take half an hour."""
        request = self.request()
        self._api.submit(request)
        more = waiting - self._table.count_waiting()
        self._table.add_like(request, [self.request()["TrainingJobName"] for _ in range(more)])
        self.come_to_rest()

    def list_jobs(self, first: int | None) -> float:
        """See :class:`bench.peers.side.Side`. All come in pages of a hundred, one call each."""
        return seconds(lambda: list(self._api.list_jobs(limit=first)))

    def preempt(self) -> float:
        """See :class:`bench.peers.side.Side`. It runs once SageMaker trains it."""
        request = self.request(priority=HIGH)
        sagemaker = self.sandbox.client("sagemaker")

        def trains() -> bool:
            try:
                described = sagemaker.describe_training_job(TrainingJobName=request["TrainingJobName"])
            except ClientError:
                return False  # not launched yet
            return str(described["SecondaryStatus"]) == "Training"

        def start() -> None:
            self._api.submit(request)
            until(trains, "a job preempts", timeout_s=_PATIENCE_S, every_s=PREEMPTION_LOOK_S)

        return seconds(start)

    def drain(self, jobs: int) -> float:
        """See :class:`bench.peers.side.Side`."""
        requests = [self.request(run_s=0) for _ in range(jobs)]

        def run_all() -> None:
            self._together(requests)
            until(self._is_empty, "all jobs have ended", timeout_s=_PATIENCE_S, every_s=0.5)

        return seconds(run_all)

    def cycle_ms(self, churn_s: int) -> float:
        """See :class:`bench.peers.side.Side`. Includes the launches through the emulator."""
        began = datetime.now(UTC)
        finished: set[str] = set()
        for _ in range(churn_s):
            # With a long queue events take longer than a second: ended jobs may still be listed as running.
            running = [str(job.live_attempt) for job in self._api.list_jobs(states=["running"])]
            for attempt in [each for each in running if each not in finished][:1]:
                self.sandbox.finish(attempt)
                finished.add(attempt)
            time.sleep(1)
        self.come_to_rest()
        return self.mean_duration_ms("ScheduleFunction", began)

    def mean_duration_ms(self, function: str, since: datetime) -> float:
        """How long the invocations of the function took on average that ended since then, ms."""
        points = self.durations(function, since, "Average", "SampleCount")
        number = sum(point["SampleCount"] for point in points)
        return float(sum(point["Average"] * point["SampleCount"] for point in points) / number)

    def _together(self, requests: Sequence[Mapping[str, Any]]) -> None:
        for result in self._api.submit_many(requests):
            if result.error is not None:
                raise result.error

    def _stop(self, job: Job) -> None:
        self._api.stop_job(job.name)

    def _holds_nothing(self) -> bool:
        return next(iter(self._api.list_jobs(states=_HOLDING, limit=1)), None) is None

    def _is_empty(self) -> bool:
        return next(iter(self._api.list_jobs(limit=1)), None) is None


def _warm_up(user: HeadwayApi, _: int) -> None:
    user.version()


def shared(acts: Sequence[Callable[[Any], object]], items: Sequence[Any]) -> float:
    """How long it takes to do all items when each act takes the next one as soon as it is free, s."""
    waiting = iter(items)

    def work(act: Callable[[Any], object]) -> None:
        # Taking the next one of a list's iterator is one step to other threads.
        for item in waiting:
            act(item)

    with ThreadPoolExecutor(len(acts)) as pool:
        return seconds(lambda: list(pool.map(work, acts)))


def job_request(name: str, *, priority: int, run_s: int, grace_s: int) -> dict[str, Any]:
    """A job on one instance that uses its whole grace period when it is stopped."""
    request = training_request(name, [(P5, 1)], run_s=run_s, tags={"headway:priority": str(priority)})
    request["Environment"][STOP_SECONDS] = str(grace_s)
    return request


def configuration(instances: int) -> dict[str, Any]:
    """A document with one pool, whose queue has the highest allowed limit."""
    limits = {"waitingPerTeam": MAX_WAITING, "waitingPerOwner": MAX_WAITING}
    return {"pools": {P5: {"size": instances}}, "limits": limits}
