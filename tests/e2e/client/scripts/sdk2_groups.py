"""Training with the SageMaker SDK 2 on two kinds of instances at once.

python sdk2_groups.py NAME ROLE SOURCES BUCKET INSTANCE_TYPE OTHER_INSTANCE_TYPE
"""

from __future__ import annotations

import sys

from sagemaker.instance_group import InstanceGroup
from sagemaker.pytorch import PyTorch


def main(name: str, role: str, sources: str, bucket: str, instance_type: str, other_type: str) -> None:
    """Train, follow the logs, and print where the model is."""
    estimator = PyTorch(
        entry_point="train.py",
        source_dir=sources,
        role=role,
        framework_version="2.1.0",
        py_version="py310",
        instance_groups=[InstanceGroup("train", instance_type, 1), InstanceGroup("load", other_type, 1)],
        max_run=86_400,
        environment={"SANDBOX_RUN_SECONDS": "86400"},
    )
    estimator.fit({"train": f"s3://{bucket}/data"}, wait=True, logs="All", job_name=name)
    print("ended:", estimator.latest_training_job.name, estimator.model_data)


if __name__ == "__main__":
    main(*sys.argv[1:])
