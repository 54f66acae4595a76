"""The account's training plans: the requests for them, the room in them, and how long their jobs wait.

Only a test creates a plan: on AWS that costs money, so the queue has no such call.

Source: SageMaker guide, "Training plans utilization for SageMaker training jobs". AWS does not document, so `Faults`
selects: whether a job that loses its instances is Stopped or Failed (`plan_end`), whether instances of a plan count
against the quota too (`plan_counts_to_quota`), and the counts outside the blocks (`plan_counts_while_scheduled`). Not
documented either, and here always so: a plan with managed spot training is refused; among several pending jobs the one
that looks first gets the instances; the two days without capacity, like MaxPendingTimeInSeconds, stand still outside
the blocks; a job whose plan has no usable time left fails at once.

On AWS the container has SAGEMAKER_CURRENT_CAPACITY_BLOCK_EXPIRATION_TIMESTAMP with the end of its block. The sandbox
runs no containers, and no API shows it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker import requested_instances, service_facts
from headway_sandbox.sagemaker.api import request_validation, tokens
from headway_sandbox.sagemaker.capacity.training_plan import USABLE, Block, PlanView, TrainingPlan
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.requested_instances import Choice
from headway_sandbox.sagemaker.training_job import TrainingJob

LONGEST_WITHOUT_CAPACITY_S = 2 * 86_400.0
"""How long a job is pending in an active plan without free instances before it fails (guide: 2 days)."""
NO_CAPACITY = "InsufficientCapacityError: There was no capacity in the training plan."


class TrainingPlans:
    """The training plans of an account in a region.

    Args:
        arn_prefix: A plan's ARN without its name.
    """

    def __init__(self, arn_prefix: str) -> None:
        self._prefix = arn_prefix
        self._plans: dict[str, TrainingPlan] = {}

    def put(self, plan: TrainingPlan) -> None:
        """Create or change a plan.

        Raises:
            ValueError: No plan has such instances.
        """
        known = request_validation.service_model().shape_for("ReservedCapacityInstanceType").metadata["enum"]
        if plan.instance_type not in known:
            raise ValueError(f"No training plan has {plan.instance_type}. Types: {', '.join(known)}.")
        self._plans[self.arn(plan.name)] = plan

    def arn(self, name: str) -> str:
        """Return the ARN of the plan with a name."""
        return f"{self._prefix}{name}"

    def get(self, arn: str) -> TrainingPlan | None:
        """Return the plan with an ARN."""
        return self._plans.get(arn)

    def all(self) -> list[TrainingPlan]:
        """Return all plans, in the order of their creation."""
        return list(self._plans.values())

    def check_request(self, request: Mapping[str, Any], *, now: float) -> None:
        """Refuse a request for a plan that cannot be used.

        Args:
            request: A CreateTrainingJob request.
            now: The time, s.

        Raises:
            AwsError: ValidationException. Code and wording are assumed.
        """
        for choice in requested_instances.choices(request):
            if choice.plan:
                self._check_choice(choice, now)
                if request.get("EnableManagedSpotTraining"):
                    raise service_facts.validation("A training plan cannot be used with managed spot training.")

    def _check_choice(self, choice: Choice, now: float) -> None:
        plan = self._plans.get(choice.plan)
        if plan is None:
            raise service_facts.validation(f"The training plan {choice.plan} does not exist.")
        status = plan.status(now)
        if status not in USABLE:
            raise service_facts.validation(
                f"The training plan {plan.name} is in status {status}. It must be {' or '.join(USABLE)}."
            )
        if plan.target != "training-job":
            raise service_facts.validation(
                f"The training plan {plan.name} is for {plan.target}, not for training jobs."
            )
        if set(choice.hosts) != {plan.instance_type}:
            raise service_facts.validation(f"The training plan {plan.name} has only {plan.instance_type}.")
        if len(choice.hosts) > plan.instance_count:
            raise service_facts.validation(f"The training plan {plan.name} has {plan.instance_count} instances only.")

    def room(self, choice: Choice, jobs: Iterable[TrainingJob], *, now: float) -> Block | None:
        """Return the block in which a job can start now; None if there is no room.

        Args:
            choice: The instances of the plan that it wants.
            jobs: The jobs that have not ended.
            now: The time, s.
        """
        plan = self._plans.get(choice.plan)
        block = plan.usable_block(now) if plan is not None else None
        if plan is None or block is None:
            return None
        free = plan.instance_count - plan.unhealthy - in_use(choice.plan, jobs)
        return block if len(choice.hosts) <= free else None

    def block_end(self, arn: str, now: float) -> float | None:
        """Return when the instances of a plan go; None if it has none."""
        plan = self._plans.get(arn)
        block = plan.usable_block(now) if plan is not None else None
        return block.usable_until if block is not None else None

    def next_start(self, choices: Iterable[Choice], *, now: float) -> float | None:
        """Return when one of some choices can have instances next: now for one without a plan; None if never.

        Args:
            choices: The choices of a job.
            now: The time, s.
        """
        found = [self._next_start(choice, now) for choice in choices]
        return min((start for start in found if start is not None), default=None)

    def _next_start(self, choice: Choice, now: float) -> float | None:
        if not choice.plan:
            return now
        plan = self._plans.get(choice.plan)
        return plan.next_start(now) if plan is not None else None

    def idle_s(self, choices: Iterable[Choice], *, since: float, until: float) -> float:
        """Return for how long a job could not have any instances: all its choices had plans, and none was Active.

        Args:
            choices: The choices of the job.
            since: Begin of the time, s.
            until: Its end, s.
        """
        plans = [self._plans.get(choice.plan) for choice in choices]
        if not all(plan is not None for plan in plans):
            return 0.0
        known = [plan for plan in plans if plan is not None]
        edges = {edge for plan in known for edge in plan.edges()}
        moments = sorted({since, until, *(edge for edge in edges if since < edge < until)})
        spans = itertools.pairwise(moments)
        return sum(end - start for start, end in spans if not any(plan.is_active(start) for plan in known))

    def describe(
        self, request: Mapping[str, Any], jobs: Iterable[TrainingJob], faults: Faults, now: float
    ) -> dict[str, Any]:
        """Answer DescribeTrainingPlan.

        Args:
            request: The request, with the name or the ARN of a plan.
            jobs: The jobs that have not ended.
            faults: What its counts show.
            now: The time, s.

        Raises:
            AwsError: ResourceNotFound, which the model declares.
        """
        name = request["TrainingPlanName"]
        arn = name if name.startswith("arn:") else self.arn(name)
        plan = self._plans.get(arn)
        if plan is None:
            raise AwsError("ResourceNotFound", f"The training plan {name} does not exist.")
        return self._view(plan, jobs, faults, now).describe()

    def list_plans(
        self, request: Mapping[str, Any], jobs: Iterable[TrainingJob], faults: Faults, now: float
    ) -> dict[str, Any]:
        """Answer ListTrainingPlans. The order and the size of a page are not documented: by start, 10.

        Args:
            jobs: The jobs that have not ended.
            faults: What the counts show.
            now: The time, s.

        Raises:
            AwsError: The token is invalid.
        """
        jobs = list(jobs)
        entries = [self._view(plan, jobs, faults, now).summary() for plan in self.all()]
        statuses = [each["Value"] for each in request.get("Filters") or []]
        after, before = request.get("StartTimeAfter"), request.get("StartTimeBefore")
        found = [
            entry
            for entry in entries
            if all(entry["Status"] == status for status in statuses)
            and (after is None or entry["StartTime"] > float(after))
            and (before is None or entry["StartTime"] < float(before))
        ]
        key = request.get("SortBy", "StartTime")
        found.sort(key=lambda entry: entry[key], reverse=request.get("SortOrder", "Ascending") == "Descending")
        start = tokens.offset(request.get("NextToken"))
        end = start + int(request.get("MaxResults", service_facts.LIST_DEFAULT_RESULTS))
        more = {"NextToken": tokens.token(end)} if end < len(found) else {}
        return {"TrainingPlanSummaries": found[start:end], **more}

    def _view(self, plan: TrainingPlan, jobs: Iterable[TrainingJob], faults: Faults, now: float) -> PlanView:
        arn = self.arn(plan.name)
        return PlanView(
            plan=plan,
            arn=arn,
            in_use=in_use(arn, jobs),
            now=now,
            counts_while_scheduled=faults.plan_counts_while_scheduled,
        )


def in_use(arn: str, jobs: Iterable[TrainingJob]) -> int:
    """Return how many instances of a plan jobs have.

    Args:
        jobs: The jobs that have not ended.
    """
    return sum(len(job.hosts) for job in jobs if job.allocated_at is not None and job.plan == arn)
