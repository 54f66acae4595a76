"""One life of a queue: what people ask for, in a world where things go wrong, and then a calm end."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import Any

from headway_sandbox.errors import AwsError
from headway_sandbox.faults import Faults
from headway_sandbox.soak.accidents import Accident, Violence
from headway_sandbox.soak.invariants import Violated
from headway_sandbox.soak.queue import START_S, Queue
from headway_service.naming import attempt_name

P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"
POOLS = {P5: 2, G5: 3}
FOREIGN = "ml.c5.xlarge"
"""What somebody else's training jobs run on: not a pool of the queue's."""

NAMES = [attempt_name(f"j{number}", attempt) for number in range(10) for attempt in (1, 2)]
"""Half are what the queue calls the second attempts of the others."""

ACTS = 40
"""Things that people do in one life."""

VIOLENT_S = 2400
"""Things go wrong for at least so long, virtual s, so that much of what was asked for meets accidents."""

MAX_STEPS = 20_000
"""Steps of one life; more mean that it comes to no rest."""

MAX_CALM_MINUTES = 600
"""Minutes after the last fault in which everything must have ended."""

TEAMS: list[dict[str, Any]] = [
    {},
    {"a": {}, "default": {"weight": 3}},
    {"a": {"guaranteed": {P5: 1}, "limit": {G5: 2}}, "b": {"guaranteed": {G5: 1}, "maxPriority": 2}},
]


@dataclass(kw_only=True)
class Outcome:
    """How a life went."""

    seed: int
    #: What promise was broken; None if all were kept.
    violation: str | None = None
    log: list[tuple[float, str, str]] = field(default_factory=list)
    accidents: Counter[tuple[str, Accident]] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    states: set[str] = field(default_factory=set)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    answers: Counter[int] = field(default_factory=Counter)
    acts: Counter[str] = field(default_factory=Counter)


def live(seed: int) -> Outcome:
    """Live one life."""
    random = Random(seed)
    queue = Queue(random, POOLS, Violence.draw(random))
    life = _Life(queue, random)
    violation = None
    try:
        life.run()
        rest(queue)
    except Violated as error:
        violation = str(error)
    finally:
        queue.processes.kill_all()
    return Outcome(
        seed=seed,
        violation=violation,
        log=queue.log,
        accidents=queue.accidents.counted,
        calls=queue.accidents.calls,
        states=queue.invariants.states,
        failures=queue.failures,
        answers=queue.answers,
        acts=life.acts,
    )


def rest(queue: Queue) -> None:
    """Everything is well again: what was under way ends, and all that was accepted must reach its end.

    Raises:
        Violated: a promise is broken.
    """
    queue.accidents.violence = Violence()
    queue.fleet.faults = Faults()
    _drain(queue)
    queue.store.write(json.dumps(_document(POOLS, {})))
    for _ in range(MAX_CALM_MINUTES):
        queue.pass_time(60)
        _drain(queue)
        if queue.invariants.is_at_rest():
            break
    # What stops or is reserved for nobody any more needs a moment longer than the jobs.
    for _ in range(5):
        queue.pass_time(60)
        _drain(queue)
    queue.invariants.check_end(queue.accepted, queue.now_s)


def _drain(queue: Queue) -> None:
    for _ in range(MAX_STEPS):
        if queue.busy:
            queue.go_on()
        elif queue.processes.live:
            queue.pass_time(1)
        elif not queue.deliver():
            return
    raise Violated("the queue comes to no rest")


class _Life:
    def __init__(self, queue: Queue, random: Random) -> None:
        self.queue = queue
        self.random = random
        self.acts: Counter[str] = Counter()
        self._acts: dict[str, tuple[int, Callable[[], None]]] = {
            "submit": (12, self._submit),
            "stop": (2, self._stop),
            "priority": (2, self._prioritise),
            "look": (2, self._look),
            "configure": (2, self._configure),
            "faults": (3, self._faults),
            "take a name": (1, self._take_name),
            "stop outside": (1, self._stop_outside),
            "delete outside": (1, self._delete_outside),
            "poison": (1, queue.poison),
        }

    def run(self) -> None:
        """Live until people have done all they want."""
        queue, random = self.queue, self.random
        for _ in range(MAX_STEPS):
            if self.acts.total() >= ACTS and not queue.processes.live and queue.now_s > START_S + VIOLENT_S:
                return
            busy = queue.busy
            if busy and random.random() < 0.75:
                queue.go_on()
            elif random.random() < 0.8 and queue.deliver():
                pass
            elif self.acts.total() < ACTS and random.random() < 0.15:
                weights = [weight for weight, _ in self._acts.values()]
                name = random.choices(list(self._acts), weights)[0]
                self.acts[name] += 1
                queue.note("people", name)
                self._acts[name][1]()
            elif queue.processes.live:
                # Mostly so little that calls under way meet, now and then so much that they time out.
                queue.pass_time(random.choices([0.05, 1, 5, 35], [40, 10, 3, 1])[0])
            else:
                queue.pass_time(random.choice([1, 5, 20, 60]))
        raise Violated("the life comes to no end")

    # --------------------------------------------------------------------------------------------- what people do

    def _submit(self) -> None:
        random, name = self.random, self.random.choice(NAMES)
        request = training_request(
            name,
            random.choice([[(P5, 1)], [(P5, 2)], [(G5, 1)], [(G5, 2)], [(P5, 1), (G5, 1)]]),
            run_s=random.choice([30, 400, 900]),
            outcome=random.choice(["complete", "complete", "complete", "AlgorithmError: x", "CapacityError"]),
            tags={"priority": str(random.randint(0, 3)), **random.choice([{}, {"team": "a"}, {"team": "b"}])},
        )

        def answered(status: int, _: Any) -> None:
            if status in {HTTPStatus.CREATED, HTTPStatus.OK}:
                self.queue.accepted.add(name)

        self.queue.ask("POST", "/jobs", request, then=answered)

    def _some_job(self) -> str:
        """Mostly one that something is about to happen to, as of those only few are there at a time."""
        items = self.queue.table.items()
        attempts = [item for item in items if item["sk"].startswith("attempt#")]
        launching = sorted(str(item["jobName"]) for item in attempts if item["attemptState"] == "launching")
        holding = sorted(str(item["jobName"]) for item in attempts)
        first = sorted(str(item["jobName"]) for item in items if item["pk"].startswith("line#"))[:3]
        return self.random.choice(self.random.choice([names for names in (launching, holding, first, NAMES) if names]))

    def _stop(self) -> None:
        self.queue.ask("DELETE", f"/jobs/{self._some_job()}")

    def _prioritise(self) -> None:
        self.queue.ask("PATCH", f"/jobs/{self._some_job()}", {"priority": self.random.randint(0, 3)})

    def _look(self) -> None:
        path, query = self.random.choice(
            [
                (f"/jobs/{self._some_job()}", None),
                ("/jobs", None),
                ("/jobs", {"state": ["preempted", "completed"], "limit": ["2"]}),
                ("/capacity", None),
                ("/config", None),
            ]
        )
        self.queue.ask("GET", path, query=query)

    def _configure(self) -> None:
        random = self.random
        self.queue.ask(
            "PUT",
            "/config",
            _document(
                sizes := {P5: random.choice([1, 2, 2, 3]), **random.choice([{G5: 1}, {G5: 3}, {G5: 3}, {}])},
                random.choice(TEAMS if G5 in sizes else TEAMS[:2]),
                backfill={"enabled": random.random() < 0.7, "reservedHeads": random.choice([1, 2])},
                preemption={"maxPerJob": random.choice([1, 10]), "minRunTimeSeconds": random.choice([0, 0, 200])},
                ageing=random.choice([None, None, {"intervalSeconds": 60, "cap": 2}]),
            ),
        )

    def _faults(self) -> None:
        random = self.random
        self.queue.fleet.faults = Faults(
            event_drop=random.choice([0.0, 0.0, 0.3]),
            event_duplicate=random.choice([0.0, 0.5]),
            event_delay=random.choice([0.0, 0.5]),
            event_shuffle=random.choice([0.0, 1.0]),
            quotas=random.choice([{}, {}, {P5: 1}]),
            capacity=random.choice([{}, {}, {G5: 1}]),
        )

    def _take_name(self) -> None:
        """Somebody else creates a training job of that name, beside the queue."""
        name = self.random.choice([attempt_name(name, self.random.choice([1, 2])) for name in NAMES])
        with contextlib.suppress(AwsError):
            self.queue.fleet.create(training_request(name, [(FOREIGN, 1)], run_s=60), now=self.queue.now_s)

    def _stop_outside(self) -> None:
        with contextlib.suppress(AwsError, IndexError):
            name = self.random.choice(self.queue.fleet.jobs(now=self.queue.now_s)).name
            self.queue.fleet.stop(name, now=self.queue.now_s)

    def _delete_outside(self) -> None:
        with contextlib.suppress(AwsError, IndexError):
            name = self.random.choice(self.queue.fleet.jobs(now=self.queue.now_s)).name
            self.queue.fleet.delete(name, now=self.queue.now_s)


def training_request(
    name: str,
    demand: list[tuple[str, int]],
    *,
    run_s: int,
    outcome: str = "complete",
    tags: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A CreateTrainingJob request that the fake SageMaker plays."""
    if len(demand) == 1:
        ((pool, count),) = demand
        resources: dict[str, Any] = {"InstanceType": pool, "InstanceCount": count, "VolumeSizeInGB": 30}
    else:
        groups = [
            {"InstanceGroupName": f"g{number}", "InstanceType": pool, "InstanceCount": count}
            for number, (pool, count) in enumerate(demand)
        ]
        resources = {"InstanceGroups": groups, "VolumeSizeInGB": 30}
    return {
        "TrainingJobName": name,
        "RoleArn": "arn:aws:iam::123456789012:role/HeadwayTrainingRole",
        "AlgorithmSpecification": {
            "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/t:1",
            "TrainingInputMode": "File",
        },
        "OutputDataConfig": {"S3OutputPath": "s3://jobs/output"},
        "ResourceConfig": resources,
        "StoppingCondition": {"MaxRuntimeInSeconds": 86_400},
        "Environment": {"SANDBOX_RUN_SECONDS": str(run_s), "SANDBOX_OUTCOME": outcome},
        "Tags": [{"Key": key, "Value": value} for key, value in (tags or {}).items()],
    }


def _document(sizes: Mapping[str, int], teams: Mapping[str, Any], **rules: Any) -> dict[str, Any]:
    return {"pools": {pool: {"size": size} for pool, size in sizes.items()}, "teams": teams, **rules}
