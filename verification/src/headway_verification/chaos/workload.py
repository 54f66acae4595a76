"""What people ask of the queue, over signed HTTP, and how they insist on an answer."""

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
"""Threads that hand in requests."""

PAUSE_S = 0.25
"""The default time between two submissions."""

WHIM_S = 0.8
"""Between two stops or changes of a priority, on average; twice as long at most."""

RETRIES = {kind: {"maxPerJob": 1, "backoffSeconds": 1} for kind in ("service", "capacity")}
"""After which failures jobs are tried again: sooner than usual, as these waits pass at no greater speed."""

_RETRY_S = 0.5
_DEMANDS = [[(P5, 1)], [(P5, 1)], [(P5, 3)], [(G5, 1)], [(G5, 1)], [(G5, 4)], [(P5, 1), (G5, 2)]]
_OUTCOMES = [*["complete"] * 12, "AlgorithmError: exit code 1", "InternalServerError: We are sorry.", "CapacityError"]

Request = Mapping[str, Any]
T = TypeVar("T")


class Workload:
    """Hand in requests from several threads, and stop jobs and change priorities meanwhile.

    Args:
        sandbox: where the queue is.
        random: draws the requests.
        jobs: how many names to hand in requests for.
        pause_s: between two submissions, on average; twice as long at most.

    Attributes:
        asked: the number of requests of each kind, and of retries after accidents.
        accepted: the requests that were answered with 2xx, by name; equal ones once.
        unheard: the requests without a response at the end.
    """

    def __init__(self, sandbox: Sandbox, random: Random, *, jobs: int, pause_s: float = PAUSE_S) -> None:
        self._sandbox = sandbox
        self._pause_s = pause_s
        self._random = random
        self._orders = [self._order(f"chaos-{number:03}") for number in range(jobs)]
        self._home = threading.Event()
        self._enough = threading.Event()
        self._lock = threading.Lock()
        self.all_handed_in = threading.Event()
        self.asked: Counter[str] = Counter()
        self.accepted: dict[str, list[Request]] = {}
        self.unheard: list[str] = []

    def set_pools(self, sizes: Mapping[str, int]) -> None:
        """Configure the pools."""
        pools = {pool: {"size": size} for pool, size in sizes.items()}
        self._api().put_config({"pools": pools, "retries": RETRIES}, force=True)

    def submit_no_more(self) -> None:
        """Stop submitting new jobs."""
        self._enough.set()

    def go_home(self) -> None:
        """Stop all requests."""
        self._home.set()

    def hand_in(self) -> None:
        """Submit all requests, those of one name at once."""
        random = Random(self._random.random())
        with ThreadPoolExecutor(SUBMITTERS) as submitters:
            tasks = []
            for order in self._orders:
                if self._enough.is_set():
                    break
                tasks += [submitters.submit(self._submit, request) for request in order]
                self._home.wait(random.uniform(0, 2 * self._pause_s))
            for task in tasks:
                task.result()
        self.all_handed_in.set()

    def change_minds(self) -> None:
        """Stop jobs and change priorities, until the workload ends."""
        random = Random(self._random.random())
        while not self._home.wait(random.uniform(0, 2 * WHIM_S)):
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
        """Retry until there is a response, as a user would; None after a refusal, or if the workload ends first."""
        self._count(what)
        while not self._home.is_set():
            try:
                # A connection of his own for each.
                return call(self._api())
            except (ConflictError, JobNotFoundError):
                self._count(f"{what}: refused, as the job has ended or the name is taken")
                return None
            except (BusyError, NotReachableError, ServerFaultError):
                self._count("retried after an accident")
                self._home.wait(_RETRY_S)
        with self._lock:
            self.unheard.append(f"{what} {name}")
        return None

    def _count(self, what: str) -> None:
        with self._lock:
            self.asked[what] += 1

    def _api(self) -> HeadwayApi:
        info = self._sandbox.info
        credentials = Credentials(info.access_key, info.secret_key)
        return HeadwayApi(self._sandbox.endpoint, region=info.region, credentials=credentials)

    def _order(self, name: str) -> list[Request]:
        """The requests under one name: mostly one, now and then the same one twice, or two different ones."""
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
    """Another request of the same name with another run time."""
    environment = request["Environment"]
    return {**request, "Environment": {**environment, RUN_SECONDS: str(int(environment[RUN_SECONDS]) + 1)}}
