"""The training of examples/checkpoints through `ModelTrainer` of the SageMaker Python SDK 3, under preemption.

The script is the same, and not changed. The SDK's own program is process 1 of the container and does not pass SIGTERM
on, so the script relies on its periodic checkpoints. The example fails if more steps are lost than lie between two of
them, or if the preempted job ends with other weights than the undisturbed one.
"""

from __future__ import annotations

from sagemaker.core.shapes import CheckpointConfig
from sagemaker.core.training.configs import Compute, OutputDataConfig, SourceCode, StoppingCondition
from sagemaker.train import ModelTrainer
from tabulate import tabulate

from examples.checkpoints.run import (
    CHECKPOINT_EVERY,
    IMAGE,
    PREEMPT_AFTER,
    SCRIPT,
    STEP_S,
    STEPS,
    TIMEOUT_S,
    attempts_of,
    problems,
    steps_lost,
    wait_for_step,
)
from examples.submission import MAX_RUN_S, ROOT, Account, unique
from headway_client import TrainingQueue

KIND = "ml.m5.large"


def trainer(account: Account, name: str, pause_s: float) -> ModelTrainer:
    """Return a trainer of the script.

    Args:
        account: Its role and bucket.
        name: Begin of the names of its jobs.
        pause_s: Pause in each step.
    """
    script = ROOT / SCRIPT
    prefix = f"s3://{account.bucket}/{name}"
    return ModelTrainer(
        training_image=IMAGE,
        source_code=SourceCode(source_dir=str(script.parent), entry_script=script.name),
        hyperparameters={"steps": STEPS, "checkpoint-every": CHECKPOINT_EVERY, "pause-s": pause_s},
        compute=Compute(instance_type=KIND, instance_count=1, volume_size_in_gb=30),
        checkpoint_config=CheckpointConfig(s3_uri=f"{prefix}/checkpoints", local_path="/opt/ml/checkpoints"),
        output_data_config=OutputDataConfig(s3_output_path=f"{prefix}/output"),
        stopping_condition=StoppingCondition(max_runtime_in_seconds=MAX_RUN_S),
        base_job_name=name,
        role=account.role_arn,
    )


def main() -> None:
    """Run both jobs and print their table."""
    account = Account.from_command_line(__doc__)
    queue = TrainingQueue()
    low = queue.submit(trainer(account, unique("sdk3-low"), STEP_S), priority=1)
    wait_for_step(low, PREEMPT_AFTER)
    high = queue.submit(trainer(account, unique("sdk3-high"), 0.0), priority=5)
    for job in (high, low):
        job.result(timeout=TIMEOUT_S, poll_s=0.5, tell=print)
    preempted, undisturbed = attempts_of(low), attempts_of(high)
    if found := problems(preempted, undisturbed, at_most=CHECKPOINT_EVERY):
        raise SystemExit(f"✗ {'; '.join(found)}")
    stopped, resumed = preempted
    row = [CHECKPOINT_EVERY, stopped.last, resumed.begin, steps_lost(preempted), resumed.weights]
    print(tabulate([row], headers=["every", "stopped after", "resumed after", "steps lost", "weights"]))


if __name__ == "__main__":
    main()
