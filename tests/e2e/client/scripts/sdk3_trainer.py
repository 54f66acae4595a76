"""Training with the SageMaker SDK 3.

python sdk3_trainer.py NAME ROLE SOURCES BUCKET INSTANCE_TYPE
"""

from __future__ import annotations

import logging
import sys

from sagemaker.core.training.configs import Compute, InputData, OutputDataConfig, SourceCode, StoppingCondition
from sagemaker.train import ModelTrainer


def main(name: str, role: str, sources: str, bucket: str, instance_type: str) -> None:
    """Train, follow the logs, and print how it ended."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")  # the SDK logs what the containers print
    trainer = ModelTrainer(
        training_image="123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
        source_code=SourceCode(source_dir=sources, entry_script="train.py"),
        compute=Compute(instance_type=instance_type, instance_count=1),
        stopping_condition=StoppingCondition(max_runtime_in_seconds=86_400),
        output_data_config=OutputDataConfig(s3_output_path=f"s3://{bucket}/output"),
        environment={"SANDBOX_RUN_SECONDS": "86400"},
        base_job_name=name,
        role=role,
    )
    trainer.train(
        input_data_config=[InputData(channel_name="train", data_source=f"s3://{bucket}/data")], wait=True, logs=True
    )
    job = trainer._latest_training_job
    job.refresh()
    print("ended:", job.training_job_name, job.training_job_status)


if __name__ == "__main__":
    main(*sys.argv[1:])
