"""The requests that users submit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from headway.policy import Order
from headway.pool_names import SERVERLESS, on_demand_pool
from headway_sandbox.sagemaker.request_builder import G5, P5, training_request
from headway_sandbox.sagemaker.run_script import GPU_UTILIZATION
from headway_service.sagemaker_api.launch_request import MIN_PENDING_TIME_S
from headway_service.sagemaker_api.tags import CHECKPOINT_INTERVAL_TAG, NOT_BEFORE_TAG, RETRIES_TAG, START_BY_TAG
from headway_verification.soak.training_plan import INSTANCES, SoldPlan
from headway_verification.soak.workload.people import ACTS, G5_SPOT, LARGE, SMALL, People

SERVERLESS_JOB = {
    "BaseModelArn": "arn:aws:sagemaker:eu-west-1:aws:hub-content/SageMakerPublicHub/Model/m/1.0.0",
    "JobType": "FineTuning",
}

PROFILES = ["0:720", "0:720,200:0", "0:0", "0:100", "0:0,400:720"]
"""GPU utilization profiles of jobs."""

REUSED_INPUT = {
    "ChannelName": "data",
    "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://data/in"}},
}
"""What jobs read that may be answered by others."""

EARLY_STOPPING = {"metric": "seed", "goal": "minimize", "stepMetric": "epoch", "minMembers": 1, "minSteps": 2}
"""Of two members that train at once the one with the greater seed is worse (``printed_metrics``)."""

LIMITS_S = (86_400, 3600, 14_400)
"""Limits of jobs where the order among equals compares them."""

SCRIPTS = {"brief.py": 100, "long.py": 1500}
"""What jobs run where run times are predicted, with those of earlier jobs, s. Some jobs take longer."""


class Submitters(People):
    """Users who submit jobs. See :class:`People`."""

    #: Requests of jobs that may be answered by others, each with its alternatives.
    _equal: list[tuple[dict[str, Any], dict[str, Any]]]

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._equal = []

    def _submit(self) -> None:
        request, terms = self._request()
        self.queue.submit(request, **terms)

    def _submit_batch(self) -> None:
        """Submit some jobs in one call, some of them with what belongs to them beside their requests."""
        drawn = [self._request() for _ in range(self.random.randint(1, 4))]
        self.queue.submit_batch([{"jobDetails": request, **terms} if terms else request for request, terms in drawn])

    def _request(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the request of a new job, and what belongs to it beside that."""
        random, known = self.random, self.queue.configuration.document
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
        self._limit_retries(request)
        self._give_times(request)
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
        return request, self._as_array(terms)

    def _as_array(self, terms: dict[str, Any]) -> dict[str, Any]:
        """Some jobs are arrays."""
        random = self.random
        if random.random() < (0.7 if "reuse" in terms else 0.9):
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

    def _limit_retries(self, request: dict[str, Any]) -> None:
        """Let some jobs be retried once. Nothing is drawn for it."""
        if self.acts["submit"] % 7 == 0:
            request["Tags"].append({"Key": RETRIES_TAG, "Value": "1"})

    def _give_times(self, request: dict[str, Any]) -> None:
        """Let some jobs enter the queue later, and some have to start by a time. Nothing is drawn for it."""
        number, minute = self.acts["submit"], self.queue.now_s // 60 * 60
        times = {
            NOT_BEFORE_TAG: minute + 300 * (number % 3) if number % 8 == 0 else None,
            START_BY_TAG: minute + 900 if number % 6 == 0 else None,
        }
        for key, at_s in times.items():
            if at_s is not None:
                value = datetime.fromtimestamp(at_s, UTC).isoformat()
                request["Tags"].append({"Key": key, "Value": value})

    def _make_checkpointed(self, request: dict[str, Any], terms: Mapping[str, Any]) -> None:
        """Let most jobs write checkpoints, and half of these say how often. Nothing is drawn for it.

        A job that finds checkpoints answers no equal one, so those that may be answered write none.
        """
        number = self.acts["submit"]
        if self.waits and number % 3 and "reuse" not in terms:
            request["CheckpointConfig"] = {"S3Uri": "s3://jobs/checkpoints"}
            if number % 2:
                request["Tags"].append({"Key": CHECKPOINT_INTERVAL_TAG, "Value": str((200, 400)[number % 4 // 2])})

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
