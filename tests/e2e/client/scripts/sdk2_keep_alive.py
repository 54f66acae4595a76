"""Training with the SageMaker SDK 2 and a warm pool for the next run.

python sdk2_keep_alive.py NAME ROLE SOURCES BUCKET INSTANCE_TYPE
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
        keep_alive_period_in_seconds=600,
        max_run=86_400,
        environment={"SANDBOX_RUN_SECONDS": "86400"},
    )
    estimator.fit({"train": f"s3://{bucket}/data"}, wait=True, logs="All", job_name=name)
    print("ended:", estimator.latest_training_job.name, estimator.model_data)


if __name__ == "__main__":
    main(*sys.argv[1:])
