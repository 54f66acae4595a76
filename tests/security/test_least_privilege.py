"""The functions' permissions are sufficient and necessary: a scenario that needs all, with enforced policies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from headway.reasons import ReasonCode
from headway_sandbox.call_recorder import Call, Run
from headway_sandbox.inprocess.lambda_loader import event
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.local.template import expanded
from headway_service.config.schedule import Day
from headway_service.dead_letters.redrive import MAX_REDRIVEN
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_verification.least_privilege.compare import Fault, Finding, prove
from headway_verification.least_privilege.exceptions import GRANTED_WITHOUT_A_RUN
from headway_verification.least_privilege.grants import Grant, granted
from tests.e2e.queue_view import ENDLESS, QueueView
from tests.e2e.waiting import USUAL_S, eventually
from tests.service.world import P5

pytestmark = pytest.mark.e2e

POLICY: dict[str, Any] = {
    "pools": {P5: {"size": 2}},
    "watches": {"idle": {"periodSeconds": 60, "periods": 1, "warmUpSeconds": 0}},
    "rogues": {"action": "stop"},
}
STOPPED_S = VISIBLE_AFTER_S + USUAL_S
"""The scan stops no training job before SageMaker has had time to show its tags."""
IDLE = {**ENDLESS, "SANDBOX_GPU_UTILIZATION": "0:0"}


@pytest.fixture(scope="module")
def grants() -> list[Grant]:
    """The grants of the template."""
    return granted(expanded(Checkout.here(), VpcEndpointIds="vpce-0123456789abcdef0"))


def reuse_outputs(sb: Sandbox, queue: QueueView) -> None:
    """Have one of two equal jobs computed: the API and the scheduler read the sources of both."""
    s3, bucket = sb.client("s3"), sb.info.bucket
    for name in ("same1", "same2"):
        archive = f"{queue.prefix}{name}/sourcedir.tar.gz"
        s3.put_object(Bucket=bucket, Key=archive, Body=b"the same")
        document = queue.request(
            name,
            9,
            HyperParameters={"sagemaker_submit_directory": f"s3://{bucket}/{archive}"},
            OutputDataConfig={"S3OutputPath": f"s3://{bucket}/output"},
        )
        queue.cli("submit", "-", "--reuse-unpinned", stdin=document)
    queue.wait_until_training("same1")
    s3.put_object(Bucket=bucket, Key=f"output/{queue.prefix}same1/output/model.tar.gz", Body=b"model")
    queue.finish("same1")
    queue.wait_for(same1="completed", same2="completed")


def see_checkpoints(sb: Sandbox, queue: QueueView) -> None:
    """Have the reconciler list the checkpoints of a running job."""
    name = f"{queue.prefix}saves"
    queue.submit("saves", 9, Environment=ENDLESS, CheckpointConfig={"S3Uri": f"s3://{sb.info.bucket}/{name}"})
    queue.wait_until_training("saves")

    def listed() -> bool:
        return any("ReconcileFunctionRole" in each.role and each.action == "s3:ListBucket" for each in sb.calls())

    eventually(listed, "the reconciler lists the bucket", meanwhile=lambda: sb.invoke("Reconcile"))


def read_unlaunchable(sb: Sandbox, queue: QueueView) -> None:
    """Have the reconciler read a job that SageMaker refused once, and has accepted without instances for it."""
    sb.set_faults(quotas={P5: 0})
    queue.submit("refused", 9)

    def is_refused() -> bool:
        return any(step.reason.code == ReasonCode.LAUNCH_POSTPONED for step in queue.details("refused").history)

    eventually(is_refused, "SageMaker refuses the launch")
    sb.clear_faults()
    sb.set_faults(capacity={P5: 0})
    # It wakes the scheduler, which tries the other one again.
    queue.submit("behind", 1)
    queue.wait_for(refused="running", behind="running")

    def is_read() -> bool:
        return any(
            "ReconcileFunctionRole" in each.role and each.action == "dynamodb:BatchGetItem" for each in sb.calls()
        )

    eventually(is_read, "the reconciler reads the job", meanwhile=lambda: sb.invoke("Reconcile"))
    sb.clear_faults()
    for name in ("refused", "behind"):
        queue.cli("stop", f"{queue.prefix}{name}")
    queue.wait_for(refused="stopped", behind="stopped")


def compare_members(sb: Sandbox, queue: QueueView) -> None:
    """Have the metrics of two members of an array read."""
    sweep, early = '{"grid": {"lr": [1, 2]}}', "metric=loss,goal=minimize,minMembers=1"
    document = queue.request("sweep", 9)
    queue.cli("submit", "-", "--sweep", sweep, "--early-stopping", early, stdin=document)
    queue.wait_until_training("sweep_0", "sweep_1")
    sb.invoke("Watch")


def findings(grants: list[Grant], calls: list[Call]) -> list[Finding]:
    return prove(grants, [Run(name="sandbox", sources="", calls=tuple(calls))], GRANTED_WITHOUT_A_RUN).findings


def test_the_scenario_needs_each_permission_and_no_other(sb: Sandbox, queue: QueueView, grants: list[Grant]):
    queue.api.put_config(POLICY, force=True)
    assert queue.api.get_config().settings["pools"] == POLICY["pools"]
    read_unlaunchable(sb, queue)
    # Two of each kind, since a wildcard that only one resource needs is too wide.
    for name in ("lost1", "lost2"):
        # The launch takes effect, and the scheduler has to recognize it.
        sb.set_faults(lose_answer={"CreateTrainingJob": 1})
        queue.submit(name, 1)
        queue.wait_until_training(name)
    change_and_stop(queue)
    for name in ("urgent1", "urgent2"):
        queue.submit(name, 9, ResourceConfig=in_plan(sb, name))
    queue.wait_for(lost1="preempted", lost2="preempted", urgent1="running", urgent2="running")
    queue.wait_until_training("urgent1", "urgent2")
    queue.api.put_config({**POLICY, "pools": {P5: {"size": 6}}}, force=True)
    for name in ("idle1", "idle2"):
        queue.submit(name, 5, Environment=IDLE)
    queue.wait_until_training("idle1", "idle2")
    sb.invoke("Watch")
    without_events(sb, queue)
    redrive(sb, queue)
    queue.wait_for(idle1="stopped", idle2="stopped", meanwhile=lambda: sb.invoke("Watch"))
    sb.invoke("Watch")
    stop_lost_attempts(sb, queue)
    follow_plans(sb, queue)
    release_warm_pools(sb, queue)
    reuse_outputs(sb, queue)
    see_checkpoints(sb, queue)
    compare_members(sb, queue)
    write_digest(sb, queue)
    compare_usage(queue)

    assert list(map(str, findings(grants, sb.calls()))) == []


def write_digest(sb: Sandbox, queue: QueueView) -> None:
    """Have a digest written by the reconciler, which lists ended jobs, and published from the stream."""
    # Due since the day began, in the sandbox's training time, wherever in the world this runs.
    today = datetime.fromtimestamp(queue.api.now_s(), UTC)
    digest = {"weekday": [*Day][today.weekday()], "hour": 0}
    queue.api.put_config({**POLICY, "digest": digest}, force=True)

    def published() -> bool:
        return bool(queue.api.events(codes=[ReasonCode.WEEKLY_DIGEST]).events)

    eventually(published, "the digest is in the feed", meanwhile=lambda: sb.invoke("Reconcile"))


def compare_usage(queue: QueueView) -> None:
    """Have the table scanned for the comparison of the sums of yesterday."""
    yesterday = datetime.fromtimestamp(queue.api.now_s(), UTC).date() - timedelta(days=1)
    queue.cli("recount", "--compare", yesterday.isoformat())


def in_plan(sb: Sandbox, name: str) -> dict[str, Any]:
    """Return the resources of a job in a training plan of that name, which is created."""
    plan = sb.put_plan(name, [(0, 30 * 86_400)], instance_type=P5, instance_count=1)
    return {"InstanceType": P5, "InstanceCount": 1, "VolumeSizeInGB": 30, "TrainingPlanArn": plan}


def change_and_stop(queue: QueueView) -> None:
    """Perform the actions on a waiting job that only the API performs."""
    queue.submit("waits", 0)
    queue.cli("priority", f"{queue.prefix}waits", "1")
    queue.cli("hold", f"{queue.prefix}waits")
    queue.cli("release", f"{queue.prefix}waits")
    queue.cli("stop", f"{queue.prefix}waits")
    queue.wait_for(waits="stopped")


def without_events(sb: Sandbox, queue: QueueView) -> None:
    """Let the reconciler and the scan find jobs without events."""
    for number in (1, 2):
        # The observer gets events of these, and has to look up their owners.
        bypass(sb, queue, f"heard-{number}")
    eventually(lambda: len(queue.api.rogue_jobs().jobs) == 2, "the queue hears of those that bypass it")
    sb.set_faults(event_drop=1.0)
    for number in (1, 2):
        queue.finish(f"urgent{number}")
        bypass(sb, queue, f"unheard-{number}")

    def look() -> None:
        for function in ("Reconcile", "Patrol"):
            sb.invoke(function)

    queue.wait_for(urgent1="completed", urgent2="completed", meanwhile=look)
    eventually(lambda: stopped(sb, queue), "the patrol stops what bypasses it", meanwhile=look, timeout_s=STOPPED_S)
    eventually(lambda: not queue.api.rogue_jobs().jobs, "the patrol sees that they have ended", meanwhile=look)
    sb.clear_faults()


def stop_lost_attempts(sb: Sandbox, queue: QueueView) -> None:
    """Stop training jobs with a mark of this queue but without a record, as an operator."""
    found = sb.client("cloudformation").describe_stack_resource(StackName=sb.info.stack, LogicalResourceId="JobsTable")
    table = found["StackResourceDetail"]["PhysicalResourceId"]
    names = [f"{queue.prefix}lost-attempt-{number}" for number in (1, 2)]
    for name in names:
        mark = [{"Key": JOB_TAG, "Value": name}, {"Key": ATTEMPT_TAG, "Value": f"{table}/of-a-forgotten-job"}]
        bypass(sb, queue, name.removeprefix(queue.prefix), Tags=mark)
    look = partial(sb.invoke, "Patrol")
    eventually(lambda: len(queue.api.rogue_jobs().jobs) == 2, "the queue knows them", meanwhile=look)
    queue.cli("stop", "--rogue", *names)
    eventually(lambda: not queue.api.rogue_jobs().jobs, "the patrol stops them", meanwhile=look, timeout_s=STOPPED_S)


def follow_plans(sb: Sandbox, queue: QueueView) -> None:
    """Let two pools follow training plans."""
    pools: dict[str, Any] = {P5: {"size": 4}}
    for name in ("spring", "autumn"):
        plan = sb.put_plan(name, [(0, 30 * 86_400)], instance_type=P5, instance_count=1)
        pools[f"{P5}.plan.{name}"] = {"plan": plan}
    queue.api.put_config({**POLICY, "pools": pools}, force=True)
    eventually(
        lambda: all(pool.size for pool in queue.api.capacity().pools),
        "the pools have the sizes of the plans",
        meanwhile=lambda: sb.invoke("Reconcile"),
    )


def release_warm_pools(sb: Sandbox, queue: QueueView) -> None:
    """Let two jobs leave warm pools in a full pool in which others wait that do not match."""
    sb.set_faults(warm_pool_quotas={P5: 9})
    queue.api.put_config({**POLICY, "pools": {P5: {"size": 4}}, "warmPools": {}}, force=True)
    resources = {"InstanceType": P5, "InstanceCount": 1, "VolumeSizeInGB": 30}
    for name in ("kept1", "kept2"):
        queue.submit(name, 9, ResourceConfig={**resources, "KeepAlivePeriodInSeconds": 3600})
    queue.wait_until_training("kept1", "kept2")
    for name in ("next1", "next2"):
        queue.submit(name, 0, ResourceConfig={**resources, "VolumeSizeInGB": 31})
    for name in ("kept1", "kept2"):
        queue.finish(name)
    queue.wait_for(next1="running", next2="running", meanwhile=lambda: sb.invoke("Reconcile"))


def bypass(sb: Sandbox, queue: QueueView, name: str, **changes: Any) -> None:
    sb.client("sagemaker").create_training_job(**{**queue.request(name), **changes})


def stopped(sb: Sandbox, queue: QueueView) -> bool:
    kinds = ("heard", "unheard")
    mine = [job for job in sb.jobs() if job["TrainingJobName"].removeprefix(queue.prefix).startswith(kinds)]
    return len(mine) == 4 and all(job["TrainingJobStatus"] == "Stopped" for job in mine)


def redrive(sb: Sandbox, queue: QueueView) -> None:
    """Show and redrive a few dead letters, then more than one redrive processes."""
    sqs = sb.client("sqs")
    urls = {url.rpartition("/")[2].removeprefix(f"{sb.info.stack}-"): url for url in sqs.list_queues()["QueueUrls"]}
    events, wakes = urls["event-dead-letters"], urls["wake-dead-letters.fifo"]
    detail = {"TrainingJobName": f"{queue.prefix}idle1", "TrainingJobStatus": "InProgress"}
    seen = {**event("observe"), "detail": {**detail, "SecondaryStatus": "Training"}}
    sqs.send_message(QueueUrl=events, MessageBody=json.dumps(seen))
    bury(sqs, events, wakes, first=0, count=10)
    assert queue.api.dead_letters().letters
    assert queue.api.redrive().redriven
    bury(sqs, events, wakes, first=10, count=MAX_REDRIVEN)
    assert queue.api.redrive().left
    for url in (events, wakes):
        sqs.purge_queue(QueueUrl=url)


def bury(sqs: Any, events: str, wakes: str, *, first: int, count: int) -> None:
    """Put letters into both queues: unreadable events, and wake-ups."""
    for start in range(first, first + count, 10):
        names = [str(number) for number in range(start, start + 10)]
        ordered = {"MessageGroupId": "schedule"}
        sqs.send_message_batch(QueueUrl=events, Entries=[{"Id": name, "MessageBody": "{}"} for name in names])
        sqs.send_message_batch(
            QueueUrl=wakes,
            Entries=[{"Id": name, "MessageBody": name, "MessageDeduplicationId": name, **ordered} for name in names],
        )


@contextmanager
def without(sb: Sandbox, role: str, action: str) -> Iterator[None]:
    """Remove an action from a role in a context, without recording the calls."""
    iam = sb.client("iam")
    (name,) = [each["RoleName"] for each in iam.list_roles()["Roles"] if f"-{role}-" in each["RoleName"]]
    (policy,) = iam.list_role_policies(RoleName=name)["PolicyNames"]
    document = iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
    less = {**document, "Statement": [entry for entry in document["Statement"] if entry["Action"] != action]}
    assert less != document
    before = sb.calls()
    iam.put_role_policy(RoleName=name, PolicyName=policy, PolicyDocument=json.dumps(less))
    try:
        yield
    finally:
        iam.put_role_policy(RoleName=name, PolicyName=policy, PolicyDocument=json.dumps(document))
        sb.set_calls(before)


def test_a_missing_permission_of_a_function_is_detected(sb: Sandbox, queue: QueueView, grants: list[Grant]):
    assert queue.api.capacity().pools
    with without(sb, "PatrolFunctionRole", "sagemaker:ListTrainingJobs"):
        sb.invoke("Patrol")
        missing = [found for found in findings(grants, sb.calls()) if found.fault is Fault.MISSING]
        assert [(found.role, found.action, found.resource) for found in missing] == [
            ("PatrolFunctionRole", "sagemaker:ListTrainingJobs", "*")
        ]
    assert not [found for found in findings(grants, sb.calls()) if found.fault is Fault.MISSING]
