"""Demonstrates the guardrails on this machine, with alarms, events and functions.

    python -m headway_sandbox.demo.guardrails          (or `make demo-guardrails`)

A job without required tags is refused, a job that bypasses the queue is stopped, and an idle job is stopped, while a
job with one busy GPU of eight and a job on Trainium keep running. A job that fails by a service error after two hours
resumes from its checkpoint; one that fails by its own error does not. A spot job with four interruptions continues on
demand. A quota refuses one job, and the others go on (`headway_sandbox.demo.refusal`). At the end no alarm is left, and
the event bus has published all events. A missing state ends the demo with exit code 1.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from headway_client.errors import RefusedError
from headway_sandbox.demo import refusal
from headway_sandbox.demo.stage import Stage, StoryFailed, check, run, say
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.request_builder import P5, training_request

TRAINIUM = "ml.trn1.32xlarge"
CAPACITY = {P5: 8, TRAINIUM: 1, refusal.POOL: refusal.SIZE}
SPEED = 600.0
"""Acceleration of training time: two hours take twelve seconds."""

TWO_HOURS_S = 7200
_ENDLESS_S = 20 * 86_400

_MINUTES_S = 150.0
"""Timeout for functions that run once a minute."""

POLICY: Mapping[str, Any] = {
    "pools": {pool: {"size": size} for pool, size in CAPACITY.items()},
    "rules": {
        "project": {
            "require": {"tags": {"project": ["*"]}},
            "onStart": "stop",
            "message": "the wiki lists the projects",
        }
    },
    # The founding article's twelve minutes are too long for a demo.
    "watches": {"idle": {"periodSeconds": 60, "periods": 1, "warmUpSeconds": 0}},
    "retries": {"service": {"maxPerJob": 3, "backoffSeconds": 1, "minRunTimeSeconds": TWO_HOURS_S}},
}

_EXPECTED_CODES = {
    *("Entered", "Started", "Failed", "Retried", "Completed", "Preempted", "LaunchPostponed"),
    *("Underused", "StoppedByPolicy", "InterruptedTooOften", "OnDemand"),
}
"""Codes that the event bus must publish."""


def play(stage: Stage) -> None:
    """Play the demo.

    Raises:
        StoryFailed: The queue does not behave as expected.
    """
    stage.api.put_config(dict(POLICY), force=True)
    receive = _subscribe(stage.sandbox)
    _refuse(stage)
    say("a user bypasses the queue, with boto3 and without tags")
    stage.sandbox.client("sagemaker").create_training_job(**_request("bypass", tags={}))
    _submit(stage, "learner", "trains well, and goes idle later", utilization="0:760,9000:0")
    _submit(stage, "one-gpu", "keeps one GPU of eight busy", utilization="0:100")
    _submit(stage, "trainium", "trains on Trainium", pool=TRAINIUM)
    _submit(stage, "unlucky", "will fail by a service error after two hours")
    _submit(stage, "mistaken", "will fail by its own error after two hours")
    _submit(stage, "spotty", "runs on spot instances", spot=True)
    _interrupt(stage)
    _resume(stage)
    _stop_bypass(stage)
    # The learner's alarm takes minutes anyway.
    refusal.play(stage, tags={"project": "demo"})
    unaffected = dict.fromkeys(("one-gpu", "trainium", "spotty", "unlucky"), "running")
    stage.wait(
        "the learner goes idle, and its alarm fires",
        lambda jobs: jobs.get("learner") == "stopped",
        unaffected,
        timeout_s=_MINUTES_S,
    )
    check(f"learner: {stage.api.get_job('learner').job.reason.message}")
    stage.expect("one busy GPU of eight is not idle, and Trainium has no utilization metrics", unaffected)
    (watch,) = stage.api.get_job("trainium").watches
    check(f"trainium: {watch.note}")
    for name in unaffected:
        stage.finish(name)
    stage.expect("they finish", dict.fromkeys(unaffected, "completed"))
    _expect_no_alarms(stage)
    _expect_events(receive)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the demo on a new sandbox and return the exit code."""
    return run(
        play,
        title="The guardrails, demonstrated on this machine.",
        opening="start the sandbox, deploy the template and set a policy",
        capacity=CAPACITY,
        speed=SPEED,
        parameters={"PoolInstanceType": P5, "PoolSize": str(CAPACITY[P5]), "AllowStoppingRogueJobs": "true"},
        arguments=arguments,
    )


def _refuse(stage: Stage) -> None:
    say("submit a job without its tags")
    try:
        stage.api.submit(_request("untagged", tags={}))
    except RefusedError as refused:
        check(f"refused: {refused}")
        return
    raise StoryFailed("a job without its tags was accepted")


