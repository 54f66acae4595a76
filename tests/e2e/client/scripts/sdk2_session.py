"""Training with the SageMaker SDK 2 in a script that uses the queue's session.

python sdk2_session.py NAME ROLE SOURCES BUCKET INSTANCE_TYPE
"""

from __future__ import annotations

import sys

from sagemaker.pytorch import PyTorch

from headway_client import QueueTrainingJobSession


def main(name: str, role: str, sources: str, bucket: str, instance_type: str) -> None:
    """Submit a training job, and print its name."""
    estimator = PyTorch(
        entry_point="train.py",
        source_dir=sources,
        role=role,
        framework_version="2.1.0",
        py_version="py310",
        instance_type=instance_type,
        instance_count=1,
        hyperparameters={"epochs": 3},
        tags=[{"Key": "priority", "Value": "4"}],
        sagemaker_session=QueueTrainingJobSession(),
    )
    estimator.fit({"train": f"s3://{bucket}/data"}, wait=False, job_name=name)
    print("submitted:", estimator.latest_training_job.name)


if __name__ == "__main__":
    main(*sys.argv[1:])
