"""Demonstrates a workflow on this machine: prepare, a sweep of six, evaluate the best; then all of it again.

    python -m headway_sandbox.demo.workflow          (or `make demo-workflow`)

The steps really run. The preparation and the evaluation run in a pool of CPU instances, the sweep in a pool of GPU
instances, two of its six members at once; the sweep gets what the preparation has made, and the evaluation the model of
the best member. The second time each step is answered with the outputs of the first time: SageMaker starts no training
job. A missing state ends the demo with exit code 1.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headway_client.dependencies import with_dependencies
from headway_client.models import ArrayMember
from headway_client.reuse import with_reuse
from headway_client.sweeps import with_sweep
from headway_sandbox.demo import workflow_steps
from headway_sandbox.demo.stage import Stage, StoryFailed, check, run, say
from headway_sandbox.errors import SandboxError
from headway_sandbox.local import training_options
from headway_sandbox.sagemaker.training_job import Durations

CPU, GPU = "ml.c5.xlarge", "ml.g5.xlarge"
CAPACITY = {CPU: 1, GPU: 2}
"""Instances that run at once. The pool of GPU instances has more: that the sweep uses two is what it asks for."""
POOLS = {CPU: 1, GPU: 4}

RATES = (0.001, 0.01, 0.05, 0.2, 0.5, 1.5)
METRIC = "loss"
AT_ONCE = 2

DURATIONS = Durations(provisioning_s=1, download_s=1, upload_s=1, release_s=1, warm_start_s=1, restart_s=1)
"""Scripts run at real speed; the other stages are shorter than on SageMaker."""

_IMAGE = f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/steps@sha256:{'0' * 64}"
_CODE = "/opt/ml/input/data/code"
_SWEEP_S = 150.0


def play(stage: Stage) -> None:
    """Play the demo.

    Raises:
        StoryFailed: The queue does not behave as expected.
    """
    policy = {"pools": {pool: {"size": size} for pool, size in POOLS.items()}, "watches": {"idle": None}}
    stage.api.put_config(policy, force=True)
    script = Path(workflow_steps.__file__)
    stage.sandbox.client("s3").upload_file(str(script), stage.sandbox.info.bucket, f"code/{script.name}")
    first = _compute(stage, "")
    created = len(stage.sandbox.jobs())
    again = _compute(stage, "-again")
    if again.parameters != first.parameters:
        raise StoryFailed(f"the best member has {dict(again.parameters)}, and had {dict(first.parameters)}")
    for name in ("prepare-again", again.name, "evaluate-again"):
        check(f"{name} has the outputs of {stage.api.get_job(name).reused_from}")
    if len(stage.sandbox.jobs()) != created:
        raise StoryFailed(f"SageMaker has {len(stage.sandbox.jobs())} training jobs, not {created}")
    check(f"SageMaker has started no training job the second time: it still has {created}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the demo on a new sandbox and return the exit code."""
    try:
        training = training_options.settings([f"*={sys.executable}"])
    except SandboxError as error:
        print(f"✗ {error}", file=sys.stderr)
        return 1
    return run(
        play,
        title="A workflow on this machine: prepare, a sweep of six, evaluate the best; then all of it again.",
        opening="start a sandbox that runs scripts, and deploy the template",
        capacity=CAPACITY,
        speed=1.0,
        parameters={"PoolInstanceType": GPU, "PoolSize": str(POOLS[GPU])},
        training=training,
        durations=DURATIONS,
        arguments=arguments,
    )


def _compute(stage: Stage, suffix: str) -> ArrayMember:
    """Run the workflow, and return the best member of its sweep."""
    prepare, sweep, evaluate = (f"{step}{suffix}" for step in ("prepare", "sweep", "evaluate"))
    stage.submit(f"submit {prepare}", with_reuse(_request(stage, prepare, "prepare", CPU)))
    request = _request(stage, sweep, "train", GPU, model_of=prepare)
    array = with_sweep(
        with_reuse(with_dependencies(request, [prepare])), {"grid": {"learning-rate": list(RATES)}}, at_once=AT_ONCE
    )
    stage.submit(f"submit {sweep}: {len(RATES)} members, {AT_ONCE} at once, after {prepare}", array)
    stage.wait(f"{sweep} ends", lambda jobs: jobs.get(sweep) == "completed", timeout_s=_SWEEP_S)
    members = list(stage.api.members(sweep))
    best = min(members, key=lambda member: member.metrics[METRIC])
    for member in members:
        say(f"{member.name}: learning rate {member.parameters['learning-rate']}, {METRIC} {member.metrics[METRIC]:g}")
    request = _request(stage, evaluate, "evaluate", CPU, model_of=best.name)
    stage.submit(f"submit {evaluate} of {best.name}", with_reuse(with_dependencies(request, [best.name])))
    stage.expect(f"{evaluate} ends", {prepare: "completed", sweep: "completed", evaluate: "completed"})
    return best


def _request(stage: Stage, name: str, step: str, instance_type: str, *, model_of: str = "") -> Mapping[str, Any]:
    """Return the CreateTrainingJob request of a step.

    Args:
        name: The name of the job.
        step: What it runs.
        instance_type: What it runs on.
        model_of: The job whose model it gets; empty for none.
    """
    bucket = stage.sandbox.info.bucket
    channels = {"code": f"s3://{bucket}/code/"}
    if model_of:
        channels["input"] = f"{{{{ jobs.{model_of}.model }}}}"
    return {
        "TrainingJobName": name,
        "RoleArn": stage.sandbox.info.role_arn,
        "AlgorithmSpecification": {
            "TrainingImage": _IMAGE,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", f"{_CODE}/{Path(workflow_steps.__file__).name}"],
            "ContainerArguments": [step],
            "MetricDefinitions": [{"Name": METRIC, "Regex": rf"\b{METRIC}=([0-9.e+-]+)"}],
        },
        "InputDataConfig": [
            {"ChannelName": channel, "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri}}}
            for channel, uri in channels.items()
        ],
        "OutputDataConfig": {"S3OutputPath": f"s3://{bucket}/output"},
        "ResourceConfig": {"InstanceType": instance_type, "InstanceCount": 1, "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
    }


if __name__ == "__main__":
    sys.exit(main())
