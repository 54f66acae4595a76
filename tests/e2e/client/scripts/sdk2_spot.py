"""Training with the SageMaker SDK 2 on spot instances, with checkpoints.

python sdk2_spot.py NAME ROLE SOURCES BUCKET INSTANCE_TYPE
"""

from __future__ import annotations

import sys

from sagemaker.pytorch import PyTorch


def main(name: str, role: str, sources: str, bucket: str, instance_type: str) -> None:
    """Train, follow the logs, and print where the model is."""
    estimator = PyTorch(
        entry_point="train.py",
        source_dir=sources,
        role=role,
        framework_version="2.1.0",
        py_version="py310",
        instance_type=instance_type,
        instance_count=1,
        hyperparameters={"epochs": 3},
        use_spot_instances=True,
        max_run=86_400,
        max_wait=172_800,
        checkpoint_s3_uri=f"s3://{bucket}/checkpoints/{name}",
        environment={"SANDBOX_RUN_SECONDS": "86400"},
    )
    estimator.fit({"train": f"s3://{bucket}/data"}, wait=True, logs="All", job_name=name)
    print("ended:", estimator.latest_training_job.name, estimator.model_data)


if __name__ == "__main__":
    main(*sys.argv[1:])
