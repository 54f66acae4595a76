"""The actions of users on a queue, through the API and outside of it."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any, TypeVar

from headway.policy import PREDICTED_ORDERS, Order
from headway.pool_names import SERVERLESS, SPOT_SUFFIX, on_demand_pool
from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.request_builder import G5, P5, training_request
from headway_sandbox.sagemaker.run_script import GPU_UTILIZATION
from headway_service.sagemaker_api.launch_request import MIN_PENDING_TIME_S
from headway_service.sagemaker_api.names import attempt_name
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, CHECKPOINT_INTERVAL_TAG, JOB_TAG
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.invariants.queue import FORGED
from headway_verification.soak.training_plan import INSTANCES, PLAN_POOL, SoldPlan

T = TypeVar("T")

FOREIGN = "ml.c5.xlarge"
"""The instance type of unrelated training jobs, which is not a pool of the queue."""

NAMES = [attempt_name(f"j{number}", attempt) for number in range(10) for attempt in (1, 2)]
"""Half are the names that the queue gives to the second attempts of the others."""

G5_SPOT = G5 + SPOT_SUFFIX
ALL = [P5, G5, G5_SPOT, SERVERLESS]
"""All pools that there may be."""

SMALL = [[(P5, 1)], [(G5, 1)]]
LARGE = [[(P5, 2)], [(G5, 2)], [(G5, 3)], [(P5, 1), (G5, 1)]]
"""Instances requested by jobs."""

SERVERLESS_JOB = {
    "BaseModelArn": "arn:aws:sagemaker:eu-west-1:aws:hub-content/SageMakerPublicHub/Model/m/1.0.0",
    "JobType": "FineTuning",
}

WATCHES = [
    {"idle": {"periodSeconds": 60, "periods": 2, "warmUpSeconds": warm_up_s, "action": action}}
    for action in ("stop", "requeue", "notify")
    for warm_up_s in (0, 120)
]
"""Short periods, so that idle jobs are detected before they end."""

PROFILES = ["0:720", "0:720,200:0", "0:0", "0:100", "0:0,400:720"]
"""GPU utilization profiles of jobs."""

RETRIES = {"capacity": {"maxPerJob": 2}, "code": {"maxPerJob": 1, "backoffSeconds": 0}}
"""Fewer and earlier retries than usual, so that they end within a run."""

SMALL_ONLY = {"small": {"require": {"maxInstances": 1}, "onStart": "stop"}}

TIGHT = {P5: 2, G5: 3}
"""Quotas equal to the pools: a start right after an end is refused while the ended job still counts."""

THROTTLED = [
    "CreateTrainingJob",
    "DescribeTrainingJob",
    "StopTrainingJob",
    "UpdateTrainingJob",
    "ListTrainingJobs",
    "ListTags",
    "DescribeTrainingPlan",
]
"""SageMaker operations that may be throttled by a rate."""

DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

REUSED_INPUT = {
    "ChannelName": "data",
    "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://data/in"}},
}
"""What jobs read that may be answered by others."""

ACTS = 40
"""User actions in one run."""

TEAMS: list[dict[str, Any]] = [
    {},
    {"a": {}, "default": {"weight": 3}},
    {"a": {"guaranteed": {P5: 1}, "limit": {G5: 2}}, "b": {"guaranteed": {G5: 1}, "maxPriority": 2}},
]


WAITING_FOR_CHECKPOINTS = {"checkpointsEverySeconds": 400, "waitForCheckpointSeconds": 600}
"""Rules with which preemptions wait for the checkpoints of jobs that run for some minutes."""

EARLY_STOPPING = {"metric": "seed", "goal": "minimize", "stepMetric": "epoch", "minMembers": 1, "minSteps": 2}
"""Of two members that train at once the one with the greater seed is worse (``printed_metrics``)."""


LIMITS_S = (86_400, 3600, 14_400)
"""Limits of jobs where the order among equals compares them."""


SCRIPTS = {"brief.py": 100, "long.py": 1500}
"""What jobs run where run times are predicted, with those of earlier jobs, s. Some jobs take longer."""


class Workload:
    """Users of the queue, and of the same account outside of it.

    Args:
        queue: the queue.
        random: determines the actions.
        plan: the training plan of the account, if it has one.
        order: the order among equals that they set, most of the time.
        waits: whether preemptions wait for checkpoints, most of the time.
        predicts: whether run times are predicted, and the order compares them most of the time.

    Attributes:
        acts: the actions performed, by kind.
    """

    def __init__(
        self,
        queue: Deployment,
        random: Random,
        plan: SoldPlan | None = None,
        order: Order = Order.FIFO,
        *,
        waits: bool = False,
        predicts: bool = False,
    ) -> None:
        self.queue = queue
        self.order = order
        self.waits = waits
        self.predicts = predicts
        self.random = random
        self.plan = plan
        self.acts: Counter[str] = Counter()
        #: In some runs later jobs have higher priorities and demands, so that many are preempted.
        self._rises = random.random() < 0.5
        #: How many of the jobs ask for a warm pool.
        self._keeping = random.choice([0.3, 0.9])
        #: Requests of jobs that may be answered by others, each with its alternatives.
        self._equal: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._acts: dict[str, tuple[int, Callable[[], None]]] = {
            "submit": (12, self._submit),
            "stop": (2, self._stop),
            "priority": (2, self._prioritise),
            "change": (2, self._change),
            "hold": (2, self._hold),
            "release": (2, self._release),
            "look": (2, self._look),
            "configure": (2, self._configure),
            "edit the parameter": (1, self._edit_parameter),
            "pause": (2, self._pause),
            "resume": (2, self._resume),
            "resize": (1, self._resize),
            "faults": (3, self._faults),
            "take a name": (1, self._take_name),
            "bypass": (2, self._bypass),
            "write an input": (1, self._write_input),
            "interrupt": (3, self._interrupt),
            "stop outside": (1, self._stop_outside),
            "delete outside": (1, self._delete_outside),
            "poison": (1, queue.poison),
        }
        if plan is not None:
            self._acts["change the plan"] = (3, plan.change)

    def act(self) -> None:
        """Perform an action."""
        weights = [weight for weight, _ in self._acts.values()]
        name = self.random.choices(list(self._acts), weights)[0]
        self.acts[name] += 1
        if self.queue.faults.happens():
            self.queue.note("people", name)
            self._acts[name][1]()

    def _submit(self) -> None:
        random, known = self.random, self.queue.store.document
        done = self.acts.total() / ACTS
        kinds = (LARGE if done > 0.3 else SMALL) if self._rises else [*SMALL, *LARGE]
        sizes = {pool: each["size"] for pool, each in known["pools"].items()}
        fitting = [kind for kind in kinds if all(count <= sizes.get(pool, 0) for pool, count in kind)]
        teams = [{"team": team} for team in known.get("teams", {})]
        name = self._new_name()
        request = training_request(
            name,
            self._mostly(fitting, kinds),
            run_s=random.choice([900, 1800] if self._rises else [30, 400, 900]),
            outcome=random.choice(["complete", "complete", "complete", "AlgorithmError: x", "CapacityError"]),
            tags={
                "priority": str(int(done * 4) if self._rises else random.randint(0, 3)),
                **self._mostly([{}, *teams], [{"team": "b"}]),
            },
        )
        if self.order is not Order.FIFO:
            self._make_equal(request)
        if random.random() < 0.5:
            request["Environment"][GPU_UTILIZATION] = random.choice(PROFILES)
        if random.random() < 0.2:
            request["StoppingCondition"]["MaxPendingTimeInSeconds"] = MIN_PENDING_TIME_S
        if random.random() < self._keeping and len(request["ResourceConfig"].get("InstanceGroups", ())) < 2:
            request["ResourceConfig"]["KeepAlivePeriodInSeconds"] = random.choice([300, 900, 3600])
        elif random.random() < 0.3:
            request["EnableManagedSpotTraining"] = True
            request["StoppingCondition"]["MaxWaitTimeInSeconds"] = request["StoppingCondition"]["MaxRuntimeInSeconds"]
        if len(sizes.keys() & {P5, G5}) == 2 and random.random() < 0.2:
            request.pop("EnableManagedSpotTraining", None)
            request["StoppingCondition"].pop("MaxWaitTimeInSeconds", None)
            counts = {kind: random.choice([1, 1, 2]) for kind in random.sample([P5, G5], 2)}
            listed = [{"InstanceType": kind, "InstanceCount": count} for kind, count in counts.items()]
            request["ResourceConfig"] = {"InstancePreferences": listed, "VolumeSizeInGB": 30}
        if SERVERLESS in sizes and random.random() < 0.2:
            del request["ResourceConfig"]
            request["ServerlessJobConfig"] = SERVERLESS_JOB
        if self.plan is not None and random.random() < 0.5:
            self._move_to_plan(request, self.plan)
        terms = {**self._alternatives(request, sizes), **self._dependencies()}
        request, terms = self._for_reuse(request, terms)
        self._make_checkpointed(request, terms)
        required = [each["job"] for each in terms.get("dependsOn", []) if each["condition"] == "ok"]
        if required and "reuse" not in terms:
            request["InputDataConfig"] = [
                {
                    "ChannelName": "model",
                    "DataSource": {
                        "S3DataSource": {
                            "S3DataType": "S3Prefix",
                            "S3Uri": f"{{{{ jobs.{random.choice(required)}.model }}}}",
                        }
                    },
                }
            ]
        self.queue.submit(request, **self._as_array(terms))

    def _as_array(self, terms: dict[str, Any]) -> dict[str, Any]:
        """Some jobs are arrays."""
        random = self.random
        if "reuse" in terms or random.random() < 0.9:
            return terms
        count = random.randint(1, 4)
        at_once = {"atOnce": random.randint(1, 3)} if random.random() < 0.5 else {}
        most = {"maxFailures": random.randint(0, 1)} if random.random() < 0.5 else {}
        early = {"earlyStopping": EARLY_STOPPING} if random.random() < 0.5 else {}
        return {**terms, "sweep": {"grid": {"seed": [*range(count)]}}, **at_once, **most, **early}

    def _alternatives(self, request: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
        """Alternatives of a job of one type, if there are pools for them; the queue refuses those that share a pool."""
        random, resources = self.random, request.get("ResourceConfig", {})
        others = [pool for pool in (P5, G5, G5_SPOT) if pool in sizes and pool != resources.get("InstanceType")]
        if "InstanceType" not in resources or not others or random.random() < 0.7:
            return {}
        listed: list[dict[str, Any]] = []
        for pool in random.sample(others, random.randint(1, len(others))):
            config = {
                "InstanceType": on_demand_pool(pool),
                "InstanceCount": random.choice([1, 1, 2]),
                "VolumeSizeInGB": 1,
            }
            run_s = request["StoppingCondition"]["MaxRuntimeInSeconds"]
            is_spot = pool == G5_SPOT
            condition = {"MaxRuntimeInSeconds": run_s, **({"MaxWaitTimeInSeconds": run_s} if is_spot else {})}
            spot = {"EnableManagedSpotTraining": True if is_spot else None}
            listed.append({"ResourceConfig": config, "StoppingCondition": condition, **spot})
        waits = {"waitAtMostSeconds": random.choice([0, 0, 600, 1800]), "portableCheckpoint": random.random() < 0.5}
        return {"alternatives": listed, **waits}

    def _dependencies(self) -> dict[str, Any]:
        """Dependencies of a job on others, mostly on jobs that are about to change; the queue refuses unmet ones."""
        random = self.random
        if random.random() < 0.7:
            return {}
        others = {self._some_job() for _ in range(random.randint(1, 2))}
        return {
            "dependsOn": [
                {"job": other, "condition": random.choice(["ok", "any", "any", "failed"])} for other in sorted(others)
            ]
        }

    def _for_reuse(self, request: dict[str, Any], terms: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Some jobs may be answered by equal ones; half of these are equal to an earlier one."""
        random = self.random
        if random.random() < 0.7 or "ServerlessJobConfig" in request:
            return request, terms
        if self._equal and random.random() < 0.6:
            earlier, alternatives = random.choice(self._equal)
            request = {**earlier, "TrainingJobName": request["TrainingJobName"], "Tags": request["Tags"]}
            terms = {**alternatives, **{name: terms[name] for name in ("dependsOn",) if name in terms}}
        else:
            request["InputDataConfig"] = [REUSED_INPUT]
            self._equal.append((request, {k: v for k, v in terms.items() if k != "dependsOn"}))
        return request, {**terms, "reuse": True, "reuseUnpinned": True}

    def _make_equal(self, request: dict[str, Any]) -> None:
        """Give a request one of a few limits. Most jobs are equals and write checkpoints. Nothing is drawn for it."""
        number = self.acts["submit"]
        if number % 6:
            request["Tags"] = [{**tag, "Value": "1"} if tag["Key"] == "priority" else tag for tag in request["Tags"]]
        request["StoppingCondition"]["MaxRuntimeInSeconds"] = LIMITS_S[number % len(LIMITS_S)]
        if number % 5:
            request["CheckpointConfig"] = {"S3Uri": "s3://jobs/checkpoints"}
        if self.predicts and number % 4:
            request["HyperParameters"] = {"sagemaker_program": list(SCRIPTS)[number % 2]}

    def _make_checkpointed(self, request: dict[str, Any], terms: Mapping[str, Any]) -> None:
        """Let most jobs write checkpoints, and half of these say how often. Nothing is drawn for it.

        A job that finds checkpoints answers no equal one, so those that may be answered write none.
        """
        number = self.acts["submit"]
        if self.waits and number % 3 and "reuse" not in terms:
            request["CheckpointConfig"] = {"S3Uri": "s3://jobs/checkpoints"}
            if number % 2:
                request["Tags"].append({"Key": CHECKPOINT_INTERVAL_TAG, "Value": str((200, 400)[number % 4 // 2])})

    def _write_input(self) -> None:
        self.queue.s3.write_input(self.random.choice([b"", b"1", b"2"]))

    def _move_to_plan(self, request: dict[str, Any], plan: SoldPlan) -> None:
        """Make a request one for the training plan."""
        random = self.random
        for member in ("EnableManagedSpotTraining", "ServerlessJobConfig"):
            request.pop(member, None)
        request["StoppingCondition"] = {"MaxRuntimeInSeconds": random.choice([600, 1200, 86_400])}
        request["Environment"]["SANDBOX_RUN_SECONDS"] = str(random.choice([400, 900, 3000]))
        if random.random() < 0.5:
            request["CheckpointConfig"] = {"S3Uri": "s3://jobs/checkpoints"}
        request["ResourceConfig"] = {
            "InstanceType": P5,
            "InstanceCount": random.randint(1, INSTANCES),
            "VolumeSizeInGB": 30,
            "TrainingPlanArn": plan.arn,
        }

    def _mostly(self, likely: Sequence[T], others: Sequence[T]) -> T:
        return self.random.choice(likely if likely and self.random.random() < 0.9 else others)

    def _new_name(self) -> str:
        """Return a name, usually an unused one."""
        used = {item["jobName"] for item in self.queue.table.items() if item["sk"] == "job"}
        return self._mostly([name for name in NAMES if name not in used], NAMES)

    def _some_job(self) -> str:
        """Return a name, usually of a job that is about to change: there are only few of those at a time."""
        items = self.queue.table.items()
        attempts = [item for item in items if item["sk"].startswith("attempt#")]
        launching = sorted(str(item["jobName"]) for item in attempts if item["attemptState"] == "launching")
        holding = sorted(str(item["jobName"]) for item in attempts)
        first = sorted(str(item["jobName"]) for item in items if item["pk"].startswith("line#"))[:3]
        arrays = sorted(str(item["jobName"]) for item in items if item["sk"].startswith("array#"))
        members = [f"{name}_{index}" for name in arrays for index in range(4)]
        known = (launching, holding, first, NAMES, arrays + members)
        return self.random.choice(self.random.choice([names for names in known if names]))

    def _stop(self) -> None:
        self.queue.ask("DELETE", f"/jobs/{self._some_job()}")

    def _prioritise(self) -> None:
        self.queue.ask("PATCH", f"/jobs/{self._some_job()}", {"priority": self.random.randint(0, 3)})

    def _change(self) -> None:
        """Change a job, usually one that waits first, or that instances are freed for."""
        random, items = self.random, self.queue.table.items()
        waiting = sorted({str(item["jobName"]) for item in items if item["pk"].startswith("line#")})
        name = random.choice(waiting) if waiting and random.random() < 0.7 else self._some_job()
        # At most as many as fit at rest, whatever the sizes of the pools are now.
        wanted = {"instances": random.choice([1, 1, 2, 2]), "maxRuntimeSeconds": random.choice([1800, 86_400, 90_000])}
        kept = random.choice([{*wanted}, {"instances"}, {"instances"}, {"maxRuntimeSeconds"}])
        self.queue.ask("POST", f"/jobs/{name}/change", {key: wanted[key] for key in sorted(kept)})

    def _hold(self) -> None:
        """Hold a job, usually one with a reservation: those change the most at the same time."""
        attempts = [item for item in self.queue.table.items() if item["sk"].startswith("attempt#")]
        owed = sorted({str(item["freedFor"]) for item in attempts if item.get("freedFor")})
        name = self.random.choice(owed) if owed and self.random.random() < 0.5 else self._some_job()
        self.queue.ask("POST", f"/jobs/{name}/hold")

    def _release(self) -> None:
        held = sorted(self.queue.invariants.held())
        self.queue.ask("POST", f"/jobs/{self._mostly(held, NAMES)}/release")

    def _look(self) -> None:
        path, query = self.random.choice(
            [
                (f"/jobs/{self._some_job()}", None),
                ("/jobs", None),
                ("/jobs", {"state": ["preempted", "completed"], "limit": ["2"]}),
                ("/jobs", {"team": ["a"], "nameContains": ["j1"], "mine": ["true"], "limit": ["2"]}),
                ("/capacity", None),
                ("/config", None),
            ]
        )
        self.queue.ask("GET", path, query=query)

    def _configure(self) -> None:
        random, newest = self.random, self.queue.store.version
        # Usually based on the newest version, sometimes on an older one, or unconditional.
        made_from = random.choice([newest, newest, max(1, newest - 1), None])
        self.queue.ask(
            "PUT",
            "/config",
            document_of(
                sizes := {
                    P5: random.choice([1, 2, 2, 3]),
                    **random.choice([{G5: 1}, {G5: 3}, {G5: 3}, {}]),
                    **random.choice([{}, {}, {G5_SPOT: 1}, {G5_SPOT: 3}]),
                    **random.choice([{}, {}, {SERVERLESS: 1}]),
                    **({PLAN_POOL: random.choice([1, 2, 3])} if self.plan and random.random() < 0.9 else {}),
                },
                random.choice(TEAMS if G5 in sizes else TEAMS[:2]),
                backfill={"enabled": random.random() < 0.7, "reservedHeads": random.choice([1, 2])},
                preemption={
                    "maxPerJob": random.choice([1, 10]),
                    "minRunTimeSeconds": random.choice([0, 0, 200]),
                    **(WAITING_FOR_CHECKPOINTS if self.waits and newest % 3 else {}),
                },
                ageing=random.choice([None, None, {"intervalSeconds": 60, "cap": 2}]),
                rogues=random.choice([{}, {"charge": False}, {"action": "stop"}]),
                watches=random.choice([*WATCHES, {"idle": None}]),
                rules=random.choice([{}, {}, {}, SMALL_ONLY]),
                maxPendingSeconds=random.choice([None, 600, 600, 1800]),
                schedules={
                    **({P5: self._schedule()} if random.random() < 0.5 else {}),
                    **({PLAN_POOL: {"plan": self.plan.arn}} if self.plan else {}),
                },
                warmPools=random.choice(["leaveOut", {}, {}, {"acrossTeams": True}, {"maxInstances": {P5: 1}}]),
                # From the order to the default and back again, without a draw.
                **(
                    {}
                    if self.order is Order.FIFO
                    else {"priority": priority_of(self.order if newest % 3 else Order.FIFO, predicts=self.predicts)}
                ),
                **({"predictions": True} if self.predicts else {}),
                **({} if made_from is None else {"version": made_from}),
            ),
            headers={"If-Match": "*"} if made_from is None else None,
        )

    def _schedule(self) -> dict[str, Any]:
        """Sizes of a pool in the next minutes."""
        random = self.random
        times = sorted(random.sample(range(-10, 60), 4))
        now = [datetime.fromtimestamp(self.queue.now_s + minutes * 60, UTC) for minutes in times]
        entries = [
            {"days": DAYS, "from": f"{begin:%H:%M}", "to": f"{end:%H:%M}", "size": random.choice([0, 1, 1, 2, 3])}
            for begin, end in (now[:2], now[2:])
        ]
        return {"schedule": entries[: random.choice([1, 2])], "atShrink": random.choice(["run", "run", "stop"])}

    def _edit_parameter(self) -> None:
        """Change a pool size directly in the parameter."""
        document, store = self.queue.store.document, self.queue.store
        document["pools"][P5]["size"] = self.random.choice([2, 3])
        store.edit(document)

    def _pause(self) -> None:
        """Pause a pool or all pools, or drain a pool."""
        calls: list[tuple[str, dict[str, Any]]] = [("/pause", {}), *((f"/pools/{pool}/pause", {}) for pool in ALL)]
        calls += [(f"/pools/{pool}/drain", {"stop": stop}) for pool in ALL for stop in (False, True)]
        path, more = self.random.choice(calls)
        self.queue.ask("POST", path, {"reason": "so it is", **more})

    def _resume(self) -> None:
        self.queue.ask("POST", self.random.choice(["/resume", *(f"/pools/{pool}/resume" for pool in ALL)]))

    def _resize(self) -> None:
        self.queue.ask("PATCH", f"/pools/{self.random.choice(ALL)}", {"size": self.random.choice([1, 2, 3])})

    def _faults(self) -> None:
        random = self.random
        self.queue.store.lag_s = random.choice([0.0, 0.0, 5.0, 60.0])
        self.queue.fleet.faults = Faults(
            event_drop=random.choice([0.0, 0.0, 0.3]),
            event_duplicate=random.choice([0.0, 0.5]),
            event_delay=random.choice([0.0, 0.5]),
            event_shuffle=random.choice([0.0, 1.0]),
            quotas=random.choice([{}, {}, {P5: 1}, TIGHT]),
            spot_quotas=random.choice([{}, {}, {P5: 1, G5: 0}]),
            quota_lag_s=random.choice([0.0, 0.0, 20.0, 150.0]),
            rates=self._rates(),
            capacity=random.choice([{}, {}, {}, {G5: 1}, {P5: 1}, {P5: 0, G5: 0}]),
            capacity_wait_s=random.choice([0.0, 300.0, 3000.0]),
            pending_expiry=random.choice(["Stopped", "Failed"]),
            event_hides_selection=random.random() < 0.5,
            event_hides_metrics=random.random() < 0.5,
            preferences_count=random.choice(["selected", "all"]),
            # Mostly enough, as without a quota SageMaker keeps nothing.
            warm_pool_quotas=random.choice([{}, {P5: 1}, *[{P5: 9, G5: 9}] * 4]),
            warm_pool_choice=random.choice(["oldest", "any", "any", "none"]),
            warm_pool_lag_s=random.choice([0.0, 0.0, 60.0]),
            warm_pool_release_s=random.choice([0.0, 60.0, 300.0]),
            warm_pool_update_completed_only=random.random() < 0.2,
        ).with_changes(self.queue.temper)

    def _rates(self) -> dict[str, dict[str, float]]:
        """Return rate limits of SageMaker below the queue's call rate."""
        rare = {"per_s": 0.1, "burst": 1}
        return {operation: rare for operation in THROTTLED if self.random.random() < 0.15}

    def _take_name(self) -> None:
        """Create an unrelated training job with a name that the queue uses."""
        name = self.random.choice([attempt_name(name, self.random.choice([1, 2])) for name in NAMES])
        with contextlib.suppress(AwsError):
            self.queue.fleet.create(training_request(name, [(FOREIGN, 1)], run_s=60), now=self.queue.now_s)

    def _bypass(self) -> None:
        """Create an unmanaged training job on the queue's instances, sometimes with the queue's tags."""
        random = self.random
        forged = random.random() < 0.3
        tags = {JOB_TAG: random.choice(NAMES), ATTEMPT_TAG: FORGED} if forged else {}
        # A job with the queue's tags is not stopped, so it has to end by itself.
        run_s = random.choice([60, 900] if forged else [60, 900, 1_000_000])
        name = self._mostly([f"r{number}" for number in range(20)], NAMES)
        with contextlib.suppress(AwsError):
            request = training_request(name, random.choice([*SMALL, *LARGE]), run_s=run_s, tags=tags)
            self.queue.fleet.create(request, now=self.queue.now_s)

    def _interrupt(self) -> None:
        """Interrupt a training job on spot instances."""
        spot = [each.name for each in self.queue.fleet.jobs(now=self.queue.now_s) if each.spot and not each.ended]
        with contextlib.suppress(AwsError, IndexError):
            self.queue.fleet.interrupt(self.random.choice(spot), now=self.queue.now_s)

    def _stop_outside(self) -> None:
        with contextlib.suppress(AwsError, IndexError):
            name = self.random.choice(self.queue.fleet.jobs(now=self.queue.now_s)).name
            self.queue.fleet.stop(name, now=self.queue.now_s)

    def _delete_outside(self) -> None:
        with contextlib.suppress(AwsError, IndexError):
            name = self.random.choice(self.queue.fleet.jobs(now=self.queue.now_s)).name
            self.queue.fleet.delete(name, now=self.queue.now_s)


def priority_of(order: Order, *, predicts: bool) -> dict[str, Any]:
    """Return the rules of a document on priorities.

    Args:
        order: the order among equals.
        predicts: whether predicted run times count in the orders that compare run times.
    """
    return {"order": order, **({"byPredictions": True} if predicts and order in PREDICTED_ORDERS else {})}


def document_of(
    sizes: Mapping[str, int],
    teams: Mapping[str, Any],
    schedules: Mapping[str, Mapping[str, Any]] | None = None,
    **rules: Any,
) -> dict[str, Any]:
    """Return a configuration document.

    Args:
        sizes: the number of instances of each pool.
        teams: the teams.
        schedules: further members of pools, such as their schedules.
        rules: further members of the document.
    """
    pools = {pool: {"size": size, **(schedules or {}).get(pool, {})} for pool, size in sizes.items()}
    usual = {"retries": RETRIES, "spot": {"maxInterruptions": 1}, "watches": WATCHES[0]}
    return {"pools": pools, "teams": teams, **usual, **rules}
