"""Other uses of the SageMaker SDK 2 than training jobs: processing and tuning.

python sdk2_elsewhere.py NAME ROLE SOURCES BUCKET INSTANCE_TYPE
"""

from __future__ import annotations

import sys

from botocore.exceptions import ClientError
from sagemaker.processing import Processor
from sagemaker.pytorch import PyTorch
from sagemaker.tuner import ContinuousParameter, HyperparameterTuner


def process(role: str, instance_type: str) -> None:
    """Run a processing job."""
    processor = Processor(
        role=role,
        image_uri="123456789012.dkr.ecr.eu-west-1.amazonaws.com/process:1",
        instance_count=1,
        instance_type=instance_type,
    )
    processor.run(wait=False, logs=False)


def tune(role: str, sources: str, bucket: str, instance_type: str) -> None:
    """Run a tuning job."""
    estimator = PyTorch(
        entry_point="train.py",
        source_dir=sources,
        role=role,
        framework_version="2.1.0",
        py_version="py310",
        instance_type=instance_type,
        instance_count=1,
    )
    tuner = HyperparameterTuner(
        estimator,
        objective_metric_name="loss",
        objective_type="Minimize",
        metric_definitions=[{"Name": "loss", "Regex": "loss ([0-9.]+)"}],
        hyperparameter_ranges={"lr": ContinuousParameter(0.001, 0.1)},
    )
    tuner.fit({"train": f"s3://{bucket}/data"}, wait=False)


def main(_name: str, role: str, sources: str, bucket: str, instance_type: str) -> None:
    """Run both, and print SageMaker's responses."""
    try:
        process(role, instance_type)
        print("processing: taken")
    except ClientError as error:
        print("processing:", error)
    try:
        tune(role, sources, bucket, instance_type)
        print("tuning: taken")
    except ClientError as error:
        print("tuning:", error)


if __name__ == "__main__":
    main(*sys.argv[1:])
