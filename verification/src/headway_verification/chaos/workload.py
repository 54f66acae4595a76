"""Requests of users to the queue, over signed HTTP, repeated until they are answered."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any, TypeVar

from botocore.credentials import Credentials

from headway_client.errors import BusyError, ConflictError, JobNotFoundError, NotReachableError, ServerFaultError
from headway_client.http.api import HeadwayApi
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.request_builder import G5, P5, training_request
from headway_sandbox.sagemaker.run_script import RUN_SECONDS

SUBMITTERS = 4
"""Threads that submit requests."""

PAUSE_S = 0.25
"""The default interval between two submissions."""

WHIM_S = 0.8
"""The mean interval between two stops or priority changes; the maximum is twice that."""

RETRIES = {kind: {"maxPerJob": 1, "backoffSeconds": 1} for kind in ("service", "capacity")}
"""The failures that are retried: sooner than usual, as these waits are not accelerated."""

_RETRY_S = 0.5
_DEMANDS = [[(P5, 1)], [(P5, 1)], [(P5, 3)], [(G5, 1)], [(G5, 1)], [(G5, 4)], [(P5, 1), (G5, 2)]]
_OUTCOMES = [*["complete"] * 12, "AlgorithmError: exit code 1", "InternalServerError: We are sorry.", "CapacityError"]

Request = Mapping[str, Any]
T = TypeVar("T")


class Workload:
    """Submits requests from several threads, and stops jobs and changes priorities concurrently.

    Args:
        sandbox: the sandbox of the queue.
        random: determines the requests.
        jobs: the number of job names to submit.
        pause_s: the mean interval between two submissions, s; the maximum is twice that.

    Attributes:
        asked: the number of requests by kind, and of repetitions after a fault.
        accepted: the requests answered with 2xx, by name; equal ones once.
        unanswered: the requests without an answer when the workload ended.
    """

    def __init__(self, sandbox: Sandbox, random: Random, *, jobs: int, pause_s: float = PAUSE_S) -> None:
        self._sandbox = sandbox
        self._pause_s = pause_s
        self._random = random
        self._requests = [self._requests_of(f"chaos-{number:03}") for number in range(jobs)]
        self._ended = threading.Event()
        self._no_more = threading.Event()
        self._lock = threading.Lock()
        self.all_submitted = threading.Event()
        self.asked: Counter[str] = Counter()
        self.accepted: dict[str, list[Request]] = {}
        self.unanswered: list[str] = []

    def set_pools(self, sizes: Mapping[str, int]) -> None:
        """Configure the pools."""
        pools = {pool: {"size": size} for pool, size in sizes.items()}
        self._api().put_config({"pools": pools, "retries": RETRIES}, force=True)

    def stop_submitting(self) -> None:
        """Submit no further jobs."""
        self._no_more.set()

    def end(self) -> None:
        """Stop sending requests."""
        self._ended.set()

    def submit_all(self) -> None:
        """Submit all requests, those of one name concurrently."""
        random = Random(self._random.random())
        with ThreadPoolExecutor(SUBMITTERS) as submitters:
            tasks = []
            for order in self._requests:
                if self._no_more.is_set():
                    break
                tasks += [submitters.submit(self._submit, request) for request in order]
                self._ended.wait(random.uniform(0, 2 * self._pause_s))
            for task in tasks:
                task.result()
        self.all_submitted.set()

    def change_jobs(self) -> None:
        """Stop jobs and change priorities until the workload ends."""
        random = Random(self._random.random())
        while not self._ended.wait(random.uniform(0, 2 * WHIM_S)):
            names = sorted(self.accepted)
            if not names:
                continue
            name = random.choice(names)
            if random.random() < 0.25:
                self.stop(name)
            else:
                self._prioritise(name, random.randint(0, 9))

    def stop(self, name: str) -> None:
        """Stop a job."""
        self._insist("stops", name, lambda api: api.stop_job(name))

    def _prioritise(self, name: str, priority: int) -> None:
        self._insist("changes of priority", name, lambda api: api.set_priority(name, priority))

    def _submit(self, request: Request) -> None:
        name = request["TrainingJobName"]
        if self._insist("submissions", name, lambda api: api.submit(request)) is None:
            return
        with self._lock:
            known = self.accepted.setdefault(name, [])
            if request not in known:
                known.append(request)

    def _insist(self, what: str, name: str, call: Callable[[HeadwayApi], T]) -> T | None:
        """Repeat a request until it is answered, as a user would.

        Args:
            what: the kind of request, for the counters.
            name: the name of the job.
            call: sends the request.

        Returns:
            The answer; None if the request was refused or the workload ended first.
        """
        self._count(what)
        while not self._ended.is_set():
            try:
                # A separate connection for each request.
                return call(self._api())
            except (ConflictError, JobNotFoundError):
                self._count(f"{what}: refused, as the job has ended or the name is in use")
                return None
            except (BusyError, NotReachableError, ServerFaultError):
                self._count("repeated after a fault")
                self._ended.wait(_RETRY_S)
        with self._lock:
            self.unanswered.append(f"{what} {name}")
        return None

    def _count(self, what: str) -> None:
        with self._lock:
            self.asked[what] += 1

    def _api(self) -> HeadwayApi:
        info = self._sandbox.info
        credentials = Credentials(info.access_key, info.secret_key)
        return HeadwayApi(self._sandbox.endpoint, region=info.region, credentials=credentials)

    def _requests_of(self, name: str) -> list[Request]:
        """Return the requests of one name: usually one, sometimes the same twice, or two different ones."""
        request = self._request(name)
        others = self._random.choices([[], [request], [_longer(request)]], [8, 1, 1])[0]
        return [request, *others]

    def _request(self, name: str) -> Request:
        random = self._random
        request = training_request(
            name,
            random.choice(_DEMANDS),
            run_s=random.choice([60, 150, 300, 450]),
            outcome=random.choice(_OUTCOMES),
            tags={"priority": str(random.randint(0, 9))},
        )
        checkpoints = {"CheckpointConfig": {"S3Uri": f"s3://jobs/checkpoints/{name}"}}
        return {
            **request,
            "RoleArn": self._sandbox.info.role_arn,
            "StoppingCondition": {"MaxRuntimeInSeconds": random.choice([400, 3600, 86_400])},
            **random.choice([{}, checkpoints]),
        }


def _longer(request: Request) -> Request:
    """Return a different request of the same name, with a longer run time."""
    environment = request["Environment"]
    return {**request, "Environment": {**environment, RUN_SECONDS: str(int(environment[RUN_SECONDS]) + 1)}}
