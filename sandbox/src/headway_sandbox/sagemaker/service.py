"""The fake SageMaker: the API operations on the training jobs of `headway_sandbox.sagemaker.state_machine`.

Requests and responses are documents in wire format: timestamps are epoch seconds.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from typing import Any

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker import run_script, service_facts
from headway_sandbox.sagemaker.api import list_training_jobs, request_rules, request_validation
from headway_sandbox.sagemaker.capacity import warm_pools
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.job_controls import JobControls
from headway_sandbox.sagemaker.state_machine import Document, SageMakerSettings
from headway_sandbox.sagemaker.telemetry import utilization
from headway_sandbox.sagemaker.token_bucket import Throttle
from headway_sandbox.sagemaker.training_job import TrainingJob

_Handler = Callable[[Mapping[str, Any], float], Document]


class FakeSageMaker(JobControls):
    """SageMaker's training jobs of one account in one region.

    Args:
        settings: Account, region, speed, durations and rates.
        faults: The injected faults; can be replaced at any time.
        rng: Source of randomness.
    """

    def __init__(
        self,
        *,
        settings: SageMakerSettings | None = None,
        faults: Faults | None = None,
        rng: random.Random | None = None,
    ) -> None:
        super().__init__(settings=settings, faults=faults, rng=rng)
        self._throttle = Throttle(self.settings.rates)
        self._operations: Mapping[str, _Handler] = {
            "CreateTrainingJob": self._create,
            "StopTrainingJob": self._stop,
            "DescribeTrainingJob": self._describe,
            "ListTrainingJobs": self._list,
            "DeleteTrainingJob": self._delete,
            "UpdateTrainingJob": self._update,
            "DescribeTrainingPlan": self._describe_plan,
            "ListTrainingPlans": self._list_plans,
            "ListTags": self._list_tags,
            "AddTags": self._add_tags,
            "DeleteTags": self._delete_tags,
        }

    # ------------------------------------------------------------------------------------------------ the API

    def call(self, operation: str, request: Mapping[str, Any], *, now: float) -> Document:
        """Execute one API call, e.g. `call("StopTrainingJob", {"TrainingJobName": "a"}, now=12.0)`.

        Args:
            operation: Its name.
            request: Its members.
            now: The training time, s since the epoch.

        Returns:
            The response's members.

        Raises:
            AwsError: The service's error response.
        """
        handler = self._operations.get(operation)
        if handler is None:
            raise service_facts.unknown_operation("SageMaker", operation, self._operations)
        self._settle(now)
        throttled, self.faults = self.faults.consume("throttle", operation)
        # Rates of calls are those of the machine that makes them.
        called_s = self.settings.clock.machine_time(now)
        if throttled or not self._throttle.admits(operation, called_s, rate=self.faults.rate(operation)):
            raise service_facts.throttled()
        self._authorize(operation, request)
        request_validation.check(operation, request)
        answer = handler(request, now)
        lost, self.faults = self.faults.consume("lose_answer", operation)
        if lost:
            raise service_facts.answer_lost()
        return answer

    def _authorize(self, operation: str, request: Mapping[str, Any]) -> None:
        """Policies are evaluated before the request: a name that is in use is denied as well."""
        # What is no object has nothing that a policy could be about, and is refused next.
        if operation != "CreateTrainingJob" or not isinstance(request, Mapping):
            return
        denied = self.faults.denial(request, arn=self.arn(str(request.get("TrainingJobName", ""))))
        if denied is not None:
            raise denied

    def create(self, request: Mapping[str, Any], *, now: float) -> Document:
        """Call CreateTrainingJob; the request includes the tags.

        Args:
            now: the current time, s.
        """
        return self.call("CreateTrainingJob", request, now=now)

    def stop(self, name: str, *, now: float) -> None:
        """Call StopTrainingJob.

        Args:
            name: the name of the training job.
            now: the current time, s.
        """
        self.call("StopTrainingJob", {"TrainingJobName": name}, now=now)

    def describe(self, name: str, *, now: float) -> Document:
        """Call DescribeTrainingJob.

        Args:
            name: the name of the training job.
            now: the current time, s.
        """
        return self.call("DescribeTrainingJob", {"TrainingJobName": name}, now=now)

    def list_jobs(self, *, now: float, **filters: Any) -> Document:
        """Call ListTrainingJobs."""
        return self.call("ListTrainingJobs", filters, now=now)

    def delete(self, name: str, *, now: float) -> None:
        """Call DeleteTrainingJob, the only way to free a name.

        Args:
            name: the name of the training job.
            now: the current time, s.
        """
        self.call("DeleteTrainingJob", {"TrainingJobName": name}, now=now)

    def keep_alive(self, name: str, period_s: int, *, now: float) -> None:
        """Call UpdateTrainingJob with another keep-alive period for a warm pool.

        Args:
            name: the name of the training job that left the pool.
            period_s: the period; 0 ends it.
            now: the current time, s.
        """
        changed = {"TrainingJobName": name, "ResourceConfig": {"KeepAlivePeriodInSeconds": period_s}}
        self.call("UpdateTrainingJob", changed, now=now)

    def list_tags(self, arn: str, *, now: float) -> Document:
        """Call ListTags.

        Args:
            arn: the ARN of the training job.
            now: the current time, s.
        """
        return self.call("ListTags", {"ResourceArn": arn}, now=now)

    def add_tags(self, arn: str, tags: Mapping[str, str], *, now: float) -> Document:
        """Call AddTags.

        Args:
            arn: the ARN of the training job.
            now: the current time, s.
        """
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        return self.call("AddTags", {"ResourceArn": arn, "Tags": listed}, now=now)

    # --------------------------------------------------------------------------------------------- operations

    def _create(self, request: Mapping[str, Any], now: float) -> Document:
        request_rules.check_create(request)
        warm_pools.check_request(request, self.faults)
        self._supply.plans.check_request(request, now=now)
        run = run_script.read(request.get("Environment") or {}, request.get("HyperParameters") or {})
        utilization.check(request, run)
        why_timer = self.settings.why_timer(request)
        name = request["TrainingJobName"]
        arn = self.arn(name)
        pool_of = self._supply.warm_pools.choose(request, self.faults, now=now)
        if self.faults.quota_before_name:
            self._check_quotas(request, pool_of, now)
        if name in self._jobs:
            raise service_facts.repeated_create(arn, self.faults.repeated_create)
        self._check_quotas(request, pool_of, now)
        job = TrainingJob(
            name=name,
            arn=arn,
            request=copy.deepcopy({key: value for key, value in request.items() if key != "Tags"}),
            tags={tag["Key"]: tag["Value"] for tag in request.get("Tags") or []},
            created=now,
            script=run,
            why_timer=why_timer,
            run_left_s=run.run_s,
        )
        self._jobs[name] = self._live[name] = job
        if pool_of is not None:
            self._supply.warm_pools.assign(pool_of, job, now=now)
            self._changed.add(pool_of.name)
        self._enter(job, "Starting", now, lasts_s=self._provisioning_s(job) * 0.1)
        return {"TrainingJobArn": arn}

    def _check_quotas(self, request: Mapping[str, Any], pool_of: TrainingJob | None, now: float) -> None:
        jobs = self._jobs if self.faults.quota_lag_s else self._live
        self._supply.check_quotas(request, jobs.values(), self.faults, pool_of=pool_of, now=now)

    def _stop(self, request: Mapping[str, Any], now: float) -> Document:
        job = self._visible(request, now)
        if job.status != service_facts.IN_PROGRESS:
            raise service_facts.not_stoppable(job.status)
        self._begin_stop(job, "Stopped", now)
        return {}

    def _describe(self, request: Mapping[str, Any], now: float) -> Document:
        job = self._visible(request, now)
        return {**job.describe(), **(job.warm_pool.shown(now) if job.warm_pool is not None else {})}

    def _list(self, request: Mapping[str, Any], now: float) -> Document:
        lag_s = self.faults.list_lag_s
        jobs = [job for job in self._jobs.values() if self._is_older(job, lag_s, now)]
        return list_training_jobs.page(jobs, request, now=now)

    def _delete(self, request: Mapping[str, Any], now: float) -> Document:
        job = self._found(request["TrainingJobName"])
        if not job.ended or warm_pools.retains(job, now):
            raise service_facts.not_deletable(job.name, job.status)
        del self._jobs[job.name]
        self._changed.add(job.name)
        return {}

    def _update(self, request: Mapping[str, Any], now: float) -> Document:
        job = self._jobs.get(request["TrainingJobName"])
        if job is None or not self._is_older(job, self.faults.describe_lag_s, now):
            # Model: UpdateTrainingJob declares it.
            raise AwsError("ResourceNotFound", "Requested resource not found.")
        request_validation.check_update(request)
        self._supply.warm_pools.update(job, request["ResourceConfig"]["KeepAlivePeriodInSeconds"], self.faults, now=now)
        self._changed.add(job.name)
        return {"TrainingJobArn": job.arn}

    def _describe_plan(self, request: Mapping[str, Any], now: float) -> Document:
        return self._supply.plans.describe(request, self._live.values(), self.faults, now)

    def _list_plans(self, request: Mapping[str, Any], now: float) -> Document:
        return self._supply.plans.list_plans(request, self._live.values(), self.faults, now)

    def _list_tags(self, request: Mapping[str, Any], now: float) -> Document:
        job = self._tagged(request)
        tags = job.tags if self._is_older(job, self.faults.tags_lag_s, now) else {}
        return {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}

    def _add_tags(self, request: Mapping[str, Any], now: float) -> Document:
        job = self._tagged(request)
        request_rules.check_tags(request["Tags"])
        tags = {**job.tags, **{tag["Key"]: tag["Value"] for tag in request["Tags"]}}
        if len(tags) > service_facts.TAGS_MAX:
            raise service_facts.validation(f"A resource has at most {service_facts.TAGS_MAX} tags.")
        job.tags = tags
        self._changed.add(job.name)
        return self._list_tags(request, now)

    def _delete_tags(self, request: Mapping[str, Any], _now: float) -> Document:
        job = self._tagged(request)
        job.tags = {key: value for key, value in job.tags.items() if key not in request["TagKeys"]}
        self._changed.add(job.name)
        return {}

    def _visible(self, request: Mapping[str, Any], now: float) -> TrainingJob:
        """Return the requested job, if Describe and Stop find it already."""
        job = self._found(request["TrainingJobName"])
        if not self._is_older(job, self.faults.describe_lag_s, now):
            raise service_facts.not_found()
        return job

    def _is_older(self, job: TrainingJob, lag_s: float, now: float) -> bool:
        return now >= job.created + lag_s

    def _tagged(self, request: Mapping[str, Any]) -> TrainingJob:
        arn = request["ResourceArn"]
        job = self._jobs.get(arn.rpartition("/")[2])
        if job is None or job.arn != arn:
            raise service_facts.not_found()
        return job
