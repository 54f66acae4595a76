"""How long warm handlers take: to answer a submission, and to start the next job once instances are free."""

from __future__ import annotations

import gc
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from bench.metering.offline_boto3 import Wire, WiredTable
from bench.queues.virtual_time import MeteredQueue, usual_request
from headway_sandbox.inprocess.lambda_loader import event, http_event
from headway_service.aws.sagemaker_training_jobs import SageMakerTrainingJobs
from headway_service.config.document import MAX_WAITING
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import AllTrainingJobs
from headway_service.store import transitions
from headway_service.store.records.job import JobRecord

INSTANCES = 8
LASTS_S = 10_000_000
"""No training job ends by itself."""
BETWEEN_S = 60
"""Virtual time from the end of one training job to the end of the next."""
WARM_UP = 5
"""Submissions and ends of training jobs before the first that count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Took:
    """How long something took, ms, and how much of it boto3 did."""

    ms: float
    boto3_ms: float


class WarmQueue(MeteredQueue):
    """A queue of a certain length whose instances are all in use, on warm handlers.

    It times everything in the functions' processes: handlers, decision, adapters, and boto3 as far as
    the request that it would send. DynamoDB, SQS and SageMaker, which play in the same process, are left out.

    Args:
        waiting: jobs in the queue, the next one included; 1 to 10,000 (`configuration.MAX_WAITING`).
    """

    def __init__(self, waiting: int) -> None:
        self._wire = Wire()
        super().__init__(INSTANCES, limits={"waitingPerTeam": MAX_WAITING, "waitingPerOwner": MAX_WAITING})
        self._created_ns: list[tuple[int, int]] = []
        self._settled_boto3_ns = 0
        self._observed_ms = 0.0
        self._reactions: list[Took] = []
        self._submitted = 0
        for _ in range(INSTANCES):
            self._submit()
            self.come_to_rest()
        self._fill(waiting - 1)
        # Lambda keeps no table in its memory, through which the collector of garbage would have to go.
        gc.collect()
        gc.freeze()

    def now_ns(self) -> int:
        """See :class:`bench.queues.virtual_time.MeteredQueue`."""
        return self._wire.now_ns()

    def submission(self) -> Took:
        """How long the API's handler takes for a submission that has to wait."""
        before_ms, before_ns = self.handler_ms["api"], self._wire.boto3_ns()
        self._submit()
        # Nothing is free, so the requested tick would start nothing.
        self.wakes.clear()
        return Took(ms=self.handler_ms["api"] - before_ms, boto3_ms=(self._wire.boto3_ns() - before_ns) / 1e6)

    def reaction(self) -> Took:
        """How long the handlers take from the event that a training job has ended to the call that starts the next.

        It is the whole run of ``observe``, and that of ``schedule`` as far as CreateTrainingJob's request.
        """
        running = next(job.name for job in self.fleet.jobs(now=self.now_s) if not job.ended)
        self.fleet.finish(running, now=self.now_s)
        self._reactions.clear()
        self._settled_boto3_ns = self._wire.boto3_ns()
        self.pass_time(BETWEEN_S)
        if len(self._reactions) != 1:
            raise RuntimeError(f"{running} has ended, and {len(self._reactions)} jobs were started")
        return self._reactions[0]

    def deliver(self) -> None:
        """Changes are not published, as that is not timed."""
        self._published = len(self.table.written)

    def run_ticks(self) -> None:
        """Run a tick if one was requested."""
        observed_ms = self.handler_ms["observe"] - self._observed_ms
        self._observed_ms += observed_ms
        if self.wakes:
            self.wakes.clear()
            self._created_ns.clear()
            began_ns = self.now_ns()
            self.invoke("schedule", event("schedule"))
            self._reactions += [
                Took(
                    ms=observed_ms + (created_ns - began_ns) / 1e6,
                    boto3_ms=(boto3_ns - self._settled_boto3_ns) / 1e6,
                )
                for created_ns, boto3_ns in self._created_ns
            ]
        self._settled_boto3_ns = self._wire.boto3_ns()

    def _submit(self) -> None:
        self._submitted += 1
        request = usual_request(f"job-{self._submitted:06}", run_s=LASTS_S)
        answer = self.invoke("api", http_event("POST", "/jobs", json.dumps(request)))
        if answer["statusCode"] != 201:
            raise RuntimeError(f"a submission was answered by {answer['statusCode']}: {answer['body']}")

    def _fill(self, number: int) -> None:
        """Add jobs to the queue, without admission and its time."""
        if not number:
            return
        self._submit()
        self.wakes.clear()
        item = self.table.get(JobRecord.key(f"job-{self._submitted:06}"))
        assert item is not None  # noqa: S101 - it was submitted
        first = JobRecord.parse(item)
        for _ in range(number - 1):
            self._submitted += 1
            job = first.model_copy(update={"job_name": f"job-{self._submitted:06}"})
            self.table.write(transitions.enqueue(job, json.dumps(usual_request(job.job_name, run_s=LASTS_S))))

    # --------------------------------------------------------------------------------------- the adapters, and AWS

    def make_table(self) -> Table:
        """See :class:`SimulatedDeployment`."""
        return WiredTable(self.table, self._wire)

    def make_training_jobs(self) -> AllTrainingJobs:
        """See :class:`SimulatedDeployment`."""
        return SageMakerTrainingJobs(self._wire.client("sagemaker", self.call_sagemaker))

    def make_sqs(self) -> Any:
        """See :class:`SimulatedDeployment`."""
        return self._wire.client("sqs", self._answer_sqs)

    def call_sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """See :class:`SimulatedDeployment`."""
        if operation == "CreateTrainingJob":
            self._created_ns.append((self.now_ns(), self._wire.boto3_ns()))
        return self.fleet.call(operation, request, now=self.now_s)

    def _answer_sqs(self, _: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self.wakes.append(request["MessageBody"])
        return {"MessageId": "1"}


def measure(waiting: int, *, runs: int, times: int) -> dict[str, Any]:
    """Submissions and reactions in turn, so that the queue keeps its length.

    Args:
        waiting: jobs in the queue at each end of a training job.
        runs: how often all is measured, so that one sees how it varies.
        times: submissions and reactions a run.
    """
    world = WarmQueue(waiting)
    for _ in range(WARM_UP):
        world.submission()
        world.reaction()
    pairs = [[(world.submission(), world.reaction()) for _ in range(times)] for _ in range(runs)]
    gc.unfreeze()
    return {
        "waiting": waiting,
        "times": runs * times,
        "submission": summary([[submission for submission, _ in run] for run in pairs]),
        "reaction": summary([[reaction for _, reaction in run] for run in pairs]),
    }


def summary(runs: Sequence[Sequence[Took]]) -> dict[str, Any]:
    """The median and the 99th percentile of all, ms, and the least and the greatest that a single run had of each.

    And the median of boto3's part.
    """
    together = [took for run in runs for took in run]
    found: dict[str, Any] = {
        f"p{percent}Ms": {
            "all": round(percentile([took.ms for took in together], percent), 2),
            "runs": [
                round(most(percentile([took.ms for took in run], percent) for run in runs), 2) for most in (min, max)
            ],
        }
        for percent in (50, 99)
    }
    return {**found, "boto3P50Ms": round(percentile([took.boto3_ms for took in together], 50), 2)}


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that this percentage of all do not exceed (nearest rank)."""
    return sorted(values)[ceil(percent / 100 * len(values)) - 1]
