"""Training with the SageMaker SDK 2, and again with the estimator that is attached to the training job.

python sdk2_attach.py NAME ROLE SOURCES BUCKET INSTANCE_TYPE
"""

from __future__ import annotations

import sys

from sagemaker.pytorch import PyTorch


def main(name: str, role: str, sources: str, bucket: str, instance_type: str) -> None:
    """Train, attach to the training job, and train again."""
    estimator = PyTorch(
        entry_point="train.py",
        source_dir=sources,
        role=role,
        framework_version="2.1.0",
        py_version="py310",
        instance_type=instance_type,
        instance_count=1,
        tags=[{"Key": "project", "Value": "search"}],
        environment={"SANDBOX_RUN_SECONDS": "60"},
    )
    estimator.fit({"train": f"s3://{bucket}/data"}, job_name=name, logs=False)

    attached = PyTorch.attach(name)
    print("tags:", sorted(tag["Key"] for tag in attached.tags))
    attached.fit({"train": f"s3://{bucket}/data"}, job_name=f"{name}-again", logs=False)
    print("ended:", attached.latest_training_job.describe()["TrainingJobStatus"])


if __name__ == "__main__":
    main(*sys.argv[1:])
