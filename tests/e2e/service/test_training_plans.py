"""A job in a training plan stops before SageMaker takes its instances, and resumes when the plan has them again."""

from __future__ import annotations

from functools import partial

import pytest

from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.request_builder import P5
from tests.e2e.queue_view import QueueView

pytestmark = pytest.mark.e2e

MINUTE_S = 60.0
POOL = f"{P5}.plan.spring"


def test_a_job_in_a_training_plan_stops_at_its_end_and_resumes_in_its_next_part(sb: Sandbox, queue: QueueView):
    blocks = [(0, 100 * MINUTE_S), (120 * MINUTE_S, 100_000 * MINUTE_S)]
    plan = sb.put_plan("spring", blocks, instance_type=P5, instance_count=1)
    queue.api.put_config({"pools": {P5: {"size": 2}, POOL: {"plan": plan}}}, force=True)
    # It runs once a minute, which is more than an hour of training time here.
    reconcile = partial(sb.invoke, "Reconcile")
    resources = {"InstanceType": P5, "InstanceCount": 1, "VolumeSizeInGB": 30, "TrainingPlanArn": plan}
    checkpoints = {"S3Uri": "s3://jobs/checkpoints"}
    queue.submit("planned", 0, ResourceConfig=resources, CheckpointConfig=checkpoints)
    queue.wait_for(planned="running", meanwhile=reconcile)
    assert queue.jobs()["planned"].demand == {POOL: 1}
    pool = next(each for each in queue.api.capacity().pools if each.pool == POOL)
    assert (pool.size, pool.allocated) == (1, 1)
    assert pool.plan.startswith("the training plan `spring` ends at ")
    queue.wait_for(planned="pending", meanwhile=reconcile)
    reasons = [step.reason.message for step in queue.api.get_job(f"{queue.prefix}planned").history]
    assert any(f"stopped as the pool {POOL} has only 0 instances now" in reason for reason in reasons)
    queue.wait_for(planned="running", meanwhile=reconcile)
    queue.finish("planned")
    queue.wait_for(planned="completed", meanwhile=reconcile)
