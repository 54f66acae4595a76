"""What the guardrails do, on this machine: through real alarms, events and functions.

    python -m headway_sandbox.demo.guardrails          (or `make demo-guardrails`)

A job without its tags is refused, one that bypasses the queue is stopped, one that goes idle is stopped, while one with
a single busy GPU of eight and one on Trainium live. A job that fails by SageMaker's fault after two hours resumes from
its checkpoint, one that fails by its own does not. A spot job that is interrupted four times goes on on demand. In the
end no alarm is left, and the event bus has told it all. Whatever does not come ends the story with exit code 1.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from headway_client.errors import RefusedError
from headway_sandbox.demo.stage import Stage, StoryFailed, check, say, tell
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.request_builder import P5, training_request

TRAINIUM = "ml.trn1.32xlarge"
CAPACITY = {P5: 8, TRAINIUM: 1}
SPEED = 600.0
"""Training time passes so much faster that two hours take twelve seconds."""

TWO_HOURS_S = 7200
_ENDLESS_S = 20 * 86_400

_MINUTES_S = 150.0
"""For what the functions find out that run once a minute."""

POLICY: Mapping[str, Any] = {
    "pools": {pool: {"size": size} for pool, size in CAPACITY.items()},
    "rules": {
        "project": {
            "require": {"tags": {"project": ["*"]}},
            "onStart": "stop",
            "message": "the wiki lists the projects",
        }
    },
    # Twelve minutes of the founding article are too long to watch.
    "watches": {"idle": {"periodSeconds": 10, "periods": 3, "warmUpSeconds": 0}},
    "retries": {"service": {"maxPerJob": 3, "backoffSeconds": 1, "minRunTimeSeconds": TWO_HOURS_S}},
}

_TOLD = {
    *("Entered", "Started", "Failed", "Retried", "Completed"),
    *("Underused", "StoppedByPolicy", "InterruptedTooOften", "OnDemand"),
}
"""What the event bus has to tell, at least."""


def play(stage: Stage) -> None:
    """The story.

    Raises:
        StoryFailed: the queue does not do what it says.
    """
    stage.api.put_config(dict(POLICY), force=True)
    told = _listen(stage.sandbox)
    _refuse(stage)
    say("somebody bypasses the queue, with boto3 and without tags")
    stage.sandbox.client("sagemaker").create_training_job(**_request("bypass", tags={}))
    _submit(stage, "learner", "trains well, and goes idle later", utilisation="0:760,9000:0")
    _submit(stage, "one-gpu", "keeps one GPU of eight busy", utilisation="0:100")
    _submit(stage, "trainium", "trains on Trainium", pool=TRAINIUM)
    _submit(stage, "unlucky", "will fail by SageMaker's fault after two hours")
    _submit(stage, "mistaken", "will fail by its own after two hours")
    _submit(stage, "spotty", "runs on spot instances", spot=True)
    _interrupt(stage)
    _resume(stage)
    _stop_bypass(stage)
    lives = dict.fromkeys(("one-gpu", "trainium", "spotty", "unlucky"), "running")
    stage.wait(
        "the learner goes idle, and its alarm fires",
        lambda jobs: jobs.get("learner") == "stopped",
        lives,
        timeout_s=_MINUTES_S,
    )
    check(f"learner: {stage.api.get_job('learner').job.reason.message}")
    stage.expect("one busy GPU of eight is not idle, and Trainium shows no figures", lives)
    (watch,) = stage.api.get_job("trainium").watches
    check(f"trainium: {watch.note}")
    for name in lives:
        stage.finish(name)
    stage.expect("they finish", dict.fromkeys(lives, "completed"))
    _no_alarm_is_left(stage)
    _all_was_told(told)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the story on a new sandbox and return the exit code."""
    return tell(
        play,
        title="What the guardrails do, on this machine.",
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
        check(f"spot took its instances, {number} of 4")
    stage.wait(
        "after the fourth time it is started again, on demand",
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
    say("two hours later one fails by SageMaker's fault, and one by its own")
    time.sleep(TWO_HOURS_S / SPEED)
    stage.sandbox.fail(
        stage.attempts("unlucky")[-1], "InternalServerError: We encountered an internal error. Please try again."
    )
    stage.sandbox.fail(stage.attempts("mistaken")[-1])
    stage.wait(
        "the first one goes on from its checkpoint, not the other one",
        lambda jobs: jobs.get("mistaken") == "failed" and len(stage.attempts("unlucky")) == 2,
        timeout_s=_MINUTES_S,
    )
    first, second = (_described(stage, name) for name in stage.attempts("unlucky"))
    if first["TrainingJobStatus"] != "Failed" or first["CheckpointConfig"] != second["CheckpointConfig"]:
        raise StoryFailed(f"not from its checkpoint: {second}")
    check(f"unlucky failed after {first['TrainingTimeInSeconds']} s of training and runs again")
    if len(stage.attempts("mistaken")) != 1:
        raise StoryFailed("a mistake was tried again")
    check(f"mistaken: {stage.api.get_job('mistaken').job.reason.message}")


def _stop_bypass(stage: Stage) -> None:
    def stopped(_: Mapping[str, str]) -> bool:
        return bool(_described(stage, "bypass")["TrainingJobStatus"] == "Stopped")

    stage.wait("the job that bypassed the queue breaks a rule, and is stopped", stopped, timeout_s=_MINUTES_S)
    check("bypass is stopped")


def _no_alarm_is_left(stage: Stage) -> None:
    client = stage.sandbox.client("cloudwatch")

    def left() -> list[str]:
        pages = client.get_paginator("describe_alarms").paginate(AlarmNamePrefix=f"{stage.sandbox.info.stack}-watch/")
        return [alarm["AlarmName"] for page in pages for alarm in page["MetricAlarms"]]

    stage.wait("their alarms are removed", lambda _: not left(), timeout_s=_MINUTES_S)
    check("no alarm is left")


def _listen(sandbox: Sandbox) -> Any:
    """A queue that hears all that the event bus tells. Returns a function that gives what came so far."""
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

    def heard() -> list[dict[str, Any]]:
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        for message in messages:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return [json.loads(message["Body"]) for message in messages]

    return heard


def _all_was_told(heard: Any) -> None:
    say("the event bus has told all of it")
    codes: set[str] = set()
    deadline = time.monotonic() + _MINUTES_S
    while not codes >= _TOLD:
        if time.monotonic() > deadline:
            raise StoryFailed(f"not told: {sorted(_TOLD - codes)}")
        codes |= {event["detail"]["code"] for event in heard()}
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
    utilisation: str | None = None,
    spot: bool = False,
) -> None:
    request = _request(name, pool=pool, tags={"project": "demo"})
    if utilisation is not None:
        request["Environment"]["SANDBOX_GPU_UTILIZATION"] = utilisation
    if spot:
        request["EnableManagedSpotTraining"] = True
        request["StoppingCondition"]["MaxWaitTimeInSeconds"] = _ENDLESS_S
    stage.submit(f"submit {name}, which {sentence}", request)


def _request(name: str, *, pool: str = P5, tags: Mapping[str, str]) -> dict[str, Any]:
    """What anybody would send to SageMaker."""
    return {
        **training_request(name, [(pool, 1)], run_s=_ENDLESS_S, tags=tags),
        "StoppingCondition": {"MaxRuntimeInSeconds": _ENDLESS_S},
        "CheckpointConfig": {"S3Uri": f"s3://jobs/checkpoints/{name}"},
    }


if __name__ == "__main__":
    sys.exit(main())
