"""What a user of the SageMaker SDK, version 2, runs to train: all settings are the defaults.

python sdk2_fit.py ROLE SOURCE_DIR JOB_NAME
"""

from __future__ import annotations

import sys

from sagemaker.pytorch import PyTorch

from headway_client import QueueTrainingJobSession


def main(role: str, source_dir: str, job_name: str) -> None:
    """Hand in a training job, and say under which name."""
    estimator = PyTorch(
        entry_point="train.py",
        source_dir=source_dir,
        role=role,
        framework_version="2.1.0",
        py_version="py310",
        instance_type="ml.p5.48xlarge",
        instance_count=1,
        hyperparameters={"epochs": 3},
        tags=[{"Key": "priority", "Value": "4"}],
        sagemaker_session=QueueTrainingJobSession(),
    )
    estimator.fit({"train": "s3://data/train"}, wait=False, job_name=job_name)
    print(estimator.latest_training_job.name)


if __name__ == "__main__":
    main(*sys.argv[1:])