def _interrupt(stage: Stage) -> None:
    for number in range(1, 5):
        stage.expect_training("spotty")
        stage.sandbox.interrupt(stage.attempts("spotty")[-1])
        check(f"spot interruption {number} of 4")
    stage.wait(
        "after the fourth interruption it is restarted on demand",
        lambda jobs: jobs.get("spotty") == "running" and len(stage.attempts("spotty")) == 2,
    )
    stage.expect_training("spotty")
    first, second = (_described(stage, name) for name in stage.attempts("spotty"))
    if first["TrainingJobStatus"] != "Stopped" or second["EnableManagedSpotTraining"]:
        raise StoryFailed(f"not on demand: {second}")
    if first["CheckpointConfig"] != second["CheckpointConfig"] or "MaxWaitTimeInSeconds" in second["StoppingCondition"]:
        raise StoryFailed(f"not with its checkpoints: {second}")
    check(f"on demand, with its checkpoints in {second['CheckpointConfig']['S3Uri']}")


def _resume(stage: Stage) -> None:
    stage.expect_training("unlucky", "mistaken")
    say("two hours later one fails by a service error, and one by its own error")
    time.sleep(TWO_HOURS_S / SPEED)
    stage.sandbox.fail(
        stage.attempts("unlucky")[-1], "InternalServerError: We encountered an internal error. Please try again."
    )
    stage.sandbox.fail(stage.attempts("mistaken")[-1])
    stage.wait(
        "the first one resumes from its checkpoint, the other one does not",
        lambda jobs: jobs.get("mistaken") == "failed" and len(stage.attempts("unlucky")) == 2,
        timeout_s=_MINUTES_S,
    )
    first, second = (_described(stage, name) for name in stage.attempts("unlucky"))
    if first["TrainingJobStatus"] != "Failed" or first["CheckpointConfig"] != second["CheckpointConfig"]:
        raise StoryFailed(f"not from its checkpoint: {second}")
    check(f"unlucky failed after {first['TrainingTimeInSeconds']} s of training and runs again")
    if len(stage.attempts("mistaken")) != 1:
        raise StoryFailed("a job that failed by its own error was retried")
    check(f"mistaken: {stage.api.get_job('mistaken').job.reason.message}")


def _stop_bypass(stage: Stage) -> None:
    def stopped(_: Mapping[str, str]) -> bool:
        return bool(_described(stage, "bypass")["TrainingJobStatus"] == "Stopped")

    stage.wait("the job that bypassed the queue violates a rule and is stopped", stopped, timeout_s=_MINUTES_S)
    check("bypass is stopped")


def _expect_no_alarms(stage: Stage) -> None:
    client = stage.sandbox.client("cloudwatch")

    def left() -> list[str]:
        pages = client.get_paginator("describe_alarms").paginate(AlarmNamePrefix=f"{stage.sandbox.info.stack}-watch/")
        return [alarm["AlarmName"] for page in pages for alarm in page["MetricAlarms"]]

    stage.wait("their alarms are removed", lambda _: not left(), timeout_s=_MINUTES_S)
    check("no alarm is left")


def _subscribe(sandbox: Sandbox) -> Any:
    """Subscribe an SQS queue to the event bus. Return a function that receives new events."""
    sqs, events = sandbox.client("sqs"), sandbox.client("events")
    url = sqs.create_queue(QueueName="demo-listener")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    allow = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "events.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": arn,
            }
        ],
    }
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(allow)})
    bus = sandbox.info.stack
    events.put_rule(Name="demo", EventBusName=bus, EventPattern=json.dumps({"source": ["headway"]}))
    events.put_targets(Rule="demo", EventBusName=bus, Targets=[{"Id": "demo", "Arn": arn}])

    def receive() -> list[dict[str, Any]]:
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        for message in messages:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return [json.loads(message["Body"]) for message in messages]

    return receive


def _expect_events(receive: Any) -> None:
    say("the event bus has published all events")
    codes: set[str] = set()
    deadline = time.monotonic() + _MINUTES_S
    while not codes >= _EXPECTED_CODES:
        if time.monotonic() > deadline:
            raise StoryFailed(f"not published: {sorted(_EXPECTED_CODES - codes)}")
        codes |= {event["detail"]["code"] for event in receive()}
    check(", ".join(sorted(codes)))


def _described(stage: Stage, name: str) -> dict[str, Any]:
    described: dict[str, Any] = stage.sandbox.client("sagemaker").describe_training_job(TrainingJobName=name)
    return described


def _submit(
    stage: Stage,
    name: str,
    sentence: str,
    *,
    pool: str = P5,
    utilization: str | None = None,
    spot: bool = False,
) -> None:
    request = _request(name, pool=pool, tags={"project": "demo"})
    if utilization is not None:
        request["Environment"]["SANDBOX_GPU_UTILIZATION"] = utilization
    if spot:
        request["EnableManagedSpotTraining"] = True
        request["StoppingCondition"]["MaxWaitTimeInSeconds"] = _ENDLESS_S
    stage.submit(f"submit {name}, which {sentence}", request)


def _request(name: str, *, pool: str = P5, tags: Mapping[str, str]) -> dict[str, Any]:
    """Return an ordinary request to SageMaker."""
    return {
        **training_request(name, [(pool, 1)], run_s=_ENDLESS_S, tags=tags),
        "StoppingCondition": {"MaxRuntimeInSeconds": _ENDLESS_S},
        "CheckpointConfig": {"S3Uri": f"s3://jobs/checkpoints/{name}"},
    }


if __name__ == "__main__":
    sys.exit(main())
